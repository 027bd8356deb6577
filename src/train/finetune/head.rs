//! How does a model get the head of a task?
//!
//! config.json is told the class and the labels, and `model` makes what the checkpoint lacks. A head that knows all labels of the examples stays as
//! it is, with labels in its own order.

use serde_json::{Map, Value, json};

use super::task::Problem;
use crate::train::run::folder::name_class;

/// The labels to tell apart: the model's own, in its order, where it has all of `labels`, else these. Says whether they are its own.
pub(super) fn in_order(config: &Value, labels: Vec<String>) -> (Vec<String>, bool) {
    let own = config["id2label"].as_object().map(|own| {
        let mut own: Vec<(usize, String)> =
            own.iter().filter_map(|(id, label)| Some((id.parse().ok()?, label.as_str()?.to_owned()))).collect();
        own.sort();
        own.into_iter().map(|(_, label)| label).collect::<Vec<_>>()
    });
    match own {
        Some(own) if labels.iter().all(|label| own.contains(label)) => (own, true),
        _ => (labels, false),
    }
}

/// Tells config.json the problem, the class of `transformers` and the labels.
pub(super) fn describe(config: &mut Value, problem: Problem, labels: &[String]) {
    name_class(config, problem.class());
    let Some(fields) = config.as_object_mut() else { return };
    // What other heads of the checkpoint said.
    for name in ["num_labels", "problem_type", "id2label", "label2id", "sbert_ce_default_activation_function"] {
        fields.remove(name);
    }
    if let Some(problem) = problem.type_in_config() {
        fields.insert("problem_type".to_owned(), json!(problem));
    }
    if !labels.is_empty() {
        let named: Map<String, Value> = labels.iter().enumerate().map(|(id, label)| (id.to_string(), json!(label))).collect();
        let numbered: Map<String, Value> = labels.iter().enumerate().map(|(id, label)| (label.clone(), json!(id))).collect();
        fields.insert("id2label".to_owned(), named.into());
        fields.insert("label2id".to_owned(), numbered.into());
    }
}
