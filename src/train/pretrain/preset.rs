//! Which sizes does a model from nothing have?
//!
//! The models of Turc et al., Well-Read Students Learn Better (2019), and BERT's own two (Devlin et al., 2018), as rows.

use serde_json::{Value, json};

/// A size by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preset {
    /// What it is called.
    pub name: &'static str,
    layers: usize,
    hidden: usize,
    heads: usize,
}

/// Every preset.
pub const PRESETS: &[Preset] = &[
    Preset { name: "bert-tiny", layers: 2, hidden: 128, heads: 2 },
    Preset { name: "bert-mini", layers: 4, hidden: 256, heads: 4 },
    Preset { name: "bert-small", layers: 4, hidden: 512, heads: 8 },
    Preset { name: "bert-medium", layers: 8, hidden: 512, heads: 8 },
    Preset { name: "bert-base", layers: 12, hidden: 768, heads: 12 },
    Preset { name: "bert-large", layers: 24, hidden: 1024, heads: 16 },
];

impl Preset {
    /// The config.json of such a model over a vocabulary, as `transformers` reads it.
    pub fn config(&self, vocabulary: usize, padding: Option<u32>) -> Value {
        json!({
            "architectures": ["BertForPreTraining"],
            "attention_probs_dropout_prob": 0.1,
            "hidden_act": "gelu",
            "hidden_dropout_prob": 0.1,
            "hidden_size": self.hidden,
            "initializer_range": 0.02,
            "intermediate_size": 4 * self.hidden,
            "layer_norm_eps": 1e-12,
            "max_position_embeddings": 512,
            "model_type": "bert",
            "num_attention_heads": self.heads,
            "num_hidden_layers": self.layers,
            "pad_token_id": padding.unwrap_or(0),
            "type_vocab_size": 2,
            "vocab_size": vocabulary,
        })
    }
}
