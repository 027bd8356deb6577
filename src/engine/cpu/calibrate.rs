//! Which inputs of an int8 matrix are not quantised?
//!
//! A few columns of a normalised row, the same for every text, are many times as large as the others (see [`super::int8`]). They
//! are found when a model is opened: a short batch runs through the graph, operation by operation; before a normalised value is
//! quantised, the columns whose largest number stands out are noted, and the matrices that read the value are packed without
//! them. The choice depends on the model alone: a run is the same bits whatever else happens in the process.
//!
//! A row is quantised once, for all matrices that read it, and a matrix that several layers share reads several values. So columns are
//! chosen by [`groups`]: matrices that read a value in common have the same ones, those that stand out in any value they read. A
//! group is packed at its first use, and again when a later use brings other columns.

use std::sync::Arc;

use super::buffer::Buffer;
use super::check::check;
use super::int8::OUTLIERS;
use super::ops::Work;
use super::plan::{Plan, Step, When};
use super::run::Shared;
use crate::engine::batch::Batch;
use crate::engine::graph::{Graph, Op, WeightId};
use crate::engine::weights::Weight;
use crate::error::Result;

/// What an int8 engine runs once when it is made: the whole model over some tokens of real text.
#[derive(Clone, Debug)]
pub struct Calibration {
    /// Operations that use every matrix once.
    pub graph: Arc<Graph>,
    /// A hundred tokens or so.
    pub batch: Arc<Batch>,
}

/// A column stands out when its largest number is this many times the median column's.
const STANDS_OUT: f32 = 2.5;

/// Packs the int8 matrices of `shared`.
///
/// # Errors
/// `NonFinite` naming a damaged tensor, `InvalidArgument` for a batch that does not suit the model, `OutOfMemory`.
pub(super) fn calibrate(shared: &mut Arc<Shared>, weights: &[Weight], calibration: &Calibration) -> Result<()> {
    let Calibration { graph, batch } = calibration;
    check(graph, batch, &shared.weights)?;
    let plan = Plan::new(graph, batch, &shared.weights, 1, When::Apart)?;
    let mut area = Buffer::zeroed(plan.len())?;
    let mut matrices = Matrices {
        weights,
        groups: groups(graph, weights.len()),
        columns: vec![Vec::new(); weights.len()],
        packed: vec![None; weights.len()],
    };
    for (i, step) in plan.steps.iter().enumerate() {
        let mut work = Work::new(Arc::clone(shared), Arc::clone(graph), Arc::clone(batch), plan.clone(), &mut area);
        if let Step::Quantise(value) = *step {
            let node = &graph.nodes()[value];
            let normalised = matches!(node.op, Op::Embed { .. } | Op::AddNorm { .. } | Op::Norm { .. } | Op::Affine { .. });
            // SAFETY: no task runs; the value was computed by the step before.
            let seen = if normalised { largest(unsafe { work.rows(value) }, node.width) } else { Vec::new() };
            // Packing needs the weights alone.
            drop(work);
            matrices.meet(shared, graph, value, &seen)?;
            work = Work::new(Arc::clone(shared), Arc::clone(graph), Arc::clone(batch), plan.clone(), &mut area);
        }
        // SAFETY: the area lives on, earlier steps are done, this thread alone works.
        (0..plan.tasks[i]).for_each(|task| unsafe { work.task(i, task, 0) });
    }
    (0..weights.len()).filter(|id| matrices.packed[*id].is_none()).try_for_each(|id| pack(shared, weights, WeightId(id), &[]))
}

/// The int8 matrices, and what is known of their inputs so far.
struct Matrices<'w> {
    weights: &'w [Weight],
    /// The group of each.
    groups: Vec<usize>,
    /// By group: the largest number of each column in units of the median column's, over all values met.
    columns: Vec<Vec<f32>>,
    /// The columns that each was packed without.
    packed: Vec<Option<Vec<u32>>>,
}

