//! How does a C caller find entities?

use std::ffi::c_char;

use super::encode::{read_texts, stopped};
use super::error::{cloze_error, cloze_status};
use super::guard::{Place, free, give, guard, list, shared, string, terminate, value};
use super::model::{cloze_model, enter};
use super::report::{at, input_report};
use super::request::{cloze_request, request_or_default};
use crate::error::{ErrorKind, Result, fail};
use crate::tasks::{Entities, Entity, Tagged};

/// Entities of texts, in the order in which they stand there. Inputs and their entities are counted from 0.
///
/// Owner: the caller, who frees it with cloze_entities_free; it needs neither the model nor the request any more.
/// Threads: any number at once.
pub struct cloze_entities {
    entities: Entities,
}

/// Finds the entities of `count` texts by the model's head for tokens. Text `i` is the `lengths[i]` bytes of UTF-8 at `texts[i]`; they
/// must not change during the call. Texts longer than the limit are read in overlapping windows, which cut no word and no entity.
/// The answer for a text is the same, bit for bit, whatever the other texts, their order and the number of threads. `request` may
/// be NULL. With `count` 0 both lists may be NULL; with a length of 0, so may the text. Keys of `request`:
///
/// - `aggregation`: how labels of tokens become entities
/// - `scheme`: how labels say where an entity begins and ends
/// - `offsets`: the unit of cloze_entities_get
/// - `max_tokens`, `overlap`: the size of windows and what they share
/// - `truncation`: `right` or `left` cut long texts instead, `error` refuses them
/// - `deadline_ms`, and cloze_request_set_cancel: stop, and keep what is finished
///
/// `entities` receives the result after CLOZE_OK, CLOZE_DEADLINE_EXCEEDED and CLOZE_CANCELLED, and NULL after anything else; free
/// it with cloze_entities_free.
///
/// Errors: CLOZE_DEADLINE_EXCEEDED and CLOZE_CANCELLED: the texts finished by then, counted from the first, have their entities.
/// CLOZE_INVALID_ARGUMENT for a model without the head (the message says which it has), or a request that cannot be served;
/// CLOZE_NULL_ARGUMENT; CLOZE_INVALID_UTF8; CLOZE_TOO_LONG; CLOZE_NON_FINITE; CLOZE_OUT_OF_MEMORY.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_tag(
    model: *const cloze_model,
    request: *const cloze_request,
    texts: *const *const c_char,
    lengths: *const usize,
    count: usize,
    entities: *mut *mut cloze_entities,
    error: *mut cloze_error,
) -> cloze_status {
    // SAFETY: the header's contract: each pointer is NULL or valid, texts for their lengths.
    unsafe {
        guard(error, || {
            let place = Place::required(entities, "entities", std::ptr::null_mut())?;
            let (model, request) = (enter(model)?, request_or_default(request));
            let texts = read_texts(texts, lengths, count, "texts")?;
            hand_out(model.tag(&texts, &request)?, &place)
        })
    }
}

/// As cloze_tag, of words that the caller has found. The words of all inputs stand one after another in `words` and `lengths`; input
/// `i` has `word_counts[i]` of them. A word is never divided in two, whatever the tokenizer makes of it. Places are those in the text
/// that the words of an input make with one space between neighbours; cloze_entities_words tells which words an entity has.
///
/// Errors: as cloze_tag; CLOZE_INVALID_ARGUMENT where the counts add up to more than memory can hold.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_tag_words(
    model: *const cloze_model,
    request: *const cloze_request,
    words: *const *const c_char,
    lengths: *const usize,
    word_counts: *const usize,
    count: usize,
    entities: *mut *mut cloze_entities,
    error: *mut cloze_error,
) -> cloze_status {
    // SAFETY: the header's contract: each pointer is NULL or valid, words for their lengths.
    unsafe {
        guard(error, || {
            let place = Place::required(entities, "entities", std::ptr::null_mut())?;
            let (model, request) = (enter(model)?, request_or_default(request));
            let counts = list(word_counts, count, "word_counts")?;
            let Some(all) = counts.iter().try_fold(0usize, |sum, n| sum.checked_add(*n)) else {
                return fail(ErrorKind::InvalidArgument, "word_counts add up to more words than memory can hold");
            };
            let words = read_texts(words, lengths, all, "words")?;
            let mut rest = words.as_slice();
            let mut inputs: Vec<&[&str]> = Vec::with_capacity(count);
            for n in counts {
                let (own, others) = rest.split_at(*n);
                inputs.push(own);
                rest = others;
            }
            hand_out(model.tag(&inputs, &request)?, &place)
        })
    }
}

/// Gives the answer to the caller, with the status of a call that was stopped.
fn hand_out(mut entities: Entities, place: &Place<*mut cloze_entities>) -> Result<()> {
    let outcome = stopped(entities.stopped, entities.finished, entities.inputs.len(), "texts are finished");
    for entity in entities.inputs.iter_mut().flat_map(|input| &mut input.entities) {
        terminate(&mut entity.text);
        terminate(&mut entity.label);
    }
    place.set(give(cloze_entities { entities }));
    outcome
}

/// # Safety
/// NULL or valid.
unsafe fn input<'a>(entities: *const cloze_entities, number: usize) -> Result<&'a Tagged> {
    // SAFETY: the caller's contract.
    at(&unsafe { shared(entities, "entities") }?.entities.inputs, number, "input")
}

/// # Safety
/// NULL or valid.
unsafe fn entity<'a>(entities: *const cloze_entities, input: usize, place: usize) -> Result<&'a Entity> {
    // SAFETY: the caller's contract.
    at(&unsafe { self::input(entities, input) }?.entities, place, "entity")
}

