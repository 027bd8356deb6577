//! Which rows of a position table does a GGUF file leave out, and where do they stand?
//!
//! RoBERTa and its relatives number positions from behind the padding id: the rows before that are the padding token's own and rows
//! that nothing reads. llama.cpp numbers from 0 and its converter cuts these rows off, so that the architecture is BERT's. Our files
//! do the same and keep what was cut off as a setting: opening one gives the table of the checkpoint back, to the bit.

use super::convert::Item;
use super::gguf::{Array, Metadata, Value};
use crate::error::{Error, ErrorKind, Result, fail};
use crate::quant::{Bytes, Tensor};

/// The table's name in GGUF files.
pub(super) const TABLE: &str = "position_embd.weight";
/// The rows that were cut off it.
const FIRST_ROWS: &str = "cloze.position_embd.first_rows";

/// Marks the first `skipped` rows of the table among `items` as left out of GGUF files, and puts them into the settings.
pub(super) fn cut(items: &mut [Item], skipped: usize, into: &mut Metadata) -> Result<()> {
    let Some(table) = items.iter_mut().find(|item| item.gguf_name == TABLE).filter(|_| skipped > 0) else { return Ok(()) };
    let rows = table.tensor.rows_of(0..skipped).filter(|_| skipped < table.tensor.rows() && table.tensor.dtype().is_float());
    let Some(rows) = rows else {
        let told = format!("tensor {:?} has no row behind the {skipped} up to the padding id", table.name);
        return fail(ErrorKind::InvalidTensor, told);
    };
    let numbers = rows.to_f32();
    if numbers.iter().any(|number| !number.is_finite()) {
        return fail(ErrorKind::NonFinite, format!("tensor {:?}: its first rows are not finite; the model is damaged", table.name));
    }
    into.set(FIRST_ROWS, Value::Array(Array::F32(numbers)));
    table.skipped_rows = skipped;
    Ok(())
}

/// The whole table, from a file's `tensor` and the settings.
pub(super) fn whole(tensor: &Tensor, skipped: usize, metadata: &Metadata) -> Result<Tensor> {
    let Some(numbers) = metadata.numbers(FIRST_ROWS)? else {
        return fail(ErrorKind::InvalidFile, format!("setting {FIRST_ROWS:?} is missing; convert the model again"));
    };
    let length = tensor.row_len().checked_mul(skipped);
    if !tensor.dtype().is_float() || length.is_none_or(|length| length == 0 || length != numbers.len()) {
        let told =
            format!("setting {FIRST_ROWS:?} has {} numbers, but {skipped} rows of {TABLE:?} have {} each", numbers.len(), tensor.row_len());
        return fail(ErrorKind::InvalidFile, told);
    }
    let numbers: Vec<f32> = numbers.iter().map(|number| *number as f32).collect();
    let mut bytes = tensor.dtype().quantise(&numbers).map_err(|e| e.within(format!("setting {FIRST_ROWS:?}")))?;
    bytes.extend_from_slice(tensor.bytes());
    let mut shape = tensor.shape().to_vec();
    shape[0] += skipped;
    let whole = Tensor::new(tensor.dtype(), shape, Bytes::owned(bytes));
    whole.ok_or_else(|| Error::new(ErrorKind::InvalidTensor, format!("tensor {TABLE:?} is no table of positions")))
}
