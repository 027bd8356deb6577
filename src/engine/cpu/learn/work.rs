//! One task of one operation of learning: from the graph's words to kernel calls.
//!
//! As `ops` does for a model's own operations. Losses are in [`super::losses`], attention in [`super::attention`], a vocabulary's loss in
//! [`super::vocabulary`]; gradients of weights are added here.

use std::ops::Range;
use std::sync::Arc;

use super::super::gemm::PANEL;
use super::super::ops::Work;
use super::super::plan::ROW_CHUNK;
use super::plan::INPUT_CHUNK;
use super::product::Product;
use super::rows::NormBack;
use super::vocabulary::Words;
use crate::engine::graph::{Activation, Dropout, Half, Learn, Lookup, Loss, Norm, Op, Reduce, Rotary, Rows, ValueId, WeightId, Which};
use crate::engine::lesson::{Lesson, key};

/// The sequence of a row that belongs to none.
const NOBODY: usize = usize::MAX;

/// What a run of learning has beside its graph and batch.
pub(in super::super) struct Study {
    /// The gradients, in the layout of the packed numbers.
    pub gradients: *mut f32,
    pub lesson: Arc<Lesson>,
}

impl Work {
    /// Task `task` of part `part` of an operation of learning.
    ///
    /// # Safety
    /// As [`Work::task`].
    pub(in super::super) unsafe fn learn(&self, step: usize, part: usize, task: usize, thread: usize) {
        let Op::Learn(op) = &self.node(step).op else { return };
        // SAFETY: handed on.
        unsafe {
            match op {
                Learn::Activate { input, activation } => self.activate(step, task, *input, *activation),
                Learn::ActivateBack { gradient, input, activation } => self.activate_back(step, task, *gradient, *input, *activation),
                Learn::Drop { input, dropout } => self.drop_rows(step, task, *input, *dropout),
                Learn::Attend { qkv, start, attention, dropout } => {
                    self.attend_dropping(step, task, (*qkv, *start), attention, *dropout, thread);
                }
                Learn::AttendBack { attention, .. } if part == 1 => self.add_noted(step, attention),
                Learn::AttendBack { gradient, qkv, lookers, attention, dropout } => {
                    self.attend_back(step, task, (*gradient, *qkv, *lookers), attention, *dropout, thread);
                }
                Learn::MetBack { of, side, from } => self.met_back(step, task, *of, *side, *from),
                Learn::WholeGradient { gradient, table } => self.whole_gradient(task, *gradient, *table),
                Learn::AffineBack { weight, bias, .. } if part == 1 => self.add_column_sums(step, task, *weight, Some(*bias)),
                Learn::AffineBack { gradient, input, weight, learns, .. } => {
                    self.affine_back(step, task, (*gradient, *input), *weight, *learns);
                }
                Learn::LinearGradient { gradient, input, weight, bias } => {
                    self.linear_gradient(task, (*gradient, *input), *weight, *bias, thread);
                }
                Learn::NormBack { norm, .. } if part == 1 => self.add_column_sums(step, task, norm.weight, norm.bias),
                Learn::NormBack { gradient, input, norm, learns } => self.norm_back(step, task, (*gradient, *input), norm, *learns),
                Learn::EmbedGradient { gradient, lookups } => self.embed_gradient(task, *gradient, lookups),
                Learn::GateBack { gradient, input, activation, activated } => {
                    self.gate_back(step, task, (*gradient, *input), *activation, *activated);
                }
                Learn::RotateBack { gradient, rotary } => self.rotate_back(step, task, *gradient, rotary),
                Learn::NeighboursBack { gradient, size } => self.neighbours_back(step, task, *gradient, *size),
                Learn::PickBack { gradient, which } => self.pick_back(step, task, *gradient, *which),
                Learn::PoolBack { gradient, input, reduce } => self.pool_back(step, task, (*gradient, *input), *reduce),
                Learn::Columns { input, from } => self.columns(step, task, *input, *from),
                Learn::Scale { input, factor } => self.scale(step, task, *input, *factor),
                Learn::Loss { input, loss, target, own } => self.lose(step, task, *input, *loss, (*target, *own)),
                Learn::TermsBack { gradient, input, table, bias, terms, learns } => {
                    let (input, table, bias, learns) = (*input, *table, *bias, *learns);
                    let words = Words { input, table, bias, learns, carries: true, temperature: 1.0, target: usize::MAX };
                    self.terms_back(step, (part, task), *gradient, words, *terms, thread);
                }
                Learn::Vocabulary { input, table, bias, loss, target, learns, carries, .. } => {
                    let temperature = if let Loss::Distilled { temperature } = *loss { temperature } else { 1.0 };
                    let (input, table, bias, target) = (*input, *table, *bias, *target);
                    let words = Words { input, table, bias, learns: *learns, carries: *carries, temperature, target };
                    self.vocabulary(step, part, task, words, thread);
                }
            }
        }
    }

