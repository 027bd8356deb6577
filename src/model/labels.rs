//! What do a head's numbers mean: which labels, which kind of problem, which activation does its author declare?

use serde_json::Value;

use super::config::Fields;
use crate::error::{ErrorKind, Result, fail};

/// How raw numbers become scores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Score {
    /// `x`: regression, and raw scores.
    Identity,
    /// `1 / (1 + e^-x)`: each label for itself.
    Sigmoid,
    /// `e^x / sum e^x`: the labels exclude each other.
    Softmax,
}

impl Score {
    /// Every activation by name.
    pub const ALL: &'static [(&'static str, Score)] =
        &[("identity", Score::Identity), ("sigmoid", Score::Sigmoid), ("softmax", Score::Softmax)];

    /// The name that options use.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, score)| *score == self).map_or("", |(name, _)| name)
    }

    /// The scores of one input's raw numbers, in double precision; they stay finite for every finite number.
    pub fn apply(self, logits: &[f32]) -> Vec<f32> {
        let logit = |x: &f32| f64::from(*x);
        match self {
            Score::Identity => logits.to_vec(),
            Score::Sigmoid => logits.iter().map(|x| (1.0 / (1.0 + (-logit(x)).exp())) as f32).collect(),
            Score::Softmax => {
                let most = logits.iter().map(logit).fold(f64::NEG_INFINITY, f64::max);
                let powers: Vec<f64> = logits.iter().map(|x| (logit(x) - most).exp()).collect();
                let sum: f64 = powers.iter().sum();
                powers.iter().map(|p| (p / sum) as f32).collect()
            }
        }
    }
}

/// How the labels of tokens become entities, as the reference's token classification names it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Aggregation {
    /// Not at all: each token that has a label is returned with it.
    None,
    /// Neighbouring tokens of one entity are joined.
    #[default]
    Simple,
    /// A word has the label of its first token; then as `Simple`.
    First,
    /// A word has the label whose probability is highest in the mean of its tokens; then as `Simple`.
    Average,
    /// A word has the label of its most certain token; then as `Simple`.
    Max,
}

impl Aggregation {
    /// Every way by name.
    pub const ALL: &'static [(&'static str, Aggregation)] = &[
        ("none", Aggregation::None),
        ("simple", Aggregation::Simple),
        ("first", Aggregation::First),
        ("average", Aggregation::Average),
        ("max", Aggregation::Max),
    ];

    /// The name that options use.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, way)| *way == self).map_or("", |(name, _)| name)
    }
}

/// What config.json says about the numbers of a head.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Meaning {
    /// The label of each number, by its id.
    pub labels: Vec<String>,
    /// How the numbers become scores of a classification, as `problem_type` and their number say; `None` for a head of another
    /// kind.
    pub score: Option<Score>,
    /// The activation that a cross-encoder's config.json declares.
    pub declared: Option<Score>,
    /// How labels of tokens become entities, where config.json says it.
    pub aggregation: Option<Aggregation>,
}

/// The entry of `task_specific_params` that has it, and its field: the argument of the pipeline of `transformers`.
pub const AGGREGATION: [&str; 2] = ["token-classification", "aggregation_strategy"];

/// `problem_type` of `transformers`, and the activation that goes with it.
const PROBLEMS: &[(&str, Score)] =
    &[("regression", Score::Identity), ("single_label_classification", Score::Softmax), ("multi_label_classification", Score::Sigmoid)];

/// The last part of the class names that sentence-transformers writes.
const DECLARED: &[(&str, Score)] = &[("Identity", Score::Identity), ("Sigmoid", Score::Sigmoid), ("Softmax", Score::Softmax)];

impl Meaning {
    /// What `config` says of a head with `outputs` numbers.
    ///
    /// # Errors
    /// `InvalidFile` for labels that are not as many, `Unsupported` for a problem or an activation that is not here.
    pub(super) fn read(config: &Fields<'_>, outputs: usize) -> Result<Meaning> {
        let labels = labels(config, outputs)?;
        let score = match config.get("problem_type") {
            None if outputs == 1 => Score::Sigmoid,
            None => Score::Softmax,
            Some(_) => {
                let problem = config.text("problem_type")?;
                match PROBLEMS.iter().find(|(name, _)| *name == problem) {
                    // A softmax of one number says nothing; transformers takes the sigmoid.
                    Some((_, Score::Softmax)) if outputs == 1 => Score::Sigmoid,
                    Some((_, score)) => *score,
                    None => {
                        let known: Vec<_> = PROBLEMS.iter().map(|(name, _)| *name).collect();
                        let told = format!("config.json: problem_type {problem:?} is not supported; supported: {}", known.join(", "));
                        return fail(ErrorKind::Unsupported, told);
                    }
                }
            }
        };
        let new = config.get("sentence_transformers").and_then(|settings| settings.get("activation_fn"));
        let class = new.or_else(|| config.get("sbert_ce_default_activation_function")).filter(|class| !class.is_null());
        let declared = class.map(|class| class.as_str().map_or_else(|| config.wrong("activation_fn", "the name of a class"), declared));
        Ok(Meaning { labels, score: Some(score), declared: declared.transpose()?, aggregation: aggregation(config)? })
    }
}

/// How `task_specific_params` says that labels of tokens become entities.
fn aggregation(config: &Fields<'_>) -> Result<Option<Aggregation>> {
    let [task, field] = AGGREGATION;
    let Some(stated) = config.get("task_specific_params").and_then(|params| params.get(task)?.get(field)).filter(|said| !said.is_null())
    else {
        return Ok(None);
    };
    let known = Aggregation::ALL.iter().find(|(name, _)| stated == name);
    known.map_or_else(|| config.wrong(field, "none, simple, first, average or max"), |(_, way)| Ok(Some(*way)))
}

