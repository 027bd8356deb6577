//! How does a C caller label texts?

use std::ffi::c_char;

use super::encode::{read_pairs, read_texts, stopped};
use super::error::{cloze_error, cloze_status};
use super::guard::{Place, free, give, guard, shared, string, terminate, value};
use super::model::{cloze_model, enter};
use super::report::{at, input_report};
use super::request::{cloze_request, request_or_default};
use crate::error::Result;
use crate::tasks::{Classes, Classified};

/// Labels of texts, or of pairs of texts, the best first. Inputs and their labels are counted from 0.
///
/// Owner: the caller, who frees it with cloze_classes_free; it needs neither the model nor the request any more.
/// Threads: any number at once.
pub struct cloze_classes {
    classes: Classes,
}

/// Labels `count` texts, or pairs of texts, by the model's classification head. Text `i` is the `lengths[i]` bytes of UTF-8 at
/// `texts[i]`. `pairs` and `pair_lengths` may be NULL: there are single texts only. Otherwise a `pairs[i]` that is NULL, with a
/// length of 0, means that text `i` is single. The texts must not change during the call. The answer for an input is the same,
/// bit for bit, whatever the other inputs, their order and the number of threads. `request` may be NULL. With `count` 0 all
/// lists may be NULL. Keys of `request`:
///
/// - `activation`: how raw numbers become scores; `model` goes by the `problem_type` of the model's files: softmax for labels that
///   exclude each other, sigmoid for those that stand for themselves, identity for regression
/// - `top`: keep the best labels only
/// - `windows`: how inputs longer than the limit are read: what fits (`first`), or all, in windows whose raw numbers are joined
/// - `deadline_ms`, and cloze_request_set_cancel: stop, and keep what is finished
///
/// `classes` receives the result after CLOZE_OK, CLOZE_DEADLINE_EXCEEDED and CLOZE_CANCELLED, and NULL after anything else; free
/// it with cloze_classes_free.
///
/// Errors: CLOZE_DEADLINE_EXCEEDED and CLOZE_CANCELLED: the inputs finished by then, counted from the first, have their labels.
/// CLOZE_INVALID_ARGUMENT for a model without the head (the message says which it has), or a request that it cannot serve;
/// CLOZE_NULL_ARGUMENT; CLOZE_INVALID_UTF8; CLOZE_TOO_LONG; CLOZE_NON_FINITE; CLOZE_OUT_OF_MEMORY.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_classify(
    model: *const cloze_model,
    request: *const cloze_request,
    texts: *const *const c_char,
    lengths: *const usize,
    pairs: *const *const c_char,
    pair_lengths: *const usize,
    count: usize,
    classes: *mut *mut cloze_classes,
    error: *mut cloze_error,
) -> cloze_status {
    // SAFETY: the header's contract: each pointer is NULL or valid, texts for their lengths.
    unsafe {
        guard(error, || {
            let place = Place::required(classes, "classes", std::ptr::null_mut())?;
            let (model, request) = (enter(model)?, request_or_default(request));
            let texts = read_texts(texts, lengths, count, "texts")?;
            let pairs = read_pairs(pairs, pair_lengths, count)?;
            let inputs: Vec<(&str, Option<&str>)> = texts.into_iter().zip(pairs).collect();
            hand_out(model.classify(&inputs, &request)?, &place)
        })
    }
}

/// Says how well each of `label_count` labels fits each of `count` texts, by a model of natural language inference: one of its
/// own labels must begin with "entail". Label `i` is the `label_lengths[i]` bytes of UTF-8 at `labels[i]`. The request's
/// `hypothesis` is the sentence that is asked of each label, with {} in its place; with `multi_label` = true several labels may be
/// true at once, otherwise their scores add up to 1. Only texts are cut, never a hypothesis. Otherwise as cloze_classify; the
/// number of a label, in cloze_classes_get, is that in `labels`.
///
/// Errors: as cloze_classify; CLOZE_INVALID_ARGUMENT for no labels, or a model of another kind.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_classify_as(
    model: *const cloze_model,
    request: *const cloze_request,
    texts: *const *const c_char,
    lengths: *const usize,
    count: usize,
    labels: *const *const c_char,
    label_lengths: *const usize,
    label_count: usize,
    classes: *mut *mut cloze_classes,
    error: *mut cloze_error,
) -> cloze_status {
    // SAFETY: the header's contract: each pointer is NULL or valid, texts for their lengths.
    unsafe {
        guard(error, || {
            let place = Place::required(classes, "classes", std::ptr::null_mut())?;
            let (model, request) = (enter(model)?, request_or_default(request));
            let texts = read_texts(texts, lengths, count, "texts")?;
            let labels = read_texts(labels, label_lengths, label_count, "labels")?;
            hand_out(model.classify_as(&texts, &labels, &request)?, &place)
        })
    }
}

