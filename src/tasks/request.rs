//! What may a caller ask of one call?

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::options::{check_threads, threads};
use super::settings::{self, BOOLEAN, Setting, choice, number};
use crate::error::{ErrorKind, Result, fail};
use crate::model::labels::Score;
use crate::model::pooling::{LayerChoice, Pooling};
use crate::tokenizer::{OffsetUnit, Truncation};

/// Stops calls that carry it, from any thread. Clones share one flag.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// A flag that is not raised.
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks every call that carries this flag to stop; results finished by then are returned.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Lowers the flag, so that it can serve another call.
    pub fn reset(&self) {
        self.0.store(false, Ordering::Relaxed);
    }

    /// Whether the flag is raised.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// The number type of result vectors; the conversions are defined in [`crate::quant::vectors`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Output {
    /// 4 bytes a value.
    #[default]
    F32,
    /// 2 bytes a value.
    F16,
    /// 1 byte a value, one scale a vector.
    Int8,
    /// 1 bit a value.
    Binary,
}

impl Output {
    /// Every output type by name.
    pub const ALL: &'static [(&'static str, Output)] =
        &[("f32", Output::F32), ("f16", Output::F16), ("int8", Output::Int8), ("binary", Output::Binary)];

    /// Bytes of a vector with `dimensions` values.
    pub fn vector_bytes(self, dimensions: usize) -> usize {
        match self {
            Output::F32 => dimensions * 4,
            Output::F16 => dimensions * 2,
            Output::Int8 => dimensions,
            Output::Binary => dimensions.div_ceil(8),
        }
    }
}

/// Which text is put before each input.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Prompt {
    /// The model's default prompt, where it has one.
    #[default]
    Model,
    /// The model's prompt of that name; the empty name means no prompt.
    Named(String),
    /// This very text.
    Text(String),
}

/// How the windows of one input become one answer of a head.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Windows {
    /// There are none: longer inputs are cut.
    #[default]
    First,
    /// The largest raw number of all windows, for each label.
    Max,
    /// The mean of the windows' raw numbers, for each label.
    Mean,
}

impl Windows {
    /// Every way by name.
    pub const ALL: &'static [(&'static str, Windows)] = &[("first", Windows::First), ("max", Windows::Max), ("mean", Windows::Mean)];
}

/// What a call may be asked for; the default is what the model's own files say.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// How token vectors become one; several are concatenated. `None` = the model's. Not with `token_vectors`.
    pub pooling: Option<Vec<Pooling>>,
    /// Whether vectors are scaled to length 1. `None` = the model's.
    pub normalize: Option<bool>,
    /// Keep this many leading values (Matryoshka), before normalising. `None` = all.
    pub dimensions: Option<usize>,
    /// Text put before each input.
    pub prompt: Prompt,
    /// What happens to inputs longer than the limit. `None` = the model's side.
    pub truncation: Option<Truncation>,
    /// Limit in tokens, special tokens included. `None` = the model's.
    pub max_tokens: Option<usize>,
    /// Tokens that neighbouring windows share (only with truncation `window`). `None` = an eighth of the limit.
    pub overlap: Option<usize>,
    /// Which layers' hidden states are used.
    pub layers: LayerChoice,
    /// One vector a token rather than one a text.
    pub token_vectors: bool,
    /// The number type of the vectors.
    pub output: Output,
    /// Unit of offsets in results.
    pub offsets: OffsetUnit,
    /// How raw numbers become scores. `None` = as the model's files say.
    pub activation: Option<Score>,
    /// Keep this many of the best. `None` = all.
    pub top: Option<usize>,
    /// How rerank, classify and next_sentence see inputs longer than the limit.
    pub windows: Windows,
    /// What zero-shot classification asks of a label, which stands for `{}`. `None` = `This example is {}.`.
    pub hypothesis: Option<String>,
    /// Whether several labels of a zero-shot classification may be true at once.
    pub multi_label: bool,
    /// Threads of this call. `None` = the model's.
    pub threads: Option<usize>,
    /// Time after which the call stops and returns what is finished.
    pub deadline: Option<Duration>,
    /// Stops the call from another thread.
    pub cancel: Option<Cancel>,
}

