//! What is to be computed?
//!
//! A [`Graph`] is a list of coarse operations over packed rows: one row a token, or one row a sequence after pooling. A family
//! of models is a function that appends operations (`model::bert`); executors run the list (`engine::cpu`). Each operation is
//! as coarse as its fusions: a linear layer includes bias and activation, a norm its residual. Weights are named by
//! [`WeightId`], an index into the list that the model hands to the engine once.

mod attention;
#[cfg(feature = "train")]
mod learn;
mod sight;

pub use attention::{Attention, Bias, Blocks, Disentangled, Far, Met, Relative, Rotary, Span, Start};
#[cfg(feature = "train")]
pub use learn::{Dropout, Learn, Lookers, Loss, Own, Side};
pub use sight::{Ranges, Sight};

pub use super::batch::Which;

/// Index of a weight in the list given to the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WeightId(pub usize);

/// Index of the operation that computes a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ValueId(usize);

impl ValueId {
    /// Position of the value's operation in [`Graph::nodes`].
    pub fn index(self) -> usize {
        self.0
    }
}

/// What a row of a value stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    /// One row a token of the batch.
    Tokens,
    /// One row a sequence of the batch.
    Sequences,
    /// One row a token that the batch picks.
    Picked,
    /// So many, whatever the batch: rows of a table.
    Fixed(usize),
}

/// The function applied to each output of a linear layer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Activation {
    /// `x`
    #[default]
    Identity,
    /// `x * Phi(x)` with the exact normal distribution function (erf).
    Gelu,
    /// The tanh form: `0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))`.
    GeluTanh,
    /// `max(x, 0)`
    Relu,
    /// `tanh(x)`
    Tanh,
    /// `x / (1 + e^-x)`, also called swish.
    Silu,
}

impl Activation {
    /// Every activation, for tests and tables.
    pub const ALL: [Activation; 6] =
        [Activation::Identity, Activation::Gelu, Activation::GeluTanh, Activation::Relu, Activation::Tanh, Activation::Silu];
}

/// Layer normalisation: `(x - mean) / sqrt(variance + epsilon) * weight + bias` over a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Norm {
    /// Scale, one a column.
    pub weight: WeightId,
    /// Shift, one a column; `None` for no shift.
    pub bias: Option<WeightId>,
    /// Added to the variance.
    pub epsilon: f32,
}

/// Which number of a token selects the row of an embedding table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Index {
    /// The token's id.
    Token,
    /// The token's place in its sequence, from 0, plus `offset`.
    Position {
        /// Added to the place (RoBERTa starts after its padding id).
        offset: usize,
        /// The id of a token that takes no place: it stands at `offset - 1` itself, and the tokens behind it count on as if it were
        /// not there (RoBERTa's padding, where a text names it).
        padding: Option<u32>,
    },
    /// The token's segment.
    Segment,
    /// The same row for every token.
    Always(usize),
    /// A picked token's place in its span, from 0; those behind the last row have this last one.
    InSpan {
        /// The last row.
        last: usize,
    },
}

/// One embedding table and how it is indexed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lookup {
    /// The table, (rows, width).
    pub table: WeightId,
    /// Selects the row.
    pub index: Index,
}

/// Which half of a row a gate's activation is applied to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Half {
    /// The first.
    First,
    /// The second.
    Second,
}

/// How the token rows of a sequence become one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reduce {
    /// The sequence's first row.
    Start,
    /// The first row that counts in pooling.
    First,
    /// The last row.
    Last,
    /// The mean.
    Mean,
    /// The largest value of each column.
    Max,
    /// The sum over the square root of the number of rows.
    MeanSqrtLen,
    /// The mean in which row `i` of the sequence (from 0) weighs `i + 1`.
    WeightedMean,
}

/// How the scores of a sequence's tokens become its weights of terms: `f(x) = log(1 + max(x, 0))` of each score, then one number
/// a sequence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Terms {
    /// The sum of the tokens' numbers rather than the largest.
    pub sum: bool,
    /// `log(1 + f(x))` in place of `f(x)`.
    pub twice: bool,
}