/// The activation that the path of a PyTorch class names.
pub(super) fn declared(class: &str) -> Result<Score> {
    let name = class.rsplit('.').next().unwrap_or(class);
    match DECLARED.iter().find(|(n, _)| *n == name) {
        Some((_, score)) => Ok(*score),
        None => {
            let told =
                format!("the activation {class:?} of a cross-encoder is not supported; supported: Identity, Sigmoid, Softmax of torch.nn");
            fail(ErrorKind::Unsupported, told)
        }
    }
}

/// The label of each of `outputs` numbers: `id2label`, or `LABEL_0` and so on as `transformers` calls them.
fn labels(config: &Fields<'_>, outputs: usize) -> Result<Vec<String>> {
    let wrong = |stated: usize, field: &str| {
        let told = format!(
            "config.json: {field} has {stated} labels, and the classifier gives {outputs} numbers; mend config.json, or take the checkpoint that it belongs to"
        );
        fail(ErrorKind::InvalidFile, told)
    };
    let stated = match config.get("id2label") {
        None => {
            let stated = config.size_or("num_labels", outputs)?;
            return if stated == outputs {
                Ok((0..outputs).map(|id| format!("LABEL_{id}")).collect())
            } else {
                wrong(stated, "num_labels")
            };
        }
        Some(Value::Object(stated)) => stated,
        Some(_) => return config.wrong("id2label", "an object of labels by id"),
    };
    if stated.len() != outputs {
        return wrong(stated.len(), "id2label");
    }
    let label = |id: usize| match stated.get(&id.to_string()) {
        Some(Value::String(label)) => Ok(label.clone()),
        Some(other) => fail(ErrorKind::InvalidFile, format!("config.json: label {id} of id2label is {other}; expected a string")),
        None => fail(ErrorKind::InvalidFile, format!("config.json: id2label has no label {id}; ids go from 0 to {}", outputs - 1)),
    };
    (0..outputs).map(label).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(config: Value, outputs: usize) -> Result<Meaning> {
        Meaning::read(&Fields::new("config.json", &config).unwrap(), outputs)
    }

    #[test]
    fn problems_and_numbers_decide_how_scores_are_made() {
        for (config, outputs, score) in [
            (json!({}), 1, Score::Sigmoid),
            (json!({}), 3, Score::Softmax),
            (json!({"problem_type": null}), 2, Score::Softmax),
            (json!({"problem_type": "regression"}), 1, Score::Identity),
            (json!({"problem_type": "multi_label_classification"}), 3, Score::Sigmoid),
            (json!({"problem_type": "single_label_classification"}), 1, Score::Sigmoid),
        ] {
            assert_eq!(read(config, outputs).unwrap().score, Some(score));
        }
        let e = read(json!({"problem_type": "ranking"}), 2).unwrap_err();
        assert!(e.kind() == ErrorKind::Unsupported && e.message().contains("\"ranking\""), "{e}");
    }

    #[test]
    fn labels_are_as_many_as_numbers() {
        let labels = |config: Value| read(config, 2).map(|m| m.labels);
        assert_eq!(labels(json!({})).unwrap(), ["LABEL_0", "LABEL_1"]);
        assert_eq!(labels(json!({"id2label": {"1": "b", "0": "a"}})).unwrap(), ["a", "b"]);
        for (config, words) in [
            (json!({"id2label": {"0": "a"}}), "id2label has 1 labels"),
            (json!({"num_labels": 3}), "num_labels has 3 labels"),
            (json!({"id2label": {"0": "a", "2": "b"}}), "no label 1"),
            (json!({"id2label": {"0": "a", "1": 7}}), "label 1 of id2label is 7"),
            (json!({"id2label": ["a", "b"]}), "id2label ="),
        ] {
            let e = labels(config).unwrap_err();
            assert!(e.kind() == ErrorKind::InvalidFile && e.message().contains(words), "{e}");
        }
    }

    #[test]
    fn a_cross_encoder_declares_its_activation_in_old_and_new_words() {
        let declared = |config: Value| read(config, 1).map(|m| m.declared);
        assert_eq!(declared(json!({})).unwrap(), None);
        let identity = "torch.nn.modules.linear.Identity";
        assert_eq!(declared(json!({"sbert_ce_default_activation_function": identity})).unwrap(), Some(Score::Identity));
        let new = json!({"sentence_transformers": {"activation_fn": "torch.nn.modules.activation.Sigmoid", "version": "4.0"}});
        assert_eq!(declared(new).unwrap(), Some(Score::Sigmoid));
        let e = declared(json!({"sbert_ce_default_activation_function": "torch.nn.Tanhshrink"})).unwrap_err();
        assert!(e.message().contains("Tanhshrink"), "{e}");
    }

    #[test]
    fn scores_stay_finite_and_keep_their_order() {
        let logits = [1000.0, -1000.0, 3.0];
        assert_eq!(Score::Softmax.apply(&logits), [1.0, 0.0, 0.0]);
        assert_eq!(Score::Sigmoid.apply(&logits), [1.0, 0.0, 0.95257413]);
        assert_eq!(Score::Identity.apply(&logits), logits);
        assert_eq!(Score::Softmax.apply(&[f32::MAX, f32::MAX]), [0.5, 0.5]);
    }
}
