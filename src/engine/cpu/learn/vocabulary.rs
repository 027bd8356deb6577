//! Cross-entropy over a whole vocabulary, or the distance from a teacher's probabilities of it: only picked tokens come here, and their scores stand
//! transposed.
//!
//! A row of scores belongs to a word, a column to a picked token. So all three products read the table of embeddings where it lies,
//! without a packed copy: scores are `E X^T`, the table's gradient `G X`, and that of the tokens `G^T E`. The parts are
//!
//! 0. X is packed as columns;
//! 1. scores of a few hundred words at a time, with the largest of each column and the sum of exponentials around it;
//! 2. totals over all words, what each token costs, and a word drawn for it;
//! 3. scores become their own gradient, chunk by chunk while they are in the cache, and both products are taken; the tokens' gradient
//!    is noted for a fixed number of groups of words;
//! 4. the groups' gradients are added in their order.

use super::super::gemm::{PANEL, row_stride};
use super::super::ops::Work;
use super::product::Product;
use crate::engine::batch::Batch;
use crate::engine::graph::{Graph, Learn, Rows, ValueId, WeightId};
use crate::engine::lesson::{Cost, Target, UNLABELLED, key};

/// Words of one task of part 1.
pub(super) const CHUNK: usize = 512;
/// Groups of words whose tokens' gradients are noted apart: of all tokens in few, since they are many.
const GROUPS: usize = 16;
const GROUPS_OF_ALL: usize = 4;

/// The sizes of one such loss.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    /// Tokens, and these in whole panels.
    pub picks: usize,
    columns: usize,
    pub words: usize,
    width: usize,
    /// Groups of words that note gradients of tokens; none where these are not wanted.
    pub groups: usize,
    /// Whether scores of all words stand in memory together, rather than a chunk's in each thread's scratch.
    whole: bool,
}

impl Shape {
    /// Of a vocabulary's loss, or of its terms.
    pub(super) fn new(op: &Learn, graph: &Graph, batch: &Batch) -> Shape {
        let (input, words, groups, whole) = match *op {
            Learn::Vocabulary { input, words, carries, .. } => (input, words, if carries { GROUPS } else { 0 }, true),
            Learn::TermsBack { input, gradient, .. } => (input, graph.node(gradient).width, GROUPS_OF_ALL, false),
            _ => unreachable!("of a vocabulary"),
        };
        let picks = super::super::plan::rows_of(graph.node(input), batch);
        Shape { picks, columns: picks.next_multiple_of(PANEL), words, width: graph.node(input).width, groups, whole }
    }

    /// Numbers from one word's scores to the next: never a multiple of 4096 bytes, which would crowd a few sets of the cache.
    fn stride(&self) -> usize {
        row_stride(self.columns)
    }

    pub(super) fn chunks(&self) -> usize {
        self.words.div_ceil(CHUNK)
    }

    fn padded_width(&self) -> usize {
        self.width.next_multiple_of(PANEL)
    }

    pub(super) fn tasks(&self, part: usize) -> usize {
        let tasks = match part {
            1 if self.whole => self.chunks(),
            1 => self.groups,
            3 => GROUPS,
            _ => self.columns / PANEL,
        };
        if self.picks == 0 { 0 } else { tasks }
    }

    /// Packed columns, scores, what chunks found, totals and factors, gradients of groups.
    fn parts(&self) -> Option<[usize; 5]> {
        let gradients = self.columns.checked_mul(self.padded_width())?.checked_mul(self.groups)?;
        Some([
            self.columns.checked_mul(self.width)?.next_multiple_of(16),
            if self.whole { self.words.checked_mul(self.stride())? } else { 0 },
            self.chunks().checked_mul(2 * self.columns)?,
            3 * self.columns,
            gradients,
        ])
    }

    pub(super) fn notes(&self) -> Option<usize> {
        self.parts()?.into_iter().try_fold(0usize, usize::checked_add)
    }

