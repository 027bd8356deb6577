//! What do tags cost that follow each other?
//!
//! A conditional random field over the words of a text (`model::crf`): the cost of a text is minus the logarithm of the probability of its tags among
//! all sequences of tags (Lafferty, McCallum and Pereira, Conditional Random Fields, 2001). A word is its first token; the other tokens have no part
//! in the chain, neither here nor where the model is served. The transitions are weights of the judge and learn with the model.

use std::ops::Range;

use crate::engine::lesson::{Cost, Judge, UNLABELLED};
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
    fn judge(&self, answers: &[f32], width: usize, gradient: &mut [f32], costs: &mut [Cost]) {
        let (labels, pairs) = (vec![0.0; width], vec![0.0; width * width]);
        let mut nowhere = [labels.clone(), labels.clone(), pairs.clone()];
        self.judge_by(answers, width, &[&labels, &labels, &pairs], gradient, &mut nowhere, costs);
    }

    /// The weights are those of [`Crf::of`].
    fn judge_by(
        &self,
        answers: &[f32],
        width: usize,
        weights: &[&[f32]],
        gradient: &mut [f32],
        of_weights: &mut [Vec<f32>],
        costs: &mut [Cost],
    ) {
        let factor = f64::from(self.factor);
        let crf = Crf::of(&weights[0][..width], &weights[1][..width], &weights[2][..width * width]);
        let mut sums = [vec![0.0; width], vec![0.0; width], vec![0.0; width * width]];
        for text in &self.texts {
            let places: Vec<usize> = text.clone().filter(|row| self.tags[*row] != UNLABELLED).collect();
            let rows: Vec<&[f32]> = places.iter().map(|row| &answers[row * width..(row + 1) * width]).collect();
            let tags: Vec<usize> = places.iter().map(|row| self.tags[*row] as usize).collect();
            let Some(cost) = crf.cost(&rows, &tags) else { continue };
            for (place, row) in places.iter().enumerate() {
                let own = &cost.emissions[place * width..(place + 1) * width];
                gradient[row * width..].iter_mut().zip(own).for_each(|(g, d)| *g = (d * factor) as f32);
                // As costs of classes are: whether its own number is largest.
                let largest = rows[place].iter().copied().fold(f32::NEG_INFINITY, f32::max);
                costs[*row].right = rows[place][tags[place]] >= largest;
            }
            costs[places[0]].loss = cost.cost as f32;
            for (sum, part) in sums.iter_mut().zip([&cost.start, &cost.end, &cost.transitions]) {
                sum.iter_mut().zip(part).for_each(|(sum, x)| *sum += x);
            }
        }
        for (to, sum) in of_weights.iter_mut().zip(&sums) {
            to.iter_mut().zip(sum).for_each(|(to, x)| *to += (x * factor) as f32);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::judges::tests::{agrees, numbers};
    use super::*;

    /// Chains whose transitions are fixed, or numbers that are.
    struct With(Chains, Vec<f32>);

    impl Judge for With {
        fn judge(&self, answers: &[f32], width: usize, gradient: &mut [f32], costs: &mut [Cost]) {
            let (labels, pairs) = (vec![0.0; width], vec![0.0; width * width]);
            let weights: [&[f32]; 3] = [&self.1[..width], &self.1[width..2 * width], &self.1[2 * width..]];
            self.0.judge_by(answers, width, &weights, gradient, &mut [labels.clone(), labels, pairs], costs);
        }
    }

    /// The same with the transitions as what is answered: start, end and transitions are rows of one label each.
    struct Turned(Chains, Vec<f32>);

    impl Judge for Turned {
        fn judge(&self, answers: &[f32], _: usize, gradient: &mut [f32], costs: &mut [Cost]) {
            let width = 3;
            let weights: [&[f32]; 3] = [&answers[..width], &answers[width..2 * width], &answers[2 * width..]];
            let mut of_weights = [vec![0.0; width], vec![0.0; width], vec![0.0; width * width]];
            let (mut of_answers, mut of_rows) = (vec![0.0; self.1.len()], vec![Cost::default(); self.1.len() / width]);
            self.0.judge_by(&self.1, width, &weights, &mut of_answers, &mut of_weights, &mut of_rows);
            gradient.copy_from_slice(&of_weights.concat());
            costs[0].loss = of_rows.iter().map(|cost| cost.loss).sum();
        }
    }

    #[test]
    fn gradients_are_those_of_the_costs() {
        let none = UNLABELLED;
        let chains = || Chains { texts: vec![0..5, 5..7, 7..8], tags: vec![none, 2, none, 0, 1, 1, none, none], factor: 0.25 };
        let z = numbers(39);
        agrees(&With(chains(), z[24..].to_vec()), &z[..24], 3, 0.25);
        agrees(&Turned(chains(), z[..24].to_vec()), &z[24..], 3, 0.25);
    }
}
