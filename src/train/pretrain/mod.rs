//! How does a model learn a language from text?
//!
//! A [`Corpus`] gives examples by number; a step packs some of them (`lessons`), runs the graph that `engine::gradient` made of the model's own,
//! and moves the weights along the gradients, at a rate that [`schedule`] says. [`Pretraining::run`] does step after step, evaluates on texts
//! held out, and writes checkpoints (`checkpoint`) and the model itself (`folder`). What happens is told to a watcher: `cli` logs and draws it.

mod checkpoint;
mod folder;
mod lessons;
pub mod preset;
pub mod schedule;
mod settings;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use serde::Serialize;
use serde_json::Value;

use super::examples::Learning as Asks;
use super::random::{Key, Purpose};
use super::{Corpus, Example};
use crate::engine::Graph;
use crate::engine::cpu::{Learner, LearningStep};
use crate::engine::gradient::{Course, Goal, Learning, Rates, evaluating, learning};
use crate::engine::graph::{Loss, Span, ValueId};
use crate::engine::lesson::{Cost, Target, UNLABELLED};
use crate::engine::threads::default_threads;
use crate::error::{Error, ErrorKind, Result, fail};
use crate::formats::{Source, Weights, huggingface};
use crate::model::heads::Kind;
use crate::model::{Fresh, Learnable};
use checkpoint::Progress;
use folder::Companions;
use lessons::{Asked, Part, parts};
pub use settings::PretrainSettings;

/// The deviation of a model from nothing, where its config.json says none.
const DEVIATION: f64 = 0.02;

/// What a step, or an evaluation, cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Costs {
    /// Of the hidden tokens, a mean in nats.
    pub masked_loss: f64,
    /// How many of them the model would have filled in.
    pub masked_accuracy: f64,
    /// Of pairs of texts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pair_loss: Option<f64>,
    /// How many of them it told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pair_accuracy: Option<f64>,
}

impl Costs {
    /// What is made small.
    pub fn total(&self) -> f64 {
        self.masked_loss + self.pair_loss.unwrap_or(0.0)
    }
}

/// What happens in a run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// A run was taken up.
    Resumed {
        /// After this step: what was told of later ones does not count.
        step: u64,
    },
    /// A step was done.
    Step {
        /// Its number, from 1, and the run's last.
        step: u64,
        /// See `step`.
        steps: u64,
        /// What it cost, before the weights moved.
        #[serde(flatten)]
        costs: Costs,
        /// The learning rate.
        rate: f64,
        /// Of the gradients, before they were clipped.
        norm: f64,
        /// Tokens of the step, and a second since the run began or went on.
        tokens: u64,
        /// See `tokens`.
        tokens_per_second: f64,
    },
    /// A step was left out: a cost or a gradient was not finite.
    Skipped {
        /// Its number.
        step: u64,
        /// How many in a row.
        in_a_row: usize,
    },
    /// The model was tried on texts held out.
    Evaluated {
        /// After this step.
        step: u64,
        /// What they cost.
        #[serde(flatten)]
        costs: Costs,
        /// e to the masked loss.
        perplexity: f64,
        /// Whether it is the lowest so far.
        best: bool,
    },
    /// A checkpoint and the model were written.
    Saved {
        /// After this step.
        step: u64,
    },
}

/// A graph and what its losses are.
struct Made {
    graph: Arc<Graph>,
    losses: Vec<ValueId>,
}

impl From<Learning> for Made {
    fn from(made: Learning) -> Made {
        Made { graph: Arc::new(made.graph), losses: made.losses }
    }
}

/// A model being pretrained.
pub struct Pretraining {
    model: Learnable,
    learner: Learner,
    learning: Made,
    evaluating: Made,
    companions: Companions,
    corpus: Corpus,
    held_out: Option<Corpus>,
    settings: PretrainSettings,
    /// Whether examples are pairs with a label.
    pairs: bool,
    /// Whether the model began from nothing.
    begun: bool,
}

