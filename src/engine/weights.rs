//! Which weights does a graph name, and in what role?

use crate::quant::Tensor;

/// What a weight is used for, hence how an executor keeps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A linear layer's matrix, (outputs, inputs): packed for the kernels, at the engine's precision.
    Matrix,
    /// A linear layer's matrix that stays f32 at every precision: heads and what follows pooling, where one small product
    /// decides about the answer.
    Head,
    /// A bias or a norm's parameter, one number a column; or a small table that is read whole, such as the biases of relative positions.
    Vector,
    /// An embedding table, (rows, width): read row by row where it lies.
    Table,
}

/// One weight, made of one or more tensors of the checkpoint stacked along their first dimension.
#[derive(Clone, Debug)]
pub struct Weight {
    /// For messages: the checkpoint's names.
    pub name: String,
    /// How it is used.
    pub role: Role,
    /// The parts, first rows first; all of one row length.
    pub tensors: Vec<Tensor>,
}

impl Weight {
    /// Rows of all parts together.
    pub fn rows(&self) -> usize {
        self.tensors.iter().map(Tensor::rows).sum()
    }
}

/// Arithmetic of the matrices of role [`Role::Matrix`]; everything else is f32.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Precision {
    /// 32-bit floating point.
    #[default]
    F32,
    /// Weights in blocks of eight-bit numbers, inputs quantised row by row at run time.
    Int8,
}
