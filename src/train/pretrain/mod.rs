//! How does a model learn a language from text?
//!
//! A [`Corpus`] gives examples by number; a step packs some of them (`lessons`) and runs the graph that `engine::gradient` made of the model's
//! own. [`Pretraining`] is what a run of `train::run` learns: that moves the weights, evaluates, and writes checkpoints and the model.

mod lessons;
pub mod preset;
mod settings;

use std::path::Path;
use std::sync::atomic::AtomicBool;

use super::examples::Learning as Asks;
use super::run::folder::Companions;
use super::run::settings::written;
use super::run::{DEVIATION, Evaluation, Event, Figures, Made, Run, Subject, Write, learn, rates};
use super::team::Team;
use super::{Corpus, Example};
use crate::engine::cpu::Learner;
use crate::engine::gradient::{Goal, evaluating};
use crate::engine::graph::{Loss, Span, ValueId};
use crate::engine::lesson::{Cost, Target, UNLABELLED};
use crate::error::{ErrorKind, Result, fail};
use crate::formats::{Source, Weights, huggingface};
use crate::model::heads::Kind;
use crate::model::{Fresh, Learnable};
use lessons::{Asked, Part, parts};
pub use settings::PretrainSettings;

/// A model being pretrained.
pub struct Pretraining {
    run: Run<Masked>,
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
        let model =
            Learnable::new(&config, weights, Fresh { seed: settings.run.seed, deviation, heads: kinds.clone(), ..Fresh::default() })?;
        check_fits(&model, &corpus)?;
        let rates = rates(&config, settings.run.dropout);
        let (mut graph, values) = model.graph(&kinds)?;
        if matches!(corpus.settings().learning, Asks::LeftToRight) {
            graph = graph.looking(Span { after: 0, ..Span::ALL });
        }
        let goal = |(target, value): (usize, &ValueId)| Goal { value: *value, loss: Loss::CrossEntropy, target };
        let goals: Vec<Goal> = values.iter().enumerate().map(goal).collect();
        let learning = learn(&model, &graph, &goals, rates, &settings.run)?;
        let mut companions = Companions::new(config, tokenizer)?;
        companions.name_class(if pairs { "ForPreTraining" } else { "ForMaskedLM" });
        let evaluating = evaluating(&graph, &goals).into();
        let preset = if from.is_none() { settings.preset.name } else { "none, but a model" };
        let PretrainSettings { evaluate_on, run, .. } = settings;
        let subject =
            Masked { learning, evaluating, corpus, held_out, evaluate_on, part_tokens: run.part_tokens, batch: run.batch, pairs, preset };
        Ok(Pretraining { run: Run::new(subject, model, companions, run)? })
    }

    /// Names of tensors that were made, since the checkpoint lacked them.
    pub fn made(&self) -> &[String] {
        self.run.model.made()
    }

    /// Runs to the last step, or until `stop` in one of the team; either way ends with a checkpoint and the model in `out`. `resume` takes up the last
    /// checkpoint there.
    ///
    /// # Errors
    /// `Io` where files cannot be written, `NonFinite` after too many steps in a row whose numbers were not finite, and as [`Pretraining::new`].
    pub fn run(
        &mut self,
        out: &Path,
        resume: bool,
        team: &Team,
        stop: &AtomicBool,
        watch: &mut dyn FnMut(Event) -> Result<()>,
    ) -> Result<()> {
        self.run.run(out, resume, team, stop, watch).map(|_| ())
    }
}

/// Hidden tokens, and labels of pairs of texts.
struct Masked {
    learning: Made,
    evaluating: Made,
    corpus: Corpus,
    held_out: Option<Corpus>,
    evaluate_on: usize,
    part_tokens: usize,
    batch: usize,
    /// Whether examples are pairs with a label.
    pairs: bool,
    /// The size of a model from nothing.
    preset: &'static str,
}

impl Subject for Masked {
    fn learn(&mut self, learner: &mut Learner, team: &Team, step: u64, seed: u64) -> Result<(Figures, u64)> {
        let examples = self.examples(step)?;
        let figures = self.figures(learner, team, &examples, seed, true)?;
        Ok((figures, examples.iter().map(|e| e.ids.len() as u64).sum()))
    }

    /// The same held-out examples each time.
    fn evaluate(&mut self, learner: &mut Learner, team: &Team, _: Write<'_>) -> Result<Option<Evaluation>> {
        let Some(held_out) = &self.held_out else { return Ok(None) };
        let count = held_out.len().min(self.evaluate_on);
        let examples: Vec<Example> = (0..count).map(|i| held_out.example(0, i)).collect::<Result<_>>()?;
        let mut figures = self.figures(learner, team, &examples, 0, false)?;
        figures.named.extend(figures.get("masked_loss").map(|loss| ("perplexity".into(), loss.exp())));
        Ok(Some(Evaluation { merit: -figures.loss, figures }))
    }

    fn fingerprint(&self) -> String {
        let (asks, shards) = (self.corpus.settings(), self.corpus.shards());
        let learning = match asks.learning {
            Asks::Masked(scheme) => scheme.name,
            Asks::LeftToRight => "left_to_right",
        };
        written(&[
            ("documents", shards.documents().to_string()),
            ("sentences", shards.sentences().to_string()),
            ("tokens", shards.tokens().to_string()),
            ("preset", self.preset.to_owned()),
            ("sequences", asks.sequences.name.to_owned()),
            ("learning", learning.to_owned()),
            ("max_length", asks.max_length.to_string()),
            ("short_share", format!("{:?}", asks.short_share)),
            ("rates", format!("{:?}", asks.rates)),
            ("phrases", format!("{:?}", asks.phrases)),
            ("data_seed", asks.seed.to_string()),
        ])
    }
}

impl Masked {
    /// The examples of step `step`, from 0: each epoch in its own order, one after the other.
    fn examples(&self, step: u64) -> Result<Vec<Example>> {
        let len = self.corpus.len() as u64;
        let first = step * self.batch as u64;
        (first..first + self.batch as u64).map(|at| self.corpus.example(at / len, (at % len) as usize)).collect()
    }

    /// Runs all parts of this process's share of some examples.
    fn figures(&self, learner: &mut Learner, team: &Team, examples: &[Example], seed: u64, learns: bool) -> Result<Figures> {
        let made = if learns { &self.learning } else { &self.evaluating };
        let (mut sums, asked) = (Sums::default(), Asked::of(examples));
        for Part { batch, lesson } in parts(examples, team.share(examples.len()), asked, self.part_tokens, seed, self.pairs) {
            let costs = learner.run(&made.graph, &made.losses, &batch, &lesson)?;
            sums.add(&costs, &lesson.targets);
        }
        team.sum(&mut sums.losses);
        team.sum(&mut sums.right);
        Ok(sums.figures(asked, self.pairs))
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

    fn figures(&self, asked: Asked, pairs: bool) -> Figures {
        let mean = |sum: f64, count: usize| sum / count.max(1) as f64;
        let mut named = vec![("masked_loss", mean(self.losses[0], asked.tokens)), ("masked_accuracy", mean(self.right[0], asked.tokens))];
        if pairs {
            named.push(("pair_loss", mean(self.losses[1], asked.pairs)));
            named.push(("pair_accuracy", mean(self.right[1], asked.pairs)));
        }
        Figures::of(named.iter().step_by(2).map(|(_, loss)| loss).sum(), named)
    }
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
