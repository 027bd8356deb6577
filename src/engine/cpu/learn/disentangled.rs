//! The way back over the rows of distances that queries and keys meet.
//!
//! With `S` the gradient of a head's products, `p(i, j)` the place of the distance of query `i` and key `j`, and `A[i, p]` the sum of
//! `S[i, j]` over the keys at place `p`: `dQ += A R`, `dR = A^T Q` for the rows `R` that queries meet; with `B[j, p]` the sum over the queries,
//! `dK += B R'`, `dR' = B^T K` for those that keys meet. `A` is made a block of queries at a time, `B` over all blocks. What a head of a
//! sequence gives to the rows stands beside its attention's gradient, until [`Learn::MetBack`] adds sequence after sequence.

use super::super::attention::{Head, Keys};
use super::super::disentangled::{Positions, panels};
use super::super::gemm::{PANEL, row_stride};
use super::super::ops::Work;
use super::attention::{Lines, QUERIES, Strip};
use super::product::Product;
use crate::engine::graph::{Attention, Bias, Disentangled, Learn, Met, Op, Side, ValueId};

/// The rows that one side of a head meets, from the lowest place in use on.
#[derive(Clone, Copy)]
pub(super) struct MetRows {
    lines: Lines,
    /// Rows in use that the table has.
    rows: usize,
}

/// What one head of one sequence needs for the way back over its distances.
pub(super) struct Distances {
    /// The rows that queries meet, and those that keys meet.
    sides: [Option<MetRows>; 2],
    /// `A` and `B`, rows of `stride` sums.
    of_queries: *mut f32,
    of_keys: *mut f32,
    stride: usize,
    /// Places in use, in whole panels.
    places: usize,
    /// The gradients of both sides' rows, (places, columns).
    noted: [*mut f32; 2],
    columns: usize,
}

fn columns(size: usize) -> usize {
    size.next_multiple_of(PANEL)
}

fn met(positions: &Disentangled) -> [&Met; 2] {
    [&positions.keys, &positions.queries]
}

/// Numbers of one side's rows that a task notes in a batch whose longest sequence has `tokens`.
fn side_len(positions: &Disentangled, size: usize, tokens: usize) -> [usize; 2] {
    let len = panels(positions, tokens.max(1)).1 * PANEL * columns(size);
    met(positions).map(|met| if met.value().is_some() { len } else { 0 })
}

/// Numbers that a task notes.
pub(super) fn noted(positions: &Disentangled, size: usize, tokens: usize) -> usize {
    side_len(positions, size, tokens).iter().sum()
}

/// Numbers of scratch that `A` and `B` need, and rows that a strip must hold beside the tokens'.
pub(super) fn scratch_len(attention: &Attention, tokens: usize) -> (usize, usize) {
    let Bias::Disentangled(positions) = &attention.bias else { return (0, 0) };
    let places = panels(positions, tokens.max(1)).1 * PANEL;
    ((QUERIES + tokens) * row_stride(places), places)
}

impl Work {
    /// What the head `number` of sequence `sequence` needs; its sums and notes begin at zero. `None` for attention without such rows.
    ///
    /// # Safety
    /// `scratch` gives [`scratch_len`] numbers, `noted` those of [`noted`] for the longest sequence; this task alone uses both.
    pub(super) unsafe fn distances(
        &self,
        attention: &Attention,
        sequence: usize,
        number: usize,
        scratch: *mut f32,
        noted: *mut f32,
    ) -> Option<Distances> {
        let Bias::Disentangled(positions) = &attention.bias else { return None };
        let (size, tokens) = (attention.head_size, self.batch.rows(sequence).len());
        let (lowest, count) = panels(positions, tokens);
        let (places, stride) = (count * PANEL, row_stride(count * PANEL));
        let sides = met(positions).map(|met| {
            let Met::Rows { value, from } = met else { return None };
            let place = self.place(value.index());
            // SAFETY: the value has a row for every place (checked before the run).
            let first = unsafe { self.row(value.index(), lowest * PANEL).add(from + number * size).cast_const() };
            Some(MetRows { lines: Lines { first, stride: place.stride }, rows: (place.rows - lowest * PANEL).min(places) })
        });
        let lens = side_len(positions, size, self.batch.longest());
        let of_keys = scratch.wrapping_add(QUERIES * stride);
        // SAFETY: the caller's contract.
        unsafe {
            std::slice::from_raw_parts_mut(of_keys, tokens * stride).fill(0.0);
            std::slice::from_raw_parts_mut(noted, lens[0] + lens[1]).fill(0.0);
        }
        let noted = [noted, noted.wrapping_add(lens[0])];
        Some(Distances { sides, of_queries: scratch, of_keys, stride, places, noted, columns: columns(size) })
    }