impl Pretraining {
    /// A run over `corpus`, tried on `held_out`: of the model in `from`, or of one from nothing with the tokenizer in `tokenizer`.
    ///
    /// # Errors
    /// As opening a model; `Unsupported` for a family that lacks the heads that the corpus asks for, or does not learn; `InvalidArgument` for
    /// sequences longer than the model has positions.
    pub fn new(
        from: Option<&Source>,
        tokenizer: &Source,
        corpus: Corpus,
        held_out: Option<Corpus>,
        settings: PretrainSettings,
    ) -> Result<Pretraining> {
        let pairs = corpus.settings().sequences.pairs();
        let (config, weights) = match from {
            Some(source) => {
                let folder = huggingface::open(source)?;
                (folder.config, folder.weights)
            }
            None => (settings.preset.config(corpus.shards().vocabulary(), None), Weights::default()),
        };
        let mut kinds = vec![Kind::FillMask];
        kinds.extend(pairs.then_some(Kind::NextSentence));
        let deviation = config["initializer_range"].as_f64().unwrap_or(DEVIATION) as f32;
        let model = Learnable::new(&config, weights, Fresh { seed: settings.seed, deviation, heads: kinds.clone() })?;
        check_fits(&model, &corpus)?;
        let rates = rates(&config, &settings);
        let (mut graph, values) = model.graph(&kinds)?;
        if matches!(corpus.settings().learning, Asks::LeftToRight) {
            graph = graph.looking(Span { after: 0, ..Span::ALL });
        }
        let goal = |(target, value): (usize, &ValueId)| Goal { value: *value, loss: Loss::CrossEntropy, target };
        let goals: Vec<Goal> = values.iter().enumerate().map(goal).collect();
        let course = Course { weights: model.weights().len(), learns: &|_| true, rates };
        let learns = learning(&graph, &goals, &course)
            .map_err(|what| Error::new(ErrorKind::Unsupported, format!("family {}: nothing learns over {what}", model.family())))?;
        let learner = Learner::new(model.weights(), None, settings.threads.unwrap_or_else(default_threads))?;
        let mut companions = Companions::new(config, tokenizer)?;
        companions.name_class(pairs);
        let (learning, evaluating) = (learns.into(), evaluating(&graph, &goals).into());
        Ok(Pretraining { model, learner, learning, evaluating, companions, corpus, held_out, settings, pairs, begun: from.is_none() })
    }

    /// Names of tensors that were made, since the checkpoint lacked them.
    pub fn made(&self) -> &[String] {
        self.model.made()
    }

