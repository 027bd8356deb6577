//! How does a C caller learn what went wrong, and which library it talks to?
//!
//! A [`cloze_status`] is the number of a [`crate::ErrorKind`]; a `cloze_error` keeps the sentence that goes with it.

use std::ffi::{CStr, CString, c_char};

use super::guard::{Place, free, give, value};
use crate::error::Result;

/// The outcome of a call: CLOZE_OK (0), or one of the positive numbers below. A number keeps its meaning for ever; later
/// versions may add numbers, so treat one that you do not know as an error.
pub type cloze_status = i32;

/// The call did what it was asked to do.
pub const CLOZE_OK: cloze_status = 0;
/// A pointer that must not be NULL was NULL; the message names the argument.
pub const CLOZE_NULL_ARGUMENT: cloze_status = 1;
/// An argument is outside what the call accepts: an unknown key or value, an index out of range, a request that this model
/// cannot serve.
pub const CLOZE_INVALID_ARGUMENT: cloze_status = 2;
/// A text, key or value is not valid UTF-8; the message names it and the byte.
pub const CLOZE_INVALID_UTF8: cloze_status = 3;
/// A file is missing, or the system refused to read it.
pub const CLOZE_IO: cloze_status = 4;
/// A file's content is malformed, truncated or inconsistent.
pub const CLOZE_INVALID_FILE: cloze_status = 5;
/// The file is well formed but describes something that this version does not support.
pub const CLOZE_UNSUPPORTED: cloze_status = 6;
/// A tensor of the model is missing, unknown, or has the wrong shape or type; the message names it.
pub const CLOZE_INVALID_TENSOR: cloze_status = 7;
/// A text has more tokens than the limit, and the truncation policy is `error`.
pub const CLOZE_TOO_LONG: cloze_status = 8;
/// The caller's buffer is smaller than the result. Nothing was written to it; the size needed is reported.
pub const CLOZE_BUFFER_TOO_SMALL: cloze_status = 9;
/// The deadline passed. The results finished before it were written and counted.
pub const CLOZE_DEADLINE_EXCEEDED: cloze_status = 10;
/// The call was cancelled. The results finished before it were written and counted.
pub const CLOZE_CANCELLED: cloze_status = 11;
/// A result is NaN or infinite: the weights are damaged, or overflow.
pub const CLOZE_NON_FINITE: cloze_status = 12;
/// Memory for the model or the call could not be had.
pub const CLOZE_OUT_OF_MEMORY: cloze_status = 13;
/// A bug in Cloze was caught before it reached the caller. Please report it with the message.
pub const CLOZE_PANIC: cloze_status = 14;
/// The model's answers differ from the golden probes in its file by more than is allowed. The report was written.
pub const CLOZE_VERIFICATION_FAILED: cloze_status = 15;

const NAMES: &[(cloze_status, &CStr)] = &[
    (CLOZE_OK, c"CLOZE_OK"),
    (CLOZE_NULL_ARGUMENT, c"CLOZE_NULL_ARGUMENT"),
    (CLOZE_INVALID_ARGUMENT, c"CLOZE_INVALID_ARGUMENT"),
    (CLOZE_INVALID_UTF8, c"CLOZE_INVALID_UTF8"),
    (CLOZE_IO, c"CLOZE_IO"),
    (CLOZE_INVALID_FILE, c"CLOZE_INVALID_FILE"),
    (CLOZE_UNSUPPORTED, c"CLOZE_UNSUPPORTED"),
    (CLOZE_INVALID_TENSOR, c"CLOZE_INVALID_TENSOR"),
    (CLOZE_TOO_LONG, c"CLOZE_TOO_LONG"),
    (CLOZE_BUFFER_TOO_SMALL, c"CLOZE_BUFFER_TOO_SMALL"),
    (CLOZE_DEADLINE_EXCEEDED, c"CLOZE_DEADLINE_EXCEEDED"),
    (CLOZE_CANCELLED, c"CLOZE_CANCELLED"),
    (CLOZE_NON_FINITE, c"CLOZE_NON_FINITE"),
    (CLOZE_OUT_OF_MEMORY, c"CLOZE_OUT_OF_MEMORY"),
    (CLOZE_PANIC, c"CLOZE_PANIC"),
    (CLOZE_VERIFICATION_FAILED, c"CLOZE_VERIFICATION_FAILED"),
];

/// The version of the ABI that this header describes. It changes only when a caller would have to be compiled again.
pub const CLOZE_ABI_VERSION: u32 = 1;

