//! What are the layers of each family called, there and here?
//!
//! One constant a group of layers, one row a layer. [`super::FAMILIES`] puts the groups together.

use super::{Role, Row, head, trunk};

/// The embeddings of BERT and of most families after it.
pub(super) const EMBEDDINGS: &[Row] = &[
    trunk("embeddings.word_embeddings", "token_embd", Role::TokenEmbedding),
    trunk("embeddings.token_type_embeddings", "token_types", Role::SmallEmbedding),
    trunk("embeddings.position_embeddings", "position_embd", Role::SmallEmbedding),
    trunk("embeddings.LayerNorm", "token_embd_norm", Role::Vector),
];

/// Their attention.
pub(super) const ATTENTION: &[Row] = &[
    trunk("encoder.layer.{}.attention.self.query", "blk.{}.attn_q", Role::Linear),
    trunk("encoder.layer.{}.attention.self.key", "blk.{}.attn_k", Role::Linear),
    trunk("encoder.layer.{}.attention.self.value", "blk.{}.attn_v", Role::Linear),
    trunk("encoder.layer.{}.attention.output.dense", "blk.{}.attn_output", Role::Linear),
    trunk("encoder.layer.{}.attention.output.LayerNorm", "blk.{}.attn_output_norm", Role::Vector),
];

/// Their feed-forward layers.
pub(super) const FEED_FORWARD: &[Row] = &[
    trunk("encoder.layer.{}.intermediate.dense", "blk.{}.ffn_up", Role::Linear),
    trunk("encoder.layer.{}.output.dense", "blk.{}.ffn_down", Role::Linear),
    trunk("encoder.layer.{}.output.LayerNorm", "blk.{}.layer_output_norm", Role::Vector),
];

/// What llama.cpp calls cls is a dense layer on the first token, with tanh: BERT's pooler.
pub(super) const POOLER: &[Row] = &[trunk("pooler.dense", "cls", Role::Head)];

/// The same, by the name that ALBERT and BigBird give it.
pub(super) const BARE_POOLER: &[Row] = &[trunk("pooler", "cls", Role::Head)];

/// RoBERTa's classifier. A checkpoint may have a pooler beside it.
pub(super) const TWO_LAYERS: &[Row] = &[head("classifier.dense", "cls.dense"), head("classifier.out_proj", "cls.output")];

/// RoBERTa's pooler and classifier, by the names that llama.cpp's converter gives them: the same layer is the one or the other. A pooler
/// beside a classifier has no name there.
pub(super) const ROBERTA_HEADS: &[Row] = &[
    Row { ranks: Some(true), ..head("classifier.dense", "cls") },
    Row { ranks: Some(true), ..head("classifier.out_proj", "cls.output") },
    Row { ranks: Some(false), ..trunk("pooler.dense", "cls", Role::Head) },
];

/// Buffers of checkpoints that older versions of `transformers` wrote.
pub(super) const BUFFERS: &[&str] = &["embeddings.position_ids", "embeddings.token_type_ids"];

/// Its classifier has ReLU where llama.cpp has tanh, and so no name there.
pub(super) const DISTILBERT: &[Row] = &[
    trunk("transformer.layer.{}.attention.q_lin", "blk.{}.attn_q", Role::Linear),
    trunk("transformer.layer.{}.attention.k_lin", "blk.{}.attn_k", Role::Linear),
    trunk("transformer.layer.{}.attention.v_lin", "blk.{}.attn_v", Role::Linear),
    trunk("transformer.layer.{}.attention.out_lin", "blk.{}.attn_output", Role::Linear),
    trunk("transformer.layer.{}.sa_layer_norm", "blk.{}.attn_output_norm", Role::Vector),
    trunk("transformer.layer.{}.ffn.lin1", "blk.{}.ffn_up", Role::Linear),
    trunk("transformer.layer.{}.ffn.lin2", "blk.{}.ffn_down", Role::Linear),
    trunk("transformer.layer.{}.output_layer_norm", "blk.{}.layer_output_norm", Role::Vector),
];