    fn study(&self) -> &Study {
        self.study.as_ref().unwrap_or_else(|| unreachable!("a graph that learns runs in a learner"))
    }

    pub(super) fn lesson(&self) -> &Lesson {
        &self.study().lesson
    }

    /// Where the gradient of weight `id` stands, in the layout of the weight.
    pub(super) fn gradient_at(&self, id: WeightId) -> *mut f32 {
        self.study().gradients.wrapping_add(self.shared.weights.place(id).start)
    }

    /// The numbers of weight `id`, and what stands behind them.
    pub(super) fn numbers_of(&self, id: WeightId) -> *const f32 {
        self.shared.weights.numbers()[self.shared.weights.place(id).start..].as_ptr()
    }

    unsafe fn activate(&self, step: usize, task: usize, input: ValueId, activation: Activation) {
        let (rows, width) = (self.chunk(step, task), self.width(step));
        let stride = self.place(step).stride;
        // SAFETY: this task alone writes its chunk's rows, which the plan laid out in whole panels.
        unsafe {
            for row in rows.clone() {
                let out = std::slice::from_raw_parts_mut(self.row(step, row), width.next_multiple_of(PANEL));
                out[..width].copy_from_slice(self.read(input.index(), row));
                out[width..].fill(0.0);
            }
            for at in (0..width).step_by(PANEL) {
                (self.kernels().activate)(activation, self.row(step, rows.start).add(at), rows.len(), stride);
            }
        }
    }

    unsafe fn activate_back(&self, step: usize, task: usize, gradient: ValueId, input: ValueId, activation: Activation) {
        for row in self.chunk(step, task) {
            // SAFETY: the inputs are complete; the gradient's place may be the value's own, row by row.
            unsafe {
                let (from, x) = (self.row(gradient.index(), row), self.row(input.index(), row));
                (self.kernels().learn.activate_back)(activation, from, x, self.row(step, row), self.width(step));
            }
        }
    }

    /// Writes `x` with dropout at `rate` to `out`, which may be `x`.
    ///
    /// # Safety
    /// Both have `n` numbers.
    pub(super) unsafe fn drop_row(&self, x: *const f32, out: *mut f32, n: usize, rate: f32, key: u32) {
        let threshold = (f64::from(rate) * 4_294_967_296.0) as u32;
        // SAFETY: the caller's contract.
        unsafe { (self.kernels().learn.drop_row)(x, out, n, key, threshold, 1.0 / (1.0 - rate)) }
    }

    unsafe fn drop_rows(&self, step: usize, task: usize, input: ValueId, dropout: Dropout) {
        let rows = self.chunk(step, task);
        let lesson = self.lesson();
        for row in rows {
            let (sequence, place) = self.origin(self.node(step).rows, row);
            // The rows of a table belong to all sequences of a step.
            let sequence = if sequence == NOBODY { u64::MAX } else { lesson.first_sequence + sequence as u64 };
            let key = (key(&[lesson.seed, u64::from(dropout.site), sequence, place as u64]) >> 32) as u32;
            // SAFETY: the input is complete; its place may be the value's own, row by row.
            unsafe { self.drop_row(self.row(input.index(), row), self.row(step, row), self.width(step), dropout.rate, key) }
        }
    }

    /// The sequence of a row, and its token's place in it.
    pub(super) fn origin(&self, rows: Rows, row: usize) -> (usize, usize) {
        let token = match rows {
            Rows::Sequences => return (row, usize::MAX),
            Rows::Fixed(_) => return (NOBODY, row),
            Rows::Tokens => row,
            Rows::Picked => self.batch.picks()[row],
        };
        let sequence = self.batch.offsets().partition_point(|o| *o <= token) - 1;
        (sequence, token - self.batch.rows(sequence).start)
    }

