//! Graph and batch in, the result's rows out.
//!
//! A run is laid out by [`super::plan`], checked against the weights (kernels trust what they are given), and worked through
//! step by step by the threads that come ([`crate::engine::threads::Steps`]). Work areas are kept for the next call.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use super::attention_bf16::Bf16;
use super::buffer::Buffer;
use super::calibrate::{Calibration, calibrate};
use super::check::check;
use super::kernels::{self, Kernels};
use super::ops::Work;
use super::pack::Packed;
use super::plan::{Plan, When};
use super::reference;
use crate::engine::batch::Batch;
use crate::engine::control::Control;
use crate::engine::graph::{Graph, Op};
use crate::engine::threads::{Job, Pool, Steps};
use crate::engine::weights::{Precision, Weight};
use crate::error::{Error, ErrorKind, Result};

/// Memory of an engine, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Weights in this process's own memory.
    pub weights_owned: usize,
    /// Weights read where they lie in a mapped file.
    pub weights_mapped: usize,
    /// Work areas, in use or kept.
    pub areas: usize,
    /// Runs going on now.
    pub runs: usize,
}

/// Packed weights and what it takes to run graphs over them. May be used from many threads at once: each run has a work area
/// of its own.
pub struct Engine {
    shared: Arc<Shared>,
    pool: Pool,
    kept: Mutex<Vec<Buffer>>,
    area_bytes: AtomicUsize,
    runs: AtomicUsize,
    precision: Precision,
}

/// What helpers may still hold for a moment after a run has returned.
pub(super) struct Shared {
    pub kernels: &'static Kernels,
    pub weights: Packed,
    /// Attention's arithmetic where it is not f32.
    pub bf16: Option<&'static Bf16>,
}

/// Work areas kept at most; more are freed when their run ends.
const KEPT_AREAS: usize = 16;

impl Engine {
    /// Packs `weights` for the instruction set called `isa` (see [`kernels::choose`]): as f32, or as int8 after a run of
    /// `int8` (see [`super::calibrate`]).
    ///
    /// # Errors
    /// `NonFinite` naming a damaged tensor, `OutOfMemory`, `InvalidArgument` for an instruction set that is not here.
    pub fn new(weights: &[Weight], isa: Option<&str>, int8: Option<&Calibration>) -> Result<Engine> {
        let kernels = kernels::choose(isa)?;
        let precision = if int8.is_some() { Precision::Int8 } else { Precision::F32 };
        let mut shared = Arc::new(Shared { kernels, weights: Packed::new(weights, precision)?, bf16: int8.and(kernels.bf16) });
        if let Some(calibration) = int8 {
            calibrate(&mut shared, weights, calibration)?;
        }
        Ok(Engine {
            shared,
            pool: Pool::new(),
            kept: Mutex::new(Vec::new()),
            area_bytes: AtomicUsize::new(0),
            runs: AtomicUsize::new(0),
            precision,
        })
    }

    /// Arithmetic of the matrices.
    pub fn precision(&self) -> Precision {
        self.precision
    }

