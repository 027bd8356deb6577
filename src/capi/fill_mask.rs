//! How does a C caller fill blanks?

use std::ffi::c_char;

use super::encode::{read_texts, stopped};
use super::error::{cloze_error, cloze_status};
use super::guard::{Place, Room, free, give, guard, shared, string, terminate, value};
use super::model::{cloze_model, enter};
use super::report::{at, input_report};
use super::request::{cloze_request, request_or_default};
use crate::error::{ErrorKind, Result, fail};
use crate::tasks::{Blank, Fill, Filled, Fills};

/// Tokens for the blanks of texts, the best first. Inputs, their blanks and the places of tokens are counted from 0.
///
/// Owner: the caller, who frees it with cloze_fills_free; it needs neither the model nor the request any more.
/// Threads: any number at once.
pub struct cloze_fills {
    fills: Fills,
    /// The texts of the call.
    texts: Vec<String>,
}

/// Fills the blanks of `count` texts by the model's head of masked language modelling. Text `i` is the `lengths[i]` bytes of UTF-8 at
/// `texts[i]`; a blank is the tokenizer's mask token as it is written, `[MASK]` or `<mask>`. Each blank is filled for itself, the
/// others left blank. With `candidate_count` 0, `candidates` and `candidate_lengths` may be NULL, and each blank gets the best
/// tokens of the vocabulary. Otherwise only candidates are scored, `candidate_lengths[i]` bytes of UTF-8 at `candidates[i]`: each
/// is a token as the vocabulary spells it, or a word that becomes one token; those that are the same token count once. Scores are
/// probabilities of the whole vocabulary in either case. The texts must not change during the call. The answer for a text is the
/// same, bit for bit, whatever the other texts, their order and the number of threads. `request` may be NULL. With `count` 0 all
/// lists may be NULL. Keys of `request`:
///
/// - `top`: tokens for each blank; 5, or all candidates, unless said otherwise, and at most 1000 of the vocabulary
/// - `truncation`: of a text longer than the limit, unless said otherwise, the encoder sees a window around its blanks; `left` and
///   `right` cut as everywhere
/// - `offsets`: the unit of places in the text
/// - `deadline_ms`, and cloze_request_set_cancel: stop, and keep what is finished
///
/// `fills` receives the result after CLOZE_OK, CLOZE_DEADLINE_EXCEEDED and CLOZE_CANCELLED, and NULL after anything else; free it
/// with cloze_fills_free.
///
/// Errors: CLOZE_DEADLINE_EXCEEDED and CLOZE_CANCELLED: the texts finished by then, counted from the first, have their tokens.
/// CLOZE_INVALID_ARGUMENT for a model without the head (the message says which it has), a text without a blank, a candidate that is
/// not one token, or a request that the model cannot serve; CLOZE_TOO_LONG where the blanks of a text stand further apart than the
/// limit, or are cut off; CLOZE_NULL_ARGUMENT; CLOZE_INVALID_UTF8; CLOZE_NON_FINITE; CLOZE_OUT_OF_MEMORY.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_fill_mask(
    model: *const cloze_model,
    request: *const cloze_request,
    texts: *const *const c_char,
    lengths: *const usize,
    count: usize,
    candidates: *const *const c_char,
    candidate_lengths: *const usize,
    candidate_count: usize,
    fills: *mut *mut cloze_fills,
    error: *mut cloze_error,
) -> cloze_status {
    // SAFETY: the header's contract: each pointer is NULL or valid, texts for their lengths.
    unsafe {
        guard(error, || {
            let place = Place::required(fills, "fills", std::ptr::null_mut())?;
            let (model, request) = (enter(model)?, request_or_default(request));
            let texts = read_texts(texts, lengths, count, "texts")?;
            let candidates = read_texts(candidates, candidate_lengths, candidate_count, "candidates")?;
            let mut answer = model.fill_mask(&texts, &candidates, &request)?;
            let outcome = stopped(answer.stopped, answer.finished, count, "texts are finished");
            for fill in answer.inputs.iter_mut().flat_map(|input| &mut input.blanks).flat_map(|blank| &mut blank.fills) {
                terminate(&mut fill.token);
            }
            place.set(give(cloze_fills { fills: answer, texts: texts.into_iter().map(str::to_owned).collect() }));
            outcome
        })
    }
}

/// # Safety
/// NULL or valid.
unsafe fn input<'a>(fills: *const cloze_fills, number: usize) -> Result<&'a Filled> {
    // SAFETY: the caller's contract.
    at(&unsafe { shared(fills, "fills") }?.fills.inputs, number, "input")
}

/// # Safety
/// NULL or valid.
unsafe fn blank<'a>(fills: *const cloze_fills, input: usize, number: usize) -> Result<&'a Blank> {
    // SAFETY: the caller's contract.
    at(&unsafe { self::input(fills, input) }?.blanks, number, "blank")
}

/// # Safety
/// NULL or valid.
unsafe fn fill<'a>(fills: *const cloze_fills, input: usize, blank: usize, place: usize) -> Result<&'a Fill> {
    // SAFETY: the caller's contract.
    at(&unsafe { self::blank(fills, input, blank) }?.fills, place, "token")
}

/// The number of texts of the call. NULL gives 0.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_fills_count(fills: *const cloze_fills) -> usize {
    // SAFETY: the header's contract: `fills` is NULL or valid.
    value(0, || unsafe { fills.as_ref() }.map_or(0, |f| f.fills.inputs.len()))
}

/// How many texts, counted from the first, have their tokens: all of them unless a deadline or a cancellation stopped the call.
/// NULL gives 0.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_fills_finished(fills: *const cloze_fills) -> usize {
    // SAFETY: the header's contract: `fills` is NULL or valid.
    value(0, || unsafe { fills.as_ref() }.map_or(0, |f| f.fills.finished))
}

