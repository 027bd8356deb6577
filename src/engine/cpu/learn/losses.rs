//! What does a wrong answer cost, and which way would it cost less?
//!
//! One row at a time, in double precision: these rows are short, or few. A row's gradient takes the place of what it reads.

use super::super::ops::Work;
use crate::engine::graph::{Loss, ValueId};
use crate::engine::lesson::{Cost, Target, UNLABELLED};

impl Work {
    /// The rows of one task: gradients, and reports of [`Cost`].
    ///
    /// # Safety
    /// As [`Work::task`].
    pub(super) unsafe fn lose(&self, step: usize, task: usize, input: ValueId, loss: Loss, target: usize) {
        let width = self.width(step);
        for row in self.chunk(step, task) {
            // SAFETY: the input is complete; its place may be the value's own, so it is read before it is written.
            let z: Vec<f64> = unsafe {
                let from = self.row(input.index(), row);
                (0..width).map(|i| f64::from(*from.add(i))).collect()
            };
            let (cost, factor, gradient) = match &self.lesson().targets[target] {
                Target::Classes { classes, factor } => {
                    let (cost, gradient) = of_class(&z, classes[row]);
                    (cost, *factor, gradient)
                }
                Target::Numbers { numbers, factor } => {
                    let (cost, gradient) = of_numbers(loss, &z, &numbers[row * width..(row + 1) * width]);
                    (cost, *factor, gradient)
                }
            };
            // SAFETY: this task alone writes its chunk's rows, and their reports.
            unsafe {
                let to = self.row(step, row);
                gradient.iter().enumerate().for_each(|(i, g)| *to.add(i) = (g * f64::from(factor)) as f32);
                let report = self.area.add(self.plan.sides[step].report + 2 * row);
                *report = cost.loss;
                *report.add(1) = f32::from(u8::from(cost.right));
            }
        }
    }
}

/// Softmax of `z / temperature`.
fn softmax(z: impl Iterator<Item = f64> + Clone, temperature: f64) -> Vec<f64> {
    let largest = z.clone().fold(f64::NEG_INFINITY, f64::max);
    let e: Vec<f64> = z.map(|z| ((z - largest) / temperature).exp()).collect();
    let sum: f64 = e.iter().sum();
    e.into_iter().map(|e| e / sum).collect()
}

/// Cross-entropy with a class.
fn of_class(z: &[f64], class: u32) -> (Cost, Vec<f64>) {
    if class == UNLABELLED {
        return (Cost::default(), vec![0.0; z.len()]);
    }
    let class = class as usize;
    let mut gradient = softmax(z.iter().copied(), 1.0);
    let largest = z.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let total = largest + z.iter().map(|z| (z - largest).exp()).sum::<f64>().ln();
    gradient[class] -= 1.0;
    (Cost { loss: (total - z[class]) as f32, right: z[class] >= largest }, gradient)
}

/// The losses whose targets are numbers.
fn of_numbers(loss: Loss, z: &[f64], target: &[f32]) -> (Cost, Vec<f64>) {
    if target.first().is_some_and(|t| t.is_nan()) {
        return (Cost::default(), vec![0.0; z.len()]);
    }
    let n = z.len() as f64;
    let pairs = || z.iter().copied().zip(target.iter().map(|t| f64::from(*t)));
    let sum = |f: &dyn Fn(f64, f64) -> f64| pairs().map(|(z, t)| f(z, t)).sum::<f64>();
    let (loss, gradient): (f64, Vec<f64>) = match loss {
        Loss::Binary => {
            // log(1 + e^z) - t z, without overflow.
            let one = |z: f64, t: f64| z.max(0.0) - t * z + (-z.abs()).exp().ln_1p();
            (sum(&one) / n, pairs().map(|(z, t)| (1.0 / (1.0 + (-z).exp()) - t) / n).collect())
        }
        Loss::Squared => (sum(&|z, t| (z - t).powi(2)) / n, pairs().map(|(z, t)| 2.0 * (z - t) / n).collect()),
        Loss::Distilled { temperature } => {
            let heat = f64::from(temperature);
            let p = softmax(target.iter().map(|t| f64::from(*t)), heat);
            let q = softmax(z.iter().copied(), heat);
            let divergence: f64 = p.iter().zip(&q).filter(|(p, _)| **p > 0.0).map(|(p, q)| p * (p / q.max(f64::MIN_POSITIVE)).ln()).sum();
            (heat * heat * divergence, q.iter().zip(&p).map(|(q, p)| heat * (q - p)).collect())
        }
        Loss::Cosine => {
            let (dot, zz, tt) = (sum(&|z, t| z * t), sum(&|z, _| z * z), sum(&|_, t| t * t));
            let (length, norms) = (zz.max(f64::MIN_POSITIVE), (zz * tt).sqrt().max(f64::MIN_POSITIVE));
            let cosine = dot / norms;
            (1.0 - cosine, pairs().map(|(z, t)| cosine * z / length - t / norms).collect())
        }
        Loss::CrossEntropy => unreachable!("checked before the run: its targets are classes"),
    };
    let right = pairs().all(|(z, t)| (z > 0.0) == (t > 0.5));
    (Cost { loss: loss as f32, right }, gradient)
}
