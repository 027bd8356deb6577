//! NomicBERT: BERT with rotary positions, gated feed-forward layers (SwiGLU), and no biases but those of norms and heads.
//!
//! Nussbaum et al., Nomic Embed: Training a Reproducible Long Context Text Embedder (2024). Checkpoints come with two forms of
//! config.json: that of `transformers` 5, and the authors' own, whose names are GPT-2's; their tensors have the same names.

use serde_json::{Value, json};

use super::bert::{BERT, CLASSIFY, TAG};
use super::config::Fields;
use super::heads::{Activates, Input, Kind, LayerRow, Row, Width};
use super::loader::Loader;
use super::postnorm::{self, Biases, Family, LayerNames, Settings, Table};
use super::rotary;
use super::trunk::{Sizes, Trunk};
use crate::engine::graph::{Activation, Half, Rotary};
use crate::error::Result;

const NOMIC: Family = Family {
    name: "nomic_bert",
    prefix: "nomic_bert.",
    tables: &[Table::Words("embeddings.word_embeddings"), Table::Segments("embeddings.token_type_embeddings")],
    embedding_norm: "emb_ln",
    layers: |_, sizes| Ok((0..sizes.layers).map(|layer| format!("encoder.layers.{layer}.")).collect()),
    names: LayerNames { mixed: "attn.out_proj", mixed_norm: "norm1", down: "mlp.fc2", norm: "norm2", ..BERT.names },
    fused: Some("attn.Wqkv"),
    gated: Some((&["mlp.fc12", "mlp.fc11"], Half::First)),
    biases: Biases { attention: false, up: false, down: false },
    rotary: |config, sizes| {
        config.only("head_dim", &json!(sizes.hidden / sizes.heads))?;
        turned(sizes, rotary::of(config, 1000.0)?)
    },
    heads: HEADS,
    ..BERT
};

/// The authors' own form of config.json.
const AUTHORS: Family = Family {
    settings: Settings {
        hidden: "n_embd",
        layers: "n_layer",
        heads: "n_head",
        intermediate: "n_inner",
        activation: "activation_function",
        epsilon: Some("layer_norm_epsilon"),
        segments: 2,
    },
    length: "n_positions",
    activation: Some(Activation::Silu),
    rotary: |config, sizes| {
        // What no graph here has.
        config.only("activation_function", &json!("swiglu"))?;
        for field in
            ["prenorm", "use_rms_norm", "parallel_block", "rotary_emb_interleaved", "qkv_proj_bias", "mlp_fc1_bias", "mlp_fc2_bias"]
        {
            config.only(field, &json!(false))?;
        }
        for field in ["rotary_scaling_factor", "rotary_emb_scale_base"] {
            config.only(field, &Value::Null)?;
        }
        if config.get("rotary_emb_fraction").is_some_and(|fraction| fraction.as_f64() != Some(1.0)) {
            return config.wrong("rotary_emb_fraction", "1");
        }
        turned(sizes, rotary::base(config, "rotary_emb_base", 10_000.0)?)
    },
    ..NOMIC
};

fn turned(sizes: &Sizes, base: f64) -> Result<Option<Rotary>> {
    rotary::whole_heads(sizes, base).map(Some)
}

/// The heads of its classes in `transformers`.
pub(super) const HEADS: &[Row] = &[
    CLASSIFY,
    TAG,
    Row {
        kind: Kind::FillMask,
        classes: &["ForMaskedLM", "ForPreTraining"],
        tensors: "cls.predictions.",
        input: Input::Picked,
        crf: None,
        layers: &[
            LayerRow::Linear {
                name: "cls.predictions.transform.dense",
                width: Width::Hidden,
                activation: Activates::AsOr("hidden_act", Activation::Silu),
            },
            LayerRow::Norm { name: "cls.predictions.transform.layer_norm" },
            LayerRow::Decoder {
                weight: "cls.predictions.decoder.weight",
                biases: &["cls.predictions.decoder.bias", "cls.predictions.bias"],
            },
        ],
    },
];

/// Builds the trunk.
pub(super) fn build(config: &Fields<'_>, loader: &mut Loader) -> Result<Trunk> {
    let family = if config.get("n_embd").is_some() { const { &AUTHORS } } else { const { &NOMIC } };
    postnorm::build(family, config, loader)
}
