//! Where does each value of a graph live during a run, and into how many tasks is each operation cut?
//!
//! Values are laid out in one work area; a value's place is used again after its last reader. The cut never changes what a
//! task computes, only how many threads can share the work.

use super::attention;
use super::gemm::{PANEL, depth_parts, row_stride};
use super::pack::Packed;
use crate::engine::batch::Batch;
use crate::engine::graph::{Graph, Node, Op, Rows};
use crate::error::{ErrorKind, Result, fail};

/// Rows of one task of an operation that works row by row.
pub(super) const ROW_CHUNK: usize = 32;

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

/// The layout of one run.
#[derive(Debug)]
pub(super) struct Plan {
    /// One a value.
    pub places: Vec<Place>,
    /// Numbers of the work area that hold values.
    pub values: usize,
    /// Numbers of scratch of one thread.
    pub scratch: usize,
    /// Tasks of each operation.
    pub tasks: Vec<usize>,
    /// One an operation; only linear layers use theirs.
    pub cuts: Vec<Cut>,
    /// Threads that the run is worth.
    pub threads: usize,
}

/// Multiply-adds below which a run stays on the calling thread: about a tenth of a millisecond, the time that waking a helper
/// and meeting it at every operation may cost.
const ALONE_BELOW: usize = 5_000_000;

impl Plan {
    /// Lays out `graph` over `batch` for up to `threads` threads.
    pub(super) fn new(graph: &Graph, batch: &Batch, weights: &[Packed], threads: usize) -> Result<Plan> {
        let rows = |node: &Node| match node.rows {
            Rows::Tokens => batch.tokens(),
            Rows::Sequences => batch.sequences(),
        };
        let places = lay_out(graph, rows)?;
        let work = graph.nodes().iter().map(|n| multiply_adds(graph, n, rows(n), batch)).fold(0, usize::saturating_add);
        let threads = if work < ALONE_BELOW { 1 } else { threads };
        let values = places.iter().map(|p| p.start + p.rows * p.stride).max().unwrap_or(0);
        let cuts: Vec<Cut> = graph.nodes().iter().map(|n| cut(n, rows(n), weights, threads)).collect();
        let tasks = graph.nodes().iter().zip(&cuts).map(|(n, c)| match n.op {
            Op::Linear { .. } => c.row_blocks * c.panel_groups,
            Op::Attention { heads, .. } => batch.sequences() * heads,
            Op::Pool { .. } => batch.sequences(),
            Op::Embed { .. } | Op::AddNorm { .. } | Op::Concat { .. } | Op::Mean { .. } => rows(n).div_ceil(ROW_CHUNK),
        });
        let tasks = tasks.collect();
        let scratch = graph.nodes().iter().map(|n| match n.op {
            Op::Attention { head_size, .. } => attention::scratch_len(batch.longest(), head_size),
            _ => 0,
        });
        // Whole cache lines: no two threads' scratch share one.
        let scratch = scratch.max().unwrap_or(0).next_multiple_of(16);
        Ok(Plan { places, values, scratch, tasks, cuts, threads })
    }

    /// Numbers of the whole work area.
    pub(super) fn len(&self) -> usize {
        self.values + self.scratch * self.threads
    }
}

/// The multiply-adds of an operation, those that weigh.
fn multiply_adds(graph: &Graph, node: &Node, rows: usize, batch: &Batch) -> usize {
    match node.op {
        Op::Linear { input, .. } => rows.saturating_mul(node.width).saturating_mul(graph.node(input).width),
        Op::Attention { .. } => 2 * (0..batch.sequences()).map(|s| batch.rows(s).len().pow(2)).sum::<usize>().saturating_mul(node.width),
        _ => 0,
    }
}

/// Gives each value a place that no value alive at the same time overlaps.
fn lay_out(graph: &Graph, rows: impl Fn(&Node) -> usize) -> Result<Vec<Place>> {
    let nodes = graph.nodes();
    let mut last_use: Vec<usize> = (0..nodes.len()).collect();
    for (i, node) in nodes.iter().enumerate() {
        node.op.inputs().iter().for_each(|v| last_use[v.index()] = i);
    }
    if let Some(last) = last_use.last_mut() {
        *last = usize::MAX; // the result outlives the run
    }
    let mut places: Vec<Place> = Vec::with_capacity(nodes.len());
    for (i, node) in nodes.iter().enumerate() {
        let stride = row_stride(node.width);
        let Some(size) = stride.checked_mul(rows(node)).filter(|s| *s < usize::MAX / 64) else {
            return fail(ErrorKind::OutOfMemory, "the batch is too large; use smaller batches");
        };
        let alive: Vec<Place> = places.iter().zip(&last_use).filter(|(_, last)| **last >= i).map(|(p, _)| *p).collect();
        places.push(Place { start: first_gap(alive, size), stride, rows: rows(node) });
    }
    Ok(places)
}

/// The lowest start at which `size` numbers meet none of the places alive.
fn first_gap(mut alive: Vec<Place>, size: usize) -> usize {
    alive.sort_by_key(|p| p.start);
    let mut start = 0;
    for p in alive {
        if p.start >= start + size {
            break;
        }
        start = start.max(p.start + p.stride * p.rows);
    }
    start
}

/// Row blocks keep the block's input in the second-level cache while panels pass by. Several threads share the rows where there
/// are enough of them (each then reads in the next operation the rows that it wrote in this one), otherwise the panels. Each
/// thread's share is several tasks, so that one that is held up elsewhere costs little.
fn cut(node: &Node, rows: usize, weights: &[Packed], threads: usize) -> Cut {
    const BLOCK_BYTES: usize = 512 * 1024;
    const TASKS_PER_THREAD: usize = 4;
    const ROWS_PER_THREAD: usize = 24;
    let Op::Linear { weight, .. } = node.op else {
        return Cut { row_blocks: 0, panel_groups: 0, panels: 0 };
    };
    let Packed::Matrix(matrix) = &weights[weight.0] else { unreachable!("the engine checked each weight's role") };
    let panels = node.width.div_ceil(PANEL);
    let longest_part = depth_parts(matrix.depth).map(|p| p.1).max().unwrap_or(1).max(1);
    let block_rows = (BLOCK_BYTES / 4 / longest_part).clamp(24, 512);
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
        let places = lay_out(&g, |n| if n.rows == Rows::Tokens { 17 } else { 3 }).unwrap();
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