    /// Adds a block of queries: `scores` are the gradients of its products, a row of `scores_stride` for each, and `block` that of its
    /// queries, to which the rows that they meet are added.
    ///
    /// # Safety
    /// All are the block's own and complete.
    #[expect(clippy::too_many_arguments, reason = "a block's gradients, and what they are added to")]
    pub(super) unsafe fn distances_of_block(
        &self,
        distances: &Distances,
        (head, positions): (&Head, &Positions),
        (first, queries): (usize, usize),
        keys: &Keys,
        (scores, scores_stride): (*const f32, usize),
        block: *mut f32,
        strip: &Strip,
    ) {
        let Distances { of_queries, of_keys, stride, .. } = *distances;
        // SAFETY: places lie within the rows of sums; the rest as the caller says.
        unsafe {
            std::slice::from_raw_parts_mut(of_queries, queries * stride).fill(0.0);
            for r in 0..queries {
                for (column, keys) in keys.ranges() {
                    let row = std::slice::from_raw_parts(scores.add(r * scores_stride + column), keys.len());
                    for (key, x) in keys.zip(row) {
                        let place = positions.place(first + r, key);
                        *of_queries.add(r * stride + place) += x;
                        *of_keys.add(key * stride + place) += x;
                    }
                }
            }
            if let Some(side) = distances.sides[0] {
                self.add_met(distances, side, (of_queries, queries), block, strip);
                let lines = Lines { first: head.queries.add(first * head.stride), stride: head.stride };
                self.note_met(distances, (of_queries, queries), lines, distances.noted[0], strip);
            }
        }
    }

    /// Adds what all blocks gave to the keys' gradient, rows of whole panels.
    ///
    /// # Safety
    /// As above, after all blocks.
    pub(super) unsafe fn distances_of_keys(&self, distances: &Distances, head: &Head, out: *mut f32, strip: &Strip) {
        if let Some(side) = distances.sides[1] {
            // SAFETY: the caller's contract.
            unsafe {
                self.add_met(distances, side, (distances.of_keys, head.rows), out, strip);
                let lines = Lines { first: head.keys, stride: head.stride };
                self.note_met(distances, (distances.of_keys, head.rows), lines, distances.noted[1], strip);
            }
        }
    }

    /// `out += sums R`.
    unsafe fn add_met(&self, distances: &Distances, side: MetRows, (sums, rows): (*mut f32, usize), out: *mut f32, strip: &Strip) {
        // SAFETY: the caller gives `rows` rows of sums and of `out`.
        unsafe {
            let right = strip.whole_panels(side.lines, side.rows);
            for from in (0..distances.columns).step_by(PANEL) {
                (self.kernels().learn.product)(&Product {
                    a: sums,
                    a_row: distances.stride,
                    a_step: 1,
                    b: right.first.add(from),
                    b_step: right.stride,
                    depth: side.rows,
                    c: out.add(from),
                    c_stride: distances.columns,
                    rows,
                    adds: true,
                });
            }
        }
    }

    /// `noted += sums^T X`, for the rows `lines` of X.
    unsafe fn note_met(&self, distances: &Distances, (sums, rows): (*mut f32, usize), lines: Lines, noted: *mut f32, strip: &Strip) {
        // SAFETY: the caller gives `rows` rows of sums and of X; notes have a row a place.
        unsafe {
            let right = strip.whole_panels(lines, rows);
            for from in (0..distances.columns).step_by(PANEL) {
                (self.kernels().learn.product)(&Product {
                    a: sums,
                    a_row: 1,
                    a_step: distances.stride,
                    b: right.first.add(from),
                    b_step: right.stride,
                    depth: rows,
                    c: noted.add(from),
                    c_stride: distances.columns,
                    rows: distances.places,
                    adds: true,
                });
            }
        }
    }

    /// The gradient of a chunk of the rows that one side meets: what all heads of all sequences noted, in their order.
    ///
    /// # Safety
    /// As [`Work::task`].
    pub(super) unsafe fn met_back(&self, step: usize, task: usize, of: ValueId, side: Side, from: usize) {
        let Op::Learn(Learn::AttendBack { attention, .. }) = &self.node(of.index()).op else { return };
        let Bias::Disentangled(positions) = &attention.bias else { return };
        let Attention { heads, head_size: size, .. } = *attention;
        let lens = side_len(positions, size, self.batch.longest());
        let before = if side == Side::Queries { 0 } else { lens[0] };
        for row in self.chunk(step, task) {
            // SAFETY: this task alone writes its chunk's rows; the notes are complete and kept for it.
            unsafe {
                let out = self.write(step, row);
                out.fill(0.0);
                for sequence in 0..self.batch.sequences() {
                    let (lowest, count) = panels(positions, self.batch.rows(sequence).len());
                    let Some(place) = row.checked_sub(lowest * PANEL).filter(|place| *place < count * PANEL) else { continue };
                    for head in 0..heads {
                        let noted = self.noted_by(of.index(), sequence * heads + head, attention).add(before + place * columns(size));
                        let noted = std::slice::from_raw_parts(noted, size);
                        out[from + head * size..][..size].iter_mut().zip(noted).for_each(|(out, x)| *out += x);
                    }
                }
            }
        }
    }
}
