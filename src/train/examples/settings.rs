//! What are examples like?

use std::path::PathBuf;

use super::sequences::{SEQUENCES, Sequences};
use crate::error::{Error, ErrorKind, Result, fail};
use crate::tasks::Setting;
use crate::tasks::settings::{choice, number, set};
use crate::train::masking::{Rates, SCHEMES, Scheme};

/// What the tokens of an example ask.
#[derive(Clone, Copy, Debug)]
pub enum Learning {
    /// What stood in hidden places.
    Masked(&'static Scheme),
    /// What comes next, from left to right.
    LeftToRight,
}

/// The word for [`Learning::LeftToRight`].
const LEFT_TO_RIGHT: &str = "left_to_right";

/// What examples are like.
#[derive(Clone, Debug)]
pub struct ExampleSettings {
    /// Which texts a sequence consists of, and what is asked of two.
    pub sequences: &'static Sequences,
    /// What is asked of its tokens.
    pub learning: Learning,
    /// Tokens of a sequence at most, special ones included.
    pub max_length: usize,
    /// The share of sequences that are cut to a random shorter length; none means as the kind of sequences does.
    pub short_share: Option<f64>,
    /// How much is masked, and behind what.
    pub rates: Rates,
    /// A file of phrases, one a line, for the scheme that hides them.
    pub phrases: Option<PathBuf>,
    /// Decides the order of examples, their texts, and what is hidden in them.
    pub seed: u64,
}

impl Default for ExampleSettings {
    fn default() -> Self {
        ExampleSettings {
            sequences: &SEQUENCES[0],
            learning: Learning::Masked(&SCHEMES[0]),
            max_length: 128,
            short_share: None,
            rates: Rates::default(),
            phrases: None,
            seed: 42,
        }
    }
}

impl ExampleSettings {
    /// Every option that [`ExampleSettings::set`] knows.
    pub const SETTINGS: &'static [Setting<ExampleSettings>] = &[
        Setting {
            name: "sequences",
            values: "next_sentence, sentence_order, single or packed",
            help: "Texts of a sequence: two, of which the second is the next or a random one (BERT), or which may be swapped (ALBERT); or one, of one document or of several (RoBERTa)",
            apply: |s, v| {
                s.sequences = choice(v, &SEQUENCES.iter().map(|row| (row.name, row)).collect::<Vec<_>>())?;
                Ok(())
            },
        },
        Setting {
            name: "learning",
            values: "token, whole_word, span, phrase or left_to_right",
            help: "What is asked of the tokens: those hidden one by one (BERT), by words, by spans of words (SpanBERT), by phrases of a list (ERNIE), or the next one",
            apply: |s, v| {
                s.learning = if v == LEFT_TO_RIGHT {
                    Learning::LeftToRight
                } else {
                    Learning::Masked(choice(v, &SCHEMES.iter().map(|row| (row.name, row)).collect::<Vec<_>>())?)
                };
                Ok(())
            },
        },
        Setting {
            name: "max_length",
            values: "a number of tokens",
            help: "Tokens of a sequence at most, special ones included; 128 if not given",
            apply: |s, v| {
                s.max_length = number(v, 1)?;
                Ok(())
            },
        },
        Setting {
            name: "short_share",
            values: "a share from 0 to 1",
            help: "Cut so many of the sequences to a random length; 0.1 for two texts and 0 for one if not given",
            apply: |s, v| {
                s.short_share = Some(share(v)?);
                Ok(())
            },
        },
        Setting {
            name: "masked",
            values: "a share from 0 to 1",
            help: "Hide so many of a text's tokens; 0.15 if not given",
            apply: |s, v| {
                s.rates.masked = share(v)?;
                Ok(())
            },
        },
        Setting {
            name: "as_mask",
            values: "a share from 0 to 1",
            help: "Of the hidden tokens, so many become the mask token; 0.8 if not given",
            apply: |s, v| {
                s.rates.as_mask = share(v)?;
                Ok(())
            },
        },
        Setting {
            name: "as_random",
            values: "a share from 0 to 1",
            help: "Of the hidden tokens, so many become another token, and what is left stays as it is; 0.1 if not given",
            apply: |s, v| {
                s.rates.as_random = share(v)?;
                Ok(())
            },
        },
        Setting {
            name: "most_masked",
            values: "all, or a number of tokens",
            help: "Hidden tokens of one sequence at most",
            apply: |s, v| {
                s.rates.most = if v == "all" { usize::MAX } else { number(v, 1)? };
                Ok(())
            },
        },
        Setting {
            name: "span_p",
            values: "a share from 0 to 1",
            help: "Of the geometric distribution of spans' lengths; 0.2 if not given",
            apply: |s, v| {
                s.rates.span_p = share(v)?;
                Ok(())
            },
        },
        Setting {
            name: "span_longest",
            values: "a number of words",
            help: "The longest span; 10 if not given",
            apply: |s, v| {
                s.rates.span_longest = number(v, 1)?;
                Ok(())
            },
        },
        Setting {
            name: "phrases",
            values: "a file",
            help: "The phrases that are hidden as a whole, one a line",
            apply: |s, v| {
                s.phrases = Some(PathBuf::from(v));
                Ok(())
            },
        },
        Setting {
            name: "data_seed",
            values: "a whole number",
            help: "Decides the order of examples, their texts, and what is hidden in them; 42 if not given",
            apply: |s, v| {
                s.seed = v.parse().map_err(|_| Error::new(ErrorKind::InvalidArgument, "not a whole number"))?;
                Ok(())
            },
        },
    ];

    /// Sets the option called `name`.
    ///
    /// # Errors
    /// `InvalidArgument` for a name that is not in [`ExampleSettings::SETTINGS`] and for a value that its row does not take.
    pub fn set(&mut self, name: &str, value: &str) -> Result<()> {
        set(Self::SETTINGS, self, name, value)
    }

    /// The share of sequences that are cut short.
    pub(super) fn short_share(&self) -> f64 {
        self.short_share.unwrap_or(self.sequences.short_share)
    }

    /// Refuses settings that contradict each other.
    pub(super) fn check(&self) -> Result<()> {
        let rates = &self.rates;
        let shares = [rates.masked, rates.as_mask, rates.as_random, rates.as_mask + rates.as_random, rates.span_p, self.short_share()];
        if shares.iter().any(|share| !(0.0..=1.0 + 1e-9).contains(share)) || rates.span_p == 0.0 {
            return fail(
                ErrorKind::InvalidArgument,
                format!("masked, as_mask, as_random (and their sum), span_p and short_share are shares from 0 to 1, not {shares:?}"),
            );
        }
        let wants = matches!(self.learning, Learning::Masked(scheme) if scheme.phrases);
        match (wants, &self.phrases) {
            (true, None) => fail(ErrorKind::InvalidArgument, "hiding phrases needs a list of them; name its file with phrases"),
            (false, Some(_)) => fail(ErrorKind::InvalidArgument, "a list of phrases is for `learning = phrase`; leave it out"),
            _ => Ok(()),
        }
    }
}

fn share(value: &str) -> Result<f64> {
    match value.parse::<f64>() {
        Ok(share) if (0.0..=1.0).contains(&share) => Ok(share),
        Ok(share) => fail(ErrorKind::InvalidArgument, format!("{share} is no share")),
        Err(_) => fail(ErrorKind::InvalidArgument, "not a number"),
    }
}