    /// Runs to the last step, or until `stop`; either way ends with a checkpoint and the model in `out`. `resume` takes up the last
    /// checkpoint there.
    ///
    /// # Errors
    /// `Io` where files cannot be written, `NonFinite` after too many steps in a row whose numbers were not finite, and as [`Pretraining::new`].
    pub fn run(&mut self, out: &Path, resume: bool, stop: &AtomicBool, watch: &mut dyn FnMut(Event) -> Result<()>) -> Result<()> {
        let settings = self.fingerprint();
        let mut progress =
            if resume { checkpoint::load(out, &settings, &mut self.learner)? } else { Progress { settings, ..Progress::default() } };
        if resume {
            watch(Event::Resumed { step: progress.step })?;
        }
        let (started, tokens_before) = (Instant::now(), progress.tokens);
        let mut saved = progress.step;
        while progress.step < self.settings.steps && !stop.load(Ordering::Relaxed) {
            let done = self.step(&mut progress)?;
            let seconds = started.elapsed().as_secs_f64();
            match done {
                Some((costs, norm, rate, tokens)) => watch(Event::Step {
                    step: progress.step,
                    steps: self.settings.steps,
                    costs,
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
            if progress.step % self.settings.evaluate_every == 0 || last {
                self.evaluate_now(out, &mut progress, watch)?;
            }
            if progress.step % self.settings.save_every == 0 || last {
                self.save(out, &progress, watch)?;
                saved = progress.step;
            }
        }
        if saved != progress.step || progress.step == 0 {
            self.save(out, &progress, watch)?;
        }
        Ok(())
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

    fn save(&self, out: &Path, progress: &Progress, watch: &mut dyn FnMut(Event) -> Result<()>) -> Result<()> {
        checkpoint::save(out, progress, &self.learner, self.settings.keep)?;
        self.companions.write(&out.join("model"), &self.model, &self.learner)?;
        watch(Event::Saved { step: progress.step })
    }

    /// One step: costs, the gradients' norm, the rate and the tokens; `None` where it was skipped.
    fn step(&mut self, progress: &mut Progress) -> Result<Option<(Costs, f64, f64, u64)>> {
        let examples = self.examples(progress.step)?;
        progress.step += 1;
        let seed = Key::new(self.settings.seed, Purpose::Dropout, &[progress.step]).bits(0);
        let costs = self.costs_of(&examples, seed, true)?;
        let norm = self.learner.gradient_norm();
        let tokens: u64 = examples.iter().map(|e| e.ids.len() as u64).sum();
        progress.tokens += tokens;
        if !(norm.is_finite() && costs.total().is_finite()) {
            self.learner.forget();
            (progress.skipped, progress.skipped_in_a_row) = (progress.skipped + 1, progress.skipped_in_a_row + 1);
            return Ok(None);
        }
        progress.skipped_in_a_row = 0;
        let PretrainSettings { rate, course, steps, decay, beta1, beta2, epsilon, clip, .. } = self.settings;
        let rate = rate * course.factor(progress.step, self.settings.warmup(), steps);
        let step = LearningStep {
            number: progress.step - progress.skipped,
            rate: rate as f32,
            decay: decay as f32,
            beta1: beta1 as f32,
            beta2: beta2 as f32,
            epsilon: epsilon as f32,
            clip: (clip / (norm + 1e-6)).min(1.0) as f32,
        };
        self.learner.step(&step, |_| 1.0)?;
        Ok(Some((costs, norm, rate, tokens)))
    }

    /// The examples of step `step`, from 0: each epoch in its own order, one after the other.
    fn examples(&self, step: u64) -> Result<Vec<Example>> {
        let len = self.corpus.len() as u64;
        let first = step * self.settings.batch as u64;
        (first..first + self.settings.batch as u64).map(|at| self.corpus.example(at / len, (at % len) as usize)).collect()
    }

    /// Runs all parts of some examples.
    fn costs_of(&mut self, examples: &[Example], seed: u64, learns: bool) -> Result<Costs> {
        let made = if learns { &self.learning } else { &self.evaluating };
        let (mut sums, asked) = (Sums::default(), Asked::of(examples));
        for Part { batch, lesson } in parts(examples, asked, self.settings.part_tokens, seed, self.pairs) {
            let costs = self.learner.run(&made.graph, &made.losses, &batch, &lesson)?;
            sums.add(&costs, &lesson.targets);
        }
        Ok(sums.costs(asked, self.pairs))
    }

    fn evaluate_now(&mut self, out: &Path, progress: &mut Progress, watch: &mut dyn FnMut(Event) -> Result<()>) -> Result<()> {
        let Some(costs) = self.evaluate()? else { return Ok(()) };
        let best = progress.best.is_none_or(|best| costs.total() < best);
        if best {
            progress.best = Some(costs.total());
            self.companions.write(&out.join("best"), &self.model, &self.learner)?;
        }
        watch(Event::Evaluated { step: progress.step, costs, perplexity: costs.masked_loss.exp(), best })
    }

    /// What held-out examples cost, the same ones each time; `None` where there are none.
    ///
    /// # Errors
    /// As [`Pretraining::run`].
    pub fn evaluate(&mut self) -> Result<Option<Costs>> {
        let Some(held_out) = &self.held_out else { return Ok(None) };
        let count = held_out.len().min(self.settings.evaluate_on);
        let examples: Vec<Example> = (0..count).map(|i| held_out.example(0, i)).collect::<Result<_>>()?;
        self.costs_of(&examples, 0, false).map(Some)
    }

    /// The settings that decide what a run learns, a line each.
    fn fingerprint(&self) -> String {
        let (run, asks, shards) = (&self.settings, self.corpus.settings(), self.corpus.shards());
        let learning = match asks.learning {
            Asks::Masked(scheme) => scheme.name,
            Asks::LeftToRight => "left_to_right",
        };
        let preset = if self.begun { run.preset.name } else { "none, but a model" };
        let lines = [
            ("documents", shards.documents().to_string()),
            ("sentences", shards.sentences().to_string()),
            ("tokens", shards.tokens().to_string()),
            ("preset", preset.to_owned()),
            ("steps", run.steps.to_string()),
            ("batch", run.batch.to_string()),
            ("part_tokens", run.part_tokens.to_string()),
            ("rate", run.rate.to_string()),
            ("warmup", run.warmup().to_string()),
            ("course", format!("{:?}", run.course)),
            ("decay", run.decay.to_string()),
            ("beta1", run.beta1.to_string()),
            ("beta2", run.beta2.to_string()),
            ("epsilon", run.epsilon.to_string()),
            ("clip", run.clip.to_string()),
            ("dropout", format!("{:?}", run.dropout)),
            ("seed", run.seed.to_string()),
            ("sequences", asks.sequences.name.to_owned()),
            ("learning", learning.to_owned()),
            ("max_length", asks.max_length.to_string()),
            ("short_share", format!("{:?}", asks.short_share)),
            ("rates", format!("{:?}", asks.rates)),
            ("phrases", format!("{:?}", asks.phrases)),
            ("data_seed", asks.seed.to_string()),
        ];
        lines.map(|(name, value)| format!("{name} = {value}")).join("\n")
    }
}

/// Sums of what rows cost.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    losses: [f64; 2],
    right: [f64; 2],
}

impl Sums {
    fn add(&mut self, costs: &[Vec<Cost>], targets: &[Target]) {
        for (i, (rows, target)) in costs.iter().zip(targets).enumerate().take(2) {
            let Target::Classes { classes, .. } = target else { continue };
            for (cost, _) in rows.iter().zip(classes).filter(|(_, class)| **class != UNLABELLED) {
                self.losses[i] += f64::from(cost.loss);
                self.right[i] += f64::from(u8::from(cost.right));
            }
        }
    }

    fn costs(&self, asked: Asked, pairs: bool) -> Costs {
        let mean = |sum: f64, count: usize| sum / count.max(1) as f64;
        Costs {
            masked_loss: mean(self.losses[0], asked.tokens),
            masked_accuracy: mean(self.right[0], asked.tokens),
            pair_loss: pairs.then(|| mean(self.losses[1], asked.pairs)),
            pair_accuracy: pairs.then(|| mean(self.right[1], asked.pairs)),
        }
    }
}

/// Dropout as config.json says, or the settings.
fn rates(config: &Value, settings: &PretrainSettings) -> Rates {
    let said = |names: &[&str]| names.iter().find_map(|name| config[*name].as_f64()).unwrap_or(0.0);
    let hidden = said(&["hidden_dropout_prob", "dropout", "resid_pdrop"]);
    let attention = said(&["attention_probs_dropout_prob", "attention_dropout", "attn_pdrop"]);
    Rates { hidden: settings.dropout.unwrap_or(hidden) as f32, attention: settings.dropout.unwrap_or(attention) as f32 }
}

/// Whether the model has positions, tokens and segments for the corpus's sequences.
fn check_fits(model: &Learnable, corpus: &Corpus) -> Result<()> {
    let (sizes, longest) = (model.sizes(), corpus.settings().max_length);
    if longest > sizes.positions {
        let told = format!("max_length {longest}: the model has positions for {} tokens", sizes.positions);
        return fail(ErrorKind::InvalidArgument, told);
    }
    let vocabulary = corpus.shards().vocabulary();
    if vocabulary > sizes.vocabulary {
        let told = format!("the tokenizer has {vocabulary} tokens, the model {}: they do not belong together", sizes.vocabulary);
        return fail(ErrorKind::InvalidArgument, told);
    }
    Ok(())
}
