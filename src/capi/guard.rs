//! What stands between a C caller and the Rust code?
//!
//! Every exported function runs its body in [`guard`] (calls with a status) or [`value`] (plain getters): a panic becomes
//! `CLOZE_PANIC` and never unwinds into C. The conversions below turn raw pointers into Rust values; a NULL that is not
//! allowed becomes `CLOZE_NULL_ARGUMENT` with the argument's name.
//!
//! The contract of every `unsafe fn` here is that of the header: a pointer is NULL or valid for its type, for as long as the
//! call runs. The lifetimes that they return are the caller's to choose: use the values within the call only.

use std::any::Any;
use std::ffi::{CStr, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::error::{CLOZE_OK, cloze_error, cloze_status};
use crate::error::{Error, ErrorKind, Result, fail};

/// Runs `body`; its error, or the panic it ended in, goes to `error` (which may be NULL) and comes back as a status.
///
/// # Safety
/// `error` is NULL or valid, and used by nobody else during the call.
pub(super) unsafe fn guard(error: *mut cloze_error, body: impl FnOnce() -> Result<()>) -> cloze_status {
    let outcome = catch(body).and_then(|done| done);
    // SAFETY: the caller's contract.
    if let Some(error) = unsafe { error.as_mut() } {
        error.record(&outcome);
    }
    outcome.map_or_else(|e| e.kind() as cloze_status, |()| CLOZE_OK)
}

/// Runs the body of a getter, which has no status to return: `fallback` if it panics.
pub(super) fn value<T>(fallback: T, body: impl FnOnce() -> T) -> T {
    catch(body).unwrap_or(fallback)
}

/// A panic as an error. The values that a panic may have left half done are not seen again: handles that change
/// (`cloze_options`, `cloze_request`) are set by whole assignments, and the others are read only.
fn catch<T>(body: impl FnOnce() -> T) -> Result<T> {
    catch_unwind(AssertUnwindSafe(body)).map_err(|payload| {
        let said = said(payload);
        Error::new(ErrorKind::Panic, format!("a bug in Cloze, please report it: {said}"))
    })
}

/// The words of a panic.
fn said(payload: Box<dyn Any + Send>) -> String {
    let payload = match payload.downcast::<String>() {
        Ok(text) => return *text,
        Err(other) => other,
    };
    match payload.downcast::<&'static str>() {
        Ok(text) => (*text).to_owned(),
        Err(unknown) => {
            // Its destructor could panic again, here where nothing catches it: a few bytes lost are better.
            std::mem::forget(unknown);
            "a panic without words".to_owned()
        }
    }
}

fn missing<T>(name: &str) -> Result<T> {
    fail(ErrorKind::NullArgument, format!("argument {name} is NULL"))
}

/// A handle that is only read.
///
/// # Safety
/// NULL or valid; nobody writes to it during the call.
pub(super) unsafe fn shared<'a, T>(handle: *const T, name: &str) -> Result<&'a T> {
    // SAFETY: the caller's contract.
    unsafe { handle.as_ref() }.map_or_else(|| missing(name), Ok)
}

/// A handle that is changed.
///
/// # Safety
/// NULL or valid; nobody else uses it during the call.
pub(super) unsafe fn exclusive<'a, T>(handle: *mut T, name: &str) -> Result<&'a mut T> {
    // SAFETY: the caller's contract.
    unsafe { handle.as_mut() }.map_or_else(|| missing(name), Ok)
}

/// A place for a result. It may be uninitialised, so it is only ever written to.
pub(super) struct Place<T>(*mut T);

impl<T> Place<T> {
    /// A result that the caller must take; the place gets `first` at once, so that it is defined whatever happens next.
    ///
    /// # Safety
    /// NULL or valid for writes during the call.
    pub(super) unsafe fn required(place: *mut T, name: &str, first: T) -> Result<Place<T>> {
        if place.is_null() {
            return missing(name);
        }
        // SAFETY: the caller's contract.
        Ok(unsafe { Self::optional(place, first) })
    }

    /// A result that the caller may refuse by NULL.
    ///
    /// # Safety
    /// NULL or valid for writes during the call.
    pub(super) unsafe fn optional(place: *mut T, first: T) -> Place<T> {
        let place = Place(place);
        place.set(first);
        place
    }

