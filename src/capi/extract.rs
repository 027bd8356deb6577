//! How does a C caller find the answers to a question?

use std::ffi::c_char;

use super::encode::{read_texts, stopped};
use super::error::{cloze_error, cloze_status};
use super::guard::{Place, free, give, guard, shared, string, terminate, text, value};
use super::model::{cloze_model, enter};
use super::report::{at, input_report};
use super::request::{cloze_request, request_or_default};
use crate::error::Result;
use crate::tasks::{Answers, Extracted};

/// Parts of contexts that answer a question, of each context the best first. Contexts and their answers are counted from 0.
///
/// Owner: the caller, who frees it with cloze_answers_free; it needs neither the model nor the request any more.
/// Threads: any number at once.
pub struct cloze_answers {
    answers: Answers,
}

/// Finds the parts of each of `count` contexts that answer `question`, `question_length` bytes of UTF-8, by the model's head for
/// question answering. Context `i` is the `lengths[i]` bytes of UTF-8 at `contexts[i]`; they must not change during the call.
/// Contexts longer than the limit are read in overlapping windows, each beside the whole question. The answer for a context is the
/// same, bit for bit, whatever the other contexts, their order and the number of threads. `request` may be NULL. With `count` 0,
/// `contexts` and `lengths` may be NULL; with a length of 0, so may the context. Keys of `request`:
///
/// - `top`: how many answers of each context, one unless it is set; each place counts once
/// - `max_answer`: the longest answer in tokens
/// - `no_answer_threshold`: leave out answers whose logit is more than this below that of no answer
/// - `offsets`: the unit of cloze_answers_get
/// - `max_tokens`, `overlap`: the size of windows (384 tokens at most unless set), and what they share (128, or half a window)
/// - `truncation`: `right` or `left` cut long contexts instead, `error` refuses them
/// - `deadline_ms`, and cloze_request_set_cancel: stop, and keep what is finished
///
/// `answers` receives the result after CLOZE_OK, CLOZE_DEADLINE_EXCEEDED and CLOZE_CANCELLED, and NULL after anything else; free
/// it with cloze_answers_free.
///
/// Errors: CLOZE_DEADLINE_EXCEEDED and CLOZE_CANCELLED: the contexts finished by then, counted from the first, have their answers.
/// CLOZE_INVALID_ARGUMENT for a model without the head (the message says which it has), a question without words, or a request
/// that cannot be served; CLOZE_TOO_LONG for a question that leaves contexts no room; CLOZE_NULL_ARGUMENT; CLOZE_INVALID_UTF8;
/// CLOZE_NON_FINITE; CLOZE_OUT_OF_MEMORY.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_extract(
    model: *const cloze_model,
    request: *const cloze_request,
    question: *const c_char,
    question_length: usize,
    contexts: *const *const c_char,
    lengths: *const usize,
    count: usize,
    answers: *mut *mut cloze_answers,
    error: *mut cloze_error,
) -> cloze_status {
    // SAFETY: the header's contract: each pointer is NULL or valid, texts for their lengths.
    unsafe {
        guard(error, || {
            let place = Place::required(answers, "answers", std::ptr::null_mut())?;
            let (model, request) = (enter(model)?, request_or_default(request));
            let question = text(question, question_length, "question")?;
            let contexts = read_texts(contexts, lengths, count, "contexts")?;
            let mut answers = model.extract(question, &contexts, &request)?;
            let outcome = stopped(answers.stopped, answers.finished, count, "contexts are finished");
            for answer in answers.contexts.iter_mut().flat_map(|context| &mut context.answers) {
                terminate(&mut answer.text);
            }
            place.set(give(cloze_answers { answers }));
            outcome
        })
    }
}

/// # Safety
/// NULL or valid.
unsafe fn context<'a>(answers: *const cloze_answers, number: usize) -> Result<&'a Extracted> {
    // SAFETY: the caller's contract.
    at(&unsafe { shared(answers, "answers") }?.answers.contexts, number, "context")
}

/// The number of contexts of the call. NULL gives 0.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_answers_count(answers: *const cloze_answers) -> usize {
    // SAFETY: the header's contract: `answers` is NULL or valid.
    value(0, || unsafe { answers.as_ref() }.map_or(0, |a| a.answers.contexts.len()))
}

/// How many contexts, counted from the first, are finished: all of them unless a deadline or a cancellation stopped the call. NULL
/// gives 0.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_answers_finished(answers: *const cloze_answers) -> usize {
    // SAFETY: the header's contract: `answers` is NULL or valid.
    value(0, || unsafe { answers.as_ref() }.map_or(0, |a| a.answers.finished))
}

