//! What does a wrong answer cost, and which way would it cost less?
//!
//! One row at a time, in double precision: these rows are short, or few. A row's gradient takes the place of what it reads. Where rows depend on
//! each other a judge that comes with the lesson says both.

use super::super::ops::Work;
use super::REPORTED;
use crate::engine::graph::{Loss, Own, ValueId};
use crate::engine::lesson::{Cost, Judge, Owned, Target, cross_entropy, distilled};

impl Work {
    /// The rows of one task: gradients, and reports of [`Cost`].
    ///
    /// # Safety
    /// As [`Work::task`].
    pub(super) unsafe fn lose(&self, step: usize, task: usize, input: ValueId, loss: Loss, (target, own): (usize, Own)) {
        let width = self.width(step);
        if let Target::Judged(judge) = &self.lesson().targets[target] {
            // SAFETY: as here; it is the only task.
            return unsafe { self.ask(step, input, judge.as_ref(), own) };
        }
        for row in self.chunk(step, task) {
            // SAFETY: the input is complete; its place may be the value's own, so it is read before it is written.
            let z: Vec<f64> = unsafe {
                let from = self.row(input.index(), row);
                (0..width).map(|i| f64::from(*from.add(i))).collect()
            };
            let (cost, factor, gradient) = match &self.lesson().targets[target] {
                Target::Classes { classes, factor } => {
                    let (cost, gradient) = cross_entropy(&z, classes[row]);
                    (cost, *factor, gradient)
                }
                Target::Numbers { numbers, factor } => {
                    let (cost, gradient) = of_numbers(loss, &z, &numbers[row * width..(row + 1) * width]);
                    (cost, *factor, gradient)
                }
                Target::Judged(_) => unreachable!("it is asked about all rows together"),
            };
            // SAFETY: this task alone writes its chunk's rows, and their reports.
            unsafe {
                let to = self.row(step, row);
                gradient.iter().enumerate().for_each(|(i, g)| *to.add(i) = (g * f64::from(factor)) as f32);
                self.note(step, row, cost);
            }
        }
    }

    /// All rows at once: gradients, and reports of [`Cost`].
    ///
    /// # Safety
    /// As [`Work::task`].
    unsafe fn ask(&self, step: usize, input: ValueId, judge: &dyn Judge, own: Own) {
        let (rows, width) = (self.place(step).rows, self.width(step));
        let mut answers = Vec::with_capacity(rows * width);
        // SAFETY: the input is complete; its place may be the value's own, so it is read before it is written.
        (0..rows).for_each(|row| answers.extend_from_slice(unsafe { self.read(input.index(), row) }));
        let (mut gradient, mut costs) = (vec![0.0; answers.len()], vec![Cost::default(); rows]);
        let mut owned = Owned::new(own.ids().map(|id| self.vector(id)).collect());
        judge.judge(&answers, width, &mut owned, &mut gradient, &mut costs);
        for (id, numbers) in own.ids().zip(&owned.gradients) {
            // SAFETY: this task alone adds to the gradients of its judge's weights, which are as long as these.
            numbers.iter().enumerate().for_each(|(i, x)| unsafe { *self.gradient_at(id).add(i) += x });
        }
        for (row, cost) in costs.into_iter().enumerate() {
            // SAFETY: this task alone writes the value and its reports.
            unsafe {
                self.write(step, row).copy_from_slice(&gradient[row * width..(row + 1) * width]);
                self.note(step, row, cost);
            }
        }
    }

    /// Notes what a row cost.
    ///
    /// # Safety
    /// Nobody else writes this row's report.
    pub(super) unsafe fn note(&self, step: usize, row: usize, cost: Cost) {
        // SAFETY: the plan has so many numbers a row.
        unsafe {
            let report = self.area.add(self.plan.sides[step].report + REPORTED * row);
            *report = cost.loss;
            *report.add(1) = f32::from(u8::from(cost.right));
            *report.add(2) = f32::from_bits(cost.drawn);
        }
    }
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
        Loss::Distilled { temperature } => distilled(z, target, f64::from(temperature)),
        Loss::Cosine => {
            let (dot, zz, tt) = (sum(&|z, t| z * t), sum(&|z, _| z * z), sum(&|_, t| t * t));
            let (length, norms) = (zz.max(f64::MIN_POSITIVE), (zz * tt).sqrt().max(f64::MIN_POSITIVE));
            let cosine = dot / norms;
            (1.0 - cosine, pairs().map(|(z, t)| cosine * z / length - t / norms).collect())
        }
        Loss::CrossEntropy | Loss::Judged => unreachable!("checked before the run: its targets are others"),
    };
    let right = pairs().all(|(z, t)| (z > 0.0) == (t > 0.5));
    (Cost { loss: loss as f32, right, ..Cost::default() }, gradient)
}
