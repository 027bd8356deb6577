//! How does a model learn a task from examples?
//!
//! Labelled files (`labelled`) -> [`Example`]s of a task ([`task`]; `read`) -> packed parts of a step with what is right for them (`examples`) -> the
//! graph that `engine::gradient` made of the model's own with the task's head, losses of one row or of many (`judges`, `vectors`). A run of
//! `train::run` moves the weights; each evaluation asks the written model itself (`evaluate`), so that what is measured is what will be served.

mod compared;
pub mod data;
mod examples;
mod head;
pub mod judges;
mod read;
pub mod readers;
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
use crate::formats::{Source, huggingface};
use crate::model::pooling::Pooling;
use crate::model::{Fresh, Learnable};
use crate::tasks::{Cancel, Model, Options, Request};
pub use data::Data;
use examples::{Example, Part, Targets};
pub use settings::{ClassWeights, FinetuneSettings};
pub use task::{Problem, TASKS, Task};

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
        let tokenizer = super::open_tokenizer(from)?;
        let folder = huggingface::open(&source)?;
        let (mut config, problem) = (folder.config, task.problem);
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
        let mut model = Learnable::new(&config, folder.weights, fresh.clone())?;
        if settings.lora_rank > 0 {
            model.adapt(settings.lora_rank, (settings.lora_alpha / settings.lora_rank as f64) as f32, &fresh);
        }
        let limit = read::limit(&tokenizer, model.sizes().positions, &settings)?;
        let reading =
            read::Reading { problem, labels: &labels, tokenizer: &tokenizer, limit, settings: &settings, left_out: RefCell::default() };
        let mut examples = read::examples(data, &reading)?;
        let left_out = reading.left_out.take();
        if let Some(teacher) = teacher {
            teacher::teach(teacher, data, &labels, &mut examples)?;
        }
        let run = settings.run_of(examples.len())?;
        let targets = Targets::new(problem, labels.len(), &examples, settings.clone())?;
        if targets.compares_all() && run.batch < 2 {
            return fail(ErrorKind::InvalidArgument, "`batch = 1`: `vector_loss = contrast` compares each text with the others of a batch");
        }
        if let Some(length) = settings.lengths.iter().find(|length| **length > model.sizes().hidden) {
            let told = format!("`lengths = {length}`: the model's vectors have {} numbers", model.sizes().hidden);
            return fail(ErrorKind::InvalidArgument, told);
        }
        let learning = learns(&model, problem, &targets, &config, &settings)?;
        let mut companions = Companions::new(config, &source)?;
        if problem == Problem::Embed {
            vectors::companions(&mut companions, &source, model.sizes().hidden)?;
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

/// The graph that learns the task.
fn learns(model: &Learnable, problem: Problem, targets: &Targets, config: &serde_json::Value, settings: &FinetuneSettings) -> Result<Made> {
    let (graph, value) = match problem.head() {
        Some(kind) => {
            let (graph, values) = model.graph(&[kind])?;
            (graph, values[0])
        }
        None => model.vectors(&[Pooling::Mean])?,
    };
    let loss = targets.loss();
    let mut rates = rates(config, settings.run.dropout);
    rates.head = problem.head_dropout().map_or(0.0, |fields| {
        let said = fields.iter().find_map(|field| config[*field].as_f64()).map_or(rates.hidden, |rate| rate as f32);
        settings.run.dropout.map_or(said, |rate| rate as f32)
    });
    learn(model, &graph, &[Goal { value, loss, target: 0 }], rates, &settings.run)
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
