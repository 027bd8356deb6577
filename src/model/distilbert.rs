//! DistilBERT: BERT without segments and without a pooler, under names of its own.
//!
//! Sanh et al., DistilBERT, a distilled version of BERT (2019). A classifier reads the first token through a layer with ReLU. The
//! epsilon of norms is 1e-12 and no setting.

use super::bert::{BERT, CHOICE, CHOOSE, EXTRACT, TAG, dense, linear};
use super::config::Fields;
use super::heads::{Activates, Input, Kind, LayerRow, Row, Width};
use super::loader::Loader;
use super::postnorm::{self, Family, LayerNames, Settings, Table};
use super::trunk::{Sizes, Trunk};
use crate::engine::graph::Activation;
use crate::error::Result;

const DISTILBERT: &Family = &Family {
    name: "distilbert",
    prefix: "distilbert.",
    settings: Settings {
        hidden: "dim",
        layers: "n_layers",
        heads: "n_heads",
        intermediate: "hidden_dim",
        activation: "activation",
        epsilon: None,
        segments: 2,
    },
    tables: &[Table::Words("embeddings.word_embeddings"), Table::Positions("embeddings.position_embeddings")],
    layers,
    names: LayerNames {
        query: "attention.q_lin",
        key: "attention.k_lin",
        value: "attention.v_lin",
        mixed: "attention.out_lin",
        mixed_norm: "sa_layer_norm",
        up: "ffn.lin1",
        down: "ffn.lin2",
        norm: "output_layer_norm",
    },
    pooler: None,
    heads: HEADS,
    ..BERT
};

fn layers(_: &Fields<'_>, sizes: &Sizes) -> Result<Vec<String>> {
    Ok((0..sizes.layers).map(|layer| format!("transformer.layer.{layer}.")).collect())
}

pub(super) const HEADS: &[Row] = &[
    Row {
        kind: Kind::Classify,
        classes: &["ForSequenceClassification"],
        tensors: "pre_classifier.",
        input: Input::First,
        crf: None,
        layers: &[dense("pre_classifier", Width::Hidden, Activation::Relu), linear("classifier", Width::Labels)],
    },
    Row {
        tensors: "pre_classifier.",
        input: Input::First,
        layers: &[dense("pre_classifier", Width::Hidden, Activation::Relu), CHOICE],
        ..CHOOSE
    },
    TAG,
    EXTRACT,
    Row {
        kind: Kind::FillMask,
        classes: &["ForMaskedLM"],
        tensors: "vocab_",
        input: Input::Picked,
        crf: None,
        layers: &[
            LayerRow::Linear { name: "vocab_transform", width: Width::Hidden, activation: Activates::As("activation") },
            LayerRow::Norm { name: "vocab_layer_norm" },
            LayerRow::Decoder { weight: "vocab_projector.weight", biases: &["vocab_projector.bias"] },
        ],
    },
];

/// Builds the trunk.
pub(super) fn build(config: &Fields<'_>, loader: &mut Loader) -> Result<Trunk> {
    postnorm::build(DISTILBERT, config, loader)
}