    /// A panel of a matrix's gradient, `x^T gradient` as the matrix is packed, for some of its inputs; with the first inputs, the bias's.
    unsafe fn linear_gradient(
        &self,
        task: usize,
        (gradient, input): (ValueId, ValueId),
        weight: WeightId,
        bias: Option<WeightId>,
        thread: usize,
    ) {
        let (gradient, input) = (gradient.index(), input.index());
        let (inputs, outputs) = (self.width(input), self.width(gradient));
        let chunks = inputs.div_ceil(INPUT_CHUNK);
        let (panel, chunk) = (task / chunks, task % chunks);
        let (from, rows) = (chunk * INPUT_CHUNK, INPUT_CHUNK.min(inputs - chunk * INPUT_CHUNK));
        let (tokens, columns) = (self.place(gradient).rows, PANEL.min(outputs - panel * PANEL));
        if tokens == 0 {
            return;
        }
        // SAFETY: this task alone writes these inputs of this panel; both values are complete.
        unsafe {
            let (mut right, mut step) = (self.row(gradient, 0).add(panel * PANEL).cast_const(), self.place(gradient).stride);
            if columns < PANEL {
                (right, step) = self.zero_behind(right, step, tokens, columns, thread);
            }
            let c = self.gradient_at(weight).add(panel * PANEL * inputs + from * PANEL);
            for tokens in depths(tokens, rows) {
                (self.kernels().learn.product)(&Product {
                    a: self.row(input, tokens.start).add(from),
                    a_row: 1,
                    a_step: self.place(input).stride,
                    b: right.add(tokens.start * step),
                    b_step: step,
                    depth: tokens.len(),
                    c,
                    c_stride: PANEL,
                    rows,
                    adds: true,
                });
            }
            if let (Some(bias), 0) = (bias, chunk) {
                (self.kernels().learn.column_sums)(right, step, tokens, columns, self.gradient_at(bias).add(panel * PANEL));
            }
        }
    }

    /// Copies `columns` columns into whole panels of the thread's scratch.
    unsafe fn zero_behind(&self, from: *const f32, stride: usize, rows: usize, columns: usize, thread: usize) -> (*const f32, usize) {
        let scratch = self.scratch(thread);
        for row in 0..rows {
            // SAFETY: the plan gives a panel for each row.
            unsafe {
                let out = std::slice::from_raw_parts_mut(scratch.add(row * PANEL), PANEL);
                out[..columns].copy_from_slice(std::slice::from_raw_parts(from.add(row * stride), columns));
                out[columns..].fill(0.0);
            }
        }
        (scratch, PANEL)
    }

    unsafe fn norm_back(&self, step: usize, task: usize, (gradient, input): (ValueId, ValueId), norm: &Norm, learns: bool) {
        let width = self.width(step);
        // SAFETY: the notes of this task's chunk are its own; both values are complete, and the gradient's place may be the value's.
        unsafe {
            let sums = if learns { self.column_sums(step, task) } else { std::ptr::null_mut() };
            if learns {
                std::slice::from_raw_parts_mut(sums, 2 * width).fill(0.0);
            }
            for row in self.chunk(step, task) {
                (self.kernels().learn.norm_back)(&NormBack {
                    gradient: self.row(gradient.index(), row),
                    x: self.row(input.index(), row),
                    weight: self.vector(norm.weight).as_ptr(),
                    out: self.row(step, row),
                    width,
                    epsilon: norm.epsilon,
                    sums,
                });
            }
        }
    }

    fn column_sums(&self, step: usize, chunk: usize) -> *mut f32 {
        self.area.wrapping_add(self.plan.sides[step].notes + chunk * 2 * self.width(step))
    }

    unsafe fn affine_back(&self, step: usize, task: usize, (gradient, input): (ValueId, ValueId), weight: WeightId, learns: bool) {
        let width = self.width(step);
        // SAFETY: as in `norm_back`.
        unsafe {
            let mut none = [];
            let sums = if learns { std::slice::from_raw_parts_mut(self.column_sums(step, task), 2 * width) } else { &mut none[..] };
            sums.fill(0.0);
            for row in self.chunk(step, task) {
                let (from, out) = (self.row(gradient.index(), row), self.row(step, row));
                if learns {
                    let (of_weight, of_bias) = sums.split_at_mut(width);
                    for (i, x) in self.read(input.index(), row).iter().enumerate() {
                        of_weight[i] += *from.add(i) * x;
                        of_bias[i] += *from.add(i);
                    }
                }
                self.vector(weight).iter().take(width).enumerate().for_each(|(i, scale)| *out.add(i) = *from.add(i) * scale);
            }
        }
    }

