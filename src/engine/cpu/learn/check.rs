//! Does an operation of learning fit its values, its weights and its targets? What kernels trust, checked once a run.

use super::super::check::fits_bias;
use super::super::pack::{Packed, Table};
use super::super::plan::rows_of;
use crate::engine::batch::Batch;
use crate::engine::graph::{Attention, Bias, Disentangled, Dropout, Graph, Learn, Loss, Met, Node, Norm, Op, Rows, ValueId, WeightId};
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
        Learn::Activate { input, .. } | Learn::Scale { input, .. } => same(*input),
        Learn::Loss { input, own, .. } => same(*input) && own.ids().all(|id| weights.vector(id).is_some()),
        Learn::Drop { input, dropout } => same(*input) && rate(dropout),
        Learn::ActivateBack { gradient, input, .. } => same(*gradient) && same(*input),
        Learn::Attend { .. } | Learn::AttendBack { .. } | Learn::MetBack { .. } => attends(op, graph, node, weights),
        Learn::WholeGradient { gradient, table } => {
            let whole = |t: Table<'_>| t.row_len() == width(*gradient) && graph.node(*gradient).rows == Rows::Fixed(t.rows());
            weights.table(*table).is_some_and(whole)
        }
        Learn::AffineBack { gradient, input, weight, bias, .. } => {
            same(*gradient) && same(*input) && vector(*weight, node.width) && vector(*bias, node.width)
        }
        Learn::LinearGradient { gradient, input, weight, bias } => {
            let matrix = weights.matrix(*weight).is_some_and(|m| m.depth == width(*input) && m.holds(width(*gradient)));
            matrix && graph.node(*gradient).rows == graph.node(*input).rows && bias.is_none_or(|b| vector(b, width(*gradient)))
        }
        Learn::NormBack { gradient, input, norm: n, .. } => same(*gradient) && same(*input) && norm(n),
        Learn::EmbedGradient { gradient, lookups } => {
            let table = |id| weights.table(id).is_some_and(|t| t.row_len() >= width(*gradient));
            let rows = graph.node(*gradient).rows;
            matches!(rows, Rows::Tokens | Rows::Picked) && lookups.iter().all(|l| table(l.table))
        }
        Learn::GateBack { gradient, input, .. } => 2 * width(*gradient) == node.width && same(*input),
        Learn::RotateBack { gradient, rotary } => {
            let heads = rotary.head_size.checked_mul(3).is_some_and(|three| three > 0 && node.width.is_multiple_of(three));
            heads && 2 * rotary.frequencies.len() <= rotary.head_size && same(*gradient) && node.rows == Rows::Tokens
        }
        Learn::NeighboursBack { gradient, size } => size % 2 == 1 && node.width.checked_mul(*size) == Some(width(*gradient)),
        Learn::PickBack { gradient, .. } => {
            width(*gradient) == node.width && graph.node(*gradient).rows == Rows::Picked && node.rows == Rows::Tokens
        }
        Learn::PoolBack { gradient, input, .. } => {
            let shapes = width(*gradient) == node.width && same(*input);
            shapes && graph.node(*gradient).rows == Rows::Sequences && node.rows == Rows::Tokens
        }
        Learn::Columns { input, from } => from.checked_add(node.width).is_some_and(|end| end <= width(*input)),
        Learn::Vocabulary { .. } | Learn::TermsBack { .. } => fits_words(op, graph, node, weights),
    }
}

/// As [`fits`], of attention.
fn attends(op: &Learn, graph: &Graph, node: &Node, weights: &Packed) -> bool {
    let width = |v| graph.node(v).width;
    let rate = |d: &Dropout| (0.0..1.0).contains(&d.rate);
    match op {
        Learn::Attend { qkv, start, attention, dropout } => {
            let reads = |v: ValueId| attention_fits(attention, width(v), node.width, graph, weights) && graph.node(v).rows == Rows::Tokens;
            reads(*qkv) && start.is_none_or(reads) && rate(dropout)
        }
        Learn::AttendBack { gradient, qkv, attention, dropout, .. } => {
            attention_fits(attention, node.width, width(*gradient), graph, weights)
                && width(*qkv) == node.width
                && graph.node(*qkv).rows == node.rows
                && rate(dropout)
        }
        Learn::MetBack { of, from, .. } => match &graph.node(*of).op {
            Op::Learn(Learn::AttendBack { attention: Attention { heads, head_size, .. }, .. }) => {
                let columns = from.checked_add(heads * head_size).is_some_and(|end| end <= node.width);
                columns && matches!(node.rows, Rows::Fixed(_))
            }
            _ => false,
        },
        _ => false,
    }
}

/// As [`fits`], of a vocabulary.
fn fits_words(op: &Learn, graph: &Graph, node: &Node, weights: &Packed) -> bool {
    let width = |v| graph.node(v).width;
    let same = |v| width(v) == node.width && graph.node(v).rows == node.rows;
    let vector = |id: WeightId, n: usize| weights.vector(id).is_some_and(|v| v.len() >= n);
    match op {
        Learn::TermsBack { gradient, input, table, bias, .. } => {
            let words = width(*gradient);
            let table = weights.table(*table).is_some_and(|t| t.row_len() == node.width && t.rows() == words);
            same(*input) && node.rows == Rows::Tokens && graph.node(*gradient).rows == Rows::Sequences && table && vector(*bias, words)
        }
        Learn::Vocabulary { input, table, bias, words, loss, .. } => {
            let compared = match loss {
                Loss::CrossEntropy => true,
                Loss::Distilled { temperature } => *temperature > 0.0,
                _ => false,
            };
            let table = weights.table(*table).is_some_and(|t| t.row_len() == width(*input) && t.rows() == *words);
            same(*input) && table && vector(*bias, *words) && compared
        }
        _ => false,
    }
}

fn attention_fits(attention: &Attention, qkv: usize, out: usize, graph: &Graph, weights: &Packed) -> bool {
    let Attention { heads, head_size, bias, .. } = attention;
    let sizes = *head_size > 0 && out == heads * head_size && qkv == 3 * out;
    // Rows that were made ahead do not learn.
    let made = |p: &Disentangled| [&p.keys, &p.queries].iter().any(|met| matches!(met, Met::Made(_)));
    let learns = !matches!(bias, Bias::Disentangled(positions) if made(positions));
    sizes && learns && fits_bias(bias, (*heads, *head_size), graph, weights)
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
            Op::Learn(Learn::Vocabulary { loss, target, words, .. }) => (*target, *loss, *words),
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
                if numbers.len() != rows * classes {
                    return wrong(format!("target {target} has {} numbers for {rows} rows of {classes}", numbers.len()));
                }
            }
            _ => return wrong(format!("target {target} is missing, or of another kind than its loss")),
        }
    }
    Ok(())
}
