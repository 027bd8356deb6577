//! How does a model move along its gradients? The options that every run has, each as one row, for flags and files alike.

use super::schedule::Course;
use crate::engine::cpu::Method;
use crate::error::{Error, ErrorKind, Result, fail};
use crate::tasks::Setting;
use crate::tasks::settings::{choice, number, set, threads};

/// How a run goes. What kinds of runs begin with differs, so that steps, batch, rate and what goes with them are rows of their own tables.
#[derive(Clone, Debug)]
pub struct RunSettings {
    /// Steps of the run.
    pub steps: u64,
    /// Examples of a step.
    pub batch: usize,
    /// Tokens that are in memory at once, at least: a step of more runs in parts.
    pub part_tokens: usize,
    /// The highest learning rate.
    pub rate: f64,
    /// Steps over which the rate rises; none means a tenth.
    pub warmup: Option<u64>,
    /// How the rate goes on.
    pub course: Course,
    /// How gradients become steps.
    pub optimiser: Method,
    /// Weight decay.
    pub decay: f64,
    /// How slowly the mean of gradients changes.
    pub beta1: f64,
    /// How slowly the mean of their squares changes.
    pub beta2: f64,
    /// Added to the root of the squares.
    pub epsilon: f64,
    /// From each layer to the one below the rate is multiplied by it.
    pub layer_decay: f64,
    /// The lowest layers that do not learn, embeddings with them; 0: embeddings alone.
    pub freeze: Option<usize>,
    /// The largest norm of gradients; larger ones are scaled down to it.
    pub clip: f64,
    /// Dropout, in place of what config.json says.
    pub dropout: Option<f64>,
    /// Whether layers are computed again on the way back, to need less memory.
    pub recompute: bool,
    /// Decides the first weights and dropout.
    pub seed: u64,
    /// Threads; none means as many as this process may use. The result is the same.
    pub threads: Option<usize>,
    /// Steps between two lines of the log.
    pub log_every: u64,
    /// Steps between two checkpoints.
    pub save_every: u64,
    /// Checkpoints that are kept.
    pub keep: usize,
    /// Steps between two evaluations.
    pub evaluate_every: u64,
    /// Evaluations in a row that may be no better before the run ends; 0: all.
    pub patience: u64,
    /// Steps in a row that may be skipped since a number was not finite.
    pub skips: usize,
}

impl Default for RunSettings {
    fn default() -> Self {
        RunSettings {
            steps: 10_000,
            batch: 32,
            part_tokens: 4096,
            rate: 5e-4,
            warmup: None,
            course: Course::Linear,
            optimiser: Method::AdamW,
            decay: 0.01,
            beta1: 0.9,
            beta2: 0.999,
            epsilon: 1e-6,
            layer_decay: 1.0,
            freeze: None,
            clip: 1.0,
            dropout: None,
            recompute: false,
            seed: 42,
            threads: None,
            log_every: 20,
            save_every: 1000,
            keep: 2,
            evaluate_every: 500,
            patience: 0,
            skips: 10,
        }
    }
}

/// A row whose value is a number of steps or the like, kept in the field that the path leads to.
macro_rules! count {
    ($name:ident in $($field:ident).+, $least:literal, $values:literal, $help:literal) => {
        $crate::tasks::Setting {
            name: stringify!($name),
            values: $values,
            help: $help,
            apply: |s, v| {
                let told = |_| $crate::error::Error::new($crate::error::ErrorKind::InvalidArgument, "too large");
                s.$($field).+ = $crate::tasks::settings::number(v, $least)?.try_into().map_err(told)?;
                Ok(())
            },
        }
    };
}

/// A row whose value is a number between two others.
macro_rules! real {
    ($name:ident in $($field:ident).+, $range:expr, $values:literal, $help:literal) => {
        $crate::tasks::Setting {
            name: stringify!($name),
            values: $values,
            help: $help,
            apply: |s, v| {
                s.$($field).+ = $crate::train::run::settings::within(v, $range)?.into();
                Ok(())
            },
        }
    };
}

pub(in crate::train) use {count, real};

