//! What does an epoch ask, one sequence after the other?
//!
//! Shards -> [`Corpus::new`] cuts them into chunks that fill a sequence (`chunks`) -> [`Corpus::example`]: the chunk that stands at a place of an epoch's
//! order ([`Permutation`]), made into one or two texts (`sequences`), with the tokenizer's special tokens around them, and some tokens hidden
//! (`masking`). An example is a function of (seed, epoch, index): it can be asked for in any order, by any thread, again and again. The trainer packs
//! some of them into a batch.

mod chunks;
mod sequences;
mod settings;
#[cfg(test)]
mod tests;

use std::sync::Arc;

pub use sequences::{SEQUENCES, Sequences};
pub use settings::{ExampleSettings, Learning};

use super::Example;
use super::masking::{Keys, Line, Phrases, Replacements};
use super::permutation::Permutation;
use super::random::{Key, Purpose};
use super::shards::Shards;
use crate::error::{Error, ErrorKind, Result, fail};
use crate::tokenizer::{Content, Limit, Tokenizer, Truncation};
use chunks::Chunks;
use sequences::{Maker, Text};

/// The examples of a corpus.
pub struct Corpus {
    shards: Shards,
    tokenizer: Arc<Tokenizer>,
    settings: ExampleSettings,
    chunks: Chunks,
    /// Tokens of the texts of a sequence at most.
    capacity: usize,
    separator: u32,
    replacements: Replacements,
    phrases: Option<Phrases>,
}

impl std::fmt::Debug for Corpus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Corpus").field("examples", &self.len()).field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl Corpus {
    /// Makes examples of these shards, which `tokenizer` must have made.
    ///
    /// # Errors
    /// `InvalidFile` for shards of another tokenizer; `InvalidArgument` for settings that contradict each other, a length that leaves texts no
    /// room, a tokenizer without a mask token where tokens are masked, and next sentences in a corpus of one document, or without a document of two
    /// sentences; `Io` for a list of phrases that cannot be read.
    pub fn new(shards: Shards, tokenizer: Arc<Tokenizer>, settings: ExampleSettings) -> Result<Corpus> {
        settings.check()?;
        shards.check_tokenizer(&tokenizer)?;
        let pairs = settings.sequences.pairs();
        let added = tokenizer.special_tokens(pairs);
        let Some(capacity) = settings.max_length.checked_sub(added).filter(|room| *room >= 2) else {
            let told = format!(
                "a max_length of {} leaves no room for text: {added} tokens are special; give {} or more",
                settings.max_length,
                added + 2
            );
            return fail(ErrorKind::InvalidArgument, told);
        };
        let (separator, replacements) = (separator(&tokenizer)?, replacements(&tokenizer, &settings)?);
        let chunks = Chunks::new(&shards, settings.sequences, capacity);
        if settings.sequences.name == "next_sentence" {
            check_next_sentences(&shards, &chunks)?;
        }
        let phrases = settings.phrases.as_ref().map(|path| {
            let list = std::fs::read_to_string(path).map_err(|e| Error::new(ErrorKind::Io, format!("{}: {e}", path.display())))?;
            Phrases::read(&list, &tokenizer).map_err(|e| e.within(path.display()))
        });
        let phrases = phrases.transpose()?;
        Ok(Corpus { shards, tokenizer, settings, chunks, capacity, separator, replacements, phrases })
    }

    /// Examples of an epoch, the same number in each. In an epoch each sentence of the corpus stands in one example, but for texts that are cut short,
    /// replaced by a random one, or too long.
    #[expect(clippy::len_without_is_empty, reason = "there is at least one")]
    pub fn len(&self) -> usize {
        self.chunks.len()
    }

    /// The shards that the examples are made of.
    pub fn shards(&self) -> &Shards {
        &self.shards
    }

    /// The settings that the examples are made with.
    pub fn settings(&self) -> &ExampleSettings {
        &self.settings
    }

    /// The tokenizer's padding token, which models from nothing are told of.
    pub(super) fn padding(&self) -> Option<u32> {
        ["[PAD]", "<pad>"].iter().find_map(|token| self.tokenizer.id(token))
    }

    /// Example `index` of epoch `epoch`, in the epoch's own order.
    ///
    /// # Errors
    /// `InvalidArgument` for an index from [`Corpus::len`] on; as [`Tokenizer::encode`] otherwise.
    pub fn example(&self, epoch: u64, index: usize) -> Result<Example> {
        if index >= self.len() {
            return fail(ErrorKind::InvalidArgument, format!("there is no example {index}: an epoch has {}", self.len()));
        }
        self.example_of(epoch, Permutation::new(self.len(), self.settings.seed, epoch).at(index))
    }

    /// Chunk `chunk` of the corpus, in the order of the text, as it is in epoch `epoch`: for evaluation, which needs no order.
    ///
    /// # Errors
    /// As [`Corpus::example`].
    pub fn example_of(&self, epoch: u64, chunk: usize) -> Result<Example> {
        let key = |purpose| Key::new(self.settings.seed, purpose, &[epoch, chunk as u64]);
        let texts = key(Purpose::Texts);
        // Counter 0 is whether the sequence is cut short; those of a maker are others.
        let short = texts.unit(0) < self.settings.short_share();
        let target = if short { 2 + texts.and(0).place(0, self.capacity - 1) } else { self.capacity };
        let maker =
            Maker { shards: &self.shards, chunks: &self.chunks, capacity: self.capacity, target, separator: self.separator, key: texts };
        let (first, second) = self.settings.sequences.make(&maker, self.chunks.get(chunk));
        let keys = Keys { chosen: key(Purpose::Masking), replaced: key(Purpose::Replacing) };
        self.ask(first, second, keys)
    }

    /// Puts special tokens around the texts and hides some of their tokens.
    fn ask(&self, first: Text, second: Option<(Text, u32)>, keys: Keys) -> Result<Example> {
        let (second, label) = second.unzip();
        let mut begins = [first.starts, second.as_ref().map(|text| text.starts.clone()).unwrap_or_default()].map(Vec::into_iter);
        let contents = (Content::from_ids(first.ids), second.map(|text| Content::from_ids(text.ids)));
        let limit = Limit { max_tokens: self.settings.max_length, truncation: Truncation::Error, overlap: 0 };
        let mut encoded = self.tokenizer.encode_contents(&contents.0, contents.1.as_ref(), &limit)?;
        let Some(sequence) = encoded.windows.pop() else {
            return fail(ErrorKind::InvalidFile, "the tokenizer made no sequence of a text");
        };
        let starts: Vec<bool> =
            sequence.texts.iter().map(|text| text.and_then(|text| begins[usize::from(text)].next()).unwrap_or(true)).collect();
        let special = &self.replacements.special;
        let is_text = sequence.ids.iter().zip(&sequence.special).map(|(id, added)| !added && special.binary_search(id).is_err());
        let text: Vec<bool> = is_text.collect();
        let line = Line { ids: &sequence.ids, text: &text, starts: &starts, phrases: self.phrases.as_ref() };
        let mut example = Example { segments: sequence.type_ids, label, ..Example::default() };
        match self.settings.learning {
            Learning::Masked(scheme) => {
                let hidden = scheme.hide(&line, &self.settings.rates, &self.replacements, keys);
                (example.ids, example.masked, example.spans) = (hidden.ids, hidden.masked, hidden.spans);
            }
            Learning::LeftToRight => {
                let next = (1..sequence.ids.len()).filter(|&place| text[place]);
                example.masked = next.map(|place| (place - 1, sequence.ids[place])).collect();
                example.ids = sequence.ids;
            }
        }
        Ok(example)
    }
}

