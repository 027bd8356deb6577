//! Where does each value of a graph live during a run, and into how many tasks is each operation cut?
//!
//! Values are laid out in one work area; a value's place is used again after its last reader. The cut never changes what a
//! task computes, only how many threads can share the work.

use super::gemm::{PANEL, depth_parts, row_stride};
use super::int8::RowLayout;
#[cfg(feature = "train")]
use super::learn::plan as learn;
use super::pack::Packed;
use super::{attention, attention_bf16};
use crate::engine::batch::Batch;
use crate::engine::graph::{Graph, Node, Op, Rows, Sight, WeightId};
use crate::error::{ErrorKind, Result, fail};

/// Rows of one task of an operation that works row by row.
pub(super) const ROW_CHUNK: usize = 32;

/// Rows of the table of one task of [`Op::Scores`] and [`Op::Terms`]: whole panels.
pub(super) const SCORES_CHUNK: usize = 16 * PANEL;

/// A value's place in the work area.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// First number.
    pub start: usize,
    /// Numbers from one row to the next.
    pub stride: usize,
    /// Rows.
    pub rows: usize,
}

/// How a linear layer is cut: `row_blocks * panel_groups` tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cut {
    pub row_blocks: usize,
    pub panel_groups: usize,
    pub panels: usize,
}

/// The int8 form of a value, which linear layers read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Quantised {
    /// First number of the work area.
    pub start: usize,
    /// Parts of a row.
    pub layout: RowLayout,
    /// The matrix that reads it: its outliers are the row's.
    pub reader: WeightId,
    /// Whether the task that computes a row quantises it too.
    pub at_once: bool,
}

/// What is done between two meetings of the threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The operation of this index.
    Compute(usize),
    /// The int8 form of this operation's value.
    Quantise(usize),
    /// What an operation of learning still has to do, in parts counted from 1.
    #[cfg(feature = "train")]
    Later(usize, usize),
}

/// The layout of one run.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    /// One a value.
    pub places: Vec<Place>,
    /// One a value: where its int8 form is, if an int8 matrix reads it.
    pub quantised: Vec<Option<Quantised>>,
    /// What is done, in order.
    pub steps: Vec<Step>,
    /// Numbers of the work area that hold values.
    pub values: usize,
    /// Numbers of scratch of one thread.
    pub scratch: usize,
    /// Tasks of each step.
    pub tasks: Vec<usize>,
    /// One an operation; only linear layers use theirs.
    pub cuts: Vec<Cut>,
    /// Threads that the run is worth.
    pub threads: usize,
    /// One a value: where operations of learning have what they note besides it.
    #[cfg(feature = "train")]
    pub sides: Vec<learn::Side>,
}

/// Multiply-adds below which a run stays on the calling thread: about a tenth of a millisecond, the time that waking a helper
/// and meeting it at every operation may cost.
const ALONE_BELOW: usize = 5_000_000;

/// When is a value quantised?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum When {
    /// As soon as a row is complete, where one task computes whole rows; else in a step of its own.
    AtOnce,
    /// Always in a step of its own, before which the value can be looked at.
    Apart,
}

