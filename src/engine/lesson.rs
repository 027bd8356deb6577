//! What is right, and by which chance? What a batch carries beside its tokens when a model learns.

use std::sync::Arc;

/// The class of a row that has none: it costs nothing and counts nowhere.
pub const UNLABELLED: u32 = u32::MAX;

/// What a model's answers cost where the rows depend on each other, or on more than a class or numbers each.
pub trait Judge: Send + Sync {
    /// Reads rows of `width` numbers, one after another, and writes the gradient of the sum of costs (it comes as zeros) and what each row
    /// cost. A judge may have weights of its own, which learn too. The result may depend on nothing else, so that it is the same each time.
    fn judge(&self, answers: &[f32], width: usize, own: &mut Owned<'_>, gradient: &mut [f32], costs: &mut [Cost]);
}

/// The weights of a judge, and the gradient of each, which comes as zeros.
pub struct Owned<'w> {
    /// Number after number.
    pub weights: Vec<&'w [f32]>,
    /// As long as the weights.
    pub gradients: Vec<Vec<f32>>,
}

impl<'w> Owned<'w> {
    /// Weights that have no gradient yet.
    pub fn new(weights: Vec<&'w [f32]>) -> Owned<'w> {
        let gradients = weights.iter().map(|numbers| vec![0.0; numbers.len()]).collect();
        Owned { weights, gradients }
    }

    /// Adds `factor` times `sums` to the gradients.
    pub fn add(&mut self, sums: &[Vec<f64>], factor: f64) {
        for (to, sum) in self.gradients.iter_mut().zip(sums) {
            to.iter_mut().zip(sum).for_each(|(to, x)| *to += (x * factor) as f32);
        }
    }
}

/// What is right for the rows of one loss.
#[derive(Clone)]
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
    /// Whatever this says.
    Judged(Arc<dyn Judge>),
}

impl std::fmt::Debug for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Target::Classes { classes, factor } => f.debug_struct("Classes").field("classes", classes).field("factor", factor).finish(),
            Target::Numbers { numbers, factor } => f.debug_struct("Numbers").field("numbers", numbers).field("factor", factor).finish(),
            Target::Judged(_) => f.write_str("Judged"),
        }
    }
}

/// The targets of one batch.
#[derive(Clone, Debug, Default)]
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
    /// Of a vocabulary: a word drawn with the probability that the model gives it, by the lesson's seed.
    pub drawn: u32,
}

/// `e^z / sum e^z`.
pub fn softmax(z: impl Iterator<Item = f64> + Clone) -> Vec<f64> {
    let largest = z.clone().fold(f64::NEG_INFINITY, f64::max);
    let e: Vec<f64> = z.map(|z| (z - largest).exp()).collect();
    let sum: f64 = e.iter().sum();
    e.into_iter().map(|e| e / sum).collect()
}

/// What naming `class` costs where the model says `z`, `log(sum(exp z)) - z[class]`, and the gradient; nothing for [`UNLABELLED`].
///
/// # Panics
/// If there is no such class.
pub fn cross_entropy(z: &[f64], class: u32) -> (Cost, Vec<f64>) {
    if class == UNLABELLED {
        return (Cost::default(), vec![0.0; z.len()]);
    }
    let class = class as usize;
    let mut gradient = softmax(z.iter().copied());
    let largest = z.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let total = largest + z.iter().map(|z| (z - largest).exp()).sum::<f64>().ln();
    gradient[class] -= 1.0;
    (Cost { loss: (total - z[class]) as f32, right: z[class] >= largest, drawn: 0 }, gradient)
}

/// What it costs that the model says `z` where a teacher says `teacher`, `t^2 * KL(softmax(teacher / t) || softmax(z / t))` at the temperature `t`
/// (Hinton et al., Distilling the Knowledge in a Neural Network, 2015), and the gradient.
pub fn distilled(z: &[f64], teacher: &[f32], t: f64) -> (f64, Vec<f64>) {
    let p = softmax(teacher.iter().map(|x| f64::from(*x) / t));
    let q = softmax(z.iter().map(|z| z / t));
    let divergence: f64 = p.iter().zip(&q).filter(|(p, _)| **p > 0.0).map(|(p, q)| p * (p / q.max(f64::MIN_POSITIVE)).ln()).sum();
    (t * t * divergence, q.iter().zip(&p).map(|(q, p)| t * (q - p)).collect())
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
