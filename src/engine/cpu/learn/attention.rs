//! Attention with dropout, and the way back over attention.
//!
//! The weights of a block of queries are computed again on the way back rather than stored, as are the numbers that dropout left out
//! (Dao et al., FlashAttention, 2022, for the former). With `P` the weights, `M` dropout, `O = (P M) V`:
//! `dV = (P M)^T dO`, `dP = (dO V^T) M`, `dS = P (dP - rowsum(P dP))`, `dQ = dS K`, `dK = dS^T Q`, the latter two scaled. One task is one
//! head of one sequence; blocks of queries come in their order.

use super::super::attention::{Head, Keys, Product as Panels, QUERIES as FEW, bias_len, diagonals, multiply, pack_keys};
use super::super::gemm::{PANEL, row_stride};
use super::super::ops::Work;
use super::disentangled;
use super::product::Product;
use crate::engine::graph::{Attention, Bias, Dropout, Lookers, Relative, Sight, ValueId, WeightId};
use crate::engine::lesson::key;

/// Queries handled together.
pub(super) const QUERIES: usize = 96;

/// Numbers of scratch that a sequence of `tokens` needs.
pub(super) fn scratch_len(attention: &Attention, tokens: usize) -> usize {
    let parts: usize = Area::parts(attention, tokens).iter().sum();
    bias_len(attention, tokens) + parts
}

/// Numbers that a task notes in a batch whose longest sequence has `tokens`: its part of the gradient of the bias.
pub(super) fn noted(attention: &Attention, tokens: usize) -> usize {
    match &attention.bias {
        Bias::Relative(relative) => buckets(relative),
        Bias::Disentangled(positions) => disentangled::noted(positions, attention.head_size, tokens),
        Bias::None | Bias::Slopes(_) => 0,
    }
}

fn buckets(relative: &Relative) -> usize {
    relative.buckets.iter().max().map_or(0, |b| *b as usize + 1)
}

/// A thread's scratch, cut up.
struct Area {
    /// Keys and values, packed as [`pack_keys`] does.
    keys: *mut f32,
    values: *mut f32,
    /// A block's weights, without and with dropout, and the gradient of its scores: rows of `stride` numbers.
    weights: *mut f32,
    dropped: *mut f32,
    scores: *mut f32,
    stride: usize,
    /// A block's result, (queries, columns), and copies of right factors whose columns are no whole panels.
    block: *mut f32,
    strip: Strip,
    /// The gradients of all keys and values, (tokens, columns).
    of_keys: *mut f32,
    of_values: *mut f32,
    columns: usize,
    /// Sums by distance.
    sums: *mut f32,
}

impl Area {
    fn parts(attention: &Attention, tokens: usize) -> [usize; 10] {
        let size = attention.head_size;
        let (keys, columns) = (tokens.next_multiple_of(PANEL), size.next_multiple_of(PANEL));
        let block = QUERIES * stride_of(tokens);
        let (sums, places) = disentangled::scratch_len(attention, tokens);
        let strip = if size == columns { 0 } else { tokens.max(places) * columns };
        [keys * size, keys * size, block, block, block, QUERIES * columns, strip, tokens * columns, tokens * columns, sums]
    }

    /// # Safety
    /// `scratch` gives the sum of [`Area::parts`].
    unsafe fn new(scratch: *mut f32, attention: &Attention, tokens: usize) -> Area {
        let parts = Area::parts(attention, tokens);
        let (size, columns) = (attention.head_size, attention.head_size.next_multiple_of(PANEL));
        let at = |i: usize| scratch.wrapping_add(parts[..i].iter().sum());
        Area {
            keys: at(0),
            values: at(1),
            weights: at(2),
            dropped: at(3),
            scores: at(4),
            stride: stride_of(tokens),
            block: at(5),
            strip: Strip { place: at(6), size, columns },
            of_keys: at(7),
            of_values: at(8),
            columns,
            sums: at(9),
        }
    }
}

/// Numbers from one row of weights to the next: up to three ranges of keys, each of whole panels, and what softmax writes behind them.
fn stride_of(tokens: usize) -> usize {
    row_stride(tokens + 3 * PANEL) + PANEL
}