/// What tokens that see all look with, and at; llama.cpp has no names for it.
pub(super) const LONGFORMER: &[Row] = &[
    trunk("encoder.layer.{}.attention.self.query_global", "blk.{}.attn_global_q", Role::Linear),
    trunk("encoder.layer.{}.attention.self.key_global", "blk.{}.attn_global_k", Role::Linear),
    trunk("encoder.layer.{}.attention.self.value_global", "blk.{}.attn_global_v", Role::Linear),
];

/// llama.cpp has no name for what meets distances, nor for the convolution.
pub(super) const DEBERTA: &[Row] = &[
    trunk("embeddings.embed_proj", "token_embd_up", Role::Linear),
    trunk("encoder.rel_embeddings", "attn_rel_embd", Role::SmallEmbedding),
    trunk("encoder.layer.{}.attention.output.dense", "blk.{}.attn_output", Role::Linear),
    trunk("encoder.layer.{}.attention.output.LayerNorm", "blk.{}.attn_output_norm", Role::Vector),
    head("pooler.dense", "cls.dense"),
    head("classifier", "cls.output"),
];

/// Versions 2 and 3.
pub(super) const DEBERTA_2: &[Row] = &[
    trunk("encoder.LayerNorm", "attn_rel_embd_norm", Role::Vector),
    trunk("encoder.layer.{}.attention.self.query_proj", "blk.{}.attn_q", Role::Linear),
    trunk("encoder.layer.{}.attention.self.key_proj", "blk.{}.attn_k", Role::Linear),
    trunk("encoder.layer.{}.attention.self.value_proj", "blk.{}.attn_v", Role::Linear),
    trunk("encoder.layer.{}.attention.self.pos_query_proj", "blk.{}.attn_rel_q", Role::Linear),
    trunk("encoder.layer.{}.attention.self.pos_key_proj", "blk.{}.attn_rel_k", Role::Linear),
    trunk("encoder.conv.conv", "conv", Role::Linear),
    trunk("encoder.conv.LayerNorm", "conv_norm", Role::Vector),
];

/// Version 1. q_bias and v_bias are no biases of a layer and keep their names.
pub(super) const DEBERTA_1: &[Row] = &[
    trunk("encoder.layer.{}.attention.self.in_proj", "blk.{}.attn_qkv_heads", Role::Linear),
    trunk("encoder.layer.{}.attention.self.pos_proj", "blk.{}.attn_rel_k", Role::Linear),
    trunk("encoder.layer.{}.attention.self.pos_q_proj", "blk.{}.attn_rel_q", Role::Linear),
];

pub(super) const MOBILEBERT: &[Row] = &[
    trunk("embeddings.embedding_transformation", "token_embd_up", Role::Linear),
    trunk("encoder.layer.{}.bottleneck.input.dense", "blk.{}.narrow", Role::Linear),
    trunk("encoder.layer.{}.bottleneck.input.LayerNorm", "blk.{}.narrow_norm", Role::Vector),
    trunk("encoder.layer.{}.bottleneck.attention.dense", "blk.{}.attn_narrow", Role::Linear),
    trunk("encoder.layer.{}.bottleneck.attention.LayerNorm", "blk.{}.attn_narrow_norm", Role::Vector),
    trunk("encoder.layer.{}.ffn.{}.intermediate.dense", "blk.{}.{}.ffn_up", Role::Linear),
    trunk("encoder.layer.{}.ffn.{}.output.dense", "blk.{}.{}.ffn_down", Role::Linear),
    trunk("encoder.layer.{}.ffn.{}.output.LayerNorm", "blk.{}.{}.ffn_norm", Role::Vector),
    trunk("encoder.layer.{}.output.bottleneck.dense", "blk.{}.wide", Role::Linear),
    trunk("encoder.layer.{}.output.bottleneck.LayerNorm", "blk.{}.wide_norm", Role::Vector),
];

