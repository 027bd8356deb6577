//! How do the processes that MPI started hand numbers to each other?
//!
//! Over `MPI_COMM_WORLD`, from the thread that runs alone. An error in MPI ends all processes (its own default); so does one that ends without
//! [`Exchange::leave`], which `mpirun` notices.

use std::mem::ManuallyDrop;

use mpi::Threading;
use mpi::environment::{Universe, initialize_with_threading};
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, CommunicatorCollectives};

use super::{Exchange, Team};
use crate::error::{ErrorKind, Result, fail};

/// What launchers set for the processes that they start. Without any of them MPI is left alone, which would look for its daemons first.
const STARTED: [&str; 4] = ["OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK", "PMI_SIZE"];

pub(super) fn join() -> Result<Team> {
    if STARTED.iter().all(|name| std::env::var_os(name).is_none()) {
        return Ok(Team::alone());
    }
    let Some((universe, _)) = initialize_with_threading(Threading::Funneled) else {
        return fail(ErrorKind::InvalidArgument, "this process has joined its team already");
    };
    let world = universe.world();
    let (rank, size) = (world.rank().unsigned_abs() as usize, world.size().unsigned_abs() as usize);
    Ok(Team { rank, size, exchange: Some(Box::new(World { world, universe: ManuallyDrop::new(universe) })) })
}

struct World {
    world: SimpleCommunicator,
    /// Dropped by [`Exchange::leave`] alone: that waits for the others, which a process that fails must not do.
    universe: ManuallyDrop<Universe>,
}

impl Exchange for World {
    fn all_to_all(&self, sent: &[f32], received: &mut [f32]) {
        self.world.all_to_all_into(sent, received);
    }

    fn all_gather(&self, own: &[f32], all: &mut [f32]) {
        self.world.all_gather_into(own, all);
    }

    fn all_gather_wide(&self, own: &[f64], all: &mut [f64]) {
        self.world.all_gather_into(own, all);
    }

    fn leave(self: Box<Self>) {
        drop(ManuallyDrop::into_inner(self.universe));
    }
}
