//! What may a caller ask of one call?

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::options::check_threads;
use super::request_table;
use super::scheme::Scheme;
use super::settings::{self, Setting};
use crate::error::{ErrorKind, Result, fail};
pub use crate::model::labels::Aggregation;
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
    /// The language of the inputs, by a name of the model's. `None` = none is said.
    pub language: Option<String>,
    /// What happens to inputs longer than the limit. `None` = the model's side.
    pub truncation: Option<Truncation>,
    /// Limit in tokens, special tokens included. `None` = the model's.
    pub max_tokens: Option<usize>,
    /// Tokens that neighbouring windows share (only where there are windows). `None` = an eighth of the limit; for extract 128, or
    /// half the limit.
    pub overlap: Option<usize>,
    /// Which layers' hidden states are used.
    pub layers: LayerChoice,
    /// One vector a token rather than one a text.
    pub token_vectors: bool,
    /// Sparse weights of the vocabulary rather than a vector: in rerank their dot product.
    pub sparse: bool,
    /// Whether a late-interaction model reads the texts as queries rather than as documents.
    pub as_query: bool,
    /// Of sparse weights, leave out those below this.
    pub threshold: f32,
    /// The number type of the vectors.
    pub output: Output,
    /// Unit of offsets in results.
    pub offsets: OffsetUnit,
    /// How raw numbers become scores. `None` = as the model's files say.
    pub activation: Option<Score>,
    /// Keep this many of the best. `None` = what is usual for the task: all documents and labels, one answer, 5 fills of a blank.
    pub top: Option<usize>,
    /// How rerank, classify and next_sentence see inputs longer than the limit.
    pub windows: Windows,
    /// What zero-shot classification asks of a label, which stands for `{}`. `None` = `This example is {}.`.
    pub hypothesis: Option<String>,
    /// Whether several labels of a zero-shot classification may be true at once.
    pub multi_label: bool,
    /// How tag makes entities of labels. `None` = as the model's files say, else `Simple`.
    pub aggregation: Option<Aggregation>,
    /// How labels say where an entity begins and ends. `None` = as the labels look.
    pub scheme: Option<Scheme>,
    /// The longest answer that extract gives, in tokens. `None` = 15.
    pub max_answer: Option<usize>,
    /// Extract leaves out answers whose logit is more than this below that of no answer. `None` = none are left out.
    pub no_answer_threshold: Option<f32>,
    /// Threads of this call. `None` = the model's.
    pub threads: Option<usize>,
    /// Time after which the call stops and returns what is finished.
    pub deadline: Option<Duration>,
    /// Stops the call from another thread.
    pub cancel: Option<Cancel>,
}

impl Request {
    /// Every option that [`Request::set`] knows.
    pub const SETTINGS: &'static [Setting<Request>] = request_table::ROWS;

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

#[cfg(test)]
mod tests {
    use super::*;

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
