//! Graph and batch in, values out: what runs where?
//!
//! [`graph`] is the closed set of coarse operations that a model is described in; [`batch`] is the packed input; [`control`]
//! says when to stop; [`threads`] lends workers. [`cpu`] executes a graph. `model` builds the graphs, `tasks` the batches.

pub mod batch;
pub mod control;
pub mod cpu;
#[cfg(feature = "train")]
pub mod gradient;
pub mod graph;
#[cfg(feature = "train")]
pub mod lesson;
pub mod threads;
pub mod weights;

pub use batch::Batch;
pub use control::Control;
pub use cpu::{Calibration, Engine};
pub use graph::Graph;
pub use weights::{Precision, Role, Weight};
