//! How does a model learn a task from examples?
//!
//! Labelled files (`labelled`) -> [`Example`]s of a task ([`task`]; `read`) -> packed parts of a step with what is right for them (`examples`) -> the
//! graph that `engine::gradient` made of the model's own with the task's head, losses of one row or of many (`judges`, `vectors`). A run of
//! `train::run` moves the weights; each evaluation asks the written model itself (`evaluate`), so that what is measured is what will be served.

mod chains;
mod compared;
pub mod data;
mod examples;
mod head;
pub mod judges;
mod read;
pub mod readers;
mod relations;
mod settings;
pub mod task;
mod teacher;
pub mod vectors;

use std::cell::RefCell;
use std::path::Path;

use super::Permutation;
use super::evaluate::evaluate;
use super::run::folder::Companions;
use super::run::settings::written;
use super::run::{DEVIATION, Evaluation, Event, Figures, Made, Run, Subject, Write, learn, rates};
use super::team::Team;
use crate::engine::cpu::Learner;
use crate::engine::gradient::Goal;
use crate::error::{ErrorKind, Result, fail};
use crate::formats::{Folder, Source, huggingface};
use crate::model::pooling::{Pooling, PoolingModule};
use crate::model::{Fresh, Learnable};
use crate::tasks::{Cancel, Model, Options, Request, tokenizer_of};
pub use data::Data;
use examples::{Example, Part, Targets};
use relations::Relations;
pub use settings::{ClassWeights, FinetuneSettings};
pub use task::{Problem, TASKS, Task};
use vectors::VectorLoss;

/// A model being fine-tuned.
pub struct Finetuning {
    run: Run<Tuned>,
    left_out: Vec<String>,
}

impl Finetuning {
    /// A run of the model in the folder or file `from` over `data`, tried on `held_out`; `teacher` is a model that was fine-tuned for the same labels.
    ///
    /// # Errors
    /// As opening a model; `Unsupported` for a family that has no head for the task, or does not learn; `InvalidArgument` for settings that do
    /// not fit the data, or sequences longer than the model has positions; `InvalidFile` naming file and line of an example that does not fit.
    pub fn new(
        from: &Path,
        task: &'static Task,
        data: &Data,
        held_out: Option<Data>,
        teacher: Option<&Model>,
        settings: FinetuneSettings,
    ) -> Result<Finetuning> {
        let source = Source::open(from)?;
        let folder = huggingface::open(&source)?;
        let tokenizer = tokenizer_of(&folder).map_err(|e| e.within(source.describe()))?;
        let Folder { mut config, weights, sentence, dir, .. } = folder;
        let problem = task.problem;
        if problem == Problem::Embed {
            vectors::check_pools(&sentence)?;
        }
        let (labels, same) = head::in_order(&config, problem, data.labels(problem, held_out.as_ref())?);
        let deviation = config["initializer_range"].as_f64().unwrap_or(DEVIATION) as f32;
        let fresh = Fresh {
            seed: settings.run.seed,
            deviation,
            heads: problem.head().into_iter().collect(),
            labels: problem.outputs(&labels),
            anew: !same,
            alone: true,
        };
        head::describe(&mut config, problem, &labels);
        let mut model = Learnable::new(&config, weights, fresh.clone())?;
        if settings.lora_rank > 0 {
            model.adapt(settings.lora_rank, (settings.lora_alpha / settings.lora_rank as f64) as f32, &fresh);
        }
        let modes = match problem {
            Problem::Embed => PoolingModule::read(sentence.pooling.as_ref(), model.sizes().hidden)?.modes,
            _ => Vec::new(),
        };
        let width = model.sizes().hidden * modes.len();
        if let Some(length) = settings.lengths.iter().find(|length| problem == Problem::Embed && **length > width) {
            let told = format!("`lengths = {length}`: the model's vectors have {width} numbers");
            return fail(ErrorKind::InvalidArgument, told);
        }
        let (crf, relations) = put_beside(&mut model, problem, data, width, &settings)?;
        let told_apart = if relations.is_empty() { &labels } else { &relations };
        let limit =
            read::limit(&tokenizer, model.sizes().positions, sentence.max_seq_length.filter(|_| problem == Problem::Embed), &settings)?;
        let reading =
            read::Reading { problem, labels: told_apart, tokenizer: &tokenizer, limit, settings: &settings, left_out: RefCell::default() };
        let mut examples = read::examples(data, &reading)?;
        let left_out = reading.left_out.take();
        if let Some(teacher) = teacher {
            teacher::teach(teacher, data, &labels, &mut examples)?;
        }
        let run = settings.run_of(examples.len())?;
        let targets = Targets { crf, unit: sentence.normalize, ..Targets::new(problem, told_apart.len(), &examples, settings.clone())? };
        if targets.compares_all() && run.batch < 2 {
            return fail(ErrorKind::InvalidArgument, "`batch = 1`: `vector_loss = contrast` compares each text with the others of a batch");
        }
        let learning = learns(&model, problem, (&targets, &modes), &config, &settings)?;
        let mut companions = Companions::new(config, &source, &dir)?;
        if problem == Problem::Embed {
            vectors::companions(&mut companions, (&source, &dir), &sentence, model.sizes().hidden)?;
        }
        let subject = Tuned { learning, examples, held_out, task, targets, run: run.clone() };
        Ok(Finetuning { run: Run::new(subject, model, companions, run)?, left_out })
    }

