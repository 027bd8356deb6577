//! What are TensorFlow's tensors called in a Hugging Face folder?
//!
//! One table a family, one row a layer; what training leaves behind is in a table of its own. The names are those of
//! <https://github.com/google-research/bert> (`modeling.py`, `run_pretraining.py`, `run_classifier.py`, `run_squad.py`), and Hugging
//! Face's those that transformers' converter gave them (`load_tf_weights_in_bert`).

use super::super::names::{fill, number};

/// A layer, or one tensor.
struct Row {
    theirs: &'static str,
    ours: &'static str,
    what: What,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    /// Its parameters stand below it: see [`PARAMETERS`].
    Layer,
    /// The name is a tensor's.
    Tensor,
}

/// A family's names.
pub(super) struct Family {
    /// `model_type` in config.json.
    pub(super) model_type: &'static str,
    rows: &'static [Row],
}

const fn layer(theirs: &'static str, ours: &'static str) -> Row {
    Row { theirs, ours, what: What::Layer }
}

const fn tensor(theirs: &'static str, ours: &'static str) -> Row {
    Row { theirs, ours, what: What::Tensor }
}

/// Every family. A new one is one entry.
const FAMILIES: &[Family] = &[Family {
    model_type: "bert",
    rows: &[
        tensor("bert/embeddings/word_embeddings", "bert.embeddings.word_embeddings.weight"),
        tensor("bert/embeddings/token_type_embeddings", "bert.embeddings.token_type_embeddings.weight"),
        tensor("bert/embeddings/position_embeddings", "bert.embeddings.position_embeddings.weight"),
        layer("bert/embeddings/LayerNorm", "bert.embeddings.LayerNorm"),
        layer("bert/encoder/layer_{}/attention/self/query", "bert.encoder.layer.{}.attention.self.query"),
        layer("bert/encoder/layer_{}/attention/self/key", "bert.encoder.layer.{}.attention.self.key"),
        layer("bert/encoder/layer_{}/attention/self/value", "bert.encoder.layer.{}.attention.self.value"),
        layer("bert/encoder/layer_{}/attention/output/dense", "bert.encoder.layer.{}.attention.output.dense"),
        layer("bert/encoder/layer_{}/attention/output/LayerNorm", "bert.encoder.layer.{}.attention.output.LayerNorm"),
        layer("bert/encoder/layer_{}/intermediate/dense", "bert.encoder.layer.{}.intermediate.dense"),
        layer("bert/encoder/layer_{}/output/dense", "bert.encoder.layer.{}.output.dense"),
        layer("bert/encoder/layer_{}/output/LayerNorm", "bert.encoder.layer.{}.output.LayerNorm"),
        layer("bert/pooler/dense", "bert.pooler.dense"),
        layer("cls/predictions/transform/dense", "cls.predictions.transform.dense"),
        layer("cls/predictions/transform/LayerNorm", "cls.predictions.transform.LayerNorm"),
        tensor("cls/predictions/output_bias", "cls.predictions.bias"),
        tensor("cls/seq_relationship/output_weights", "cls.seq_relationship.weight"),
        tensor("cls/seq_relationship/output_bias", "cls.seq_relationship.bias"),
        tensor("cls/squad/output_weights", "qa_outputs.weight"),
        tensor("cls/squad/output_bias", "qa_outputs.bias"),
        tensor("output_weights", "classifier.weight"),
        tensor("output_bias", "classifier.bias"),
    ],
}];

/// The parameters of a layer: TensorFlow's name, Hugging Face's, and whether the matrix lies (inputs, outputs) and is turned.
const PARAMETERS: &[(&str, &str, bool)] =
    &[("kernel", "weight", true), ("bias", "bias", false), ("gamma", "weight", false), ("beta", "bias", false)];

/// What training leaves behind: whole names, and last parts of names.
const OF_TRAINING: &[&str] = &["global_step", "beta1_power", "beta2_power"];
const OF_OPTIMIZERS: &[&str] = &["adam_m", "adam_v", "Adam", "Adam_1", "Momentum"];

/// Where a tensor goes.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// A name in a Hugging Face folder, and whether the matrix is turned.
    Tensor(String, bool),
    /// Nowhere: training's own.
    Left,
    /// No row has it.
    Unknown,
}

impl Family {
    /// The family of a `model_type`.
    pub(super) fn of_model_type(model_type: &str) -> Option<&'static Family> {
        FAMILIES.iter().find(|family| family.model_type == model_type)
    }

    /// The families that are known.
    pub(super) fn all() -> impl Iterator<Item = &'static str> {
        FAMILIES.iter().map(|family| family.model_type)
    }

    /// Where the tensor `name` goes.
    pub(super) fn target(&self, name: &str) -> Target {
        let (above, last) = name.rsplit_once('/').unwrap_or(("", name));
        if OF_TRAINING.contains(&name) || OF_OPTIMIZERS.contains(&last) {
            return Target::Left;
        }
        let found = self.rows.iter().find_map(|row| match row.what {
            What::Tensor => (row.theirs == name).then(|| (row.ours.to_owned(), false)),
            What::Layer => {
                let number = number(row.theirs, above)?;
                let (_, parameter, turned) = PARAMETERS.iter().find(|(theirs, ..)| *theirs == last)?;
                Some((format!("{}.{parameter}", fill(row.ours, &number)), *turned))
            }
        });
        found.map_or(Target::Unknown, |(name, turned)| Target::Tensor(name, turned))
    }

    /// Names that there may be, with the numbers that `like` has, to compare it with.
    pub(super) fn names(&self, like: &str) -> Vec<String> {
        let digits = like.split(|c: char| !c.is_ascii_digit()).find(|digits| !digits.is_empty()).unwrap_or("0");
        let of_row = |row: &Row| match row.what {
            What::Tensor => vec![row.theirs.to_owned()],
            What::Layer => PARAMETERS.iter().map(|(parameter, ..)| format!("{}/{parameter}", fill(row.theirs, digits))).collect(),
        };
        self.rows.iter().flat_map(of_row).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_parameters_and_training_are_told_apart() {
        let bert = Family::of_model_type("bert").unwrap();
        let to = |name: &str, turned| Target::Tensor(name.to_owned(), turned);
        assert_eq!(bert.target("bert/encoder/layer_11/output/dense/kernel"), to("bert.encoder.layer.11.output.dense.weight", true));
        assert_eq!(bert.target("bert/encoder/layer_0/output/LayerNorm/gamma"), to("bert.encoder.layer.0.output.LayerNorm.weight", false));
        assert_eq!(bert.target("bert/embeddings/word_embeddings"), to("bert.embeddings.word_embeddings.weight", false));
        assert_eq!(bert.target("output_weights"), to("classifier.weight", false));
        for left in ["global_step", "bert/embeddings/word_embeddings/adam_m", "output_weights/Adam_1"] {
            assert_eq!(bert.target(left), Target::Left);
        }
        for other in ["bert/encoder/layer_01/output/dense/kernel", "bert/encoder/layer_0/output/dense/scale", "kernel", "", "bert/pooler"] {
            assert_eq!(bert.target(other), Target::Unknown, "{other}");
        }
    }
}
