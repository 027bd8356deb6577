//! Cross-entropy over a whole vocabulary: only picked tokens come here, and their scores stand transposed.
//!
//! A row of scores belongs to a word, a column to a picked token. So all three products read the table of embeddings where it lies,
//! without a packed copy: scores are `E X^T`, the table's gradient `G X`, and that of the tokens `G^T E`. The parts are
//!
//! 0. X is packed as columns;
//! 1. scores of a few hundred words at a time, with the largest of each column and the sum of exponentials around it;
//! 2. totals over all words, and what each token costs;
//! 3. scores become their own gradient, chunk by chunk while they are in the cache, and both products are taken; the tokens' gradient
//!    is noted for a fixed number of groups of words;
//! 4. the groups' gradients are added in their order.

use super::super::gemm::{PANEL, row_stride};
use super::super::ops::Work;
use super::product::Product;
use crate::engine::batch::Batch;
use crate::engine::graph::{Graph, Learn, ValueId, WeightId};
use crate::engine::lesson::{Target, UNLABELLED};

/// Words of one task of part 1.
const CHUNK: usize = 512;
/// Groups of words whose tokens' gradients are noted apart.
const GROUPS: usize = 16;

/// The sizes of one such loss.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    /// Picked tokens, and these in whole panels.
    picks: usize,
    columns: usize,
    words: usize,
    width: usize,
    /// Whether part 3 notes gradients of tokens.
    carries: bool,
}

impl Shape {
    pub(super) fn new(op: &Learn, graph: &Graph, batch: &Batch) -> Shape {
        let Learn::Vocabulary { input, words, carries, .. } = *op else { unreachable!("of a vocabulary's loss") };
        let picks = super::super::plan::rows_of(graph.node(input), batch);
        Shape { picks, columns: picks.next_multiple_of(PANEL), words, width: graph.node(input).width, carries }
    }

    /// Numbers from one word's scores to the next: never a multiple of 4096 bytes, which would crowd a few sets of the cache.
    fn stride(&self) -> usize {
        row_stride(self.columns)
    }

    fn chunks(&self) -> usize {
        self.words.div_ceil(CHUNK)
    }

    fn padded_width(&self) -> usize {
        self.width.next_multiple_of(PANEL)
    }

    pub(super) fn tasks(&self, part: usize) -> usize {
        let tasks = match part {
            0 | 2 => self.columns / PANEL,
            1 => self.chunks(),
            3 => GROUPS,
            _ => self.columns / PANEL,
        };
        if self.picks == 0 { 0 } else { tasks }
    }

    /// Packed columns, scores, what chunks found, totals and factors, gradients of groups.
    fn parts(&self) -> Option<[usize; 5]> {
        let gradients = if self.carries { self.columns.checked_mul(self.padded_width())?.checked_mul(GROUPS)? } else { 0 };
        Some([
            self.columns.checked_mul(self.width)?.next_multiple_of(16),
            self.words.checked_mul(self.stride())?,
            self.chunks().checked_mul(2 * self.columns)?,
            2 * self.columns,
            gradients,
        ])
    }

    pub(super) fn notes(&self) -> Option<usize> {
        self.parts()?.into_iter().try_fold(0usize, usize::checked_add)
    }

    /// A chunk's columns of the table's gradient, where the width is no whole panel.
    pub(super) fn scratch(&self) -> usize {
        CHUNK * PANEL
    }

    pub(super) fn multiply_adds(&self) -> usize {
        3usize.saturating_mul(self.picks).saturating_mul(self.words).saturating_mul(self.width)
    }
}

/// Where the notes of a run stand.
struct Notes {
    shape: Shape,
    packed: *mut f32,
    scores: *mut f32,
    found: *mut f32,
    total: *mut f32,
    factors: *mut f32,
    gradients: *mut f32,
}

impl Notes {
    fn found(&self, chunk: usize) -> *mut f32 {
        self.found.wrapping_add(chunk * 2 * self.shape.columns)
    }

    fn score(&self, word: usize, column: usize) -> *mut f32 {
        self.scores.wrapping_add(word * self.shape.stride() + column)
    }
}

/// What the loss names.
#[derive(Clone, Copy)]
pub(super) struct Words {
    pub input: ValueId,
    pub table: WeightId,
    pub bias: WeightId,
    pub target: usize,
    pub learns: bool,
    pub carries: bool,
}

impl Work {
    /// Part `part` of the loss.
    ///
    /// # Safety
    /// As [`Work::task`].
    pub(super) unsafe fn vocabulary(&self, step: usize, part: usize, task: usize, words: Words, thread: usize) {
        // SAFETY: the plan laid the notes out in these parts; each part's tasks write places of their own and read what earlier parts wrote.
        unsafe {
            let notes = self.notes_of(step);
            match part {
                0 => self.pack_columns(&notes, words.input, task),
                1 => self.score_words(&notes, words, task),
                2 => self.cost_of_words(step, &notes, words, task),
                3 => self.words_back(&notes, words, task, thread),
                _ => self.add_groups(step, &notes, task, words.carries),
            }
        }
    }

