//! What is a number?
//!
//! The element types that files hold and that results are written in: their sizes, and their values by definition. A
//! [`Tensor`] is bytes with a [`Dtype`] and a shape; `formats` makes it, `engine` packs it. One file a type of number.

mod bytes;
mod dtype;
mod tensor;
pub mod vectors;

pub use bytes::Bytes;
pub use dtype::Dtype;
pub use tensor::Tensor;
