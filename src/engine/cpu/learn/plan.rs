//! How much does an operation of learning note besides its value, and into how many tasks is it cut?
//!
//! An operation with sums over rows that several tasks share runs in parts: tasks note sums of their own, a later part adds them in their
//! order. The cut depends on the batch alone, never on the threads, so that sums are the same bits on any number of them.

use super::super::gemm::PANEL;
use super::super::plan::{ROW_CHUNK, rows_of};
use super::vocabulary::Shape;
use super::{REPORTED, attention};
use crate::engine::batch::Batch;
use crate::engine::graph::{Bias, Graph, Learn, Loss, Node};

/// Where an operation has its notes (during the operation) and its report (to the end of the run).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct Side {
    pub notes: usize,
    pub report: usize,
}

/// Inputs of one task of [`Learn::LinearGradient`].
pub(super) const INPUT_CHUNK: usize = 1024;

/// In how many parts the operation runs.
pub(in super::super) fn parts(op: &Learn) -> usize {
    match op {
        Learn::NormBack { learns: true, .. } | Learn::AffineBack { learns: true, .. } => 2,
        Learn::AttendBack { attention, .. } if matches!(attention.bias, Bias::Relative(_)) => 2,
        Learn::Vocabulary { learns: false, carries: false, .. } => 3,
        Learn::Vocabulary { .. } => 5,
        Learn::TermsBack { .. } => 3,
        _ => 1,
    }
}

/// The tasks of part `part`.
pub(in super::super) fn tasks(op: &Learn, graph: &Graph, node: &Node, batch: &Batch, part: usize) -> usize {
    let chunks = rows_of(node, batch).div_ceil(ROW_CHUNK);
    match op {
        Learn::Attend { attention, .. } => batch.sequences() * attention.heads,
        Learn::AttendBack { attention, .. } if part == 0 => batch.sequences() * attention.heads,
        Learn::AttendBack { .. } => 1,
        Learn::PoolBack { .. } => batch.sequences(),
        Learn::NormBack { .. } | Learn::AffineBack { .. } if part == 1 => node.width.div_ceil(PANEL),
        Learn::LinearGradient { gradient, input, .. } => {
            graph.node(*gradient).width.div_ceil(PANEL) * graph.node(*input).width.div_ceil(INPUT_CHUNK)
        }
        Learn::EmbedGradient { gradient, .. } | Learn::WholeGradient { gradient, .. } => graph.node(*gradient).width.div_ceil(PANEL),
        Learn::Vocabulary { .. } | Learn::TermsBack { .. } => Shape::new(op, graph, batch).tasks(part),
        Learn::Loss { loss: Loss::Judged, .. } => 1,
        _ => chunks,
    }
}

/// Numbers noted during the operation (`None`: more than can be counted), and numbers reported.
pub(in super::super) fn notes(op: &Learn, graph: &Graph, node: &Node, batch: &Batch) -> (Option<usize>, usize) {
    let rows = rows_of(node, batch);
    match op {
        Learn::NormBack { learns: true, .. } | Learn::AffineBack { learns: true, .. } => {
            (rows.div_ceil(ROW_CHUNK).checked_mul(2 * node.width), 0)
        }
        Learn::AttendBack { attention, .. } => {
            let tasks = batch.sequences().checked_mul(attention.heads);
            (tasks.and_then(|tasks| tasks.checked_mul(attention::noted(attention, batch.longest()))), 0)
        }
        Learn::Loss { .. } => (Some(0), REPORTED * rows),
        Learn::Vocabulary { .. } => (Shape::new(op, graph, batch).notes(), REPORTED * rows),
        Learn::TermsBack { .. } => (Shape::new(op, graph, batch).notes(), 0),
        _ => (Some(0), 0),
    }
}

/// Whether what the operation notes is read by later ones, as long as they read its value.
pub(in super::super) fn keeps_notes(op: &Learn) -> bool {
    matches!(op, Learn::AttendBack { attention, .. } if matches!(attention.bias, Bias::Disentangled(_)))
}

/// Numbers of scratch that one thread needs.
pub(in super::super) fn scratch(op: &Learn, graph: &Graph, batch: &Batch) -> usize {
    match op {
        Learn::Attend { attention, .. } | Learn::AttendBack { attention, .. } => attention::scratch_len(attention, batch.longest()),
        // The last panel of the gradient, with zeros behind its columns.
        Learn::LinearGradient { gradient, .. } => rows_of(graph.node(*gradient), batch) * PANEL,
        Learn::Vocabulary { .. } | Learn::TermsBack { .. } => Shape::new(op, graph, batch).scratch(),
        _ => 0,
    }
}

/// The multiply-adds that weigh.
pub(in super::super) fn multiply_adds(op: &Learn, graph: &Graph, batch: &Batch) -> usize {
    let pairs = || (0..batch.sequences()).map(|s| batch.rows(s).len().saturating_pow(2)).sum::<usize>();
    match op {
        Learn::Attend { attention, .. } => 2 * pairs() * attention.heads * attention.head_size,
        Learn::AttendBack { attention, .. } => 5 * pairs() * attention.heads * attention.head_size,
        Learn::LinearGradient { gradient, input, .. } => {
            rows_of(graph.node(*gradient), batch).saturating_mul(graph.node(*gradient).width).saturating_mul(graph.node(*input).width)
        }
        Learn::Vocabulary { .. } | Learn::TermsBack { .. } => Shape::new(op, graph, batch).multiply_adds(),
        _ => 0,
    }
}
