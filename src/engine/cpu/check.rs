//! May this graph run over this batch with these weights? Everything that a kernel trusts is checked here, once a run.

use super::gemm::PANEL;
use super::pack::{Matrix, Packed, Table};
use crate::engine::batch::Batch;
use crate::engine::graph::{
    Attention, Bias, Disentangled, Far, Graph, Index, Lookup, Met, Node, Norm, Op, Relative, Rotary, Rows, ValueId, WeightId,
};
use crate::error::{ErrorKind, Result, fail};

/// # Errors
/// `InvalidArgument` naming the token, position or segment that a table lacks, or the operation whose weights do not fit.
pub(super) fn check(graph: &Graph, batch: &Batch, weights: &Packed) -> Result<()> {
    if !readers_agree(graph, weights) {
        return fail(ErrorKind::InvalidArgument, "matrices that read the same value leave different columns of it in f32");
    }
    for (i, node) in graph.nodes().iter().enumerate() {
        if !fits(graph, node, weights) {
            return fail(ErrorKind::InvalidArgument, format!("operation {i} ({:?}) and its weights have different shapes", node.op));
        }
        if batch.has_empty() && matches!(node.op, Op::Attention { .. } | Op::Neighbours { .. } | Op::Terms { .. }) {
            return fail(ErrorKind::InvalidArgument, "a sequence has no tokens; the model needs at least one of each");
        }
        if let Op::Attention { attention, .. } = &node.op {
            let blind =
                |s: &usize| attention.far == Far::None && batch.seen(*s).saturating_add(attention.span.before) < batch.rows(*s).len();
            if let Some(sequence) = (0..batch.sequences()).find(blind) {
                let (tokens, seen) = (batch.rows(sequence).len(), batch.seen(sequence));
                let told = format!("{tokens} tokens of which {seen} are seen: the last stand further away than the model's window");
                return fail(ErrorKind::InvalidArgument, told);
            }
        }
        if let Op::Embed { lookups, .. } = &node.op {
            lookups.iter().try_for_each(|l| check_lookup(l, batch, weights))?;
        }
    }
    Ok(())
}

/// Whether the weights that `node` names exist, have its role and its shape.
fn fits(graph: &Graph, node: &Node, weights: &Packed) -> bool {
    let width = |v| graph.node(v).width;
    let vector = |id: WeightId| weights.vector(id).is_some_and(|v| v.len() >= node.width.next_multiple_of(PANEL));
    let norm = |n: &Norm| vector(n.weight) && n.bias.is_none_or(vector);
    match &node.op {
        Op::Embed { lookups, norm: n } => {
            // A decoder may need more columns of the table than an embedding has.
            let table = |l: &Lookup| weights.table(l.table).is_some_and(|t| t.row_len() >= node.width && t.is_float());
            let rows = |l: &Lookup| node.rows == if matches!(l.index, Index::InSpan { .. }) { Rows::Picked } else { Rows::Tokens };
            lookups.iter().all(|l| table(l) && rows(l)) && n.as_ref().is_none_or(norm)
        }
        Op::Whole { table } => {
            let whole = |t: Table<'_>| t.row_len() == node.width && t.is_float() && node.rows == Rows::Fixed(t.rows());
            weights.table(*table).is_some_and(whole)
        }
        Op::Linear { input, weight, bias, .. } => {
            // Outliers are never the whole row.
            let columns = |m: &Matrix<'_>| m.int8.is_none_or(|o| o.len() < m.depth && o.iter().all(|c| (*c as usize) < m.depth));
            let matrix = |m: &Matrix<'_>| m.depth == width(*input) && m.holds(node.width) && columns(m);
            weights.matrix(*weight).as_ref().is_some_and(matrix) && bias.is_none_or(vector)
        }
        Op::Attention { qkv, start, attention: Attention { heads, head_size, bias, far, .. } } => {
            let rows = |v: ValueId| width(v) == 3 * node.width && graph.node(v).rows == Rows::Tokens;
            let sizes = *head_size > 0 && node.width == heads * head_size && rows(*qkv) && start.is_none_or(rows);
            let far = match far {
                Far::None => start.is_none(),
                Far::Start(_) | Far::End(_) => *bias == Bias::None,
                Far::Blocks(blocks) => *bias == Bias::None && start.is_none() && blocks.size > 0 && blocks.times >= 1.0,
            };
            sizes && far && fits_bias(bias, (*heads, *head_size), graph, weights)
        }
        Op::AddNorm { input, residual, norm: n } => width(*input) == node.width && width(*residual) == node.width && norm(n),
        Op::Add { input, residual } => width(*input) == node.width && width(*residual) == node.width,
        Op::Affine { input, residual, weight, bias } => {
            width(*input) == node.width && residual.is_none_or(|r| width(r) == node.width) && vector(*weight) && vector(*bias)
        }
        Op::Gate { input, .. } => width(*input) == 2 * node.width,
        Op::Rotate { qkv, rotary: Rotary { head_size, frequencies } } => {
            let heads = head_size.checked_mul(3).is_some_and(|three| three > 0 && node.width.is_multiple_of(three));
            heads && 2 * frequencies.len() <= *head_size && width(*qkv) == node.width && graph.node(*qkv).rows == Rows::Tokens
        }
        Op::Norm { input, norm: n } => width(*input) == node.width && norm(n),
        Op::Neighbours { input, size } => {
            size % 2 == 1 && width(*input).checked_mul(*size) == Some(node.width) && graph.node(*input).rows == Rows::Tokens
        }
        Op::Pick { input, .. } => width(*input) == node.width && graph.node(*input).rows == Rows::Tokens,
        Op::Scores { input, table, bias } => {
            let table = weights.table(*table);
            table.is_some_and(|t| t.row_len() == width(*input) && t.rows() == node.width && t.is_float()) && vector(*bias)
        }
        Op::Terms { input, table, bias, .. } => {
            let table = weights.table(*table).is_some_and(|t| t.row_len() == width(*input) && t.rows() == node.width && t.is_float());
            table && vector(*bias) && graph.node(*input).rows == Rows::Tokens
        }
        Op::Pool { input, .. } => width(*input) == node.width,
        Op::Concat { inputs } => inputs.iter().map(|v| width(*v)).sum::<usize>() == node.width,
        Op::Mean { inputs } => inputs.iter().all(|v| width(*v) == node.width),
        #[cfg(feature = "train")]
        Op::Learn(op) => super::learn::check::fits(op, graph, node, weights),
    }
}