/// Rows of one head: the first, and numbers from one row to the next.
#[derive(Clone, Copy)]
pub(super) struct Lines {
    pub first: *const f32,
    pub stride: usize,
}

/// Room for copies of right factors whose columns are no whole panels.
pub(super) struct Strip {
    place: *mut f32,
    /// Columns of such a factor, and these in whole panels.
    size: usize,
    columns: usize,
}

/// Which numbers of attention's weights are dropped.
#[derive(Clone, Copy)]
struct Dropping {
    rate: Dropout,
    seed: u64,
    sequence: u64,
    head: u64,
}

impl Dropping {
    fn key(&self, query: usize) -> u32 {
        (key(&[self.seed, u64::from(self.rate.site), self.sequence, self.head, query as u64]) >> 32) as u32
    }
}

impl Work {
    /// Attention with dropout.
    ///
    /// # Safety
    /// As [`Work::task`].
    pub(super) unsafe fn attend_dropping(
        &self,
        step: usize,
        task: usize,
        (qkv, start): (ValueId, Option<ValueId>),
        attention: &Attention,
        dropout: Dropout,
        thread: usize,
    ) {
        // SAFETY: handed on; each value's tokens are done with before the next uses the scratch.
        unsafe {
            match start {
                None => self.attend_with(step, task, (qkv, Lookers::All), attention, dropout, thread),
                Some(start) => {
                    self.attend_with(step, task, (qkv, Lookers::Others), attention, dropout, thread);
                    self.attend_with(step, task, (start, Lookers::Start), attention, dropout, thread);
                }
            }
        }
    }

    /// Attention with dropout of the tokens that look with one value.
    unsafe fn attend_with(
        &self,
        step: usize,
        task: usize,
        (qkv, lookers): (ValueId, Lookers),
        attention: &Attention,
        dropout: Dropout,
        thread: usize,
    ) {
        // SAFETY: this task alone writes its sequence's rows in its head's columns; the scratch is its thread's.
        unsafe {
            let (head, area, dropping) = self.head_of(task, qkv, attention, dropout, self.row(step, 0), self.place(step).stride, thread);
            pack_keys(&head, area.keys);
            for (sight, first, queries) in self.blocks(task / attention.heads, attention, lookers) {
                let keys = self.weigh(&head, &sight, &area, first, queries, dropping);
                let values = Lines { first: head.values, stride: head.stride };
                self.times_rows(&area, area.dropped, queries, &keys, values, head.size);
                for r in 0..queries {
                    let out = head.out.add((first + r) * head.out_stride);
                    out.copy_from_nonoverlapping(area.block.add(r * area.columns), head.size);
                }
            }
        }
    }

