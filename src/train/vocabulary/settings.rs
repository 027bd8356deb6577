//! Which vocabulary is wanted?

use super::kinds::{KINDS, Kind};
use crate::error::{Error, ErrorKind, Result, fail};
use crate::tasks::Setting;
use crate::tasks::settings::{BOOLEAN, choice, number, set, threads};

/// What vocabulary to make.
#[derive(Clone, Debug)]
pub struct VocabularySettings {
    /// How pieces are chosen and texts are cut.
    pub kind: &'static Kind,
    /// Tokens in all, special ones included.
    pub size: usize,
    /// A pair of pieces becomes a piece where it occurs so often; a character counts where it does. For unigram a word does.
    pub min_frequency: u64,
    /// The share of all characters of the text, counted as often as they occur, that must be in the vocabulary; the rarest are left out, but for those of ASCII.
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
    /// Threads that count words; none means as many as this process may use.
    pub threads: Option<usize>,
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
            threads: None,
        }
    }
}

impl VocabularySettings {
    /// Whether texts are lower-cased.
    pub fn lower_case(&self) -> bool {
        self.lower_case.unwrap_or(self.kind.lower_case)
    }

    /// The special tokens in the order of their ids.
    pub(super) fn special(&self) -> Vec<String> {
        let further = self.further.iter().map(String::as_str);
        self.kind.special.iter().map(|(_, token)| *token).chain(further).map(str::to_owned).collect()
    }

    pub(super) fn check(&self) -> Result<()> {
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

impl VocabularySettings {
    /// Every option that [`VocabularySettings::set`] knows.
    pub const SETTINGS: &'static [Setting<VocabularySettings>] = &[
        Setting {
            name: "kind",
            values: "wordpiece, bpe or unigram",
            help: "What pieces are, and how they are chosen: as BERT (wordpiece, the default), RoBERTa (bpe) or ALBERT (unigram)",
            apply: |s, v| {
                s.kind = choice(v, &KINDS.iter().map(|kind| (kind.name, kind)).collect::<Vec<_>>())?;
                Ok(())
            },
        },
        Setting {
            name: "size",
            values: "a number of tokens",
            help: "Tokens in all, special ones included; 30522 if not given, as BERT has in English, and 21128 in Chinese",
            apply: |s, v| {
                s.size = number(v, 1)?;
                Ok(())
            },
        },
        Setting {
            name: "min_frequency",
            values: "a number from 1",
            help: "A pair of pieces becomes one, a character counts (for unigram: a word) where it occurs so often; 2 if not given",
            apply: |s, v| {
                s.min_frequency = number(v, 1)? as u64;
                Ok(())
            },
        },
        Setting {
            name: "coverage",
            values: "a share from 0 to 1",
            help: "The share of the text's characters that must be in the vocabulary, the rarest are left out, but for those of ASCII; 0.9999 if not given",
            apply: |s, v| {
                s.coverage = v.parse().map_err(|_| Error::new(ErrorKind::InvalidArgument, "not a number"))?;
                Ok(())
            },
        },
        Setting {
            name: "alphabet",
            values: "all, or a number of characters",
            help: "Characters at most, the most frequent ones",
            apply: |s, v| {
                s.alphabet = if v == "all" { None } else { Some(number(v, 1)?) };
                Ok(())
            },
        },
        Setting {
            name: "lower_case",
            values: "true or false",
            help: "Lower-case texts; wordpiece and unigram do unless told otherwise",
            apply: |s, v| {
                s.lower_case = Some(choice(v, BOOLEAN)?);
                Ok(())
            },
        },
        Setting {
            name: "strip_accents",
            values: "true or false",
            help: "Strip accents; done where texts are lower-cased unless told otherwise",
            apply: |s, v| {
                s.strip_accents = Some(choice(v, BOOLEAN)?);
                Ok(())
            },
        },
        Setting {
            name: "chinese_characters",
            values: "true or false",
            help: "Make each CJK character a word; wordpiece does unless told otherwise",
            apply: |s, v| {
                s.chinese_characters = Some(choice(v, BOOLEAN)?);
                Ok(())
            },
        },
        Setting {
            name: "further_tokens",
            values: "tokens with commas between",
            help: "Special tokens beside those of the kind",
            apply: |s, v| {
                s.further = v.split(',').map(str::to_owned).collect();
                Ok(())
            },
        },
        Setting {
            name: "max_length",
            values: "none, or a number of tokens",
            help: "The longest input of the model to come, as tokenizer_config.json states it; 512 if not given",
            apply: |s, v| {
                s.max_length = if v == "none" { None } else { Some(number(v, 2)?) };
                Ok(())
            },
        },
        Setting {
            name: "threads",
            values: "auto, or a number from 1 to 1024",
            help: "Threads that count words; the result is the same",
            apply: |s, v| {
                s.threads = threads(v)?;
                Ok(())
            },
        },
    ];

    /// Sets the option called `name`.
    ///
    /// # Errors
    /// `InvalidArgument` for a name that is not in [`VocabularySettings::SETTINGS`] and for a value that its row does not take.
    pub fn set(&mut self, name: &str, value: &str) -> Result<()> {
        set(Self::SETTINGS, self, name, value)
    }
}
