//! What is this model, and what memory does it hold?

use std::collections::BTreeMap;

use serde::Serialize;

/// What a model is and how it is used when a request asks for nothing else.
#[derive(Clone, Debug, Serialize)]
pub struct Description {
    /// The architecture: `bert`.
    pub family: String,
    /// Encoder layers.
    pub layers: usize,
    /// Width of the hidden states.
    pub hidden: usize,
    /// Attention heads of a layer.
    pub heads: usize,
    /// Width of the feed-forward layer.
    pub intermediate: usize,
    /// Rows of the token embedding.
    pub vocabulary: usize,
    /// Numbers in the weights.
    pub parameters: usize,
    /// Positions that the model has embeddings for.
    pub positions: usize,
    /// Longest input in tokens, special tokens included, when a request says nothing.
    pub max_tokens: usize,
    /// The side on which longer inputs are cut: `left` or `right`.
    pub truncation: String,
    /// How token vectors become one: mode names, concatenated in this order.
    pub pooling: Vec<String>,
    /// Whether vectors are scaled to length 1.
    pub normalize: bool,
    /// Values of a vector.
    pub dimensions: usize,
    /// Whether the model's files say that it is a sparse encoder, whose answer is weights of tokens.
    pub sparse: bool,
    /// Whether it is a late-interaction model, which compares tokens.
    pub late: bool,
    /// Whether the model has BERT's pooler.
    pub pooler: bool,
    /// What the model has beside its encoder, for other tasks than encode.
    pub task_heads: Vec<HeadDescription>,
    /// The languages that a request may say its texts are in; none for models that do not tell them apart.
    pub languages: Vec<String>,
    /// Prompts by name.
    pub prompts: BTreeMap<String, String>,
    /// The prompt used when a request names none.
    pub default_prompt: Option<String>,
    /// Arithmetic of the encoder: `f32`.
    pub precision: String,
    /// Instruction set of the kernels in use.
    pub isa: String,
    /// Threads of one call, the calling thread included.
    pub threads: usize,
}

/// A head, and what its numbers mean.
#[derive(Clone, Debug, Serialize)]
pub struct HeadDescription {
    /// The task that it is for: `classify`, `next_sentence`.
    pub name: String,
    /// Numbers that it gives.
    pub outputs: usize,
    /// The label of each number, where it has labels.
    pub labels: Vec<String>,
    /// How classify makes scores of them, unless asked otherwise: `identity`, `sigmoid` or `softmax`.
    pub activation: Option<String>,
    /// The activation that the files of a cross-encoder declare, which rerank uses.
    pub declared_activation: Option<String>,
    /// How tag makes entities of the labels of tokens, where the files say it: `first`.
    pub aggregation: Option<String>,
}

/// Memory that a model holds, in bytes, at the moment of asking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Memory {
    /// Weights used where they lie in the mapped file, shared with other processes.
    pub weights_mapped: usize,
    /// Weights in this process's own memory: packed for the kernels, or loaded from memory.
    pub weights_owned: usize,
    /// Work areas of calls, running or kept for the next ones; [`Model::trim`](super::Model::trim) frees the latter.
    pub workspaces: usize,
    /// Calls running now.
    pub calls: usize,
}