    /// The way back.
    ///
    /// # Safety
    /// As [`Work::task`].
    pub(super) unsafe fn attend_back(
        &self,
        step: usize,
        task: usize,
        (gradient, qkv, lookers): (ValueId, ValueId, Lookers),
        attention: &Attention,
        dropout: Dropout,
        thread: usize,
    ) {
        let (sequence, number) = (task / attention.heads, task % attention.heads);
        let (size, width) = (attention.head_size, attention.heads * attention.head_size);
        let rows = self.batch.rows(sequence);
        // SAFETY: this task alone writes its sequence's rows in its head's columns, of queries, keys and values; the scratch is its thread's.
        unsafe {
            let (head, area, dropping) = self.head_of(task, qkv, attention, dropout, std::ptr::null_mut(), 0, thread);
            let tokens = rows.len();
            let back =
                Lines { first: self.row(gradient.index(), rows.start).add(number * size), stride: self.place(gradient.index()).stride };
            pack_keys(&head, area.keys);
            pack_keys(&Head { keys: head.values, ..head }, area.values);
            for part in [area.of_keys, area.of_values] {
                std::slice::from_raw_parts_mut(part, tokens * area.columns).fill(0.0);
            }
            let noted = self.noted_by(step, task, attention);
            let out = self.row(step, rows.start).add(number * size);
            let out_stride = self.place(step).stride;
            if lookers != Lookers::All {
                (0..tokens).for_each(|row| std::slice::from_raw_parts_mut(out.add(row * out_stride), size).fill(0.0));
            }
            let distances = self.distances(attention, sequence, number, area.sums, noted);
            for (sight, first, queries) in self.blocks(sequence, attention, lookers) {
                let keys = self.weigh(&head, &sight, &area, first, queries, dropping);
                let here = Lines { first: back.first.add(first * back.stride), stride: back.stride };
                self.times_transposed(&area, here, (area.values, area.scores), &keys, queries, size);
                self.scores_back(&head, &area, first, queries, &keys, dropping);
                self.note_bias(attention, &area, first, queries, &keys, noted);
                self.add_transposed(&area, area.dropped, queries, &keys, here, size, area.of_values);
                let query = Lines { first: head.queries.add(first * head.stride), stride: head.stride };
                self.add_transposed(&area, area.scores, queries, &keys, query, size, area.of_keys);
                self.times_rows(&area, area.scores, queries, &keys, Lines { first: head.keys, stride: head.stride }, size);
                if let (Some(distances), Some(positions)) = (&distances, &head.positions) {
                    let scores = (area.scores.cast_const(), area.stride);
                    self.distances_of_block(distances, (&head, positions), (first, queries), &keys, scores, area.block, &area.strip);
                }
                for r in 0..queries {
                    out.add((first + r) * out_stride).copy_from_nonoverlapping(area.block.add(r * area.columns), size);
                }
            }
            if let Some(distances) = &distances {
                self.distances_of_keys(distances, &head, area.of_keys, &area.strip);
            }
            for row in 0..tokens {
                let to = out.add(row * out_stride);
                to.add(width).copy_from_nonoverlapping(area.of_keys.add(row * area.columns), size);
                to.add(2 * width).copy_from_nonoverlapping(area.of_values.add(row * area.columns), size);
            }
        }
    }

    /// Adds what the tasks noted of a bias to its gradient, sequences in their order.
    ///
    /// # Safety
    /// As [`Work::task`].
    pub(super) unsafe fn add_noted(&self, step: usize, attention: &Attention) {
        let Bias::Relative(relative) = &attention.bias else { return };
        let (buckets, heads) = (buckets(relative), attention.heads);
        // SAFETY: the notes are complete, and nobody else writes this gradient.
        unsafe {
            let out = self.gradient_at(relative.table);
            for task in 0..self.batch.sequences() * heads {
                let noted = self.noted_by(step, task, attention);
                (0..buckets).for_each(|b| *out.add(b * heads + task % heads) += *noted.add(b));
            }
        }
    }

    pub(super) fn noted_by(&self, step: usize, task: usize, attention: &Attention) -> *mut f32 {
        self.area.wrapping_add(self.plan.sides[step].notes + task * noted(attention, self.batch.longest()))
    }

    #[expect(clippy::too_many_arguments, reason = "a task's own, what the operation names, and where it writes")]
    unsafe fn head_of(
        &self,
        task: usize,
        qkv: ValueId,
        attention: &Attention,
        dropout: Dropout,
        out: *mut f32,
        out_stride: usize,
        thread: usize,
    ) -> (Head, Area, Dropping) {
        let Attention { heads, head_size: size, .. } = *attention;
        let (sequence, head) = (task / heads, task % heads);
        let rows = self.batch.rows(sequence);
        // SAFETY: the scratch is this thread's own and holds the longest sequence; rows of the input hold 3 * heads * size numbers.
        unsafe {
            let scratch = self.scratch(thread);
            let bias = diagonals(attention, |id: WeightId| self.vector(id), head, rows.len(), scratch);
            let positions = self.positions(attention, head, rows.len(), scratch);
            let area = Area::new(scratch.add(bias_len(attention, rows.len())), attention, rows.len());
            let first = self.row(qkv.index(), rows.start).cast_const();
            let view = Head {
                queries: first.add(head * size),
                keys: first.add((heads + head) * size),
                values: first.add((2 * heads + head) * size),
                stride: self.place(qkv.index()).stride,
                out: out.wrapping_add(rows.start * out_stride + head * size),
                out_stride,
                tokens: self.batch.seen(sequence),
                rows: rows.len(),
                size,
                bias,
                positions,
                scale: 1.0 / (attention.products() as f32).sqrt(),
            };
            if let Some(positions) = &view.positions {
                positions.meet_keys(self.kernels(), &view);
            }
            let lesson = self.lesson();
            let sequence = lesson.first_sequence + sequence as u64;
            (view, area, Dropping { rate: dropout, seed: lesson.seed, sequence, head: head as u64 })
        }
    }

