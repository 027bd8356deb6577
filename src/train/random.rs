//! Which random number belongs to this purpose at this place?
//!
//! Numbers are functions, not a stream: a [`Key`] is mixed from words (the seed, a purpose, an epoch, an index ...) and gives the
//! number of any counter at once. Nothing needs to be stored, replayed or drawn in order, whatever thread asks.
//!
//! The mixer is the finaliser of SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014; constants of
//! Stafford's variant 13), applied twice a number: once to the counter, once to its sum with the key.

use crate::engine::lesson::{GAMMA, mix};

/// What a number is for. Numbers for one purpose are independent of those for all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Purpose {
    /// The order of an epoch's examples.
    Order = 1,
    /// Which texts an example consists of.
    Texts = 2,
    /// Which tokens are masked.
    Masking = 3,
    /// What masked tokens are replaced with.
    Replacing = 4,
    /// Dropout.
    Dropout = 6,
}

/// Names a sequence of random numbers, each of which is had by its counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Key(u64);

impl Key {
    /// The key of these words; another word, or another order of them, is another key.
    pub fn new(seed: u64, purpose: Purpose, words: &[u64]) -> Key {
        words.iter().fold(Key(mix(seed)).and(purpose as u64), |key, &word| key.and(word))
    }

    /// The key of one word more.
    #[must_use]
    pub fn and(self, word: u64) -> Key {
        Key(mix(self.0.rotate_left(23) ^ mix(word.wrapping_add(GAMMA))))
    }

    /// 64 random bits.
    #[inline]
    pub fn bits(self, counter: u64) -> u64 {
        mix(self.0.wrapping_add(mix(counter.wrapping_mul(GAMMA).wrapping_add(GAMMA))))
    }

    /// A whole number below `n`, all as likely as each other up to one part in 2^64 / `n`. 0 for `n` = 0.
    #[inline]
    pub fn below(self, counter: u64, n: u64) -> u64 {
        // Lemire's product without its rejection: the high half of a 128-bit product.
        ((u128::from(self.bits(counter)) * u128::from(n)) >> 64) as u64
    }

    /// [`Key::below`] for places.
    #[inline]
    pub fn place(self, counter: u64, n: usize) -> usize {
        self.below(counter, n as u64) as usize
    }

    /// A number from [0, 1), one of 2^53.
    #[inline]
    pub fn unit(self, counter: u64) -> f64 {
        (self.bits(counter) >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mixer_is_that_of_split_mix() {
        // The first three numbers of SplitMix64 from seed 0, as Java's SplittableRandom and the public C code give them.
        let numbers: Vec<u64> = (1..4u64).map(|i| mix(i.wrapping_mul(GAMMA))).collect();
        assert_eq!(numbers, [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4, 0x06c4_5d18_8009_454f]);
    }

    #[test]
    fn each_word_and_its_place_make_another_key() {
        let keys = [
            Key::new(0, Purpose::Order, &[]),
            Key::new(1, Purpose::Order, &[]),
            Key::new(0, Purpose::Texts, &[]),
            Key::new(0, Purpose::Order, &[0]),
            Key::new(0, Purpose::Order, &[0, 0]),
            Key::new(0, Purpose::Order, &[0, 1]),
            Key::new(0, Purpose::Order, &[1, 0]),
        ];
        for (i, a) in keys.iter().enumerate() {
            assert!(keys[i + 1..].iter().all(|b| a != b && a.bits(0) != b.bits(0)), "{i}");
        }
    }

    /// Chi-squared of `counts`, of which each should be `expected`, in deviations from its mean.
    fn surprise(counts: &[u32], expected: f64) -> f64 {
        let sum: f64 = counts.iter().map(|&n| (f64::from(n) - expected).powi(2) / expected).sum();
        let freedom = (counts.len() - 1) as f64;
        (sum - freedom) / (2.0 * freedom).sqrt()
    }

    #[test]
    fn numbers_are_spread_evenly_along_counters_and_along_keys() {
        const N: u64 = 200_000;
        for n in [2u64, 7, 100, 30_522] {
            let (mut along_counters, mut along_keys) = (vec![0; n as usize], vec![0; n as usize]);
            for i in 0..N {
                along_counters[Key::new(42, Purpose::Masking, &[3]).place(i, n as usize)] += 1;
                along_keys[Key::new(42, Purpose::Masking, &[i]).place(0, n as usize)] += 1;
            }
            for counts in [along_counters, along_keys] {
                let found = surprise(&counts, N as f64 / n as f64);
                assert!(found.abs() < 5.0, "{n}: {found}");
            }
        }
    }

    #[test]
    fn units_are_below_one_and_have_the_moments_of_even_spread() {
        let key = Key::new(7, Purpose::Dropout, &[1, 2]);
        let numbers: Vec<f64> = (0..100_000).map(|i| key.unit(i)).collect();
        assert!(numbers.iter().all(|x| (0.0..1.0).contains(x)));
        let mean = numbers.iter().sum::<f64>() / 1e5;
        let product = numbers.windows(2).map(|w| (w[0] - 0.5) * (w[1] - 0.5)).sum::<f64>() / 1e5;
        assert!((mean - 0.5).abs() < 0.005 && product.abs() < 0.0015, "{mean} {product}");
    }

    #[test]
    fn nothing_is_below_zero_and_only_zero_below_one() {
        let key = Key::new(0, Purpose::Order, &[]);
        assert!((0..100).all(|i| key.below(i, 0) == 0 && key.below(i, 1) == 0 && key.below(i, u64::MAX) < u64::MAX));
    }
}
