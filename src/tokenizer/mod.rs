//! Which tokens does a text have, and where in the text does each stand?
//!
//! One adapter over the `tokenizers` crate, which is the reference's own. A model's files -> [`Tokenizer::open`] (tokenizer.json,
//! or the files of a vocabulary and its settings) -> [`Tokenizer::encode`] -> [`Encoded`]: windows of token ids, each within the [`Limit`],
//! special tokens added, every token with its place in the text. `tasks` packs the windows into a batch for the encoder, and
//! shows places in the caller's unit by an [`OffsetMap`].
//!
//! Only the crate's single-text calls are used: its batch calls start a global thread pool and read the environment.

mod blanks;
mod byte_level;
mod content;
mod encode;
mod offsets;
mod open;
mod pieces;
mod sentencepiece;
mod special;
mod template;
mod vocabulary;
mod windows;
mod word_level;
mod words;

pub use blanks::Word;
pub use content::Content;
pub use encode::{Encoded, LONGEST_TEXT, Sequence};
pub use offsets::OffsetMap;
pub use open::{Files, usual_vocabulary};
pub use windows::Limit;
pub use words::Words;

use crate::error::Result;
use template::Template;
use tokenizers::ModelWrapper;

/// What happens to inputs that have more tokens than the limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Truncation {
    /// The call fails.
    Error,
    /// Tokens are cut off at the start.
    Left,
    /// Tokens are cut off at the end.
    #[default]
    Right,
    /// Nothing is cut off: the input becomes several windows that overlap.
    Window,
}

impl Truncation {
    /// Every policy by name.
    pub const ALL: &'static [(&'static str, Truncation)] =
        &[("error", Truncation::Error), ("left", Truncation::Left), ("right", Truncation::Right), ("window", Truncation::Window)];
}

/// The unit in which places in a text are counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OffsetUnit {
    /// Bytes of UTF-8: Rust, C, Go.
    Byte,
    /// 16-bit units of UTF-16: Java, JavaScript, Windows.
    Utf16,
    /// Unicode code points: Python.
    #[default]
    CodePoint,
}

impl OffsetUnit {
    /// Every unit by name.
    pub const ALL: &'static [(&'static str, OffsetUnit)] =
        &[("byte", OffsetUnit::Byte), ("utf16", OffsetUnit::Utf16), ("codepoint", OffsetUnit::CodePoint)];
}

/// A model's tokenizer: immutable, shared by any number of threads.
pub struct Tokenizer {
    inner: tokenizers::Tokenizer,
    single: Template,
    pair: Result<Template>,
    vocabulary: usize,
    model_max_length: Option<usize>,
    truncation_side: Truncation,
    /// The text of the mask token, which the vocabulary may lack.
    mask: String,
    /// The token for unknown words.
    unknown: Option<u32>,
    /// Of a model of static vectors: what it sees of a text.
    words: Option<words::Rules>,
    /// Of a tokenizer of whole words.
    short_way: Option<word_level::ShortWay>,
}

impl std::fmt::Debug for Tokenizer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tokenizer").field("vocabulary", &self.vocabulary).finish_non_exhaustive()
    }
}

impl Tokenizer {
    /// The highest token id plus 1, tokens added to the vocabulary included: the embedding needs at least so many rows.
    pub fn vocabulary(&self) -> usize {
        self.vocabulary
    }

    /// The longest input that the tokenizer's files state, special tokens included.
    pub fn model_max_length(&self) -> Option<usize> {
        self.model_max_length
    }

    /// The side that the tokenizer's files cut: [`Truncation::Left`] or [`Truncation::Right`].
    pub fn truncation_side(&self) -> Truncation {
        self.truncation_side
    }

    /// How many special tokens are added to a text, or to a pair of texts where the model takes pairs.
    pub fn special_tokens(&self, pair: bool) -> usize {
        match &self.pair {
            Ok(template) if pair => template.added(),
            _ => self.single.added(),
        }
    }

    /// Whether a text may have no token at all: nothing is added to it.
    pub fn may_be_empty(&self) -> bool {
        self.words.is_some()
    }

    /// Whether tokens are pieces of words, so that the vocabulary says which of them continue one (`##ing`).
    pub fn has_word_pieces(&self) -> bool {
        match self.inner.get_model() {
            ModelWrapper::WordPiece(_) => true,
            ModelWrapper::BPE(model) => model.continuing_subword_prefix.as_ref().is_some_and(|prefix| !prefix.is_empty()),
            _ => false,
        }
    }

    /// The ids of the special tokens, ascending: those that stand around texts, for blanks, for padding, for unknown words.
    pub fn special_ids(&self) -> Vec<u32> {
        let added = self.inner.get_added_vocabulary().get_added_tokens_decoder();
        let mut ids: Vec<u32> = added.iter().filter(|(_, token)| token.special).map(|(id, _)| *id).collect();
        ids.extend(self.unknown);
        ids.extend(self.mask().map(|(_, id)| id));
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    /// The token for unknown words.
    pub fn unknown(&self) -> Option<u32> {
        self.unknown
    }

    /// A number that is another one for a tokenizer that may give a text other tokens.
    ///
    /// # Errors
    /// `InvalidFile` where the tokenizer cannot be written down.
    pub fn fingerprint(&self) -> Result<u64> {
        let json = content::guarded("the tokenizer cannot be written down", || self.inner.to_string(false))?;
        Ok(xxhash_rust::xxh3::xxh3_64(json.as_bytes()))
    }

    /// The token that has this id.
    pub fn token(&self, id: u32) -> Option<String> {
        self.inner.id_to_token(id)
    }

    /// The id of this token.
    pub fn id(&self, token: &str) -> Option<u32> {
        self.inner.token_to_id(token)
    }
}
