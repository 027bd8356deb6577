//! How well does each row of an embedding table fit? The table stays where it lies: a panel of it at a time is packed in a thread's
//! scratch and multiplied with all rows of the input.

use super::gemm::{PANEL, Start, depth_parts};
use super::ops::{Block, Work};
use super::pack::transpose;
use super::plan::SCORES_CHUNK;
use crate::engine::graph::{Activation, Terms, ValueId, WeightId};

impl Work {
    /// The scores of the table's rows of one task, as columns of the value.
    ///
    /// # Safety
    /// That of [`Work::task`].
    pub(super) unsafe fn scores(&self, step: usize, task: usize, input: ValueId, (table, bias): (WeightId, WeightId), thread: usize) {
        let stride = self.place(step).stride;
        // SAFETY: this task alone writes these panels' columns, and rows end in whole panels.
        let out = |start: usize| (unsafe { self.row(step, 0) }.wrapping_add(start), stride);
        // SAFETY: the caller's contract.
        unsafe { self.panels(step, task, input, (table, bias), thread, out, |_, _| {}) }
    }

    /// The weights of the table's rows of one task. A panel's scores of all tokens stand in the scratch until they are reduced.
    ///
    /// # Safety
    /// That of [`Work::task`].
    pub(super) unsafe fn terms(
        &self,
        step: usize,
        task: usize,
        input: ValueId,
        (table, bias): (WeightId, WeightId),
        terms: Terms,
        thread: usize,
    ) {
        let scores = self.scratch(thread).wrapping_add(2 * PANEL * self.width(input.index()));
        let reduce = |start: usize, count: usize| {
            for sequence in 0..self.batch.sequences() {
                let tokens = self.batch.rows(sequence);
                // SAFETY: the scratch holds a panel for each token of the batch (see `Plan::new`), written just before.
                let scores = unsafe { std::slice::from_raw_parts(scores.add(tokens.start * PANEL), tokens.len() * PANEL) };
                // SAFETY: this task alone writes these columns.
                let row = unsafe { std::slice::from_raw_parts_mut(self.row(step, sequence).add(start), count) };
                reduce_panel(scores, terms, row);
            }
        };
        // SAFETY: the caller's contract; the scratch holds a panel for each token.
        unsafe { self.panels(step, task, input, (table, bias), thread, |_| (scores, PANEL), reduce) }
    }

    /// Packs each panel of a task's part of the table and multiplies it with all rows of the input, into the place and with the stride
    /// that `out` names for the panel that starts at a column; then calls `done` with that column and the panel's columns in use.
    ///
    /// # Safety
    /// That of [`Work::task`]; `out` has room for a panel of each row.
    #[expect(clippy::too_many_arguments, reason = "a task's own five, and what its two callers do differently")]
    unsafe fn panels(
        &self,
        step: usize,
        task: usize,
        input: ValueId,
        (table, bias): (WeightId, WeightId),
        thread: usize,
        out: impl Fn(usize) -> (*mut f32, usize),
        done: impl Fn(usize, usize),
    ) {
        let (table, bias) = (self.table(table), self.vector(bias));
        let (depth, width) = (self.width(input.index()), self.width(step));
        // SAFETY: the scratch is this thread's own and holds two panels (see `Plan::new`).
        let (lines, panel) = unsafe { std::slice::from_raw_parts_mut(self.scratch(thread), 2 * PANEL * depth).split_at_mut(PANEL * depth) };
        let first = task * SCORES_CHUNK;
        for start in (first..width.min(first + SCORES_CHUNK)).step_by(PANEL) {
            let count = PANEL.min(width - start);
            lines.chunks_exact_mut(depth).take(count).enumerate().for_each(|(i, line)| table.row(start + i, line));
            lines[count * depth..].fill(0.0);
            transpose(lines, depth, panel, 0);
            let rows = self.place(input.index()).rows;
            if rows == 0 {
                continue;
            }
            let (to, stride) = out(start);
            for (from, part) in depth_parts(depth) {
                let block = Block {
                    rows: 0..rows,
                    out: to,
                    out_stride: stride,
                    part: &panel[from * PANEL..(from + part) * PANEL],
                    next: None,
                    from,
                    start: if from > 0 { Start::Sum } else { Start::Bias(bias[start..].as_ptr()) },
                    activation: Activation::Identity,
                };
                // SAFETY: as the caller says of `out`; the shapes were checked before the run.
                unsafe { self.block(input, &block) }
            }
            done(start, count);
        }
    }
}

/// One sequence's weights of a panel's rows from the scores of its tokens, `PANEL` numbers each. The function is increasing, so that
/// the largest score gives the largest weight. A score that is not a number must show in the result.
fn reduce_panel(scores: &[f32], terms: Terms, row: &mut [f32]) {
    let once = |x: f32| {
        if x > 0.0 {
            x.ln_1p()
        } else if x.is_nan() {
            x
        } else {
            0.0
        }
    };
    let weight = |x: f32| if terms.twice { once(x).ln_1p() } else { once(x) };
    for (column, out) in row.iter_mut().enumerate() {
        let mut column = scores.iter().skip(column).step_by(PANEL);
        *out = if terms.sum {
            column.map(|x| f64::from(weight(*x))).sum::<f64>() as f32
        } else {
            weight(
                column.try_fold(f32::NEG_INFINITY, |most, x| if x.is_nan() { Err(*x) } else { Ok(most.max(*x)) }).unwrap_or_else(|nan| nan),
            )
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_score_that_is_no_number_shows_in_its_column_alone() {
        let mut scores = vec![1.0; 3 * PANEL];
        (scores[PANEL + 4], scores[2 * PANEL + 5], scores[6]) = (f32::NAN, f32::INFINITY, -1.0);
        for (sum, twice) in [(false, false), (true, true)] {
            let mut row = [0.0; 8];
            reduce_panel(&scores, Terms { sum, twice }, &mut row);
            assert!(row[4].is_nan() && row[5] == f32::INFINITY && row.iter().filter(|w| w.is_finite()).count() == 6, "{row:?}");
        }
    }
}
