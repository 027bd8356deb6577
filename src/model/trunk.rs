//! What does every family of encoders have?

use super::heads::{Head, Input, Kind};
use super::languages::Languages;
use super::pooling::Pooling;
use crate::engine::Graph;
use crate::engine::graph::{Activation, Reduce, ValueId, WeightId, Which};
use crate::error::{ErrorKind, Result, fail};

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

/// What a family calls its pooler: from the last hidden state to one row a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pooler {
    /// The first token's row as it is.
    First,
    /// The first token's row through a linear layer and tanh.
    Dense {
        /// The layer's matrix.
        weight: WeightId,
        /// Its bias.
        bias: WeightId,
    },
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
    /// The pooler, where the checkpoint has one.
    pub pooler: Option<Pooler>,
    /// The heads that the checkpoint has.
    pub heads: Vec<Head>,
    /// The languages that a text may be said to be in.
    pub languages: Languages,
}

impl Trunk {
    /// The last hidden state that a head of this kind reads.
    pub(super) fn read_by(&self, kind: Kind) -> ValueId {
        self.of_heads.iter().find(|(of, _)| *of == kind).map_or_else(|| self.last_hidden_state(), |(_, state)| *state)
    }

    /// The last layer's output.
    pub(super) fn last_hidden_state(&self) -> ValueId {
        self.hidden_states[self.sizes.layers]
    }

    /// A state that needs every weight of the trunk: looking otherwise may take more of them.
    pub(super) fn of_all_weights(&self) -> ValueId {
        self.of_heads.first().map_or_else(|| self.last_hidden_state(), |(_, state)| *state)
    }

    /// Appends a head to a graph that begins with the trunk's.
    pub(super) fn append_head(&self, graph: &mut Graph, head: &Head) -> Result<ValueId> {
        let hidden = self.read_by(head.kind);
        let input = match head.input {
            Input::Pooler => self.append_pooler(graph, hidden)?,
            Input::First | Input::Stated(_) => graph.pool(hidden, Reduce::Start),
            Input::Last => graph.pool(hidden, Reduce::Last),
            Input::Mean => graph.pool(hidden, Reduce::Mean),
            Input::Tokens => hidden,
            Input::Picked => graph.pick(hidden),
            Input::Borders(_) => {
                let mut read = vec![graph.pick_which(hidden, Which::Before), graph.pick_which(hidden, Which::Behind)];
                read.extend(head.places.map(|table| graph.places_in_spans(table.0, table.1, table.2)));
                graph.concat(read)
            }
        };
        Ok(head.layers.iter().fold(input, |value, layer| layer.append(graph, value, input)))
    }

    /// Appends the pooling of a hidden state into one vector a sequence.
    pub(super) fn append_pooling(&self, graph: &mut Graph, hidden: ValueId, mode: Pooling) -> Result<ValueId> {
        let reduce = match mode {
            Pooling::Mean => Reduce::Mean,
            Pooling::Cls => Reduce::First,
            Pooling::Max => Reduce::Max,
            Pooling::MeanSqrtLen => Reduce::MeanSqrtLen,
            Pooling::Last => Reduce::Last,
            Pooling::WeightedMean => Reduce::WeightedMean,
            Pooling::Pooler => return self.append_pooler(graph, hidden),
        };
        Ok(graph.pool(hidden, reduce))
    }

    /// Appends the pooler over one hidden state.
    pub(super) fn append_pooler(&self, graph: &mut Graph, hidden: ValueId) -> Result<ValueId> {
        let Some(pooler) = self.pooler else {
            return fail(
                ErrorKind::InvalidArgument,
                "pooling pooler: the checkpoint has no pooler; choose another pooling, such as cls or mean",
            );
        };
        let (width, hidden_size) = (graph.node(hidden).width, self.sizes.hidden);
        if width != hidden_size {
            let told = format!("pooling pooler takes one layer's {hidden_size} values and the layers chosen give {width}");
            return fail(ErrorKind::InvalidArgument, told);
        }
        let first = graph.pool(hidden, Reduce::Start);
        Ok(match pooler {
            Pooler::First => first,
            Pooler::Dense { weight, bias } => graph.linear(first, weight, Some(bias), Activation::Tanh, hidden_size),
        })
    }
}
