//! TensorFlow 1's checkpoints, as Google published BERT: `bert_model.ckpt.index` and its data files.
//!
//! | file | question |
//! |---|---|
//! | `table`, `crc32c` | what does the index hold, and is it whole? |
//! | `bundle` | what does it say of each tensor? |
//! | `names` | what are the tensors called in a Hugging Face folder? |
//! | `folder` | which files of a Hugging Face folder follow from Google's? |
//! | `events` | how is a number that changes from step to step told to TensorBoard? |
//!
//! [`read`] gives the tensors under Hugging Face's names, matrices turned to (outputs, inputs). Every tensor is compared with its checksum.

mod bundle;
mod crc32c;
#[cfg(feature = "train")]
mod events;
mod folder;
mod names;
mod table;

use std::collections::BTreeMap;

use super::checkpoint::join;
use super::nearest::told;
use super::{Source, Weights};
use crate::error::{Error, ErrorKind, Result, fail};
use crate::quant::{Bytes, Dtype, Tensor};
use bundle::{Bundle, Entry};
use names::{Family, Target};

#[cfg(feature = "train")]
pub use events::EventFile;
pub(super) use folder::made;

/// How the name of an index ends, and what stands before the number of a data file.
const INDEX: &str = ".index";
/// TensorFlow's note of the newest of several checkpoints.
const STATE: &str = "checkpoint";
/// More than any checkpoint has.
const SHARDS_MAX: usize = 10_000;
/// Key of a checkpoint that TensorFlow 2 wrote from objects.
const OBJECTS: &str = "_CHECKPOINTABLE_OBJECT_GRAPH";

fn invalid(sentence: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidFile, sentence)
}

/// The index of the checkpoint in the folder `dir`: the only one, or the one that the file `checkpoint` names.
///
/// # Errors
/// `InvalidFile` where there are several and none is named.
pub(super) fn find(source: &Source, dir: &str) -> Result<Option<String>> {
    let is_index = |name: &String| name.contains(".ckpt") && name.ends_with(INDEX);
    let found: Vec<String> = source.list(dir).into_iter().filter(is_index).collect();
    if found.len() < 2 {
        return Ok(found.into_iter().next());
    }
    let state = source.read(&join(dir, STATE))?.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
    let newest = state.lines().find_map(|line| line.strip_prefix("model_checkpoint_path:")).map(|path| path.trim().trim_matches('"'));
    let newest = newest.map(|path| format!("{}{INDEX}", path.rsplit('/').next().unwrap_or(path)));
    match found.iter().find(|name| Some(*name) == newest.as_ref()) {
        Some(name) => Ok(Some(name.clone())),
        None => fail(
            ErrorKind::InvalidFile,
            format!("{} has several checkpoints ({}); keep the files of one", source.label(dir), found.join(", ")),
        ),
    }
}

/// Every tensor of the checkpoint with the index `name` in the folder `dir`.
///
/// # Errors
/// `InvalidFile` when a file is damaged or missing, `InvalidTensor` for a tensor that the family does not have, `Unsupported` for other
/// families and layouts.
pub(super) fn read(source: &Source, dir: &str, name: &str) -> Result<Weights> {
    let path = join(dir, name);
    let within = |e: Error| e.within(source.label(&path));
    let bundle = table::read(&source.require(&path)?).and_then(bundle::read).map_err(within)?;
    let config = source.require_object(&join(dir, "config.json"))?;
    let model_type = config.get("model_type").and_then(serde_json::Value::as_str).unwrap_or_default();
    let Some(family) = Family::of_model_type(model_type) else {
        let known: Vec<_> = Family::all().collect();
        let told = format!("TensorFlow checkpoints of model_type {model_type:?} are not read; of {} they are", known.join(", "));
        return fail(ErrorKind::Unsupported, told).map_err(within);
    };
    let stem = path.strip_suffix(INDEX).unwrap_or(&path);
    tensors(source, stem, family, &bundle).map_err(within)
}

