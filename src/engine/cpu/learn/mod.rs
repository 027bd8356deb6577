//! A model that changes: gradients of a batch, and the step along them.
//!
//! [`Learner`] holds the weights of a model as `pack` lays them out for learning, and beside each number its gradient and the
//! optimiser's two moments. [`Learner::run`] runs a graph that `engine::gradient` made; [`Learner::step`] changes the weights
//! ([`optimiser`], [`lamb`]). The operations are in [`work`], [`attention`], [`vocabulary`] and [`losses`], cut into tasks by [`plan`], over the functions
//! of [`kernels`] ([`product`], [`rows`]; [`mod@reference`] is their definition).
//!
//! **Why results do not depend on the threads.** A task computes the same numbers in the same order whoever runs it, each number of a gradient
//! belongs to one task of an operation, and sums that several tasks share are noted apart and added in a fixed order.

mod attention;
pub(super) mod check;
mod disentangled;
pub(super) mod kernels;
mod lamb;
mod losses;
mod optimiser;
pub(super) mod plan;
pub(super) mod product;
pub(super) mod reference;
pub(super) mod rows;
mod terms;
#[cfg(test)]
mod tests;
mod vocabulary;
mod work;

use std::ops::Range;
use std::sync::Arc;

pub use optimiser::{Method, Step};
pub(super) use work::Study;

use super::buffer::Buffer;
use super::check::check;
use super::kernels::choose;
use super::ops::Work;
use super::pack::Packed;
use super::pack::learning::Transposed;
use super::plan::{Plan, When};
use super::run::{Shared, work_through};
use crate::engine::batch::Batch;
use crate::engine::control::Control;
use crate::engine::graph::{Graph, ValueId, WeightId};
use crate::engine::lesson::{Cost, Lesson};
use crate::engine::threads::Pool;
use crate::engine::weights::{Role, Weight};
use crate::error::{Error, ErrorKind, Result, fail};
use crate::quant::Tensor;

/// The weights of a model that learns.
pub struct Learner {
    shared: Arc<Shared>,
    pool: Pool,
    threads: usize,
    area: Option<Buffer>,
    gradients: Buffer,
    means: Buffer,
    squares: Buffer,
    transposed: Vec<Transposed>,
    weights: Vec<Kept>,
    /// Rows of weights that stay as they are.
    held: Vec<(WeightId, Range<usize>)>,
}

/// Numbers that a loss reports of a row: the cost, whether it was right, and the word drawn, bit by bit.
const REPORTED: usize = 3;

/// What is known of a weight.
#[derive(Clone, Debug)]
struct Kept {
    role: Role,
    rows: usize,
    row_len: usize,
    /// The rows of each tensor that it is made of.
    tensors: Vec<usize>,
}

/// The numbers of a learner that a checkpoint keeps, in its own layout: the weights, and both moments of the optimiser.
pub struct State<'a> {
    /// The weights.
    pub numbers: &'a [f32],
    /// Means of gradients.
    pub means: &'a [f32],
    /// Means of their squares.
    pub squares: &'a [f32],
}

impl Learner {
    /// A learner of `weights` on up to `threads` threads and the instruction set called `isa`.
    ///
    /// # Errors
    /// `NonFinite` naming a damaged tensor, `OutOfMemory`, `InvalidArgument` for an instruction set that is not here.
    pub fn new(weights: &[Weight], isa: Option<&str>, threads: usize) -> Result<Learner> {
        let kernels = choose(isa)?;
        let packed = Packed::learning(weights)?;
        let learned = packed.learned();
        let transposed = packed.transposed();
        let kept = |w: &Weight| {
            let tensors = w.tensors.iter().map(Tensor::rows).collect();
            Kept { role: w.role, rows: w.rows(), row_len: w.tensors[0].row_len(), tensors }
        };
        let mut learner = Learner {
            shared: Arc::new(Shared { kernels, weights: packed, bf16: None }),
            pool: Pool::new(),
            threads: threads.max(1),
            area: None,
            gradients: Buffer::zeroed(learned)?,
            means: Buffer::zeroed(learned)?,
            squares: Buffer::zeroed(learned)?,
            transposed,
            weights: weights.iter().map(kept).collect(),
            held: Vec::new(),
        };
        learner.transpose()?;
        Ok(learner)
    }

    /// Keeps the rows `rows` of weight `id`, a table or a vector, as they are: they get no gradient.
    pub fn hold(&mut self, id: WeightId, rows: Range<usize>) {
        self.held.push((id, rows));
    }

    /// How many weights there are: the transposed form of `w` is the weight `w` plus this.
    pub fn count(&self) -> usize {
        self.weights.len()
    }

    /// How many numbers a run of `graph` over `batch` needs beside the model's: values, notes, and scratch of the threads.
    ///
    /// # Errors
    /// As [`Learner::run`].
    pub fn needs(&self, graph: &Graph, batch: &Batch) -> Result<usize> {
        check(graph, batch, &self.shared.weights)?;
        Ok(Plan::new(graph, batch, &self.shared.weights, self.threads, When::AtOnce)?.len())
    }

