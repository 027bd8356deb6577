//! What is a weight, before an engine packs it?

use std::ops::Range;

use super::{Bytes, Dtype};

/// Elements of one type in row-major order, checked to fill the shape exactly.
#[derive(Clone, Debug)]
pub struct Tensor {
    dtype: Dtype,
    shape: Vec<usize>,
    bytes: Bytes,
}

impl Tensor {
    /// A tensor over `bytes`, or `None` where their number is not that of the shape (or the shape overflows), or where blocks
    /// of values would reach from one row into the next: the last dimension must be whole blocks, and below it at least one.
    pub fn new(dtype: Dtype, shape: Vec<usize>, bytes: Bytes) -> Option<Tensor> {
        (Self::bytes_for(dtype, &shape)? == bytes.len()).then_some(Tensor { dtype, shape, bytes })
    }

    /// Bytes of a tensor of this type and shape, `None` where there is none (see [`Tensor::new`]).
    pub fn bytes_for(dtype: Dtype, shape: &[usize]) -> Option<usize> {
        let elements = shape.iter().try_fold(1usize, |n, d| n.checked_mul(*d))?;
        if dtype.is_quantised() {
            let [_, .., last] = shape else { return None };
            dtype.bytes_of(*last)?;
        }
        dtype.bytes_of(elements)
    }

    /// The element type.
    pub fn dtype(&self) -> Dtype {
        self.dtype
    }

    /// The dimensions, outermost first.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The raw little-endian bytes.
    pub fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// Number of rows: the first dimension, or 1 for a scalar.
    pub fn rows(&self) -> usize {
        self.shape.first().copied().unwrap_or(1)
    }

    /// Elements of one row: the product of all dimensions but the first.
    pub fn row_len(&self) -> usize {
        self.shape.iter().skip(1).product()
    }

    /// Bytes of one row.
    pub fn row_bytes(&self) -> usize {
        self.row_len() / self.dtype.block_elements() * self.dtype.block_bytes()
    }

    /// Number of elements.
    pub fn elements(&self) -> usize {
        self.bytes.len() / self.dtype.block_bytes() * self.dtype.block_elements()
    }

    /// Writes row `index` as f32 to `out` (`row_len` elements).
    pub fn row(&self, index: usize, out: &mut [f32]) {
        let size = self.row_bytes();
        self.dtype.widen(&self.bytes[index * size..(index + 1) * size], out);
    }

    /// The rows `rows`, in the same bytes; `None` where there are no such rows.
    pub fn rows_of(&self, rows: Range<usize>) -> Option<Tensor> {
        let size = self.row_bytes();
        let bytes = self.bytes.slice(rows.start.checked_mul(size)?..rows.end.checked_mul(size)?)?;
        let mut shape = self.shape.clone();
        *shape.first_mut()? = rows.len();
        Tensor::new(self.dtype, shape, bytes)
    }

    /// All elements as f32.
    pub fn to_f32(&self) -> Vec<f32> {
        let mut out = vec![0.0; self.elements()];
        self.dtype.widen(&self.bytes, &mut out);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shape_and_bytes_must_agree() {
        let bytes = || Bytes::owned(vec![0u8; 24]);
        assert!(Tensor::new(Dtype::F32, vec![2, 3], bytes()).is_some());
        assert!(Tensor::new(Dtype::F32, vec![2, 4], bytes()).is_none());
        assert!(Tensor::new(Dtype::F16, vec![2, 3], bytes()).is_none());
        assert!(Tensor::new(Dtype::F32, vec![usize::MAX, 2, 2], bytes()).is_none());
    }

    #[test]
    fn rows_of_blocks_are_whole_blocks() {
        let new = |shape: &[usize], bytes: usize| Tensor::new(Dtype::Q8_0, shape.to_vec(), Bytes::owned(vec![0u8; bytes]));
        let tensor = new(&[3, 64], 3 * 68).unwrap();
        assert_eq!((tensor.row_bytes(), tensor.elements(), tensor.row_len()), (68, 192, 64));
        tensor.row(2, &mut [0.0; 64]);
        assert_eq!(tensor.to_f32(), [0.0; 192]);
        assert!(new(&[4, 16], 68).is_none(), "a block would hold two rows");
        assert!(new(&[2, 33], 68).is_none());
        assert!(new(&[64], 68).is_none(), "its rows are single elements");
        assert!(new(&[], 34).is_none());
        assert_eq!(new(&[0, 64], 0).unwrap().to_f32(), [0.0; 0]);
    }

    #[test]
    fn rows_are_read_where_they_lie() {
        let values: Vec<u8> = (0..6).flat_map(|i| (i as f32).to_le_bytes()).collect();
        let t = Tensor::new(Dtype::F32, vec![2, 3], Bytes::owned(values)).unwrap();
        let mut row = [0.0; 3];
        t.row(1, &mut row);
        assert_eq!(row, [3.0, 4.0, 5.0]);
        assert_eq!((t.rows(), t.row_len()), (2, 3));
        let second = t.rows_of(1..2).unwrap();
        assert_eq!((second.shape(), second.to_f32()), ([1, 3].as_slice(), vec![3.0, 4.0, 5.0]));
        assert!(t.rows_of(1..3).is_none() && t.rows_of(0..usize::MAX).is_none());
    }
}
