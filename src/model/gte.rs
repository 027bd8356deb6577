//! GTE: BERT with rotary positions and gated feed-forward layers (GeGLU), which have no bias in front of the gate.
//!
//! Zhang et al., mGTE: Generalized Long-Context Text Representation and Reranking Models for Multilingual Text Retrieval (2024).
//! A model without segments states 0 of them.

use super::bert::{BERT, CLASSIFY, TAG};
use super::config::Fields;
use super::heads::{Activates, Input, Kind, LayerRow, Row, Width};
use super::loader::Loader;
use super::postnorm::{self, Biases, Family, LayerNames, Table};
use super::rotary;
use super::trunk::Trunk;
use crate::engine::graph::{Activation, Half};
use crate::error::Result;

const GTE: Family = Family {
    name: "gte",
    prefix: "gte.",
    tables: &[Table::Words("embeddings.word_embeddings"), Table::Segments("embeddings.token_type_embeddings")],
    names: LayerNames { mixed: "attention.o_proj", mixed_norm: "attn_ln", down: "mlp.down_proj", norm: "mlp_ln", ..BERT.names },
    fused: Some("attention.qkv_proj"),
    gated: Some((&["mlp.up_gate_proj"], Half::Second)),
    biases: Biases { attention: true, up: false, down: true },
    rotary: |config, sizes| rotary::whole_heads(sizes, rotary::of(config, 160_000.0)?).map(Some),
    position_kind: "rope",
    heads: HEADS,
    ..BERT
};

/// The heads of its classes in `transformers`.
pub(super) const HEADS: &[Row] = &[
    CLASSIFY,
    TAG,
    Row {
        kind: Kind::FillMask,
        classes: &["ForMaskedLM"],
        tensors: "lm_head.",
        input: Input::Picked,
        crf: None,
        layers: &[
            LayerRow::Linear { name: "lm_head.dense", width: Width::Hidden, activation: Activates::With(Activation::Gelu) },
            LayerRow::Norm { name: "lm_head.norm" },
            LayerRow::Decoder { weight: "lm_head.decoder.weight", biases: &["lm_head.decoder.bias"] },
        ],
    },
];

/// Builds the trunk.
pub(super) fn build(config: &Fields<'_>, loader: &mut Loader) -> Result<Trunk> {
    postnorm::build(const { &GTE }, config, loader)
}
