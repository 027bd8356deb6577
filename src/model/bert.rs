//! BERT, the description that the other post-norm families differ from.
//!
//! Devlin et al., BERT: Pre-training of Deep Bidirectional Transformers for Language Understanding (2018): the sum of token,
//! segment and position embeddings, normalised; then layers of self-attention and feed-forward, each followed by a residual
//! norm. Chinese BERT, MacBERT, MiniLM, TinyBERT, SpanBERT, BioBERT and others are the same graph with other sizes and vocabularies.

use super::config::Fields;
use super::heads::{Activates, Input, Kind, LayerRow, Row, Width};
use super::jina_bert;
use super::loader::Loader;
use super::postnorm::{self, Biases, Family, LayerNames, Positions, Settings, Table};
use super::trunk::Trunk;
use crate::engine::graph::Activation;
use crate::error::Result;

/// BERT.
pub(super) const BERT: Family = Family {
    name: "bert",
    prefix: "bert.",
    settings: Settings {
        hidden: "hidden_size",
        layers: "num_hidden_layers",
        heads: "num_attention_heads",
        intermediate: "intermediate_size",
        activation: "hidden_act",
        epsilon: Some("layer_norm_eps"),
        segments: 2,
    },
    tables: &[
        Table::Words("embeddings.word_embeddings"),
        Table::Segments("embeddings.token_type_embeddings"),
        Table::Positions("embeddings.position_embeddings"),
    ],
    positions: Positions::FromZero,
    embedding_norm: "embeddings.LayerNorm",
    projection: None,
    layers: postnorm::own_layers,
    names: LayerNames {
        query: "attention.self.query",
        key: "attention.self.key",
        value: "attention.self.value",
        mixed: "attention.output.dense",
        mixed_norm: "attention.output.LayerNorm",
        up: "intermediate.dense",
        down: "output.dense",
        norm: "output.LayerNorm",
    },
    fused: None,
    gated: None,
    biases: Biases { attention: true, up: true, down: true },
    rotary: postnorm::no_rotary,
    position_kind: "absolute",
    length: "max_position_embeddings",
    activation: None,
    bias: postnorm::no_bias,
    norms_first: None,
    pooler: Some("pooler.dense"),
    heads: HEADS,
};

/// A layer of a head, with an activation.
pub(super) const fn dense(name: &'static str, width: Width, activation: Activation) -> LayerRow {
    LayerRow::Linear { name, width, activation: Activates::With(activation) }
}

/// A head of one linear layer.
pub(super) const fn linear(name: &'static str, width: Width) -> LayerRow {
    dense(name, width, Activation::Identity)
}

/// Labels of tokens: alike in all families.
pub(super) const TAG: Row = Row {
    kind: Kind::Tag,
    classes: &["ForTokenClassification"],
    tensors: "classifier.",
    input: Input::Tokens,
    crf: Some(super::crf::TENSORS),
    layers: &[linear("classifier", Width::Labels)],
};

/// Start and end of an answer: alike in all families.
pub(super) const EXTRACT: Row = Row {
    kind: Kind::Extract,
    classes: &["ForQuestionAnswering"],
    tensors: "qa_outputs.",
    input: Input::Tokens,
    crf: None,
    layers: &[linear("qa_outputs", Width::Fixed(2))],
};

/// Labels of texts, from the pooler.
pub(super) const CLASSIFY: Row = Row {
    kind: Kind::Classify,
    classes: &["ForSequenceClassification"],
    tensors: "classifier.",
    input: Input::Pooler,
    crf: None,
    layers: &[linear("classifier", Width::Labels)],
};

/// The last layer of [`CHOOSE`], alike in all families.
pub(super) const CHOICE: LayerRow = linear("classifier", Width::Fixed(1));

/// How well a choice fits, from the pooler.
pub(super) const CHOOSE: Row = Row {
    kind: Kind::MultipleChoice,
    classes: &["ForMultipleChoice"],
    tensors: "classifier.",
    input: Input::Pooler,
    crf: None,
    layers: &[CHOICE],
};

/// From a blank's hidden state to the words for it.
pub(super) const PREDICTIONS: &[LayerRow] = &[
    LayerRow::Linear { name: "cls.predictions.transform.dense", width: Width::Embedding, activation: Activates::As("hidden_act") },
    LayerRow::Norm { name: "cls.predictions.transform.LayerNorm" },
    LayerRow::Decoder { weight: "cls.predictions.decoder.weight", biases: &["cls.predictions.decoder.bias", "cls.predictions.bias"] },
];

/// Whether the second text follows the first.
pub(super) const NEXT_SENTENCE: Row = Row {
    kind: Kind::NextSentence,
    classes: &["ForNextSentencePrediction", "ForPreTraining"],
    tensors: "cls.seq_relationship.",
    input: Input::Pooler,
    crf: None,
    layers: &[linear("cls.seq_relationship", Width::Fixed(2))],
};

/// Words for blanks.
pub(super) const FILL_MASK: Row = Row {
    kind: Kind::FillMask,
    classes: &["ForMaskedLM", "ForPreTraining"],
    tensors: "cls.predictions.",
    input: Input::Picked,
    crf: None,
    layers: PREDICTIONS,
};

/// The heads of BERT's classes in `transformers`. Where several have the same tensors, see `heads::take`.
pub(super) const HEADS: &[Row] = &[CLASSIFY, NEXT_SENTENCE, TAG, EXTRACT, FILL_MASK, CHOOSE];

/// Builds the trunk.
pub(super) fn build(config: &Fields<'_>, loader: &mut Loader) -> Result<Trunk> {
    if config.get("position_embedding_type").is_some_and(|kind| kind == jina_bert::ALIBI) {
        return jina_bert::build(config, loader);
    }
    postnorm::build(const { &BERT }, config, loader)
}
