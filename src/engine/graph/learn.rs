//! Which operations does only learning need?
//!
//! Losses, dropout, and for each operation of a model the one that carries the gradient back over it. They are operations like the others:
//! `engine::gradient` appends them to a model's graph, and an executor lays them out and runs them with it. The gradient of a weight
//! is no value: operations that find one add it to the weight's own.

use super::{Activation, Attention, Half, Lookup, Norm, Op, Reduce, Rotary, Terms, ValueId, WeightId, Which};

/// Numbers that are set to zero at random, the others scaled up so that the expected sum stays (Srivastava et al., Dropout: A Simple Way
/// to Prevent Neural Networks from Overfitting, 2014). Which ones follows from the lesson's seed, this place in the model, the text, the
/// token and the column alone: the same in any batch, and found again on the way back instead of stored.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Dropout {
    /// The share of numbers set to zero, from 0 to below 1.
    pub rate: f32,
    /// The place in the model: no two have the same number.
    pub site: u32,
}

/// What a wrong answer costs, row by row. `z` is a row of the value that it reads.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Loss {
    /// One class is right: `log(sum(exp z)) - z[class]`.
    CrossEntropy,
    /// Each number is the logit of a yes or no of its own: the mean of `log(1 + exp z) - target z` over the row.
    Binary,
    /// The mean of `(z - target)^2` over the row.
    Squared,
    /// The target is a row of logits, a teacher's: `t^2 * KL(softmax(target / t) || softmax(z / t))`, with the temperature `t` (Hinton et al.,
    /// Distilling the Knowledge in a Neural Network, 2015).
    Distilled {
        /// t
        temperature: f32,
    },
    /// `1 - cos(z, target)`.
    Cosine,
    /// What the lesson's judge says of all rows together.
    Judged,
}

/// Weights that only a judge reads: vectors, one after another in the order of their ids. Their gradients are added to.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Own {
    /// The first.
    pub first: usize,
    /// How many.
    pub count: usize,
}

impl Own {
    /// Each of them.
    pub fn ids(self) -> impl Iterator<Item = WeightId> {
        (self.first..self.first + self.count).map(WeightId)
    }
}

/// One operation of learning. Shapes are (rows, width); a gradient has the shape of the value that it belongs to.
#[derive(Clone, Debug, PartialEq)]
pub enum Learn {
    /// `activation(x)`: same shape. A linear layer that learns keeps its activation apart, since the way back needs what it read.
    Activate {
        /// x
        input: ValueId,
        /// The function.
        activation: Activation,
    },
    /// The gradient of x, of [`Learn::Activate`].
    ActivateBack {
        /// Of the result.
        gradient: ValueId,
        /// x
        input: ValueId,
        /// The function.
        activation: Activation,
    },
    /// x with dropout: same shape. The way back is the same operation on the gradient.
    Drop {
        /// x
        input: ValueId,
        /// How many, and where.
        dropout: Dropout,
    },
    /// [`Op::Attention`] with dropout of the weights with which tokens mix.
    Attend {
        /// Queries, keys and values.
        qkv: ValueId,
        /// Those of the tokens at the start that see all, where they have some of their own.
        start: Option<ValueId>,
        /// Heads, and how they look.
        attention: Attention,
        /// Of the weights.
        dropout: Dropout,
    },
    /// The gradient of queries, keys and values, as far as these tokens look with them; adds to those of the bias's numbers. Beside it
    /// stand the gradients of the rows of distances that they meet.
    AttendBack {
        /// Of the result.
        gradient: ValueId,
        /// Queries, keys and values.
        qkv: ValueId,
        /// Whose looks they are.
        lookers: Lookers,
        /// Heads, and how they look.
        attention: Attention,
        /// Of the weights.
        dropout: Dropout,
    },
    /// The gradient of the rows of distances that one side of an attention meets, out of what stands beside its gradient.
    MetBack {
        /// [`Learn::AttendBack`] of the attention.
        of: ValueId,
        /// Which side.
        side: Side,
        /// The first head's first column.
        from: usize,
    },
    /// Adds all rows to the gradient of a table: no value.
    WholeGradient {
        /// Of the rows.
        gradient: ValueId,
        /// The table.
        table: WeightId,
    },
    /// The gradient of what columns were scaled and shifted of; adds to those of scale and shift.
    AffineBack {
        /// Of the result.
        gradient: ValueId,
        /// What was scaled.
        input: ValueId,
        /// One number a column.
        weight: WeightId,
        /// One number a column.
        bias: WeightId,
        /// Whether scale and shift learn.
        learns: bool,
    },
    /// Adds `gradient^T x` to the gradient of a matrix, and the sums of its columns to the bias's: no value.
    LinearGradient {
        /// Of the product.
        gradient: ValueId,
        /// x
        input: ValueId,
        /// The matrix.
        weight: WeightId,
        /// One number an output.
        bias: Option<WeightId>,
    },
    /// The gradient of what a norm read; adds to those of scale and shift.
    NormBack {
        /// Of the result.
        gradient: ValueId,
        /// What was normalised.
        input: ValueId,
        /// The norm.
        norm: Norm,
        /// Whether scale and shift learn.
        learns: bool,
    },
    /// Adds each row to the gradients of the table rows that were its summands: no value.
    EmbedGradient {
        /// Of the sum.
        gradient: ValueId,
        /// The tables that learn.
        lookups: Vec<Lookup>,
    },
    /// The gradient of both halves of a gate.
    GateBack {
        /// Of the result.
        gradient: ValueId,
        /// Both halves.
        input: ValueId,
        /// Of the half `activated`.
        activation: Activation,
        /// Which half that is.
        activated: Half,
    },
    /// Turns back what [`Op::Rotate`] turned.
    RotateBack {
        /// Of the result.
        gradient: ValueId,
        /// By how much.
        rotary: Rotary,
    },
    /// The gradient of each token's own row, of [`Op::Neighbours`].
    NeighboursBack {
        /// Of the result.
        gradient: ValueId,
        /// How many tokens.
        size: usize,
    },
    /// The rows of picked tokens where the tokens stand, zero elsewhere: (picked, width) -> (tokens, width).
    PickBack {
        /// Of the picked rows.
        gradient: ValueId,
        /// Which tokens they are.
        which: Which,
    },
    /// (sequences, width) -> (tokens, width), the way back of [`Op::Pool`].
    PoolBack {
        /// Of the pooled rows.
        gradient: ValueId,
        /// Token rows.
        input: ValueId,
        /// How they were reduced.
        reduce: Reduce,
    },
    /// Columns `from..from + width` of each row.
    Columns {
        /// What they are taken from.
        input: ValueId,
        /// The first.
        from: usize,
    },
    /// Each number times `factor`.
    Scale {
        /// The numbers.
        input: ValueId,
        /// What they are multiplied by.
        factor: f32,
    },
    /// The way back of [`Op::Terms`], whose scores are computed again: (sequences, table rows) -> (tokens, width). Adds to the
    /// gradients of table and bias.
    TermsBack {
        /// Of the weights.
        gradient: ValueId,
        /// x
        input: ValueId,
        /// E
        table: WeightId,
        /// One number a row of the table.
        bias: WeightId,
        /// How scores became weights.
        terms: Terms,
        /// Whether table and bias learn.
        learns: bool,
    },
    /// The gradient of a loss: the shape of what it reads. Beside it stand the cost of each row and the class that is largest.
    Loss {
        /// z
        input: ValueId,
        /// What is wrong.
        loss: Loss,
        /// Which of the lesson's targets say what is right.
        target: usize,
        /// The weights of a judge.
        own: Own,
    },
    /// What `x E^T + bias` over a whole vocabulary costs, which is never a value: -> the gradient of x. Adds to those of table and bias. Each row
    /// also draws a word by its probabilities.
    Vocabulary {
        /// x
        input: ValueId,
        /// E
        table: WeightId,
        /// One number a row of the table.
        bias: WeightId,
        /// Rows of the table.
        words: usize,
        /// Cross-entropy, or a teacher's distribution.
        loss: Loss,
        /// Which of the lesson's targets are the right rows.
        target: usize,
        /// Whether table and bias learn.
        learns: bool,
        /// Whether the gradient of x is computed. Where neither is wanted only the costs are.
        carries: bool,
    },
}

