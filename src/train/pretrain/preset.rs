//! Which family and sizes does a model from nothing have?
//!
//! A [`Preset`] is a row: a name, a [`Family`] and its sizes. Sizes are those of the papers (BERT: Devlin et al., 2018, and Turc et al., Well-Read
//! Students Learn Better, 2019; RoBERTa: Liu et al., 2019; ALBERT: Lan et al., 2020; ELECTRA: Clark et al., 2020; DistilBERT: Sanh et al., 2019;
//! DeBERTaV3: He et al., 2023; ModernBERT: Warner et al., 2024; GPT-2: Radford et al., 2019); those called `tiny` are BERT-tiny's, for trying things
//! out. A family says in its own words what config.json has.

use serde_json::{Value, json};

/// A family and a size, by name.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// What it is called.
    pub name: &'static str,
    /// The family's config.json.
    family: &'static Family,
    layers: usize,
    hidden: usize,
    heads: usize,
    intermediate: usize,
    /// The width of embeddings, where they have one of their own.
    embedding: usize,
}

/// What config.json of a family has.
#[derive(Debug)]
struct Family {
    model_type: &'static str,
    /// The class that has the family's objective, for those who read config.json before a run has named it.
    class: &'static str,
    /// The padding token where the tokenizer has none.
    padding: u32,
    /// Fields of sizes, and fields of its own.
    fields: fn(&Preset, usize) -> Value,
}

/// BERT's dropout, positions and first weights.
fn usual(p: &Preset) -> Value {
    json!({
        "attention_probs_dropout_prob": 0.1,
        "hidden_act": "gelu",
        "hidden_dropout_prob": 0.1,
        "hidden_size": p.hidden,
        "intermediate_size": p.intermediate,
        "layer_norm_eps": 1e-12,
        "max_position_embeddings": 512,
        "num_attention_heads": p.heads,
        "num_hidden_layers": p.layers,
        "type_vocab_size": 2,
    })
}

/// `base` with these fields added, or in place of its own.
fn with(mut base: Value, more: &Value) -> Value {
    if let (Some(base), Some(more)) = (base.as_object_mut(), more.as_object()) {
        base.extend(more.clone());
    }
    base
}

const BERT: &Family = &Family { model_type: "bert", class: "BertForPreTraining", padding: 0, fields: |p, _| usual(p) };

const ROBERTA: &Family = &Family {
    model_type: "roberta",
    class: "RobertaForMaskedLM",
    padding: 1,
    // The first position stands behind the padding id.
    fields: |p, padding| with(usual(p), &json!({"layer_norm_eps": 1e-5, "max_position_embeddings": 513 + padding, "type_vocab_size": 1})),
};

const ALBERT: &Family = &Family {
    model_type: "albert",
    class: "AlbertForPreTraining",
    padding: 0,
    fields: |p, _| {
        let own = json!({
            "attention_probs_dropout_prob": 0.0,
            "embedding_size": p.embedding,
            "hidden_act": "gelu_new",
            "hidden_dropout_prob": 0.0,
            "inner_group_num": 1,
            "num_hidden_groups": 1,
        });
        with(usual(p), &own)
    },
};

const ELECTRA: &Family = &Family {
    model_type: "electra",
    class: "ElectraForPreTraining",
    padding: 0,
    fields: |p, _| with(usual(p), &json!({"embedding_size": p.embedding})),
};

const DISTILBERT: &Family = &Family {
    model_type: "distilbert",
    class: "DistilBertForMaskedLM",
    padding: 0,
    fields: |p, _| {
        json!({
            "activation": "gelu",
            "attention_dropout": 0.1,
            "dim": p.hidden,
            "dropout": 0.1,
            "hidden_dim": p.intermediate,
            "max_position_embeddings": 512,
            "n_heads": p.heads,
            "n_layers": p.layers,
            "sinusoidal_pos_embds": false,
        })
    },
};

const DEBERTA: &Family = &Family {
    model_type: "deberta-v2",
    class: "DebertaV2ForMaskedLM",
    padding: 0,
    fields: |p, _| {
        let own = json!({
            "layer_norm_eps": 1e-7,
            "max_relative_positions": -1,
            "norm_rel_ebd": "layer_norm",
            "pooler_hidden_size": p.hidden,
            "pos_att_type": ["p2c", "c2p"],
            "position_biased_input": false,
            "position_buckets": 256,
            "relative_attention": true,
            "share_att_key": true,
            "type_vocab_size": 0,
        });
        with(usual(p), &own)
    },
};

const MODERNBERT: &Family = &Family {
    model_type: "modernbert",
    class: "ModernBertForMaskedLM",
    padding: 0,
    fields: |p, _| {
        json!({
            "attention_bias": false,
            "attention_dropout": 0.0,
            "decoder_bias": true,
            "embedding_dropout": 0.0,
            "global_attn_every_n_layers": 3,
            "global_rope_theta": 160_000.0,
            "hidden_activation": "gelu",
            "hidden_size": p.hidden,
            "intermediate_size": p.intermediate,
            "local_attention": 128,
            "local_rope_theta": 10_000.0,
            "max_position_embeddings": 8192,
            "mlp_bias": false,
            "mlp_dropout": 0.0,
            "norm_bias": false,
            "norm_eps": 1e-5,
            "num_attention_heads": p.heads,
            "num_hidden_layers": p.layers,
        })
    },
};

