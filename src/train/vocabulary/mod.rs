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

use crate::error::{ErrorKind, Result, fail};
use crate::train::text::Texts;

pub use files::NAMES as FILES;
pub use kinds::{KINDS, Kind};

/// What vocabulary to make.
#[derive(Clone, Debug)]
pub struct VocabularySettings {
    /// How pieces are chosen and texts are cut.
    pub kind: &'static Kind,
    /// Tokens in all, special ones included.
    pub size: usize,
    /// A pair of pieces becomes a piece where it occurs so often; a character counts where it does. For unigram a word does.
    pub min_frequency: u64,
    /// The share of all characters of the text, counted as often as they occur, that must be in the vocabulary; the rarest are left out.
    pub coverage: f64,
    /// Characters at most, the most frequent ones; none means as many as `coverage` asks for.
    pub alphabet: Option<usize>,
    /// Whether texts are lower-cased; none means as the kind does.
    pub lower_case: Option<bool>,
    /// Whether accents are stripped; none means where texts are lower-cased, as BERT does.
    pub strip_accents: Option<bool>,
    /// Whether each CJK character is a word; none means as the kind does.
    pub chinese_characters: Option<bool>,
    /// Special tokens beside those of the kind.
    pub further: Vec<String>,
    /// `model_max_length` in tokenizer_config.json: the longest input that the model will be made for.
    pub max_length: Option<usize>,
    /// Threads that count words.
    pub threads: usize,
}

impl Default for VocabularySettings {
    fn default() -> Self {
        VocabularySettings {
            kind: &KINDS[0],
            size: 30_522,
            min_frequency: 2,
            coverage: 0.9999,
            alphabet: None,
            lower_case: None,
            strip_accents: None,
            chinese_characters: None,
            further: Vec::new(),
            max_length: Some(512),
            threads: 1,
        }
    }
}

impl VocabularySettings {
    /// Whether texts are lower-cased.
    pub fn lower_case(&self) -> bool {
        self.lower_case.unwrap_or(self.kind.lower_case)
    }

    /// The special tokens in the order of their ids.
    fn special(&self) -> Vec<String> {
        let further = self.further.iter().map(String::as_str);
        self.kind.special.iter().map(|(_, token)| *token).chain(further).map(str::to_owned).collect()
    }

    fn check(&self) -> Result<()> {
        let special = self.special();
        for (i, token) in special.iter().enumerate() {
            if token.is_empty() || token.contains(char::is_whitespace) || special[..i].contains(token) {
                let told = format!("special token {token:?}: give tokens of letters without space, each once");
                return fail(ErrorKind::InvalidArgument, told);
            }
        }
        if !(self.coverage > 0.0 && self.coverage <= 1.0) {
            return fail(ErrorKind::InvalidArgument, format!("a coverage of {} is no share of the text; give one up to 1", self.coverage));
        }
        if self.size <= special.len() || u32::try_from(self.size).is_err() {
            let told = format!("a vocabulary of {} tokens has no room for words: {} are special", self.size, special.len());
            return fail(ErrorKind::InvalidArgument, told);
        }
        Ok(())
    }
}

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
