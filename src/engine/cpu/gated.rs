//! Sums, scaled columns, gates and rotary positions: what some encoders do row by row between their products.
//!
//! Tasks of [`Work`]: each reads rows of earlier values and writes rows of its own. Activations are the kernels'; the rest is plain
//! arithmetic, the same on every instruction set.

use super::gemm::PANEL;
use super::ops::Work;
use crate::engine::graph::{Activation, Half, Op, Rotary, ValueId, WeightId};

impl Work {
    /// The sum of two rows.
    ///
    /// # Safety
    /// As [`Work::task`].
    pub(super) unsafe fn add(&self, step: usize, task: usize, input: ValueId, residual: ValueId) {
        for row in self.chunk(step, task) {
            // SAFETY: both inputs are complete; this task alone writes its chunk's rows.
            let (out, x, y) = unsafe { (self.write(step, row), self.read(input.index(), row), self.read(residual.index(), row)) };
            out.iter_mut().zip(x.iter().zip(y)).for_each(|(out, (x, y))| *out = x + y);
        }
    }

    /// The sum of two rows, or one row, scaled and shifted column by column.
    ///
    /// # Safety
    /// As [`Work::task`].
    pub(super) unsafe fn affine(
        &self,
        step: usize,
        task: usize,
        (input, residual): (ValueId, Option<ValueId>),
        (weight, bias): (WeightId, WeightId),
    ) {
        let (weight, bias) = (self.vector(weight), self.vector(bias));
        for row in self.chunk(step, task) {
            // SAFETY: both inputs are complete; this task alone writes its chunk's rows.
            let (out, x) = unsafe { (self.write(step, row), self.read(input.index(), row)) };
            // SAFETY: as above.
            match residual.map(|residual| unsafe { self.read(residual.index(), row) }) {
                Some(y) => out.iter_mut().zip(x.iter().zip(y)).for_each(|(out, (x, y))| *out = x + y),
                None => out.copy_from_slice(x),
            }
            out.iter_mut().zip(weight.iter().zip(bias)).for_each(|(out, (weight, bias))| *out = *out * weight + bias);
        }
    }

    /// One half of a row, activated, times the other.
    ///
    /// # Safety
    /// As [`Work::task`].
    pub(super) unsafe fn gate(&self, step: usize, task: usize, input: ValueId, (activation, activated): (Activation, Half)) {
        let kernels = self.kernels();
        // Outputs of int8 products take the shorter forms, as in a product's own activation.
        let activate = if self.is_int8(input.index()) { kernels.activate_int8 } else { kernels.activate };
        let width = self.width(step);
        for row in self.chunk(step, task) {
            // SAFETY: the input is complete; this task alone writes its chunk's rows, which the plan laid out in whole panels.
            unsafe {
                let (first, second) = self.read(input.index(), row).split_at(width);
                let (gate, other) = if activated == Half::First { (first, second) } else { (second, first) };
                let out = self.row(step, row);
                let whole = std::slice::from_raw_parts_mut(out, width.next_multiple_of(PANEL));
                whole[..width].copy_from_slice(gate);
                whole[width..].fill(0.0);
                (0..whole.len()).step_by(PANEL).for_each(|at| activate(activation, out.add(at), 1, PANEL));
                whole.iter_mut().zip(other).for_each(|(out, x)| *out *= x);
            }
        }
    }

    /// Turns queries and keys by their places. An angle is the product of place and frequency in f32, as in the reference: at large
    /// places its rounding tells.
    ///
    /// # Safety
    /// As [`Work::task`].
    pub(super) unsafe fn rotate(&self, step: usize, task: usize, qkv: ValueId, rotary: &Rotary) {
        // SAFETY: the caller's contract.
        unsafe { self.turn(step, task, qkv, rotary, 1.0) }
    }

    /// As [`Work::rotate`], forwards (`way` 1) or backwards (-1).
    ///
    /// # Safety
    /// As [`Work::task`].
    pub(super) unsafe fn turn(&self, step: usize, task: usize, qkv: ValueId, rotary: &Rotary, way: f32) {
        let pairs = rotary.frequencies.len();
        let turned = self.width(step) / 3 * 2;
        let mut angles = vec![(0f32, 0f32); pairs];
        for (row, place) in self.places_of(self.chunk(step, task)) {
            for (angle, frequency) in angles.iter_mut().zip(rotary.frequencies.iter()) {
                let (sin, cos) = f64::from(place as f32 * frequency).sin_cos();
                *angle = (way * sin as f32, cos as f32);
            }
            // SAFETY: the input is complete; this task alone writes its chunk's rows.
            let (out, x) = unsafe { (self.write(step, row), self.read(qkv.index(), row)) };
            out.copy_from_slice(x);
            for (out, x) in out[..turned].chunks_exact_mut(rotary.head_size).zip(x.chunks_exact(rotary.head_size)) {
                for (i, (sin, cos)) in angles.iter().enumerate() {
                    let (a, b) = (x[i], x[i + pairs]);
                    out[i] = a * cos - b * sin;
                    out[i + pairs] = b * cos + a * sin;
                }
            }
        }
    }

    /// Whether value `value` is the output of an int8 product.
    fn is_int8(&self, value: usize) -> bool {
        match self.node(value).op {
            Op::Linear { weight, .. } => self.matrix(weight).int8.is_some(),
            _ => false,
        }
    }
}
