//! Who does the work?
//!
//! The calling thread always works; a [`Pool`] lends it helpers. Helpers are started at the first call that asks for more
//! than one thread, sleep between calls, and join a job when they wake: a job never waits for a helper that has not come (see
//! [`Steps`]), so a busy machine costs speed, not time lost at barriers. When the helpers are lent out to one call, other
//! calls of the same model run on their own thread alone.
//!
//! After `fork` a child has none of its parent's threads: the pool notices the new process id and starts a team of its own.
//! Locks are only ever tried, never waited for, so that a lock that a parent's thread held at the fork cannot hang the child.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, TryLockError};
use std::thread::JoinHandle;

/// Threads of one call when nobody says a number: what the affinity mask and the cgroup quota allow.
pub fn default_threads() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Stack of a helper: kernels need little. Said here because the default is read from the environment.
const STACK_BYTES: usize = 1 << 20;

/// Work that any number of threads may join: called with the number of the thread, 0 for the caller.
pub type Job = Arc<dyn Fn(usize) + Send + Sync>;

/// Helpers of one model.
#[derive(Default)]
pub struct Pool {
    here: OnceLock<Box<Process>>,
}

/// The team of one process: a forked child appends its own.
struct Process {
    id: u32,
    team: Mutex<Team>,
    child: OnceLock<Box<Process>>,
}

impl Process {
    fn new() -> Box<Process> {
        let id = std::process::id();
        Box::new(Process { id, team: Mutex::new(Team { process: id, helpers: Vec::new() }), child: OnceLock::new() })
    }
}

impl Pool {
    /// A pool without threads.
    pub fn new() -> Self {
        Self::default()
    }

    /// Calls `job(0)` on this thread, and `job(1..threads)` on helpers as they come, if they are free. Returns when `job(0)`
    /// returns; helpers may still be inside `job` then, and drop their reference to it when they leave.
    pub fn run(&self, threads: usize, job: &Job) {
        let lent = if threads > 1 { self.lend(threads - 1, job) } else { None };
        job(0);
        drop(lent);
    }

    /// Does `count` tasks on up to `threads` threads, this one among them, and returns when all are done.
    pub fn each(&self, threads: usize, count: usize, task: impl Fn(usize) + Send + Sync + 'static) {
        let threads = threads.min(count).max(1);
        let steps = Steps::new(&[count], threads);
        self.run(threads, &(Arc::new(move |thread| steps.work(thread, || false, |_, number| task(number))) as Job));
    }

    /// Threads that the pool has started in this process.
    pub fn started(&self) -> usize {
        try_lock(self.team()).map_or(0, |team| team.helpers.len())
    }

    fn lend(&self, helpers: usize, job: &Job) -> Option<MutexGuard<'_, Team>> {
        let mut team = try_lock(self.team())?;
        team.start(helpers);
        team.call(helpers, job);
        Some(team)
    }

    fn team(&self) -> &Mutex<Team> {
        let id = std::process::id();
        let mut process = self.here.get_or_init(Process::new);
        while process.id != id {
            process = process.child.get_or_init(Process::new);
        }
        &process.team
    }
}