impl Request {
    /// Every option that [`Request::set`] knows.
    pub const SETTINGS: &'static [Setting<Request>] = &[
        Setting {
            name: "pooling",
            values: "model, or one or several (joined by +) of mean, cls, max, mean_sqrt_len, last, weighted_mean, pooler",
            help: "How token vectors become one vector; several are concatenated",
            apply: |r, v| {
                r.pooling = model_or(v, pooling)?;
                Ok(())
            },
        },
        Setting {
            name: "normalize",
            values: "model, true or false",
            help: "Scale vectors to length 1",
            apply: |r, v| {
                r.normalize = model_or(v, |v| choice(v, BOOLEAN))?;
                Ok(())
            },
        },
        Setting {
            name: "dimensions",
            values: "all, or a number from 1 to the model's dimensions",
            help: "Keep this many leading values (Matryoshka), before normalising",
            apply: |r, v| {
                r.dimensions = if v == "all" { None } else { Some(number(v, 1)?) };
                Ok(())
            },
        },
        Setting {
            name: "prompt_name",
            values: "the name of one of the model's prompts, or an empty name for no prompt",
            help: "Put the model's prompt of this name before each text",
            apply: |r, v| {
                r.prompt = Prompt::Named(v.to_owned());
                Ok(())
            },
        },
        Setting {
            name: "prompt",
            values: "any text",
            help: "Put this text before each text",
            apply: |r, v| {
                r.prompt = Prompt::Text(v.to_owned());
                Ok(())
            },
        },
        Setting {
            name: "truncation",
            values: "model, error, left, right or window",
            help: "What happens to texts longer than the limit: an error, a cut on that side, or overlapping windows whose vectors are averaged",
            apply: |r, v| {
                r.truncation = model_or(v, |v| choice(v, Truncation::ALL))?;
                Ok(())
            },
        },
        Setting {
            name: "max_tokens",
            values: "model, or a number from 3 to the model's positions",
            help: "Longest input in tokens, special tokens included",
            apply: |r, v| {
                r.max_tokens = model_or(v, |v| number(v, 3))?;
                Ok(())
            },
        },
        Setting {
            name: "overlap",
            values: "auto, or a number of tokens smaller than a window",
            help: "With truncation window: tokens that neighbours share; auto is an eighth of the limit",
            apply: |r, v| {
                r.overlap = if v == "auto" { None } else { Some(number(v, 0)?) };
                Ok(())
            },
        },
        Setting {
            name: "layers",
            values: "last; a layer's number (0 = embeddings, -1 = last); concat:N or mean:N of the last N layers",
            help: "Which layers' hidden states make the vectors",
            apply: |r, v| {
                r.layers = LayerChoice::parse(v)?;
                Ok(())
            },
        },
        Setting {
            name: "vectors",
            values: "text or token",
            help: "One vector a text, or one a token",
            apply: |r, v| {
                r.token_vectors = choice(v, &[("text", false), ("token", true)])?;
                Ok(())
            },
        },
        Setting {
            name: "output",
            values: "f32, f16, int8 or binary",
            help: "Number type of the vectors",
            apply: |r, v| {
                r.output = choice(v, Output::ALL)?;
                Ok(())
            },
        },
        Setting {
            name: "offsets",
            values: "byte, utf16 or codepoint",
            help: "Unit of offsets into the text",
            apply: |r, v| {
                r.offsets = choice(v, OffsetUnit::ALL)?;
                Ok(())
            },
        },
        Setting {
            name: "activation",
            values: "model, identity, sigmoid or softmax",
            help: "How raw numbers (logits) become scores; it never changes an order",
            apply: |r, v| {
                r.activation = model_or(v, |v| choice(v, Score::ALL))?;
                Ok(())
            },
        },
        Setting {
            name: "top",
            values: "all, or a number from 1",
            help: "Keep this many of the best documents or labels",
            apply: |r, v| {
                r.top = if v == "all" { None } else { Some(number(v, 1)?) };
                Ok(())
            },
        },
        Setting {
            name: "windows",
            values: "first, max or mean",
            help: "Inputs longer than the limit: only what fits, or the largest or the mean logit of overlapping windows",
            apply: |r, v| {
                r.windows = choice(v, Windows::ALL)?;
                Ok(())
            },
        },
        Setting {
            name: "hypothesis",
            values: "a sentence with {} where the label goes",
            help: "What zero-shot classification asks of each label; This example is {}. unless said otherwise",
            apply: |r, v| {
                if !v.contains("{}") {
                    return fail(ErrorKind::InvalidArgument, "it has no {} for the label");
                }
                r.hypothesis = Some(v.to_owned());
                Ok(())
            },
        },
        Setting {
            name: "multi_label",
            values: "true or false",
            help: "Let several labels of a zero-shot classification be true at once",
            apply: |r, v| {
                r.multi_label = choice(v, BOOLEAN)?;
                Ok(())
            },
        },
        Setting {
            name: "threads",
            values: "a number from 1 to 1024, or auto",
            help: "Threads of this call, the calling thread included; auto is what the model was opened with",
            apply: |r, v| {
                r.threads = threads(v)?;
                Ok(())
            },
        },
        Setting {
            name: "deadline_ms",
            values: "none, or milliseconds",
            help: "Stop after this time and return what is finished",
            apply: |r, v| {
                r.deadline = if v == "none" { None } else { Some(Duration::from_millis(number(v, 0)? as u64)) };
                Ok(())
            },
        },
    ];

    /// Sets an option by name, as the command line and the C ABI do.
    ///
    /// # Errors
    /// `InvalidArgument` for an unknown name or value; the message lists what is known.
    pub fn set(&mut self, name: &str, value: &str) -> Result<()> {
        settings::set(Self::SETTINGS, self, name, value)
    }

    /// Refuses options that contradict each other whatever the model: what would be ignored is an error.
    pub(crate) fn check(&self) -> Result<()> {
        check_threads(self.threads)?;
        if let (Some(overlap), true) = (self.overlap, self.truncation != Some(Truncation::Window) && self.windows == Windows::First) {
            let told = format!("overlap {overlap}: only windows share tokens; set truncation to window, or leave overlap out");
            return fail(ErrorKind::InvalidArgument, told);
        }
        if let (Some(modes), true) = (&self.pooling, self.token_vectors) {
            let names: Vec<_> = modes.iter().map(|m| m.name()).collect();
            let told = format!("pooling {}: vectors of tokens are not pooled; leave pooling out, or set vectors to text", names.join("+"));
            return fail(ErrorKind::InvalidArgument, told);
        }
        Ok(())
    }
}

