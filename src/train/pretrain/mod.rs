//! How does a model learn a language from text?
//!
//! A [`Corpus`] gives examples by number (`supply`); a step packs some of them (`lessons`) and runs the graph that `engine::gradient` made of the
//! model's own, with a loss for each question that the objective asks ([`questions`]): of one model (`asking`), or of two that learn together
//! (`replaced`). [`Pretraining`] is what a run of `train::run` learns: that moves the weights, evaluates, and writes checkpoints and the model.

pub(super) mod asking;
pub(super) mod lessons;
pub mod preset;
pub mod questions;
mod replaced;
mod settings;
pub(super) mod supply;

use std::path::Path;

use serde_json::Value;

use super::Corpus;
use super::examples::Learning as Asks;
use super::run::folder::Companions;
use super::run::{Beside, DEVIATION, Event, Run, RunSettings, learn, rates};
use super::team::Team;
use crate::engine::Graph;
use crate::engine::gradient::{Goal, Rates, evaluating};
use crate::engine::graph::{Span, ValueId};
use crate::error::{ErrorKind, Result, fail};
use crate::formats::{Source, Weights, huggingface};
use crate::model::heads::Kind;
use crate::model::{Fresh, Learnable, config};
use crate::tasks::Cancel;
use asking::{Ask, Asking, Graphs, OverText};
use questions::{BOUNDARY, MASKED, NEXT_TOKEN, PAIR, Question, REPLACED};
use replaced::Replacing;
pub use settings::PretrainSettings;
use supply::Supply;

/// A model being pretrained.
pub struct Pretraining {
    run: Run<OverText<Box<dyn Ask>>>,
}

impl Pretraining {
    /// A run over `corpus`, tried on `held_out`: of the model in `from`, or of one from nothing with the tokenizer in `tokenizer`.
    ///
    /// # Errors
    /// As opening a model; `Unsupported` for a family that lacks the heads that the objective asks for, or does not learn; `InvalidArgument` for
    /// sequences longer than the model has positions.
    pub fn new(
        from: Option<&Source>,
        tokenizer: &Source,
        corpus: Corpus,
        held_out: Option<Corpus>,
        settings: PretrainSettings,
    ) -> Result<Pretraining> {
        let (config, weights) = match from {
            Some(source) => {
                let folder = huggingface::open(source)?;
                (folder.config, folder.weights)
            }
            None => (settings.preset.config(corpus.shards().vocabulary(), corpus.padding()), Weights::default()),
        };
        let preset = if from.is_none() { settings.preset.name } else { "none, but a model" };
        let told = vec![("preset", preset.to_owned()), ("objective", settings.objective.name.to_owned())];
        let supply = Supply { corpus, held_out, evaluate_on: settings.evaluate_on, batch: settings.run.batch };
        let begun = Begun { config, weights, tokenizer, supply, told, settings };
        let run = if begun.settings.objective.replaced { begun.replacing()? } else { begun.asking()? };
        Ok(Pretraining { run })
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
    pub fn run(&mut self, out: &Path, resume: bool, team: &Team, stop: &Cancel, watch: &mut dyn FnMut(Event) -> Result<()>) -> Result<()> {
        self.run.run(out, resume, team, stop, watch).map(|_| ())
    }
}

/// What a run begins with.
struct Begun<'a> {
    config: Value,
    weights: Weights,
    tokenizer: &'a Source,
    supply: Supply,
    told: Vec<(&'static str, String)>,
    settings: PretrainSettings,
}

impl Begun<'_> {
    /// The questions of one model.
    fn asking(self) -> Result<Run<OverText<Box<dyn Ask>>>> {
        let Begun { config, weights, tokenizer, supply, told, settings } = self;
        let asks = supply.corpus.settings();
        let left_to_right = matches!(asks.learning, Asks::LeftToRight);
        let mut questions = vec![of_tokens(&config, left_to_right)?];
        if settings.objective.boundary {
            if !matches!(asks.learning, Asks::Masked(scheme) if scheme.spans) {
                return fail(ErrorKind::InvalidArgument, "`objective = span_boundary` asks about spans: use `learning = span`");
            }
            questions.push(BOUNDARY);
        }
        questions.extend(asks.sequences.pairs().then_some(PAIR));
        let kinds: Vec<Kind> = questions.iter().map(|question| question.kind).collect();
        let model = fresh(&config, weights, settings.run.seed, &kinds)?;
        supply.check_fits(&model)?;
        let (mut graph, values) = model.graph(&kinds)?;
        if left_to_right {
            graph = graph.looking(Span { after: 0, ..Span::ALL });
        }
        let graphs = graphs(&model, (&graph, &values), &questions, rates(&config, settings.run.dropout), &settings.run)?;
        let mut companions = Companions::new(config, tokenizer, "")?;
        companions.name_class(&kinds);
        let part_tokens = settings.run.part_tokens;
        let ask: Box<dyn Ask> = Box::new(Asking { graphs, questions, part_tokens });
        let subject = OverText { ask, supply, told };
        Run::new(subject, model, companions, settings.run)
    }

