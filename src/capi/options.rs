//! How does a C caller say how a model is opened?

use std::ffi::c_char;

use super::error::{cloze_error, cloze_status};
use super::guard::{exclusive, free, give, guard, value, word};
use crate::tasks::Options;

/// How a model is opened. A new one holds the defaults; change them by key and value with cloze_options_set and pass it to
/// cloze_model_load.
///
/// Owner: the caller, who frees it with cloze_options_free; models that were loaded with it do not need it any more.
/// Threads: one at a time; any number of loads may read it at once.
pub struct cloze_options {
    pub(super) options: Options,
}

/// New options with the defaults. Free them with cloze_options_free.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub extern "C" fn cloze_options_new() -> *mut cloze_options {
    value(std::ptr::null_mut(), || give(cloze_options { options: Options::default() }))
}

/// Sets an option: `key` and `value` are NUL-terminated words. A value that is refused changes nothing.
///
/// - `threads`: a number from 1 to 1024, or auto. Threads of one call, the calling thread included; auto (the default)
///   honours the affinity mask and the cgroup quota. A request may ask for another number.
/// - `precision`: auto, f32 or int8. Arithmetic of the encoder; auto (the default) is int8 for quantised files, f32 for all others.
/// - `isa`: auto, or an instruction set of this machine: avx512bf16, avx512vnni, avx512, avxvnni, avx2, portable, reference.
///   Instruction set of the kernels; auto (the default) takes the best one, or the one that the environment variable CLOZE_ISA
///   names.
///
/// Errors: CLOZE_NULL_ARGUMENT; CLOZE_INVALID_UTF8; CLOZE_INVALID_ARGUMENT for an unknown key or value: the message lists what
/// is known.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_options_set(
    options: *mut cloze_options,
    key: *const c_char,
    value: *const c_char,
    error: *mut cloze_error,
) -> cloze_status {
    // SAFETY: the header's contract: each pointer is NULL or valid, and `options` is not in use elsewhere.
    unsafe { guard(error, || exclusive(options, "options")?.options.set(word(key, "key")?, word(value, "value")?)) }
}

/// Frees `options`. NULL is fine.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_options_free(options: *mut cloze_options) {
    // SAFETY: the header's contract: NULL, or from cloze_options_new and not freed before.
    unsafe { free(options) }
}
