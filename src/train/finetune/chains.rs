//! What do tags cost that follow each other?
//!
//! A conditional random field over the words of a text (`model::crf`): the cost of a text is minus the logarithm of the probability of its tags among
//! all sequences of tags (Lafferty, McCallum and Pereira, Conditional Random Fields, 2001). A word is its first token; the other tokens have no part
//! in the chain, neither here nor where the model is served. The transitions are weights of the judge and learn with the model.

use std::ops::Range;

use crate::engine::lesson::{Cost, Judge, Owned, UNLABELLED};
use crate::model::crf::Crf;

/// The tags of texts.
pub(super) struct Chains {
    /// The rows of each text.
    pub texts: Vec<Range<usize>>,
    /// By row, [`UNLABELLED`] for tokens that are no word's first.
    pub tags: Vec<u32>,
    pub factor: f32,
}

impl Judge for Chains {
    /// The weights are those of [`Crf::of`].
    fn judge(&self, answers: &[f32], width: usize, own: &mut Owned<'_>, gradient: &mut [f32], costs: &mut [Cost]) {
        let factor = f64::from(self.factor);
        let crf = Crf::of(&own.weights[0][..width], &own.weights[1][..width], &own.weights[2][..width * width]);
        let mut sums = [vec![0.0; width], vec![0.0; width], vec![0.0; width * width]];
        for text in &self.texts {
            let places: Vec<usize> = text.clone().filter(|row| self.tags[*row] != UNLABELLED).collect();
            let rows: Vec<&[f32]> = places.iter().map(|row| &answers[row * width..(row + 1) * width]).collect();
            let tags: Vec<usize> = places.iter().map(|row| self.tags[*row] as usize).collect();
            let Some(cost) = crf.cost(&rows, &tags) else { continue };
            for (place, row) in places.iter().enumerate() {
                let down = &cost.emissions[place * width..(place + 1) * width];
                gradient[row * width..].iter_mut().zip(down).for_each(|(g, d)| *g = (d * factor) as f32);
                // As costs of classes are: whether its own number is largest.
                let largest = rows[place].iter().copied().fold(f32::NEG_INFINITY, f32::max);
                costs[*row].right = rows[place][tags[place]] >= largest;
            }
            costs[places[0]].loss = cost.cost as f32;
            for (sum, part) in sums.iter_mut().zip([&cost.start, &cost.end, &cost.transitions]) {
                sum.iter_mut().zip(part).for_each(|(sum, x)| *sum += x);
            }
        }
        own.add(&sums, factor);
    }
}

#[cfg(test)]
mod tests {
    use super::super::judges::tests::{agrees_with, numbers};
    use super::*;

    #[test]
    fn gradients_are_those_of_the_costs() {
        let none = UNLABELLED;
        let chains = Chains { texts: vec![0..5, 5..7, 7..8], tags: vec![none, 2, none, 0, 1, 1, none, none], factor: 0.25 };
        let z = numbers(39);
        agrees_with(&chains, &[&z[24..27], &z[27..30], &z[30..]], &z[..24], 3, 0.25);
    }
}
