//! Static vectors: a table of one vector a token, and nothing behind it. A text's vector is the mean of its tokens'.
//!
//! Files of word vectors (word2vec, GloVe, fastText's `.vec`), model2vec (Tulkens and van Dongen, Model2Vec: Fast State-of-the-Art
//! Static Embeddings, 2024) and sentence-transformers' StaticEmbedding. A model2vec checkpoint may share rows among tokens (`mapping`, the
//! row of each token) and weigh them (`weights`, a number a token); both are folded into a table of one row a token when the model is
//! opened, as sentence-transformers does. Without them the table stays where it lies.

use super::config::Fields;
use super::languages::Languages;
use super::loader::Loader;
use super::trunk::{Sizes, Trunk};
use crate::engine::Graph;
use crate::engine::graph::{Index, Lookup};
use crate::error::{Error, ErrorKind, Result, fail};
use crate::quant::{Bytes, Dtype, Tensor};

/// No position limits a text: its bytes do, of which there are at most so many.
const POSITIONS: usize = 1 << 22;

const TABLE: &str = "embeddings";

/// Builds the trunk.
pub(super) fn build(config: &Fields<'_>, loader: &mut Loader) -> Result<Trunk> {
    let family = if config.text("model_type")? == "model2vec" { "model2vec" } else { "static-embedding" };
    let Some(stored) = loader.raw(TABLE) else {
        return fail(ErrorKind::InvalidTensor, format!("tensor {TABLE:?} is missing from the checkpoint: the table of vectors"));
    };
    let [rows, hidden] = *stored.shape() else {
        return fail(ErrorKind::InvalidTensor, format!("tensor {TABLE:?} has shape {:?}; expected (tokens, numbers)", stored.shape()));
    };
    if rows == 0 || hidden == 0 {
        return fail(ErrorKind::InvalidTensor, format!("tensor {TABLE:?} has shape {:?}; it holds no number", stored.shape()));
    }
    let mapping = loader.raw("mapping").map(|tensor| rows_of(&tensor, rows)).transpose()?;
    let weights = loader.raw("weights").map(|tensor| weights_of(&tensor, mapping.as_ref().map_or(rows, Vec::len))).transpose()?;
    let table = match (&mapping, &weights) {
        (None, None) => computed_with(stored)?,
        _ => folded(&stored, mapping.as_deref(), weights.as_deref())?,
    };
    let sizes = Sizes { vocabulary: table.rows(), hidden, layers: 0, heads: 0, intermediate: 0, positions: POSITIONS, segments: 1 };
    let table = loader.as_table(TABLE, table);
    loader.refuse_leftovers(|_| false)?;
    let mut graph = Graph::new();
    let tokens = graph.embed(vec![Lookup { table, index: Index::Token }], None, hidden);
    Ok(Trunk {
        family,
        sizes,
        graph,
        hidden_states: vec![tokens],
        pooler: None,
        of_heads: Vec::new(),
        heads: Vec::new(),
        languages: Languages::default(),
    })
}

/// The row of each token.
fn rows_of(mapping: &Tensor, rows: usize) -> Result<Vec<u32>> {
    let name = "tensor \"mapping\"";
    let Some(numbers) = integers(mapping) else {
        let told =
            format!("{name} has type {} and shape {:?}; expected whole numbers, one a token", mapping.dtype().name(), mapping.shape());
        return fail(ErrorKind::InvalidTensor, told);
    };
    let row = |(token, row): (usize, i64)| match u32::try_from(row) {
        Ok(index) if (row as usize) < rows => Ok(index),
        _ => fail(ErrorKind::InvalidTensor, format!("{name}: token {token} has row {row}, and {TABLE:?} has {rows}")),
    };
    let found: Vec<u32> = numbers.into_iter().enumerate().map(row).collect::<Result<_>>()?;
    if found.is_empty() {
        return fail(ErrorKind::InvalidTensor, format!("{name} is empty"));
    }
    Ok(found)
}

