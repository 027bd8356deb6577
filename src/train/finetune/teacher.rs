//! What does a larger model say of the examples?
//!
//! Its logits are asked once, before the run: a teacher does not change.

use super::data::Data;
use super::examples::Example;
use crate::error::{ErrorKind, Result, fail};
use crate::tasks::{Model, Request};

/// Notes the logits of `teacher` for each example, in the order of `labels`.
pub(super) fn teach(teacher: &Model, data: &Data, labels: &[String], examples: &mut [Example]) -> Result<()> {
    let Data::Texts(rows) = data else {
        return fail(ErrorKind::InvalidArgument, "a teacher is asked for labels of texts or pairs; this task has none");
    };
    if labels.is_empty() {
        return fail(ErrorKind::InvalidArgument, "a teacher is asked for labels; this task has none");
    }
    let inputs: Vec<(&str, Option<&str>)> = rows.iter().map(|row| (row.text.as_str(), row.pair.as_deref())).collect();
    let answers = teacher.classify(&inputs, &Request::default())?.inputs;
    for (example, answer) in examples.iter_mut().zip(&answers) {
        for label in labels {
            let Some(found) = answer.labels.iter().find(|l| l.label == *label) else {
                let known: Vec<&str> = answer.labels.iter().map(|l| l.label.as_str()).collect();
                let told = format!("the teacher does not know the label {label:?}; it tells apart {}", known.join(", "));
                return fail(ErrorKind::InvalidArgument, told);
            };
            example.taught.push(found.logit);
        }
    }
    Ok(())
}
