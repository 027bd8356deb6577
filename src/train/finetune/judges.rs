//! What do answers cost that depend on each other? Places in a text, choices, documents of a query, vectors.
//!
//! Each is a [`Judge`]: it reads all rows of a part of a step and writes their gradient, in double precision. `factor` is 1 over the number of
//! costs of the whole step, so that its parts add up to a mean.

use std::ops::Range;

use crate::engine::lesson::{Cost, Judge, Owned, cross_entropy, distilled};

/// Adds `factor` times `of` to single precision numbers.
fn add(gradient: &mut f32, of: f64, factor: f32) {
    *gradient += (of * f64::from(factor)) as f32;
}

/// Where answers begin and end: two numbers a token, a softmax of each over the tokens of a text, and the mean of both costs (Devlin et al.,
/// BERT, 2018).
pub(super) struct Spans {
    /// The rows of each text, and the places of its answer from the first of them; both on the first token for none.
    pub texts: Vec<(Range<usize>, [usize; 2])>,
    pub factor: f32,
}

impl Judge for Spans {
    fn judge(&self, answers: &[f32], width: usize, _: &mut Owned<'_>, gradient: &mut [f32], costs: &mut [Cost]) {
        for (rows, places) in &self.texts {
            let mut whole = Cost { loss: 0.0, right: true, ..Cost::default() };
            for (column, place) in places.iter().enumerate() {
                let z: Vec<f64> = rows.clone().map(|row| f64::from(answers[row * width + column])).collect();
                let (cost, down) = cross_entropy(&z, *place as u32);
                rows.clone().zip(&down).for_each(|(row, d)| add(&mut gradient[row * width + column], d / 2.0, self.factor));
                whole = Cost { loss: whole.loss + cost.loss / 2.0, right: whole.right && cost.right, ..Cost::default() };
            }
            costs[rows.start] = whole;
        }
    }
}

/// Which of several texts fits: a number a text, a softmax over those of a question.
pub(super) struct Choices {
    /// The rows of each question, and which is right.
    pub questions: Vec<(Range<usize>, usize)>,
    pub factor: f32,
}

impl Judge for Choices {
    fn judge(&self, answers: &[f32], width: usize, _: &mut Owned<'_>, gradient: &mut [f32], costs: &mut [Cost]) {
        for (rows, right) in &self.questions {
            let z: Vec<f64> = rows.clone().map(|row| f64::from(answers[row * width])).collect();
            let (cost, down) = cross_entropy(&z, *right as u32);
            rows.clone().zip(&down).for_each(|(row, d)| add(&mut gradient[row * width], *d, self.factor));
            costs[rows.start] = cost;
        }
    }
}

/// Classes that weigh differently: the cost of a row times the share of its class.
pub(super) struct Weighed {
    pub classes: Vec<u32>,
    /// By class.
    pub shares: Vec<f32>,
    pub factor: f32,
}

impl Judge for Weighed {
    fn judge(&self, answers: &[f32], width: usize, _: &mut Owned<'_>, gradient: &mut [f32], costs: &mut [Cost]) {
        for (row, class) in self.classes.iter().enumerate() {
            let z: Vec<f64> = answers[row * width..][..width].iter().map(|z| f64::from(*z)).collect();
            let (cost, down) = cross_entropy(&z, *class);
            let share = self.shares.get(*class as usize).copied().unwrap_or(0.0);
            gradient[row * width..].iter_mut().zip(&down).for_each(|(g, d)| add(g, *d, self.factor * share));
            costs[row] = Cost { loss: cost.loss * share, right: cost.right, ..Cost::default() };
        }
    }
}

/// Classes, and what a larger model says of them: `(1 - share) * cross-entropy + share * t^2 * KL(softmax(teacher / t) || softmax(z / t))` (Hinton et
/// al., Distilling the Knowledge in a Neural Network, 2015).
pub(super) struct Taught {
    pub classes: Vec<u32>,
    /// The teacher's logits, row after row.
    pub teacher: Vec<f32>,
    pub share: f64,
    pub temperature: f64,
    pub factor: f32,
}

impl Judge for Taught {
    fn judge(&self, answers: &[f32], width: usize, _: &mut Owned<'_>, gradient: &mut [f32], costs: &mut [Cost]) {
        for (row, class) in self.classes.iter().enumerate() {
            let own = row * width..(row + 1) * width;
            let z: Vec<f64> = answers[own.clone()].iter().map(|z| f64::from(*z)).collect();
            let (cost, down) = cross_entropy(&z, *class);
            let (apart, nearer) = distilled(&z, &self.teacher[own.clone()], self.temperature);
            let hard = 1.0 - self.share;
            for (i, g) in gradient[own].iter_mut().enumerate() {
                add(g, hard * down[i] + self.share * nearer[i], self.factor);
            }
            costs[row] = Cost { loss: (hard * f64::from(cost.loss) + self.share * apart) as f32, right: cost.right, ..Cost::default() };
        }
    }
}

/// Scores of documents, a number each.
pub(super) struct Scores {
    pub loss: RankLoss,
    /// What each should be, or of pairs of neighbours (the better one first) by how much they should differ.
    pub targets: Vec<f32>,
    pub factor: f32,
}

