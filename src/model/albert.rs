//! ALBERT: BERT whose layers share their weights, with narrow embeddings.
//!
//! Lan et al., ALBERT: A Lite BERT for Self-supervised Learning of Language Representations (2020). Layers fall into groups
//! (`num_hidden_groups`, usually one) of `inner_group_num` sets of weights; a layer applies its group's sets one after another. Each
//! set is loaded once. Of two texts in order the sentence-order head says whether they are: its answer has the form of BERT's
//! next-sentence head.

use super::bert::{BERT, CHOOSE, CLASSIFY, EXTRACT, TAG, linear};
use super::config::Fields;
use super::heads::{Activates, Input, Kind, LayerRow, Row, Width};
use super::loader::Loader;
use super::postnorm::{self, Family, LayerNames, Projection};
use super::trunk::{Sizes, Trunk};
use crate::error::{ErrorKind, Result, fail};

const ALBERT: &Family = &Family {
    name: "albert",
    prefix: "albert.",
    projection: Some(Projection { name: "encoder.embedding_hidden_mapping_in", always: true }),
    layers,
    names: LayerNames {
        query: "attention.query",
        key: "attention.key",
        value: "attention.value",
        mixed: "attention.dense",
        mixed_norm: "attention.LayerNorm",
        up: "ffn",
        down: "ffn_output",
        norm: "full_layer_layer_norm",
    },
    pooler: Some("pooler"),
    heads: HEADS,
    ..BERT
};

/// Layer `i` of `n` belongs to group `i / (n / groups)`.
fn layers(config: &Fields<'_>, sizes: &Sizes) -> Result<Vec<String>> {
    let (groups, inner) = (config.size_or("num_hidden_groups", 1)?, config.size_or("inner_group_num", 1)?);
    if groups > sizes.layers || inner > 1024 {
        let told =
            format!("config.json: num_hidden_groups {groups} of inner_group_num {inner} do not fit num_hidden_layers {}", sizes.layers);
        return fail(ErrorKind::InvalidFile, told);
    }
    // As in `transformers`, by a quotient in floating point.
    let group = |layer: usize| (layer as f64 / (sizes.layers as f64 / groups as f64)) as usize;
    let set = |layer: usize, inner: usize| format!("encoder.albert_layer_groups.{}.albert_layers.{inner}.", group(layer));
    Ok((0..sizes.layers).flat_map(|layer| (0..inner).map(move |inner| set(layer, inner))).collect())
}

pub(super) const HEADS: &[Row] = &[
    CLASSIFY,
    Row {
        kind: Kind::NextSentence,
        classes: &["ForPreTraining"],
        tensors: "sop_classifier.",
        input: Input::Pooler,
        crf: None,
        layers: &[linear("sop_classifier.classifier", Width::Fixed(2))],
    },
    TAG,
    EXTRACT,
    Row {
        kind: Kind::FillMask,
        classes: &["ForMaskedLM", "ForPreTraining"],
        tensors: "predictions.",
        input: Input::Picked,
        crf: None,
        layers: &[
            LayerRow::Linear { name: "predictions.dense", width: Width::Embedding, activation: Activates::As("hidden_act") },
            LayerRow::Norm { name: "predictions.LayerNorm" },
            LayerRow::Decoder { weight: "predictions.decoder.weight", biases: &["predictions.decoder.bias", "predictions.bias"] },
        ],
    },
    CHOOSE,
];

/// Builds the trunk.
pub(super) fn build(config: &Fields<'_>, loader: &mut Loader) -> Result<Trunk> {
    postnorm::build(ALBERT, config, loader)
}
