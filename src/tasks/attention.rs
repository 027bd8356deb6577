//! A text at work in the model: what does each head look at, and what are the hidden states?
//!
//! The encoder runs as always; its graph only ends in all hidden states and all that attentions read, side by side. The maps are made
//! from the latter by the definition of attention ([`Engine::attention_map`](crate::engine::Engine::attention_map)), slowly and in double precision, so that the fast path knows
//! nothing of them.

use super::forward::{Packed, Run};
use super::{Model, Request, Tokens};
use crate::engine::Batch;
use crate::error::{Error, ErrorKind, Result, fail};
use crate::model::Output;
use crate::tokenizer::Truncation;

/// Bytes of maps and hidden states, and of the run that makes them, at most.
const MOST_BYTES: usize = 4 << 30;

/// What a model does with one text, or with a pair.
#[derive(Clone, Debug, PartialEq)]
pub struct Maps {
    /// The tokens, where they stand in their texts, and which of them the template added.
    pub tokens: Tokens,
    /// Layers.
    pub layers: usize,
    /// Heads of a layer.
    pub heads: usize,
    /// Width of a hidden state.
    pub hidden: usize,
    /// How much each token (row) takes from each (column): (layers, heads, tokens, tokens), rows that add up to 1.
    pub attention: Vec<f32>,
    /// The hidden state of each token, before the first layer and behind each: (layers + 1, tokens, hidden).
    pub hidden_states: Vec<f32>,
}

impl Maps {
    /// One head's map, (tokens, tokens).
    pub fn map(&self, layer: usize, head: usize) -> Option<&[f32]> {
        let size = self.tokens.ids.len().pow(2);
        let number = (layer < self.layers && head < self.heads).then_some(layer * self.heads + head)?;
        self.attention.get(number * size..(number + 1) * size)
    }

    /// The hidden states behind a layer, (tokens, hidden); those before the first are layer 0's.
    pub fn state(&self, layer: usize) -> Option<&[f32]> {
        let size = self.tokens.ids.len() * self.hidden;
        (layer <= self.layers).then(|| self.hidden_states.get(layer * size..(layer + 1) * size))?
    }
}

impl Model {
    /// The attention maps of every layer and head, and the hidden states of every layer, for a text or a pair. At precision int8
    /// these are what the int8 model computes, the softmax in f32 where the model's own may be coarser.
    ///
    /// # Errors
    /// `TooLong` where all of it would take more than 4 GiB, saying how much, and under the truncation policy `error`;
    /// `InvalidArgument` for truncation `window`, and for a request that the model cannot serve; `DeadlineExceeded` and `Cancelled`:
    /// there are no half maps; `NonFinite` when a number is not finite.
    pub fn attention(&self, text: &str, pair: Option<&str>, request: &Request) -> Result<Maps> {
        if request.truncation == Some(Truncation::Window) {
            return fail(ErrorKind::InvalidArgument, "truncation window: maps are those of one window; use left, right or error");
        }
        if self.encoder().sizes().layers == 0 {
            return fail(ErrorKind::InvalidArgument, "the model is a table of vectors: its tokens do not look at each other");
        }
        let mut windows = self.tokenize(&[(text, pair)], request)?;
        let tokens = windows.swap_remove(0);
        let run = Run::of(self, request, &Output::Inside)?;
        self.check_size(&tokens)?;
        let mut packed = Packed::default();
        run.add_tokens(&mut packed, &tokens.ids, &tokens.type_ids)?;
        let stop = || Error::new(run.stopped().unwrap_or(ErrorKind::Cancelled), "the call was stopped before its maps were made");
        let rows = run.forward(&packed)?.ok_or_else(stop)?;
        let sizes = self.encoder().sizes();
        let (count, hidden) = (tokens.ids.len(), sizes.hidden);
        let mut maps = Maps { layers: sizes.layers, heads: sizes.heads, hidden, attention: Vec::new(), hidden_states: Vec::new(), tokens };
        let column = |start: usize, width: usize| rows.chunks_exact(run.width()).flat_map(move |row| &row[start..start + width]).copied();
        maps.hidden_states = (0..=maps.layers).flat_map(|layer| column(layer * hidden, hidden)).collect();
        let mut start = (maps.layers + 1) * hidden;
        maps.attention = vec![0.0; maps.layers * maps.heads * count * count];
        let mut rest = maps.attention.as_mut_slice();
        for (op, width) in self.encoder().attentions() {
            let read: Vec<f32> = column(start, width).collect();
            start += width;
            for head in 0..maps.heads {
                if run.stopped().is_some() {
                    return Err(stop());
                }
                let (map, others) = rest.split_at_mut(count * count);
                self.encoder().engine().attention_map(op, &read, head, map);
                rest = others;
            }
        }
        if !maps.attention.iter().chain(&maps.hidden_states).all(|x| x.is_finite()) {
            let told = "a number is not finite; the model's weights are damaged or overflow f32, check them with `cloze inspect`";
            return fail(ErrorKind::NonFinite, told);
        }
        Ok(maps)
    }

    /// Refuses a text whose maps would not fit, before anything is allocated.
    fn check_size(&self, tokens: &Tokens) -> Result<()> {
        let (sizes, count) = (self.encoder().sizes(), tokens.ids.len());
        let mut batch = Batch::default();
        if count > 0 {
            batch.push(&tokens.ids, &tokens.type_ids, 0);
        }
        let run = self.encoder().engine().run_bytes(self.encoder().graph(&Output::Inside)?.as_ref(), &batch, self.threads())?;
        let maps = sizes.layers.saturating_mul(sizes.heads).saturating_mul(count).saturating_mul(count);
        let states = (sizes.layers + 1).saturating_mul(count).saturating_mul(sizes.hidden);
        let bytes = maps.saturating_add(states).saturating_mul(4).saturating_add(run);
        if bytes <= MOST_BYTES {
            return Ok(());
        }
        let told = format!(
            "the maps of {} layers and {} heads over {count} tokens, and how they are made, take {:.1} GiB, and {} GiB is the most: shorten the text, or set max_tokens",
            sizes.layers,
            sizes.heads,
            bytes as f64 / (1u64 << 30) as f64,
            MOST_BYTES >> 30
        );
        fail(ErrorKind::TooLong, told)
    }
}
