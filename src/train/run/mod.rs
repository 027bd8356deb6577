//! How does a run go, whatever is learned? Step after step, evaluations, checkpoints, and the model in the end.
//!
//! A [`Subject`] says what a step's examples cost (`pretrain`, `finetune`); [`Run`] moves the weights along the gradients at a rate that
//! [`schedule`] says, tries the model on what was held out, and writes checkpoints (`checkpoint`) and the model itself (`folder`). What happens
//! is told to a watcher ([`event`]): `cli` logs and draws it.

mod checkpoint;
pub mod event;
pub(super) mod folder;
pub mod schedule;
pub(super) mod settings;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use serde_json::Value;

use super::random::{Key, Purpose};
use super::rates::LayerRates;
use super::team::Team;
use crate::engine::Graph;
use crate::engine::cpu::{Learner, LearningStep};
use crate::engine::gradient::{Course, Goal, Learning, Rates, learning};
use crate::engine::graph::ValueId;
use crate::engine::threads::default_threads;
use crate::error::{Error, ErrorKind, Result, fail};
use crate::model::Learnable;
use crate::tasks::Cancel;
use checkpoint::Progress;
pub use event::{Event, Figures};
pub use folder::copy as copy_model;
use folder::{Companions, bytes_of};
pub use settings::RunSettings;

/// The deviation of a model from nothing, where its config.json says none.
pub(super) const DEVIATION: f64 = 0.02;

/// Who is told of what happens.
pub(super) type Watch<'a> = &'a mut dyn FnMut(Event) -> Result<()>;

/// Writes the model as a learner has it, and says into which folder.
pub(super) type Write<'a> = &'a dyn Fn(&Learner) -> Result<PathBuf>;

/// A graph and what its losses are.
pub(super) struct Made {
    pub graph: Arc<Graph>,
    pub losses: Vec<ValueId>,
}

impl From<Learning> for Made {
    fn from(made: Learning) -> Made {
        Made { graph: Arc::new(made.graph), losses: made.losses }
    }
}

/// The graph by which `model` learns `goals` in its own graph `graph`: all of its layers, or those that the settings leave free.
///
/// # Errors
/// `Unsupported` for an operation that has no way back.
pub(super) fn learn(model: &Learnable, graph: &Graph, goals: &[Goal], rates: Rates, settings: &RunSettings) -> Result<Made> {
    let layers = LayerRates::new(model, settings.layer_decay, settings.freeze)?;
    let kept = if settings.recompute { model.hidden_states() } else { &[] };
    let course = Course { weights: model.weights().len(), learns: &|id| layers.learns(id), rates, kept, adapters: model.adapters() };
    let none = |what| Error::new(ErrorKind::Unsupported, format!("family {}: nothing learns over {what}", model.family()));
    learning(graph, goals, &course).map(Made::from).map_err(none)
}

/// What an evaluation came to.
pub(super) struct Evaluation {
    pub figures: Figures,
    /// The larger, the better the model.
    pub merit: f64,
}

/// What a run learns.
pub(super) trait Subject {
    /// Runs this process's share of the examples of step `step`, from 0, and adds their gradients; what all of them cost, and how many tokens they
    /// had. Chance follows from `seed`.
    fn learn(&mut self, learner: &mut Learner, team: &Team, step: u64, seed: u64) -> Result<(Figures, u64)>;

    /// Tries the model on what was held out, if anything was; each process on its share. `write` writes the model as it is now and says into which
    /// folder. None where `stop` came first: it is tried when the run goes on.
    fn evaluate(&mut self, learner: &mut Learner, team: &Team, write: Write<'_>, stop: &Cancel) -> Result<Option<Evaluation>>;

    /// The settings that decide what is learned, a line each, beside those of the run.
    fn fingerprint(&self) -> String;
}

/// A second model that learns with the first, and the folder that it is written to.
pub(super) struct Beside {
    pub folder: &'static str,
    pub model: Learnable,
    pub companions: Companions,
}

/// A model that learns.
pub(super) struct Run<S> {
    pub subject: S,
    pub model: Learnable,
    pub learner: Learner,
    pub beside: Option<Beside>,
    companions: Companions,
    settings: RunSettings,
    rates: LayerRates,
}

impl<S: Subject> Run<S> {
    /// A run of `model`, which is written with its `companions`.
    pub(super) fn new(subject: S, model: Learnable, companions: Companions, settings: RunSettings) -> Result<Run<S>> {
        let learner = model.learner(None, settings.threads.unwrap_or_else(default_threads))?;
        let rates = LayerRates::new(&model, settings.layer_decay, settings.freeze)?;
        Ok(Run { subject, model, learner, beside: None, companions, settings, rates })
    }

