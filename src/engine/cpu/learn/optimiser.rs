//! How far, and which way, do the weights move?
//!
//! The gradients' common norm, and a step of one of [`Method::ALL`]: AdamW here, LAMB in [`super::lamb`]. Both decay weights apart from gradients, and
//! neither does so to biases, norms and what else is a vector. Numbers are walked over in pieces of a fixed size, whose sums are added in their order.

use std::sync::{Arc, Mutex};

use super::super::kernels::Kernels;
use super::rows::Adam;
use super::{Learner, Numbers};
use crate::engine::graph::WeightId;
use crate::engine::weights::Role;
use crate::error::Result;

/// Numbers of one task.
pub(super) const PIECE: usize = 64 * 1024;

/// How a gradient becomes a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// Loshchilov and Hutter, Decoupled Weight Decay Regularization (2019).
    #[default]
    AdamW,
    /// AdamW's direction, as long as a tensor's own norm says: for batches of thousands (You et al., Large Batch Optimization for Deep Learning:
    /// Training BERT in 76 minutes, 2020).
    Lamb,
}

impl Method {
    /// Every method by its name.
    pub const ALL: &'static [(&'static str, Method)] = &[("adamw", Method::AdamW), ("lamb", Method::Lamb)];
}

/// One step of the optimiser.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// How the weights move.
    pub method: Method,
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
pub(super) struct Piece {
    pub first: usize,
    pub len: usize,
    pub weight: WeightId,
    pub decays: bool,
}

impl Learner {
    /// The numbers of weight `id`, in pieces of `len` and a rest.
    pub(super) fn pieces_of(&self, id: WeightId, len: usize) -> impl Iterator<Item = Piece> + use<> {
        let (place, decays) = (self.shared.weights.place(id), self.weights[id.0].role != Role::Vector);
        let end = place.end;
        place.step_by(len.max(1)).map(move |first| Piece { first, len: len.min(end - first), weight: id, decays })
    }

    /// The numbers of the weights that `learns` names, in pieces.
    fn pieces(&self, learns: impl Fn(WeightId) -> bool) -> Vec<Piece> {
        (0..self.count()).map(WeightId).filter(|id| learns(*id)).flat_map(|id| self.pieces_of(id, PIECE)).collect()
    }

    /// The Euclidean norm of the gradients of the weights that `learns` names, in double precision; not finite if one of them is not.
    pub fn gradient_norm(&self, learns: impl Fn(WeightId) -> bool) -> f64 {
        let pieces = self.pieces(learns);
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
        let lines = self.lines()?;
        match step.method {
            Method::AdamW => self.adam(step, lines, rate_of),
            Method::Lamb => self.lamb(step, lines, rate_of),
        }
        self.transpose()
    }

    /// The four lines of numbers that a step walks over.
    fn lines(&mut self) -> Result<Lines> {
        Ok(Lines {
            numbers: Numbers(self.alone()?.weights.numbers_mut().as_mut_ptr()),
            gradients: Numbers(self.gradients.as_mut_pointer()),
            means: Numbers(self.means.as_mut_pointer()),
            squares: Numbers(self.squares.as_mut_pointer()),
        })
    }

    fn adam(&self, step: &Step, lines: Lines, rate_of: impl Fn(WeightId) -> f32) {
        let pieces: Vec<(Piece, f32)> = self.pieces(|_| true).into_iter().map(|piece| (piece, rate_of(piece.weight))).collect();
        let (kernels, step, count): (&'static Kernels, Step, usize) = (self.shared.kernels, *step, pieces.len());
        self.pool.each(self.threads, count, move |i| {
            let (piece, factor) = pieces[i];
            let rate = step.rate * factor;
            // SAFETY: each task has a piece of its own of all four.
            unsafe {
                if factor <= 0.0 {
                    return lines.forget(&piece);
                }
                (kernels.learn.adam)(&step.over(&lines, &piece, rate, rate));
            }
        });
    }
}

/// Where a step's numbers are; all four have one layout.
#[derive(Clone, Copy)]
pub(super) struct Lines {
    pub numbers: Numbers,
    pub gradients: Numbers,
    pub means: Numbers,
    pub squares: Numbers,
}

impl Lines {
    /// Sets the gradients of a piece to zero.
    ///
    /// # Safety
    /// The piece lies in the lines, and this task alone uses it.
    pub(super) unsafe fn forget(&self, piece: &Piece) {
        // SAFETY: the caller's contract.
        unsafe { std::slice::from_raw_parts_mut(self.gradients.pointer().add(piece.first), piece.len) }.fill(0.0);
    }
}

impl Step {
    /// What a method does with a piece: at `rate`, with a decay of `decays` times this step's.
    ///
    /// # Safety
    /// The piece lies in the lines.
    pub(super) unsafe fn over(&self, lines: &Lines, piece: &Piece, rate: f32, decays: f32) -> Adam {
        let power = self.number.min(i32::MAX as u64) as i32;
        let correction = |beta: f32| (1.0 - f64::from(beta).powi(power)) as f32;
        // SAFETY: the caller's contract.
        let at = |line: Numbers| unsafe { line.pointer().add(piece.first) };
        Adam {
            numbers: at(lines.numbers),
            gradients: at(lines.gradients),
            means: at(lines.means),
            squares: at(lines.squares),
            n: piece.len,
            rate,
            decay: if piece.decays { decays * self.decay } else { 0.0 },
            beta1: self.beta1,
            beta2: self.beta2,
            epsilon: self.epsilon,
            correction1: correction(self.beta1),
            correction2: correction(self.beta2),
            clip: self.clip,
        }
    }
}