const GPT2: &Family = &Family {
    model_type: "gpt2",
    class: "GPT2LMHeadModel",
    padding: 0,
    fields: |p, _| {
        json!({
            "activation_function": "gelu_new",
            "attn_pdrop": 0.1,
            "embd_pdrop": 0.1,
            "layer_norm_epsilon": 1e-5,
            "n_embd": p.hidden,
            "n_head": p.heads,
            "n_inner": p.intermediate,
            "n_layer": p.layers,
            "n_positions": 1024,
            "resid_pdrop": 0.1,
        })
    },
};

const fn row(name: &'static str, family: &'static Family, [layers, hidden, heads, intermediate, embedding]: [usize; 5]) -> Preset {
    Preset { name, family, layers, hidden, heads, intermediate, embedding }
}

/// Every preset: layers, width, heads, width of feed-forward layers, width of embeddings.
pub const PRESETS: &[Preset] = &[
    row("bert-tiny", BERT, [2, 128, 2, 512, 128]),
    row("bert-mini", BERT, [4, 256, 4, 1024, 256]),
    row("bert-small", BERT, [4, 512, 8, 2048, 512]),
    row("bert-medium", BERT, [8, 512, 8, 2048, 512]),
    row("bert-base", BERT, [12, 768, 12, 3072, 768]),
    row("bert-large", BERT, [24, 1024, 16, 4096, 1024]),
    row("roberta-tiny", ROBERTA, [2, 128, 2, 512, 128]),
    row("roberta-base", ROBERTA, [12, 768, 12, 3072, 768]),
    row("roberta-large", ROBERTA, [24, 1024, 16, 4096, 1024]),
    row("albert-tiny", ALBERT, [2, 128, 2, 512, 64]),
    row("albert-base", ALBERT, [12, 768, 12, 3072, 128]),
    row("albert-large", ALBERT, [24, 1024, 16, 4096, 128]),
    row("albert-xlarge", ALBERT, [24, 2048, 16, 8192, 128]),
    row("electra-tiny", ELECTRA, [2, 128, 4, 512, 64]),
    row("electra-small", ELECTRA, [12, 256, 4, 1024, 128]),
    row("electra-base", ELECTRA, [12, 768, 12, 3072, 768]),
    row("electra-large", ELECTRA, [24, 1024, 16, 4096, 1024]),
    row("distilbert-tiny", DISTILBERT, [2, 128, 2, 512, 128]),
    row("distilbert-base", DISTILBERT, [6, 768, 12, 3072, 768]),
    row("deberta-v3-tiny", DEBERTA, [2, 128, 2, 512, 128]),
    row("deberta-v3-xsmall", DEBERTA, [12, 384, 6, 1536, 384]),
    row("deberta-v3-small", DEBERTA, [6, 768, 12, 3072, 768]),
    row("deberta-v3-base", DEBERTA, [12, 768, 12, 3072, 768]),
    row("deberta-v3-large", DEBERTA, [24, 1024, 16, 4096, 1024]),
    row("modernbert-tiny", MODERNBERT, [3, 128, 2, 192, 128]),
    row("modernbert-base", MODERNBERT, [22, 768, 12, 1152, 768]),
    row("modernbert-large", MODERNBERT, [28, 1024, 16, 2624, 1024]),
    row("gpt2-tiny", GPT2, [2, 128, 2, 512, 128]),
    row("gpt2-small", GPT2, [12, 768, 12, 3072, 768]),
    row("gpt2-medium", GPT2, [24, 1024, 16, 4096, 1024]),
];

impl Preset {
    /// The config.json of such a model over a vocabulary, as `transformers` reads it.
    pub fn config(&self, vocabulary: usize, padding: Option<u32>) -> Value {
        let padding = padding.unwrap_or(self.family.padding);
        let every = json!({
            "architectures": [self.family.class],
            "initializer_range": 0.02,
            "model_type": self.family.model_type,
            "pad_token_id": padding,
            "vocab_size": vocabulary,
        });
        with((self.family.fields)(self, padding as usize), &every)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::Weights;
    use crate::model::{Fresh, Learnable};

    #[test]
    fn presets_of_a_family_differ_in_their_sizes_alone() {
        for preset in PRESETS {
            assert!(preset.hidden.is_multiple_of(preset.heads), "{}", preset.name);
            let (own, tiny) = (preset.config(1000, None), PRESETS.iter().find(|p| std::ptr::eq(p.family, preset.family)).unwrap());
            let keys = |config: &Value| config.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
            assert_eq!(keys(&own), keys(&tiny.config(1000, None)), "{}", preset.name);
        }
    }

    #[test]
    fn every_family_of_the_table_builds_its_smallest_model() {
        for preset in PRESETS.iter().filter(|p| p.layers <= 3) {
            let model = Learnable::new(&preset.config(200, None), Weights::default(), Fresh::default());
            let model = model.unwrap_or_else(|e| panic!("{}: {e}", preset.name));
            assert_eq!((model.family(), model.sizes().hidden), (preset.family.model_type, preset.hidden), "{}", preset.name);
        }
    }
}
