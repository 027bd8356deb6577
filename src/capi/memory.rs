//! What memory does a model hold, and how is it given back?

use std::ffi::c_char;

use super::error::{cloze_error, cloze_status};
use super::guard::{Place, guard, word};
use super::model::{cloze_model, enter};
use crate::error::{Error, ErrorKind};
use crate::tasks::Memory;

/// A key, and how its number is read.
type Statistic = (&'static str, fn(&Memory) -> usize);

const STATISTICS: &[Statistic] = &[
    ("weights_mapped", |m| m.weights_mapped),
    ("weights_owned", |m| m.weights_owned),
    ("workspaces", |m| m.workspaces),
    ("calls", |m| m.calls),
];

/// One statistic of the memory that a model holds at this moment; `key` is a NUL-terminated word:
///
/// - `weights_mapped`: bytes of weights used where they lie in the mapped file, shared with other processes
/// - `weights_owned`: bytes of weights in this process's own memory: packed for the kernels, or loaded from memory
/// - `workspaces`: bytes of the work areas of calls, running or kept for the next ones
/// - `calls`: number of calls running now
///
/// Errors: CLOZE_NULL_ARGUMENT; CLOZE_INVALID_UTF8; CLOZE_INVALID_ARGUMENT for an unknown key: the message lists the known.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_memory_statistics(
    model: *const cloze_model,
    key: *const c_char,
    value: *mut usize,
    error: *mut cloze_error,
) -> cloze_status {
    // SAFETY: the header's contract: each pointer is NULL or valid.
    unsafe {
        guard(error, || {
            let place = Place::required(value, "value", 0)?;
            let (model, key) = (enter(model)?, word(key, "key")?);
            let known = STATISTICS.iter().find(|(name, _)| *name == key);
            let (_, read) = known.ok_or_else(|| {
                let names: Vec<_> = STATISTICS.iter().map(|(name, _)| *name).collect();
                Error::new(ErrorKind::InvalidArgument, format!("unknown statistic {key:?}; known: {}", names.join(", ")))
            })?;
            place.set(read(&model.memory()));
            Ok(())
        })
    }
}

/// Frees the work areas that no running call uses. The next calls make new ones: use it when a model rests for a while.
///
/// Errors: CLOZE_NULL_ARGUMENT.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_memory_trim(model: *const cloze_model, error: *mut cloze_error) -> cloze_status {
    // SAFETY: the header's contract: each pointer is NULL or valid.
    unsafe {
        guard(error, || {
            enter(model)?.trim();
            Ok(())
        })
    }
}

/// The most bytes that one call needs at once to encode `texts` texts of `tokens` tokens each (special tokens included), beside
/// the weights and the vectors: what to plan for, times the calls that run at once.
///
/// Errors: CLOZE_NULL_ARGUMENT; CLOZE_INVALID_ARGUMENT for more tokens than the model has positions, or none.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_memory_peak(
    model: *const cloze_model,
    tokens: usize,
    texts: usize,
    bytes: *mut usize,
    error: *mut cloze_error,
) -> cloze_status {
    // SAFETY: the header's contract: each pointer is NULL or valid.
    unsafe {
        guard(error, || {
            let place = Place::required(bytes, "bytes", 0)?;
            place.set(enter(model)?.peak_bytes(tokens, texts)?);
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_of_memory_is_a_statistic() {
        let memory = Memory { weights_mapped: 1, weights_owned: 2, workspaces: 3, calls: 4 };
        let fields = serde_json::to_value(memory).unwrap();
        let fields = fields.as_object().unwrap();
        assert_eq!(fields.len(), STATISTICS.len());
        for (name, read) in STATISTICS {
            assert_eq!(fields[*name], read(&memory), "{name}");
        }
    }
}