pub(super) const XLM: &[Row] = &[
    trunk("embeddings", "token_embd", Role::TokenEmbedding),
    trunk("position_embeddings", "position_embd", Role::SmallEmbedding),
    trunk("lang_embeddings", "token_types", Role::SmallEmbedding),
    trunk("layer_norm_emb", "token_embd_norm", Role::Vector),
    trunk("attentions.{}.q_lin", "blk.{}.attn_q", Role::Linear),
    trunk("attentions.{}.k_lin", "blk.{}.attn_k", Role::Linear),
    trunk("attentions.{}.v_lin", "blk.{}.attn_v", Role::Linear),
    trunk("attentions.{}.out_lin", "blk.{}.attn_output", Role::Linear),
    trunk("layer_norm1.{}", "blk.{}.attn_output_norm", Role::Vector),
    trunk("ffns.{}.lin1", "blk.{}.ffn_up", Role::Linear),
    trunk("ffns.{}.lin2", "blk.{}.ffn_down", Role::Linear),
    trunk("layer_norm2.{}", "blk.{}.layer_output_norm", Role::Vector),
    head("sequence_summary.summary", "cls.output"),
];

/// The layers of GPT-2 and of GPT, whose matrices are (inputs, outputs).
pub(super) const GPT: &[Row] = &[
    trunk("h.{}.ln_1", "blk.{}.attn_norm", Role::Vector),
    trunk("h.{}.attn.c_attn", "blk.{}.attn_qkv_turned", Role::Linear),
    trunk("h.{}.attn.c_proj", "blk.{}.attn_output_turned", Role::Linear),
    trunk("h.{}.ln_2", "blk.{}.ffn_norm", Role::Vector),
    trunk("h.{}.mlp.c_fc", "blk.{}.ffn_up_turned", Role::Linear),
    trunk("h.{}.mlp.c_proj", "blk.{}.ffn_down_turned", Role::Linear),
    head("score", "cls.output"),
];

/// The first number is the group of layers, the second the set of weights in it.
pub(super) const ALBERT: &[Row] = &[
    trunk("encoder.embedding_hidden_mapping_in", "token_embd_up", Role::Linear),
    trunk("encoder.albert_layer_groups.{}.albert_layers.{}.attention.query", "blk.{}.{}.attn_q", Role::Linear),
    trunk("encoder.albert_layer_groups.{}.albert_layers.{}.attention.key", "blk.{}.{}.attn_k", Role::Linear),
    trunk("encoder.albert_layer_groups.{}.albert_layers.{}.attention.value", "blk.{}.{}.attn_v", Role::Linear),
    trunk("encoder.albert_layer_groups.{}.albert_layers.{}.attention.dense", "blk.{}.{}.attn_output", Role::Linear),
    trunk("encoder.albert_layer_groups.{}.albert_layers.{}.attention.LayerNorm", "blk.{}.{}.attn_output_norm", Role::Vector),
    trunk("encoder.albert_layer_groups.{}.albert_layers.{}.ffn", "blk.{}.{}.ffn_up", Role::Linear),
    trunk("encoder.albert_layer_groups.{}.albert_layers.{}.ffn_output", "blk.{}.{}.ffn_down", Role::Linear),
    trunk("encoder.albert_layer_groups.{}.albert_layers.{}.full_layer_layer_norm", "blk.{}.{}.layer_output_norm", Role::Vector),
];

pub(super) const MPNET_ATTENTION: &[Row] = &[
    trunk("encoder.layer.{}.attention.attn.q", "blk.{}.attn_q", Role::Linear),
    trunk("encoder.layer.{}.attention.attn.k", "blk.{}.attn_k", Role::Linear),
    trunk("encoder.layer.{}.attention.attn.v", "blk.{}.attn_v", Role::Linear),
    trunk("encoder.layer.{}.attention.attn.o", "blk.{}.attn_output", Role::Linear),
    trunk("encoder.layer.{}.attention.LayerNorm", "blk.{}.attn_output_norm", Role::Vector),
    trunk("encoder.relative_attention_bias", "attn_rel_b", Role::SmallEmbedding),
];