/// The ABI version of the library that is loaded. A caller that was compiled with this header works with it when it equals
/// CLOZE_ABI_VERSION. The file name of the shared library carries the same number (libcloze.so.1).
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub extern "C" fn cloze_abi_version() -> u32 {
    CLOZE_ABI_VERSION
}

/// The version of the library that is loaded, such as "0.1.0": a static string, never freed.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub extern "C" fn cloze_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// The name of a status as this header spells it, such as "CLOZE_TOO_LONG"; "CLOZE_UNKNOWN" for a number that this version
/// does not know. A static string, never freed.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub extern "C" fn cloze_status_name(status: cloze_status) -> *const c_char {
    NAMES.iter().find(|(number, _)| *number == status).map_or(c"CLOZE_UNKNOWN", |(_, name)| name).as_ptr()
}

/// The sentence that goes with a status. Make one, pass it to any number of calls, read it after a call that failed; each call
/// replaces what the one before it said, and a call that succeeds empties it. Wherever a `cloze_error *` is asked for, NULL
/// may be given instead.
///
/// Owner: the caller, who frees it with cloze_error_free. Threads: one at a time.
pub struct cloze_error {
    code: cloze_status,
    message: CString,
}

impl cloze_error {
    /// Keeps the outcome of a call.
    pub(super) fn record(&mut self, outcome: &Result<()>) {
        (self.code, self.message) = match outcome {
            Ok(()) => (CLOZE_OK, CString::default()),
            // C would take a NUL inside the message for its end.
            Err(e) => (e.kind() as cloze_status, CString::new(e.message().replace('\0', "\u{fffd}")).unwrap_or_default()),
        };
    }
}

/// A new error object with code CLOZE_OK and an empty message. Free it with cloze_error_free.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub extern "C" fn cloze_error_new() -> *mut cloze_error {
    value(std::ptr::null_mut(), || give(cloze_error { code: CLOZE_OK, message: CString::default() }))
}

/// The status of the last call that was given `error`. NULL gives CLOZE_OK.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_error_code(error: *const cloze_error) -> cloze_status {
    // SAFETY: the header's contract: `error` is NULL or valid.
    value(CLOZE_OK, || unsafe { error.as_ref() }.map_or(CLOZE_OK, |e| e.code))
}

/// What the last call that was given `error` had to say: one sentence of valid UTF-8 that names the thing and says what to do;
/// empty after a success, and for NULL. It ends with a NUL; `length` (may be NULL) receives its bytes without the NUL. The
/// wording may change between versions. The string belongs to `error` and is valid until the next call that is given `error`.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_error_message(error: *const cloze_error, length: *mut usize) -> *const c_char {
    value(c"".as_ptr(), || {
        // SAFETY: the header's contract: each pointer is NULL or valid.
        let (length, error) = unsafe { (Place::optional(length, 0), error.as_ref()) };
        let message = error.map_or(c"", |e| e.message.as_c_str());
        length.set(message.count_bytes());
        message.as_ptr()
    })
}

/// Frees `error`. NULL is fine.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_error_free(error: *mut cloze_error) {
    // SAFETY: the header's contract: NULL, or from cloze_error_new and not freed before.
    unsafe { free(error) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{Error, ErrorKind};

    /// `NullArgument` -> `CLOZE_NULL_ARGUMENT`.
    fn c_name(kind: ErrorKind) -> String {
        let words = format!("{kind:?}").chars().fold(String::new(), |mut name, c| {
            if c.is_uppercase() {
                name.push('_');
            }
            name.push(c.to_ascii_uppercase());
            name
        });
        format!("CLOZE{words}")
    }

    #[test]
    fn every_kind_has_the_status_of_its_number_and_name() {
        assert_eq!(NAMES.len(), ErrorKind::ALL.len() + 1, "one status a kind, and CLOZE_OK");
        for kind in ErrorKind::ALL {
            // SAFETY: cloze_status_name returns static strings.
            let name = unsafe { CStr::from_ptr(cloze_status_name(kind as cloze_status)) };
            assert_eq!(name.to_str().unwrap(), c_name(kind));
        }
    }

    #[test]
    fn a_message_with_nul_inside_stays_whole() {
        let mut error = cloze_error { code: CLOZE_OK, message: CString::default() };
        error.record(&Err(Error::new(ErrorKind::InvalidArgument, "key \"a\0b\" is unknown")));
        assert_eq!(error.message.to_str().unwrap(), "key \"a\u{fffd}b\" is unknown");
    }
}
