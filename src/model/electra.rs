//! ELECTRA: BERT with embeddings of a width of their own, and without a pooler.
//!
//! Clark et al., ELECTRA: Pre-training Text Encoders as Discriminators Rather Than Generators (2020). A discriminator tells for each
//! token whether it was replaced; a generator, the smaller model beside it, fills blanks. Classifiers read the first token, with GELU
//! where RoBERTa's have tanh.

use serde_json::json;

use super::bert::{BERT, CHOICE, CHOOSE, EXTRACT, TAG, dense, linear};
use super::config::Fields;
use super::heads::{Activates, Input, Kind, LayerRow, Row, Width};
use super::loader::Loader;
use super::postnorm::{self, Family, Projection};
use super::trunk::Trunk;
use crate::engine::graph::Activation;
use crate::error::Result;

const ELECTRA: &Family = &Family {
    name: "electra",
    prefix: "electra.",
    projection: Some(Projection { name: "embeddings_project", always: false }),
    pooler: None,
    heads: HEADS,
    ..BERT
};

pub(super) const HEADS: &[Row] = &[
    // In front: the other classifiers have no summary.
    Row { tensors: "sequence_summary.", input: Input::First, layers: &[SUMMARY, CHOICE], ..CHOOSE },
    Row {
        kind: Kind::Classify,
        classes: &["ForSequenceClassification"],
        tensors: "classifier.",
        input: Input::First,
        crf: None,
        layers: &[dense("classifier.dense", Width::Hidden, Activation::Gelu), linear("classifier.out_proj", Width::Labels)],
    },
    TAG,
    EXTRACT,
    Row {
        kind: Kind::Replaced,
        classes: &["ForPreTraining"],
        tensors: "discriminator_predictions.",
        input: Input::Tokens,
        crf: None,
        layers: &[
            LayerRow::Linear { name: "discriminator_predictions.dense", width: Width::Hidden, activation: Activates::As("hidden_act") },
            linear("discriminator_predictions.dense_prediction", Width::Fixed(1)),
        ],
    },
    Row {
        kind: Kind::FillMask,
        classes: &["ForMaskedLM"],
        tensors: "generator_",
        input: Input::Picked,
        crf: None,
        layers: &[
            dense("generator_predictions.dense", Width::Embedding, Activation::Gelu),
            LayerRow::Norm { name: "generator_predictions.LayerNorm" },
            LayerRow::Decoder { weight: "generator_lm_head.weight", biases: &["generator_lm_head.bias"] },
        ],
    },
];

/// Between the first token and the head of choices.
const SUMMARY: LayerRow = LayerRow::Linear {
    name: "sequence_summary.summary",
    width: Width::Hidden,
    activation: Activates::AsOr("summary_activation", Activation::Gelu),
};

/// Builds the trunk.
pub(super) fn build(config: &Fields<'_>, loader: &mut Loader) -> Result<Trunk> {
    if loader.has_any("sequence_summary.") {
        config.only("summary_type", &json!("first"))?;
        config.only("summary_use_proj", &json!(true))?;
        config.only("summary_proj_to_labels", &json!(false))?;
    }
    postnorm::build(ELECTRA, config, loader)
}
