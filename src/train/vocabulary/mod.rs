//! Which pieces should words be made of?
//!
//! Text ([`Texts`]) -> words and how often each occurs (`count`) -> the trainers of the `tokenizers` crate (`learn`), fed in an order that is
//! always the same -> [`Vocabulary`] -> the files of a Hugging Face folder (`files`). `tokenizer` and `transformers` open them.
//!
//! The same text gives the same files, byte for byte, on any number of threads. The crate's trainers alone do not: their ties are broken by the
//! order of hash tables (tokenizers issue 1794).

mod count;
mod files;
mod kinds;
mod learn;
mod settings;

use crate::error::Result;
use crate::train::text::Texts;

pub use files::NAMES as FILES;
pub use kinds::{KINDS, Kind};
pub use settings::VocabularySettings;

/// Where the work is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// So many bytes of text have been counted.
    Counting(u64),
    /// Pieces are chosen; this cannot tell how far it is.
    Learning,
}

/// What the words of a text were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WordReport {
    /// Different words.
    pub words: usize,
    /// All words.
    pub occurrences: u64,
    /// Words with more characters than a word may have, which became parts or taught nothing.
    pub long: u64,
    /// Characters of the vocabulary, and those that were left out.
    pub characters: (usize, usize),
}

/// A tokenizer that was made from text.
pub struct Vocabulary {
    inner: tokenizers::Tokenizer,
    settings: VocabularySettings,
    /// What it was made from.
    pub report: WordReport,
}

impl std::fmt::Debug for Vocabulary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Vocabulary").field("size", &self.size()).field("report", &self.report).finish_non_exhaustive()
    }
}

impl Vocabulary {
    /// Makes a vocabulary from the text, which is read once to its end; `progress` hears where the work is.
    ///
    /// # Errors
    /// As [`Texts::next`]; `InvalidArgument` where the settings contradict themselves or the size has no room for the characters of the
    /// text.
    pub fn learn(texts: &mut Texts, settings: &VocabularySettings, progress: &mut dyn FnMut(Stage)) -> Result<Vocabulary> {
        settings.check()?;
        let mut inner = (settings.kind.frame)(settings)?;
        let words = count::words(texts, &inner, settings, progress)?;
        progress(Stage::Learning);
        let report = learn::model(&mut inner, words, settings)?;
        files::dress(&mut inner, settings)?;
        Ok(Vocabulary { inner, settings: settings.clone(), report })
    }

    /// Tokens in all. Fewer than asked for where the text has no more pieces.
    pub fn size(&self) -> usize {
        self.inner.get_vocab_size(true)
    }
}

#[cfg(test)]
mod tests;