impl Plan {
    /// Lays out `graph` over `batch` for up to `threads` threads.
    pub(super) fn new(graph: &Graph, batch: &Batch, weights: &Packed, threads: usize, when: When) -> Result<Plan> {
        let rows = |node: &Node| rows_of(node, batch);
        let mut quantised = readers(graph, weights, when);
        let layout = lay_out(graph, &mut quantised, weights, batch)?;
        let work = graph.nodes().iter().map(|n| multiply_adds(graph, n, weights, rows(n), batch)).fold(0, usize::saturating_add);
        let threads = if work < ALONE_BELOW { 1 } else { threads };
        let cuts: Vec<Cut> = graph.nodes().iter().map(|n| cut(graph, n, rows(n), weights, threads)).collect();
        let steps = steps(graph, &quantised);
        let tasks = steps.iter().map(|step| match *step {
            Step::Quantise(i) => rows(&graph.nodes()[i]).div_ceil(ROW_CHUNK),
            Step::Compute(i) => match &graph.nodes()[i].op {
                Op::Linear { .. } => cuts[i].row_blocks * cuts[i].panel_groups,
                Op::Attention { attention, .. } => batch.sequences() * attention.heads,
                Op::Pool { .. } => batch.sequences(),
                Op::Scores { .. } | Op::Terms { .. } => graph.nodes()[i].width.div_ceil(SCORES_CHUNK),
                #[cfg(feature = "train")]
                Op::Learn(op) => learn::tasks(op, graph, &graph.nodes()[i], batch, 0),
                _ => rows(&graph.nodes()[i]).div_ceil(ROW_CHUNK),
            },
            #[cfg(feature = "train")]
            Step::Later(i, part) => match &graph.nodes()[i].op {
                Op::Learn(op) => learn::tasks(op, graph, &graph.nodes()[i], batch, part),
                _ => 0,
            },
        });
        let tasks = tasks.collect();
        let scratch = graph.nodes().iter().map(|n| match &n.op {
            Op::Attention { attention: options, .. } => {
                let tokens = batch.longest();
                let arithmetic = attention::scratch_len(options, tokens).max(attention_bf16::scratch_len(options, tokens));
                attention::bias_len(options, tokens) + arithmetic
            }
            // A panel of the table: its rows as they are, and packed.
            Op::Scores { input, .. } => 2 * PANEL * graph.node(*input).width,
            // And the scores of every token.
            Op::Terms { input, .. } => 2 * PANEL * graph.node(*input).width + PANEL * batch.tokens(),
            #[cfg(feature = "train")]
            Op::Learn(op) => learn::scratch(op, graph, batch),
            _ => 0,
        });
        // Whole cache lines: no two threads' scratch share one.
        let scratch = scratch.max().unwrap_or(0).next_multiple_of(16);
        Ok(Plan {
            places: layout.places,
            quantised,
            steps,
            values: layout.values,
            scratch,
            tasks,
            cuts,
            threads,
            #[cfg(feature = "train")]
            sides: layout.sides,
        })
    }

    /// Numbers of the whole work area.
    pub(super) fn len(&self) -> usize {
        self.values + self.scratch * self.threads
    }
}

/// How many rows the value of `node` has.
pub(super) fn rows_of(node: &Node, batch: &Batch) -> usize {
    match node.rows {
        Rows::Tokens => batch.tokens(),
        Rows::Sequences => batch.sequences(),
        Rows::Picked => batch.picks().len(),
        Rows::Fixed(rows) => rows,
    }
}

/// The values that int8 matrices read, without their places.
fn readers(graph: &Graph, weights: &Packed, when: When) -> Vec<Option<Quantised>> {
    let mut quantised = vec![None; graph.nodes().len()];
    for node in graph.nodes() {
        if let Some((input, reader)) = int8_input(node, weights) {
            let at = &graph.nodes()[input];
            let whole_rows =
                !matches!(at.op, Op::Linear { .. } | Op::Attention { .. } | Op::Pool { .. } | Op::Scores { .. } | Op::Terms { .. });
            let at_once = when == When::AtOnce && whole_rows;
            quantised[input].get_or_insert(Quantised { start: 0, layout: RowLayout::new(at.width), reader, at_once });
        }
    }
    quantised
}

/// The value that `node` reads in its int8 form, and its matrix.
fn int8_input(node: &Node, weights: &Packed) -> Option<(usize, WeightId)> {
    match node.op {
        Op::Linear { input, weight, .. } if weights.matrix(weight).is_some_and(|m| m.int8.is_some()) => Some((input.index(), weight)),
        _ => None,
    }
}

fn steps(graph: &Graph, quantised: &[Option<Quantised>]) -> Vec<Step> {
    let mut steps = Vec::new();
    for (i, (node, q)) in graph.nodes().iter().zip(quantised).enumerate() {
        steps.push(Step::Compute(i));
        #[cfg(feature = "train")]
        if let Op::Learn(op) = &node.op {
            steps.extend((1..learn::parts(op)).map(|part| Step::Later(i, part)));
        }
        #[cfg(not(feature = "train"))]
        let _ = node;
        if q.is_some_and(|q| !q.at_once) {
            steps.push(Step::Quantise(i));
        }
    }
    steps
}

