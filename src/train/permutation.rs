//! In which order does an epoch take its examples?
//!
//! A permutation that is computed, not stored: a Feistel network over the smallest even number of bits that holds the count, walked until
//! the result is below it (Black and Rogaway, "Ciphers with arbitrary finite domains", 2002). Any place of any epoch is known at once.

use super::random::{Key, Purpose};

/// More rounds than it takes for the order to look drawn by lot.
const ROUNDS: u64 = 6;

/// An order of 0..n.
#[derive(Clone, Copy, Debug)]
pub struct Permutation {
    n: u64,
    /// Bits of one half.
    half: u32,
    key: Key,
}

impl Permutation {
    /// The order of `n` things in an epoch.
    pub fn new(n: usize, seed: u64, epoch: u64) -> Permutation {
        let n = n as u64;
        let bits = u64::BITS - n.saturating_sub(1).leading_zeros();
        Permutation { n, half: bits.div_ceil(2).max(1), key: Key::new(seed, Purpose::Order, &[epoch]) }
    }

    /// What stands at `place`, which must be below n.
    pub fn at(&self, place: usize) -> usize {
        let mut number = place as u64;
        // The network is a permutation of a range less than four times as large: a few steps on average.
        loop {
            number = self.network(number);
            if number < self.n {
                return number as usize;
            }
        }
    }

    fn network(&self, number: u64) -> u64 {
        let mask = (1 << self.half) - 1;
        let (mut left, mut right) = (number >> self.half, number & mask);
        for round in 0..ROUNDS {
            (left, right) = (right, left ^ (self.key.and(round).bits(right) & mask));
        }
        left << self.half | right
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_stands_at_one_place() {
        for n in (1..200).chain([255, 256, 257, 1000, 4096, 65_537]) {
            let order = Permutation::new(n, 3, 1);
            let mut seen = vec![false; n];
            (0..n).for_each(|place| assert!(!std::mem::replace(&mut seen[order.at(place)], true), "{n}"));
        }
        let large = Permutation::new(usize::MAX >> 1, 0, 0);
        assert!((0..100).all(|place| large.at(place) < usize::MAX >> 1));
    }

    #[test]
    fn seeds_and_epochs_give_orders_without_likeness() {
        const N: usize = 1000;
        let orders = [(0, 0), (0, 1), (1, 0)].map(|(seed, epoch)| Permutation::new(N, seed, epoch));
        for (i, a) in orders.iter().enumerate() {
            // Of a random order one place in n is its own, and neighbours stay neighbours as seldom.
            assert!((0..N).filter(|&place| a.at(place) == place).count() < 8);
            assert!((1..N).filter(|&place| a.at(place).abs_diff(a.at(place - 1)) == 1).count() < 12);
            for b in &orders[i + 1..] {
                assert!((0..N).filter(|&place| a.at(place) == b.at(place)).count() < 8);
            }
        }
        // Where small numbers go is spread over the whole range.
        let mean = (0..4000).map(|epoch| Permutation::new(N, 9, epoch).at(3) as f64).sum::<f64>() / 4000.0;
        assert!((mean - 499.5).abs() < 25.0, "{mean}");
    }
}