/// The number of inputs of the call. NULL gives 0.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_entities_count(entities: *const cloze_entities) -> usize {
    // SAFETY: the header's contract: `entities` is NULL or valid.
    value(0, || unsafe { entities.as_ref() }.map_or(0, |e| e.entities.inputs.len()))
}

/// How many inputs, counted from the first, have their entities: all of them unless a deadline or a cancellation stopped the call.
/// NULL gives 0.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_entities_finished(entities: *const cloze_entities) -> usize {
    // SAFETY: the header's contract: `entities` is NULL or valid.
    value(0, || unsafe { entities.as_ref() }.map_or(0, |e| e.entities.finished))
}

/// The number of entities of an input; 0 for an input that was not finished or does not exist, and for NULL.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_entities_found(entities: *const cloze_entities, input: usize) -> usize {
    // SAFETY: the header's contract: `entities` is NULL or valid.
    value(0, || unsafe { self::input(entities, input) }.map_or(0, |i| i.entities.len()))
}

/// An entity of an input. Each result may be NULL:
///
/// - `start`, `end`: where it stands in the text, from `start` up to but not including `end`, in the unit that the request's
///   `offsets` names
/// - `score`: the probability of its label, the mean over its tokens or words
///
/// Errors: CLOZE_NULL_ARGUMENT for NULL `entities`; CLOZE_INVALID_ARGUMENT for an input or a place that does not exist.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_entities_get(
    entities: *const cloze_entities,
    input: usize,
    place: usize,
    start: *mut usize,
    end: *mut usize,
    score: *mut f32,
    error: *mut cloze_error,
) -> cloze_status {
    // SAFETY: the header's contract: each pointer is NULL or valid.
    unsafe {
        guard(error, || {
            let (start, end, score) = (Place::optional(start, 0), Place::optional(end, 0), Place::optional(score, 0.0));
            let found = entity(entities, input, place)?;
            start.set(found.start);
            end.set(found.end);
            score.set(found.score);
            Ok(())
        })
    }
}

/// Which words of an input of cloze_tag_words an entity has: from number `first` up to but not including `end`. Each result may be
/// NULL.
///
/// Errors: CLOZE_NULL_ARGUMENT for NULL `entities`; CLOZE_INVALID_ARGUMENT for an input or a place that does not exist, and for a
/// text, whose words nobody counted.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_entities_words(
    entities: *const cloze_entities,
    input: usize,
    place: usize,
    first: *mut usize,
    end: *mut usize,
    error: *mut cloze_error,
) -> cloze_status {
    // SAFETY: the header's contract: each pointer is NULL or valid.
    unsafe {
        guard(error, || {
            let (first, end) = (Place::optional(first, 0), Place::optional(end, 0));
            let Some(words) = &entity(entities, input, place)?.words else {
                return fail(ErrorKind::InvalidArgument, "the entity is one of a text, not of words; ask for its start and end");
            };
            first.set(words.start);
            end.set(words.end);
            Ok(())
        })
    }
}

/// The label of an entity, in UTF-8 with a final NUL; `length` (may be NULL) receives its bytes without the NUL. NULL for an input or
/// a place that does not exist, and for NULL `entities`. The string belongs to `entities` and is valid until cloze_entities_free.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_entities_label(
    entities: *const cloze_entities,
    input: usize,
    place: usize,
    length: *mut usize,
) -> *const c_char {
    // SAFETY: the header's contract: each pointer is NULL or valid.
    unsafe { part(entities, input, place, length, |entity| &entity.label) }
}

/// The text of an entity, as it stands in its input; otherwise as cloze_entities_label.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_entities_text(
    entities: *const cloze_entities,
    input: usize,
    place: usize,
    length: *mut usize,
) -> *const c_char {
    // SAFETY: the header's contract: each pointer is NULL or valid.
    unsafe { part(entities, input, place, length, |entity| &entity.text) }
}

/// # Safety
/// Each pointer is NULL or valid.
unsafe fn part(
    entities: *const cloze_entities,
    input: usize,
    place: usize,
    length: *mut usize,
    which: impl Fn(&Entity) -> &String,
) -> *const c_char {
    // SAFETY: the caller's contract.
    unsafe { string(length, || entity(entities, input, place).ok().map(which)) }
}

/// What became of an input. Each result may be NULL:
///
/// - `tokens`: tokens that the encoder saw, special tokens included; for windows, those of all windows
/// - `total`: tokens of the whole input, special tokens included, before anything was cut
/// - `truncated`: whether tokens were left out
/// - `windows`: number of windows, 1 where it fits or was cut; 0 for an input that was not finished
///
/// Errors: CLOZE_NULL_ARGUMENT for NULL `entities`; CLOZE_INVALID_ARGUMENT for a number beyond the last input.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_entities_input(
    entities: *const cloze_entities,
    input: usize,
    tokens: *mut usize,
    total: *mut usize,
    truncated: *mut bool,
    windows: *mut usize,
    error: *mut cloze_error,
) -> cloze_status {
    // SAFETY: the header's contract: each pointer is NULL or valid.
    unsafe { input_report(tokens, total, truncated, windows, error, || Ok(&self::input(entities, input)?.report)) }
}

/// Frees `entities`. NULL is fine.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_entities_free(entities: *mut cloze_entities) {
    // SAFETY: the header's contract: NULL, or from cloze_tag or cloze_tag_words and not freed before.
    unsafe { free(entities) }
}
