//! How does a model get the head of a task?
//!
//! config.json is told the class and the labels, and `model` makes what the checkpoint lacks. A head that knows all labels of the examples stays as
//! it is, with labels in its own order.

use serde_json::{Map, Value, json};

use super::task::Problem;
use crate::train::run::folder::name_class;

/// The labels to tell apart: the model's own, in its order, where its head is one for this problem and has all of `labels`, else these. Says whether
/// the head can stay.
pub(super) fn in_order(config: &Value, problem: Problem, labels: Vec<String>) -> (Vec<String>, bool) {
    if config["architectures"][0].as_str().is_some_and(|class| !class.ends_with(problem.class())) {
        return (labels, false);
    }
    let own = own_labels(config);
    if labels.is_empty() {
        // A number, or places in a text: nothing is told apart by name.
        return (labels, own.is_none_or(|own| own.len() == problem.outputs(&[])) || problem == Problem::Extract);
    }
    match own {
        Some(own) if labels.iter().all(|label| own.contains(label)) => (own, true),
        _ => (labels, false),
    }
}

/// What config.json calls the labels, in their order.
fn own_labels(config: &Value) -> Option<Vec<String>> {
    let own = config["id2label"].as_object()?;
    let mut own: Vec<(usize, String)> = own.iter().filter_map(|(id, label)| Some((id.parse().ok()?, label.as_str()?.to_owned()))).collect();
    own.sort();
    Some(own.into_iter().map(|(_, label)| label).collect())
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
    // `transformers` takes a head without labels for one of two.
    let one = ["LABEL_0".to_owned()];
    let labels = if matches!(problem, Problem::Regress | Problem::Rank) { &one[..] } else { labels };
    if !labels.is_empty() {
        let named: Map<String, Value> = labels.iter().enumerate().map(|(id, label)| (id.to_string(), json!(label))).collect();
        let numbered: Map<String, Value> = labels.iter().enumerate().map(|(id, label)| (label.clone(), json!(id))).collect();
        fields.insert("id2label".to_owned(), named.into());
        fields.insert("label2id".to_owned(), numbered.into());
    }
}
