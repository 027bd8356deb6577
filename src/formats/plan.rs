//! Which tensors will a file hold, and in which type?
//!
//! Both writers are told before the first byte; the bytes come later, one tensor at a time.

use crate::quant::Dtype;

/// A tensor that will be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorPlan {
    /// Its name in the file.
    pub name: String,
    /// Its element type in the file.
    pub dtype: Dtype,
    /// Its dimensions, outermost first.
    pub shape: Vec<usize>,
}