/// The numbers of a list of I32 or I64.
fn integers(tensor: &Tensor) -> Option<Vec<i64>> {
    let [_] = tensor.shape() else { return None };
    let bytes: &[u8] = tensor.bytes();
    match tensor.dtype() {
        Dtype::I32 => Some(bytes.chunks_exact(4).map(|b| i64::from(i32::from_le_bytes([b[0], b[1], b[2], b[3]]))).collect()),
        Dtype::I64 => bytes.chunks_exact(8).map(|b| b.try_into().ok().map(i64::from_le_bytes)).collect(),
        _ => None,
    }
}

/// The weight of each token.
fn weights_of(weights: &Tensor, tokens: usize) -> Result<Vec<f32>> {
    if *weights.shape() != [tokens] {
        let told = format!("tensor \"weights\" has shape {:?}; the model has {tokens} tokens", weights.shape());
        return fail(ErrorKind::InvalidTensor, told);
    }
    let found = numbers(weights).map_err(|e| e.within("tensor \"weights\""))?;
    match found.iter().position(|x| !x.is_finite()) {
        Some(token) => fail(ErrorKind::NonFinite, format!("tensor \"weights\": the weight of token {token} is {}", found[token])),
        None => Ok(found),
    }
}

/// All elements of a tensor that is of floats, of doubles or of small whole numbers.
fn numbers(tensor: &Tensor) -> Result<Vec<f32>> {
    let bytes: &[u8] = tensor.bytes();
    match tensor.dtype() {
        dtype if dtype.is_float() => Ok(tensor.to_f32()),
        Dtype::F64 => Ok(bytes.chunks_exact(8).filter_map(|b| Some(f64::from_le_bytes(b.try_into().ok()?) as f32)).collect()),
        Dtype::I8 => Ok(bytes.iter().map(|b| f32::from(*b as i8)).collect()),
        other => {
            fail(ErrorKind::InvalidTensor, format!("type {} is none of vectors; expected F32, F16, BF16, F64, I8 or blocks", other.name()))
        }
    }
}

/// The table in a type that the engine reads: doubles become F32, model2vec's I8 (which have no scale) F16, exactly.
fn computed_with(table: Tensor) -> Result<Tensor> {
    let dtype = match table.dtype() {
        dtype if dtype.is_float() => return Ok(table),
        Dtype::I8 => Dtype::F16,
        _ => Dtype::F32,
    };
    let values = numbers(&table).map_err(|e| e.within(format!("tensor {TABLE:?}")))?;
    tensor(dtype, table.shape().to_vec(), dtype.quantise(&values)?)
}

/// One row a token: that of `mapping`, times the token's weight.
fn folded(table: &Tensor, mapping: Option<&[u32]>, weights: Option<&[f32]>) -> Result<Tensor> {
    let table = computed_with(table.clone())?;
    let (tokens, hidden) = (mapping.map_or(table.rows(), <[u32]>::len), table.row_len());
    let mut bytes = Vec::new();
    let size = tokens.checked_mul(hidden).and_then(|n| n.checked_mul(4));
    if size.is_none_or(|size| bytes.try_reserve_exact(size).is_err()) {
        return fail(ErrorKind::OutOfMemory, format!("tensor {TABLE:?}: {tokens} rows of {hidden} numbers do not fit in memory"));
    }
    let mut row = vec![0f32; hidden];
    for token in 0..tokens {
        table.row(mapping.map_or(token, |mapping| mapping[token] as usize), &mut row);
        let weight = weights.map_or(1.0, |weights| weights[token]);
        row.iter().for_each(|x| bytes.extend_from_slice(&(x * weight).to_le_bytes()));
    }
    tensor(Dtype::F32, vec![tokens, hidden], bytes)
}

fn tensor(dtype: Dtype, shape: Vec<usize>, bytes: Vec<u8>) -> Result<Tensor> {
    let damaged = || Error::new(ErrorKind::InvalidTensor, format!("tensor {TABLE:?}: its numbers do not fill {shape:?}"));
    Tensor::new(dtype, shape.clone(), Bytes::owned(bytes)).ok_or_else(damaged)
}