/// The guard, or `None` where another thread holds the lock. A panic of a former holder leaves nothing half done.
fn try_lock<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    match mutex.try_lock() {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

struct Team {
    process: u32,
    helpers: Vec<Helper>,
}

struct Helper {
    desk: Arc<Desk>,
    thread: Option<JoinHandle<()>>,
}

/// Where a helper finds its next job.
#[derive(Default)]
struct Desk {
    order: Mutex<Order>,
    bell: Condvar,
}

#[derive(Default)]
enum Order {
    #[default]
    Wait,
    Work(Job),
    Leave,
}

impl Team {
    /// Starts helpers until there are `count`; fewer where the system refuses.
    fn start(&mut self, count: usize) {
        while self.helpers.len() < count {
            let number = self.helpers.len() + 1;
            let desk = Arc::new(Desk::default());
            let own = Arc::clone(&desk);
            let spawned =
                std::thread::Builder::new().name(format!("cloze-{number}")).stack_size(STACK_BYTES).spawn(move || serve(&own, number));
            let Ok(thread) = spawned else { return };
            self.helpers.push(Helper { desk, thread: Some(thread) });
        }
    }

    fn call(&self, count: usize, job: &Job) {
        self.helpers.iter().take(count).for_each(|h| h.desk.put(Order::Work(Arc::clone(job))));
    }
}

impl Desk {
    fn put(&self, order: Order) {
        *self.order.lock().unwrap_or_else(|e| e.into_inner()) = order;
        self.bell.notify_one();
    }

    fn take(&self) -> Order {
        let mut order = self.order.lock().unwrap_or_else(|e| e.into_inner());
        while matches!(*order, Order::Wait) {
            order = self.bell.wait(order).unwrap_or_else(|e| e.into_inner());
        }
        std::mem::take(&mut *order)
    }
}

/// A helper's life. A panic inside a job is the job's to report (see [`Steps`]); the helper stays.
fn serve(desk: &Desk, number: usize) {
    loop {
        match desk.take() {
            Order::Work(job) => drop(catch_unwind(AssertUnwindSafe(|| job(number)))),
            Order::Leave => return,
            Order::Wait => {}
        }
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        let here = self.process == std::process::id();
        for helper in &mut self.helpers {
            let thread = helper.thread.take();
            if here {
                helper.desk.put(Order::Leave);
                // A model may be freed by a helper itself (the last reference was its job's): a thread cannot join itself.
                if let Some(thread) = thread.filter(|t| t.thread().id() != std::thread::current().id()) {
                    drop(thread.join());
                }
            } else {
                // A forked child: the threads do not exist here, so there is nothing to stop or join.
                std::mem::forget(thread);
            }
        }
    }
}

/// Steps of a job, each cut into tasks that any thread may take. A step begins when all tasks of the one before are done.
///
/// Threads come and go as they like: each walks the steps in order, takes tasks while there are any, waits for those that
/// others took, and goes on. One that comes late finds the first steps done and catches up. Which thread runs a task never
/// changes what the task computes.
///
/// The tasks of a step are dealt out in as many lanes as there are threads, in order: a thread begins with its own lane, so that
/// it mostly finds in its cache what it wrote in the step before, and then helps with the others'.
pub struct Steps {
    lanes: usize,
    counters: Vec<Lane>,
    done: Vec<Done>,
    halted: AtomicBool,
    panicked: AtomicBool,
}

// A cache line each: threads write one counter while others read its neighbour.
#[repr(align(64))]
struct Lane {
    end: usize,
    next: AtomicUsize,
}

#[repr(align(64))]
struct Done {
    tasks: usize,
    count: AtomicUsize,
}

/// A task number that no step has: a lane set to it gives out no more.
const CLOSED: usize = usize::MAX / 2;

impl Steps {
    /// Steps with these numbers of tasks, for `lanes` threads.
    pub fn new(tasks: &[usize], lanes: usize) -> Self {
        let lanes = lanes.max(1);
        let lane = |(tasks, lane): (usize, usize)| Lane { end: tasks * (lane + 1) / lanes, next: AtomicUsize::new(tasks * lane / lanes) };
        Steps {
            lanes,
            counters: tasks.iter().flat_map(|t| (0..lanes).map(move |l| (*t, l))).map(lane).collect(),
            done: tasks.iter().map(|t| Done { tasks: *t, count: AtomicUsize::new(0) }).collect(),
            halted: AtomicBool::new(false),
            panicked: AtomicBool::new(false),
        }
    }

    /// Works through the steps as thread `thread` until all are done or the job is halted. `halt` is asked before each step (by
    /// the caller's thread; helpers pass `|| false`); `task(step, number)` does one task.
    pub fn work(&self, thread: usize, halt: impl Fn() -> bool, task: impl Fn(usize, usize)) {
        for (i, done) in self.done.iter().enumerate() {
            let lanes = &self.counters[i * self.lanes..(i + 1) * self.lanes];
            if halt() {
                self.halt(i);
                return;
            }
            for offset in 0..self.lanes {
                let lane = &lanes[(thread + offset) % self.lanes];
                while let Some(number) = self.take(lane) {
                    if catch_unwind(AssertUnwindSafe(|| task(i, number))).is_err() {
                        self.panicked.store(true, Ordering::Release);
                    }
                    done.count.fetch_add(1, Ordering::AcqRel);
                }
            }
            if !self.wait(done) {
                return;
            }
        }
    }

    /// Whether the job was halted before its end.
    pub fn is_halted(&self) -> bool {
        self.halted.load(Ordering::Acquire)
    }

    /// Whether a task panicked; its results are then worthless.
    pub fn is_panicked(&self) -> bool {
        self.panicked.load(Ordering::Acquire)
    }

    fn take(&self, lane: &Lane) -> Option<usize> {
        // Looking first keeps threads that come to an empty lane from fighting over its counter.
        if self.halted.load(Ordering::Acquire) || lane.next.load(Ordering::Relaxed) >= lane.end {
            return None;
        }
        Some(lane.next.fetch_add(1, Ordering::AcqRel)).filter(|n| *n < lane.end)
    }

    /// Marks the job halted, lets nobody take another task, and waits for those taken. Helpers may be steps ahead of the
    /// caller: it stands before `step`, and they have done that step and gone on.
    fn halt(&self, step: usize) {
        self.halted.store(true, Ordering::Release);
        for (lanes, done) in self.counters.chunks(self.lanes).zip(&self.done).skip(step) {
            let left: usize = lanes.iter().map(|l| l.end.saturating_sub(l.next.swap(CLOSED, Ordering::AcqRel))).sum();
            while done.count.load(Ordering::Acquire) < done.tasks - left {
                std::thread::yield_now();
            }
        }
    }

    /// Waits until the step's tasks are done; `false` when the job was halted instead.
    fn wait(&self, done: &Done) -> bool {
        let mut spins = 0u32;
        while done.count.load(Ordering::Acquire) < done.tasks {
            if self.halted.load(Ordering::Acquire) {
                return false;
            }
            // Steps are microseconds long: a short spin mostly suffices; after that the core belongs to whoever holds the task.
            spins += 1;
            if spins < 2000 { std::hint::spin_loop() } else { std::thread::yield_now() }
        }
        !self.halted.load(Ordering::Acquire)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(threads: usize, tasks: &[usize], halt_at: Option<usize>) -> (Arc<Steps>, Vec<usize>) {
        let pool = Pool::new();
        let steps = Arc::new(Steps::new(tasks, threads));
        let counts: Arc<Vec<AtomicUsize>> = Arc::new(tasks.iter().map(|_| AtomicUsize::new(0)).collect());
        let order = Arc::new(AtomicUsize::new(0));
        let (s, c) = (Arc::clone(&steps), Arc::clone(&counts));
        let job: Job = Arc::new(move |thread| {
            let at = std::cell::Cell::new(0);
            let halt = || {
                at.set(at.get() + 1);
                thread == 0 && halt_at == Some(at.get() - 1)
            };
            s.work(thread, halt, |step, _| {
                assert!(order.fetch_max(step, Ordering::SeqCst) <= step, "a step began before the one before was done");
                c[step].fetch_add(1, Ordering::SeqCst);
            });
        });
        pool.run(threads, &job);
        (steps, counts.iter().map(|n| n.load(Ordering::SeqCst)).collect())
    }

    #[test]
    fn every_task_runs_once_and_steps_keep_their_order() {
        for threads in [1, 2, 3, 8] {
            let tasks: Vec<usize> = (0..200).map(|i| i % 7).collect();
            let (steps, counts) = run(threads, &tasks, None);
            assert_eq!(counts, tasks, "{threads} threads");
            assert!(!steps.is_halted() && !steps.is_panicked());
        }
    }

    #[test]
    fn alone_a_halted_job_runs_no_later_step() {
        let (steps, counts) = run(1, &[5; 50], Some(20));
        assert!(steps.is_halted());
        assert_eq!((&counts[..20], &counts[20..]), (&[5; 20][..], &[0; 30][..]));
    }

    /// Helpers may be steps ahead of the caller when it halts the job, but once its call returns no task runs any more: the
    /// caller takes the work area back.
    #[test]
    fn when_a_halted_call_returns_no_task_runs_any_more() {
        let pool = Pool::new();
        for round in 0..300 {
            let steps = Arc::new(Steps::new(&[8; 60], 4));
            let inside = Arc::new(AtomicUsize::new(0));
            let (s, i) = (Arc::clone(&steps), Arc::clone(&inside));
            let job: Job = Arc::new(move |thread| {
                let asked = std::cell::Cell::new(0);
                let halt = || {
                    asked.set(asked.get() + 1);
                    thread == 0 && asked.get() > round % 40
                };
                s.work(thread, halt, |_, _| {
                    i.fetch_add(1, Ordering::SeqCst);
                    (0..200).for_each(|_| std::hint::spin_loop());
                    i.fetch_sub(1, Ordering::SeqCst);
                });
            });
            pool.run(4, &job);
            assert!(steps.is_halted());
            for _ in 0..50 {
                assert_eq!(inside.load(Ordering::SeqCst), 0, "round {round}: a task runs after the call returned");
                std::thread::yield_now();
            }
        }
    }

    #[test]
    fn a_panicking_task_is_reported_and_hangs_nobody() {
        let steps = Steps::new(&[3, 3], 2);
        steps.work(0, || false, |step, number| assert!((step, number) != (0, 1), "planted"));
        assert!(steps.is_panicked());
    }

    #[test]
    fn helpers_start_at_the_first_call_that_needs_them_and_end_with_the_pool() {
        let pool = Pool::new();
        let job: Job = Arc::new(|_| {});
        pool.run(1, &job);
        assert_eq!(pool.started(), 0);
        pool.run(3, &job);
        assert_eq!(pool.started(), 2);
        drop(pool);
        // Joined: nobody holds the job any more.
        assert_eq!(Arc::strong_count(&job), 1);
    }

    #[test]
    fn a_second_call_runs_alone_while_the_helpers_are_lent() {
        let pool = Arc::new(Pool::new());
        let alone = Arc::new(AtomicUsize::new(0));
        let (p, a) = (Arc::clone(&pool), Arc::clone(&alone));
        let outer: Job = Arc::new(move |thread| {
            if thread == 0 {
                let a = Arc::clone(&a);
                let inner: Job = Arc::new(move |_| {
                    a.fetch_add(1, Ordering::SeqCst);
                });
                p.run(4, &inner);
            }
        });
        pool.run(4, &outer);
        assert_eq!(alone.load(Ordering::SeqCst), 1);
    }
}