/// `None` for the word `model`, otherwise what `parse` makes of the value.
fn model_or<T>(value: &str, parse: impl Fn(&str) -> Result<T>) -> Result<Option<T>> {
    if value == "model" { Ok(None) } else { parse(value).map(Some) }
}

fn pooling(value: &str) -> Result<Vec<Pooling>> {
    let modes: Vec<Pooling> = value.split('+').map(|name| choice(name, Pooling::ALL)).collect::<Result<_>>()?;
    let repeated = modes.iter().enumerate().any(|(i, m)| modes[..i].contains(m));
    if repeated { fail(ErrorKind::InvalidArgument, "a mode is named twice") } else { Ok(modes) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_documented_value_is_accepted() {
        let mut r = Request::default();
        for (name, value) in [
            ("pooling", "cls+mean"),
            ("normalize", "false"),
            ("dimensions", "64"),
            ("prompt_name", "query"),
            ("truncation", "window"),
            ("max_tokens", "128"),
            ("overlap", "16"),
            ("layers", "concat:4"),
            ("vectors", "token"),
            ("output", "int8"),
            ("offsets", "utf16"),
            ("activation", "sigmoid"),
            ("top", "3"),
            ("windows", "max"),
            ("hypothesis", "About {}."),
            ("multi_label", "true"),
            ("threads", "2"),
            ("deadline_ms", "20"),
        ] {
            r.set(name, value).unwrap_or_else(|e| panic!("{name}: {e}"));
        }
        assert_eq!(r.pooling, Some(vec![Pooling::Cls, Pooling::Mean]));
        assert_eq!(r.layers, LayerChoice::Concat(4));
        assert_eq!(r.deadline, Some(Duration::from_millis(20)));
        r.set("pooling", "model").unwrap();
        assert_eq!(r.pooling, None);
    }

    #[test]
    fn bad_values_are_refused_by_name() {
        let mut r = Request::default();
        for (name, value) in [
            ("pooling", "average"),
            ("pooling", "mean+mean"),
            ("pooling", ""),
            ("threads", "0"),
            ("max_tokens", "2"),
            ("dimensions", "0"),
            ("layers", "concat:0"),
            ("output", "f64"),
            ("offsets", "bytes "),
            ("deadline_ms", "-1"),
            ("top", "0"),
            ("activation", "tanh"),
            ("windows", "last"),
            ("hypothesis", "About a label."),
            ("no_such", "1"),
        ] {
            let e = r.set(name, value).unwrap_err();
            assert_eq!(e.kind(), ErrorKind::InvalidArgument);
            assert!(e.message().contains(name), "{e}");
        }
    }

    #[test]
    fn what_would_be_ignored_is_refused() {
        let refused = |settings: &[(&str, &str)]| {
            let mut r = Request::default();
            settings.iter().for_each(|(name, value)| r.set(name, value).unwrap());
            r.check().err().map(|e| (e.kind(), e.message().to_owned()))
        };
        for (settings, words) in [
            (&[("overlap", "8")][..], "overlap 8: only windows"),
            (&[("overlap", "8"), ("truncation", "left")], "overlap 8: only windows"),
            (&[("vectors", "token"), ("pooling", "cls+mean")], "pooling cls+mean: vectors of tokens"),
        ] {
            let (kind, message) = refused(settings).expect(words);
            assert!(kind == ErrorKind::InvalidArgument && message.starts_with(words), "{message}");
        }
        assert_eq!(refused(&[("overlap", "8"), ("truncation", "window")]), None);
        assert_eq!(refused(&[("overlap", "8"), ("windows", "max")]), None);
        assert_eq!(refused(&[("overlap", "auto"), ("vectors", "token"), ("pooling", "model")]), None);
    }
}