    /// Names of tensors that were made: the task's head, where the checkpoint has none for these labels.
    pub fn made(&self) -> &[String] {
        self.run.model.made()
    }

    /// Examples that the model cannot read, and why.
    pub fn left_out(&self) -> &[String] {
        &self.left_out
    }

    /// How many examples there are to learn from, and how many steps they make.
    pub fn size(&self) -> (usize, u64) {
        (self.run.subject.examples.len(), self.run.subject.run.steps)
    }

    /// Runs to the last step, to as many evaluations without gain as the settings allow, or until `stop` in one of the team; ends with a checkpoint and the model in
    /// `out`. `resume` takes up the last checkpoint there. Returns the best evaluation, where there was one.
    ///
    /// # Errors
    /// `Io` where files cannot be written, `NonFinite` after too many steps in a row whose numbers were not finite, and as [`Finetuning::new`].
    pub fn run(
        &mut self,
        out: &Path,
        resume: bool,
        team: &Team,
        stop: &Cancel,
        watch: &mut dyn FnMut(Event) -> Result<()>,
    ) -> Result<Option<f64>> {
        if team.size() > 1 && self.run.subject.targets.compares_all() {
            let told = "`vector_loss = contrast` compares each text with all of a batch, which several processes divide: run it in one, or say `vector_loss = cosine` or `vector_loss = triplet`";
            return fail(ErrorKind::InvalidArgument, told);
        }
        self.run.run(out, resume, team, stop, watch)
    }
}

/// Puts the weights of the task's judge beside the model: whether tags follow each other, and which relations vectors have.
fn put_beside(
    model: &mut Learnable,
    problem: Problem,
    data: &Data,
    width: usize,
    settings: &FinetuneSettings,
) -> Result<(bool, Vec<String>)> {
    let crf = problem == Problem::Tag && settings.crf.unwrap_or(model.has_crf());
    if crf {
        model.put_crf_beside(settings.crf_factor as f32)?;
    }
    if problem != Problem::Embed || settings.vector_loss != VectorLoss::Relation {
        return Ok((crf, Vec::new()));
    }
    let relations = data.relations()?;
    let weights = Relations::weights(relations.len(), width);
    let zeros: Vec<Vec<f32>> = weights.iter().map(|(_, shape)| vec![0.0; shape.iter().product()]).collect();
    let tensors: Vec<_> = weights.into_iter().zip(&zeros).map(|((name, shape), zeros)| (name, shape, &zeros[..])).collect();
    model.put_beside(&tensors, 1.0, false)?;
    Ok((crf, relations))
}

/// The graph that learns the task.
fn learns(
    model: &Learnable,
    problem: Problem,
    (targets, pooling): (&Targets, &[Pooling]),
    config: &serde_json::Value,
    settings: &FinetuneSettings,
) -> Result<Made> {
    let (graph, value) = match problem.head() {
        Some(kind) => {
            let (graph, values) = model.graph(&[kind])?;
            (graph, values[0])
        }
        None => model.vectors(pooling)?,
    };
    let loss = targets.loss();
    let mut rates = rates(config, settings.run.dropout);
    rates.head = problem.head_dropout().map_or(0.0, |fields| {
        let said = fields.iter().find_map(|field| config[*field].as_f64()).map_or(rates.hidden, |rate| rate as f32);
        settings.run.dropout.map_or(said, |rate| rate as f32)
    });
    learn(model, &graph, &[Goal { own: model.quick().0, ..Goal::of(value, loss, 0) }], rates, &settings.run)
}

