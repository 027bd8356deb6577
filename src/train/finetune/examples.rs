//! From examples to packed batches and their targets: what does one step run?

use std::ops::Range;
use std::sync::Arc;

use super::chains::Chains;
use super::judges::{Choices, Scores, Spans, Taught, Weighed};
use super::relations::Relations;
use super::settings::{ClassWeights, FinetuneSettings};
use super::task::Problem;
use super::vectors::{VectorLoss, Vectors};
use crate::engine::Batch;
use crate::engine::graph::Loss;
use crate::engine::lesson::{Lesson, Target, UNLABELLED};
use crate::error::{ErrorKind, Result, fail};
use crate::tokenizer::Sequence;

/// What is right for an example.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Answer {
    /// A class.
    Class(u32),
    /// A number, or a 0 or 1 a label.
    Numbers(Vec<f32>),
    /// A class a token, [`UNLABELLED`] for those that are not asked.
    Tags(Vec<u32>),
    /// The tokens with which the answer begins and ends; the first for none.
    Span([usize; 2]),
    /// Which of the sequences is right.
    Choice(usize),
    /// How well sequences fit, or how much better the first does.
    Score(f32),
}

/// One example: what the model reads, and what is right.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Example {
    pub sequences: Vec<Text>,
    pub answer: Answer,
    /// The logits of a teacher, where there is one.
    pub taught: Vec<f32>,
}

/// One sequence of tokens.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Text {
    pub ids: Vec<u32>,
    pub segments: Vec<u32>,
}

impl From<&Sequence> for Text {
    fn from(sequence: &Sequence) -> Text {
        Text { ids: sequence.ids.clone(), segments: sequence.type_ids.clone() }
    }
}

impl Example {
    pub(super) fn new(sequences: Vec<Text>, answer: Answer) -> Example {
        Example { sequences, answer, taught: Vec::new() }
    }

    pub(super) fn tokens(&self) -> usize {
        self.sequences.iter().map(|text| text.ids.len()).sum()
    }
}

/// What targets are made by.
pub(super) struct Targets {
    pub problem: Problem,
    /// What each class weighs, where they weigh differently.
    pub shares: Option<Vec<f32>>,
    /// Whether a teacher says something of the examples, too.
    pub taught: bool,
    /// Whether tags follow each other.
    pub crf: bool,
    /// How many labels are told apart, by a head or by a judge.
    pub labels: usize,
    /// Whether the model scales vectors to length 1.
    pub unit: bool,
    pub settings: FinetuneSettings,
}

/// A part of a step, and how many costs there are in it.
pub(super) struct Part {
    pub batch: Arc<Batch>,
    pub lesson: Arc<Lesson>,
}

impl Targets {
    /// The targets of a task with so many labels.
    ///
    /// # Errors
    /// `InvalidArgument` for weights of another number of classes.
    pub(super) fn new(problem: Problem, labels: usize, examples: &[Example], settings: FinetuneSettings) -> Result<Targets> {
        let shares = match &settings.class_weights {
            _ if problem != Problem::Classify => None,
            ClassWeights::None => None,
            ClassWeights::Balanced => Some(balanced(labels, examples)),
            ClassWeights::Given(shares) if shares.iter().all(|share| *share == 0.0) => {
                return fail(ErrorKind::InvalidArgument, "`class_weights` are all 0: there is nothing to learn");
            }
            ClassWeights::Given(shares) if shares.len() == labels => Some(shares.clone()),
            ClassWeights::Given(shares) => {
                return fail(ErrorKind::InvalidArgument, format!("`class_weights` has {} numbers for {labels} classes", shares.len()));
            }
        };
        let taught = examples.iter().any(|example| !example.taught.is_empty());
        if taught && shares.is_some() {
            return fail(ErrorKind::InvalidArgument, "`class_weights` and a teacher: say one of them");
        }
        Ok(Targets { problem, shares, taught, crf: false, labels, unit: false, settings })
    }

    /// Whether costs say if an answer was right.
    pub(super) fn tells_right(&self) -> bool {
        !matches!(self.problem, Problem::Regress) && self.shares.is_none()
    }

    /// How many costs an example has in a mean.
    pub(super) fn weight(&self, example: &Example) -> f64 {
        match (&example.answer, &self.shares) {
            (Answer::Class(class), Some(shares)) => f64::from(shares[*class as usize]),
            (Answer::Tags(tags), _) => tags.iter().filter(|tag| **tag != UNLABELLED).count() as f64,
            _ => 1.0,
        }
    }

    /// What a wrong answer costs.
    pub(super) fn loss(&self) -> Loss {
        if self.shares.is_some() || self.taught || self.crf { Loss::Judged } else { self.problem.loss() }
    }

    /// Whether each answer is compared with all others of a step.
    pub(super) fn compares_all(&self) -> bool {
        self.problem == Problem::Embed && self.settings.vector_loss == VectorLoss::Contrast
    }