    /// The instruction set in use.
    pub fn isa(&self) -> &'static str {
        self.shared.kernels.name
    }

    /// Runs `graph` over `batch` on up to `threads` threads and returns the last value, row after row; `None` when `control`
    /// stopped it. Every row is the same, bit for bit, whatever else is in the batch and however many threads work.
    ///
    /// # Errors
    /// `InvalidArgument` for token ids, positions or segments that the model has no embedding for; `OutOfMemory`.
    pub fn run(&self, graph: &Arc<Graph>, batch: &Arc<Batch>, threads: usize, control: &Control) -> Result<Option<Vec<f32>>> {
        Ok(self.run_for_all(graph, batch, threads, control)?.map(|mut results| results.pop().unwrap_or_default()))
    }

    /// As [`Engine::run`]: every value that the graph keeps, and the last.
    ///
    /// # Errors
    /// As [`Engine::run`].
    pub fn run_for_all(&self, graph: &Arc<Graph>, batch: &Arc<Batch>, threads: usize, control: &Control) -> Result<Option<Vec<Vec<f32>>>> {
        if batch.sequences() == 0 {
            return Ok(Some(graph.results().map(|_| Vec::new()).collect()));
        }
        check(graph, batch, &self.shared.weights)?;
        let plan = Plan::new(graph, batch, &self.shared.weights, threads.max(1), When::AtOnce)?;
        let _counted = Counted::new(&self.runs);
        let mut area = self.area(plan.len())?;
        let work = Work::new(Arc::clone(&self.shared), Arc::clone(graph), Arc::clone(batch), plan, &mut area);
        // SAFETY: the area lives until the call is over.
        let run = unsafe { work_through(&self.pool, work, control) };
        let (work, steps) = &*run;
        let result = if steps.is_panicked() {
            Err(Error::new(ErrorKind::Panic, "a kernel panicked: a bug in Cloze, please report it"))
        } else if steps.is_halted() {
            Ok(None)
        } else {
            Ok(Some(graph.results().map(|value| work.result(value, &area)).collect()))
        };
        self.keep(area);
        result
    }

    /// Does `count` tasks that are no graph's on up to `threads` threads, and returns when all are done.
    pub fn each(&self, threads: usize, count: usize, task: impl Fn(usize) + Send + Sync + 'static) {
        self.pool.each(threads, count, task);
    }

    /// The bytes that [`Engine::run`] needs beside the weights.
    ///
    /// # Errors
    /// `OutOfMemory` when the number is beyond what can be counted.
    pub fn run_bytes(&self, graph: &Graph, batch: &Batch, threads: usize) -> Result<usize> {
        let plan = Plan::new(graph, batch, &self.shared.weights, threads.max(1), When::AtOnce)?;
        let result = plan.places.last().map_or(0, |p| p.rows * p.stride);
        Ok((plan.len() + result) * 4)
    }

    /// What head `head` of the attention `op` looks at, (tokens, tokens), by the definition and in double precision: row `i` has the
    /// weights with which token `i` mixes the others' values. `read` is what the operation reads, row after row.
    ///
    /// # Panics
    /// If `map` has not as many rows and columns as `read` has rows.
    pub fn attention_map(&self, op: &Op, read: &[f32], head: usize, map: &mut [f32]) {
        reference::attention_map(op, &self.shared.weights, read, head, map);
    }

    /// Memory held now.
    pub fn usage(&self) -> Usage {
        let (owned, mapped) = self.shared.weights.bytes();
        let (areas, runs) = (self.area_bytes.load(Ordering::Relaxed), self.runs.load(Ordering::Relaxed));
        Usage { weights_owned: owned, weights_mapped: mapped, areas, runs }
    }

    /// Frees the work areas that no run uses.
    pub fn trim(&self) {
        if let Ok(mut kept) = self.kept.try_lock() {
            let freed: usize = kept.drain(..).map(|b| b.bytes()).sum();
            self.area_bytes.fetch_sub(freed, Ordering::Relaxed);
        }
    }

    /// A work area of at least `len` numbers: a kept one where one is large enough. The lock is only tried: a forked child may
    /// find it held for ever.
    fn area(&self, len: usize) -> Result<Buffer> {
        if let Ok(mut kept) = self.kept.try_lock() {
            if let Some(i) = kept.iter().position(|b| b.len() >= len) {
                return Ok(kept.swap_remove(i));
            }
            // Too small for this call: make room rather than keep both.
            if let Some(small) = kept.pop() {
                self.area_bytes.fetch_sub(small.bytes(), Ordering::Relaxed);
            }
        }
        let area = Buffer::zeroed(len)?;
        self.area_bytes.fetch_add(area.bytes(), Ordering::Relaxed);
        Ok(area)
    }

    fn keep(&self, area: Buffer) {
        let bytes = area.bytes();
        if let Ok(mut kept) = self.kept.try_lock()
            && kept.len() < KEPT_AREAS
        {
            kept.push(area);
            return;
        }
        self.area_bytes.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// Does the tasks of a run on the threads of `pool` until all are done or `control` stops it. Helpers may hold the run a moment longer.
///
/// # Safety
/// What the run's tasks write lives until the call returns: by then no task runs or will.
pub(super) unsafe fn work_through(pool: &Pool, work: Work, control: &Control) -> Arc<(Work, Steps)> {
    let threads = work.plan.threads;
    let steps = Steps::new(&work.plan.tasks, threads);
    let run = Arc::new((work, steps));
    let (shared, control) = (Arc::clone(&run), control.clone());
    let job: Job = Arc::new(move |thread| {
        let (work, steps) = &*shared;
        // SAFETY: `Steps` gives each task to one thread, in an order in which inputs are complete; the rest is the caller's contract.
        steps.work(thread, || thread == 0 && control.stopped().is_some(), |step, task| unsafe { work.task(step, task, thread) });
    });
    pool.run(threads, &job);
    run
}

/// Counts a run while it goes on.
struct Counted<'a>(&'a AtomicUsize);

impl<'a> Counted<'a> {
    fn new(counter: &'a AtomicUsize) -> Self {
        counter.fetch_add(1, Ordering::Relaxed);
        Counted(counter)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
