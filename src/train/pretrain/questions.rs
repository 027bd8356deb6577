//! What is asked of a model, and what do its answers cost?
//!
//! A [`Question`] is a loss over a head. An [`Objective`] is what a run is told to learn: the questions that it asks, and what its examples are like
//! unless something else is said. Both are rows.

use super::super::ExampleSettings;
use super::super::examples::{Learning, SEQUENCES, Sequences};
use super::super::masking::{SCHEMES, Scheme};
use super::super::run::Figures;
use super::super::team::Team;
use crate::engine::graph::Loss;
use crate::engine::lesson::{Cost, Target, UNLABELLED};
use crate::model::heads::Kind;
use crate::train::Example;

/// What a run learns.
#[derive(Debug)]
pub struct Objective {
    /// Its name among the options.
    pub name: &'static str,
    /// What it is, in a line.
    pub about: &'static str,
    /// Whether hidden tokens are asked of the borders of their spans, too.
    pub(super) boundary: bool,
    /// Whether a generator replaces hidden tokens, and every token is asked whether it was.
    pub(super) replaced: bool,
    /// What examples are like where nothing else is said.
    prepare: fn(&mut ExampleSettings),
}

/// Every objective; the first is the default.
pub const OBJECTIVES: &[Objective] = &[
    Objective {
        name: "masked",
        about: "hidden tokens, and labels of pairs of texts where sequences are pairs (BERT, RoBERTa, ALBERT, ERNIE)",
        boundary: false,
        replaced: false,
        prepare: |_| {},
    },
    Objective {
        name: "span_boundary",
        about: "hidden spans, also by the two tokens at their borders alone (SpanBERT)",
        boundary: true,
        replaced: false,
        prepare: |examples| {
            examples.sequences = sequences("single");
            examples.learning = Learning::Masked(scheme("span"));
        },
    },
    Objective {
        name: "replaced",
        about: "which tokens a small generator, which learns beside, put in place of hidden ones (ELECTRA)",
        boundary: false,
        replaced: true,
        prepare: |examples| {
            examples.sequences = sequences("single");
            (examples.rates.as_mask, examples.rates.as_random) = (1.0, 0.0);
        },
    },
];

impl Objective {
    /// Sets what examples are like where nothing else is said.
    pub fn prepare(&self, examples: &mut ExampleSettings) {
        (self.prepare)(examples);
    }
}

fn sequences(name: &str) -> &'static Sequences {
    SEQUENCES.iter().find(|row| row.name == name).unwrap_or(&SEQUENCES[0])
}

fn scheme(name: &str) -> &'static Scheme {
    SCHEMES.iter().find(|row| row.name == name).unwrap_or(&SCHEMES[0])
}

/// One loss over a head.
#[derive(Clone, Copy, Debug)]
pub(in crate::train) struct Question {
    /// The head that answers.
    pub kind: Kind,
    /// What wrong answers cost.
    pub loss: Loss,
    /// What the mean of costs is multiplied by.
    pub weight: f64,
    /// The names of the mean cost, and of the share of right answers where that says something.
    pub figures: (&'static str, Option<&'static str>),
    /// How many answers an example asks for.
    pub asked: fn(&Example) -> usize,
    /// What is right, each cost times the factor; none where a teacher says it.
    pub targets: Option<fn(&[Example], f32) -> Target>,
}

/// Hidden tokens: BERT's.
pub(in crate::train) const MASKED: Question = Question {
    kind: Kind::FillMask,
    loss: Loss::CrossEntropy,
    weight: 1.0,
    figures: ("masked_loss", Some("masked_accuracy")),
    asked: |example| example.masked.len(),
    targets: Some(hidden_tokens),
};

/// The next token: GPT's head.
pub(super) const NEXT_TOKEN: Question = Question { kind: Kind::NextToken, ..MASKED };

/// Hidden tokens, by the borders of their spans: SpanBERT's.
pub(super) const BOUNDARY: Question =
    Question { kind: Kind::SpanBoundary, figures: ("boundary_loss", Some("boundary_accuracy")), ..MASKED };

/// Whether two texts belong together, in this order: BERT's and ALBERT's.
pub(super) const PAIR: Question = Question {
    kind: Kind::NextSentence,
    loss: Loss::CrossEntropy,
    weight: 1.0,
    figures: ("pair_loss", Some("pair_accuracy")),
    asked: |example| usize::from(example.label.is_some()),
    targets: Some(|examples, factor| Target::Classes {
        classes: examples.iter().map(|example| example.label.unwrap_or(UNLABELLED)).collect(),
        factor,
    }),
};

/// Whether each token was put in another's place: ELECTRA's discriminator, whose loss counts fifty times (Clark et al., 2020).
pub(super) const REPLACED: Question = Question {
    kind: Kind::Replaced,
    loss: Loss::Binary,
    weight: 50.0,
    figures: ("replaced_loss", Some("replaced_accuracy")),
    asked: |example| example.ids.len(),
    targets: Some(|examples, factor| {
        let replaced = examples.iter().flat_map(|example| &example.replaced);
        Target::Numbers { numbers: replaced.map(|replaced| f32::from(u8::from(*replaced))).collect(), factor }
    }),
};

fn hidden_tokens(examples: &[Example], factor: f32) -> Target {
    Target::Classes { classes: examples.iter().flat_map(|example| example.masked.iter().map(|(_, id)| *id)).collect(), factor }
}

/// Sums of what answers cost, question by question.
#[derive(Clone, Debug)]
pub(in crate::train) struct Sums(Vec<Sum>);

#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    loss: f64,
    right: f64,
    count: f64,
}

impl Sums {
    /// Of these questions: as many in every process, whatever its share of the examples.
    pub(in crate::train) fn of(questions: &[Question]) -> Sums {
        Sums(vec![Sum::default(); questions.len()])
    }

    /// Adds the costs of all rows that have a target.
    pub(in crate::train) fn add(&mut self, costs: &[Vec<Cost>], targets: &[Target]) {
        for ((rows, target), sum) in costs.iter().zip(targets).zip(&mut self.0) {
            let asked = |row: usize| match target {
                Target::Classes { classes, .. } => classes[row] != UNLABELLED,
                Target::Numbers { numbers, .. } => numbers.get(row * (numbers.len() / rows.len())).is_some_and(|first| !first.is_nan()),
                Target::Judged(_) => true,
            };
            for (_, cost) in rows.iter().enumerate().filter(|(row, _)| asked(*row)) {
                sum.loss += f64::from(cost.loss);
                sum.right += f64::from(u8::from(cost.right));
                sum.count += 1.0;
            }
        }
    }

    /// Adds those of all processes.
    pub(in crate::train) fn together(mut self, team: &Team) -> Sums {
        let mut all: Vec<f64> = self.0.iter().flat_map(|sum| [sum.loss, sum.right, sum.count]).collect();
        team.sum(&mut all);
        for (sum, of) in self.0.iter_mut().zip(all.chunks_exact(3)) {
            *sum = Sum { loss: of[0], right: of[1], count: of[2] };
        }
        self
    }

    /// The means under their questions' names.
    pub(in crate::train) fn figures(&self, questions: &[Question]) -> Figures {
        let mut figures = Figures::default();
        for (question, sum) in questions.iter().zip(&self.0) {
            let mean = |total: f64| total / sum.count.max(1.0);
            figures.named.push((question.figures.0.into(), mean(sum.loss)));
            figures.named.extend(question.figures.1.map(|name| (name.into(), mean(sum.right))));
            figures.loss += question.weight * mean(sum.loss);
        }
        figures
    }
}
