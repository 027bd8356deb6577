//! How is a model pretrained? Its own options, each as one row, for flags and files alike; the others are every run's.

use super::super::run::RunSettings;
use super::super::run::settings::{count, real};
use super::preset::{PRESETS, Preset};
use super::questions::{OBJECTIVES, Objective};
use crate::error::Result;
use crate::tasks::Setting;
use crate::tasks::settings::{choice, set};

/// How a model is pretrained.
#[derive(Clone, Debug)]
pub struct PretrainSettings {
    /// The family and size of a model from nothing.
    pub preset: &'static Preset,
    /// What it learns.
    pub objective: &'static Objective,
    /// The share of the discriminator's width that its generator has.
    pub generator_size: f64,
    /// Examples of an evaluation.
    pub evaluate_on: usize,
    /// How the run goes.
    pub run: RunSettings,
}

impl Default for PretrainSettings {
    fn default() -> Self {
        PretrainSettings {
            preset: &PRESETS[1],
            objective: &OBJECTIVES[0],
            generator_size: 0.25,
            evaluate_on: 512,
            run: RunSettings::default(),
        }
    }
}

impl PretrainSettings {
    /// The options of pretraining; those of [`RunSettings::SETTINGS`] are options too.
    pub const SETTINGS: &'static [Setting<PretrainSettings>] = &[
        Setting {
            name: "preset",
            values: "bert-tiny, -mini, -small, -medium, -base, -large; roberta-, albert-, electra-, distilbert-, deberta-v3-, modernbert- or gpt2- and a size",
            help: "The family and size of a model from nothing; bert-mini if not given",
            apply: |s, v| {
                s.preset = choice(v, &PRESETS.iter().map(|p| (p.name, p)).collect::<Vec<_>>())?;
                Ok(())
            },
        },
        Setting {
            name: "objective",
            values: "masked, span_boundary or replaced",
            help: "What it learns: hidden tokens and labels of pairs; hidden spans also by their borders (SpanBERT); tokens that a small generator replaced (ELECTRA)",
            apply: |s, v| {
                s.objective = choice(v, &OBJECTIVES.iter().map(|row| (row.name, row)).collect::<Vec<_>>())?;
                Ok(())
            },
        },
        real!(generator_size in generator_size, 0.01..=1.0, "a share from 0.01 to 1", "ELECTRA: the width of the generator's layers, as a share of the discriminator's; 0.25 if not given"),
        count!(steps in run.steps, 1, "a number of steps", "Steps of the run; 10000 if not given"),
        count!(batch in run.batch, 1, "a number of sequences", "Sequences of a step; 32 if not given"),
        real!(rate in run.rate, 0.0..=1.0, "a number from 0 to 1", "The highest learning rate; 5e-4 if not given"),
        count!(save_every in run.save_every, 1, "a number of steps", "Steps between two checkpoints; 1000 if not given"),
        count!(evaluate_every in run.evaluate_every, 1, "a number of steps", "Steps between two evaluations on the held-out texts; 500 if not given"),
        count!(evaluate_on in evaluate_on, 1, "a number of sequences", "Held-out sequences of an evaluation at most; 512 if not given"),
    ];

    /// Sets the option called `name`.
    ///
    /// # Errors
    /// `InvalidArgument` for a name that is in neither table and for a value that its row does not take.
    pub fn set(&mut self, name: &str, value: &str) -> Result<()> {
        if RunSettings::SETTINGS.iter().any(|row| row.name == name) {
            return self.run.set(name, value);
        }
        set(Self::SETTINGS, self, name, value)
    }
}