    /// Writes the result.
    pub(super) fn set(&self, value: T) {
        if !self.0.is_null() {
            // SAFETY: not NULL, so valid for writes: the contract of the two makers.
            unsafe { self.0.write(value) }
        }
    }

    /// Whether the caller wants it.
    pub(super) fn is_wanted(&self) -> bool {
        !self.0.is_null()
    }
}

/// `count` values that stand one after another; NULL is fine where there are none.
///
/// # Safety
/// NULL or valid for `count` reads; nobody writes to them during the call.
pub(super) unsafe fn list<'a, T>(first: *const T, count: usize, name: &str) -> Result<&'a [T]> {
    if count == 0 {
        return Ok(&[]);
    }
    if first.is_null() {
        return missing(name);
    }
    if count > isize::MAX as usize / size_of::<T>().max(1) {
        return fail(ErrorKind::InvalidArgument, format!("argument {name}: {count} is more than memory can hold"));
    }
    // SAFETY: not NULL, not larger than memory, and valid by the caller's contract.
    Ok(unsafe { std::slice::from_raw_parts(first, count) })
}

/// A text with a length. NULL is an empty text where the length is 0.
///
/// # Safety
/// As [`list`].
pub(super) unsafe fn text<'a>(first: *const c_char, length: usize, name: &str) -> Result<&'a str> {
    // SAFETY: the caller's contract; c_char and u8 have one layout.
    let bytes = unsafe { list(first.cast::<u8>(), length, name) }?;
    utf8(bytes, name)
}

/// A word that ends with NUL.
///
/// # Safety
/// NULL or a NUL-terminated string that nobody writes to during the call.
pub(super) unsafe fn word<'a>(first: *const c_char, name: &str) -> Result<&'a str> {
    // SAFETY: the caller's contract.
    utf8(unsafe { c_string(first, name) }?.to_bytes(), name)
}

/// A string that ends with NUL, of any bytes.
///
/// # Safety
/// As [`word`].
pub(super) unsafe fn c_string<'a>(first: *const c_char, name: &str) -> Result<&'a CStr> {
    if first.is_null() {
        return missing(name);
    }
    // SAFETY: not NULL, and NUL-terminated by the caller's contract.
    Ok(unsafe { CStr::from_ptr(first) })
}

fn utf8<'a>(bytes: &'a [u8], name: &str) -> Result<&'a str> {
    std::str::from_utf8(bytes).or_else(|e| {
        let at = e.valid_up_to();
        let message = format!("{name} is not valid UTF-8 at byte {at} (0x{:02x}); convert it, or replace what is not", bytes[at]);
        fail(ErrorKind::InvalidUtf8, message)
    })
}

/// A caller's buffer with room for a number of values, all or none of which are written.
pub(super) struct Room<T> {
    first: *mut T,
    capacity: usize,
    name: &'static str,
}

impl<T: Copy> Room<T> {
    /// A buffer with room for `capacity` values; NULL is fine where that is 0.
    ///
    /// # Safety
    /// NULL or valid for `capacity` writes during the call, by nobody else.
    pub(super) unsafe fn new(first: *mut T, capacity: usize, name: &'static str) -> Result<Room<T>> {
        if first.is_null() && capacity > 0 { missing(name) } else { Ok(Room { first, capacity, name }) }
    }

    /// An error unless `needed` values fit.
    pub(super) fn expect(&self, needed: usize) -> Result<()> {
        let Room { capacity, name, .. } = self;
        if needed <= *capacity {
            return Ok(());
        }
        fail(ErrorKind::BufferTooSmall, format!("argument {name} has room for {capacity}, but the result needs {needed}"))
    }

    /// Copies `values` there.
    pub(super) fn fill(&self, values: &[T]) -> Result<()> {
        self.expect(values.len())?;
        if !values.is_empty() {
            // SAFETY: room for them, so not NULL, and valid for writes by nobody else: the contract of `new`.
            unsafe { self.first.copy_from_nonoverlapping(values.as_ptr(), values.len()) };
        }
        Ok(())
    }
}

/// Gives a new handle to the caller.
pub(super) fn give<T>(handle: T) -> *mut T {
    Box::into_raw(Box::new(handle))
}

/// Takes a handle back and frees it; NULL is fine.
///
/// # Safety
/// NULL, or made by [`give`] and not freed before.
pub(super) unsafe fn free<T>(handle: *mut T) {
    value((), || {
        if !handle.is_null() {
            // SAFETY: made by `give`, and freed once, by the caller's contract.
            drop(unsafe { Box::from_raw(handle) });
        }
    });
}

