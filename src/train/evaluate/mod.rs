//! How good is a model at a task?
//!
//! The model itself is asked, as a host program would: [`Model::classify`] and its siblings, at any precision. Answers and what is right go to
//! `metrics`; figures, a line an example and the confusion of labels come back, for a log, a report or standard output.

mod pairs;
mod questions;
pub mod report;
mod texts;
mod words;

use serde_json::Value;

pub use pairs::collection;

use super::finetune::{Data, Problem, Task};
use super::metrics::classes::Confusion;
use super::run::Figures;
use crate::error::{ErrorKind, Result, fail};
use crate::tasks::{Model, Request};

/// What an evaluation came to.
pub struct Outcome {
    /// Every figure of the task.
    pub figures: Figures,
    /// A JSON object an example: what the model said, and what is right.
    pub predictions: Vec<Value>,
    /// Which labels were taken for which, where an answer is one label.
    pub confusion: Option<(Vec<String>, Confusion)>,
}

impl Outcome {
    fn new(figures: Figures, predictions: Vec<Value>) -> Outcome {
        Outcome { figures, predictions, confusion: None }
    }
}

/// Refuses answers that are not all there.
fn whole(stopped: Option<ErrorKind>) -> Result<()> {
    stopped.map_or(Ok(()), |kind| fail(kind, "the evaluation was stopped"))
}

/// Asks the model for every example of `data`. Of `request` the length, truncation, threads, deadline and cancellation count.
///
/// # Errors
/// `Cancelled` or `DeadlineExceeded` where it was stopped;
/// `InvalidArgument` for a model that has no head for the task, or labels that do not fit it.
pub fn evaluate(model: &Model, task: &Task, data: &Data, request: &Request) -> Result<Outcome> {
    match (task.problem, data) {
        (Problem::Classify, Data::Texts(rows)) => texts::classes(model, rows, request),
        (Problem::MultiLabel, Data::Texts(rows)) => texts::sets(model, rows, request),
        (Problem::Regress, Data::Texts(rows)) => texts::numbers(model, rows, request),
        (Problem::Rank, Data::Texts(rows)) => pairs::ranking(model, rows, request),
        (Problem::Embed, Data::Texts(rows)) => pairs::vectors(model, rows, request),
        (Problem::Choose, Data::Choices(questions)) => pairs::choices(model, questions, request),
        (Problem::Embed, Data::Triplets(triplets)) => pairs::belonging(model, triplets, request),
        // To read each document with each query takes hours; those that are judged say how well they are ordered.
        (Problem::Rank, Data::Collection(collection)) => pairs::collection(model, collection, Some(&pairs::judged(collection)), request),
        (Problem::Embed, Data::Collection(collection)) => pairs::collection(model, collection, None, request),
        (Problem::Tag, Data::Sentences(sentences)) => words::tags(model, sentences, request),
        (Problem::Extract, Data::Questions(questions)) => questions::answers(model, questions, request),
        _ => fail(ErrorKind::InvalidArgument, format!("task {}: these are no examples of it", task.name)),
    }
}
