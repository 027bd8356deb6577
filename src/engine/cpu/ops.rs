//! One task of one operation: from the graph's words to kernel calls.
//!
//! Every task writes rows (or columns of rows) of its operation's value that no other task writes, and reads values of earlier
//! operations only. `run` sees to the order; the code here sees to the bounds, which `check` and `plan` have settled.

use std::ops::Range;
use std::sync::Arc;

use super::attention::{self, Head, attend};
use super::attention_bf16;
use super::buffer::Buffer;
use super::dot::{DotTile, QuantiseRow};
use super::gemm::{Ahead, PANEL, Start, Tile, depth_parts, split};
use super::int8::BLOCK;
use super::kernels::{Kernels, NormRow};
use super::pack::{Matrix, Table};
use super::plan::{Cut, Place, Plan, Quantised, ROW_CHUNK, Step};
use super::run::Shared;
use crate::engine::batch::Batch;
use crate::engine::graph::{Activation, Attention, Graph, Index, Lookup, Node, Norm, Op, Reduce, Rows, Sight, ValueId, WeightId, Which};

/// A run's data, shared by the threads that work on it.
pub(super) struct Work {
    pub(super) shared: Arc<Shared>,
    pub(super) graph: Arc<Graph>,
    pub(super) batch: Arc<Batch>,
    pub(super) plan: Plan,
    pub(super) area: *mut f32,
    /// What learning needs besides, where the graph learns.
    #[cfg(feature = "train")]
    pub(super) study: Option<super::learn::Study>,
}

// SAFETY: `area` is written through by tasks on disjoint rows or columns only (the contract of `task`).
unsafe impl Send for Work {}
// SAFETY: as above.
unsafe impl Sync for Work {}

impl Work {
    /// The data of a run in `area`, which must outlive every call of [`Work::task`].
    pub(super) fn new(shared: Arc<Shared>, graph: Arc<Graph>, batch: Arc<Batch>, plan: Plan, area: &mut Buffer) -> Work {
        Work {
            shared,
            graph,
            batch,
            plan,
            area: area.as_mut_pointer(),
            #[cfg(feature = "train")]
            study: None,
        }
    }

    /// Does task `task` of step `step` of the plan, with the scratch of thread `thread`.
    ///
    /// # Safety
    /// The area is alive, all tasks of earlier steps are done, and nobody else does this task.
    pub(super) unsafe fn task(&self, step: usize, task: usize, thread: usize) {
        // SAFETY: handed on to each operation below.
        unsafe {
            match self.plan.steps[step] {
                Step::Quantise(value) => self.quantise(value, self.chunk(value, task)),
                #[cfg(feature = "train")]
                Step::Later(node, part) => self.learn(node, part, task, thread),
                Step::Compute(node) => {
                    self.compute(node, task, thread);
                    if self.plan.quantised[node].is_some_and(|q| q.at_once) {
                        self.quantise(node, self.chunk(node, task));
                    }
                }
            }
        }
    }

    unsafe fn compute(&self, step: usize, task: usize, thread: usize) {
        // SAFETY: handed on to each operation below.
        unsafe {
            match &self.graph.nodes()[step].op {
                Op::Embed { lookups, norm } => self.embed(step, task, lookups, norm.as_ref()),
                Op::Whole { table } => self.whole(step, task, *table),
                Op::Linear { input, weight, bias, activation } => self.linear(step, task, *input, (*weight, *bias), *activation),
                Op::Attention { qkv, start, attention } => self.attention(step, task, (*qkv, *start), attention, thread),
                Op::AddNorm { input, residual, norm } => self.add_norm(step, task, *input, Some(*residual), norm),
                Op::Norm { input, norm } => self.add_norm(step, task, *input, None, norm),
                Op::Add { input, residual } => self.add(step, task, *input, *residual),
                Op::Affine { input, residual, weight, bias } => self.affine(step, task, (*input, *residual), (*weight, *bias)),
                Op::Gate { input, activation, activated } => self.gate(step, task, *input, (*activation, *activated)),
                Op::Rotate { qkv, rotary } => self.rotate(step, task, *qkv, rotary),
                Op::Neighbours { input, size } => self.neighbours(step, task, *input, *size),
                Op::Pick { input, which } => self.pick(step, task, *input, *which),
                Op::Scores { input, table, bias } => self.scores(step, task, *input, (*table, *bias), thread),
                Op::Terms { input, table, bias, terms } => self.terms(step, task, *input, (*table, *bias), *terms, thread),
                Op::Pool { input, reduce } => self.pool(step, task, *input, *reduce),
                Op::Concat { inputs } => self.concat(step, task, inputs),
                Op::Mean { inputs } => self.mean(step, task, inputs),
                #[cfg(feature = "train")]
                Op::Learn(_) => self.learn(step, 0, task, thread),
            }
        }
    }

