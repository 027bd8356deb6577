//! How does a C caller get sparse weights of the vocabulary?

use std::ffi::c_char;

use super::encode::{read_texts, stopped};
use super::error::{cloze_error, cloze_status};
use super::guard::{Place, Room, free, give, guard, shared, string, terminate, value};
use super::model::{cloze_model, enter};
use super::report::{at, input_report};
use super::request::{cloze_request, request_or_default};
use crate::error::Result;
use crate::tasks::{SparseVector, SparseVectors, TermWeight};

/// Sparse weights of texts, the largest first. Inputs and the places of weights are counted from 0.
///
/// Owner: the caller, who frees it with cloze_sparse_free; it needs neither the model nor the request any more.
/// Threads: any number at once.
pub struct cloze_sparse {
    vectors: SparseVectors,
}

/// Turns `count` texts into sparse weights of the vocabulary (SPLADE), by the model's head of masked language modelling: which tokens a
/// text is about, those that it does not contain included. Text `i` is the `lengths[i]` bytes of UTF-8 at `texts[i]`; the texts must not
/// change during the call. A model's files may say how the scores of tokens become weights; otherwise the weight of a token of the
/// vocabulary is the largest `log(1 + max(score, 0))` of all tokens of the text. The answer for a text is the same, bit for bit,
/// whatever the other texts, their order and the number of threads. `request` may be NULL. With `count` 0, `texts` and `lengths` may
/// be NULL. Keys of `request`:
///
/// - `top`: keep the largest weights only
/// - `threshold`: leave out weights below this
/// - `truncation`: `window` gives each token its largest weight of all windows
/// - `prompt`, `prompt_name`, `max_tokens`, `overlap`, `threads`: as in cloze_encode
/// - `deadline_ms`, and cloze_request_set_cancel: stop, and keep what is finished
///
/// `sparse` receives the result after CLOZE_OK, CLOZE_DEADLINE_EXCEEDED and CLOZE_CANCELLED, and NULL after anything else; free it
/// with cloze_sparse_free.
///
/// Errors: CLOZE_DEADLINE_EXCEEDED and CLOZE_CANCELLED: the texts finished by then, counted from the first, have their weights.
/// CLOZE_INVALID_ARGUMENT for a model without a head for fill_mask (the message says which it has), or a request that it cannot
/// serve; CLOZE_TOO_LONG; CLOZE_NULL_ARGUMENT; CLOZE_INVALID_UTF8; CLOZE_NON_FINITE; CLOZE_OUT_OF_MEMORY.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_encode_sparse(
    model: *const cloze_model,
    request: *const cloze_request,
    texts: *const *const c_char,
    lengths: *const usize,
    count: usize,
    sparse: *mut *mut cloze_sparse,
    error: *mut cloze_error,
) -> cloze_status {
    // SAFETY: the header's contract: each pointer is NULL or valid, texts for their lengths.
    unsafe {
        guard(error, || {
            let place = Place::required(sparse, "sparse", std::ptr::null_mut())?;
            let (model, request) = (enter(model)?, request_or_default(request));
            let texts = read_texts(texts, lengths, count, "texts")?;
            let mut vectors = model.encode_sparse(&texts, &request)?;
            let outcome = stopped(vectors.stopped, vectors.finished, count, "texts are finished");
            for term in vectors.inputs.iter_mut().flat_map(|input| &mut input.terms) {
                terminate(&mut term.token);
            }
            place.set(give(cloze_sparse { vectors }));
            outcome
        })
    }
}

/// # Safety
/// NULL or valid.
unsafe fn input<'a>(sparse: *const cloze_sparse, number: usize) -> Result<&'a SparseVector> {
    // SAFETY: the caller's contract.
    at(&unsafe { shared(sparse, "sparse") }?.vectors.inputs, number, "input")
}

/// # Safety
/// NULL or valid.
unsafe fn term<'a>(sparse: *const cloze_sparse, input: usize, place: usize) -> Result<&'a TermWeight> {
    // SAFETY: the caller's contract.
    at(&unsafe { self::input(sparse, input) }?.terms, place, "weight")
}