/// One coarse operation. Shapes are (rows, width).
#[derive(Clone, Debug, PartialEq)]
pub enum Op {
    /// Sum of table rows, then an optional norm: -> (tokens, width), or (picked, width) by places in spans.
    Embed {
        /// Tables summed, in this order.
        lookups: Vec<Lookup>,
        /// Applied to the sum.
        norm: Option<Norm>,
    },
    /// All rows of a table: -> (table rows, width).
    Whole {
        /// The table, (rows, width).
        table: WeightId,
    },
    /// `activation(x W^T + bias)`: (rows, in) -> (rows, out) for W of shape (out, in).
    Linear {
        /// x
        input: ValueId,
        /// W
        weight: WeightId,
        /// One number an output.
        bias: Option<WeightId>,
        /// Applied to each output.
        activation: Activation,
    },
    /// Multi-head self-attention within each sequence: (tokens, 3 * heads * head_size) -> (tokens, heads * head_size). A row
    /// of the input holds all heads' queries, then keys, then values.
    Attention {
        /// Queries, keys and values.
        qkv: ValueId,
        /// Those of the tokens at the start or the end that see all ([`Far::Start`], [`Far::End`]): what they look with, and at; same shape.
        start: Option<ValueId>,
        /// Heads, and how they look.
        attention: Attention,
    },
    /// `norm(input + residual)`: same shape.
    AddNorm {
        /// First summand.
        input: ValueId,
        /// Second summand.
        residual: ValueId,
        /// The norm.
        norm: Norm,
    },
    /// `input + residual`: same shape.
    Add {
        /// First summand.
        input: ValueId,
        /// Second summand.
        residual: ValueId,
    },
    /// One half of each row, activated, times the other: (rows, 2 * width) -> (rows, width) (Shazeer, GLU Variants Improve
    /// Transformer, 2020).
    Gate {
        /// Both halves.
        input: ValueId,
        /// Of the half `activated`.
        activation: Activation,
        /// Which half that is.
        activated: Half,
    },
    /// Queries, keys and values, the former two turned by their places: same shape.
    Rotate {
        /// As [`Op::Attention`] reads them.
        qkv: ValueId,
        /// By how much.
        rotary: Rotary,
    },
    /// `norm(input)`: same shape.
    Norm {
        /// What is normalised.
        input: ValueId,
        /// The norm.
        norm: Norm,
    },
    /// `(input + residual) * weight + bias`, column by column: what MobileBERT has in place of norms. Same shape.
    Affine {
        /// What is scaled.
        input: ValueId,
        /// Added before; `None` for nothing.
        residual: Option<ValueId>,
        /// One number a column.
        weight: WeightId,
        /// One number a column.
        bias: WeightId,
    },
    /// Each token's row with those around it in its sequence: (tokens, width) -> (tokens, size * width). A column becomes `size` numbers
    /// side by side, those of the tokens from `size / 2` before to `size / 2` behind, zero where there is none. A linear layer over it is
    /// a convolution.
    Neighbours {
        /// Token rows.
        input: ValueId,
        /// How many tokens, odd.
        size: usize,
    },
    /// The rows of the tokens that the batch picks, or of those at the borders of their spans: (tokens, width) -> (picked, width).
    Pick {
        /// Token rows.
        input: ValueId,
        /// Which tokens.
        which: Which,
    },
    /// How well each row of an embedding table fits: `x E^T + bias`, (rows, width) -> (rows, table rows). The table is read where
    /// it lies, so that an embedding serves as a decoder without a second copy.
    Scores {
        /// x
        input: ValueId,
        /// E
        table: WeightId,
        /// One number a row of the table.
        bias: WeightId,
    },
    /// The scores of each sequence's tokens, as one weight of each row of the table: (tokens, width) -> (sequences, table rows).
    /// Scores are reduced a panel of the table at a time and never stand in memory together.
    Terms {
        /// x
        input: ValueId,
        /// E
        table: WeightId,
        /// One number a row of the table.
        bias: WeightId,
        /// How scores become weights.
        terms: Terms,
    },
    /// (tokens, width) -> (sequences, width).
    Pool {
        /// Token rows.
        input: ValueId,
        /// How they are reduced.
        reduce: Reduce,
    },
    /// Values side by side: widths add up.
    Concat {
        /// Left to right.
        inputs: Vec<ValueId>,
    },
    /// The mean of values of one shape.
    Mean {
        /// The values.
        inputs: Vec<ValueId>,
    },
    /// What only learning needs.
    #[cfg(feature = "train")]
    Learn(Learn),
}