    /// A value's rows without the space between them.
    pub(super) fn result(&self, value: ValueId, area: &Buffer) -> Vec<f32> {
        let (node, place) = (self.node(value.index()), self.place(value.index()));
        let mut out = Vec::with_capacity(place.rows * node.width);
        for r in 0..place.rows {
            out.extend_from_slice(&area[place.start + r * place.stride..][..node.width]);
        }
        out
    }

    /// The functions in use.
    pub(super) fn kernels(&self) -> &'static Kernels {
        self.shared.kernels
    }

    /// The operation that computes value `value`.
    pub(super) fn node(&self, value: usize) -> &Node {
        &self.graph.nodes()[value]
    }

    pub(super) fn place(&self, step: usize) -> Place {
        self.plan.places[step]
    }

    pub(super) fn width(&self, step: usize) -> usize {
        self.graph.nodes()[step].width
    }

    /// The rows of value `value` as they are now.
    ///
    /// # Safety
    /// The area is alive and no task that writes the value runs.
    pub(super) unsafe fn rows(&self, value: usize) -> impl Iterator<Item = &[f32]> {
        // SAFETY: the caller's contract.
        (0..self.place(value).rows).map(move |row| unsafe { self.read(value, row) })
    }

    /// The scratch of thread `thread`: `Plan::new` says how many numbers each operation finds there.
    pub(super) fn scratch(&self, thread: usize) -> *mut f32 {
        self.area.wrapping_add(self.plan.values + thread * self.plan.scratch)
    }

    /// Row `row` of value `step`.
    pub(super) unsafe fn row(&self, step: usize, row: usize) -> *mut f32 {
        let place = self.place(step);
        debug_assert!(row < place.rows);
        // SAFETY: the plan laid the row out inside the area.
        unsafe { self.area.add(place.start + row * place.stride) }
    }

    /// Row `row` of value `step` to read.
    pub(super) unsafe fn read(&self, step: usize, row: usize) -> &[f32] {
        // SAFETY: the caller's operation comes later than `step`, whose tasks are done.
        unsafe { std::slice::from_raw_parts(self.row(step, row), self.width(step)) }
    }

    /// Row `row` of value `step` to write.
    #[expect(clippy::mut_from_ref, reason = "tasks write disjoint rows; the contract of `task`")]
    pub(super) unsafe fn write(&self, step: usize, row: usize) -> &mut [f32] {
        // SAFETY: the caller's task alone writes this row.
        unsafe { std::slice::from_raw_parts_mut(self.row(step, row), self.width(step)) }
    }

    pub(super) fn vector(&self, id: WeightId) -> &[f32] {
        self.shared.weights.vector(id).unwrap_or_else(|| unreachable!("checked before the run"))
    }

    pub(super) fn table(&self, id: WeightId) -> Table<'_> {
        self.shared.weights.table(id).unwrap_or_else(|| unreachable!("checked before the run"))
    }

    pub(super) fn matrix(&self, id: WeightId) -> Matrix<'_> {
        self.shared.weights.matrix(id).unwrap_or_else(|| unreachable!("checked before the run"))
    }

    /// Quantises the rows `rows` of value `value`.
    unsafe fn quantise(&self, value: usize, rows: Range<usize>) {
        let Some(place) = self.plan.quantised[value] else { return };
        let outliers = self.matrix(place.reader).int8.unwrap_or_default();
        for row in rows {
            // SAFETY: the value's rows are complete and this task alone touches these; their int8 form is laid out in the area.
            unsafe {
                (self.shared.kernels.quantise_row)(&QuantiseRow {
                    x: self.row(value, row),
                    width: self.width(value),
                    outliers,
                    out: self.quantised_row(&place, row),
                    layout: place.layout,
                });
            }
        }
    }

    /// Row `row` of a value's int8 form.
    unsafe fn quantised_row(&self, place: &Quantised, row: usize) -> *mut u8 {
        // SAFETY: the plan laid the row out inside the area.
        unsafe { self.area.add(place.start).cast::<u8>().add(row * place.layout.stride) }
    }

    /// The rows `rows`, and each one's place in its sequence.
    pub(super) fn places_of(&self, rows: Range<usize>) -> impl Iterator<Item = (usize, usize)> {
        let mut sequence = self.batch.offsets().partition_point(|o| *o <= rows.start) - 1;
        rows.map(move |row| {
            while row >= self.batch.rows(sequence).end {
                sequence += 1;
            }
            (row, row - self.batch.rows(sequence).start)
        })
    }

    /// As [`Work::places_of`]; 0 for rows that are no token's own.
    pub(super) fn places_in(&self, kind: Rows, rows: Range<usize>) -> Box<dyn Iterator<Item = (usize, usize)> + '_> {
        if kind == Rows::Tokens { Box::new(self.places_of(rows)) } else { Box::new(rows.map(|row| (row, 0))) }
    }

    /// The rows of task `task` of an operation that works row by row.
    pub(super) fn chunk(&self, step: usize, task: usize) -> Range<usize> {
        let first = task * ROW_CHUNK;
        first..(first + ROW_CHUNK).min(self.place(step).rows)
    }

    /// Normalises row `row` of value `step`, in which `x` (and `y`) are summed.
    unsafe fn norm(&self, step: usize, row: usize, x: *const f32, y: *const f32, norm: &Norm) {
        // SAFETY: the rows have `width` numbers and so have the vectors (checked before the run).
        unsafe {
            (self.shared.kernels.add_norm)(&NormRow {
                x,
                y,
                out: self.row(step, row),
                width: self.width(step),
                weight: self.vector(norm.weight).as_ptr(),
                bias: norm.bias.map_or(std::ptr::null(), |bias| self.vector(bias).as_ptr()),
                epsilon: norm.epsilon,
            });
        }
    }

    unsafe fn embed(&self, step: usize, task: usize, lookups: &[Lookup], norm: Option<&Norm>) {
        let mut summand = vec![0f32; self.width(step)];
        for (row, place) in self.places_in(self.node(step).rows, self.chunk(step, task)) {
            // SAFETY: this task alone writes its chunk's rows.
            let out = unsafe { self.write(step, row) };
            for (i, lookup) in lookups.iter().enumerate() {
                let index = self.index_of(lookup, row, place);
                if i == 0 {
                    self.table(lookup.table).row(index, out);
                } else {
                    self.table(lookup.table).row(index, &mut summand);
                    out.iter_mut().zip(&summand).for_each(|(o, x)| *o += x);
                }
            }
            if let Some(norm) = norm {
                // SAFETY: in place, this task's own row.
                unsafe { self.norm(step, row, self.row(step, row), std::ptr::null(), norm) }
            }
        }
    }

    unsafe fn whole(&self, step: usize, task: usize, table: WeightId) {
        for row in self.chunk(step, task) {
            // SAFETY: this task alone writes its chunk's rows.
            self.table(table).row(row, unsafe { self.write(step, row) });
        }
    }

    /// The row of its table that `lookup` takes for the token of row `row`, at `place` in its sequence.
    pub(super) fn index_of(&self, lookup: &Lookup, row: usize, place: usize) -> usize {
        match lookup.index {
            Index::Token => self.batch.ids()[row] as usize,
            Index::Segment => self.batch.segments()[row] as usize,
            Index::Position { offset, padding: None } => place + offset,
            Index::Position { offset, padding: Some(padding) } => self.place_without(padding, offset, row - place..row),
            Index::Always(index) => index,
            Index::InSpan { last } => self.batch.place_in_span(row).min(last),
        }
    }

    /// The position of the token behind the rows `before` of its sequence, when tokens `padding` take no place.
    fn place_without(&self, padding: u32, offset: usize, before: Range<usize>) -> usize {
        let ids = self.batch.ids();
        if ids[before.end] == padding { offset - 1 } else { offset + ids[before].iter().filter(|id| **id != padding).count() }
    }

    unsafe fn add_norm(&self, step: usize, task: usize, input: ValueId, residual: Option<ValueId>, norm: &Norm) {
        for row in self.chunk(step, task) {
            // SAFETY: both inputs are complete; this task alone writes its chunk's rows.
            unsafe {
                let residual = residual.map_or(std::ptr::null(), |r| self.row(r.index(), row).cast_const());
                self.norm(step, row, self.row(input.index(), row), residual, norm);
            }
        }
    }

    unsafe fn neighbours(&self, step: usize, task: usize, input: ValueId, size: usize) {
        let before = size / 2;
        for row in self.chunk(step, task) {
            let sequence = self.batch.rows(self.batch.offsets().partition_point(|o| *o <= row) - 1);
            // SAFETY: the input is complete; this task alone writes its chunk's rows.
            let out = unsafe { self.write(step, row) };
            for place in 0..size {
                let at = (row + place).checked_sub(before).filter(|at| sequence.contains(at));
                let columns = out.iter_mut().skip(place).step_by(size);
                match at {
                    // SAFETY: as above.
                    Some(at) => columns.zip(unsafe { self.read(input.index(), at) }).for_each(|(o, x)| *o = *x),
                    None => columns.for_each(|o| *o = 0.0),
                }
            }
        }
    }

    unsafe fn pick(&self, step: usize, task: usize, input: ValueId, which: Which) {
        for row in self.chunk(step, task) {
            // SAFETY: the input is complete, and the batch picks only rows that it has; this task alone writes its chunk's rows.
            unsafe { self.write(step, row).copy_from_slice(self.read(input.index(), self.batch.picked(row, which))) }
        }
    }

    unsafe fn linear(
        &self,
        step: usize,
        task: usize,
        input: ValueId,
        (weight, bias): (WeightId, Option<WeightId>),
        activation: Activation,
    ) {
        let matrix = self.matrix(weight);
        let Cut { row_blocks, panel_groups, panels } = self.plan.cuts[step];
        let (first_row, rows) = split(self.place(step).rows, row_blocks, task / panel_groups);
        let (first_panel, count) = split(panels, panel_groups, task % panel_groups);
        if rows == 0 {
            return;
        }
        if let (Some(outliers), Some(place)) = (matrix.int8, self.plan.quantised[input.index()]) {
            for panel in first_panel..first_panel + count {
                let next = if panel + 1 < first_panel + count { matrix.panel(panel + 1) } else { &[] };
                let block = Int8Block { rows: first_row..first_row + rows, panel, numbers: matrix.panel(panel), next, bias, activation };
                // SAFETY: this task alone writes these rows of this panel; the shapes were checked before the run.
                unsafe { self.int8_block(step, &place, outliers.len(), &block) }
            }
            return;
        }
        for (from, depth) in depth_parts(matrix.depth) {
            for panel in first_panel..first_panel + count {
                let start = match bias {
                    _ if from > 0 => Start::Sum,
                    Some(bias) => Start::Bias(self.vector(bias)[panel * PANEL..].as_ptr()),
                    None => Start::Zero,
                };
                let last = from + depth == matrix.depth;
                let block = Block {
                    rows: first_row..first_row + rows,
                    // SAFETY: the panel's columns of the value's rows, which end in whole panels.
                    out: unsafe { self.row(step, first_row).add(panel * PANEL) },
                    out_stride: self.place(step).stride,
                    part: &matrix.panel(panel)[from * PANEL..(from + depth) * PANEL],
                    next: (panel + 1 < first_panel + count).then(|| &matrix.panel(panel + 1)[from * PANEL..(from + depth) * PANEL]),
                    from,
                    start,
                    activation: if last { activation } else { Activation::Identity },
                };
                // SAFETY: this task alone writes these rows of this panel; the shapes were checked before the run.
                unsafe { self.block(input, &block) }
            }
        }
    }

    /// A part of the depth of one panel, for a block of rows.
    pub(super) unsafe fn block(&self, input: ValueId, block: &Block<'_>) {
        let kernels = self.shared.kernels;
        let rows = block.rows.len();
        let tiles = rows.div_ceil(kernels.tile_rows);
        let depth = block.part.len() / PANEL;
        let (a_stride, c_stride) = (self.place(input.index()).stride, block.out_stride);
        for i in 0..tiles {
            let (at, rows) = split(rows, tiles, i);
            let b = block.part.as_ptr();
            let ahead = block.next.map_or(Ahead::none(b), |next| Ahead::share(next, depth, tiles, i));
            // SAFETY: the rows lie in the plan's places, whose strides hold whole panels.
            unsafe {
                let a = self.row(input.index(), block.rows.start + at).add(block.from);
                let c = block.out.add(at * c_stride);
                (kernels.tile)(&Tile { a, a_stride, b, depth, c, c_stride, rows, start: block.start, ahead });
                if block.activation != Activation::Identity {
                    (kernels.activate)(block.activation, c, rows, c_stride);
                }
            }
        }
    }

    /// One int8 panel, for a block of rows.
    unsafe fn int8_block(&self, step: usize, place: &Quantised, outliers: usize, block: &Int8Block<'_>) {
        let kernels = self.shared.kernels;
        let rows = block.rows.len();
        let tiles = rows.div_ceil(kernels.dot_rows);
        let c_stride = self.place(step).stride;
        let bias = block.bias.map_or(std::ptr::null(), |b| self.vector(b)[block.panel * PANEL..].as_ptr());
        for i in 0..tiles {
            let (at, rows) = split(rows, tiles, i);
            let ahead = match block.next {
                [] => Ahead::none(block.numbers.as_ptr()),
                next => Ahead::even_share(next, place.layout.blocks * BLOCK / 4, tiles, i),
            };
            // SAFETY: the rows lie in the plan's places, whose strides hold whole panels.
            unsafe {
                let a = self.quantised_row(place, block.rows.start + at);
                let c = self.row(step, block.rows.start + at).add(block.panel * PANEL);
                let panel = block.numbers.as_ptr().cast();
                (kernels.dot_tile)(&DotTile { a, layout: place.layout, panel, outliers, bias, c, c_stride, rows, ahead });
                if block.activation != Activation::Identity {
                    (kernels.activate_int8)(block.activation, c, rows, c_stride);
                }
            }
        }
    }

    unsafe fn attention(&self, step: usize, task: usize, (qkv, start): (ValueId, Option<ValueId>), attention: &Attention, thread: usize) {
        let (sequence, number) = (task / attention.heads, task % attention.heads);
        let rows = self.batch.rows(sequence).len();
        let seen = self.batch.seen(sequence);
        let sight = Sight::of(attention, &self.batch.ids()[self.batch.rows(sequence)], seen);
        let [first, last] = sight.wide(rows);
        let between = first.end..last.start;
        // SAFETY: this task alone writes its sequence's rows in its head's columns; the scratch is this thread's own and holds the longest
        // sequence. Each head is done with before the next uses the scratch.
        unsafe {
            let (head, scratch) = self.head(step, (sequence, number), qkv, attention, self.scratch(thread));
            self.attend(&head, &sight, between, scratch);
            let all = Sight::all(seen);
            if !first.is_empty() || !last.is_empty() {
                let (head, scratch) = self.head(step, (sequence, number), start.unwrap_or(qkv), attention, self.scratch(thread));
                self.attend(&head, &all, last, scratch);
                self.attend(&head, &all, first, scratch);
            }
        }
    }

    /// The rows `queries` of a head's output.
    unsafe fn attend(&self, head: &Head, sight: &Sight, queries: Range<usize>, scratch: *mut f32) {
        if queries.is_empty() {
            return;
        }
        // SAFETY: the caller's contract is `attend`'s.
        unsafe {
            match self.shared.bf16 {
                Some(bf16) => attention_bf16::attend(self.shared.kernels, bf16, head, sight, queries, scratch),
                None => attend(self.shared.kernels, head, sight, queries, scratch),
            }
        }
    }

    /// Head `number` of an attention in sequence `sequence`, with queries, keys and values of `qkv`; and the scratch that it leaves.
    unsafe fn head(
        &self,
        step: usize,
        (sequence, number): (usize, usize),
        qkv: ValueId,
        attention: &Attention,
        scratch: *mut f32,
    ) -> (Head, *mut f32) {
        let Attention { heads, head_size: size, .. } = *attention;
        let rows = self.batch.rows(sequence);
        // SAFETY: a row of the input holds 3 * heads * size numbers; `bias_len` numbers of the scratch are those of the bias.
        unsafe {
            let first = self.row(qkv.index(), rows.start).cast_const();
            let bias = attention::diagonals(attention, |id| self.vector(id), number, rows.len(), scratch);
            let positions = self.positions(attention, number, rows.len(), scratch);
            let head = Head {
                queries: first.add(number * size),
                keys: first.add((heads + number) * size),
                values: first.add((2 * heads + number) * size),
                stride: self.place(qkv.index()).stride,
                out: self.row(step, rows.start).add(number * size),
                out_stride: self.place(step).stride,
                tokens: self.batch.seen(sequence),
                rows: rows.len(),
                size,
                bias,
                positions,
                scale: 1.0 / (attention.products() as f32).sqrt(),
            };
            if let Some(positions) = &head.positions {
                positions.meet_keys(self.shared.kernels, &head);
            }
            (head, scratch.add(attention::bias_len(attention, rows.len())))
        }
    }

    unsafe fn pool(&self, step: usize, sequence: usize, input: ValueId, reduce: Reduce) {
        let all = self.batch.rows(sequence);
        let pooled = self.batch.pooled_rows(sequence);
        // SAFETY: this task alone writes its sequence's row; the input is complete.
        let (out, token) = unsafe { (self.write(step, sequence), |row| self.read(input.index(), row)) };
        if all.is_empty() {
            out.fill(0.0);
            return;
        }
        let count = pooled.len() as f32;
        match reduce {
            Reduce::Start => out.copy_from_slice(token(all.start)),
            Reduce::First => out.copy_from_slice(token(pooled.start)),
            Reduce::Last => out.copy_from_slice(token(all.end - 1)),
            Reduce::Max => {
                out.copy_from_slice(token(pooled.start));
                for row in pooled.skip(1) {
                    // A NaN must show in the result, so it counts as larger than everything.
                    out.iter_mut().zip(token(row)).for_each(|(o, x)| {
                        if *x > *o || x.is_nan() {
                            *o = *x
                        }
                    });
                }
            }
            Reduce::Mean => weighted_sum(out, pooled.clone().map(|row| (1.0, token(row))), count),
            Reduce::MeanSqrtLen => weighted_sum(out, pooled.clone().map(|row| (1.0, token(row))), count.sqrt()),
            Reduce::WeightedMean => {
                let weight = |row: usize| (row - all.start + 1) as f32;
                let total = pooled.clone().map(weight).sum();
                weighted_sum(out, pooled.map(|row| (weight(row), token(row))), total);
            }
        }
    }

    unsafe fn concat(&self, step: usize, task: usize, inputs: &[ValueId]) {
        for row in self.chunk(step, task) {
            // SAFETY: the inputs are complete; this task alone writes its chunk's rows.
            let mut rest = unsafe { self.write(step, row) };
            for input in inputs {
                let (part, tail) = rest.split_at_mut(self.width(input.index()));
                // SAFETY: as above.
                part.copy_from_slice(unsafe { self.read(input.index(), row) });
                rest = tail;
            }
        }
    }

    unsafe fn mean(&self, step: usize, task: usize, inputs: &[ValueId]) {
        for row in self.chunk(step, task) {
            // SAFETY: the inputs are complete; this task alone writes its chunk's rows.
            let (out, part) = unsafe { (self.write(step, row), |v: &ValueId| self.read(v.index(), row)) };
            weighted_sum(out, inputs.iter().map(|v| (1.0, part(v))), inputs.len() as f32);
        }
    }
}

/// What [`Work::block`] multiplies.
pub(super) struct Block<'w> {
    /// Rows of the input.
    pub rows: Range<usize>,
    /// Where the first of them has its results, a panel's columns, and numbers from one row to the next.
    pub out: *mut f32,
    pub out_stride: usize,
    /// The panel's numbers for this part of the depth, and those of the next panel.
    pub part: &'w [f32],
    pub next: Option<&'w [f32]>,
    /// Where the part begins.
    pub from: usize,
    pub start: Start,
    pub activation: Activation,
}

/// What [`Work::int8_block`] multiplies.
struct Int8Block<'w> {
    rows: Range<usize>,
    panel: usize,
    /// The panel, and the one after it (empty at the end).
    numbers: &'w [f32],
    next: &'w [f32],
    bias: Option<WeightId>,
    activation: Activation,
}

/// `out = sum of weight * row / total`, the rows in their order.
fn weighted_sum<'a>(out: &mut [f32], rows: impl Iterator<Item = (f32, &'a [f32])>, total: f32) {
    out.fill(0.0);
    for (weight, row) in rows {
        out.iter_mut().zip(row).for_each(|(o, x)| *o += weight * x);
    }
    out.iter_mut().for_each(|o| *o /= total);
}
