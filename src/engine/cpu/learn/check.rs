//! Does an operation of learning fit its values, its weights and its targets? What kernels trust, checked once a run.

use super::super::check::fits_bias;
use super::super::pack::Packed;
use super::super::plan::rows_of;
use crate::engine::batch::Batch;
use crate::engine::graph::{Attention, Bias, Dropout, Graph, Learn, Loss, Node, Norm, Op, Rows, WeightId};
use crate::engine::lesson::{Lesson, Target, UNLABELLED};
use crate::error::{ErrorKind, Result, fail};

/// Whether the values and weights that `op` names have its shape.
pub(in super::super) fn fits(op: &Learn, graph: &Graph, node: &Node, weights: &Packed) -> bool {
    let width = |v| graph.node(v).width;
    let same = |v| width(v) == node.width && graph.node(v).rows == node.rows;
    let vector = |id: WeightId, n: usize| weights.vector(id).is_some_and(|v| v.len() >= n);
    let norm = |n: &Norm| vector(n.weight, node.width) && n.bias.is_none_or(|b| vector(b, node.width));
    let rate = |d: &Dropout| (0.0..1.0).contains(&d.rate);
    match op {
        Learn::Activate { input, .. } | Learn::Scale { input, .. } | Learn::Loss { input, .. } => same(*input),
        Learn::Drop { input, dropout } => same(*input) && rate(dropout),
        Learn::ActivateBack { gradient, input, .. } => same(*gradient) && same(*input),
        Learn::Attend { qkv, attention, dropout } => attention_fits(attention, width(*qkv), node.width, weights) && rate(dropout),
        Learn::AttendBack { gradient, qkv, attention, dropout } => {
            attention_fits(attention, node.width, width(*gradient), weights) && same(*qkv) && rate(dropout)
        }
        Learn::LinearGradient { gradient, input, weight, bias } => {
            let matrix = weights.matrix(*weight).is_some_and(|m| m.depth == width(*input) && m.holds(width(*gradient)));
            matrix && graph.node(*gradient).rows == graph.node(*input).rows && bias.is_none_or(|b| vector(b, width(*gradient)))
        }
        Learn::NormBack { gradient, input, norm: n, .. } => same(*gradient) && same(*input) && norm(n),
        Learn::EmbedGradient { gradient, lookups } => {
            let table = |id| weights.table(id).is_some_and(|t| t.row_len() == width(*gradient));
            graph.node(*gradient).rows == Rows::Tokens && lookups.iter().all(|l| table(l.table))
        }
        Learn::GateBack { gradient, input, .. } => 2 * width(*gradient) == node.width && same(*input),
        Learn::RotateBack { gradient, rotary } => {
            let heads = rotary.head_size.checked_mul(3).is_some_and(|three| three > 0 && node.width.is_multiple_of(three));
            heads && 2 * rotary.frequencies.len() <= rotary.head_size && same(*gradient) && node.rows == Rows::Tokens
        }
        Learn::NeighboursBack { gradient, size } => size % 2 == 1 && node.width.checked_mul(*size) == Some(width(*gradient)),
        Learn::PickBack { gradient } => {
            width(*gradient) == node.width && graph.node(*gradient).rows == Rows::Picked && node.rows == Rows::Tokens
        }
        Learn::PoolBack { gradient, input, .. } => {
            let shapes = width(*gradient) == node.width && same(*input);
            shapes && graph.node(*gradient).rows == Rows::Sequences && node.rows == Rows::Tokens
        }
        Learn::Columns { input, from } => from.checked_add(node.width).is_some_and(|end| end <= width(*input)),
        Learn::Vocabulary { input, table, bias, words, .. } => {
            let table = weights.table(*table).is_some_and(|t| t.row_len() == width(*input) && t.rows() == *words);
            same(*input) && table && vector(*bias, *words)
        }
    }
}

fn attention_fits(attention: &Attention, qkv: usize, out: usize, weights: &Packed) -> bool {
    let Attention { heads, head_size, bias, .. } = attention;
    let sizes = *head_size > 0 && out == heads * head_size && qkv == 3 * out;
    sizes && !matches!(bias, Bias::Disentangled(_)) && fits_bias(bias, (*heads, *head_size), weights)
}

/// Whether each loss finds its targets in `lesson`.
///
/// # Errors
/// `InvalidArgument` saying what a target lacks.
pub(super) fn check_targets(graph: &Graph, batch: &Batch, lesson: &Lesson) -> Result<()> {
    let wrong = |told: String| fail(ErrorKind::InvalidArgument, told);
    for node in graph.nodes() {
        let (target, loss, classes) = match &node.op {
            Op::Learn(Learn::Loss { loss, target, .. }) => (*target, *loss, node.width),
            Op::Learn(Learn::Vocabulary { target, words, .. }) => (*target, Loss::CrossEntropy, *words),
            _ => continue,
        };
        let rows = rows_of(node, batch);
        match (lesson.targets.get(target), loss) {
            (Some(Target::Classes { classes: given, .. }), Loss::CrossEntropy) => {
                if given.len() != rows {
                    return wrong(format!("target {target} has {} classes for {rows} rows", given.len()));
                }
                if let Some(class) = given.iter().find(|c| **c != UNLABELLED && **c as usize >= classes) {
                    return wrong(format!("target {target} has class {class}; the model tells {classes} apart, from 0"));
                }
            }
            (Some(Target::Judged(_)), Loss::Judged) => {}
            (Some(Target::Numbers { numbers, .. }), loss) if !matches!(loss, Loss::CrossEntropy | Loss::Judged) => {
                if numbers.len() != rows * node.width {
                    return wrong(format!("target {target} has {} numbers for {rows} rows of {}", numbers.len(), node.width));
                }
            }
            _ => return wrong(format!("target {target} is missing, or of another kind than its loss")),
        }
    }
    Ok(())
}