    /// Runs to the last step, or until `stop` in one of the team; either way ends with a checkpoint and the model in `out`, which the first process
    /// writes. `resume` takes up the last checkpoint there. Returns the merit of the best evaluation.
    pub(super) fn run(&mut self, out: &Path, resume: bool, team: &Team, stop: &Cancel, watch: Watch<'_>) -> Result<Option<f64>> {
        let settings = format!("{}\n{}", self.subject.fingerprint(), self.settings.fingerprint());
        std::fs::create_dir_all(out).map_err(|e| Error::new(ErrorKind::Io, format!("{}: {e}", out.display())))?;
        let mut progress =
            if resume { checkpoint::load(out, &settings, &mut self.learner)? } else { Progress { settings, ..Progress::default() } };
        if resume {
            watch(Event::Resumed { step: progress.step })?;
        }
        team.agree("command or corpus", || progress.settings.clone().into_bytes())?;
        team.agree("model or checkpoint", || bytes_of(self.learner.state().numbers))?;
        // It may have ended while it was evaluated.
        if resume && self.is_due(&progress) {
            self.evaluate(out, team, &mut progress, stop, watch)?;
        }
        let (started, tokens_before) = (Instant::now(), progress.tokens);
        let mut saved = progress.step;
        while progress.step < self.settings.steps && !self.is_enough(&progress) && !team.any(stop.is_cancelled()) {
            let done = self.step(team, &mut progress)?;
            let seconds = started.elapsed().as_secs_f64();
            match done {
                Some(Done { figures, norm, rate, tokens }) => watch(Event::Step {
                    step: progress.step,
                    steps: self.settings.steps,
                    figures,
                    rate,
                    norm,
                    tokens,
                    tokens_per_second: (progress.tokens - tokens_before) as f64 / seconds,
                })?,
                None => {
                    watch(Event::Skipped { step: progress.step, in_a_row: progress.skipped_in_a_row })?;
                    self.refuse_too_many(&progress)?;
                }
            }
            let last = progress.step == self.settings.steps;
            // What was learned is safe before it is tried, which may take long or fail.
            if progress.step % self.settings.save_every == 0 || last {
                self.save(out, team, &progress, watch)?;
                saved = progress.step;
            }
            if self.is_due(&progress) {
                self.evaluate(out, team, &mut progress, stop, watch)?;
                if saved == progress.step && team.leads() {
                    checkpoint::note(out, &progress)?;
                }
            }
        }
        if saved != progress.step || progress.step == 0 {
            self.save(out, team, &progress, watch)?;
        }
        Ok(progress.best)
    }

    /// Whether the model as it is now should be tried, and has not been.
    fn is_due(&self, progress: &Progress) -> bool {
        let step = progress.step;
        step > progress.evaluated && (step.is_multiple_of(self.settings.evaluate_every) || step == self.settings.steps)
    }

    /// Whether the model has not become better for so long that it will not.
    fn is_enough(&self, progress: &Progress) -> bool {
        self.settings.patience > 0 && progress.without_gain >= self.settings.patience
    }

    fn refuse_too_many(&self, progress: &Progress) -> Result<()> {
        if progress.skipped_in_a_row < self.settings.skips {
            return Ok(());
        }
        let told = format!(
            "{} steps in a row up to step {} have numbers that are not finite; the last checkpoint is sound: resume from it with a lower rate, or look at the text",
            progress.skipped_in_a_row, progress.step
        );
        fail(ErrorKind::NonFinite, told)
    }

