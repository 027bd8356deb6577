//! Which tasks are there, and what do they ask of a model?
//!
//! A task is a row: what its examples look like, which head answers, what a wrong answer costs, and the figure by which a model is judged. GLUE's
//! tasks are rows that name the form of their own files.

use crate::engine::graph::Loss;
use crate::model::heads::Kind;

/// What an answer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Problem {
    /// One label of a text or a pair.
    Classify,
    /// Any number of labels.
    MultiLabel,
    /// A number.
    Regress,
    /// A label for each word.
    Tag,
    /// A place in a text, or none.
    Extract,
    /// One of several texts.
    Choose,
    /// How well a document answers a query.
    Rank,
    /// A vector, near those of texts that mean the same.
    Embed,
}

impl Problem {
    /// The head that answers; none for vectors.
    pub fn head(self) -> Option<Kind> {
        match self {
            Problem::Classify | Problem::MultiLabel | Problem::Regress | Problem::Rank => Some(Kind::Classify),
            Problem::Tag => Some(Kind::Tag),
            Problem::Extract => Some(Kind::Extract),
            Problem::Choose => Some(Kind::MultipleChoice),
            Problem::Embed => None,
        }
    }

    /// Numbers that the head gives, where labels are these.
    pub(super) fn outputs(self, labels: &[String]) -> usize {
        match self {
            Problem::Classify | Problem::MultiLabel | Problem::Tag => labels.len(),
            Problem::Regress | Problem::Rank | Problem::Choose => 1,
            Problem::Extract => 2,
            Problem::Embed => 0,
        }
    }

    /// What a wrong answer costs.
    pub(super) fn loss(self) -> Loss {
        match self {
            Problem::Classify | Problem::Tag => Loss::CrossEntropy,
            Problem::MultiLabel => Loss::Binary,
            Problem::Regress => Loss::Squared,
            Problem::Extract | Problem::Choose | Problem::Rank | Problem::Embed => Loss::Judged,
        }
    }

    /// The fields of config.json with the dropout of what the head's last layer reads, the first that is there; the hidden states' where none is.
    /// None for heads without.
    pub(super) fn head_dropout(self) -> Option<&'static [&'static str]> {
        match self {
            Problem::Extract | Problem::Embed => None,
            _ => Some(&["classifier_dropout", "classifier_dropout_prob", "seq_classif_dropout", "summary_last_dropout"]),
        }
    }

    /// What config.json calls the problem.
    pub(super) fn type_in_config(self) -> Option<&'static str> {
        match self {
            Problem::Classify => Some("single_label_classification"),
            Problem::MultiLabel => Some("multi_label_classification"),
            Problem::Regress => Some("regression"),
            _ => None,
        }
    }

    /// What the name of the class of `transformers` ends with.
    pub(super) fn class(self) -> &'static str {
        match self {
            Problem::Classify | Problem::MultiLabel | Problem::Regress | Problem::Rank => "ForSequenceClassification",
            Problem::Tag => "ForTokenClassification",
            Problem::Extract => "ForQuestionAnswering",
            Problem::Choose => "ForMultipleChoice",
            Problem::Embed => "Model",
        }
    }
}

/// What a model is fine-tuned for.
#[derive(Clone, Copy, Debug)]
pub struct Task {
    /// The name that flags use.
    pub name: &'static str,
    /// What it is, in a few words.
    pub about: &'static str,
    /// What an answer is.
    pub problem: Problem,
    /// The form of its files, where it is one of its own.
    pub form: Option<&'static str>,
    /// The figure of an evaluation that should be large.
    pub merit: &'static str,
}

const fn task(name: &'static str, problem: Problem, merit: &'static str, about: &'static str) -> Task {
    Task { name, about, problem, form: None, merit }
}

const fn glue(name: &'static str, problem: Problem, merit: &'static str, about: &'static str) -> Task {
    Task { name, about, problem, form: Some(name), merit }
}

/// Every task.
pub const TASKS: &[Task] = &[
    task("classify", Problem::Classify, "accuracy", "one label of a text or a pair"),
    task("multi_label", Problem::MultiLabel, "micro_f1", "any number of labels"),
    task("regression", Problem::Regress, "spearman", "a number for a text or a pair"),
    task("tag", Problem::Tag, "f1", "labels of words, entities: CoNLL files"),
    task("extract", Problem::Extract, "f1", "answers in a text: SQuAD's files"),
    task("multiple_choice", Problem::Choose, "accuracy", "which of several texts fits: SWAG's files"),
    task("rerank", Problem::Rank, "ndcg@10", "how well a document answers a query"),
    task("encode", Problem::Embed, "spearman", "vectors, near for texts that mean the same"),
    glue("cola", Problem::Classify, "matthews", "GLUE: is a sentence grammatical"),
    glue("sst2", Problem::Classify, "accuracy", "GLUE: is a review good"),
    glue("mrpc", Problem::Classify, "f1", "GLUE: do two sentences say the same"),
    glue("qqp", Problem::Classify, "f1", "GLUE: do two questions ask the same"),
    glue("stsb", Problem::Regress, "spearman", "GLUE: how alike two sentences are"),
    glue("mnli", Problem::Classify, "accuracy", "GLUE: does a sentence follow from another"),
    glue("qnli", Problem::Classify, "accuracy", "GLUE: does a sentence answer a question"),
    glue("rte", Problem::Classify, "accuracy", "GLUE: does a sentence follow from another"),
    glue("wnli", Problem::Classify, "accuracy", "GLUE: what a pronoun stands for"),
];
