//! How does a model get the head of a task?
//!
//! config.json is told the class and the labels, and `model` makes what the checkpoint lacks. A head that knows all labels of the examples stays as
//! it is, with labels in its own order.

use serde_json::{Map, Value, json};

use super::task::Problem;
use crate::model::labels::{AGGREGATION, Aggregation};
use crate::train::run::folder::name_class;

/// The labels to tell apart: the model's own, in its order, where its head is one for this problem and has all of `labels`, else these. Says whether
/// the head can stay.
pub(super) fn in_order(config: &Value, problem: Problem, labels: Vec<String>) -> (Vec<String>, bool) {
    let is_one = |class: &str| class.ends_with(problem.class()) || (problem == Problem::Tag && named_crf(class));
    if config["architectures"][0].as_str().is_some_and(|class| !is_one(class)) {
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

/// Whether a class is that of a tagger with a crf, which `transformers` does not have: people name theirs `BertCrfForNer` and the like.
pub(super) fn named_crf(class: &str) -> bool {
    class.to_ascii_lowercase().contains("crf")
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
    // A word's tag is that of its first token; whoever serves the model joins them so.
    let [task, field] = AGGREGATION;
    let params = fields.entry("task_specific_params").or_insert_with(|| json!({}));
    if let Some(params) = params.as_object_mut() {
        params.remove(task);
        if problem == Problem::Tag {
            params.insert(task.to_owned(), json!({field: Aggregation::First.name()}));
        }
    }
    if fields["task_specific_params"].as_object().is_none_or(Map::is_empty) {
        fields.remove("task_specific_params");
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

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn a_crf_is_no_part_of_a_familys_name_and_its_labels_stay() {
        let own = json!({"model_type": "bert", "architectures": ["BertCrfForNer"], "id2label": {"0": "O", "1": "B-X"}});
        assert_eq!(in_order(&own, Problem::Tag, strings(&["B-X", "O"])), (strings(&["O", "B-X"]), true));
        assert!(!in_order(&own, Problem::Classify, strings(&["a", "b"])).1);
        let described = |problem, class: &str| {
            let mut config = own.clone();
            config["architectures"] = json!([class]);
            describe(&mut config, problem, &strings(&["a", "b"]));
            config["architectures"][0].as_str().unwrap().to_owned()
        };
        assert_eq!(described(Problem::Classify, "BertCrfForNer"), "BertForSequenceClassification");
        assert_eq!(described(Problem::Tag, "BertCRF"), "BertForTokenClassification");
        assert_eq!(described(Problem::Extract, "JinaBertForMaskedLM"), "JinaBertForQuestionAnswering");
    }

    #[test]
    fn a_tagger_says_how_its_labels_become_entities_and_others_do_not() {
        let mut config = json!({"model_type": "bert", "task_specific_params": {"summarization": {"length": 1}}});
        describe(&mut config, Problem::Tag, &strings(&["O", "B-X"]));
        assert_eq!(config["task_specific_params"]["token-classification"], json!({"aggregation_strategy": "first"}));
        describe(&mut config, Problem::Classify, &strings(&["a", "b"]));
        assert_eq!(config["task_specific_params"], json!({"summarization": {"length": 1}}));
    }
}