fn tensors(source: &Source, stem: &str, family: &Family, bundle: &Bundle) -> Result<Weights> {
    let mut weights = Weights::default();
    let mut files: BTreeMap<usize, Bytes> = BTreeMap::new();
    let mut unknown = Vec::new();
    let mut taken: BTreeMap<usize, usize> = BTreeMap::new();
    for (name, entry) in &bundle.entries {
        if name == OBJECTS {
            let told = "a checkpoint of TensorFlow 2, which names objects; load it with TensorFlow and save its weights with transformers";
            return fail(ErrorKind::Unsupported, told);
        }
        let (ours, turned) = match family.target(name) {
            Target::Tensor(ours, turned) => (ours, turned),
            Target::Left => {
                weights.skip(name.clone());
                continue;
            }
            Target::Unknown => {
                unknown.push(name.as_str());
                continue;
            }
        };
        let within = |e: Error| e.within(format!("tensor {name:?}"));
        if entry.shard >= bundle.shards.min(SHARDS_MAX) {
            return Err(within(invalid(format!("it lies in data file {} of {}", entry.shard, bundle.shards))));
        }
        if let std::collections::btree_map::Entry::Vacant(vacant) = files.entry(entry.shard) {
            vacant.insert(source.require_mapped(&format!("{stem}.data-{:05}-of-{:05}", entry.shard, bundle.shards))?);
        }
        let file = &files[&entry.shard];
        let taken = taken.entry(entry.shard).or_default();
        *taken = taken.saturating_add(entry.size);
        if *taken > file.len() {
            return Err(within(invalid("the tensors of its data file overlap, or the file is truncated; copy or download it again")));
        }
        let tensor = tensor(entry, file, turned).map_err(within)?;
        weights.insert_as(ours, name, tensor)?;
    }
    if unknown.is_empty() { Ok(weights) } else { told("is not one that this version knows", &unknown, |name| family.names(name)) }
}

/// A tensor's numbers, compared with their checksum.
fn tensor(entry: &Entry, file: &Bytes, turned: bool) -> Result<Tensor> {
    let (dtype, size) = match entry.dtype {
        1 => (Dtype::F32, 4),
        2 => (Dtype::F32, 8),
        14 => (Dtype::Bf16, 2),
        19 => (Dtype::F16, 2),
        other => {
            return fail(ErrorKind::Unsupported, format!("TensorFlow's type number {other}; float, double, half and bfloat16 are read"));
        }
    };
    let elements = entry.shape.iter().try_fold(1usize, |n, d| n.checked_mul(*d));
    if elements.and_then(|n| n.checked_mul(size)) != Some(entry.size) {
        return Err(invalid(format!("{} bytes do not hold its shape {:?}", entry.size, entry.shape)));
    }
    let range = entry.offset.checked_add(entry.size).and_then(|end| file.slice(entry.offset..end));
    let bytes = range.ok_or_else(|| invalid(format!("it ends behind byte {} of its data file; truncated", file.len())))?;
    if entry.checksum != Some(crc32c::masked(&bytes)) {
        return Err(invalid("its numbers do not have its checksum; the data file is damaged, copy or download it again"));
    }
    let (bytes, size) = if size == 8 { (narrowed(&bytes), 4) } else { (bytes, size) };
    let (bytes, shape) = match (turned, entry.shape.as_slice()) {
        (false, shape) => (bytes, shape.to_vec()),
        (true, [inputs, outputs]) => (transposed(&bytes, *inputs, *outputs, size), vec![*outputs, *inputs]),
        (true, shape) => return Err(invalid(format!("its shape {shape:?} is no matrix's"))),
    };
    Tensor::new(dtype, shape, bytes).ok_or_else(|| invalid("its shape does not fit its bytes"))
}

/// Doubles as F32.
fn narrowed(doubles: &[u8]) -> Bytes {
    Bytes::owned(doubles.as_chunks().0.iter().flat_map(|v| (f64::from_le_bytes(*v) as f32).to_le_bytes()).collect::<Vec<u8>>())
}

/// A matrix of (rows, columns) as (columns, rows), its numbers of `size` bytes.
pub(super) fn transposed(bytes: &[u8], rows: usize, columns: usize, size: usize) -> Bytes {
    let mut out = vec![0; bytes.len()];
    for (row, line) in bytes.chunks_exact((columns * size).max(1)).enumerate() {
        for (column, number) in line.chunks_exact(size).enumerate() {
            let at = (column * rows + row) * size;
            out[at..at + size].copy_from_slice(number);
        }
    }
    Bytes::owned(out)
}