impl Matrices<'_> {
    /// Packs the matrices that read `value`, whose columns go up to `seen`, and anew those of their group that were packed otherwise.
    fn meet(&mut self, shared: &mut Arc<Shared>, graph: &Graph, value: usize, seen: &[f32]) -> Result<()> {
        let waiting: Vec<usize> = readers(graph, value).map(|id| id.0).collect();
        let Some(group) = waiting.first().map(|id| self.groups[*id]) else { return Ok(()) };
        let columns = &mut self.columns[group];
        columns.resize(columns.len().max(seen.len()), 0.0);
        columns.iter_mut().zip(seen).for_each(|(column, seen)| *column = column.max(*seen));
        let outliers = stand_out(columns);
        for id in 0..self.packed.len() {
            let stale = self.groups[id] == group && self.packed[id].as_ref().is_some_and(|packed| *packed != outliers);
            if stale || (waiting.contains(&id) && self.packed[id].is_none()) {
                pack(shared, self.weights, WeightId(id), &outliers)?;
                self.packed[id] = Some(outliers.clone());
            }
        }
        Ok(())
    }
}

/// The group of each weight, named by one of its members: matrices that read a value in common are in one.
fn groups(graph: &Graph, weights: usize) -> Vec<usize> {
    let mut groups: Vec<usize> = (0..weights).collect();
    for value in 0..graph.nodes().len() {
        let mut readers = readers(graph, value);
        let Some(first) = readers.next() else { continue };
        for other in readers {
            let (from, to) = (groups[other.0], groups[first.0]);
            groups.iter_mut().filter(|group| **group == from).for_each(|group| *group = to);
        }
    }
    groups
}

/// The matrices that read `value`.
fn readers(graph: &Graph, value: usize) -> impl Iterator<Item = WeightId> {
    graph.nodes().iter().filter_map(move |node| match node.op {
        Op::Linear { input, weight, .. } if input.index() == value => Some(weight),
        _ => None,
    })
}

fn pack(shared: &mut Arc<Shared>, weights: &[Weight], id: WeightId, outliers: &[u32]) -> Result<()> {
    let Some(shared) = Arc::get_mut(shared) else { unreachable!("nobody runs anything before the engine exists") };
    shared.weights.pack_int8(id, &weights[id.0], outliers)
}

/// The largest number of each column, in units of the median column's.
fn largest<'a>(rows: impl Iterator<Item = &'a [f32]>, width: usize) -> Vec<f32> {
    let mut largest = vec![0f32; width];
    for row in rows {
        largest.iter_mut().zip(row).for_each(|(l, x)| *l = l.max(x.abs()));
    }
    let mut sorted = largest.clone();
    sorted.sort_by(|a, b| b.total_cmp(a));
    let median = sorted.get(width / 2).copied().unwrap_or(0.0).max(f32::MIN_POSITIVE);
    largest.iter_mut().for_each(|l| *l /= median);
    largest
}

/// The columns that stand out, in ascending order; at most [`OUTLIERS`], the largest.
fn stand_out(largest: &[f32]) -> Vec<u32> {
    let width = largest.len();
    let mut columns: Vec<u32> = (0..width as u32).collect();
    columns.sort_by(|a, b| largest[*b as usize].total_cmp(&largest[*a as usize]).then(a.cmp(b)));
    let most = OUTLIERS.min(width / 16);
    let mut out: Vec<u32> = columns.into_iter().take(most).filter(|c| largest[*c as usize] > STANDS_OUT).collect();
    out.sort_unstable();
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_that_stand_out_are_found_and_are_few() {
        let rows: Vec<Vec<f32>> = (0..10).map(|r| (0..64).map(|c| ((r * 7 + c * 3) % 11) as f32 / 10.0).collect()).collect();
        let found = |rows: &[Vec<f32>]| stand_out(&largest(rows.iter().map(Vec::as_slice), 64));
        assert!(found(&rows).is_empty());
        let mut one = rows.clone();
        (one[3][17], one[5][40]) = (-9.0, 3.0);
        assert_eq!(found(&one), [17, 40]);
        let many: Vec<Vec<f32>> =
            rows.iter().map(|r| r.iter().enumerate().map(|(c, x)| if c < 20 { x * 5.0 + 5.0 } else { *x }).collect()).collect();
        assert_eq!(found(&many).len(), 4, "a sixteenth of the columns at most");
    }
}
