//! What is a number?
//!
//! The element types that files hold and that results are written in: their sizes, and their values by definition. A
//! [`Tensor`] is bytes with a [`Dtype`] and a shape; `formats` makes it, `engine` packs it. One file a type of number (or a pair
//! that differs by a minimum or a bit), with the layout of its block; `dtype` has the table of all, `block` the arithmetic that
//! they share. `protobuf` finds the fields in [`Bytes`] that are a message.

mod block;
mod bytes;
mod dtype;
mod floats;
mod iq4_nl;
mod k_quants;
pub(crate) mod protobuf;
mod q4;
mod q5;
mod q8_0;
mod tensor;
pub mod vectors;

pub use bytes::{Bytes, Owner};
pub use dtype::Dtype;
pub use tensor::Tensor;
