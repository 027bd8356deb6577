//! Which family is it, and what do the fields of its config.json say?
//!
//! [`Fields`] reads a JSON object strictly: a missing field, a wrong type or an absurd number is an error that names it.

use serde_json::{Map, Value};

use super::heads::{Kind, Row};
use super::loader::Loader;
use super::{
    albert, bert, big_bird, deberta, distilbert, electra, ernie, gpt, gte, longformer, mobilebert, modernbert, mpnet, nomic_bert, roberta,
    static_vectors, trunk::Trunk, xlm,
};
use crate::engine::graph::Activation;
use crate::error::{Error, ErrorKind, Result, fail};

/// One family: the `model_type`s it serves, its heads and how it is built.
struct Family {
    model_types: &'static [&'static str],
    heads: &'static [Row],
    build: fn(&Fields<'_>, &mut Loader) -> Result<Trunk>,
}

/// Every family. A new one is one file and one row.
const FAMILIES: &[Family] = &[
    Family { model_types: &["bert"], heads: bert::HEADS, build: bert::build },
    Family { model_types: &["roberta", "camembert", "xlm-roberta"], heads: roberta::HEADS, build: roberta::build },
    Family { model_types: &["distilbert"], heads: distilbert::HEADS, build: distilbert::build },
    Family { model_types: &["electra"], heads: electra::HEADS, build: electra::build },
    Family { model_types: &["albert"], heads: albert::HEADS, build: albert::build },
    Family { model_types: &["ernie"], heads: bert::HEADS, build: ernie::build },
    Family { model_types: &["mpnet"], heads: roberta::HEADS, build: mpnet::build },
    Family { model_types: &["modernbert"], heads: modernbert::HEADS, build: modernbert::build },
    Family { model_types: &["nomic_bert"], heads: nomic_bert::HEADS, build: nomic_bert::build },
    Family { model_types: &["gte"], heads: gte::HEADS, build: gte::build },
    Family { model_types: &["new"], heads: gte::NEW_HEADS, build: gte::build_new },
    Family { model_types: &["deberta-v2"], heads: deberta::HEADS, build: deberta::build },
    Family { model_types: &["longformer"], heads: longformer::HEADS, build: longformer::build },
    Family { model_types: &["big_bird"], heads: big_bird::HEADS, build: big_bird::build },
    Family { model_types: &["deberta"], heads: deberta::HEADS_OF_VERSION_1, build: deberta::build_version_1 },
    Family { model_types: &["mobilebert"], heads: mobilebert::HEADS, build: mobilebert::build },
    Family { model_types: &["xlm", "flaubert"], heads: xlm::HEADS, build: xlm::build },
    Family { model_types: &["gpt2"], heads: gpt::HEADS, build: gpt::build },
    Family { model_types: &["openai-gpt"], heads: gpt::HEADS, build: gpt::build_first },
    Family { model_types: &["model2vec", "static-embedding"], heads: &[], build: static_vectors::build },
];

/// The `model_type`s that open.
pub fn model_types() -> impl Iterator<Item = &'static str> {
    FAMILIES.iter().flat_map(|f| f.model_types.iter().copied())
}

/// The heads that models of a `model_type` may have, in the order of the family's table, each once; `false` for one that lets its
/// checkpoints open and that no layer answers.
pub fn heads(model_type: &str) -> Vec<(Kind, bool)> {
    let mut found: Vec<(Kind, bool)> = Vec::new();
    for row in FAMILIES.iter().filter(|f| f.model_types.contains(&model_type)).flat_map(|f| f.heads) {
        if !found.iter().any(|(kind, _)| *kind == row.kind) {
            found.push((row.kind, !row.layers.is_empty()));
        }
    }
    found
}

/// What the names of tensors begin with that belong to heads of other kinds than `kinds`, and to none of these.
#[cfg(feature = "train")]
pub(super) fn tensors_of_others(config: &Value, kinds: &[Kind]) -> Vec<&'static str> {
    let model_type = config["model_type"].as_str().unwrap_or("");
    let rows = || FAMILIES.iter().filter(|f| f.model_types.contains(&model_type)).flat_map(|f| f.heads);
    let wanted: Vec<&str> = rows().filter(|row| kinds.contains(&row.kind)).map(|row| row.tensors).collect();
    let others = rows().map(|row| row.tensors).filter(|tensors| !wanted.contains(tensors));
    let transitions = rows().filter(|row| !kinds.contains(&row.kind)).filter_map(|row| row.crf);
    others.chain(transitions).collect()
}

/// Builds the trunk that `config` describes from the loader's tensors.
///
/// # Errors
/// `Unsupported` for a family or option that is not here, `InvalidFile` for a config that contradicts itself,
/// `InvalidTensor` naming a tensor that is missing or misshapen.
pub(super) fn build(config: &Value, loader: &mut Loader) -> Result<Trunk> {
    let fields = Fields::new("config.json", config)?;
    let model_type = fields.text("model_type")?;
    let Some(family) = FAMILIES.iter().find(|f| f.model_types.contains(&model_type)) else {
        let known: Vec<_> = model_types().collect();
        return fail(
            ErrorKind::Unsupported,
            format!("config.json: model_type {model_type:?} is not supported; supported: {}", known.join(", ")),
        );
    };
    (family.build)(&fields, loader)
}

/// A JSON object and the name of its file.
pub(super) struct Fields<'a> {
    file: &'a str,
    object: &'a Map<String, Value>,
}

/// Sizes beyond this are damage, not models: it keeps products of two sizes far from overflow.
const LARGEST_SIZE: u64 = 1 << 24;

