//! How far does a tensor move where its own norm decides?
//!
//! LAMB (You et al., Large Batch Optimization for Deep Learning: Training BERT in 76 minutes, 2020, algorithm 2): the direction is AdamW's with the
//! decay in it, and a tensor moves along it by the rate times its own norm over the direction's. As in the authors' program, what does not decay moves
//! by the rate alone. A weight that is several tensors one above the other (queries, keys and values) moves as those tensors do.

use std::sync::{Arc, Mutex};

use super::super::gemm::PANEL;
use super::optimiser::{Lines, PIECE, Piece, Step};
use super::rows::Adam;
use super::{Kept, Learner};
use crate::engine::graph::WeightId;
use crate::engine::weights::Role;

/// Sums of squares, of one tensor or of some of its numbers.
#[derive(Clone, Copy, Debug, Default)]
struct Lengths {
    weight: f64,
    direction: f64,
}

impl Lengths {
    fn add(&mut self, other: &Lengths) {
        self.weight += other.weight;
        self.direction += other.direction;
    }

    /// How many times its length the direction is gone along.
    fn ratio(&self) -> f64 {
        if self.weight > 0.0 && self.direction > 0.0 { (self.weight / self.direction).sqrt() } else { 1.0 }
    }
}

/// Neighbouring numbers, a rate, and whose they are: number `i` is of the tensor `tensors[i % PANEL]`. A panel of a matrix has a row in each of
/// these places, so that it may hold rows of two tensors or more.
#[derive(Clone, Copy)]
struct Share {
    piece: Piece,
    factor: f32,
    tensors: [usize; PANEL],
}

impl Learner {
    pub(super) fn lamb(&self, step: &Step, lines: Lines, rate_of: impl Fn(WeightId) -> f32) {
        let shares: Arc<Vec<Share>> = Arc::new(self.shares(rate_of));
        let (count, step) = (shares.len(), *step);
        let sums = Arc::new(Mutex::new(vec![[Lengths::default(); PANEL]; count]));
        let (of, out) = (Arc::clone(&shares), Arc::clone(&sums));
        self.pool.each(self.threads, count, move |i| {
            let Share { piece, factor, .. } = &of[i];
            // SAFETY: each task has a piece of its own of all four lines.
            unsafe {
                if *factor <= 0.0 {
                    return lines.forget(piece);
                }
                let found = direction(&step.over(&lines, piece, 1.0, 1.0));
                out.lock().unwrap_or_else(|e| e.into_inner())[i] = found;
            }
        });
        let ratios = Arc::new(ratios(&shares, &sums.lock().unwrap_or_else(|e| e.into_inner())));
        self.pool.each(self.threads, count, move |i| {
            let Share { piece, factor, tensors } = &shares[i];
            let rate = |tensor: usize| step.rate * factor * if piece.decays { ratios[tensor] } else { 1.0 };
            // SAFETY: as above; the gradients hold the directions.
            unsafe { follow(&step.over(&lines, piece, 1.0, 1.0), &tensors.map(rate)) }
        });
    }

    /// All numbers, cut so that none holds two panels of a matrix, nor rows of two tables.
    fn shares(&self, rate_of: impl Fn(WeightId) -> f32) -> Vec<Share> {
        let mut first_tensor = 0;
        let mut shares = Vec::new();
        for (id, kept) in self.weights.iter().enumerate() {
            let (id, factor) = (WeightId(id), rate_of(WeightId(id)));
            let panel = match kept.role {
                Role::Matrix | Role::Head => PANEL * kept.row_len,
                // One tensor; and what does not decay needs none.
                Role::Table | Role::Vector => usize::MAX,
            };
            for whole in self.pieces_of(id, panel) {
                let row = (whole.first - self.shared.weights.place(id).start) / panel * PANEL;
                let tensors = std::array::from_fn(|lane| first_tensor + tensor_of(kept, row + lane));
                let pieces =
                    (0..whole.len).step_by(PIECE).map(|at| Piece { first: whole.first + at, len: PIECE.min(whole.len - at), ..whole });
                shares.extend(pieces.map(|piece| Share { piece, factor, tensors }));
            }
            first_tensor += kept.tensors.len();
        }
        shares
    }
}

/// Which tensor of a weight has row `row`; the rows that fill up the last panel, all zero, count as the last one's.
fn tensor_of(kept: &Kept, row: usize) -> usize {
    let ends = kept.tensors.iter().scan(0, |end, rows| {
        *end += rows;
        Some(*end)
    });
    ends.take_while(|end| *end <= row).count().min(kept.tensors.len() - 1)
}

/// How far each tensor moves.
fn ratios(shares: &[Share], sums: &[[Lengths; PANEL]]) -> Vec<f32> {
    let mut tensors: Vec<Lengths> = Vec::new();
    for (share, sums) in shares.iter().zip(sums) {
        for (tensor, sum) in share.tensors.iter().zip(sums) {
            tensors.resize(tensors.len().max(tensor + 1), Lengths::default());
            tensors[*tensor].add(sum);
        }
    }
    tensors.iter().map(|lengths| lengths.ratio() as f32).collect()
}

/// Replaces gradients by directions, and returns the squares of weights and directions by column of a panel.
///
/// # Safety
/// All four places have `n` numbers, and this task alone uses them.
unsafe fn direction(step: &Adam) -> [Lengths; PANEL] {
    // SAFETY: the caller's contract; the places are those of four lines.
    let (p, g, m, v) = unsafe {
        let of = |at: *mut f32| std::slice::from_raw_parts_mut(at, step.n);
        (of(step.numbers), of(step.gradients), of(step.means), of(step.squares))
    };
    let (b1, b2) = (step.beta1, step.beta2);
    let (scale, root) = (1.0 / step.correction1, 1.0 / step.correction2.sqrt());
    let mut sums = [Lengths::default(); PANEL];
    let panels = p.chunks_mut(PANEL).zip(g.chunks_mut(PANEL)).zip(m.chunks_mut(PANEL)).zip(v.chunks_mut(PANEL));
    for (((p, g), m), v) in panels {
        for ((((p, g), m), v), sum) in p.iter().zip(g).zip(m).zip(v).zip(&mut sums) {
            let gradient = *g * step.clip;
            *m = b1 * *m + (1.0 - b1) * gradient;
            *v = b2 * *v + (1.0 - b2) * gradient * gradient;
            *g = scale * *m / (v.sqrt() * root + step.epsilon) + step.decay * *p;
            let (weight, direction) = (f64::from(*p), f64::from(*g));
            sum.add(&Lengths { weight: weight * weight, direction: direction * direction });
        }
    }
    sums
}

/// Moves weights along their directions, which are zero afterwards.
///
/// # Safety
/// As [`direction`].
unsafe fn follow(step: &Adam, rates: &[f32; PANEL]) {
    // SAFETY: the caller's contract.
    let (p, g) = unsafe {
        let of = |at: *mut f32| std::slice::from_raw_parts_mut(at, step.n);
        (of(step.numbers), of(step.gradients))
    };
    for (p, g) in p.chunks_mut(PANEL).zip(g.chunks_mut(PANEL)) {
        for ((p, g), rate) in p.iter_mut().zip(g).zip(rates) {
            *p -= rate * *g;
            *g = 0.0;
        }
    }
}
