//! Which tokens does a token look at, and what do distances add?
//!
//! The options of [`Op::Attention`](super::Op) as data. Each executor follows them; `engine::cpu::reference` is their definition in plain
//! loops.

use std::ops::Range;
use std::sync::Arc;

use super::{ValueId, WeightId};

/// How the tokens of a sequence look at each other. Families differ in these fields, not in operations.
#[derive(Clone, Debug, PartialEq)]
pub struct Attention {
    /// Number of heads.
    pub heads: usize,
    /// Width of one head.
    pub head_size: usize,
    /// What is added to the scores.
    pub bias: Bias,
    /// Which tokens a token sees around it.
    pub span: Span,
    /// And however far away.
    pub far: Far,
}

impl Attention {
    /// How many products a score sums; scores are divided by its root before softmax.
    pub fn products(&self) -> usize {
        let terms = if let Bias::Disentangled(positions) = &self.bias { positions.terms() } else { 1 };
        self.head_size * terms
    }

    /// The values that are read beside queries, keys and values.
    pub fn values(&self) -> impl Iterator<Item = ValueId> {
        let Bias::Disentangled(positions) = &self.bias else { return [None, None].into_iter().flatten() };
        [&positions.keys, &positions.queries].map(Met::value).into_iter().flatten()
    }

    /// Visits these.
    pub(in crate::engine) fn each_value(&mut self, mut visit: impl FnMut(&mut ValueId)) {
        let Bias::Disentangled(positions) = &mut self.bias else { return };
        for met in [&mut positions.keys, &mut positions.queries] {
            if let Met::Rows { value, .. } = met {
                visit(value);
            }
        }
    }

    /// Every token looks at every token, by its scores alone (Vaswani et al., Attention Is All You Need, 2017).
    pub fn plain(heads: usize, head_size: usize) -> Attention {
        Attention { heads, head_size, bias: Bias::None, span: Span::ALL, far: Far::None }
    }
}

/// How far a token sees, in tokens before and behind it; itself it always sees. A window (Beltagy et al., Longformer, 2020) has equal
/// sides, a causal model no side ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Tokens before it.
    pub before: usize,
    /// Tokens after it.
    pub after: usize,
}

impl Span {
    /// The whole sequence.
    pub const ALL: Span = Span { before: usize::MAX, after: usize::MAX };

    /// What the tokens `queries` of a sequence of `tokens` see together.
    pub fn seen(self, queries: Range<usize>, tokens: usize) -> Range<usize> {
        queries.start.saturating_sub(self.before)..queries.end.saturating_add(self.after).min(tokens)
    }
}

/// Which tokens are seen, and see, however far away they are. There is no bias beside it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Far {
    /// None.
    #[default]
    None,
    /// The tokens at the start of a sequence: all tokens see them, and they see all tokens, with queries, keys and values of their own
    /// (the global attention of Beltagy et al., Longformer, 2020).
    Start(Start),
    /// The tokens at the end of a sequence, in the same way: those behind the first token of this id and the one that follows it, which
    /// separate two texts. None where there is no such token.
    End(u32),
    /// Those of the first block and of the last; the others see their own block and its neighbours beside them, whatever the span
    /// says (Zaheer et al., Big Bird: Transformers for Longer Sequences, 2020).
    Blocks(Blocks),
}

/// Tokens at the start of a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// The first token.
    First,
    /// The tokens before the first one of this id: a question before its separator. None where there is no such token.
    Before(u32),
}

/// A sequence in blocks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Blocks {
    /// Tokens of a block; the last may have fewer.
    pub size: usize,
    /// In a sequence of up to so many tokens every token sees every token.
    pub whole: usize,
    /// How often the first block counts for tokens that do not see all.
    pub times: f32,
}

/// Rotary positions: a pair of numbers of each query and key is turned by an angle that grows with the token's place, so that a score
/// depends on the distance (Su et al., RoFormer: Enhanced Transformer with Rotary Position Embedding, 2021). Number `i` of a head is
/// paired with number `i + frequencies.len()`; what lies behind these pairs is not turned.
#[derive(Clone, Debug, PartialEq)]
pub struct Rotary {
    /// Width of one head.
    pub head_size: usize,
    /// The angle of a pair from one place to the next, in radians.
    pub frequencies: Arc<[f32]>,
}

