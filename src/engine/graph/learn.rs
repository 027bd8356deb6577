//! Which operations does only learning need?
//!
//! Losses, dropout, and for each operation of a model the one that carries the gradient back over it. They are operations like the others:
//! `engine::gradient` appends them to a model's graph, and an executor lays them out and runs them with it. The gradient of a weight
//! is no value: operations that find one add it to the weight's own.

use super::{Activation, Attention, Bias, Half, Lookup, Norm, Op, Reduce, Rotary, ValueId, WeightId};

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
    /// [`Op::Attention`](super::Op::Attention) with dropout of the weights with which tokens mix.
    Attend {
        /// Queries, keys and values.
        qkv: ValueId,
        /// Heads, and how they look.
        attention: Attention,
        /// Of the weights.
        dropout: Dropout,
    },
    /// The gradient of queries, keys and values; adds to those of the bias's numbers.
    AttendBack {
        /// Of the result.
        gradient: ValueId,
        /// Queries, keys and values.
        qkv: ValueId,
        /// Heads, and how they look.
        attention: Attention,
        /// Of the weights.
        dropout: Dropout,
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
    /// Turns back what [`Op::Rotate`](super::Op::Rotate) turned.
    RotateBack {
        /// Of the result.
        gradient: ValueId,
        /// By how much.
        rotary: Rotary,
    },
    /// The gradient of each token's own row, of [`Op::Neighbours`](super::Op::Neighbours).
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
    },
    /// (sequences, width) -> (tokens, width), the way back of [`Op::Pool`](super::Op::Pool).
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
    /// The gradient of a loss: the shape of what it reads. Beside it stand the cost of each row and the class that is largest.
    Loss {
        /// z
        input: ValueId,
        /// What is wrong.
        loss: Loss,
        /// Which of the lesson's targets say what is right.
        target: usize,
    },
    /// The cross-entropy of `x E^T + bias` over a whole vocabulary, which is never a value: -> the gradient of x. Adds to those of table and
    /// bias.
    Vocabulary {
        /// x
        input: ValueId,
        /// E
        table: WeightId,
        /// One number a row of the table.
        bias: WeightId,
        /// Rows of the table.
        words: usize,
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
        match self {
            Op::Embed { lookups, norm } => {
                let norm = norm.iter().flat_map(Norm::weights);
                lookups.iter().map(|lookup| lookup.table).chain(norm).collect()
            }
            Op::Linear { weight, bias, .. } => [*weight].into_iter().chain(*bias).collect(),
            Op::AddNorm { norm, .. } | Op::Norm { norm, .. } => norm.weights().collect(),
            Op::Attention { attention, .. } | Op::Learn(Learn::Attend { attention, .. }) => attention.bias.weights(),
            Op::Affine { weight, bias, .. } => vec![*weight, *bias],
            Op::Scores { table, bias, .. } | Op::Terms { table, bias, .. } | Op::Learn(Learn::Vocabulary { table, bias, .. }) => {
                vec![*table, *bias]
            }
            _ => Vec::new(),
        }
    }
}

impl Norm {
    fn weights(&self) -> impl Iterator<Item = WeightId> + use<> {
        [self.weight].into_iter().chain(self.bias)
    }
}

impl Bias {
    fn weights(&self) -> Vec<WeightId> {
        match self {
            Bias::None | Bias::Slopes(_) => Vec::new(),
            Bias::Relative(relative) => vec![relative.table],
            Bias::Disentangled(terms) => terms.keys.iter().chain(&terms.queries).copied().collect(),
        }
    }
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
            Learn::Attend { qkv, .. } => visit(qkv),
            Learn::EmbedGradient { gradient, .. }
            | Learn::RotateBack { gradient, .. }
            | Learn::NeighboursBack { gradient, .. }
            | Learn::PickBack { gradient } => visit(gradient),
            Learn::ActivateBack { gradient, input, .. }
            | Learn::LinearGradient { gradient, input, .. }
            | Learn::NormBack { gradient, input, .. }
            | Learn::GateBack { gradient, input, .. }
            | Learn::PoolBack { gradient, input, .. } => {
                visit(gradient);
                visit(input);
            }
            Learn::AttendBack { gradient, qkv, .. } => {
                visit(gradient);
                visit(qkv);
            }
        }
    }

    /// The value that the result may be written over, if nothing reads it later.
    pub fn overwrites(&self) -> Option<ValueId> {
        match self {
            Learn::ActivateBack { gradient, .. } | Learn::NormBack { gradient, .. } => Some(*gradient),
            Learn::Drop { input, .. } | Learn::Scale { input, .. } | Learn::Loss { input, .. } => Some(*input),
            _ => None,
        }
    }
}
