//! The CPU executor: f32 and int8, packed batches, one table of kernels an instruction set.
//!
//! [`Engine`] holds the packed weights ([`pack`]), the kernels in use ([`kernels`]), helpers and work areas. [`plan`] lays the
//! values of a graph out in one work area and cuts each operation into tasks; [`run`] runs them on the threads that come.
//! [`gemm`], [`attention`], [`rowwise`] and [`math`] are the arithmetic, written once over [`simd`] and compiled for each
//! instruction set in its own file; int8 has its layout in [`int8`], its tile in [`dot`], its packing in [`pack_int8`], and
//! [`calibrate`] finds the inputs that are not quantised. [`mod@reference`] is the definition they are tested against.

#![allow(unsafe_code, reason = "kernels work on raw rows of disjoint tasks; each block states why it is sound")]

mod attention;
mod attention_bf16;
mod avx2;
mod avx512;
mod buffer;
mod calibrate;
mod check;
mod decoder;
mod disentangled;
mod dot;
mod gated;
mod gemm;
mod int8;
pub mod kernels;
#[cfg(feature = "train")]
mod learn;
mod math;
mod ops;
mod pack;
mod pack_int8;
mod plan;
mod portable;
mod reference;
mod rowwise;
mod run;
mod simd;
#[cfg(test)]
mod tests;

pub use calibrate::Calibration;
#[cfg(feature = "train")]
pub use learn::{Learner, Method, State as LearningState, Step as LearningStep};
pub use run::{Engine, Usage};