/// The multiply-adds of an operation, those that weigh; four in int8 take the time of one.
fn multiply_adds(graph: &Graph, node: &Node, weights: &Packed, rows: usize, batch: &Batch) -> usize {
    match node.op {
        Op::Linear { input, .. } => {
            let all = rows.saturating_mul(node.width).saturating_mul(graph.node(input).width);
            if int8_input(node, weights).is_some() { all / 4 } else { all }
        }
        Op::Scores { input, .. } => rows.saturating_mul(node.width).saturating_mul(graph.node(input).width),
        Op::Terms { input, .. } => batch.tokens().saturating_mul(node.width).saturating_mul(graph.node(input).width),
        #[cfg(feature = "train")]
        Op::Learn(ref op) => learn::multiply_adds(op, graph, batch),
        Op::Attention { ref attention, .. } => {
            let ids = |s: usize| &batch.ids()[batch.rows(s)];
            let pairs = |s: usize| ids(s).len().saturating_mul(Sight::of(attention, ids(s), batch.seen(s)).widest(1));
            2 * (0..batch.sequences()).map(pairs).fold(0, usize::saturating_add).saturating_mul(node.width)
        }
        _ => 0,
    }
}

/// Numbers of the work area and the operations between which they are in use.
#[derive(Clone, Copy)]
struct Used {
    start: usize,
    size: usize,
    last: usize,
}

/// The work area as it fills.
#[derive(Default)]
struct Area {
    used: Vec<Used>,
}

impl Area {
    /// A place for `numbers` (`None`: more than can be counted), taken by the operation `at`, in use until `last`.
    fn place(&mut self, numbers: Option<usize>, at: usize, last: usize) -> Result<usize> {
        let Some(size) = numbers.filter(|s| *s < usize::MAX / 64) else {
            return fail(ErrorKind::OutOfMemory, "the batch is too large; use smaller batches");
        };
        let start = first_gap(self.used.iter().filter(|u| u.last >= at).copied().collect(), size);
        self.used.push(Used { start, size, last });
        Ok(start)
    }
}

/// Where values stand, and how many numbers that takes.
struct Layout {
    places: Vec<Place>,
    #[cfg(feature = "train")]
    sides: Vec<learn::Side>,
    values: usize,
}

/// Gives each value, its int8 form, and what an operation notes besides, a place that nothing alive at the same time overlaps.
fn lay_out(graph: &Graph, quantised: &mut [Option<Quantised>], weights: &Packed, batch: &Batch) -> Result<Layout> {
    let nodes = graph.nodes();
    let (last_use, last_int8) = last_uses(graph, weights);
    let mut area = Area::default();
    let mut places: Vec<Place> = Vec::with_capacity(nodes.len());
    #[cfg(feature = "train")]
    let mut sides = Vec::with_capacity(nodes.len());
    for (i, node) in nodes.iter().enumerate() {
        let rows = rows_of(node, batch);
        let stride = row_stride(node.width);
        let start = match written_over(&node.op, i, &last_use) {
            Some(input) => {
                let start = places[input].start;
                area.used.push(Used { start, size: stride * rows, last: last_use[i] });
                start
            }
            None => area.place(stride.checked_mul(rows), i, last_use[i])?,
        };
        places.push(Place { start, stride, rows });
        if let Some(q) = &mut quantised[i] {
            q.start = area.place((q.layout.stride / 4).checked_mul(rows), i, last_int8[i])?;
        }
        #[cfg(feature = "train")]
        sides.push(match &node.op {
            Op::Learn(op) => {
                let (notes, report) = learn::notes(op, graph, node, batch);
                let last = if learn::keeps_notes(op) { last_use[i] } else { i };
                learn::Side { notes: area.place(notes, i, last)?, report: area.place(Some(report), i, usize::MAX)? }
            }
            _ => learn::Side::default(),
        });
    }
    let values = area.used.iter().map(|u| u.start + u.size).max().unwrap_or(0);
    Ok(Layout {
        places,
        #[cfg(feature = "train")]
        sides,
        values,
    })
}

/// The operation that reads each value last, and the one that reads its int8 form last.
fn last_uses(graph: &Graph, weights: &Packed) -> (Vec<usize>, Vec<usize>) {
    let nodes = graph.nodes();
    let (mut last_use, mut last_int8): (Vec<usize>, Vec<usize>) = ((0..nodes.len()).collect(), vec![0; nodes.len()]);
    for (i, node) in nodes.iter().enumerate() {
        match int8_input(node, weights) {
            Some((input, _)) => last_int8[input] = i,
            None => node.op.inputs().iter().for_each(|v| last_use[v.index()] = i),
        }
    }
    // Results outlive the run.
    graph.results().for_each(|value| last_use[value.index()] = usize::MAX);
    (last_use, last_int8)
}