/// Adds the NUL at which C's strings end.
pub(super) fn terminate(text: &mut String) {
    text.push('\0');
}

/// The place of a string that was terminated; `length` (may be NULL) receives its bytes without the NUL. NULL, and a length of 0,
/// where there is no such string.
///
/// # Safety
/// `length` is NULL or valid for writes during the call.
pub(super) unsafe fn string<'a>(length: *mut usize, find: impl FnOnce() -> Option<&'a String>) -> *const c_char {
    value(std::ptr::null(), || {
        // SAFETY: the caller's contract.
        let length = unsafe { Place::optional(length, 0) };
        let Some(text) = find() else { return std::ptr::null() };
        length.set(text.len() - 1);
        text.as_ptr().cast()
    })
}

#[cfg(test)]
mod tests {
    use super::super::error::*;
    use super::*;

    /// Runs `body` behind the guard and returns the status and the message.
    fn run(body: impl FnOnce() -> Result<()>) -> (cloze_status, String) {
        let error = cloze_error_new();
        // SAFETY: `error` is a fresh handle, freed at the end, once.
        unsafe {
            let status = guard(error, body);
            assert_eq!(status, cloze_error_code(error));
            let message = CStr::from_ptr(cloze_error_message(error, std::ptr::null_mut())).to_str().unwrap().to_owned();
            cloze_error_free(error);
            (status, message)
        }
    }

    #[test]
    fn a_panic_becomes_a_status_and_its_words_become_the_message() {
        let (status, message) = run(|| panic!("lost count of {} things", 3));
        assert_eq!(status, CLOZE_PANIC);
        assert!(message.contains("lost count of 3 things"), "{message}");
        let (_, message) = run(|| panic!("plain words"));
        assert!(message.contains("plain words"), "{message}");
    }

    #[test]
    fn a_panic_whose_payload_panics_when_dropped_is_caught() {
        struct Bomb;
        impl Drop for Bomb {
            fn drop(&mut self) {
                panic!("again");
            }
        }
        let (status, message) = run(|| std::panic::panic_any(Bomb));
        assert_eq!(status, CLOZE_PANIC);
        assert!(message.contains("without words"), "{message}");
    }

    #[test]
    fn a_getter_that_panics_returns_its_fallback() {
        assert_eq!(value(7, || panic!("no")), 7);
        assert_eq!(value(7, || 8), 8);
    }

    #[test]
    fn a_success_clears_what_an_error_said() {
        let error = cloze_error_new();
        // SAFETY: `error` is a fresh handle, freed at the end, once.
        unsafe {
            guard(error, || fail(ErrorKind::Io, "no disk"));
            assert_eq!(cloze_error_code(error), CLOZE_IO);
            guard(error, || Ok(()));
            assert_eq!(cloze_error_code(error), CLOZE_OK);
            let mut length = 9;
            assert_eq!(*cloze_error_message(error, &raw mut length), 0);
            assert_eq!(length, 0);
            cloze_error_free(error);
        }
    }

    #[test]
    fn pointers_are_checked_before_they_are_followed() {
        let null = std::ptr::null::<u8>();
        // SAFETY: the pointers are NULL, or valid for the one byte that they are said to have.
        unsafe {
            assert_eq!(list(null, 0, "x"), Ok(&[][..]));
            assert_eq!(list(null, 1, "x").unwrap_err().kind(), ErrorKind::NullArgument);
            let one = 5u64;
            assert_eq!(list(&raw const one, usize::MAX, "x").unwrap_err().kind(), ErrorKind::InvalidArgument);
            assert_eq!(list(&raw const one, 1, "x"), Ok(&[5][..]));
            assert!(shared(null, "handle").unwrap_err().message().contains("handle"));
            assert!(Room::new(std::ptr::null_mut::<u8>(), 1, "ids").err().unwrap().message().contains("ids"));
            assert!(Place::required(std::ptr::null_mut::<u8>(), "written", 0).err().unwrap().message().contains("written"));
            let bad = *b"ab\xff";
            let e = text(bad.as_ptr().cast(), 3, "text 4").unwrap_err();
            assert_eq!(e.kind(), ErrorKind::InvalidUtf8);
            assert!(e.message().contains("text 4") && e.message().contains("byte 2"), "{e}");
        }
    }
}