    /// A discriminator and its generator.
    fn replacing(self) -> Result<Run<OverText<Box<dyn Ask>>>> {
        let Begun { config, weights, tokenizer, supply, mut told, settings } = self;
        if matches!(supply.corpus.settings().learning, Asks::LeftToRight) {
            return fail(
                ErrorKind::InvalidArgument,
                "`objective = replaced` fills hidden tokens: use another `learning` than left_to_right",
            );
        }
        let smaller = replaced::generator(&config, settings.generator_size)?;
        told.push(("generator_size", settings.generator_size.to_string()));
        let mut model = fresh(&config, weights, settings.run.seed, &[Kind::Replaced])?;
        let mut generator = fresh(&smaller, Weights::default(), settings.run.seed.wrapping_add(1), &[Kind::FillMask])?;
        supply.check_fits(&model)?;
        model.join(&mut generator, replaced::SHARED)?;
        let of = |model: &Learnable, config: &Value, question: Question| {
            let (graph, values) = model.graph(&[question.kind])?;
            graphs(model, (&graph, &values), &[question], rates(config, settings.run.dropout), &settings.run)
        };
        let discriminator = of(&model, &config, REPLACED)?;
        let generator_graphs = of(&generator, &smaller, MASKED)?;
        let ask: Box<dyn Ask> = Box::new(Replacing { generator: generator_graphs, discriminator, part_tokens: settings.run.part_tokens });
        let subject = OverText { ask, supply, told };
        let mut companions = [Companions::new(config, tokenizer, "")?, Companions::new(smaller, tokenizer, "")?];
        companions[0].name_class(&[Kind::Replaced]);
        companions[1].name_class(&[Kind::FillMask]);
        let [own, of_generator] = companions;
        let mut run = Run::new(subject, model, own, settings.run)?;
        run.beside = Some(Beside { folder: "generator", model: generator, companions: of_generator });
        Ok(run)
    }
}

/// The question about tokens that the family's head answers.
fn of_tokens(config: &Value, left_to_right: bool) -> Result<Question> {
    let family = config["model_type"].as_str().unwrap_or_default();
    let has = |kind| config::heads(family).iter().any(|(known, answered)| *known == kind && *answered);
    if has(Kind::FillMask) || !has(Kind::NextToken) {
        return Ok(MASKED);
    }
    if !left_to_right {
        let told =
            format!("models of family {family} see no token behind another: use `learning = left_to_right` and `sequences = single`");
        return fail(ErrorKind::InvalidArgument, told);
    }
    Ok(NEXT_TOKEN)
}

/// A model with these heads, made where the checkpoint lacks them.
pub(super) fn fresh(config: &Value, weights: Weights, seed: u64, kinds: &[Kind]) -> Result<Learnable> {
    let deviation = config["initializer_range"].as_f64().unwrap_or(DEVIATION) as f32;
    Learnable::new(config, weights, Fresh { seed, deviation, heads: kinds.to_vec(), ..Fresh::default() })
}

/// The graphs that ask `questions` of `values`.
fn graphs(
    model: &Learnable,
    (graph, values): (&Graph, &[ValueId]),
    questions: &[Question],
    rates: Rates,
    settings: &RunSettings,
) -> Result<Graphs> {
    let pairs = values.iter().zip(questions).enumerate();
    let goals: Vec<Goal> = pairs.map(|(target, (value, question))| Goal::of(*value, question.loss, target)).collect();
    graphs_of(model, graph, &goals, rates, settings)
}

/// A graph that learns by `goals`, and one that only tries.
pub(super) fn graphs_of(model: &Learnable, graph: &Graph, goals: &[Goal], rates: Rates, settings: &RunSettings) -> Result<Graphs> {
    let learning = learn(model, graph, goals, rates, settings)?;
    Ok(Graphs { learning, evaluating: evaluating(graph, goals).into() })
}