/// Gives the answer to the caller, with the status of a call that was stopped.
fn hand_out(mut classes: Classes, place: &Place<*mut cloze_classes>) -> Result<()> {
    let outcome = stopped(classes.stopped, classes.finished, classes.inputs.len(), "texts are finished");
    for label in classes.inputs.iter_mut().flat_map(|input| &mut input.labels) {
        terminate(&mut label.label);
    }
    place.set(give(cloze_classes { classes }));
    outcome
}

/// # Safety
/// NULL or valid.
unsafe fn input<'a>(classes: *const cloze_classes, number: usize) -> Result<&'a Classified> {
    // SAFETY: the caller's contract.
    at(&unsafe { shared(classes, "classes") }?.classes.inputs, number, "input")
}

/// The number of inputs of the call. NULL gives 0.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_classes_count(classes: *const cloze_classes) -> usize {
    // SAFETY: the header's contract: `classes` is NULL or valid.
    value(0, || unsafe { classes.as_ref() }.map_or(0, |c| c.classes.inputs.len()))
}

/// How many inputs, counted from the first, have their labels: all of them unless a deadline or a cancellation stopped the
/// call. NULL gives 0.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_classes_finished(classes: *const cloze_classes) -> usize {
    // SAFETY: the header's contract: `classes` is NULL or valid.
    value(0, || unsafe { classes.as_ref() }.map_or(0, |c| c.classes.finished))
}

/// The number of labels of an input: those of the model, or the request's `top`; 0 for an input that was not finished or does
/// not exist, and for NULL.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_classes_labels(classes: *const cloze_classes, input: usize) -> usize {
    // SAFETY: the header's contract: `classes` is NULL or valid.
    value(0, || unsafe { self::input(classes, input) }.map_or(0, |i| i.labels.len()))
}

/// A label of an input, the best at place 0, of equals the one with the lower number. Each result may be NULL:
///
/// - `label`: its number among the model's labels, or among those given to cloze_classify_as
/// - `score`: the raw number put through the activation
/// - `logit`: the raw number
///
/// Errors: CLOZE_NULL_ARGUMENT for NULL `classes`; CLOZE_INVALID_ARGUMENT for an input or a place that does not exist.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_classes_get(
    classes: *const cloze_classes,
    input: usize,
    place: usize,
    label: *mut usize,
    score: *mut f32,
    logit: *mut f32,
    error: *mut cloze_error,
) -> cloze_status {
    // SAFETY: the header's contract: each pointer is NULL or valid.
    unsafe {
        guard(error, || {
            let (label, score, logit) = (Place::optional(label, 0), Place::optional(score, 0.0), Place::optional(logit, 0.0));
            let found = at(&self::input(classes, input)?.labels, place, "label")?;
            label.set(found.id);
            score.set(found.score);
            logit.set(found.logit);
            Ok(())
        })
    }
}

/// The name of the label at a place, in UTF-8 with a final NUL; `length` (may be NULL) receives its bytes without the NUL. NULL
/// for an input or a place that does not exist, and for NULL `classes`. The string belongs to `classes` and is valid until
/// cloze_classes_free.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_classes_name(
    classes: *const cloze_classes,
    input: usize,
    place: usize,
    length: *mut usize,
) -> *const c_char {
    // SAFETY: the header's contract: each pointer is NULL or valid.
    unsafe { string(length, || self::input(classes, input).ok()?.labels.get(place).map(|label| &label.label)) }
}

/// What became of an input. Each result may be NULL:
///
/// - `tokens`: tokens that the encoder saw, special tokens included; for windows, those of all windows
/// - `total`: tokens of the whole input, special tokens included, before anything was cut
/// - `truncated`: whether tokens were left out
/// - `windows`: number of windows, 1 where it fits or was cut; 0 for an input that was not finished
///
/// Of cloze_classify_as these are the longest pair's of text and hypothesis.
///
/// Errors: CLOZE_NULL_ARGUMENT for NULL `classes`; CLOZE_INVALID_ARGUMENT for a number beyond the last input.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_classes_input(
    classes: *const cloze_classes,
    input: usize,
    tokens: *mut usize,
    total: *mut usize,
    truncated: *mut bool,
    windows: *mut usize,
    error: *mut cloze_error,
) -> cloze_status {
    // SAFETY: the header's contract: each pointer is NULL or valid.
    unsafe { input_report(tokens, total, truncated, windows, error, || Ok(&self::input(classes, input)?.report)) }
}

/// Frees `classes`. NULL is fine.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_classes_free(classes: *mut cloze_classes) {
    // SAFETY: the header's contract: NULL, or from cloze_classify or cloze_classify_as and not freed before.
    unsafe { free(classes) }
}
