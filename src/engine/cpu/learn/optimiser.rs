//! How far, and which way, do the weights move?
//!
//! The gradients' common norm, and a step of AdamW: decoupled decay, none on biases, norms and what else is a vector. Numbers are walked over
//! in pieces of a fixed size, whose sums are added in their order.

use std::sync::{Arc, Mutex};

use super::super::kernels::Kernels;
use super::rows::Adam;
use super::{Learner, Numbers};
use crate::engine::graph::WeightId;
use crate::engine::weights::Role;
use crate::error::Result;

/// Numbers of one task.
const PIECE: usize = 64 * 1024;

/// One step of the optimiser.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// The number of the step, from 1.
    pub number: u64,
    /// The learning rate.
    pub rate: f32,
    /// Weight decay, of matrices and tables.
    pub decay: f32,
    /// How slowly the mean of gradients changes, and that of their squares.
    pub beta1: f32,
    /// See `beta1`.
    pub beta2: f32,
    /// Added to the root of the squares.
    pub epsilon: f32,
    /// What gradients are multiplied by first: below 1 where their norm is clipped.
    pub clip: f32,
}

/// Neighbouring numbers of one weight.
#[derive(Clone, Copy, Debug)]
struct Piece {
    first: usize,
    len: usize,
    weight: WeightId,
    decays: bool,
}

impl Learner {
    fn pieces(&self) -> Vec<Piece> {
        let pieces = |(id, kept): (usize, &super::Kept)| {
            let (place, decays) = (self.shared.weights.place(WeightId(id)), kept.role != Role::Vector);
            place.clone().step_by(PIECE).map(move |first| {
                let len = PIECE.min(place.end - first);
                Piece { first, len, weight: WeightId(id), decays }
            })
        };
        self.weights.iter().enumerate().flat_map(pieces).collect()
    }

    /// The Euclidean norm of all gradients, in double precision; not finite if one of them is not.
    pub fn gradient_norm(&self) -> f64 {
        let pieces = self.pieces();
        let sums = Arc::new(Mutex::new(vec![0f64; pieces.len()]));
        let (kernels, gradients, out) = (self.shared.kernels, Numbers(self.gradients.as_ptr().cast_mut()), Arc::clone(&sums));
        let count = pieces.len();
        self.pool.each(self.threads, count, move |i| {
            let Piece { first, len, .. } = pieces[i];
            // SAFETY: the piece lies in the gradients, which nobody writes meanwhile.
            let sum = unsafe { (kernels.learn.squares)(gradients.pointer().add(first), len) };
            out.lock().unwrap_or_else(|e| e.into_inner())[i] = sum;
        });
        let total: f64 = sums.lock().unwrap_or_else(|e| e.into_inner()).iter().sum();
        total.sqrt()
    }

    /// Sets all gradients to zero.
    pub fn forget(&mut self) {
        self.gradients.fill(0.0);
    }

    /// Moves the weights that `rate_of` gives a factor of the rate above 0; gradients are zero afterwards.
    ///
    /// # Errors
    /// None in a learner that no run uses.
    pub fn step(&mut self, step: &Step, rate_of: impl Fn(WeightId) -> f32) -> Result<()> {
        let pieces: Vec<(Piece, f32)> = self.pieces().into_iter().map(|piece| (piece, rate_of(piece.weight))).collect();
        let kernels: &'static Kernels = self.shared.kernels;
        let numbers = Numbers(self.alone()?.weights.numbers_mut().as_mut_ptr());
        let gradients = Numbers(self.gradients.as_mut_pointer());
        let (means, squares) = (Numbers(self.means.as_mut_pointer()), Numbers(self.squares.as_mut_pointer()));
        let (count, step) = (pieces.len(), *step);
        self.pool.each(self.threads, count, move |i| {
            let (Piece { first, len, decays, .. }, factor) = pieces[i];
            let power = step.number.min(i32::MAX as u64) as i32;
            // SAFETY: each task has a piece of its own of all four.
            unsafe {
                if factor <= 0.0 {
                    return std::slice::from_raw_parts_mut(gradients.pointer().add(first), len).fill(0.0);
                }
                let rate = step.rate * factor;
                (kernels.learn.adam)(&Adam {
                    numbers: numbers.pointer().add(first),
                    gradients: gradients.pointer().add(first),
                    means: means.pointer().add(first),
                    squares: squares.pointer().add(first),
                    n: len,
                    rate,
                    decay: if decays { rate * step.decay } else { 0.0 },
                    beta1: step.beta1,
                    beta2: step.beta2,
                    epsilon: step.epsilon,
                    correction1: (1.0 - f64::from(step.beta1).powi(power)) as f32,
                    correction2: (1.0 - f64::from(step.beta2).powi(power)) as f32,
                    clip: step.clip,
                });
            }
        });
        self.transpose()
    }
}
