//! Which inputs of an int8 matrix are not quantised?
//!
//! A few columns of a normalised row, the same for every text, are many times as large as the others (see [`super::int8`]). They
//! are found when a model is opened: a short batch runs through the graph, operation by operation; before a normalised value is
//! quantised for the first time, the columns whose largest number stands out are noted, and the matrices that read the value are
//! packed without them. The choice depends on the model alone: a run is the same bits whatever else happens in the process.

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
    let mut packed = vec![false; weights.len()];
    for (i, step) in plan.steps.iter().enumerate() {
        let mut work = Work::new(Arc::clone(shared), Arc::clone(graph), Arc::clone(batch), plan.clone(), &mut area);
        if let Step::Quantise(value) = *step {
            let node = &graph.nodes()[value];
            let normalised = matches!(node.op, Op::Embed { .. } | Op::AddNorm { .. });
            // SAFETY: no task runs; the value was computed by the step before.
            let outliers = if normalised { stand_out(unsafe { work.rows(value) }, node.width) } else { Vec::new() };
            // Packing needs the weights alone.
            drop(work);
            for id in readers(graph, value) {
                if !std::mem::replace(&mut packed[id.0], true) {
                    pack(shared, weights, id, &outliers)?;
                }
            }
            work = Work::new(Arc::clone(shared), Arc::clone(graph), Arc::clone(batch), plan.clone(), &mut area);
        }
        // SAFETY: the area lives on, earlier steps are done, this thread alone works.
        (0..plan.tasks[i]).for_each(|task| unsafe { work.task(i, task, 0) });
    }
    (0..weights.len()).filter(|id| !packed[*id]).try_for_each(|id| pack(shared, weights, WeightId(id), &[]))
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

/// The columns whose largest number stands out, in ascending order; at most [`OUTLIERS`], the largest.
fn stand_out<'a>(rows: impl Iterator<Item = &'a [f32]>, width: usize) -> Vec<u32> {
    let mut largest = vec![0f32; width];
    for row in rows {
        largest.iter_mut().zip(row).for_each(|(l, x)| *l = l.max(x.abs()));
    }
    let mut columns: Vec<u32> = (0..width as u32).collect();
    columns.sort_by(|a, b| largest[*b as usize].total_cmp(&largest[*a as usize]).then(a.cmp(b)));
    let limit = columns.get(width / 2).map_or(0.0, |median| largest[*median as usize] * STANDS_OUT);
    let most = OUTLIERS.min(width / 16);
    let mut out: Vec<u32> = columns.into_iter().take(most).filter(|c| largest[*c as usize] > limit).collect();
    out.sort_unstable();
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_that_stand_out_are_found_and_are_few() {
        let rows: Vec<Vec<f32>> = (0..10).map(|r| (0..64).map(|c| ((r * 7 + c * 3) % 11) as f32 / 10.0).collect()).collect();
        let found = |rows: &[Vec<f32>]| stand_out(rows.iter().map(Vec::as_slice), 64);
        assert!(found(&rows).is_empty());
        let mut one = rows.clone();
        (one[3][17], one[5][40]) = (-9.0, 3.0);
        assert_eq!(found(&one), [17, 40]);
        let many: Vec<Vec<f32>> =
            rows.iter().map(|r| r.iter().enumerate().map(|(c, x)| if c < 20 { x * 5.0 + 5.0 } else { *x }).collect()).collect();
        assert_eq!(found(&many).len(), 4, "a sixteenth of the columns at most");
    }
}
