//! RoBERTa, CamemBERT, XLM-RoBERTa, CodeBERT: BERT with positions counted from behind the padding id.
//!
//! Liu et al., RoBERTa: A Robustly Optimized BERT Pretraining Approach (2019); Conneau et al., Unsupervised Cross-lingual
//! Representation Learning at Scale (2020); Martin et al., CamemBERT (2020). The first token has position `pad_token_id` + 1, which
//! leaves as many fewer positions than the table has rows; a padding token in a text takes none. There is one segment. Classifiers
//! read the first token rather than a pooler.

use super::bert::{BERT, CHOOSE, EXTRACT, TAG, dense, linear};
use super::config::Fields;
use super::heads::{Input, Kind, LayerRow, Row, Width};
use super::loader::Loader;
use super::postnorm::{self, Family, Positions};
use super::trunk::Trunk;
use crate::engine::graph::Activation;
use crate::error::Result;

const ROBERTA: &Family = &Family {
    name: "roberta",
    prefix: "roberta.",
    positions: Positions::AfterPadding { stated: Some("pad_token_id"), id: 1 },
    heads: HEADS,
    ..BERT
};

/// A classifier of two layers on the first token.
const CLASSIFY: Row = Row {
    kind: Kind::Classify,
    classes: &["ForSequenceClassification"],
    tensors: "classifier.",
    input: Input::First,
    crf: None,
    layers: &[dense("classifier.dense", Width::Hidden, Activation::Tanh), linear("classifier.out_proj", Width::Labels)],
};

const FILL_MASK: Row = Row {
    kind: Kind::FillMask,
    classes: &["ForMaskedLM"],
    tensors: "lm_head.",
    input: Input::Picked,
    crf: None,
    layers: &[
        dense("lm_head.dense", Width::Hidden, Activation::Gelu),
        LayerRow::Norm { name: "lm_head.layer_norm" },
        LayerRow::Decoder { weight: "lm_head.decoder.weight", biases: &["lm_head.decoder.bias", "lm_head.bias"] },
    ],
};

pub(super) const HEADS: &[Row] = &[CLASSIFY, TAG, EXTRACT, FILL_MASK, CHOOSE];

/// Builds the trunk.
pub(super) fn build(config: &Fields<'_>, loader: &mut Loader) -> Result<Trunk> {
    postnorm::build(ROBERTA, config, loader)
}