    /// Adds the chunks' sums to the gradients of scale and shift, in the chunks' order, for a panel of columns.
    unsafe fn add_column_sums(&self, step: usize, task: usize, weight: WeightId, bias: Option<WeightId>) {
        let (width, chunks) = (self.width(step), self.place(step).rows.div_ceil(ROW_CHUNK));
        let (from, columns) = (task * PANEL, PANEL.min(width - task * PANEL));
        // SAFETY: the sums are complete; this task alone adds to these columns.
        unsafe {
            let sums = self.column_sums(step, 0).add(from);
            let add = self.kernels().learn.column_sums;
            add(sums, 2 * width, chunks, columns, self.gradient_at(weight).add(from));
            if let Some(bias) = bias {
                add(sums.add(width), 2 * width, chunks, columns, self.gradient_at(bias).add(from));
            }
        }
    }

    /// A panel of columns of the tables' gradients, tokens in their order.
    unsafe fn embed_gradient(&self, task: usize, gradient: ValueId, lookups: &[Lookup]) {
        let width = self.width(gradient.index());
        let (from, columns) = (task * PANEL, PANEL.min(width - task * PANEL));
        for (row, place) in self.places_in(self.node(gradient.index()).rows, 0..self.place(gradient.index()).rows) {
            for lookup in lookups {
                let index = self.index_of(lookup, row, place);
                // SAFETY: this task alone adds to these columns; indexes were checked before the run.
                unsafe {
                    let out = self.gradient_at(lookup.table).add(index * self.table(lookup.table).row_len() + from);
                    let x = self.row(gradient.index(), row).add(from);
                    (0..columns).for_each(|j| *out.add(j) += *x.add(j));
                }
            }
        }
    }

    /// A panel of columns of a table's gradient.
    unsafe fn whole_gradient(&self, task: usize, gradient: ValueId, table: WeightId) {
        let width = self.width(gradient.index());
        let (from, columns) = (task * PANEL, PANEL.min(width - task * PANEL));
        for row in 0..self.place(gradient.index()).rows {
            // SAFETY: this task alone adds to these columns; the table has these rows.
            unsafe {
                let (out, x) = (self.gradient_at(table).add(row * width + from), self.row(gradient.index(), row).add(from));
                (0..columns).for_each(|j| *out.add(j) += *x.add(j));
            }
        }
    }

    unsafe fn gate_back(&self, step: usize, task: usize, (gradient, input): (ValueId, ValueId), activation: Activation, activated: Half) {
        let half = self.width(step) / 2;
        let mut active = vec![0f32; half.next_multiple_of(PANEL)];
        for row in self.chunk(step, task) {
            // SAFETY: both inputs are complete; this task alone writes its chunk's rows.
            unsafe {
                let (first, second) = self.read(input.index(), row).split_at(half);
                let (gate, other) = if activated == Half::First { (first, second) } else { (second, first) };
                let (to_first, to_second) = self.write(step, row).split_at_mut(half);
                let (to_gate, to_other) = if activated == Half::First { (to_first, to_second) } else { (to_second, to_first) };
                let back = self.read(gradient.index(), row);
                active[..half].copy_from_slice(gate);
                (0..active.len())
                    .step_by(PANEL)
                    .for_each(|at| (self.kernels().activate)(activation, active.as_mut_ptr().add(at), 1, PANEL));
                for i in 0..half {
                    to_other[i] = back[i] * active[i];
                    to_gate[i] = back[i] * other[i];
                }
                let to = to_gate.as_mut_ptr();
                (self.kernels().learn.activate_back)(activation, to, gate.as_ptr(), to, half);
            }
        }
    }

    unsafe fn rotate_back(&self, step: usize, task: usize, gradient: ValueId, rotary: &Rotary) {
        // SAFETY: as the caller says; turned the other way.
        unsafe { self.turn(step, task, gradient, rotary, -1.0) }
    }