impl<'a> Fields<'a> {
    pub(super) fn new(file: &'a str, value: &'a Value) -> Result<Self> {
        match value.as_object() {
            Some(object) => Ok(Fields { file, object }),
            None => fail(ErrorKind::InvalidFile, format!("{file}: not a JSON object")),
        }
    }

    /// The field, unless it is absent or null.
    pub(super) fn get(&self, name: &str) -> Option<&'a Value> {
        self.object.get(name).filter(|v| !v.is_null())
    }

    /// All fields.
    pub(super) fn object(&self) -> Map<String, Value> {
        self.object.clone()
    }

    /// The fields' names.
    pub(super) fn names(&self) -> impl Iterator<Item = &'a str> {
        self.object.keys().map(String::as_str)
    }

    fn required(&self, name: &str) -> Result<&'a Value> {
        self.get(name).ok_or_else(|| Error::new(ErrorKind::InvalidFile, format!("{}: the field {name:?} is missing", self.file)))
    }

    pub(super) fn wrong<T>(&self, name: &str, expected: &str) -> Result<T> {
        let value = self.object.get(name).map_or_else(String::new, Value::to_string);
        fail(ErrorKind::InvalidFile, format!("{}: {name} = {value}; expected {expected}", self.file))
    }

    pub(super) fn text(&self, name: &str) -> Result<&'a str> {
        self.required(name)?.as_str().map_or_else(|| self.wrong(name, "a string"), Ok)
    }

    /// A size: a whole number from 1 to 2^24.
    pub(super) fn size(&self, name: &str) -> Result<usize> {
        match self.required(name)?.as_u64() {
            Some(n @ 1..=LARGEST_SIZE) => Ok(n as usize),
            _ => self.wrong(name, "a whole number from 1 to 16777216"),
        }
    }

    /// A token's id: a whole number from 0 below 2^24.
    pub(super) fn id_or(&self, name: &str, default: u32) -> Result<u32> {
        match self.get(name).map(Value::as_u64) {
            None => Ok(default),
            Some(Some(id @ 0..LARGEST_SIZE)) => Ok(id as u32),
            Some(_) => self.wrong(name, "a whole number from 0 to 16777215"),
        }
    }

    pub(super) fn size_or(&self, name: &str, default: usize) -> Result<usize> {
        if self.get(name).is_none() { Ok(default) } else { self.size(name) }
    }

    pub(super) fn flag_or(&self, name: &str, default: bool) -> Result<bool> {
        match self.get(name) {
            None => Ok(default),
            Some(v) => v.as_bool().map_or_else(|| self.wrong(name, "true or false"), Ok),
        }
    }

    /// A small positive number, such as the epsilon of a norm.
    pub(super) fn epsilon_or(&self, name: &str, default: f32) -> Result<f32> {
        match self.get(name).map(Value::as_f64) {
            None => Ok(default),
            Some(Some(e)) if (0.0..1.0).contains(&e) => Ok(e as f32),
            Some(_) => self.wrong(name, "a number from 0 to 1"),
        }
    }

    /// The activation that `name` says, by the names of `transformers`.
    pub(super) fn activation(&self, name: &str) -> Result<Activation> {
        let said = self.text(name)?;
        match ACTIVATIONS.iter().find(|(n, _)| *n == said) {
            Some((_, activation)) => Ok(*activation),
            None => {
                let known: Vec<_> = ACTIVATIONS.iter().map(|(n, _)| *n).collect();
                fail(ErrorKind::Unsupported, format!("{}: {name} {said:?} is not supported; supported: {}", self.file, known.join(", ")))
            }
        }
    }

    /// As [`Fields::activation`]; `default` where the field is absent.
    pub(super) fn activation_or(&self, name: &str, default: Activation) -> Result<Activation> {
        if self.get(name).is_none() { Ok(default) } else { self.activation(name) }
    }

    /// Refuses a field that has any other value than `only` (absent is fine).
    pub(super) fn only(&self, name: &str, only: &Value) -> Result<()> {
        match self.get(name) {
            Some(v) if v != only => fail(ErrorKind::Unsupported, format!("{}: {name} = {v} is not supported, only {only}", self.file)),
            _ => Ok(()),
        }
    }
}

/// Names of `transformers` for the activations that BERT checkpoints use.
const ACTIVATIONS: &[(&str, Activation)] = &[
    ("gelu", Activation::Gelu),
    ("gelu_python", Activation::Gelu),
    ("gelu_new", Activation::GeluTanh),
    ("gelu_pytorch_tanh", Activation::GeluTanh),
    ("gelu_fast", Activation::GeluTanh),
    ("relu", Activation::Relu),
    ("tanh", Activation::Tanh),
    ("linear", Activation::Identity),
    ("silu", Activation::Silu),
    ("swish", Activation::Silu),
];

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn wrong_fields_are_named() {
        let value = json!({"a": -1, "b": 1.5, "c": "x", "d": 99_999_999_999u64, "e": 0, "act": "mish"});
        let fields = Fields::new("config.json", &value).unwrap();
        for name in ["a", "b", "c", "d", "e", "missing"] {
            let e = fields.size(name).unwrap_err();
            assert_eq!(e.kind(), ErrorKind::InvalidFile);
            assert!(e.message().contains(name), "{e}");
        }
        assert!(fields.activation("act").unwrap_err().message().contains("mish"));
        assert!(fields.only("c", &json!("y")).is_err());
        assert!(fields.only("absent", &json!("y")).is_ok());
    }
}
