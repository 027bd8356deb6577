//! What does every family of encoders have?

use super::heads::{Head, Kind};
use crate::engine::Graph;
use crate::engine::graph::{ValueId, WeightId};

/// The sizes that callers and messages speak of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// Rows of the token embedding.
    pub vocabulary: usize,
    /// Width of the hidden states.
    pub hidden: usize,
    /// Encoder layers.
    pub layers: usize,
    /// Attention heads of a layer.
    pub heads: usize,
    /// Width of the feed-forward layer.
    pub intermediate: usize,
    /// Longest input that the model has positions for, in tokens.
    pub positions: usize,
    /// Rows of the segment embedding.
    pub segments: usize,
}

/// A family's encoder, described.
#[derive(Clone, Debug)]
pub struct Trunk {
    /// The family's name.
    pub family: &'static str,
    /// Its sizes.
    pub sizes: Sizes,
    /// Computes the hidden states, and those of `of_heads`.
    pub graph: Graph,
    /// The hidden states: the embeddings' output, then each layer's; (tokens, hidden).
    pub hidden_states: Vec<ValueId>,
    /// The last hidden state that heads of a kind read, where the model looks at a text otherwise for them; (tokens, hidden).
    pub of_heads: Vec<(Kind, ValueId)>,
    /// The pooler's weight and bias, where the checkpoint has one.
    pub pooler: Option<(WeightId, WeightId)>,
    /// The heads that the checkpoint has.
    pub heads: Vec<Head>,
}

impl Trunk {
    /// The last hidden state that a head of this kind reads.
    pub(super) fn read_by(&self, kind: Kind) -> ValueId {
        self.of_heads.iter().find(|(of, _)| *of == kind).map_or(self.hidden_states[self.sizes.layers], |(_, state)| *state)
    }

    /// A state that needs every weight of the trunk: looking otherwise may take more of them.
    pub(super) fn of_all_weights(&self) -> ValueId {
        self.of_heads.first().map_or(self.hidden_states[self.sizes.layers], |(_, state)| *state)
    }
}