    /// A chunk's columns of the table's gradient, where the width is no whole panel, and its scores where they stand nowhere else.
    pub(super) fn scratch(&self) -> usize {
        CHUNK * PANEL + if self.whole { 0 } else { CHUNK * self.stride() }
    }

    pub(super) fn multiply_adds(&self) -> usize {
        3usize.saturating_mul(self.picks).saturating_mul(self.words).saturating_mul(self.width)
    }
}

/// Where the notes of a run stand.
pub(super) struct Notes {
    pub shape: Shape,
    packed: *mut f32,
    scores: *mut f32,
    found: *mut f32,
    total: *mut f32,
    factors: *mut f32,
    /// The logarithms of what a teacher's exponentials sum to.
    taught: *mut f32,
    gradients: *mut f32,
}

impl Notes {
    /// With scores of the words from `first` on at `place`.
    pub(super) fn with_scores(self, first: usize, place: *mut f32) -> Notes {
        Notes { scores: place.wrapping_sub(first * self.shape.stride()), ..self }
    }

    fn found(&self, chunk: usize) -> *mut f32 {
        self.found.wrapping_add(chunk * 2 * self.shape.columns)
    }

    pub(super) fn score(&self, word: usize, column: usize) -> *mut f32 {
        self.scores.wrapping_add(word * self.shape.stride() + column)
    }
}

/// What an operation over a vocabulary names.
#[derive(Clone, Copy)]
pub(super) struct Words {
    pub input: ValueId,
    pub table: WeightId,
    pub bias: WeightId,
    pub learns: bool,
    pub carries: bool,
    /// What scores are divided by.
    pub temperature: f32,
    /// The target that they are compared with, if any.
    pub target: usize,
}

/// The bias of scores that have theirs already.
const NO_BIAS: [f32; CHUNK] = [0.0; CHUNK];

