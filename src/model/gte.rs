//! GTE: BERT with rotary positions and gated feed-forward layers (GeGLU), which have no bias in front of the gate.
//!
//! Zhang et al., mGTE: Generalized Long-Context Text Representation and Reranking Models for Multilingual Text Retrieval (2024).
//! A model without segments states 0 of them. Checkpoints come with two forms of config.json: that of `transformers` 5, `gte`, and the
//! authors' own, `new`, whose code comes with the checkpoints; positions may be stretched there.

use serde_json::{Value, json};

use super::bert::{BERT, CHOOSE, CLASSIFY, EXTRACT, TAG};
use super::config::Fields;
use super::heads::{Activates, Input, Kind, LayerRow, Row, Width};
use super::loader::Loader;
use super::postnorm::{self, Biases, Family, LayerNames, Table};
use super::rotary;
use super::trunk::Trunk;
use crate::engine::graph::{Activation, Half, Rotary};
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

/// The authors' own form of config.json, whose numbers are those of its code where they are not stated.
const NEW: Family = Family {
    name: "new",
    prefix: "new.",
    rotary: |config, sizes| {
        let head_size = sizes.hidden / sizes.heads;
        rotary::whole_heads(sizes, 10_000.0)?;
        Ok(Some(Rotary { head_size, frequencies: rotary::stretched(config, 10_000.0, head_size)? }))
    },
    heads: NEW_HEADS,
    ..GTE
};

/// With queries, keys and values apart.
const APART: Family = Family {
    fused: None,
    names: LayerNames { query: "attention.q_proj", key: "attention.k_proj", value: "attention.v_proj", ..NEW.names },
    ..NEW
};

/// Words for blanks; the activation is the model's.
const FILL_MASK: Row = Row {
    kind: Kind::FillMask,
    classes: &["ForMaskedLM"],
    tensors: "lm_head.",
    input: Input::Picked,
    crf: None,
    layers: &[
        LayerRow::Linear { name: "lm_head.dense", width: Width::Hidden, activation: Activates::As("hidden_act") },
        LayerRow::Norm { name: "lm_head.norm" },
        LayerRow::Decoder { weight: "lm_head.decoder.weight", biases: &["lm_head.decoder.bias"] },
    ],
};

/// The heads of its classes in `transformers`.
pub(super) const HEADS: &[Row] = &[
    CLASSIFY,
    TAG,
    Row {
        layers: &[
            LayerRow::Linear { name: "lm_head.dense", width: Width::Hidden, activation: Activates::With(Activation::Gelu) },
            LayerRow::Norm { name: "lm_head.norm" },
            LayerRow::Decoder { weight: "lm_head.decoder.weight", biases: &["lm_head.decoder.bias"] },
        ],
        ..FILL_MASK
    },
];

/// Those of the authors' code.
pub(super) const NEW_HEADS: &[Row] = &[CLASSIFY, TAG, EXTRACT, FILL_MASK, CHOOSE];

/// Builds the trunk.
pub(super) fn build(config: &Fields<'_>, loader: &mut Loader) -> Result<Trunk> {
    postnorm::build(const { &GTE }, config, loader)
}

/// Builds the trunk of a model in the authors' form.
pub(super) fn build_new(config: &Fields<'_>, loader: &mut Loader) -> Result<Trunk> {
    // What no graph here has.
    config.only("layer_norm_type", &json!("layer_norm"))?;
    for field in ["logn_attention_scale", "logn_attention_clip1"] {
        config.only(field, &json!(false))?;
    }
    config.only("rope_parameters", &Value::Null)?;
    let family = if config.flag_or("pack_qkv", true)? { const { &NEW } } else { const { &APART } };
    postnorm::build(family, config, loader)
}
