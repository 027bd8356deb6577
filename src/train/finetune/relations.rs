//! What do vectors cost of which the relation between two texts should be read?
//!
//! Reimers and Gurevych, Sentence-BERT (2019): a softmax over `W [u; v; |u - v|] + b`, where the texts of a pair have the vectors `u` and `v`. `W` and
//! `b` are weights of the judge: they learn beside the model, begin from zeros, and are left behind when it is written.

use super::vectors::{scale_to_one, scaled_back};
use crate::engine::lesson::{Cost, Judge, Owned, cross_entropy};

/// Which relation each pair of vectors has, which stand side by side.
pub(super) struct Relations {
    pub classes: Vec<u32>,
    /// How many relations there are.
    pub labels: usize,
    /// Whether vectors are scaled to length 1, as the model's own last module does.
    pub unit: bool,
    pub factor: f32,
}

impl Relations {
    /// Names and shapes of the judge's weights, for vectors of `width` numbers.
    pub(super) fn weights(labels: usize, width: usize) -> [(String, Vec<usize>); 2] {
        [("vector_loss.weight".to_owned(), vec![labels, 3 * width]), ("vector_loss.bias".to_owned(), vec![labels])]
    }
}

impl Judge for Relations {
    /// The weights are those of [`Relations::weights`].
    fn judge(&self, answers: &[f32], width: usize, own: &mut Owned<'_>, gradient: &mut [f32], costs: &mut [Cost]) {
        let (read, factor) = (3 * width, f64::from(self.factor));
        let mut sums = [vec![0.0; self.labels * read], vec![0.0; self.labels]];
        for (pair, class) in self.classes.iter().enumerate() {
            let both = 2 * pair * width..2 * (pair + 1) * width;
            let mut x: Vec<f64> = answers[both.clone()].iter().map(|x| f64::from(*x)).collect();
            let norms: Vec<f64> = if self.unit { x.chunks_mut(width).map(scale_to_one).collect() } else { Vec::new() };
            x.extend((0..width).map(|i| x[i] - x[width + i]).collect::<Vec<f64>>());
            let signs: Vec<f64> = x[2 * width..].iter().map(|d| if *d == 0.0 { 0.0 } else { d.signum() }).collect();
            x[2 * width..].iter_mut().for_each(|d| *d = d.abs());
            let row = |label: usize| own.weights[0][label * read..(label + 1) * read].iter().map(|w| f64::from(*w));
            let z: Vec<f64> = (0..self.labels)
                .map(|label| f64::from(own.weights[1][label]) + row(label).zip(&x).map(|(w, x)| w * x).sum::<f64>())
                .collect();
            let (cost, down) = cross_entropy(&z, *class);
            let mut back = vec![0.0; read];
            for (label, d) in down.iter().enumerate() {
                back.iter_mut().zip(row(label)).for_each(|(b, w)| *b += d * w);
                sums[0][label * read..].iter_mut().zip(&x).for_each(|(g, x)| *g += d * x);
                sums[1][label] += d;
            }
            for i in 0..width {
                let apart = back[2 * width + i] * signs[i];
                back[i] += apart;
                back[width + i] -= apart;
            }
            for ((vector, norm), down) in x.chunks(width).zip(&norms).zip(back.chunks_mut(width)) {
                scaled_back(vector, *norm, down);
            }
            gradient[both].iter_mut().zip(&back).for_each(|(g, d)| *g = (d * factor) as f32);
            costs[2 * pair] = cost;
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
        let (z, w) = (numbers(24), numbers(39 + 24)[24..].iter().map(|x| x / 3.0).collect::<Vec<f32>>());
        for unit in [false, true] {
            let relations = Relations { classes: vec![2, 0, 1], labels: 3, unit, factor: 0.5 };
            agrees_with(&relations, &[&w[..36], &w[36..]], &z, 4, 0.5);
        }
    }
}