/// What follows when a word is to be drawn, among what chance of a step is for.
const DRAWING: u64 = u64::MAX;

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
                _ => self.add_groups(step, &notes, task),
            }
        }
    }

    pub(super) fn notes_of(&self, step: usize) -> Notes {
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
            taught: at.wrapping_add(totals_at + 2 * shape.columns),
            gradients: at.wrapping_add(totals_at + totals),
        }
    }

    pub(super) unsafe fn pack_columns(&self, notes: &Notes, input: ValueId, panel: usize) {
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
        let columns = notes.shape.columns;
        let (first, rows) = span(chunk, notes.shape.words);
        // SAFETY: the rows of scores and what is found in them are this task's own.
        unsafe {
            self.multiply_words(notes, words.table, chunk);
            let mut bias = self.vector(words.bias)[first..].as_ptr();
            if words.temperature != 1.0 {
                for row in 0..rows {
                    let scores = std::slice::from_raw_parts_mut(notes.score(first + row, 0), columns);
                    scores.iter_mut().for_each(|score| *score = (*score + *bias.add(row)) / words.temperature);
                }
                bias = NO_BIAS.as_ptr();
            }
            (self.kernels().learn.largest_and_sum)(notes.score(first, 0), notes.shape.stride(), rows, columns, bias, notes.found(chunk));
        }
    }

    unsafe fn cost_of_words(&self, step: usize, notes: &Notes, words: Words, panel: usize) {
        let Shape { picks, columns, .. } = notes.shape;
        for column in panel * PANEL..(panel + 1) * PANEL {
            // SAFETY: this task's own columns of totals and factors, and rows of the report.
            unsafe {
                let found = |chunk: usize| (*notes.found(chunk).add(column), f64::from(*notes.found(chunk).add(columns + column)));
                let largest = (0..notes.shape.chunks()).map(|c| found(c).0).fold(f32::NEG_INFINITY, f32::max);
                let part = |chunk: usize| found(chunk).1 * f64::from(found(chunk).0 - largest).exp();
                let sum: f64 = (0..notes.shape.chunks()).map(part).sum();
                let total = f64::from(largest) + sum.ln();
                *notes.total.add(column) = total as f32;
                *notes.factors.add(column) = 0.0;
                if column >= picks {
                    continue;
                }
                let (cost, factor) = match &self.lesson().targets[words.target] {
                    Target::Classes { classes, factor } => (cost_of_class(notes, classes[column], column, (largest, total)), *factor),
                    Target::Numbers { numbers, factor } => {
                        let taught = &numbers[column * notes.shape.words..(column + 1) * notes.shape.words];
                        let cost = cost_of_taught(notes, taught, column, total, words.temperature);
                        (cost, factor * words.temperature)
                    }
                    Target::Judged(_) => unreachable!("checked before the run"),
                };
                if let Some(cost) = cost {
                    *notes.factors.add(column) = factor;
                    self.note(step, column, Cost { drawn: self.draw(notes, column, largest, &part), ..cost });
                } else {
                    self.note(step, column, Cost::default());
                }
            }
        }
    }

    /// A word drawn with the probability that its score gives it: the chunks' sums lead to a chunk, and its scores to the word.
    unsafe fn draw(&self, notes: &Notes, column: usize, largest: f32, part: &dyn Fn(usize) -> f64) -> u32 {
        let (sequence, place) = self.origin(Rows::Picked, column);
        let lesson = self.lesson();
        let bits = key(&[lesson.seed, DRAWING, lesson.first_sequence + sequence as u64, place as u64]);
        let sum: f64 = (0..notes.shape.chunks()).map(part).sum();
        let mut left = (bits >> 11) as f64 / (1u64 << 53) as f64 * sum;
        let mut chunk = 0;
        while chunk + 1 < notes.shape.chunks() && part(chunk) <= left {
            left -= part(chunk);
            chunk += 1;
        }
        let (first, rows) = span(chunk, notes.shape.words);
        for word in first..first + rows - 1 {
            // SAFETY: scores are complete.
            left -= f64::from(unsafe { *notes.score(word, column) } - largest).exp();
            if left < 0.0 {
                return word as u32;
            }
        }
        (first + rows - 1) as u32
    }

    unsafe fn words_back(&self, notes: &Notes, words: Words, group: usize, thread: usize) {
        let chunks = notes.shape.chunks();
        let mut adds = false;
        for chunk in chunks_of(group, GROUPS, chunks) {
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
            unsafe { self.no_gradient_of_tokens(notes, group) }
        }
    }

    /// The gradient of a group without words.
    pub(super) unsafe fn no_gradient_of_tokens(&self, notes: &Notes, group: usize) {
        let len = notes.shape.columns * notes.shape.padded_width();
        // SAFETY: the group's own gradient.
        unsafe { std::slice::from_raw_parts_mut(notes.gradients.add(group * len), len).fill(0.0) }
    }

    /// The scores of a chunk's words, without their bias.
    pub(super) unsafe fn multiply_words(&self, notes: &Notes, table: WeightId, chunk: usize) {
        let Shape { columns, width, .. } = notes.shape;
        let (first, rows) = span(chunk, notes.shape.words);
        for panel in 0..columns / PANEL {
            // SAFETY: the rows of scores are this task's own; columns were packed before.
            unsafe {
                (self.kernels().learn.product)(&Product {
                    a: self.numbers_of(table).add(first * width),
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
        }
    }

    /// Scores of the chunk become `factor (softmax - 1 where the class is right)`, or less the teacher's probabilities; their sums are the
    /// bias's gradient.
    unsafe fn gradient_of_scores(&self, notes: &Notes, words: Words, chunk: usize) {
        let (first, rows) = span(chunk, notes.shape.words);
        let target = &self.lesson().targets[words.target];
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
            for column in 0..notes.shape.picks {
                let factor = *notes.factors.add(column);
                let less = |word: usize, by: f32| {
                    *notes.score(word, column) -= by;
                    if words.learns {
                        *bias.add(word - first) -= by;
                    }
                };
                match target {
                    Target::Classes { classes, .. } => {
                        let class = classes[column] as usize;
                        if (first..first + rows).contains(&class) {
                            less(class, factor);
                        }
                    }
                    Target::Numbers { numbers, .. } if factor != 0.0 => {
                        let taught = &numbers[column * notes.shape.words + first..][..rows];
                        let (heat, total) = (words.temperature, *notes.taught.add(column));
                        taught.iter().enumerate().for_each(|(i, t)| less(first + i, factor * (t / heat - total).exp()));
                    }
                    _ => {}
                }
            }
        }
    }

    pub(super) unsafe fn gradient_of_table(&self, notes: &Notes, words: Words, chunk: usize, thread: usize) {
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

    pub(super) unsafe fn gradient_of_tokens(&self, notes: &Notes, words: Words, chunk: usize, group: usize, adds: bool) {
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

    pub(super) unsafe fn add_groups(&self, step: usize, notes: &Notes, task: usize) {
        let Shape { picks, columns, .. } = notes.shape;
        let padded = notes.shape.padded_width();
        for row in task * PANEL..picks.min((task + 1) * PANEL) {
            // SAFETY: this task's own rows of the value.
            let out = unsafe { self.write(step, row) };
            out.fill(0.0);
            for group in 0..notes.shape.groups {
                // SAFETY: the groups' gradients are complete.
                let part = unsafe { std::slice::from_raw_parts(notes.gradients.add((group * columns + row) * padded), out.len()) };
                out.iter_mut().zip(part).for_each(|(o, x)| *o += x);
            }
        }
    }
}

/// Cross-entropy with a class; none for a row without one.
///
/// # Safety
/// Scores of the column are complete.
unsafe fn cost_of_class(notes: &Notes, class: u32, column: usize, (largest, total): (f32, f64)) -> Option<Cost> {
    if class == UNLABELLED {
        return None;
    }
    // SAFETY: classes were checked before the run.
    let score = unsafe { *notes.score(class as usize, column) };
    Some(Cost { loss: (total - f64::from(score)) as f32, right: score >= largest, ..Cost::default() })
}

/// `t^2 KL(softmax(taught / t) || softmax(z / t))`, where scores are `z / t` and `total` the logarithm of their exponentials' sum; none where
/// nothing was taught. Notes the logarithm of the teacher's sum.
///
/// # Safety
/// As above; this task alone notes something of the column.
unsafe fn cost_of_taught(notes: &Notes, taught: &[f32], column: usize, total: f64, temperature: f32) -> Option<Cost> {
    if taught.first().is_none_or(|t| t.is_nan()) {
        return None;
    }
    let heat = f64::from(temperature);
    let largest = taught.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let (mut sum, mut apart, mut best) = (0f64, 0f64, (f32::NEG_INFINITY, false));
    for (word, t) in taught.iter().enumerate() {
        let e = f64::from((t - largest) / temperature).exp();
        // SAFETY: the caller's contract.
        let score = unsafe { *notes.score(word, column) };
        sum += e;
        apart += e * (f64::from(*t) / heat - f64::from(score));
        if score > best.0 {
            best = (score, *t >= largest);
        }
    }
    let own = f64::from(largest) / heat + sum.ln();
    // SAFETY: as above.
    unsafe { *notes.taught.add(column) = own as f32 };
    Some(Cost { loss: (heat * heat * (apart / sum - own + total)) as f32, right: best.1, ..Cost::default() })
}

/// The chunks of a group.
pub(super) fn chunks_of(group: usize, groups: usize, chunks: usize) -> std::ops::Range<usize> {
    chunks * group / groups..chunks * (group + 1) / groups
}

/// The words of a chunk: the first, and how many.
pub(super) fn span(chunk: usize, words: usize) -> (usize, usize) {
    (chunk * CHUNK, CHUNK.min(words - chunk * CHUNK))
}