/// The value whose place the operation takes over: one that nobody reads later.
fn written_over(op: &Op, at: usize, last_use: &[usize]) -> Option<usize> {
    #[cfg(feature = "train")]
    if let Op::Learn(op) = op {
        return op.overwrites().map(|v| v.index()).filter(|v| last_use[*v] == at);
    }
    let _ = (op, at, last_use);
    None
}

/// The lowest start at which `size` numbers meet none of the places alive.
fn first_gap(mut alive: Vec<Used>, size: usize) -> usize {
    alive.sort_by_key(|p| p.start);
    let mut start = 0;
    for p in alive {
        if p.start >= start + size {
            break;
        }
        start = start.max(p.start + p.size);
    }
    start
}

/// Row blocks keep the block's input in the second-level cache while panels pass by. Several threads share the rows where there
/// are enough of them (each then reads in the next operation the rows that it wrote in this one), otherwise the panels. Each
/// thread's share is several tasks, so that one that is held up elsewhere costs little.
fn cut(graph: &Graph, node: &Node, rows: usize, weights: &Packed, threads: usize) -> Cut {
    const BLOCK_BYTES: usize = 512 * 1024;
    const TASKS_PER_THREAD: usize = 4;
    const ROWS_PER_THREAD: usize = 24;
    let Op::Linear { weight, input, .. } = node.op else {
        return Cut { row_blocks: 0, panel_groups: 0, panels: 0 };
    };
    let panels = node.width.div_ceil(PANEL);
    let depth = graph.node(input).width;
    let row_bytes = match weights.matrix(weight).and_then(|m| m.int8) {
        Some(_) => RowLayout::new(depth).stride,
        None => depth_parts(depth).map(|p| p.1 * 4).max().unwrap_or(4).max(4),
    };
    let block_rows = (BLOCK_BYTES / row_bytes).clamp(24, 512);
    let row_blocks = rows.div_ceil(block_rows).max(1);
    if threads == 1 {
        return Cut { row_blocks, panel_groups: 1, panels };
    }
    let row_blocks = if rows >= threads * ROWS_PER_THREAD { row_blocks.next_multiple_of(threads) } else { row_blocks };
    let panel_groups = (threads * TASKS_PER_THREAD).div_ceil(row_blocks).clamp(1, panels.div_ceil(2));
    Cut { row_blocks, panel_groups, panels }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::graph::{Activation, Reduce, WeightId};

    #[test]
    fn values_alive_together_never_overlap_and_space_is_used_again() {
        let mut g = Graph::new();
        let mut x = g.embed(vec![], None, 40);
        for _ in 0..10 {
            let a = g.linear(x, WeightId(0), None, Activation::Relu, 100);
            let b = g.linear(a, WeightId(0), None, Activation::Relu, 40);
            x = g.mean(vec![b, x]);
        }
        g.pool(x, Reduce::Mean);
        let weights = Packed::new(&[], crate::engine::Precision::F32).unwrap();
        let mut none = vec![None; g.nodes().len()];
        let mut batch = Batch::default();
        [10, 4, 3].into_iter().for_each(|tokens| batch.push(&vec![0; tokens], &vec![0; tokens], 0));
        let places = lay_out(&g, &mut none, &weights, &batch).unwrap().places;
        let nodes = g.nodes();
        let last_use =
            |i: usize| (i..nodes.len()).filter(|j| nodes[*j].op.inputs().iter().any(|v| v.index() == i)).max().unwrap_or(nodes.len());
        for i in 0..places.len() {
            for j in i + 1..places.len() {
                let (a, b) = (places[i], places[j]);
                let apart = a.start + a.stride * a.rows <= b.start || b.start + b.stride * b.rows <= a.start;
                assert!(apart || last_use(i) < j, "values {i} and {j}");
            }
        }
        let total = places.iter().map(|p| p.start + p.stride * p.rows).max().unwrap();
        assert!(total <= 17 * (row_stride(100) + 3 * row_stride(40)), "{total}");
    }
}
