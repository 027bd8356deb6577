//! What does a model look at in a C caller's text?

use std::ffi::c_char;

use super::error::{cloze_error, cloze_status};
use super::guard::{Place, Room, free, give, guard, shared, text, value};
use super::model::{cloze_model, enter};
use super::request::{cloze_request, request_or_default};
use super::tokenize::cloze_tokens;
use crate::error::{ErrorKind, Result, fail};
use crate::tasks::{Maps, Tokens};

/// Attention maps and hidden states of every layer for one text, or for a text and its pair. Layers and heads are counted from 0.
///
/// Owner: the caller, who frees it with cloze_maps_free; it needs neither the model nor the request any more.
/// Threads: any number at once.
pub struct cloze_maps {
    maps: Maps,
    tokens: cloze_tokens,
}

/// Runs the encoder over a text, and keeps what each head of each layer looks at and all hidden states. `text` is `length` bytes of
/// UTF-8; `pair` is a second text of `pair_length` bytes, NULL with a length of 0 for none. Prompt, limit, truncation (not
/// `window`), offset unit and deadline of `request` (NULL for the model's own use) apply. `maps` receives the result, or NULL on an
/// error; free it with cloze_maps_free.
///
/// Errors: CLOZE_TOO_LONG where all of it would take more than 4 GiB, with the size in the message;
/// CLOZE_DEADLINE_EXCEEDED and CLOZE_CANCELLED: there are no half maps; CLOZE_NULL_ARGUMENT; CLOZE_INVALID_UTF8;
/// CLOZE_INVALID_ARGUMENT for a request that the model cannot serve; CLOZE_NON_FINITE; CLOZE_OUT_OF_MEMORY.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_attention(
    model: *const cloze_model,
    request: *const cloze_request,
    text: *const c_char,
    length: usize,
    pair: *const c_char,
    pair_length: usize,
    maps: *mut *mut cloze_maps,
    error: *mut cloze_error,
) -> cloze_status {
    // SAFETY: the header's contract: each pointer is NULL or valid, texts for their lengths.
    unsafe {
        guard(error, || {
            let place = Place::required(maps, "maps", std::ptr::null_mut())?;
            let (model, request) = (enter(model)?, request_or_default(request));
            let first = self::text(text, length, "text")?;
            let second = if pair.is_null() && pair_length == 0 { None } else { Some(self::text(pair, pair_length, "pair")?) };
            let mut maps = model.attention(first, second, &request)?;
            let none = Tokens { ids: Vec::new(), tokens: Vec::new(), ..maps.tokens.clone() };
            let tokens = cloze_tokens::new(vec![std::mem::replace(&mut maps.tokens, none)]);
            place.set(give(cloze_maps { maps, tokens }));
            Ok(())
        })
    }
}

/// The sizes of all maps and states. Each result may be NULL:
///
/// - `layers`, `heads`: layers, and heads of a layer
/// - `tokens`: rows and columns of a map, rows of a state
/// - `hidden`: columns of a state
///
/// Errors: CLOZE_NULL_ARGUMENT for NULL `maps`.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_maps_sizes(
    maps: *const cloze_maps,
    layers: *mut usize,
    heads: *mut usize,
    tokens: *mut usize,
    hidden: *mut usize,
    error: *mut cloze_error,
) -> cloze_status {
    // SAFETY: the header's contract: each pointer is NULL or valid.
    unsafe {
        guard(error, || {
            let (layers, heads) = (Place::optional(layers, 0), Place::optional(heads, 0));
            let (tokens, hidden) = (Place::optional(tokens, 0), Place::optional(hidden, 0));
            let all = shared(maps, "maps")?;
            layers.set(all.maps.layers);
            heads.set(all.maps.heads);
            tokens.set(all.count());
            hidden.set(all.maps.hidden);
            Ok(())
        })
    }
}

impl cloze_maps {
    fn count(&self) -> usize {
        self.maps.hidden_states.len() / ((self.maps.layers + 1) * self.maps.hidden).max(1)
    }
}

/// The tokens that rows and columns stand for, in one window: what they are, where they stand in their texts, and which of them are
/// special. They belong to `maps`: never free them; they are valid until cloze_maps_free. NULL gives NULL.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_maps_tokens(maps: *const cloze_maps) -> *const cloze_tokens {
    // SAFETY: the header's contract: `maps` is NULL or valid.
    value(std::ptr::null(), || unsafe { maps.as_ref() }.map_or(std::ptr::null(), |m| &raw const m.tokens))
}

/// Copies the attention map of a head to `numbers`, which holds `capacity` numbers: row after row, how much the row's token takes from
/// each token; a row adds up to 1. `count` receives the numbers written, tokens times tokens; on CLOZE_BUFFER_TOO_SMALL nothing is
/// written and it receives the numbers needed.
///
/// Errors: CLOZE_NULL_ARGUMENT; CLOZE_BUFFER_TOO_SMALL; CLOZE_INVALID_ARGUMENT for a layer or a head that does not exist.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_maps_attention(
    maps: *const cloze_maps,
    layer: usize,
    head: usize,
    numbers: *mut f32,
    capacity: usize,
    count: *mut usize,
    error: *mut cloze_error,
) -> cloze_status {
    // SAFETY: the header's contract: each pointer is NULL or valid, `numbers` for `capacity` numbers.
    unsafe {
        guard(error, || {
            let count = Place::required(count, "count", 0)?;
            let room = Room::new(numbers, capacity, "numbers")?;
            let Maps { layers, heads, attention, .. } = &shared(maps, "maps")?.maps;
            within(layer, *layers, "layer")?;
            within(head, *heads, "head")?;
            let size = attention.len() / (layers * heads);
            let number = layer * heads + head;
            count.set(size);
            room.fill(&attention[number * size..(number + 1) * size])
        })
    }
}

/// Copies the hidden states behind a layer to `numbers`, which holds `capacity` numbers: row after row, those of each token; layer 0
/// are those before the first layer. `count` receives the numbers written, tokens times hidden; on CLOZE_BUFFER_TOO_SMALL nothing is
/// written and it receives the numbers needed.
///
/// Errors: CLOZE_NULL_ARGUMENT; CLOZE_BUFFER_TOO_SMALL; CLOZE_INVALID_ARGUMENT for a layer above the number of layers.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_maps_state(
    maps: *const cloze_maps,
    layer: usize,
    numbers: *mut f32,
    capacity: usize,
    count: *mut usize,
    error: *mut cloze_error,
) -> cloze_status {
    // SAFETY: the header's contract: each pointer is NULL or valid, `numbers` for `capacity` numbers.
    unsafe {
        guard(error, || {
            let count = Place::required(count, "count", 0)?;
            let room = Room::new(numbers, capacity, "numbers")?;
            let Maps { layers, hidden_states, .. } = &shared(maps, "maps")?.maps;
            within(layer, layers + 1, "layer")?;
            let size = hidden_states.len() / (layers + 1);
            count.set(size);
            room.fill(&hidden_states[layer * size..(layer + 1) * size])
        })
    }
}

fn within(number: usize, count: usize, what: &str) -> Result<()> {
    if number < count { Ok(()) } else { fail(ErrorKind::InvalidArgument, format!("there is no {what} {number}: there are {count}")) }
}

/// Frees `maps`, and the tokens that cloze_maps_tokens gave. NULL is fine.
///
/// Since: 0.1.0
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cloze_maps_free(maps: *mut cloze_maps) {
    // SAFETY: the header's contract: NULL, or from cloze_attention and not freed before.
    unsafe { free(maps) }
}