/// The number of texts of the call. NULL gives 0.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_sparse_count(sparse: *const cloze_sparse) -> usize {
    // SAFETY: the header's contract: `sparse` is NULL or valid.
    value(0, || unsafe { sparse.as_ref() }.map_or(0, |s| s.vectors.inputs.len()))
}

/// How many texts, counted from the first, have their weights: all of them unless a deadline or a cancellation stopped the call.
/// NULL gives 0.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_sparse_finished(sparse: *const cloze_sparse) -> usize {
    // SAFETY: the header's contract: `sparse` is NULL or valid.
    value(0, || unsafe { sparse.as_ref() }.map_or(0, |s| s.vectors.finished))
}

/// The number of weights of a text; 0 for one that was not finished or does not exist, and for NULL.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_sparse_weights(sparse: *const cloze_sparse, input: usize) -> usize {
    // SAFETY: the header's contract: `sparse` is NULL or valid.
    value(0, || unsafe { self::input(sparse, input) }.map_or(0, |i| i.terms.len()))
}

/// Copies the weights of a text, the largest first, of equals the one with the lower id: `ids` and `weights` each hold `capacity`
/// numbers. `count` receives the number copied; on CLOZE_BUFFER_TOO_SMALL nothing is copied and it receives the number needed.
///
/// Errors: CLOZE_NULL_ARGUMENT; CLOZE_BUFFER_TOO_SMALL; CLOZE_INVALID_ARGUMENT for an input that does not exist.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_sparse_copy(
    sparse: *const cloze_sparse,
    input: usize,
    ids: *mut u32,
    weights: *mut f32,
    capacity: usize,
    count: *mut usize,
    error: *mut cloze_error,
) -> cloze_status {
    // SAFETY: the header's contract: each pointer is NULL or valid, the lists for `capacity` numbers.
    unsafe {
        guard(error, || {
            let count = Place::required(count, "count", 0)?;
            let (ids, weights) = (Room::new(ids, capacity, "ids")?, Room::new(weights, capacity, "weights")?);
            let terms = &self::input(sparse, input)?.terms;
            count.set(terms.len());
            ids.expect(terms.len())?;
            ids.fill(&terms.iter().map(|term| term.id).collect::<Vec<_>>())?;
            weights.fill(&terms.iter().map(|term| term.weight).collect::<Vec<_>>())
        })
    }
}

/// The token of a weight as the vocabulary spells it, in UTF-8 with a final NUL; `length` (may be NULL) receives its bytes without the
/// NUL. NULL for an input or a place that does not exist, and for NULL `sparse`. The string belongs to `sparse` and is valid until
/// cloze_sparse_free.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_sparse_token(sparse: *const cloze_sparse, input: usize, place: usize, length: *mut usize) -> *const c_char {
    // SAFETY: the header's contract: each pointer is NULL or valid.
    unsafe { string(length, || term(sparse, input, place).ok().map(|term| &term.token)) }
}

/// What became of an input. Each result may be NULL:
///
/// - `tokens`: tokens that the encoder saw, special tokens included; for windows, those of all windows
/// - `total`: tokens of the whole text, special tokens included, before anything was cut
/// - `truncated`: whether tokens were left out
/// - `windows`: number of windows, 1 where it fits or was cut; 0 for a text that was not finished
///
/// Errors: CLOZE_NULL_ARGUMENT for NULL `sparse`; CLOZE_INVALID_ARGUMENT for a number beyond the last text.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_sparse_input(
    sparse: *const cloze_sparse,
    input: usize,
    tokens: *mut usize,
    total: *mut usize,
    truncated: *mut bool,
    windows: *mut usize,
    error: *mut cloze_error,
) -> cloze_status {
    // SAFETY: the header's contract: each pointer is NULL or valid.
    unsafe { input_report(tokens, total, truncated, windows, error, || Ok(&self::input(sparse, input)?.report)) }
}

/// Frees `sparse`. NULL is fine.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_sparse_free(sparse: *mut cloze_sparse) {
    // SAFETY: the header's contract: NULL, or from cloze_encode_sparse and not freed before.
    unsafe { free(sparse) }
}