/// The number of blanks of a text; 0 for one that was not finished or does not exist, and for NULL.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_fills_blanks(fills: *const cloze_fills, input: usize) -> usize {
    // SAFETY: the header's contract: `fills` is NULL or valid.
    value(0, || unsafe { self::input(fills, input) }.map_or(0, |i| i.blanks.len()))
}

/// Where a blank stands, and how many tokens there are for it. Each result may be NULL:
///
/// - `start`, `end`: from `start` up to but not including `end`, in the unit that the request's `offsets` named
/// - `count`: tokens
///
/// Errors: CLOZE_NULL_ARGUMENT for NULL `fills`; CLOZE_INVALID_ARGUMENT for an input or a blank that does not exist.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_fills_blank(
    fills: *const cloze_fills,
    input: usize,
    blank: usize,
    start: *mut usize,
    end: *mut usize,
    count: *mut usize,
    error: *mut cloze_error,
) -> cloze_status {
    // SAFETY: the header's contract: each pointer is NULL or valid.
    unsafe {
        guard(error, || {
            let (start, end, count) = (Place::optional(start, 0), Place::optional(end, 0), Place::optional(count, 0));
            let found = self::blank(fills, input, blank)?;
            start.set(found.start);
            end.set(found.end);
            count.set(found.fills.len());
            Ok(())
        })
    }
}

/// A token for a blank, the best at place 0, of equals the one with the lower number. Each result may be NULL:
///
/// - `id`: its number in the vocabulary
/// - `score`: its probability
/// - `logit`: the raw number
///
/// Errors: CLOZE_NULL_ARGUMENT for NULL `fills`; CLOZE_INVALID_ARGUMENT for an input, a blank or a place that does not exist.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_fills_get(
    fills: *const cloze_fills,
    input: usize,
    blank: usize,
    place: usize,
    id: *mut u32,
    score: *mut f32,
    logit: *mut f32,
    error: *mut cloze_error,
) -> cloze_status {
    // SAFETY: the header's contract: each pointer is NULL or valid.
    unsafe {
        guard(error, || {
            let (id, score, logit) = (Place::optional(id, 0), Place::optional(score, 0.0), Place::optional(logit, 0.0));
            let found = fill(fills, input, blank, place)?;
            id.set(found.id);
            score.set(found.score);
            logit.set(found.logit);
            Ok(())
        })
    }
}

/// The token at a place as it reads on its own, in UTF-8 with a final NUL; `length` (may be NULL) receives its bytes without the
/// NUL. NULL for an input, a blank or a place that does not exist, and for NULL `fills`. The string belongs to `fills` and is valid
/// until cloze_fills_free.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_fills_token(
    fills: *const cloze_fills,
    input: usize,
    blank: usize,
    place: usize,
    length: *mut usize,
) -> *const c_char {
    // SAFETY: the header's contract: each pointer is NULL or valid.
    unsafe { string(length, || fill(fills, input, blank, place).ok().map(|fill| &fill.token)) }
}

/// Copies the whole text of an input with the token at a place in its blank to `text`, which holds `capacity` bytes: UTF-8 without a
/// NUL. A token that continues a word joins the word before the blank; other blanks stay. `length` receives the bytes written; on
/// CLOZE_BUFFER_TOO_SMALL nothing is written and it receives the bytes needed.
///
/// Errors: CLOZE_NULL_ARGUMENT; CLOZE_BUFFER_TOO_SMALL; CLOZE_INVALID_ARGUMENT for an input, a blank or a place that does not exist.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_fills_text(
    fills: *const cloze_fills,
    input: usize,
    blank: usize,
    place: usize,
    text: *mut c_char,
    capacity: usize,
    length: *mut usize,
    error: *mut cloze_error,
) -> cloze_status {
    // SAFETY: the header's contract: each pointer is NULL or valid, `text` for `capacity` bytes.
    unsafe {
        guard(error, || {
            let length = Place::required(length, "length", 0)?;
            let room = Room::new(text.cast::<u8>(), capacity, "text")?;
            fill(fills, input, blank, place)?;
            let whole = at(&shared(fills, "fills")?.texts, input, "input")?;
            let Some(filled) = self::blank(fills, input, blank)?.filled(whole, place) else {
                return fail(ErrorKind::InvalidArgument, "the text has no such blank");
            };
            length.set(filled.len());
            room.fill(filled.as_bytes())
        })
    }
}

/// What became of an input. Each result may be NULL:
///
/// - `tokens`: tokens that the encoder saw, special tokens included
/// - `total`: tokens of the whole text, special tokens included, before anything was cut
/// - `truncated`: whether tokens were left out
/// - `windows`: 1; 0 for a text that was not finished
///
/// Errors: CLOZE_NULL_ARGUMENT for NULL `fills`; CLOZE_INVALID_ARGUMENT for a number beyond the last text.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_fills_input(
    fills: *const cloze_fills,
    input: usize,
    tokens: *mut usize,
    total: *mut usize,
    truncated: *mut bool,
    windows: *mut usize,
    error: *mut cloze_error,
) -> cloze_status {
    // SAFETY: the header's contract: each pointer is NULL or valid.
    unsafe { input_report(tokens, total, truncated, windows, error, || Ok(&self::input(fills, input)?.report)) }
}

/// Frees `fills`. NULL is fine.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_fills_free(fills: *mut cloze_fills) {
    // SAFETY: the header's contract: NULL, or from cloze_fill_mask and not freed before.
    unsafe { free(fills) }
}