impl Op {
    /// Visits the weights that an operation of a model, or its copy in a graph that learns, reads on the way forward.
    #[cfg(feature = "train")]
    fn each_weight(&mut self, mut visit: impl FnMut(&mut WeightId)) {
        let of_norm = |norm: &mut Norm, visit: &mut dyn FnMut(&mut WeightId)| {
            visit(&mut norm.weight);
            norm.bias.iter_mut().for_each(visit);
        };
        match self {
            Op::Embed { lookups, norm } => {
                lookups.iter_mut().for_each(|lookup| visit(&mut lookup.table));
                norm.iter_mut().for_each(|norm| of_norm(norm, &mut visit));
            }
            Op::Whole { table } => visit(table),
            Op::Linear { weight, bias, .. } => {
                visit(weight);
                bias.iter_mut().for_each(visit);
            }
            Op::Attention { attention, .. } | Op::Learn(Learn::Attend { attention, .. }) => match &mut attention.bias {
                Bias::None | Bias::Slopes(_) => {}
                Bias::Relative(relative) => visit(&mut relative.table),
                Bias::Disentangled(positions) => {
                    for met in [&mut positions.keys, &mut positions.queries] {
                        if let Met::Made(ids) = met {
                            ids.iter_mut().for_each(&mut visit);
                        }
                    }
                }
            },
            Op::AddNorm { norm, .. } | Op::Norm { norm, .. } => of_norm(norm, &mut visit),
            Op::Affine { weight, bias, .. } => [weight, bias].into_iter().for_each(visit),
            Op::Scores { table, bias, .. } | Op::Terms { table, bias, .. } | Op::Learn(Learn::Vocabulary { table, bias, .. }) => {
                [table, bias].into_iter().for_each(visit)
            }
            Op::Add { .. }
            | Op::Gate { .. }
            | Op::Rotate { .. }
            | Op::Neighbours { .. }
            | Op::Pick { .. }
            | Op::Pool { .. }
            | Op::Concat { .. }
            | Op::Mean { .. }
            | Op::Learn(_) => {}
        }
    }

    /// The values that the operation reads.
    pub fn inputs(&self) -> Vec<ValueId> {
        match self {
            Op::Embed { .. } | Op::Whole { .. } => vec![],
            Op::Linear { input, .. }
            | Op::Pool { input, .. }
            | Op::Norm { input, .. }
            | Op::Gate { input, .. }
            | Op::Neighbours { input, .. }
            | Op::Pick { input, .. }
            | Op::Scores { input, .. }
            | Op::Terms { input, .. } => vec![*input],
            Op::Attention { qkv, start, attention } => [*qkv].into_iter().chain(*start).chain(attention.values()).collect(),
            Op::Rotate { qkv, .. } => vec![*qkv],
            Op::AddNorm { input, residual, .. } | Op::Add { input, residual } => vec![*input, *residual],
            Op::Affine { input, residual, .. } => [*input].into_iter().chain(*residual).collect(),
            Op::Concat { inputs } | Op::Mean { inputs } => inputs.clone(),
            #[cfg(feature = "train")]
            Op::Learn(learn) => learn.inputs(),
        }
    }
}

/// An operation and the shape of its result.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// What is computed.
    pub op: Op,
    /// What its rows stand for.
    pub rows: Rows,
    /// Its columns.
    pub width: usize,
}

/// Operations in an order in which each reads only earlier results; the last value is the result.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Graph {
    nodes: Vec<Node>,
    /// Values that outlive a run beside the last.
    kept: Vec<ValueId>,
}

