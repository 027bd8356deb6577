//! How do a C caller's texts become vectors in its buffer?

use std::ffi::{c_char, c_void};

use super::error::{cloze_error, cloze_status};
use super::guard::{Place, Room, give, guard, list, text};
use super::model::{cloze_model, enter};
use super::report::cloze_report;
use super::request::{cloze_request, request_or_default};
use crate::error::{Error, ErrorKind, Result, fail};
use crate::tasks::{Model, Request, Vectors};

/// Turns `count` texts into vectors. Text `i` is the `lengths[i]` bytes of UTF-8 at `texts[i]`; a NUL inside is a character
/// like any other, and no NUL is needed at the end. The texts must not change during the call. A text's vector is the same,
/// bit for bit, whatever the other texts, their order and the number of threads. `request` may be NULL. With `count` 0,
/// `texts` and `lengths` may be NULL; with a length of 0, so may the text: its vector is that of the empty text. One text may
/// have at most 4 MiB, whatever the truncation policy.
///
/// Vectors are written to `vectors`, which holds `capacity_bytes` bytes and needs no alignment, one after another in the order
/// of the texts, in the number type that the request's `output` names, in the machine's byte order:
///
/// - `f32`: 4 bytes a value, IEEE binary32
/// - `f16`: 2 bytes a value, IEEE binary16
/// - `int8`: 1 byte a value, signed; value times the vector's scale is the original, rounded (cloze_report_scale)
/// - `binary`: 1 bit a value, set where the value is above 0, the first value in the highest bit; a vector fills whole bytes
///
/// With the request's `vectors` = `token`, a text has as many vectors as it has tokens; cloze_report_text says which are whose. Of a
/// late-interaction model (ColBERT) these are the projected vectors that it compares: see `role` of cloze_request_set.
///
/// `written_bytes` receives the bytes written. On CLOZE_BUFFER_TOO_SMALL nothing is written and it receives the bytes needed.
/// For one vector a text that is known before any work is done: cloze_encode_size tells it. For one vector a token it is known
/// only once the texts were encoded: the work is lost, so give room for what you expect (cloze_tokenize counts tokens).
///
/// `report` may be NULL; otherwise it receives what became of each text after CLOZE_OK, CLOZE_DEADLINE_EXCEEDED and
/// CLOZE_CANCELLED, and NULL after anything else. Free it with cloze_report_free.
///
/// Errors: CLOZE_DEADLINE_EXCEEDED and CLOZE_CANCELLED: the texts finished by then, counted from the first, have their vectors
/// in `vectors`, and `written_bytes` counts these. All others give no vectors: CLOZE_NULL_ARGUMENT; CLOZE_INVALID_UTF8 names
/// the text and the byte; CLOZE_TOO_LONG names the text that has more than 4 MiB or, under the truncation policy `error`, more
/// tokens than the limit; CLOZE_INVALID_ARGUMENT for a request that the model cannot serve; CLOZE_NON_FINITE;
/// CLOZE_BUFFER_TOO_SMALL; CLOZE_OUT_OF_MEMORY.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_encode(
    model: *const cloze_model,
    request: *const cloze_request,
    texts: *const *const c_char,
    lengths: *const usize,
    count: usize,
    vectors: *mut c_void,
    capacity_bytes: usize,
    written_bytes: *mut usize,
    report: *mut *mut cloze_report,
    error: *mut cloze_error,
) -> cloze_status {
    // SAFETY: the header's contract: each pointer is NULL or valid, `vectors` for `capacity_bytes` bytes.
    unsafe {
        guard(error, || {
            let report = Place::optional(report, std::ptr::null_mut());
            let written = Place::required(written_bytes, "written_bytes", 0)?;
            let room = Room::new(vectors.cast::<u8>(), capacity_bytes, "vectors")?;
            let (model, request) = (enter(model)?, request_or_default(request));
            let texts = read_texts(texts, lengths, count, "texts")?;
            let expect = |bytes| room.expect(bytes).inspect_err(|_| written.set(bytes));
            if !request.token_vectors {
                expect(text_vectors_size(&model, &request, count)?)?;
            }
            let answer = model.encode(&texts, &request)?;
            let bytes = raw(&answer.vectors);
            expect(bytes.len())?;
            room.fill(bytes)?;
            written.set(bytes.len());
            let outcome = stopped(answer.stopped, answer.finished, count, "texts are finished");
            if report.is_wanted() {
                report.set(give(cloze_report::new(answer)));
            }
            outcome
        })
    }
}

