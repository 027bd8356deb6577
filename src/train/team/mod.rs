//! Who learns together: this process alone, or as many as MPI started?
//!
//! Every process has the whole model and makes every step's examples, runs its share of them, and adds up gradients and costs with the others, in the order of
//! their ranks: all then have the same sums to the bit, move their weights alike, and the same number of processes ends with the same bits each
//! time. The first one alone writes and tells. [`Exchange`] is what is asked of MPI (`mpi.rs`; the feature `mpi`).

#[cfg(feature = "mpi")]
mod mpi;
#[cfg(test)]
mod tests;

use std::ops::Range;

use xxhash_rust::xxh3::xxh3_64;

use crate::error::{ErrorKind, Result, fail};

/// Numbers of one process in one exchange of gradients: what they need beside the gradients is twice this a process.
const SEGMENT: usize = 1 << 20;

/// How processes hand numbers to each other. Every process calls the same, in the same order; a process that ends meanwhile ends all.
trait Exchange {
    /// Part `r` of `sent` goes to the process of rank `r`, whose part of `received` is number `rank` there. All parts are equally long.
    fn all_to_all(&self, sent: &[f32], received: &mut [f32]);
    /// What each process has, one after another.
    fn all_gather(&self, own: &[f32], all: &mut [f32]);
    /// As `all_gather`, of a few numbers that count.
    fn all_gather_wide(&self, own: &[f64], all: &mut [f64]);
    /// Says that this process is done.
    fn leave(self: Box<Self>);
}

/// The processes that learn together.
pub struct Team {
    rank: usize,
    size: usize,
    exchange: Option<Box<dyn Exchange>>,
}

impl Team {
    /// This process alone.
    pub fn alone() -> Team {
        Team { rank: 0, size: 1, exchange: None }
    }

    /// This process and those that were started with it: by `mpirun`, `srun` or the like, or none.
    ///
    /// # Errors
    /// `Unsupported` where there are others and this program was built without MPI: each would do the whole run.
    pub fn join() -> Result<Team> {
        #[cfg(feature = "mpi")]
        return mpi::join();
        #[cfg(not(feature = "mpi"))]
        {
            let started = std::env::var("OMPI_COMM_WORLD_SIZE").ok().and_then(|size| size.parse::<usize>().ok());
            if started.is_some_and(|size| size > 1) {
                let told =
                    "started by mpirun, but built without MPI: build it by `cargo build --release --features mpi`, or start it alone";
                return fail(ErrorKind::Unsupported, told);
            }
            Ok(Team::alone())
        }
    }

    /// How many processes there are.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Whether this is the one that writes and tells.
    pub fn leads(&self) -> bool {
        self.rank == 0
    }

    /// Says that this process is done. Without it, its end is the end of all.
    pub fn leave(self) {
        if let Some(exchange) = self.exchange {
            exchange.leave();
        }
    }

    /// Which of `count` examples this process takes: neighbours, as many as the others or one more.
    pub(super) fn share(&self, count: usize) -> Range<usize> {
        let first = |rank: usize| rank * (count / self.size) + rank.min(count % self.size);
        first(self.rank)..first(self.rank + 1)
    }

    /// Replaces each number by its sum over the processes.
    pub(super) fn sum(&self, numbers: &mut [f64]) {
        let Some(exchange) = &self.exchange else { return };
        let mut all = vec![0.0; numbers.len() * self.size];
        exchange.all_gather_wide(numbers, &mut all);
        numbers.iter_mut().enumerate().for_each(|(i, sum)| *sum = all.iter().skip(i).step_by(all.len() / self.size).sum());
    }

    /// Whether one of the processes says so.
    pub(super) fn any(&self, says: bool) -> bool {
        let mut count = [f64::from(u8::from(says))];
        self.sum(&mut count);
        count[0] > 0.0
    }

    /// Replaces each gradient by its sum over the processes. Each adds up a part of them in the order of the ranks and gives it to the others.
    pub(super) fn sum_gradients(&self, gradients: &mut [f32]) {
        let Some(exchange) = &self.exchange else { return };
        for chunk in gradients.chunks_mut(self.size * SEGMENT) {
            let segment = chunk.len().div_ceil(self.size);
            let (mut all, mut received) = (vec![0f32; segment * self.size], vec![0f32; segment * self.size]);
            all[..chunk.len()].copy_from_slice(chunk);
            exchange.all_to_all(&all, &mut received);
            let (sums, others) = received.split_at_mut(segment);
            for other in others.chunks(segment) {
                sums.iter_mut().zip(other).for_each(|(sum, x)| *sum += x);
            }
            exchange.all_gather(sums, &mut all);
            chunk.copy_from_slice(&all[..chunk.len()]);
        }
    }

    /// Refuses to go on where processes differ in `what`, of which `bytes` are all that counts.
    ///
    /// # Errors
    /// `InvalidArgument` in every process.
    pub(super) fn agree(&self, what: &str, bytes: impl FnOnce() -> Vec<u8>) -> Result<()> {
        let Some(exchange) = &self.exchange else { return Ok(()) };
        // Half of the bits: each such number is one of f64.
        let own = [f64::from(xxh3_64(&bytes()) as u32)];
        let mut all = vec![0.0; self.size];
        exchange.all_gather_wide(&own, &mut all);
        match all.iter().position(|hash| *hash != all[0]) {
            Some(rank) => {
                let told = format!("process {rank} has another {what} than process 0: give all the same command and the same files");
                fail(ErrorKind::InvalidArgument, told)
            }
            None => Ok(()),
        }
    }
}
