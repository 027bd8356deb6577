//! What is right, and by which chance? What a batch carries beside its tokens when a model learns.

/// The class of a row that has none: it costs nothing and counts nowhere.
pub const UNLABELLED: u32 = u32::MAX;

/// What is right for the rows of one loss.
#[derive(Clone, Debug, PartialEq)]
pub enum Target {
    /// A class for each row, [`UNLABELLED`] for none.
    Classes {
        /// One a row.
        classes: Vec<u32>,
        /// What each cost, and so its gradient, is multiplied by: 1 over the number of labelled rows of the whole batch for a mean.
        factor: f32,
    },
    /// Numbers, row after row, as many as the loss's row has; NaN in the first marks a row without any.
    Numbers {
        /// Row after row.
        numbers: Vec<f32>,
        /// As above.
        factor: f32,
    },
}

/// The targets of one batch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lesson {
    /// By the number that a loss names.
    pub targets: Vec<Target>,
    /// All chance of this step follows from it.
    pub seed: u64,
    /// The number of the batch's first sequence among those of the step, so that parts of a step drop what the whole would.
    pub first_sequence: u64,
}

/// What one row of a loss cost.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// Without the target's factor; 0 for a row without a target.
    pub loss: f32,
    /// Of classes: whether the right one is largest.
    pub right: bool,
}

/// The golden ratio's fraction as an odd number: SplitMix64's increment.
pub const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// A bijection of 64-bit words in which each bit of the input changes each bit of the output about half of the time: the finaliser of
/// SplitMix64 (Steele, Lea and Flood, Fast Splittable Pseudorandom Number Generators, 2014; constants of Stafford's variant 13).
#[inline]
pub fn mix(mut word: u64) -> u64 {
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// A key of many bits from numbers: each bit of the result depends on each of the words.
pub fn key(words: &[u64]) -> u64 {
    words.iter().fold(GAMMA, |state, word| mix((state ^ word).wrapping_add(GAMMA)))
}