    /// The instruction set in use.
    pub fn isa(&self) -> &'static str {
        self.shared.kernels.name
    }

    /// Runs `graph` over `batch`, adds to the gradients, and returns what each row of each of `losses` cost.
    ///
    /// # Errors
    /// `InvalidArgument` for tokens that the model has no embedding for, or targets that do not fit; `OutOfMemory`.
    pub fn run(&mut self, graph: &Arc<Graph>, losses: &[ValueId], batch: &Arc<Batch>, lesson: &Arc<Lesson>) -> Result<Vec<Vec<Cost>>> {
        check(graph, batch, &self.shared.weights)?;
        check::check_targets(graph, batch, lesson)?;
        let plan = Plan::new(graph, batch, &self.shared.weights, self.threads, When::AtOnce)?;
        let mut area = match self.area.take() {
            Some(area) if area.len() >= plan.len() => area,
            small => {
                drop(small);
                Buffer::zeroed(plan.len())?
            }
        };
        let mut work = Work::new(Arc::clone(&self.shared), Arc::clone(graph), Arc::clone(batch), plan, &mut area);
        work.study = Some(Study { gradients: self.gradients.as_mut_pointer(), lesson: Arc::clone(lesson) });
        // SAFETY: the area lives until the call is over, the gradients as long as the learner.
        let run = unsafe { work_through(&self.pool, work, &Control::default()) };
        let (work, steps) = &*run;
        if steps.is_panicked() {
            return fail(ErrorKind::Panic, "a kernel panicked: a bug in Cloze, please report it");
        }
        let costs = losses.iter().map(|loss| work.report(*loss, &area)).collect();
        // Helpers may hold the weights a moment longer; they can be changed when this thread alone does.
        while Arc::strong_count(&run) > 1 {
            std::thread::yield_now();
        }
        drop(run);
        for (id, rows) in &self.held {
            let (first, width) = (self.shared.weights.place(*id).start, self.weights[id.0].row_len);
            self.gradients[first + rows.start * width..first + rows.end * width].fill(0.0);
        }
        self.area = Some(area);
        Ok(costs)
    }

    /// The rows `rows` of weight `id`, one after another.
    pub fn weight(&self, id: WeightId, rows: Range<usize>) -> Vec<f32> {
        self.shared.weights.unpacked(id, self.shared.weights.numbers(), rows, self.weights[id.0].row_len)
    }

    /// The gradient of weight `id`, row after row.
    pub fn gradient(&self, id: WeightId) -> Vec<f32> {
        let Kept { rows, row_len, .. } = &self.weights[id.0];
        self.shared.weights.unpacked(id, &self.gradients, 0..*rows, *row_len)
    }

    /// All gradients, in a layout of the learner's own; other learners of the same model have it, too.
    pub fn gradients_mut(&mut self) -> &mut [f32] {
        &mut self.gradients
    }

    /// What a checkpoint keeps.
    pub fn state(&self) -> State<'_> {
        let numbers = &self.shared.weights.numbers()[..self.gradients.len()];
        State { numbers, means: &self.means, squares: &self.squares }
    }

    /// Takes up what a checkpoint kept.
    ///
    /// # Errors
    /// `InvalidFile` for another number of numbers: the checkpoint is of another model.
    pub fn restore(&mut self, state: &State<'_>) -> Result<()> {
        let learned = self.gradients.len();
        if [state.numbers, state.means, state.squares].iter().any(|part| part.len() != learned) {
            let told = format!("the checkpoint has {} numbers, the model {learned}: it is of another model", state.numbers.len());
            return fail(ErrorKind::InvalidFile, told);
        }
        self.means.copy_from_slice(state.means);
        self.squares.copy_from_slice(state.squares);
        self.gradients.fill(0.0);
        self.alone()?.weights.numbers_mut()[..learned].copy_from_slice(state.numbers);
        self.transpose()
    }

    /// The shared part, which nobody else holds between runs.
    fn alone(&mut self) -> Result<&mut Shared> {
        let busy = || Error::new(ErrorKind::Panic, "a run still holds the weights: a bug in Cloze, please report it");
        Arc::get_mut(&mut self.shared).ok_or_else(busy)
    }

    /// Writes the transposed form of every matrix.
    fn transpose(&mut self) -> Result<()> {
        let numbers = Numbers(self.alone()?.weights.numbers_mut().as_mut_ptr());
        let panels: Arc<Vec<Transposed>> = Arc::new(self.transposed.clone());
        let count = panels.len();
        // SAFETY: each task writes a panel of its own and reads matrices that nobody writes meanwhile.
        self.pool.each(self.threads, count, move |i| unsafe { panels[i].copy(numbers.pointer()) });
        Ok(())
    }
}

/// A pointer to numbers of which each task uses its own.
#[derive(Clone, Copy)]
struct Numbers(*mut f32);

impl Numbers {
    fn pointer(&self) -> *mut f32 {
        self.0
    }
}

// SAFETY: tasks use disjoint numbers (the contract of those who make one).
unsafe impl Send for Numbers {}
// SAFETY: as above.
unsafe impl Sync for Numbers {}

impl Work {
    /// What each row of the loss `value` cost.
    fn report(&self, value: ValueId, area: &Buffer) -> Vec<Cost> {
        let rows = self.place(value.index()).rows;
        let report = &area[self.plan.sides[value.index()].report..][..REPORTED * rows];
        report.chunks_exact(REPORTED).map(|row| Cost { loss: row[0], right: row[1] != 0.0, drawn: row[2].to_bits() }).collect()
    }
}
