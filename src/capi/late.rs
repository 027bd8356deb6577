//! How does a C caller get the vectors that a late-interaction model compares, and the tokens that they stand for?

use std::ffi::c_char;

use super::encode::{read_texts, stopped};
use super::error::{cloze_error, cloze_status};
use super::guard::{Place, Room, free, give, guard, shared, string, terminate, value};
use super::model::{cloze_model, enter};
use super::report::{at, input_report};
use super::request::{cloze_request, request_or_default};
use crate::error::Result;
use crate::tasks::{LateInput, LateVectors};

/// The token vectors of texts as a late-interaction model (ColBERT, PyLate) compares them. Inputs and the vectors of each are counted
/// from 0.
///
/// Owner: the caller, who frees it with cloze_late_free; it needs neither the model nor the request any more.
/// Threads: any number at once.
pub struct cloze_late {
    vectors: LateVectors,
}

/// Turns `count` texts into one vector for each token that counts, with its token: ids, and places in the text. Text `i` is the
/// `lengths[i]` bytes of UTF-8 at `texts[i]`; the texts must not change during the call. Documents leave out the tokens that the model's
/// files say, queries are filled up with mask tokens where they say so. The answer for a text is the same, bit for bit, whatever the other
/// texts, their order and the number of threads. `request` may be NULL. With `count` 0, `texts` and `lengths` may be NULL. Keys of
/// `request`:
///
/// - `role`: `query` or `document`, the latter unless said otherwise
/// - `offsets`: the unit of places
/// - `normalize`: `false` leaves vectors as long as the projection makes them; otherwise their length is 1
/// - `prompt`, `prompt_name`, `max_tokens`, `truncation` (not `window`), `threads`: as in cloze_encode
/// - `deadline_ms`, and cloze_request_set_cancel: stop, and keep what is finished
///
/// `late` receives the result after CLOZE_OK, CLOZE_DEADLINE_EXCEEDED and CLOZE_CANCELLED, and NULL after anything else; free it with
/// cloze_late_free.
///
/// Errors: CLOZE_DEADLINE_EXCEEDED and CLOZE_CANCELLED: the texts finished by then, counted from the first, have their vectors.
/// CLOZE_INVALID_ARGUMENT for a model of another kind, or a request that it cannot serve; CLOZE_TOO_LONG; CLOZE_NULL_ARGUMENT;
/// CLOZE_INVALID_UTF8; CLOZE_NON_FINITE; CLOZE_OUT_OF_MEMORY.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_encode_late(
    model: *const cloze_model,
    request: *const cloze_request,
    texts: *const *const c_char,
    lengths: *const usize,
    count: usize,
    late: *mut *mut cloze_late,
    error: *mut cloze_error,
) -> cloze_status {
    // SAFETY: the header's contract: each pointer is NULL or valid, texts for their lengths.
    unsafe {
        guard(error, || {
            let place = Place::required(late, "late", std::ptr::null_mut())?;
            let (model, request) = (enter(model)?, request_or_default(request));
            let texts = read_texts(texts, lengths, count, "texts")?;
            let mut vectors = model.encode_late(&texts, &request)?;
            let outcome = stopped(vectors.stopped, vectors.finished, count, "texts are finished");
            vectors.inputs.iter_mut().flat_map(|input| &mut input.tokens).for_each(terminate);
            place.set(give(cloze_late { vectors }));
            outcome
        })
    }
}

/// # Safety
/// NULL or valid.
unsafe fn input<'a>(late: *const cloze_late, number: usize) -> Result<&'a LateInput> {
    // SAFETY: the caller's contract.
    at(&unsafe { shared(late, "late") }?.vectors.inputs, number, "input")
}

/// The number of texts of the call. NULL gives 0.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_late_count(late: *const cloze_late) -> usize {
    // SAFETY: the header's contract: `late` is NULL or valid.
    value(0, || unsafe { late.as_ref() }.map_or(0, |l| l.vectors.inputs.len()))
}

/// How many texts, counted from the first, have their vectors: all of them unless a deadline or a cancellation stopped the call. NULL
/// gives 0.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_late_finished(late: *const cloze_late) -> usize {
    // SAFETY: the header's contract: `late` is NULL or valid.
    value(0, || unsafe { late.as_ref() }.map_or(0, |l| l.vectors.finished))
}