/// Examples of a task.
struct Tuned {
    learning: Made,
    examples: Vec<Example>,
    held_out: Option<Data>,
    task: &'static Task,
    targets: Targets,
    run: super::run::RunSettings,
}

impl Subject for Tuned {
    fn learn(&mut self, learner: &mut Learner, team: &Team, step: u64, seed: u64) -> Result<(Figures, u64)> {
        let examples = self.of_step(step);
        let mut sums = [0f64; 2];
        for Part { batch, lesson } in self.targets.parts(&examples, team.share(examples.len()), self.run.part_tokens, seed) {
            let rows = learner.run(&self.learning.graph, &self.learning.losses, &batch, &lesson)?;
            sums[0] += rows[0].iter().map(|cost| f64::from(cost.loss)).sum::<f64>();
            sums[1] += rows[0].iter().filter(|cost| cost.right).count() as f64;
        }
        team.sum(&mut sums);
        let costs = examples.iter().map(|example| self.targets.weight(example)).sum::<f64>();
        let loss = sums[0] / costs.max(f64::MIN_POSITIVE);
        let tokens = examples.iter().map(|example| example.tokens() as u64).sum();
        let mut named = vec![("loss", loss)];
        if self.targets.tells_right() {
            named.push(("right", sums[1] / costs.max(1.0)));
        }
        Ok((Figures::of(loss, named), tokens))
    }

    /// The first process asks the model; the others are told how good it is.
    fn evaluate(&mut self, learner: &mut Learner, team: &Team, write: Write<'_>, stop: &Cancel) -> Result<Option<Evaluation>> {
        let Some(held_out) = &self.held_out else { return Ok(None) };
        // How good it is, and whether it was stopped before that was known.
        let mut told = [0.0, 0.0];
        let mut figures = Figures::default();
        if team.leads() {
            let model = Model::load(write(learner)?, &Options { threads: self.run.threads, ..Options::default() })?;
            let request = Request { max_tokens: self.targets.settings.max_length, cancel: Some(stop.clone()), ..Request::default() };
            match evaluate(&model, self.task, held_out, &request) {
                Err(e) if e.kind() == ErrorKind::Cancelled => told[1] = 1.0,
                outcome => figures = outcome?.figures,
            }
            // Where a task has several kinds of data, the first figure is the one that counts.
            told[0] = figures.get(self.task.merit).or(figures.named.first().map(|(_, first)| *first)).unwrap_or(f64::NAN);
        }
        team.sum(&mut told);
        Ok((told[1] == 0.0).then_some(Evaluation { figures, merit: told[0] }))
    }

    fn fingerprint(&self) -> String {
        let settings = &self.targets.settings;
        let tokens: usize = self.examples.iter().map(Example::tokens).sum();
        written(&[
            ("task", self.task.name.to_owned()),
            ("examples", self.examples.len().to_string()),
            ("tokens", tokens.to_string()),
            ("class_weights", format!("{:?}", settings.class_weights)),
            ("rank_loss", format!("{:?}", settings.rank_loss)),
            ("vector_loss", format!("{:?}", settings.vector_loss)),
            ("scale", settings.scale.to_string()),
            ("margin", settings.margin.to_string()),
            ("lengths", format!("{:?}", settings.lengths)),
            ("negatives", settings.negatives.to_string()),
            ("crf", if self.targets.crf { settings.crf_factor.to_string() } else { "none".to_owned() }),
            (
                "teacher",
                if self.targets.taught { format!("{} {}", settings.teacher_share, settings.temperature) } else { "none".to_owned() },
            ),
        ])
    }
}

impl Tuned {
    /// The examples of step `step`, from 0: each epoch in its own order, its last step may have fewer.
    fn of_step(&self, step: u64) -> Vec<&Example> {
        let (count, batch) = (self.examples.len(), self.run.batch);
        let epoch_steps = count.div_ceil(batch) as u64;
        let order = Permutation::new(count, self.run.seed, step / epoch_steps);
        let first = (step % epoch_steps) as usize * batch;
        (first..count.min(first + batch)).map(|place| &self.examples[order.at(place)]).collect()
    }
}
