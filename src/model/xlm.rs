//! XLM: BERT over many languages, each with an embedding of its own; and FlauBERT, the same over one.
//!
//! Lample and Conneau, Cross-lingual Language Model Pretraining (2019); Le et al., FlauBERT (2020). Where config.json has several languages and `use_lang_emb`, a
//! request may choose one, whose embedding is added to each token's; without a choice nothing is added, as in the reference. Position
//! embeddings are learned, or sines and cosines, which checkpoints store all the same. FlauBERT's small and large models have their norms before
//! attention and before the feed-forward part (`pre_norm`), and none at the end. As `XLMModel` and `FlaubertModel` of `transformers`.

use serde_json::{Value, json};

use super::bert::{BERT, CHOOSE, TAG, linear};
use super::config::Fields;
use super::heads::{Input, Kind, LayerRow, Row, Width};
use super::loader::Loader;
use super::postnorm::{self, Family, LayerNames, Settings, Table};
use super::trunk::Trunk;
use crate::error::Result;

const XLM: Family = Family {
    name: "xlm",
    prefix: "transformer.",
    settings: Settings {
        hidden: "emb_dim",
        layers: "n_layers",
        heads: "n_heads",
        intermediate: "intermediate_size",
        activation: "hidden_act",
        epsilon: Some("layer_norm_eps"),
        segments: 0,
    },
    tables: &[Table::Words("embeddings"), Table::Positions("position_embeddings"), Table::Languages("lang_embeddings")],
    embedding_norm: "layer_norm_emb",
    layers: |_, sizes| Ok((0..sizes.layers).map(|layer| layer.to_string()).collect()),
    names: LayerNames {
        query: "attentions.{}.q_lin",
        key: "attentions.{}.k_lin",
        value: "attentions.{}.v_lin",
        mixed: "attentions.{}.out_lin",
        mixed_norm: "layer_norm1.{}",
        up: "ffns.{}.lin1",
        down: "ffns.{}.lin2",
        norm: "layer_norm2.{}",
    },
    pooler: None,
    heads: HEADS,
    ..BERT
};

const FLAUBERT: Family = Family { norms_first: Some("pre_norm"), ..XLM };

/// The heads of its classes in `transformers`.
pub(super) const HEADS: &[Row] = &[
    // In front: a classifier has the first of these layers alone.
    Row {
        tensors: "logits_proj.",
        input: Input::First,
        layers: &[linear("sequence_summary.summary", Width::Own), linear("logits_proj", Width::Fixed(1))],
        ..CHOOSE
    },
    Row {
        kind: Kind::Classify,
        classes: &["ForSequenceClassification"],
        tensors: "sequence_summary.",
        input: Input::First,
        crf: None,
        layers: &[linear("sequence_summary.summary", Width::Labels)],
    },
    TAG,
    Row {
        kind: Kind::Extract,
        classes: &["ForQuestionAnsweringSimple"],
        tensors: "qa_outputs.",
        input: Input::Tokens,
        crf: None,
        layers: &[linear("qa_outputs", Width::Fixed(2))],
    },
    Row {
        kind: Kind::FillMask,
        classes: &["WithLMHeadModel"],
        tensors: "pred_layer.",
        input: Input::Picked,
        crf: None,
        layers: &[LayerRow::Decoder { weight: "pred_layer.proj.weight", biases: &["pred_layer.proj.bias"] }],
    },
];

/// Builds the trunk.
pub(super) fn build(config: &Fields<'_>, loader: &mut Loader) -> Result<Trunk> {
    config.only("is_encoder", &json!(true))?;
    config.only("causal", &json!(false))?;
    config.only("asm", &json!(false))?;
    if loader.has_any("sequence_summary.") {
        config.only("summary_type", &json!("first"))?;
        config.only("summary_use_proj", &json!(true))?;
        config.only("summary_proj_to_labels", &json!(true))?;
        config.only("summary_activation", &Value::Null)?;
    }
    let config = completed(config)?;
    let family = if config["model_type"] == "flaubert" { const { &FLAUBERT } } else { const { &XLM } };
    postnorm::build(family, &Fields::new("config.json", &config)?, loader)
}

/// config.json with what it does not state, in the words of other families.
fn completed(config: &Fields<'_>) -> Result<Value> {
    let mut object = config.object();
    let activation = if config.flag_or("gelu_activation", true)? { "gelu" } else { "relu" };
    object.insert("hidden_act".to_owned(), json!(activation));
    object.insert("intermediate_size".to_owned(), json!(4 * config.size("emb_dim")?));
    // Its name before version 4 of `transformers`.
    if let (None, Some(words)) = (config.get("vocab_size"), config.get("n_words")) {
        object.insert("vocab_size".to_owned(), words.clone());
    }
    Ok(Value::Object(object))
}
