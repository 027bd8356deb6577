//! How does a C caller ask whether one text follows another?

use std::ffi::c_char;

use super::encode::{read_texts, stopped};
use super::error::{cloze_error, cloze_status};
use super::guard::{Place, free, give, guard, shared, value};
use super::model::{cloze_model, enter};
use super::report::{at, input_report};
use super::request::{cloze_request, request_or_default};
use crate::tasks::NextSentence;

/// How probably the second text of each pair follows the first. Pairs are counted from 0.
///
/// Owner: the caller, who frees it with cloze_follows_free; it needs neither the model nor the request any more.
/// Threads: any number at once.
pub struct cloze_follows {
    answer: NextSentence,
}

/// Says for each of `count` pairs how probably its second text follows its first, by the head of BERT's pre-training. Pair `i` is
/// the `lengths[i]` bytes of UTF-8 at `texts[i]` and the `pair_lengths[i]` bytes at `pairs[i]`; they must not change during the
/// call. The answer for a pair is the same, bit for bit, whatever the other pairs, their order and the number of threads.
/// `request` may be NULL; its `windows`, `truncation`, `deadline_ms` and cancellation are as for cloze_classify. With `count` 0 all
/// lists may be NULL.
///
/// `follows` receives the result after CLOZE_OK, CLOZE_DEADLINE_EXCEEDED and CLOZE_CANCELLED, and NULL after anything else; free
/// it with cloze_follows_free.
///
/// Errors: as cloze_classify.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_next_sentence(
    model: *const cloze_model,
    request: *const cloze_request,
    texts: *const *const c_char,
    lengths: *const usize,
    pairs: *const *const c_char,
    pair_lengths: *const usize,
    count: usize,
    follows: *mut *mut cloze_follows,
    error: *mut cloze_error,
) -> cloze_status {
    // SAFETY: the header's contract: each pointer is NULL or valid, texts for their lengths.
    unsafe {
        guard(error, || {
            let place = Place::required(follows, "follows", std::ptr::null_mut())?;
            let (model, request) = (enter(model)?, request_or_default(request));
            let texts = read_texts(texts, lengths, count, "texts")?;
            let pairs: Vec<(&str, &str)> = texts.into_iter().zip(read_texts(pairs, pair_lengths, count, "pairs")?).collect();
            let answer = model.next_sentence(&pairs, &request)?;
            let outcome = stopped(answer.stopped, answer.pairs.len(), count, "pairs are finished");
            place.set(give(cloze_follows { answer }));
            outcome
        })
    }
}

/// The number of pairs of the call. NULL gives 0.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_follows_count(follows: *const cloze_follows) -> usize {
    // SAFETY: the header's contract: `follows` is NULL or valid.
    value(0, || unsafe { follows.as_ref() }.map_or(0, |f| f.answer.reports.len()))
}

/// How many pairs, counted from the first, have their answer: all of them unless a deadline or a cancellation stopped the call.
/// NULL gives 0.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_follows_finished(follows: *const cloze_follows) -> usize {
    // SAFETY: the header's contract: `follows` is NULL or valid.
    value(0, || unsafe { follows.as_ref() }.map_or(0, |f| f.answer.pairs.len()))
}

/// The answer for a pair. Each result may be NULL:
///
/// - `score`: the probability that the second text follows the first
/// - `logit`, `other_logit`: the raw number for "it follows", and the one for "it was taken from elsewhere"
///
/// Errors: CLOZE_NULL_ARGUMENT for NULL `follows`; CLOZE_INVALID_ARGUMENT for a pair that was not finished or does not exist.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_follows_get(
    follows: *const cloze_follows,
    pair: usize,
    score: *mut f32,
    logit: *mut f32,
    other_logit: *mut f32,
    error: *mut cloze_error,
) -> cloze_status {
    // SAFETY: the header's contract: each pointer is NULL or valid.
    unsafe {
        guard(error, || {
            let (score, logit, other) = (Place::optional(score, 0.0), Place::optional(logit, 0.0), Place::optional(other_logit, 0.0));
            let answer = at(&shared(follows, "follows")?.answer.pairs, pair, "finished pair")?;
            score.set(answer.score);
            logit.set(answer.logits[0]);
            other.set(answer.logits[1]);
            Ok(())
        })
    }
}

/// What became of a pair; each result may be NULL. See cloze_classes_input.
///
/// Errors: CLOZE_NULL_ARGUMENT for NULL `follows`; CLOZE_INVALID_ARGUMENT for a number beyond the last pair.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_follows_input(
    follows: *const cloze_follows,
    pair: usize,
    tokens: *mut usize,
    total: *mut usize,
    truncated: *mut bool,
    windows: *mut usize,
    error: *mut cloze_error,
) -> cloze_status {
    // SAFETY: the header's contract: each pointer is NULL or valid.
    unsafe { input_report(tokens, total, truncated, windows, error, || at(&shared(follows, "follows")?.answer.reports, pair, "pair")) }
}

/// Frees `follows`. NULL is fine.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_follows_free(follows: *mut cloze_follows) {
    // SAFETY: the header's contract: NULL, or from cloze_next_sentence and not freed before.
    unsafe { free(follows) }
}
