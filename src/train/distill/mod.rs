//! How does a small model learn what a large one knows?
//!
//! Sanh et al., DistilBERT, a distilled version of BERT: smaller, faster, cheaper and lighter (2019): over unlabelled text with hidden tokens, the
//! student is brought towards the teacher's probabilities of them (at a temperature; Hinton et al., 2015), towards the tokens themselves, and towards
//! the direction of the teacher's last hidden states. The authors' script compares probabilities at every token or, as it may be told
//! (`restrict_ce_to_mask`), at hidden ones; here it is the hidden ones: every seventh token, so that neither model computes or keeps the
//! scores of a vocabulary for the others, and the places that the text itself says something about. A student begins as `student` says.

mod settings;
mod student;

use std::path::Path;
use std::sync::Arc;

use serde_json::Value;

use super::examples::Learning as Asks;
use super::pretrain::asking::{Ask, Graphs, OverText};
use super::pretrain::lessons::{Part, parts, shares};
use super::pretrain::questions::{MASKED, Question, Sums};
use super::pretrain::supply::Supply;
use super::pretrain::{fresh, graphs_of};
use super::run::folder::Companions;
use super::run::{Event, Figures, Run, rates};
use super::team::Team;
use super::{Corpus, Example};
use crate::engine::cpu::Learner;
use crate::engine::gradient::Goal;
use crate::engine::graph::Loss;
use crate::engine::lesson::{Lesson, Target};
use crate::engine::threads::default_threads;
use crate::engine::{Batch, Control, Engine, Graph};
use crate::error::{Error, ErrorKind, Result, fail};
use crate::formats::{Source, Weights, huggingface};
use crate::model::Learnable;
use crate::model::heads::Kind;
use crate::tasks::Cancel;
pub use settings::DistillSettings;
pub use student::every_other;

/// The teacher's probabilities of hidden tokens.
const SOFT: Question = Question { figures: ("soft_loss", None), targets: None, ..MASKED };

/// The direction of the last hidden state of every token.
const HIDDEN: Question =
    Question { loss: Loss::Cosine, figures: ("hidden_loss", None), asked: |example| example.ids.len(), targets: None, ..MASKED };

/// A student being taught.
pub struct Distilling {
    run: Run<OverText<Taught>>,
}

impl Distilling {
    /// A run over `corpus`, tried on `held_out`: of the student in `student`, or as the settings say.
    ///
    /// # Errors
    /// As opening models; `InvalidArgument` for a teacher without a head for blanks, or that does not fit its student or the corpus.
    pub fn new(
        teacher: &Source,
        student: Option<&Source>,
        tokenizer: &Source,
        corpus: Corpus,
        held_out: Option<Corpus>,
        settings: DistillSettings,
    ) -> Result<Distilling> {
        if matches!(corpus.settings().learning, Asks::LeftToRight) {
            return fail(ErrorKind::InvalidArgument, "a student is asked about hidden tokens: use another `learning` than left_to_right");
        }
        let taught = huggingface::open(teacher)?;
        let (begun, (config, weights)) = match (student, settings.preset) {
            (Some(source), _) => {
                let folder = huggingface::open(source)?;
                ("a model".to_owned(), (folder.config, folder.weights))
            }
            (None, Some(preset)) => {
                (preset.name.to_owned(), (preset.config(corpus.shards().vocabulary(), corpus.padding()), Weights::default()))
            }
            (None, None) => ("every other layer".to_owned(), student::every_other(&taught.config, taught.weights.clone())?),
        };
        let teacher = fresh(&taught.config, taught.weights, 0, &[Kind::FillMask])?;
        if let [first, ..] = teacher.made() {
            let told = format!("the teacher has no tensor {first:?}: it must have a head for blanks, as masked language models have");
            return fail(ErrorKind::InvalidArgument, told);
        }
        let model = fresh(&config, weights, settings.run.seed, &[Kind::FillMask])?;
        let supply = Supply { corpus, held_out, evaluate_on: settings.evaluate_on, batch: settings.run.batch };
        [&teacher, &model].into_iter().try_for_each(|model| supply.check_fits(model))?;
        let questions = questions(&settings, &teacher, &model)?;
        let parameters: usize = teacher.weights().iter().flat_map(|weight| &weight.tensors).map(|tensor| tensor.elements()).sum();
        let told = vec![
            ("teacher", format!("{} of {parameters} parameters", teacher.family())),
            ("student", begun),
            ("temperature", settings.temperature.to_string()),
            ("soft_weight", settings.soft_weight.to_string()),
            ("masked_weight", settings.masked_weight.to_string()),
            ("hidden_weight", settings.hidden_weight.to_string()),
        ];
        let subject = OverText { ask: Taught::new(&teacher, &model, &config, questions, &settings)?, supply, told };
        let mut companions = Companions::new(config, tokenizer, "")?;
        companions.name_class(&[Kind::FillMask]);
        Ok(Distilling { run: Run::new(subject, model, companions, settings.run)? })
    }

    /// Names of tensors of the student that were made.
    pub fn made(&self) -> &[String] {
        self.run.model.made()
    }