/// The bytes that the vectors of `count` texts need, for a request that gives one vector a text; `request` may be NULL.
///
/// Errors: CLOZE_NULL_ARGUMENT; CLOZE_INVALID_ARGUMENT for a request that the model cannot serve, or one that asks for a
/// vector a token: these are as many as the texts have tokens.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_encode_size(
    model: *const cloze_model,
    request: *const cloze_request,
    count: usize,
    needed_bytes: *mut usize,
    error: *mut cloze_error,
) -> cloze_status {
    // SAFETY: the header's contract: each pointer is NULL or valid.
    unsafe {
        guard(error, || {
            let place = Place::required(needed_bytes, "needed_bytes", 0)?;
            let (model, request) = (enter(model)?, request_or_default(request));
            if request.token_vectors {
                return fail(
                    ErrorKind::InvalidArgument,
                    "vectors = token: their number depends on the texts; count tokens with cloze_tokenize, or call cloze_encode",
                );
            }
            place.set(text_vectors_size(&model, &request, count)?);
            Ok(())
        })
    }
}

/// The caller's texts.
///
/// # Safety
/// NULL or valid: two lists of `count`, each text for its length; nobody writes to them during the call.
pub(super) unsafe fn read_texts<'a>(texts: *const *const c_char, lengths: *const usize, count: usize, name: &str) -> Result<Vec<&'a str>> {
    // SAFETY: the caller's contract.
    unsafe {
        let (texts, lengths) = (list(texts, count, name)?, list(lengths, count, &format!("lengths of {name}"))?);
        (0..count).map(|i| text(texts[i], lengths[i], &format!("{name}[{i}]"))).collect()
    }
}

/// The second texts of pairs, each where there is one; both lists NULL where there is none.
///
/// # Safety
/// As [`read_texts`].
pub(super) unsafe fn read_pairs<'a>(pairs: *const *const c_char, lengths: *const usize, count: usize) -> Result<Vec<Option<&'a str>>> {
    if pairs.is_null() && lengths.is_null() {
        return Ok(vec![None; count]);
    }
    // SAFETY: the caller's contract.
    unsafe {
        let (pairs, lengths) = (list(pairs, count, "pairs")?, list(lengths, count, "pair_lengths")?);
        let one = |i: usize| {
            let none = pairs[i].is_null() && lengths[i] == 0;
            if none { Ok(None) } else { text(pairs[i], lengths[i], &format!("pairs[{i}]")).map(Some) }
        };
        (0..count).map(one).collect()
    }
}

/// The bytes of one vector a text. An empty list is checked like any other request, and answered without running anything.
fn text_vectors_size(model: &Model, request: &Request, count: usize) -> Result<usize> {
    let dimensions = model.dimensions(request)?;
    let size = request.output.vector_bytes(dimensions).checked_mul(count);
    size.ok_or_else(|| Error::new(ErrorKind::InvalidArgument, format!("the vectors of {count} texts are larger than memory")))
}

/// The bytes of vectors, as they lie in memory.
fn raw(vectors: &Vectors) -> &[u8] {
    let (first, bytes) = match vectors {
        Vectors::F32(v) => (v.as_ptr().cast::<u8>(), size_of_val(v.as_slice())),
        Vectors::F16(v) => (v.as_ptr().cast(), size_of_val(v.as_slice())),
        Vectors::Int8 { values, .. } => (values.as_ptr().cast(), values.len()),
        Vectors::Binary(v) => (v.as_ptr(), v.len()),
    };
    // SAFETY: numbers without padding, as many bytes as they have, borrowed as long as `vectors`.
    unsafe { std::slice::from_raw_parts(first, bytes) }
}

/// A deadline or a cancellation, which gives an answer and is a status all the same.
pub(super) fn stopped(kind: Option<ErrorKind>, finished: usize, count: usize, words: &str) -> Result<()> {
    let Some(kind) = kind else { return Ok(()) };
    let why = if kind == ErrorKind::Cancelled { "cancelled" } else { "the deadline passed" };
    fail(kind, format!("{why}: {finished} of {count} {words}"))
}
