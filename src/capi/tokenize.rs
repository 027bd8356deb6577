//! Which tokens would the encoder see of a C caller's text?

use std::ffi::c_char;

use super::error::{cloze_error, cloze_status};
use super::guard::{Place, Room, free, give, guard, shared, string, terminate, text, value};
use super::model::{cloze_model, enter};
use super::report::at;
use super::request::{cloze_request, request_or_default};
use crate::tasks::Tokens;

/// The tokens of one text, or of a text and its pair: one window, or several where the request's truncation is `window` and
/// the text is longer than the limit. Windows, and the tokens of a window, are counted from 0.
///
/// Owner: the caller, who frees it with cloze_tokens_free; it needs neither the model nor the request any more.
/// Threads: any number at once.
pub struct cloze_tokens {
    windows: Vec<Tokens>,
}

impl cloze_tokens {
    pub(super) fn new(mut windows: Vec<Tokens>) -> cloze_tokens {
        for token in windows.iter_mut().flat_map(|w| &mut w.tokens) {
            terminate(token);
        }
        cloze_tokens { windows }
    }
}

/// Cuts a text into the tokens that the encoder would see: the prompt, the limit, the truncation policy and the offset unit of
/// `request` (NULL for the model's own use) apply. `text` is `length` bytes of UTF-8. `pair` is a second text of `pair_length`
/// bytes that goes with the first, as a reranker takes a query and a passage; NULL means that there is none. `tokens` receives
/// the result, or NULL on an error; free it with cloze_tokens_free.
///
/// Errors: CLOZE_NULL_ARGUMENT; CLOZE_INVALID_UTF8 names the text and the byte; CLOZE_TOO_LONG for a text or a pair of more
/// than 4 MiB and, under the truncation policy `error`, of more tokens than the limit; CLOZE_INVALID_ARGUMENT for a request that
/// the model cannot serve.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_tokenize(
    model: *const cloze_model,
    request: *const cloze_request,
    text: *const c_char,
    length: usize,
    pair: *const c_char,
    pair_length: usize,
    tokens: *mut *mut cloze_tokens,
    error: *mut cloze_error,
) -> cloze_status {
    // SAFETY: the header's contract: each pointer is NULL or valid, texts for their lengths.
    unsafe {
        guard(error, || {
            let place = Place::required(tokens, "tokens", std::ptr::null_mut())?;
            let (model, request) = (enter(model)?, request_or_default(request));
            let first = self::text(text, length, "text")?;
            let second = if pair.is_null() && pair_length == 0 { None } else { Some(self::text(pair, pair_length, "pair")?) };
            place.set(give(cloze_tokens::new(model.tokenize(&[(first, second)], &request)?)));
            Ok(())
        })
    }
}

/// The number of windows: 1, or more where the request's truncation is `window` and the text is longer than the limit. NULL
/// gives 0.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_tokens_windows(tokens: *const cloze_tokens) -> usize {
    // SAFETY: the header's contract: `tokens` is NULL or valid.
    value(0, || unsafe { tokens.as_ref() }.map_or(0, |t| t.windows.len()))
}

/// The number of tokens of a window, special tokens included; 0 for a window that does not exist, and for NULL.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_tokens_count(tokens: *const cloze_tokens, window: usize) -> usize {
    // SAFETY: the header's contract: `tokens` is NULL or valid.
    value(0, || unsafe { tokens.as_ref() }.and_then(|t| t.windows.get(window)).map_or(0, |w| w.ids.len()))
}

/// The number of tokens of the whole input, special tokens included, before anything was cut. NULL gives 0.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_tokens_total(tokens: *const cloze_tokens) -> usize {
    // SAFETY: the header's contract: `tokens` is NULL or valid.
    value(0, || unsafe { tokens.as_ref() }.and_then(|t| t.windows.first()).map_or(0, |w| w.total))
}

/// Whether tokens were left out. NULL gives false.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_tokens_truncated(tokens: *const cloze_tokens) -> bool {
    // SAFETY: the header's contract: `tokens` is NULL or valid.
    value(false, || unsafe { tokens.as_ref() }.is_some_and(|t| t.windows.iter().any(|w| w.truncated)))
}

/// One token of a window. Each result may be NULL:
///
/// - `id`: the token's number in the vocabulary
/// - `type_id`: the segment, 0 for the text and 1 for its pair
/// - `special`: whether the template added it, as `[CLS]` and `[SEP]`
/// - `start`, `end`: where it stands in its own text (the pair's tokens: in the pair), from `start` up to but not including
///   `end`, in the unit that the request's `offsets` names; both 0 for special tokens and for a prompt's
///
/// Errors: CLOZE_NULL_ARGUMENT for NULL `tokens`; CLOZE_INVALID_ARGUMENT for a window or token that does not exist.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_tokens_get(
    tokens: *const cloze_tokens,
    window: usize,
    token: usize,
    id: *mut u32,
    type_id: *mut u32,
    special: *mut bool,
    start: *mut usize,
    end: *mut usize,
    error: *mut cloze_error,
) -> cloze_status {
    // SAFETY: the header's contract: each pointer is NULL or valid.
    unsafe {
        guard(error, || {
            let (id, type_id, special) = (Place::optional(id, 0), Place::optional(type_id, 0), Place::optional(special, false));
            let (start, end) = (Place::optional(start, 0), Place::optional(end, 0));
            let window = at(&shared(tokens, "tokens")?.windows, window, "window")?;
            id.set(*at(&window.ids, token, "token")?);
            type_id.set(*at(&window.type_ids, token, "token")?);
            special.set(*at(&window.special, token, "token")?);
            let offset = at(&window.offsets, token, "token")?;
            start.set(offset.0);
            end.set(offset.1);
            Ok(())
        })
    }
}

/// The token as the vocabulary spells it, in UTF-8 with a final NUL; `length` (may be NULL) receives its bytes without the NUL.
/// NULL for a window or token that does not exist, and for NULL `tokens`. The string belongs to `tokens` and is valid until
/// cloze_tokens_free.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_tokens_text(tokens: *const cloze_tokens, window: usize, token: usize, length: *mut usize) -> *const c_char {
    // SAFETY: the header's contract: each pointer is NULL or valid.
    unsafe { string(length, || tokens.as_ref()?.windows.get(window)?.tokens.get(token)) }
}

/// Copies the ids of a window's tokens to `ids`, which holds `capacity` ids. `count` receives the number of ids written; on
/// CLOZE_BUFFER_TOO_SMALL nothing is written and it receives the number needed.
///
/// Errors: CLOZE_NULL_ARGUMENT; CLOZE_BUFFER_TOO_SMALL; CLOZE_INVALID_ARGUMENT for a window that does not exist.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_tokens_ids(
    tokens: *const cloze_tokens,
    window: usize,
    ids: *mut u32,
    capacity: usize,
    count: *mut usize,
    error: *mut cloze_error,
) -> cloze_status {
    // SAFETY: the header's contract: each pointer is NULL or valid, `ids` for `capacity` ids.
    unsafe {
        guard(error, || {
            let count = Place::required(count, "count", 0)?;
            let room = Room::new(ids, capacity, "ids")?;
            let window = at(&shared(tokens, "tokens")?.windows, window, "window")?;
            count.set(window.ids.len());
            room.fill(&window.ids)
        })
    }
}

/// Frees `tokens`. NULL is fine.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_tokens_free(tokens: *mut cloze_tokens) {
    // SAFETY: the header's contract: NULL, or from cloze_tokenize and not freed before.
    unsafe { free(tokens) }
}