impl Graph {
    /// An empty graph.
    pub fn new() -> Self {
        Self::default()
    }

    /// The operations in order.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Lets a value outlive a run.
    #[cfg(feature = "train")]
    pub fn keep(&mut self, value: ValueId) {
        self.kept.push(value);
    }

    /// Values that outlive a run: those that were kept, and the last.
    pub fn results(&self) -> impl Iterator<Item = ValueId> {
        self.kept.iter().copied().chain(self.nodes.len().checked_sub(1).map(ValueId))
    }

    /// The operation that computes `value`.
    pub fn node(&self, value: ValueId) -> &Node {
        &self.nodes[value.0]
    }

    fn push(&mut self, op: Op, rows: Rows, width: usize) -> ValueId {
        self.nodes.push(Node { op, rows, width });
        ValueId(self.nodes.len() - 1)
    }

    /// Appends an operation of learning.
    #[cfg(feature = "train")]
    pub(super) fn learn(&mut self, learn: Learn, rows: Rows, width: usize) -> ValueId {
        self.push(Op::Learn(learn), rows, width)
    }

    /// Appends an operation that another graph has, its inputs renumbered.
    #[cfg(feature = "train")]
    pub(super) fn copy(&mut self, node: &Node, to: impl Fn(ValueId) -> ValueId + Copy) -> ValueId {
        self.push(renumber(&node.op, to), node.rows, node.width)
    }

    /// The values in order.
    #[cfg(feature = "train")]
    pub(crate) fn values(&self) -> impl DoubleEndedIterator<Item = ValueId> + ExactSizeIterator + use<> {
        (0..self.nodes.len()).map(ValueId)
    }

    /// Appends [`Op::Embed`] into rows of `width`.
    pub fn embed(&mut self, lookups: Vec<Lookup>, norm: Option<Norm>, width: usize) -> ValueId {
        self.push(Op::Embed { lookups, norm }, Rows::Tokens, width)
    }

    /// Appends [`Op::Whole`] of a table of (rows, width).
    pub fn whole(&mut self, table: WeightId, rows: usize, width: usize) -> ValueId {
        self.push(Op::Whole { table }, Rows::Fixed(rows), width)
    }

    /// Appends [`Op::Linear`] with `width` outputs.
    pub fn linear(&mut self, input: ValueId, weight: WeightId, bias: Option<WeightId>, activation: Activation, width: usize) -> ValueId {
        let rows = self.node(input).rows;
        self.push(Op::Linear { input, weight, bias, activation }, rows, width)
    }

    /// Appends [`Op::Attention`].
    pub fn attention(&mut self, qkv: ValueId, attention: Attention) -> ValueId {
        self.attention_from(qkv, None, attention)
    }

    /// As [`Graph::attention`], with queries, keys and values of the start's own.
    pub fn attention_from(&mut self, qkv: ValueId, start: Option<ValueId>, attention: Attention) -> ValueId {
        let width = attention.heads * attention.head_size;
        self.push(Op::Attention { qkv, start, attention }, Rows::Tokens, width)
    }

    /// Appends [`Op::AddNorm`].
    pub fn add_norm(&mut self, input: ValueId, residual: ValueId, norm: Norm) -> ValueId {
        let Node { rows, width, .. } = *self.node(input);
        self.push(Op::AddNorm { input, residual, norm }, rows, width)
    }

    /// Appends [`Op::Add`].
    pub fn add(&mut self, input: ValueId, residual: ValueId) -> ValueId {
        let Node { rows, width, .. } = *self.node(input);
        self.push(Op::Add { input, residual }, rows, width)
    }

    /// Appends [`Op::Gate`].
    pub fn gate(&mut self, input: ValueId, activation: Activation, activated: Half) -> ValueId {
        let Node { rows, width, .. } = *self.node(input);
        self.push(Op::Gate { input, activation, activated }, rows, width / 2)
    }

    /// Appends [`Op::Rotate`].
    pub fn rotate(&mut self, qkv: ValueId, rotary: Rotary) -> ValueId {
        let width = self.node(qkv).width;
        self.push(Op::Rotate { qkv, rotary }, Rows::Tokens, width)
    }