fn check_next_sentences(shards: &Shards, chunks: &Chunks) -> Result<()> {
    if shards.documents() < 2 {
        let told = "next sentences need two documents or more, since a random text is from another one, and there is 1; put empty lines between documents, or use sentence_order or single";
        return fail(ErrorKind::InvalidArgument, told);
    }
    if chunks.lonely == chunks.len() {
        let told = "next sentences need a document of two sentences or more, and none has; are the files read in the right form?";
        return fail(ErrorKind::InvalidArgument, told);
    }
    Ok(())
}

/// What stands between documents: the token behind a text.
fn separator(tokenizer: &Tokenizer) -> Result<u32> {
    let limit = Limit { max_tokens: tokenizer.special_tokens(false).max(1), truncation: Truncation::Error, overlap: 0 };
    let empty = tokenizer.encode_contents(&Content::default(), None, &limit)?;
    // A tokenizer that puts nothing behind texts has no document ends either.
    Ok(empty.windows.first().and_then(|window| window.ids.last().copied()).unwrap_or_default())
}

fn replacements(tokenizer: &Tokenizer, settings: &ExampleSettings) -> Result<Replacements> {
    let mask = tokenizer.mask().map(|(_, id)| id);
    if mask.is_none() && matches!(settings.learning, Learning::Masked(_)) {
        return fail(
            ErrorKind::InvalidArgument,
            "the tokenizer has no mask token, which hides tokens; use `learning = left_to_right`, or another tokenizer",
        );
    }
    let special = tokenizer.special_ids();
    let vocabulary = tokenizer.vocabulary();
    if special.len() >= vocabulary {
        return fail(ErrorKind::InvalidArgument, "every token of the vocabulary is special: there is nothing to learn");
    }
    Ok(Replacements { mask: mask.unwrap_or_default(), vocabulary, special })
}
