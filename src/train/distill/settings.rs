//! How is a student taught? Its own options, each as one row, for flags and files alike; the others are every run's.

use super::super::pretrain::preset::{PRESETS, Preset};
use super::super::run::RunSettings;
use super::super::run::settings::{count, real};
use crate::error::Result;
use crate::tasks::Setting;
use crate::tasks::settings::{choice, set};

/// How a student is taught.
#[derive(Clone, Debug)]
pub struct DistillSettings {
    /// The family and size of a student from nothing, in place of every other layer of the teacher.
    pub preset: Option<&'static Preset>,
    /// What scores are divided by before they become probabilities.
    pub temperature: f64,
    /// What each loss is multiplied by: the teacher's probabilities, the hidden tokens themselves, the direction of the last hidden states.
    pub soft_weight: f64,
    /// See `soft_weight`.
    pub masked_weight: f64,
    /// See `soft_weight`.
    pub hidden_weight: f64,
    /// Examples of an evaluation.
    pub evaluate_on: usize,
    /// How the run goes.
    pub run: RunSettings,
}

impl Default for DistillSettings {
    fn default() -> Self {
        DistillSettings {
            preset: None,
            temperature: 2.0,
            soft_weight: 5.0,
            masked_weight: 2.0,
            hidden_weight: 1.0,
            evaluate_on: 512,
            run: RunSettings::default(),
        }
    }
}

impl DistillSettings {
    /// The options of distillation; those of [`RunSettings::SETTINGS`] are options too.
    pub const SETTINGS: &'static [Setting<DistillSettings>] = &[
        Setting {
            name: "preset",
            values: "a family and a size, as `cloze-train pretrain` has them",
            help: "A student from nothing; without it and --student, every other layer of the teacher",
            apply: |s, v| {
                s.preset = Some(choice(v, &PRESETS.iter().map(|p| (p.name, p)).collect::<Vec<_>>())?);
                Ok(())
            },
        },
        real!(temperature in temperature, 0.1..=100.0, "a number from 0.1 to 100", "What scores are divided by before they are compared; 2 if not given"),
        real!(soft_weight in soft_weight, 0.0..=1000.0, "a number from 0", "Weight of the teacher's probabilities of hidden tokens; 5 if not given"),
        real!(masked_weight in masked_weight, 0.0..=1000.0, "a number from 0", "Weight of the hidden tokens themselves; 2 if not given"),
        real!(hidden_weight in hidden_weight, 0.0..=1000.0, "a number from 0", "Weight of the cosine between the last hidden states; 1 if not given, 0 where widths differ"),
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