    /// The queries of a sequence in blocks that see alike, as far as they are `lookers`: the first of each, how many, and what they see.
    fn blocks(&self, sequence: usize, attention: &Attention, lookers: Lookers) -> impl Iterator<Item = (Sight, usize, usize)> + use<> {
        let (rows, seen) = (self.batch.rows(sequence), self.batch.seen(sequence));
        let sight = Sight::of(attention, &self.batch.ids()[rows.clone()], seen);
        let [at_start, at_end] = sight.wide(rows.len());
        let between = at_start.end..at_end.start;
        let of_start = [lookers != Lookers::Others, lookers != Lookers::Start, lookers != Lookers::Start];
        let blocks = [(Sight::all(seen), at_start), (sight, between), (Sight::all(seen), at_end)].into_iter().zip(of_start);
        blocks.filter(|(_, look)| *look).flat_map(|((sight, queries), _)| {
            let end = queries.end;
            queries.step_by(QUERIES).map(move |first| (sight.clone(), first, QUERIES.min(end - first)))
        })
    }

    /// The weights with which queries `first..first + queries` mix the keys returned, and these weights with dropout.
    unsafe fn weigh(&self, head: &Head, sight: &Sight, area: &Area, first: usize, queries: usize, dropping: Dropping) -> Keys {
        let (kernels, keys) = (self.kernels(), Keys::of(sight, first..first + queries));
        let query = Lines { first: head.queries.wrapping_add(first * head.stride), stride: head.stride };
        // SAFETY: the area holds the block; the head's rows are the sequence's.
        unsafe {
            self.times_transposed(area, query, (area.keys, area.weights), &keys, queries, head.size);
            if let Some(positions) = &head.positions {
                for at in (0..queries).step_by(FEW) {
                    let few = first + at..first + queries.min(at + FEW);
                    for (column, keys) in keys.ranges() {
                        let scores = area.weights.add(at * area.stride + column);
                        positions.add(self.kernels(), head, few.clone(), &keys, scores, area.stride);
                    }
                }
            }
            for r in 0..queries {
                let (row, query) = (area.weights.add(r * area.stride), first + r);
                let seen = head.finish_scores(sight, query, &keys, row);
                let inverse = (kernels.softmax)(row.add(seen.start), seen.len(), seen.len().next_multiple_of(PANEL), head.scale);
                let row = std::slice::from_raw_parts_mut(row, keys.columns);
                row[..seen.start].fill(0.0);
                row[seen.end..].fill(0.0);
                row[seen].iter_mut().for_each(|w| *w *= inverse);
                let dropped = area.dropped.add(r * area.stride);
                self.drop_row(row.as_ptr(), dropped, keys.columns, dropping.rate.rate, dropping.key(query));
            }
        }
        keys
    }

    /// `left[queries, size] * right^T`, a column for each of `keys`; `right` is packed.
    unsafe fn times_transposed(
        &self,
        area: &Area,
        left: Lines,
        (right, out): (*const f32, *mut f32),
        keys: &Keys,
        queries: usize,
        size: usize,
    ) {
        let kernels = self.kernels();
        let most = kernels.tile_rows;
        for (column, keys) in keys.ranges() {
            for at in (0..queries).step_by(most) {
                // SAFETY: the area holds the block; `left` has the queries' rows.
                unsafe {
                    let part = Panels {
                        a: left.first.add(at * left.stride),
                        a_stride: left.stride,
                        depth: size,
                        panels: right.add(keys.start * size),
                        panel: size * PANEL,
                    };
                    let out = out.add(at * area.stride + column);
                    multiply(kernels, &part, most.min(queries - at), keys.len().next_multiple_of(PANEL), out, area.stride);
                }
            }
        }
    }