    fn notes_of(&self, step: usize) -> Notes {
        let crate::engine::graph::Op::Learn(op) = &self.node(step).op else { unreachable!("of a vocabulary's loss") };
        let shape = Shape::new(op, &self.graph, &self.batch);
        let [packed, scores, found, totals, _] = shape.parts().unwrap_or_default();
        let at = self.area.wrapping_add(self.plan.sides[step].notes);
        let totals_at = packed + scores + found;
        Notes {
            shape,
            packed: at,
            scores: at.wrapping_add(packed),
            found: at.wrapping_add(packed + scores),
            total: at.wrapping_add(totals_at),
            factors: at.wrapping_add(totals_at + shape.columns),
            gradients: at.wrapping_add(totals_at + totals),
        }
    }

    unsafe fn pack_columns(&self, notes: &Notes, input: ValueId, panel: usize) {
        let Shape { picks, width, .. } = notes.shape;
        // SAFETY: a panel of `width` rows of its own; the input is complete.
        unsafe {
            let out = std::slice::from_raw_parts_mut(notes.packed.add(panel * PANEL * width), PANEL * width);
            out.fill(0.0);
            for j in 0..PANEL.min(picks - panel * PANEL) {
                let row = self.read(input.index(), panel * PANEL + j);
                row.iter().enumerate().for_each(|(k, x)| out[k * PANEL + j] = *x);
            }
        }
    }

    unsafe fn score_words(&self, notes: &Notes, words: Words, chunk: usize) {
        let Shape { columns, width, .. } = notes.shape;
        let (first, rows) = span(chunk, notes.shape.words);
        let (table, bias) = (self.numbers_of(words.table), self.vector(words.bias));
        // SAFETY: the rows of scores and what is found in them are this task's own.
        unsafe {
            for panel in 0..columns / PANEL {
                (self.kernels().learn.product)(&Product {
                    a: table.add(first * width),
                    a_row: width,
                    a_step: 1,
                    b: notes.packed.add(panel * PANEL * width),
                    b_step: PANEL,
                    depth: width,
                    c: notes.score(first, panel * PANEL),
                    c_stride: notes.shape.stride(),
                    rows,
                    adds: false,
                });
            }
            let bias = bias[first..].as_ptr();
            (self.kernels().learn.largest_and_sum)(notes.score(first, 0), notes.shape.stride(), rows, columns, bias, notes.found(chunk));
        }
    }

    unsafe fn cost_of_words(&self, step: usize, notes: &Notes, words: Words, panel: usize) {
        let Shape { picks, columns, .. } = notes.shape;
        let (classes, factor) = self.classes(words.target);
        let own = panel * PANEL..(panel + 1) * PANEL;
        let classes = classes.iter().copied().chain(std::iter::repeat(UNLABELLED));
        for (column, class) in own.clone().zip(classes.skip(own.start)) {
            // SAFETY: this task's own columns of totals and factors, and rows of the report.
            unsafe {
                let found = |chunk: usize| (*notes.found(chunk).add(column), *notes.found(chunk).add(columns + column));
                let largest = (0..notes.shape.chunks()).map(|c| found(c).0).fold(f32::NEG_INFINITY, f32::max);
                let sum: f64 = (0..notes.shape.chunks()).map(|c| f64::from(found(c).1) * f64::from(found(c).0 - largest).exp()).sum();
                let total = f64::from(largest) + sum.ln();
                *notes.total.add(column) = total as f32;
                *notes.factors.add(column) = if class == UNLABELLED { 0.0 } else { factor };
                if column < picks {
                    let report = self.area.add(self.plan.sides[step].report + 2 * column);
                    let score = if class == UNLABELLED { total as f32 } else { *notes.score(class as usize, column) };
                    *report = if class == UNLABELLED { 0.0 } else { (total - f64::from(score)) as f32 };
                    *report.add(1) = f32::from(u8::from(class != UNLABELLED && score >= largest));
                }
            }
        }
    }

    unsafe fn words_back(&self, notes: &Notes, words: Words, group: usize, thread: usize) {
        let chunks = notes.shape.chunks();
        let mut adds = false;
        for chunk in chunks * group / GROUPS..chunks * (group + 1) / GROUPS {
            // SAFETY: the group's own chunks, and its own gradient.
            unsafe {
                self.gradient_of_scores(notes, words, chunk);
                if words.learns {
                    self.gradient_of_table(notes, words, chunk, thread);
                }
                if words.carries {
                    self.gradient_of_tokens(notes, words, chunk, group, adds);
                }
            }
            adds = true;
        }
        if !adds && words.carries {
            // SAFETY: as above.
            unsafe {
                let len = notes.shape.columns * notes.shape.padded_width();
                std::slice::from_raw_parts_mut(notes.gradients.add(group * len), len).fill(0.0);
            }
        }
    }