/// The number of answers of a context: the request's `top` at most, fewer where there are no more; 0 for a context that was not
/// finished or does not exist, and for NULL.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_answers_found(answers: *const cloze_answers, context: usize) -> usize {
    // SAFETY: the header's contract: `answers` is NULL or valid.
    value(0, || unsafe { self::context(answers, context) }.map_or(0, |c| c.answers.len()))
}

/// An answer of a context, the best at place 0. Each result may be NULL:
///
/// - `start`, `end`: where it stands in the context, from `start` up to but not including `end`, in the unit that the request's
///   `offsets` names
/// - `score`: the probability that it starts there times the probability that it ends there
/// - `logit`: the sum of the two raw numbers
///
/// Errors: CLOZE_NULL_ARGUMENT for NULL `answers`; CLOZE_INVALID_ARGUMENT for a context or a place that does not exist.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_answers_get(
    answers: *const cloze_answers,
    context: usize,
    place: usize,
    start: *mut usize,
    end: *mut usize,
    score: *mut f32,
    logit: *mut f32,
    error: *mut cloze_error,
) -> cloze_status {
    // SAFETY: the header's contract: each pointer is NULL or valid.
    unsafe {
        guard(error, || {
            let (start, end) = (Place::optional(start, 0), Place::optional(end, 0));
            let (score, logit) = (Place::optional(score, 0.0), Place::optional(logit, 0.0));
            let found = at(&self::context(answers, context)?.answers, place, "answer")?;
            start.set(found.start);
            end.set(found.end);
            score.set(found.score);
            logit.set(found.logit);
            Ok(())
        })
    }
}

/// The text of the answer at a place, as it stands in the context, in UTF-8 with a final NUL; `length` (may be NULL) receives its
/// bytes without the NUL. NULL for a context or a place that does not exist, and for NULL `answers`. The string belongs to
/// `answers` and is valid until cloze_answers_free.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_answers_text(
    answers: *const cloze_answers,
    context: usize,
    place: usize,
    length: *mut usize,
) -> *const c_char {
    // SAFETY: the header's contract: each pointer is NULL or valid.
    unsafe { string(length, || self::context(answers, context).ok()?.answers.get(place).map(|answer| &answer.text)) }
}

/// How probable it is that a context has no answer. Each result may be NULL:
///
/// - `score`: the probability, of all windows the smallest; 0 for a context that was not finished
/// - `logit`: the sum of the two raw numbers of no answer, of all windows the smallest
///
/// Errors: CLOZE_NULL_ARGUMENT for NULL `answers`; CLOZE_INVALID_ARGUMENT for a context that does not exist.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_answers_none(
    answers: *const cloze_answers,
    context: usize,
    score: *mut f32,
    logit: *mut f32,
    error: *mut cloze_error,
) -> cloze_status {
    // SAFETY: the header's contract: each pointer is NULL or valid.
    unsafe {
        guard(error, || {
            let (score, logit) = (Place::optional(score, 0.0), Place::optional(logit, 0.0));
            let found = self::context(answers, context)?;
            score.set(found.no_answer_score);
            logit.set(found.no_answer_logit);
            Ok(())
        })
    }
}

/// What became of a context. Each result may be NULL:
///
/// - `tokens`: tokens that the encoder saw, the question's and special tokens included; for windows, those of all windows
/// - `total`: tokens of question and context, special tokens included, before anything was cut
/// - `truncated`: whether tokens were left out
/// - `windows`: number of windows, 1 where it fits or was cut; 0 for a context that was not finished
///
/// Errors: CLOZE_NULL_ARGUMENT for NULL `answers`; CLOZE_INVALID_ARGUMENT for a number beyond the last context.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_answers_context(
    answers: *const cloze_answers,
    context: usize,
    tokens: *mut usize,
    total: *mut usize,
    truncated: *mut bool,
    windows: *mut usize,
    error: *mut cloze_error,
) -> cloze_status {
    // SAFETY: the header's contract: each pointer is NULL or valid.
    unsafe { input_report(tokens, total, truncated, windows, error, || Ok(&self::context(answers, context)?.report)) }
}

/// Frees `answers`. NULL is fine.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_answers_free(answers: *mut cloze_answers) {
    // SAFETY: the header's contract: NULL, or from cloze_extract and not freed before.
    unsafe { free(answers) }
}