    /// From the gradient of the block's weights to that of its products of queries and keys.
    unsafe fn scores_back(&self, head: &Head, area: &Area, first: usize, queries: usize, keys: &Keys, dropping: Dropping) {
        for r in 0..queries {
            // SAFETY: the block's own rows.
            unsafe {
                let row = area.scores.add(r * area.stride);
                if dropping.rate.rate > 0.0 {
                    self.drop_row(row, row, keys.columns, dropping.rate.rate, dropping.key(first + r));
                }
                (self.kernels().learn.softmax_back)(area.weights.add(r * area.stride), row, keys.columns, head.scale);
            }
        }
    }

    /// Adds the block's part of the gradient of a relative bias; the first block starts from zero.
    unsafe fn note_bias(&self, attention: &Attention, area: &Area, first: usize, queries: usize, keys: &Keys, noted: *mut f32) {
        let Bias::Relative(relative) = &attention.bias else { return };
        // SAFETY: the notes are this task's own; the block's rows are complete.
        unsafe {
            let noted = std::slice::from_raw_parts_mut(noted, buckets(relative));
            if first == 0 {
                noted.fill(0.0);
            }
            // The bias is added after scaling: softmax multiplies both by the scale.
            let unscaled = (attention.head_size as f32).sqrt();
            for r in 0..queries {
                for (column, keys) in keys.ranges() {
                    let row = std::slice::from_raw_parts(area.scores.add(r * area.stride + column), keys.len());
                    for (key, x) in keys.zip(row) {
                        noted[relative.bucket(key as isize - (first + r) as isize)] += x * unscaled;
                    }
                }
            }
        }
    }

    /// `left[queries, keys] * right[keys, size]` into the area's block.
    unsafe fn times_rows(&self, area: &Area, left: *const f32, queries: usize, keys: &Keys, right: Lines, size: usize) {
        for (i, (column, keys)) in keys.ranges().enumerate() {
            // SAFETY: the area holds the block; `right` has the sequence's rows.
            unsafe {
                let right = Lines { first: right.first.add(keys.start * right.stride), ..right };
                let right = area.strip.whole_panels(right, keys.len());
                for from in (0..size).step_by(PANEL) {
                    (self.kernels().learn.product)(&Product {
                        a: left.add(column),
                        a_row: area.stride,
                        a_step: 1,
                        b: right.first.add(from),
                        b_step: right.stride,
                        depth: keys.len(),
                        c: area.block.add(from),
                        c_stride: area.columns,
                        rows: queries,
                        adds: i > 0,
                    });
                }
            }
        }
    }

    /// Adds `left[queries, keys]^T * right[queries, size]` to the keys' rows of `out`.
    #[expect(clippy::too_many_arguments, reason = "both factors, their shapes, and the sum")]
    unsafe fn add_transposed(&self, area: &Area, left: *const f32, queries: usize, keys: &Keys, right: Lines, size: usize, out: *mut f32) {
        // SAFETY: the area holds the block and all keys; `right` has the block's rows.
        unsafe {
            let right = area.strip.whole_panels(right, queries);
            for (column, keys) in keys.ranges() {
                for from in (0..size).step_by(PANEL) {
                    (self.kernels().learn.product)(&Product {
                        a: left.add(column),
                        a_row: 1,
                        a_step: area.stride,
                        b: right.first.add(from),
                        b_step: right.stride,
                        depth: queries,
                        c: out.add(keys.start * area.columns + from),
                        c_stride: area.columns,
                        rows: keys.len(),
                        adds: true,
                    });
                }
            }
        }
    }
}

impl Strip {
    /// Rows whose columns are read in whole panels: as they are, or copied with zeros behind them.
    ///
    /// # Safety
    /// `lines` has `rows` rows; the strip has room for them.
    pub(super) unsafe fn whole_panels(&self, lines: Lines, rows: usize) -> Lines {
        let Strip { place, size, columns } = *self;
        if size == columns {
            return lines;
        }
        for row in 0..rows {
            // SAFETY: the caller's contract.
            unsafe {
                let to = std::slice::from_raw_parts_mut(place.add(row * columns), columns);
                to[..size].copy_from_slice(std::slice::from_raw_parts(lines.first.add(row * lines.stride), size));
                to[size..].fill(0.0);
            }
        }
        Lines { first: place, stride: columns }
    }
}