impl Op {
    /// The weights that an operation of a model, or its copy in a graph that learns, reads on the way forward.
    pub fn weights(&self) -> Vec<WeightId> {
        let (mut copy, mut read) = (self.clone(), Vec::new());
        copy.each_weight(|id| read.push(*id));
        read
    }
}

/// Which side of an attention meets the rows of distances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Queries, the rows that the distances have among keys.
    Queries,
    /// Keys, those that they have among queries.
    Keys,
}

/// Which tokens of a sequence look with a value's queries, keys and values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lookers {
    /// All of them.
    All,
    /// Those at the start that see all.
    Start,
    /// All but those.
    Others,
}

impl Learn {
    /// The values that the operation reads.
    pub fn inputs(&self) -> Vec<ValueId> {
        let mut copy = self.clone();
        let mut read = Vec::new();
        copy.each_input(|v| read.push(*v));
        read
    }

    /// Visits each value that the operation reads.
    pub(in crate::engine) fn each_input(&mut self, mut visit: impl FnMut(&mut ValueId)) {
        match self {
            Learn::Activate { input, .. }
            | Learn::Drop { input, .. }
            | Learn::Columns { input, .. }
            | Learn::Scale { input, .. }
            | Learn::Loss { input, .. }
            | Learn::Vocabulary { input, .. } => visit(input),
            Learn::Attend { qkv, start, attention, .. } => {
                visit(qkv);
                start.iter_mut().for_each(&mut visit);
                attention.each_value(visit);
            }
            Learn::MetBack { of, .. } => visit(of),
            Learn::WholeGradient { gradient, .. }
            | Learn::EmbedGradient { gradient, .. }
            | Learn::RotateBack { gradient, .. }
            | Learn::NeighboursBack { gradient, .. }
            | Learn::PickBack { gradient, .. } => visit(gradient),
            Learn::ActivateBack { gradient, input, .. }
            | Learn::LinearGradient { gradient, input, .. }
            | Learn::NormBack { gradient, input, .. }
            | Learn::AffineBack { gradient, input, .. }
            | Learn::TermsBack { gradient, input, .. }
            | Learn::GateBack { gradient, input, .. }
            | Learn::PoolBack { gradient, input, .. } => {
                visit(gradient);
                visit(input);
            }
            Learn::AttendBack { gradient, qkv, attention, .. } => {
                visit(gradient);
                visit(qkv);
                attention.each_value(visit);
            }
        }
    }

    /// The value that the result may be written over, if nothing reads it later.
    pub fn overwrites(&self) -> Option<ValueId> {
        match self {
            Learn::ActivateBack { gradient, .. } | Learn::NormBack { gradient, .. } | Learn::AffineBack { gradient, .. } => Some(*gradient),
            Learn::Drop { input, .. } | Learn::Scale { input, .. } | Learn::Loss { input, .. } => Some(*input),
            _ => None,
        }
    }
}