pub(super) const NOMIC: &[Row] = &[
    trunk("embeddings.word_embeddings", "token_embd", Role::TokenEmbedding),
    trunk("embeddings.token_type_embeddings", "token_types", Role::SmallEmbedding),
    trunk("emb_ln", "token_embd_norm", Role::Vector),
    trunk("encoder.layers.{}.attn.Wqkv", "blk.{}.attn_qkv", Role::Linear),
    trunk("encoder.layers.{}.attn.out_proj", "blk.{}.attn_output", Role::Linear),
    trunk("encoder.layers.{}.norm1", "blk.{}.attn_output_norm", Role::Vector),
    trunk("encoder.layers.{}.mlp.fc11", "blk.{}.ffn_up", Role::Linear),
    trunk("encoder.layers.{}.mlp.fc12", "blk.{}.ffn_gate", Role::Linear),
    trunk("encoder.layers.{}.mlp.fc2", "blk.{}.ffn_down", Role::Linear),
    trunk("encoder.layers.{}.norm2", "blk.{}.layer_output_norm", Role::Vector),
];

/// An architecture of its own: llama.cpp has none with these biases.
pub(super) const GTE: &[Row] = &[
    trunk("embeddings.word_embeddings", "token_embd", Role::TokenEmbedding),
    trunk("embeddings.token_type_embeddings", "token_types", Role::SmallEmbedding),
    trunk("embeddings.LayerNorm", "token_embd_norm", Role::Vector),
    trunk("encoder.layer.{}.attention.qkv_proj", "blk.{}.attn_qkv", Role::Linear),
    trunk("encoder.layer.{}.attention.o_proj", "blk.{}.attn_output", Role::Linear),
    trunk("encoder.layer.{}.attn_ln", "blk.{}.attn_output_norm", Role::Vector),
    trunk("encoder.layer.{}.mlp.up_gate_proj", "blk.{}.ffn_up", Role::Linear),
    trunk("encoder.layer.{}.mlp.down_proj", "blk.{}.ffn_down", Role::Linear),
    trunk("encoder.layer.{}.mlp_ln", "blk.{}.layer_output_norm", Role::Vector),
];

/// Where queries, keys and values are not one matrix.
pub(super) const APART: &[Row] = &[
    trunk("encoder.layer.{}.attention.q_proj", "blk.{}.attn_q", Role::Linear),
    trunk("encoder.layer.{}.attention.k_proj", "blk.{}.attn_k", Role::Linear),
    trunk("encoder.layer.{}.attention.v_proj", "blk.{}.attn_v", Role::Linear),
];

/// With a gate, as all published models.
pub(super) const JINA: &[Row] = &[
    trunk("encoder.layer.{}.mlp.gated_layers", "blk.{}.ffn_up", Role::Linear),
    trunk("encoder.layer.{}.mlp.wo", "blk.{}.ffn_down", Role::Linear),
    trunk("encoder.layer.{}.mlp.layernorm", "blk.{}.layer_output_norm", Role::Vector),
];

pub(super) const MODERNBERT: &[Row] = &[
    trunk("embeddings.tok_embeddings", "token_embd", Role::TokenEmbedding),
    trunk("embeddings.norm", "token_embd_norm", Role::Vector),
    trunk("layers.{}.attn_norm", "blk.{}.attn_norm", Role::Vector),
    trunk("layers.{}.attn.Wqkv", "blk.{}.attn_qkv", Role::Linear),
    trunk("layers.{}.attn.Wo", "blk.{}.attn_output", Role::Linear),
    trunk("layers.{}.mlp_norm", "blk.{}.ffn_norm", Role::Vector),
    trunk("layers.{}.mlp.Wi", "blk.{}.ffn_up", Role::Linear),
    trunk("layers.{}.mlp.Wo", "blk.{}.ffn_down", Role::Linear),
    trunk("final_norm", "output_norm", Role::Vector),
    head("head.dense", "cls"),
    Row { role: Role::Vector, ..head("head.norm", "cls.norm") },
    head("classifier", "cls.output"),
];