    /// As [`Pretraining::run`](super::pretrain::Pretraining::run).
    ///
    /// # Errors
    /// As there.
    pub fn run(&mut self, out: &Path, resume: bool, team: &Team, stop: &Cancel, watch: &mut dyn FnMut(Event) -> Result<()>) -> Result<()> {
        self.run.run(out, resume, team, stop, watch).map(|_| ())
    }
}

/// What is asked, with the settings' weights; questions of no weight are left out.
fn questions(settings: &DistillSettings, teacher: &Learnable, student: &Learnable) -> Result<Vec<Question>> {
    let loss = Loss::Distilled { temperature: settings.temperature as f32 };
    let all = [
        Question { loss, weight: settings.soft_weight, ..SOFT },
        Question { weight: settings.masked_weight, ..MASKED },
        Question { weight: settings.hidden_weight, ..HIDDEN },
    ];
    let asked: Vec<Question> = all.into_iter().filter(|question| question.weight > 0.0).collect();
    if asked.is_empty() {
        return fail(ErrorKind::InvalidArgument, "`soft_weight`, `masked_weight` and `hidden_weight` are all 0: there is nothing to learn");
    }
    let (of_teacher, of_student) = (teacher.sizes(), student.sizes());
    if of_teacher.vocabulary != of_student.vocabulary {
        let told =
            format!("the teacher has {} tokens, the student {}: they need one tokenizer", of_teacher.vocabulary, of_student.vocabulary);
        return fail(ErrorKind::InvalidArgument, told);
    }
    if settings.hidden_weight > 0.0 && of_teacher.hidden != of_student.hidden {
        let told = format!(
            "hidden states of the teacher have {} numbers, of the student {}: give `hidden_weight = 0`, or a student as wide",
            of_teacher.hidden, of_student.hidden
        );
        return fail(ErrorKind::InvalidArgument, told);
    }
    Ok(asked)
}

/// What a student is asked, and who answers it.
struct Taught {
    teacher: Engine,
    /// Keeps the last hidden states; its last value are the scores of hidden tokens.
    teaching: Arc<Graph>,
    threads: usize,
    graphs: Graphs,
    questions: Vec<Question>,
    part_tokens: usize,
}

impl Taught {
    fn new(
        teacher: &Learnable,
        student: &Learnable,
        config: &Value,
        questions: Vec<Question>,
        settings: &DistillSettings,
    ) -> Result<Taught> {
        let (mut teaching, _) = teacher.graph(&[Kind::FillMask])?;
        teaching.keep(teacher.hidden());
        let (graph, values) = student.graph(&[Kind::FillMask])?;
        let value = |question: &Question| if question.loss == Loss::Cosine { student.hidden() } else { values[0] };
        let goal = |(target, question): (usize, &Question)| Goal::of(value(question), question.loss, target);
        let goals: Vec<Goal> = questions.iter().enumerate().map(goal).collect();
        Ok(Taught {
            teacher: Engine::new(teacher.weights(), None, None)?,
            teaching: Arc::new(teaching),
            threads: settings.run.threads.unwrap_or_else(default_threads),
            graphs: graphs_of(student, &graph, &goals, rates(config, settings.run.dropout), &settings.run)?,
            questions,
            part_tokens: settings.run.part_tokens,
        })
    }

    /// The lesson with what the teacher says among its targets.
    fn taught(&self, batch: &Arc<Batch>, lesson: &Lesson, shares: &[f32]) -> Result<Lesson> {
        let said = self.teacher.run_for_all(&self.teaching, batch, self.threads, &Control::default())?;
        let Some([states, scores]) = said.and_then(|said| <[Vec<f32>; 2]>::try_from(said).ok()) else {
            return Err(Error::new(ErrorKind::Panic, "the teacher said nothing: a bug in Cloze, please report it"));
        };
        let (mut states, mut scores, mut own) = (Some(states), Some(scores), lesson.targets.iter().cloned());
        let target = |(question, factor): (&Question, &f32)| match question.loss {
            Loss::CrossEntropy => own.next().unwrap_or(Target::Classes { classes: Vec::new(), factor: *factor }),
            Loss::Cosine => Target::Numbers { numbers: states.take().unwrap_or_default(), factor: *factor },
            _ => Target::Numbers { numbers: scores.take().unwrap_or_default(), factor: *factor },
        };
        let targets = self.questions.iter().zip(shares).map(target).collect();
        Ok(Lesson { targets, seed: lesson.seed, first_sequence: lesson.first_sequence })
    }
}

impl Ask for Taught {
    fn figures(&self, learner: &mut Learner, team: &Team, examples: &[Example], seed: u64, learns: bool) -> Result<Figures> {
        let made = self.graphs.of(learns);
        let (mut sums, shares) = (Sums::of(&self.questions), shares(examples, &self.questions));
        for Part { batch, lesson, .. } in parts(examples, team.share(examples.len()), &self.questions, self.part_tokens, seed) {
            let lesson = Arc::new(self.taught(&batch, &lesson, &shares)?);
            let costs = learner.run(&made.graph, &made.losses, &batch, &lesson)?;
            sums.add(&costs, &lesson.targets);
        }
        Ok(sums.together(team).figures(&self.questions))
    }
}
