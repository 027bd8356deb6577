//! Is a GGUF file as it was written?
//!
//! `cloze.checksums.tensors` has a number for each tensor in the order of the file (of its name, type, shape and bytes),
//! `cloze.checksums.settings` one for all other settings as the file has them. They find what a disk, a network or a wrong program did
//! to a file. They are not cryptographic: who wants to deceive can make them fit.

use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use super::gguf::{Array, Metadata, Reader, Value};
use super::{TensorPlan, soundness};
use crate::quant::Tensor;

/// What the keys begin with.
pub(super) const PREFIX: &str = "cloze.checksums.";
const TENSORS: &str = "cloze.checksums.tensors";
const SETTINGS: &str = "cloze.checksums.settings";

/// Whether a file is as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Integrity {
    /// How many checksums the file has; `None` for a file without.
    pub checksums: Option<usize>,
    /// What is not as it was written, or is not finite, in words that name it.
    pub damaged: Vec<String>,
}

impl Integrity {
    /// Reads the whole file.
    pub fn of(reader: &Reader) -> Integrity {
        let metadata = reader.metadata();
        let mut damaged = Vec::new();
        let stated = Stated::of(metadata);
        let tensors = match &stated {
            Ok(None) => None,
            Ok(Some(Stated { settings, .. })) if *settings != of_settings(metadata) => {
                damaged.push("the settings (tokenizer, configuration, probes) are not as they were written".to_owned());
                stated.as_ref().ok().and_then(Option::as_ref).map(|stated| stated.tensors)
            }
            Ok(Some(stated)) => Some(stated.tensors),
            Err(key) => {
                damaged.push(format!("the checksums are incomplete or of another type: {key}"));
                None
            }
        };
        if let Some(sums) = tensors.filter(|sums| sums.len() != reader.tensors().len()) {
            damaged.push(format!("the file has {} tensors and checksums of {}", reader.tensors().len(), sums.len()));
        }
        for (index, (name, tensor)) in reader.tensors().enumerate() {
            let sum = tensors.and_then(|sums| sums.get(index));
            if sum.is_some_and(|sum| *sum != of_stored(name, tensor)) {
                damaged.push(format!("tensor {name:?} is not as it was written"));
            }
            if let Some((at, value)) = soundness::first_not_finite(tensor) {
                damaged.push(format!("tensor {name:?}: number {at} is {value}"));
            }
        }
        let checksums = !matches!(stated, Ok(None));
        Integrity { checksums: checksums.then(|| tensors.map_or(0, |sums| sums.len() + 1)), damaged }
    }

    /// What is damaged as one sentence; `None` where nothing is.
    pub fn told(&self) -> Option<String> {
        let (first, more) = (self.damaged.first()?, self.damaged.len() - 1);
        let more = if more > 0 { format!(" (and {more} more)") } else { String::new() };
        Some(format!("the file is damaged: {first}{more}; copy or download it again"))
    }
}

/// What a file states.
struct Stated<'a> {
    tensors: &'a [u64],
    settings: u64,
}

impl Stated<'_> {
    /// `None` for a file without checksums; the key of what is missing or of another type as an error.
    fn of(metadata: &Metadata) -> Result<Option<Stated<'_>>, &'static str> {
        if !metadata.iter().any(|(key, _)| key.starts_with(PREFIX)) {
            return Ok(None);
        }
        let Some(Value::Array(Array::U64(tensors))) = metadata.get(TENSORS) else { return Err(TENSORS) };
        let Some(Value::U64(settings)) = metadata.get(SETTINGS) else { return Err(SETTINGS) };
        Ok(Some(Stated { tensors, settings: *settings }))
    }
}

/// Puts checksums of the settings and of these tensors into the settings.
pub(super) fn put(metadata: &mut Metadata, tensors: Vec<u64>) {
    metadata.remove(|key| key.starts_with(PREFIX));
    let settings = of_settings(metadata);
    metadata.set(TENSORS, Value::Array(Array::U64(tensors)));
    metadata.set(SETTINGS, Value::U64(settings));
}

/// The checksum of a tensor with these bytes.
pub(super) fn of_tensor(plan: &TensorPlan, bytes: &[u8]) -> u64 {
    let mut sum = Xxh3::new();
    // The name's length tells where it ends.
    sum.update(&(plan.name.len() as u64).to_le_bytes());
    sum.update(plan.name.as_bytes());
    sum.update(&plan.dtype.ggml().to_le_bytes());
    plan.shape.iter().for_each(|size| sum.update(&(*size as u64).to_le_bytes()));
    sum.update(bytes);
    sum.digest()
}

fn of_stored(name: &str, tensor: &Tensor) -> u64 {
    of_tensor(&TensorPlan { name: name.to_owned(), dtype: tensor.dtype(), shape: tensor.shape().to_vec() }, tensor.bytes())
}

fn of_settings(metadata: &Metadata) -> u64 {
    let mut bytes = Vec::new();
    metadata.encode(|key| !key.starts_with(PREFIX), &mut bytes);
    xxh3_64(&bytes)
}