    /// Cuts those of a step's examples that are `own` into parts of at least `part_tokens` tokens, the last aside. Vectors that are compared with
    /// each other stay in one.
    pub(super) fn parts(&self, examples: &[&Example], own: Range<usize>, part_tokens: usize, seed: u64) -> Vec<Part> {
        let whole: f64 = examples.iter().map(|example| self.weight(example)).sum();
        let factor = (1.0 / whole.max(f64::MIN_POSITIVE)) as f32;
        let room = if self.compares_all() { usize::MAX } else { part_tokens };
        let before: usize = examples[..own.start].iter().map(|example| example.sequences.len()).sum();
        let examples = &examples[own];
        let (mut parts, mut first, mut sequences) = (Vec::new(), 0, before as u64);
        while first < examples.len() {
            let mut tokens = 0;
            let more = |example: &&&Example| {
                let goes_on = tokens < room;
                tokens += example.tokens();
                goes_on
            };
            let count = examples[first..].iter().take_while(more).count().max(1);
            let of_part = &examples[first..first + count];
            parts.push(self.part(of_part, factor, seed, sequences));
            sequences += of_part.iter().map(|example| example.sequences.len() as u64).sum::<u64>();
            first += count;
        }
        parts
    }

    fn part(&self, examples: &[&Example], factor: f32, seed: u64, first_sequence: u64) -> Part {
        let mut batch = Batch::default();
        let mut rows: Vec<Range<usize>> = Vec::new();
        for example in examples {
            let first = batch.sequences();
            example.sequences.iter().for_each(|text| batch.push(&text.ids, &text.segments, 0));
            rows.push(first..batch.sequences());
        }
        let target = self.target(examples, &rows, &batch, factor);
        Part { batch: Arc::new(batch), lesson: Arc::new(Lesson { targets: vec![target], seed, first_sequence }) }
    }

    /// What is right for the examples, whose sequences are `rows` of the batch.
    fn target(&self, examples: &[&Example], rows: &[Range<usize>], batch: &Batch, factor: f32) -> Target {
        let numbers = || examples.iter().flat_map(|example| example.answer.numbers().iter().copied()).collect::<Vec<f32>>();
        let classes = || examples.iter().flat_map(|example| example.answer.classes().iter().copied()).collect::<Vec<u32>>();
        match self.problem {
            Problem::Classify if self.taught => Target::Judged(Arc::new(Taught {
                classes: classes(),
                teacher: examples.iter().flat_map(|example| example.taught.iter().copied()).collect(),
                share: self.settings.teacher_share,
                temperature: self.settings.temperature,
                factor,
            })),
            Problem::Classify => match &self.shares {
                Some(shares) => Target::Judged(Arc::new(Weighed { classes: classes(), shares: shares.clone(), factor })),
                None => Target::Classes { classes: classes(), factor },
            },
            Problem::Tag if self.crf => {
                let texts = rows.iter().map(|rows| batch.rows(rows.start)).collect();
                Target::Judged(Arc::new(Chains { texts, tags: classes(), factor }))
            }
            Problem::Tag => Target::Classes { classes: classes(), factor },
            Problem::MultiLabel | Problem::Regress => Target::Numbers { numbers: numbers(), factor },
            Problem::Extract => {
                let place = |(rows, example): (&Range<usize>, &&Example)| (batch.rows(rows.start), example.answer.span());
                Target::Judged(Arc::new(Spans { texts: rows.iter().zip(examples).map(place).collect(), factor }))
            }
            Problem::Choose => {
                let choice = |(rows, example): (&Range<usize>, &&Example)| (rows.clone(), example.answer.choice());
                Target::Judged(Arc::new(Choices { questions: rows.iter().zip(examples).map(choice).collect(), factor }))
            }
            Problem::Rank => Target::Judged(Arc::new(Scores { loss: self.settings.rank_loss, targets: numbers(), factor })),
            Problem::Embed if self.settings.vector_loss == VectorLoss::Relation => {
                Target::Judged(Arc::new(Relations { classes: classes(), labels: self.labels, unit: self.unit, factor }))
            }
            Problem::Embed => {
                let FinetuneSettings { vector_loss: loss, scale, margin, lengths, .. } = &self.settings;
                let scale = if *loss == VectorLoss::Triplet { *margin } else { *scale };
                let lengths = if lengths.is_empty() { vec![usize::MAX] } else { lengths.clone() };
                let unit = self.unit || !self.settings.lengths.is_empty();
                let each = rows.first().map_or(1, Range::len);
                Target::Judged(Arc::new(Vectors { loss: *loss, each, targets: numbers(), scale, lengths, unit, factor }))
            }
        }
    }
}

/// The rarer a class, the more it weighs: examples / (classes * examples of the class), as scikit-learn's `balanced`.
fn balanced(labels: usize, examples: &[Example]) -> Vec<f32> {
    let mut counts = vec![0usize; labels];
    for class in examples.iter().flat_map(|example| example.answer.classes()) {
        counts[*class as usize] += 1;
    }
    let present = counts.iter().filter(|count| **count > 0).count();
    let share = |count: usize| if count == 0 { 0.0 } else { examples.len() as f32 / (present * count) as f32 };
    counts.into_iter().map(share).collect()
}

impl Answer {
    fn numbers(&self) -> &[f32] {
        match self {
            Answer::Numbers(numbers) => numbers,
            Answer::Score(number) => std::slice::from_ref(number),
            _ => &[],
        }
    }

    fn classes(&self) -> &[u32] {
        match self {
            Answer::Class(class) => std::slice::from_ref(class),
            Answer::Tags(tags) => tags,
            _ => &[],
        }
    }

    fn span(&self) -> [usize; 2] {
        if let Answer::Span(span) = self { *span } else { [0, 0] }
    }

    fn choice(&self) -> usize {
        if let Answer::Choice(choice) = self { *choice } else { 0 }
    }
}