/// What is added to the scores, after they are scaled by `1 / sqrt(head_size)` and before softmax.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Bias {
    /// Nothing.
    #[default]
    None,
    /// A learned number for each head and each distance (Shaw et al., Self-Attention with Relative Position Representations,
    /// 2018; in buckets as in Raffel et al., T5, 2020).
    Relative(Relative),
    /// The distance, to either side, times a negative number for each head (Press et al., Train Short, Test Long: Attention with Linear
    /// Biases, 2022; symmetric as in encoders): here, the numbers without their sign.
    Slopes(Arc<[f32]>),
    /// What queries and keys say to the distance between them; scores are scaled with it (He et al., DeBERTa, 2021).
    Disentangled(Disentangled),
}

impl Bias {
    /// The number for the distance `key - query` in head `head` of `heads`; `table` gives the numbers of a weight.
    pub fn at<'w>(&self, distance: isize, head: usize, heads: usize, table: &impl Fn(WeightId) -> &'w [f32]) -> f32 {
        match self {
            // Disentangled terms depend on the tokens, too.
            Bias::None | Bias::Disentangled(_) => 0.0,
            Bias::Relative(relative) => table(relative.table)[relative.bucket(distance) * heads + head],
            Bias::Slopes(slopes) => -slopes[head] * distance.unsigned_abs() as f32,
        }
    }
}

/// Disentangled attention: to the product of a query and a key come that of the query with a row that the distance has among keys,
/// and that of the key with a row that it has among queries. The sum is scaled by `1 / sqrt(head_size * terms)`, of one to three terms.
#[derive(Clone, Debug, PartialEq)]
pub struct Disentangled {
    /// The rows that queries meet.
    pub keys: Met,
    /// The rows that keys meet.
    pub queries: Met,
    /// The row of each distance, query's place minus key's, from `-reach` to `reach`; never falling. Distances beyond have the row of
    /// the end.
    pub places: Arc<[u32]>,
}

/// The rows of distances that one side of an attention meets, (places, head_size) for each head.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Met {
    /// None: attention is without this term.
    #[default]
    Nothing,
    /// Weights that were made beforehand, one a head, of role [`Role::Head`](crate::engine::Role::Head).
    Made(Vec<WeightId>),
    /// Columns of a value: where a model learns, rows change with what they are made of.
    Rows {
        /// A row a place.
        value: ValueId,
        /// The first head's first column; the others stand behind it.
        from: usize,
    },
}

impl Met {
    /// Whether attention has this term.
    pub fn is_something(&self) -> bool {
        *self != Met::Nothing
    }

    /// The value whose columns they are.
    pub fn value(&self) -> Option<ValueId> {
        if let Met::Rows { value, .. } = self { Some(*value) } else { None }
    }

    /// The weight of a head.
    pub fn made(&self, head: usize) -> Option<WeightId> {
        if let Met::Made(ids) = self { ids.get(head).copied() } else { None }
    }
}

impl Disentangled {
    /// The row of the distance `query - key`.
    pub fn place(&self, distance: isize) -> usize {
        let reach = (self.places.len() / 2) as isize;
        self.places[(distance.clamp(-reach, reach) + reach) as usize] as usize
    }

    /// How many products are summed.
    pub fn terms(&self) -> usize {
        1 + usize::from(self.keys.is_something()) + usize::from(self.queries.is_something())
    }
}

/// A relative position bias: numbers by distance, in a table that all layers of a model may share.
#[derive(Clone, Debug, PartialEq)]
pub struct Relative {
    /// The numbers, (buckets, heads), of role [`Role::Vector`](crate::engine::Role::Vector).
    pub table: WeightId,
    /// The bucket of each distance, key's place minus query's, from `-reach` to `reach`: `2 * reach + 1` of them. Distances beyond
    /// have the bucket of the end.
    pub buckets: Arc<[u32]>,
}

impl Relative {
    /// The bucket of the distance `key - query`.
    pub fn bucket(&self, distance: isize) -> usize {
        let reach = (self.buckets.len() / 2) as isize;
        self.buckets[(distance.clamp(-reach, reach) + reach) as usize] as usize
    }
}