    fn save(&self, out: &Path, team: &Team, progress: &Progress, watch: Watch<'_>) -> Result<()> {
        if !team.leads() {
            return Ok(());
        }
        checkpoint::save(out, progress, &self.learner, self.settings.keep)?;
        self.companions.write(&out.join("model"), &self.model, &self.learner)?;
        if let Some(Beside { folder, model, companions }) = &self.beside {
            companions.write(&out.join(folder), model, &self.learner)?;
        }
        watch(Event::Saved { step: progress.step })
    }

    /// One step; `None` where it was skipped.
    fn step(&mut self, team: &Team, progress: &mut Progress) -> Result<Option<Done>> {
        let seed = Key::new(self.settings.seed, Purpose::Dropout, &[progress.step + 1]).bits(0);
        let (figures, tokens) = self.subject.learn(&mut self.learner, team, progress.step, seed)?;
        team.sum_gradients(self.learner.gradients_mut());
        progress.step += 1;
        progress.tokens += tokens;
        let norm = self.learner.gradient_norm(|id| self.rates.learns(id));
        if !(norm.is_finite() && figures.loss.is_finite()) {
            self.learner.forget();
            (progress.skipped, progress.skipped_in_a_row) = (progress.skipped + 1, progress.skipped_in_a_row + 1);
            return Ok(None);
        }
        progress.skipped_in_a_row = 0;
        let RunSettings { optimiser, rate, course, steps, decay, beta1, beta2, epsilon, clip, .. } = self.settings;
        let rate = rate * course.factor(progress.step, self.settings.warmup(), steps);
        let step = LearningStep {
            method: optimiser,
            number: progress.step - progress.skipped,
            rate: rate as f32,
            decay: decay as f32,
            beta1: beta1 as f32,
            beta2: beta2 as f32,
            epsilon: epsilon as f32,
            clip: (clip / (norm + 1e-6)).min(1.0) as f32,
        };
        self.learner.step(&step, |id| self.rates.of(id))?;
        Ok(Some(Done { figures, norm, rate, tokens }))
    }

    fn evaluate(&mut self, out: &Path, team: &Team, progress: &mut Progress, stop: &Cancel, watch: Watch<'_>) -> Result<()> {
        let write = |learner: &Learner| {
            let folder = out.join("model");
            self.companions.write(&folder, &self.model, learner)?;
            Ok(folder)
        };
        let Some(Evaluation { figures, merit }) = self.subject.evaluate(&mut self.learner, team, &write, stop)? else { return Ok(()) };
        let best = !merit.is_nan() && progress.best.is_none_or(|best| merit > best);
        if best {
            (progress.best, progress.without_gain) = (Some(merit), 0);
            if team.leads() {
                self.companions.write(&out.join("best"), &self.model, &self.learner)?;
            }
        }
        progress.without_gain += u64::from(!best);
        progress.evaluated = progress.step;
        watch(Event::Evaluated { step: progress.step, figures, best })
    }
}

/// A step that was done.
struct Done {
    figures: Figures,
    norm: f64,
    rate: f64,
    tokens: u64,
}

/// Whether there is a checkpoint in `out`, from which a run could go on. One that ended before its first has left nothing.
pub fn begun(out: &Path) -> bool {
    !checkpoint::steps(out).is_empty()
}

/// Dropout as config.json says, or `dropout`.
pub(super) fn rates(config: &Value, dropout: Option<f64>) -> Rates {
    let said = |names: &[&str]| names.iter().find_map(|name| config[*name].as_f64()).unwrap_or(0.0);
    let hidden = said(&["hidden_dropout_prob", "dropout", "resid_pdrop"]);
    let attention = said(&["attention_probs_dropout_prob", "attention_dropout", "attn_pdrop"]);
    Rates { hidden: dropout.unwrap_or(hidden) as f32, attention: dropout.unwrap_or(attention) as f32, head: 0.0 }
}