    unsafe fn neighbours_back(&self, step: usize, task: usize, gradient: ValueId, size: usize) {
        let before = size / 2;
        for row in self.chunk(step, task) {
            let sequence = self.batch.rows(self.batch.offsets().partition_point(|o| *o <= row) - 1);
            // SAFETY: the gradient is complete; this task alone writes its chunk's rows.
            let out = unsafe { self.write(step, row) };
            out.fill(0.0);
            // The token stands at place `p` of the row of the token `p - before` places in front of it.
            for place in 0..size {
                let Some(at) = (row + before).checked_sub(place).filter(|at| sequence.contains(at)) else { continue };
                // SAFETY: as above.
                let there = unsafe { self.read(gradient.index(), at) };
                out.iter_mut().zip(there.iter().skip(place).step_by(size)).for_each(|(o, x)| *o += x);
            }
        }
    }

    unsafe fn pick_back(&self, step: usize, task: usize, gradient: ValueId, which: Which) {
        let rows = self.chunk(step, task);
        // SAFETY: the gradient is complete; this task alone writes its chunk's rows.
        unsafe {
            rows.clone().for_each(|row| self.write(step, row).fill(0.0));
            let picks = (0..self.batch.picks().len()).map(|i| (i, self.batch.picked(i, which)));
            for (i, row) in picks.filter(|(_, row)| rows.contains(row)) {
                self.write(step, row).iter_mut().zip(self.read(gradient.index(), i)).for_each(|(o, x)| *o += x);
            }
        }
    }

    unsafe fn pool_back(&self, step: usize, sequence: usize, (gradient, input): (ValueId, ValueId), reduce: Reduce) {
        let (all, pooled) = (self.batch.rows(sequence), self.batch.pooled_rows(sequence));
        // SAFETY: both inputs are complete; this task alone writes its sequence's rows.
        unsafe {
            let back = self.read(gradient.index(), sequence);
            all.clone().for_each(|row| self.write(step, row).fill(0.0));
            let give = |row: usize, factor: f32| self.write(step, row).iter_mut().zip(back).for_each(|(o, x)| *o = x * factor);
            let count = pooled.len() as f32;
            match reduce {
                Reduce::Start => give(all.start, 1.0),
                Reduce::First => give(pooled.start, 1.0),
                Reduce::Last => give(all.end - 1, 1.0),
                Reduce::Mean => pooled.for_each(|row| give(row, 1.0 / count)),
                Reduce::MeanSqrtLen => pooled.for_each(|row| give(row, 1.0 / count.sqrt())),
                Reduce::WeightedMean => {
                    let weight = |row: usize| (row - all.start + 1) as f32;
                    let total: f32 = pooled.clone().map(weight).sum();
                    pooled.for_each(|row| give(row, weight(row) / total));
                }
                Reduce::Max => {
                    for (column, x) in back.iter().enumerate() {
                        let number = |row: usize| self.read(input.index(), row)[column];
                        let largest = pooled.clone().fold(pooled.start, |best, row| if number(row) > number(best) { row } else { best });
                        self.write(step, largest)[column] = *x;
                    }
                }
            }
        }
    }

    unsafe fn columns(&self, step: usize, task: usize, input: ValueId, from: usize) {
        for row in self.chunk(step, task) {
            // SAFETY: the input is complete; this task alone writes its chunk's rows.
            unsafe {
                let out = self.write(step, row);
                out.copy_from_slice(&self.read(input.index(), row)[from..from + out.len()]);
            }
        }
    }

    unsafe fn scale(&self, step: usize, task: usize, input: ValueId, factor: f32) {
        for row in self.chunk(step, task) {
            // SAFETY: the input is complete; its place may be the value's own, number by number.
            unsafe {
                let (from, to) = (self.row(input.index(), row), self.row(step, row));
                (0..self.width(step)).for_each(|i| *to.add(i) = *from.add(i) * factor);
            }
        }
    }
}

/// The tokens, in parts whose rows of `inputs` numbers fit the second-level cache while the panels pass by.
fn depths(tokens: usize, inputs: usize) -> impl Iterator<Item = Range<usize>> {
    const BYTES: usize = 512 * 1024;
    let part = (BYTES / (inputs * 4)).clamp(96, 768);
    (0..tokens).step_by(part).map(move |from| from..tokens.min(from + part))
}
