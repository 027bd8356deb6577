//! ELECTRA: BERT with embeddings of a width of their own, and without a pooler.
//!
//! Clark et al., ELECTRA: Pre-training Text Encoders as Discriminators Rather Than Generators (2020). A discriminator tells for each
//! token whether it was replaced; a generator, the smaller model beside it, fills blanks. Classifiers read the first token, with GELU
//! where RoBERTa's have tanh.

use super::bert::{BERT, EXTRACT, TAG, choose, dense, linear};
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
    choose("classifier.", Input::First),
    choose("sequence_summary.", Input::First),
];

/// Builds the trunk.
pub(super) fn build(config: &Fields<'_>, loader: &mut Loader) -> Result<Trunk> {
    postnorm::build(ELECTRA, config, loader)
}