    /// Appends [`Op::Norm`].
    pub fn norm(&mut self, input: ValueId, norm: Norm) -> ValueId {
        let Node { rows, width, .. } = *self.node(input);
        self.push(Op::Norm { input, norm }, rows, width)
    }

    /// Appends [`Op::Affine`].
    pub fn affine(&mut self, input: ValueId, residual: Option<ValueId>, (weight, bias): (WeightId, WeightId)) -> ValueId {
        let Node { rows, width, .. } = *self.node(input);
        self.push(Op::Affine { input, residual, weight, bias }, rows, width)
    }

    /// Appends [`Op::Neighbours`] of `size` tokens.
    pub fn neighbours(&mut self, input: ValueId, size: usize) -> ValueId {
        let width = self.node(input).width * size;
        self.push(Op::Neighbours { input, size }, Rows::Tokens, width)
    }

    /// Appends [`Op::Pick`] of the picked tokens themselves.
    pub fn pick(&mut self, input: ValueId) -> ValueId {
        self.pick_which(input, Which::Own)
    }

    /// Appends [`Op::Pick`].
    pub fn pick_which(&mut self, input: ValueId, which: Which) -> ValueId {
        let width = self.node(input).width;
        self.push(Op::Pick { input, which }, Rows::Picked, width)
    }

    /// Appends [`Op::Embed`] of one table by the picked tokens' places in their spans: (picked, width).
    pub fn places_in_spans(&mut self, table: WeightId, rows: usize, width: usize) -> ValueId {
        let lookup = Lookup { table, index: Index::InSpan { last: rows.saturating_sub(1) } };
        self.push(Op::Embed { lookups: vec![lookup], norm: None }, Rows::Picked, width)
    }

    /// Appends [`Op::Scores`] of a table with `width` rows.
    pub fn scores(&mut self, input: ValueId, table: WeightId, bias: WeightId, width: usize) -> ValueId {
        let rows = self.node(input).rows;
        self.push(Op::Scores { input, table, bias }, rows, width)
    }

    /// Appends [`Op::Terms`] over a table with `width` rows.
    pub fn terms(&mut self, input: ValueId, (table, bias): (WeightId, WeightId), terms: Terms, width: usize) -> ValueId {
        self.push(Op::Terms { input, table, bias, terms }, Rows::Sequences, width)
    }

    /// Appends [`Op::Pool`].
    pub fn pool(&mut self, input: ValueId, reduce: Reduce) -> ValueId {
        let width = self.node(input).width;
        self.push(Op::Pool { input, reduce }, Rows::Sequences, width)
    }

    /// Appends [`Op::Concat`]; a single value is returned as it is.
    pub fn concat(&mut self, inputs: Vec<ValueId>) -> ValueId {
        let [only] = inputs[..] else {
            let width = inputs.iter().map(|v| self.node(*v).width).sum();
            let rows = self.node(inputs[0]).rows;
            return self.push(Op::Concat { inputs }, rows, width);
        };
        only
    }

    /// Appends [`Op::Mean`]; a single value is returned as it is.
    pub fn mean(&mut self, inputs: Vec<ValueId>) -> ValueId {
        let [only] = inputs[..] else {
            let Node { rows, width, .. } = *self.node(inputs[0]);
            return self.push(Op::Mean { inputs }, rows, width);
        };
        only
    }

    /// The operations that `value` needs, in order.
    pub fn behind(&self, value: ValueId) -> impl Iterator<Item = &Op> {
        self.nodes.iter().zip(self.needed(value)).filter(|(_, needed)| *needed).map(|(node, _)| &node.op)
    }

    /// Which operations `value` needs.
    fn needed(&self, value: ValueId) -> Vec<bool> {
        self.needed_by([value])
    }