/// A value is quantised once, so all int8 matrices that read it must leave the same columns in f32.
fn readers_agree(graph: &Graph, weights: &Packed) -> bool {
    let mut outliers = vec![None; graph.nodes().len()];
    graph.nodes().iter().all(|node| {
        let Op::Linear { input, weight, .. } = node.op else { return true };
        let Some(own) = weights.matrix(weight).and_then(|m| m.int8) else { return true };
        outliers[input.index()].get_or_insert(own) == &own
    })
}

pub(super) fn fits_bias(bias: &Bias, (heads, head_size): (usize, usize), graph: &Graph, weights: &Packed) -> bool {
    match bias {
        Bias::None => true,
        Bias::Slopes(slopes) => slopes.len() == heads,
        Bias::Relative(Relative { table, buckets }) => {
            let highest = buckets.iter().max().map(|bucket| *bucket as usize);
            let needed = highest.and_then(|bucket| (bucket + 1).checked_mul(heads));
            let holds = |needed| weights.vector(*table).is_some_and(|table| table.len() >= needed);
            buckets.len() % 2 == 1 && needed.is_some_and(holds)
        }
        Bias::Disentangled(Disentangled { keys, queries, places }) => {
            let needed = places.last().map_or(usize::MAX, |place| *place as usize + 1);
            let holds = |m: Matrix<'_>| m.depth == head_size && m.int8.is_none() && m.holds(needed);
            let rows = |met: &Met| match met {
                Met::Nothing => true,
                Met::Made(ids) => ids.len() == heads && ids.iter().all(|id| weights.matrix(*id).is_some_and(holds)),
                Met::Rows { value, from } => {
                    let node = graph.node(*value);
                    let enough = matches!(node.rows, Rows::Fixed(rows) if rows >= needed);
                    enough && from.checked_add(heads * head_size).is_some_and(|end| end <= node.width)
                }
            };
            places.len() % 2 == 1 && places.is_sorted() && rows(keys) && rows(queries)
        }
    }
}

fn check_lookup(lookup: &Lookup, batch: &Batch, weights: &Packed) -> Result<()> {
    let Some(table) = weights.table(lookup.table) else { unreachable!("`fits` comes first") };
    let (what, largest) = match lookup.index {
        Index::Token => ("token id", batch.ids().iter().max().map_or(0, |i| *i as usize)),
        Index::Segment => ("segment", batch.segments().iter().max().map_or(0, |i| *i as usize)),
        // Tokens that take no place stand before the offset.
        Index::Position { offset: 0, padding: Some(_) } => ("position", usize::MAX),
        Index::Position { offset, .. } => ("position", (batch.longest() + offset).saturating_sub(1)),
        Index::Always(index) | Index::InSpan { last: index } => ("row", index),
    };
    if largest < table.rows() {
        return Ok(());
    }
    fail(ErrorKind::InvalidArgument, format!("{what} {largest}: the model has embeddings for 0 to {}", table.rows() as i64 - 1))
}