impl RunSettings {
    /// Every option that [`RunSettings::set`] knows.
    pub const SETTINGS: &'static [Setting<RunSettings>] = &[
        count!(part_tokens in part_tokens, 1, "a number of tokens", "A step of more tokens runs in parts, so that memory stays; 4096 if not given"),
        Setting {
            name: "warmup",
            values: "a number of steps",
            help: "Steps over which the rate rises; a tenth of all if not given",
            apply: |s, v| {
                s.warmup = Some(number(v, 0)? as u64);
                Ok(())
            },
        },
        Setting {
            name: "course",
            values: "linear, cosine or constant",
            help: "How the rate goes on after the warm-up; linear if not given",
            apply: |s, v| {
                s.course = choice(v, Course::ALL)?;
                Ok(())
            },
        },
        Setting {
            name: "optimiser",
            values: "adamw or lamb",
            help: "How gradients become steps; adamw if not given, lamb for batches of thousands",
            apply: |s, v| {
                s.optimiser = choice(v, Method::ALL)?;
                Ok(())
            },
        },
        real!(decay in decay, 0.0..=1.0, "a number from 0 to 1", "Weight decay, none on biases and norms; 0.01 if not given"),
        real!(beta1 in beta1, 0.0..=0.9999, "a number from 0 to 0.9999", "How slowly the mean of gradients changes; 0.9 if not given"),
        real!(
            beta2 in beta2,
            0.0..=0.99999,
            "a number from 0 to 0.99999",
            "How slowly the mean of their squares changes; 0.999 if not given"
        ),
        real!(epsilon in epsilon, 1e-12..=1.0, "a number from 1e-12 to 1", "Added to the root of the squares; 1e-6 if not given"),
        real!(
            layer_decay in layer_decay,
            0.01..=1.0,
            "a number from 0.01 to 1",
            "From each layer to the one below, the rate is multiplied by this; 1 if not given"
        ),
        Setting {
            name: "freeze",
            values: "none, embeddings, or a number of layers",
            help: "The lowest layers, embeddings with them, that stay as they are; none if not given",
            apply: |s, v| {
                s.freeze = match v {
                    "none" => None,
                    "embeddings" => Some(0),
                    layers => Some(number(layers, 1)?),
                };
                Ok(())
            },
        },
        real!(clip in clip, 1e-9..=1e9, "a number above 0", "The largest norm of all gradients together; 1 if not given"),
        real!(dropout in dropout, 0.0..=0.9, "a share from 0 to 0.9", "Dropout, in place of what config.json says"),
        Setting {
            name: "recompute",
            values: "none or layers",
            help: "What is computed again on the way back, to need less memory: the same bits in a third more time; none if not given",
            apply: |s, v| {
                s.recompute = choice(v, &[("none", false), ("layers", true)])?;
                Ok(())
            },
        },
        Setting {
            name: "seed",
            values: "a whole number",
            help: "Decides the first weights and dropout; 42 if not given",
            apply: |s, v| {
                s.seed = v.parse().map_err(|_| Error::new(ErrorKind::InvalidArgument, "not a whole number"))?;
                Ok(())
            },
        },
        Setting {
            name: "threads",
            values: "auto, or a number from 1 to 1024",
            help: "Threads to use; the result is the same",
            apply: |s, v| {
                s.threads = threads(v)?;
                Ok(())
            },
        },
        count!(log_every in log_every, 1, "a number of steps", "Steps between two lines of the log; 20 if not given"),
        count!(keep in keep, 1, "a number", "Checkpoints that are kept; 2 if not given"),
        count!(patience in patience, 0, "a number of evaluations", "End after so many evaluations in a row that are no better; 0 and if not given: never"),
        count!(skips in skips, 1, "a number of steps", "Stop after so many steps in a row whose numbers are not finite; 10 if not given"),
    ];

    /// Sets the option called `name`.
    ///
    /// # Errors
    /// `InvalidArgument` for a name that is not in [`RunSettings::SETTINGS`] and for a value that its row does not take.
    pub fn set(&mut self, name: &str, value: &str) -> Result<()> {
        set(Self::SETTINGS, self, name, value)
    }

    /// Steps of the warm-up.
    pub fn warmup(&self) -> u64 {
        self.warmup.unwrap_or(self.steps / 10)
    }

    /// The settings that decide what a run learns, a line each.
    pub(in crate::train) fn fingerprint(&self) -> String {
        let lines = [
            ("steps", self.steps.to_string()),
            ("batch", self.batch.to_string()),
            ("part_tokens", self.part_tokens.to_string()),
            ("rate", self.rate.to_string()),
            ("warmup", self.warmup().to_string()),
            ("course", format!("{:?}", self.course)),
            ("decay", self.decay.to_string()),
            ("beta1", self.beta1.to_string()),
            ("beta2", self.beta2.to_string()),
            ("epsilon", self.epsilon.to_string()),
            ("clip", self.clip.to_string()),
            ("dropout", format!("{:?}", self.dropout)),
            ("seed", self.seed.to_string()),
            ("optimiser", format!("{:?}", self.optimiser)),
            ("layer_decay", self.layer_decay.to_string()),
            ("freeze", format!("{:?}", self.freeze)),
        ];
        written(&lines)
    }
}

/// Settings as lines that can be compared.
pub(in crate::train) fn written(lines: &[(&str, String)]) -> String {
    lines.iter().map(|(name, value)| format!("{name} = {value}")).collect::<Vec<_>>().join("\n")
}

/// A number from a range.
pub(in crate::train) fn within(value: &str, range: std::ops::RangeInclusive<f64>) -> Result<f64> {
    match value.parse::<f64>() {
        Ok(x) if range.contains(&x) => Ok(x),
        Ok(x) => fail(ErrorKind::InvalidArgument, format!("{x} is not from {} to {}", range.start(), range.end())),
        Err(_) => fail(ErrorKind::InvalidArgument, "not a number"),
    }
}
