//! How does another thread stop a running call?

use super::error::{cloze_error, cloze_status};
use super::guard::{free, give, guard, shared, value};
use crate::tasks::Cancel;

/// A flag that stops calls from another thread. Give it to a request with cloze_request_set_cancel; raise it with
/// cloze_cancel_cancel, and every call that runs, or begins, with such a request stops and returns CLOZE_CANCELLED with the
/// results it had finished. One flag may serve any number of requests.
///
/// Owner: the caller, who frees it with cloze_cancel_free, at any time: requests keep a reference of their own.
/// Threads: cloze_cancel_cancel and cloze_cancel_reset may be called from any thread at any time.
pub struct cloze_cancel {
    pub(super) cancel: Cancel,
}

/// A new flag, not raised. Free it with cloze_cancel_free.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub extern "C" fn cloze_cancel_new() -> *mut cloze_cancel {
    value(std::ptr::null_mut(), || give(cloze_cancel { cancel: Cancel::new() }))
}

/// Raises the flag. With `error` NULL it neither locks nor allocates, so that a signal handler may call it.
///
/// Errors: CLOZE_NULL_ARGUMENT.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_cancel_cancel(cancel: *mut cloze_cancel, error: *mut cloze_error) -> cloze_status {
    // SAFETY: the header's contract: each pointer is NULL or valid.
    unsafe {
        guard(error, || {
            shared(cancel, "cancel")?.cancel.cancel();
            Ok(())
        })
    }
}

/// Lowers the flag, so that it can serve the next calls.
///
/// Errors: CLOZE_NULL_ARGUMENT.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_cancel_reset(cancel: *mut cloze_cancel, error: *mut cloze_error) -> cloze_status {
    // SAFETY: the header's contract: each pointer is NULL or valid.
    unsafe {
        guard(error, || {
            shared(cancel, "cancel")?.cancel.reset();
            Ok(())
        })
    }
}

/// Frees `cancel`. NULL is fine. Requests that were given it keep the flag as it stands.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_cancel_free(cancel: *mut cloze_cancel) {
    // SAFETY: the header's contract: NULL, or from cloze_cancel_new and not freed before.
    unsafe { free(cancel) }
}
