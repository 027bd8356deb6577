//! Which numbers does a weight have that nothing has taught yet?
//!
//! As in BERT: matrices and tables from a normal distribution cut off at two deviations, biases 0, the scales of norms 1. A number follows
//! from the seed, the tensor's name and its place, so that a model is the same whatever else is made before it.

use super::heads::Kind;
use crate::engine::lesson::{GAMMA, mix};
use crate::quant::{Bytes, Dtype, Tensor};

/// How missing weights are made, and which heads are wanted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fresh {
    /// All chance follows from it.
    pub seed: u64,
    /// The deviation of matrices and tables; 0.02 in BERT.
    pub deviation: f32,
    /// Heads that the model shall have.
    pub heads: Vec<Kind>,
    /// How many labels a head tells apart that is made; one of the checkpoint that tells another number apart is made anew.
    pub labels: usize,
    /// Whether the layer that tells labels apart is made anew in any case: the checkpoint's labels are others.
    pub anew: bool,
    /// Whether the checkpoint's other heads are left out.
    pub alone: bool,
}

impl Fresh {
    /// The tensor `name` of f32.
    pub(super) fn tensor(&self, name: &str, shape: &[usize]) -> Option<Tensor> {
        let count = shape.iter().try_fold(1usize, |n, d| n.checked_mul(*d))?;
        // Norms call their scale `weight`, and it is a vector.
        let constant = match (shape.len(), name.ends_with("weight")) {
            (1, true) => Some(1.0),
            (1, false) => Some(0.0),
            _ => None,
        };
        let key = name.bytes().fold(next(self.seed), |key, byte| next(key ^ u64::from(byte)));
        let number = |i: usize| constant.unwrap_or_else(|| self.deviation * normal(key, i as u64));
        let bytes: Vec<u8> = (0..count).flat_map(|i| number(i).to_le_bytes()).collect();
        Tensor::new(Dtype::F32, shape.to_vec(), Bytes::owned(bytes))
    }
}

/// The number behind `state` in a stream of SplitMix64.
fn next(state: u64) -> u64 {
    mix(state.wrapping_add(GAMMA))
}

/// Number `index` of a normal distribution without what lies beyond two deviations: the first of a few draws that lies within (Box and
/// Muller, A Note on the Generation of Random Normal Deviates, 1958).
fn normal(key: u64, index: u64) -> f32 {
    let uniform = |n: u64| ((next(key.wrapping_add(n.wrapping_mul(GAMMA))) >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
    let draw = |t: u64| {
        let at = (index * 64 + t) * 2;
        (-2.0 * uniform(at).ln()).sqrt() * (2.0 * std::f64::consts::PI * uniform(at + 1)).cos()
    };
    // Of 64 draws, each 95 % likely, one lies within.
    (0..64).map(draw).find(|x| x.abs() <= 2.0).unwrap_or(0.0) as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_normal_and_cut_off() {
        let fresh = Fresh { seed: 1, deviation: 0.02, ..Fresh::default() };
        let x = fresh.tensor("a.weight", &[300, 300]).unwrap().to_f32();
        let mean = x.iter().map(|x| f64::from(*x)).sum::<f64>() / x.len() as f64;
        let deviation = (x.iter().map(|x| (f64::from(*x) - mean).powi(2)).sum::<f64>() / x.len() as f64).sqrt();
        // A normal distribution cut off at two deviations has 0.8796 of its deviation.
        assert!(mean.abs() < 3e-4 && (deviation / 0.02 - 0.8796).abs() < 0.01, "{mean} {deviation}");
        assert!(x.iter().all(|x| x.abs() <= 0.04));
        assert_ne!(x, fresh.tensor("b.weight", &[300, 300]).unwrap().to_f32(), "names tell");
        assert_eq!(fresh.tensor("LayerNorm.weight", &[3]).unwrap().to_f32(), [1.0; 3]);
        assert_eq!(fresh.tensor("dense.bias", &[3]).unwrap().to_f32(), [0.0; 3]);
    }
}