/// What a wrong score costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RankLoss {
    /// Each document by itself, right or not: the logistic loss.
    Pointwise,
    /// Each pair by itself: `log(1 + exp(worse - better))` (Burges et al., Learning to Rank using Gradient Descent, 2005).
    Pairwise,
    /// By how much two scores differ, squared (Hofstätter et al., Improving Efficient Neural Ranking Models with Cross-Architecture Knowledge
    /// Distillation, 2020).
    Margin,
}

impl RankLoss {
    /// Every loss by its name.
    pub const ALL: &'static [(&'static str, RankLoss)] =
        &[("pointwise", RankLoss::Pointwise), ("pairwise", RankLoss::Pairwise), ("margin", RankLoss::Margin)];

    /// Whether examples are pairs of documents.
    pub(super) fn of_pairs(self) -> bool {
        self != RankLoss::Pointwise
    }
}

impl Judge for Scores {
    fn judge(&self, answers: &[f32], width: usize, _: &mut Owned<'_>, gradient: &mut [f32], costs: &mut [Cost]) {
        let z = |row: usize| f64::from(answers[row * width]);
        // log(1 + e^x), and what it grows by.
        let soft = |x: f64| (x.max(0.0) + (-x.abs()).exp().ln_1p(), 1.0 / (1.0 + (-x).exp()));
        for (i, target) in self.targets.iter().enumerate() {
            let target = f64::from(*target);
            if self.loss == RankLoss::Pointwise {
                let (cost, grows) = soft(z(i));
                add(&mut gradient[i * width], grows - target, self.factor);
                costs[i] = Cost { loss: (cost - target * z(i)) as f32, right: (z(i) > 0.0) == (target > 0.5), ..Cost::default() };
                continue;
            }
            let (better, worse) = (2 * i, 2 * i + 1);
            let apart = z(better) - z(worse);
            let (cost, grows) = match self.loss {
                RankLoss::Margin => ((apart - target).powi(2), 2.0 * (apart - target)),
                _ => (soft(-apart).0, -soft(-apart).1),
            };
            add(&mut gradient[better * width], grows, self.factor);
            add(&mut gradient[worse * width], -grows, self.factor);
            costs[better] = Cost { loss: cost as f32, right: apart > 0.0, ..Cost::default() };
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// The gradient of a judge against differences of its costs.
    pub(in super::super) fn agrees(judge: &dyn Judge, answers: &[f32], width: usize, factor: f64) {
        agrees_with(judge, &[], answers, width, factor);
    }

    /// The same with weights of the judge's own, and the gradients of these.
    pub(in super::super) fn agrees_with(judge: &dyn Judge, weights: &[&[f32]], answers: &[f32], width: usize, factor: f64) {
        let numbers = [answers, &weights.concat()].concat();
        let total = |numbers: &[f32]| {
            let (answers, mut rest) = numbers.split_at(answers.len());
            let part = |numbers: &&[f32]| rest.split_off(..numbers.len()).unwrap();
            let mut own = Owned::new(weights.iter().map(part).collect());
            let (mut gradient, mut costs) = (vec![0.0; answers.len()], vec![Cost::default(); answers.len() / width]);
            judge.judge(answers, width, &mut own, &mut gradient, &mut costs);
            gradient.extend(own.gradients.concat());
            (costs.iter().map(|c| f64::from(c.loss)).sum::<f64>() * factor, gradient)
        };
        let (_, gradient) = total(&numbers);
        for part in [0..answers.len(), answers.len()..numbers.len()] {
            let mut largest = 0f64;
            for i in part.clone() {
                let moved = |by: f32| {
                    let mut moved = numbers.clone();
                    moved[i] += by;
                    total(&moved).0
                };
                let differences = (moved(1e-2) - moved(-1e-2)) / 2e-2;
                largest = largest.max(differences.abs());
                assert!((differences - f64::from(gradient[i])).abs() < 2e-3 * factor, "number {i}: {differences} and {}", gradient[i]);
            }
            assert!(part.is_empty() || largest > 1e-3 * factor, "something has a gradient");
        }
    }

    /// Numbers that look random.
    pub(in super::super) fn numbers(count: usize) -> Vec<f32> {
        (0..count).map(|i| ((i * 7919 + 31) % 211) as f32 / 60.0 - 1.7).collect()
    }

    #[test]
    fn gradients_are_those_of_the_costs() {
        let z = numbers(24);
        agrees(&Spans { texts: vec![(0..5, [1, 3]), (5..12, [0, 0])], factor: 0.5 }, &z, 2, 0.5);
        agrees(&Choices { questions: vec![(0..4, 2), (4..6, 0)], factor: 0.5 }, &z[..6], 1, 0.5);
        agrees(&Weighed { classes: vec![0, 2, 1], shares: vec![0.5, 1.0, 2.0], factor: 0.3 }, &z[..9], 3, 0.3);
        let teacher = numbers(30)[21..].to_vec();
        agrees(&Taught { classes: vec![0, 2, 1], teacher, share: 0.4, temperature: 2.0, factor: 0.3 }, &z[..9], 3, 0.3);
        for (_, loss) in RankLoss::ALL {
            let targets = if loss.of_pairs() { vec![0.8, 2.0] } else { vec![1.0, 0.0, 1.0, 0.3] };
            agrees(&Scores { loss: *loss, targets, factor: 0.25 }, &z[3..7], 1, 0.25);
        }
    }
}