    /// Scores of the chunk become `factor (softmax - 1 where the class is right)`; their sums are the bias's gradient.
    unsafe fn gradient_of_scores(&self, notes: &Notes, words: Words, chunk: usize) {
        let (first, rows) = span(chunk, notes.shape.words);
        let (classes, _) = self.classes(words.target);
        // SAFETY: the chunk's own scores and its own words of the bias.
        unsafe {
            let bias = self.gradient_at(words.bias).add(first);
            for row in 0..rows {
                let at = notes.score(first + row, 0);
                let sum = (self.kernels().learn.probabilities)(at, notes.shape.columns, notes.total, notes.factors);
                if words.learns {
                    *bias.add(row) += sum;
                }
            }
            for (column, class) in classes.iter().enumerate().take(notes.shape.picks) {
                let class = *class as usize;
                if (first..first + rows).contains(&class) {
                    let factor = *notes.factors.add(column);
                    *notes.score(class, column) -= factor;
                    if words.learns {
                        *bias.add(class - first) -= factor;
                    }
                }
            }
        }
    }

    unsafe fn gradient_of_table(&self, notes: &Notes, words: Words, chunk: usize, thread: usize) {
        let Shape { picks, width, .. } = notes.shape;
        let (first, rows) = span(chunk, notes.shape.words);
        let input = words.input.index();
        for from in (0..width).step_by(PANEL) {
            let columns = PANEL.min(width - from);
            // SAFETY: the chunk's own rows of the gradient; a panel that is not whole goes through the scratch.
            unsafe {
                let out = self.gradient_at(words.table).add(first * width + from);
                let whole = columns == PANEL;
                let scratch = self.scratch(thread);
                (self.kernels().learn.product)(&Product {
                    a: notes.score(first, 0),
                    a_row: notes.shape.stride(),
                    a_step: 1,
                    b: self.row(input, 0).add(from),
                    b_step: self.place(input).stride,
                    depth: picks,
                    c: if whole { out } else { scratch },
                    c_stride: if whole { width } else { PANEL },
                    rows,
                    adds: whole,
                });
                if !whole {
                    for row in 0..rows {
                        (0..columns).for_each(|j| *out.add(row * width + j) += *scratch.add(row * PANEL + j));
                    }
                }
            }
        }
    }

    unsafe fn gradient_of_tokens(&self, notes: &Notes, words: Words, chunk: usize, group: usize, adds: bool) {
        let Shape { picks, columns, width, .. } = notes.shape;
        let padded = notes.shape.padded_width();
        let (first, rows) = span(chunk, notes.shape.words);
        for from in (0..width).step_by(PANEL) {
            // SAFETY: the group's own gradient. Behind the last columns of a row stands the next, behind the table's last row more numbers.
            unsafe {
                (self.kernels().learn.product)(&Product {
                    a: notes.score(first, 0),
                    a_row: 1,
                    a_step: notes.shape.stride(),
                    b: self.numbers_of(words.table).add(first * width + from),
                    b_step: width,
                    depth: rows,
                    c: notes.gradients.add(group * columns * padded + from),
                    c_stride: padded,
                    rows: picks,
                    adds,
                });
            }
        }
    }

    unsafe fn add_groups(&self, step: usize, notes: &Notes, task: usize, carries: bool) {
        let Shape { picks, columns, .. } = notes.shape;
        let padded = notes.shape.padded_width();
        for row in task * PANEL..picks.min((task + 1) * PANEL) {
            // SAFETY: this task's own rows of the value.
            let out = unsafe { self.write(step, row) };
            out.fill(0.0);
            for group in (0..GROUPS).filter(|_| carries) {
                // SAFETY: the groups' gradients are complete.
                let part = unsafe { std::slice::from_raw_parts(notes.gradients.add((group * columns + row) * padded), out.len()) };
                out.iter_mut().zip(part).for_each(|(o, x)| *o += x);
            }
        }
    }

    /// The classes of a target, and its factor.
    pub(super) fn classes(&self, target: usize) -> (&[u32], f32) {
        match self.lesson().targets.get(target) {
            Some(Target::Classes { classes, factor }) => (classes, *factor),
            _ => unreachable!("checked before the run"),
        }
    }
}

/// The words of a chunk: the first, and how many.
fn span(chunk: usize, words: usize) -> (usize, usize) {
    (chunk * CHUNK, CHUNK.min(words - chunk * CHUNK))
}