/// The number of values of one vector. NULL gives 0.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_late_dimensions(late: *const cloze_late) -> usize {
    // SAFETY: the header's contract: `late` is NULL or valid.
    value(0, || unsafe { late.as_ref() }.map_or(0, |l| l.vectors.dimensions))
}

/// The number of vectors of a text; 0 for one that was not finished or does not exist, and for NULL.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_late_vectors(late: *const cloze_late, input: usize) -> usize {
    // SAFETY: the header's contract: `late` is NULL or valid.
    value(0, || unsafe { self::input(late, input) }.map_or(0, |i| i.ids.len()))
}

/// Copies the vectors of a text, one after another, to `vectors`, which holds `capacity` numbers. `count` receives the number of numbers
/// copied, cloze_late_vectors times cloze_late_dimensions; on CLOZE_BUFFER_TOO_SMALL nothing is copied and it receives the number needed.
///
/// Errors: CLOZE_NULL_ARGUMENT; CLOZE_BUFFER_TOO_SMALL; CLOZE_INVALID_ARGUMENT for an input that does not exist.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_late_copy(
    late: *const cloze_late,
    input: usize,
    vectors: *mut f32,
    capacity: usize,
    count: *mut usize,
    error: *mut cloze_error,
) -> cloze_status {
    // SAFETY: the header's contract: each pointer is NULL or valid, `vectors` for `capacity` numbers.
    unsafe {
        guard(error, || {
            let count = Place::required(count, "count", 0)?;
            let room = Room::new(vectors, capacity, "vectors")?;
            let input = self::input(late, input)?;
            count.set(input.vectors.len());
            room.fill(&input.vectors)
        })
    }
}

/// The token that a vector stands for. Each result may be NULL:
///
/// - `id`: the token's number in the vocabulary
/// - `start`, `end`: where it stands in the text, from `start` up to but not including `end`, in the unit that the request's `offsets`
///   names; both 0 for special tokens, the marker, mask tokens and a prompt's
///
/// Errors: CLOZE_NULL_ARGUMENT for NULL `late`; CLOZE_INVALID_ARGUMENT for an input or a vector that does not exist.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_late_get(
    late: *const cloze_late,
    input: usize,
    vector: usize,
    id: *mut u32,
    start: *mut usize,
    end: *mut usize,
    error: *mut cloze_error,
) -> cloze_status {
    // SAFETY: the header's contract: each pointer is NULL or valid.
    unsafe {
        guard(error, || {
            let (id, start, end) = (Place::optional(id, 0), Place::optional(start, 0), Place::optional(end, 0));
            let input = self::input(late, input)?;
            id.set(*at(&input.ids, vector, "vector")?);
            let place = at(&input.offsets, vector, "vector")?;
            start.set(place.0);
            end.set(place.1);
            Ok(())
        })
    }
}

/// The token of a vector as the vocabulary spells it, in UTF-8 with a final NUL; `length` (may be NULL) receives its bytes without the NUL.
/// NULL for an input or a vector that does not exist, and for NULL `late`. The string belongs to `late` and is valid until
/// cloze_late_free.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_late_token(late: *const cloze_late, input: usize, vector: usize, length: *mut usize) -> *const c_char {
    // SAFETY: the header's contract: each pointer is NULL or valid.
    unsafe { string(length, || self::input(late, input).ok()?.tokens.get(vector)) }
}

/// What became of an input. Each result may be NULL:
///
/// - `tokens`: tokens that the encoder saw, special tokens, the marker and mask tokens included
/// - `total`: tokens of the whole text, special tokens and the marker included, before anything was cut
/// - `truncated`: whether tokens were left out
/// - `windows`: 1; 0 for a text that was not finished
///
/// Errors: CLOZE_NULL_ARGUMENT for NULL `late`; CLOZE_INVALID_ARGUMENT for a number beyond the last text.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_late_input(
    late: *const cloze_late,
    input: usize,
    tokens: *mut usize,
    total: *mut usize,
    truncated: *mut bool,
    windows: *mut usize,
    error: *mut cloze_error,
) -> cloze_status {
    // SAFETY: the header's contract: each pointer is NULL or valid.
    unsafe { input_report(tokens, total, truncated, windows, error, || Ok(&self::input(late, input)?.report)) }
}

/// Frees `late`. NULL is fine.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_late_free(late: *mut cloze_late) {
    // SAFETY: the header's contract: NULL, or from cloze_encode_late and not freed before.
    unsafe { free(late) }
}