    /// Which operations one of `values` needs.
    pub(super) fn needed_by(&self, values: impl IntoIterator<Item = ValueId>) -> Vec<bool> {
        let mut needed = vec![false; self.nodes.len()];
        values.into_iter().for_each(|value| needed[value.0] = true);
        for i in (0..needed.len()).rev() {
            if needed[i] {
                self.nodes[i].op.inputs().iter().for_each(|v| needed[v.0] = true);
            }
        }
        needed
    }

    /// The same operations over weights of other numbers.
    #[cfg(feature = "train")]
    #[must_use]
    pub fn over_weights(mut self, to: impl Fn(WeightId) -> WeightId) -> Graph {
        self.nodes.iter_mut().for_each(|node| node.op.each_weight(|id| *id = to(*id)));
        self
    }

    /// The same operations with every attention looking as far as `span`: backwards alone for a model that learns from left to right.
    #[cfg(feature = "train")]
    #[must_use]
    pub fn looking(mut self, span: Span) -> Graph {
        for node in &mut self.nodes {
            if let Op::Attention { attention, .. } = &mut node.op {
                attention.span = span;
            }
        }
        self
    }

    /// Makes `value` the result: drops the operations that it does not need. Returns the shorter graph.
    #[must_use]
    pub fn ending_in(&self, value: ValueId) -> Graph {
        let needed = self.needed(value);
        let mut place = vec![ValueId(0); self.nodes.len()];
        let mut kept = Graph::new();
        for (i, node) in self.nodes.iter().enumerate().take(value.0 + 1).filter(|(i, _)| needed[*i]) {
            let op = renumber(&node.op, |v| place[v.0]);
            place[i] = kept.push(op, node.rows, node.width);
        }
        kept
    }
}

fn renumber(op: &Op, to: impl Fn(ValueId) -> ValueId + Copy) -> Op {
    let mut op = op.clone();
    match &mut op {
        Op::Embed { .. } | Op::Whole { .. } => {}
        Op::Linear { input, .. }
        | Op::Pool { input, .. }
        | Op::Norm { input, .. }
        | Op::Gate { input, .. }
        | Op::Neighbours { input, .. }
        | Op::Pick { input, .. }
        | Op::Scores { input, .. }
        | Op::Terms { input, .. } => *input = to(*input),
        Op::Attention { qkv, start, attention } => {
            (*qkv, *start) = (to(*qkv), start.map(to));
            attention.each_value(|v| *v = to(*v));
        }
        Op::Rotate { qkv, .. } => *qkv = to(*qkv),
        Op::AddNorm { input, residual, .. } | Op::Add { input, residual } => (*input, *residual) = (to(*input), to(*residual)),
        Op::Affine { input, residual, .. } => {
            *input = to(*input);
            *residual = residual.map(to);
        }
        Op::Concat { inputs } | Op::Mean { inputs } => inputs.iter_mut().for_each(|v| *v = to(*v)),
        #[cfg(feature = "train")]
        Op::Learn(learn) => learn.each_input(|v| *v = to(*v)),
    }
    op
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ending_in_keeps_only_what_is_needed() {
        let mut g = Graph::new();
        let a = g.embed(vec![], None, 4);
        let b = g.linear(a, WeightId(0), None, Activation::Relu, 8);
        let unused = g.linear(b, WeightId(1), None, Activation::Relu, 8);
        let c = g.pool(b, Reduce::Mean);
        let _ = (unused, g.pool(unused, Reduce::Max));
        let short = g.ending_in(c);
        assert_eq!(short.nodes().len(), 3);
        assert_eq!(short.nodes()[2].op, Op::Pool { input: ValueId(1), reduce: Reduce::Mean });
        assert_eq!(short.nodes()[2].rows, Rows::Sequences);
    }

    #[test]
    fn widths_follow_the_operations() {
        let mut g = Graph::new();
        let a = g.embed(vec![], None, 4);
        let b = g.linear(a, WeightId(0), None, Activation::Identity, 12);
        let c = g.attention(b, Attention::plain(2, 2));
        let d = g.concat(vec![a, c]);
        assert_eq!((g.node(c).width, g.node(d).width), (4, 8));
        assert_eq!(g.concat(vec![d]), d);
    }
}
