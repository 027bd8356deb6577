//! What is a weight, before an engine packs it?

use super::{Bytes, Dtype};

/// Elements of one type in row-major order, checked to fill the shape exactly.
#[derive(Clone, Debug)]
pub struct Tensor {
    dtype: Dtype,
    shape: Vec<usize>,
    bytes: Bytes,
}

impl Tensor {
    /// A tensor over `bytes`, or `None` where their number is not that of the shape (or the shape overflows).
    pub fn new(dtype: Dtype, shape: Vec<usize>, bytes: Bytes) -> Option<Tensor> {
        let elements = shape.iter().try_fold(1usize, |n, d| n.checked_mul(*d))?;
        (elements.checked_mul(dtype.size())? == bytes.len()).then_some(Tensor { dtype, shape, bytes })
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

    /// Writes row `index` as f32 to `out` (`row_len` elements).
    pub fn row(&self, index: usize, out: &mut [f32]) {
        let size = self.row_len() * self.dtype.size();
        self.dtype.widen(&self.bytes[index * size..(index + 1) * size], out);
    }

    /// All elements as f32.
    pub fn to_f32(&self) -> Vec<f32> {
        let mut out = vec![0.0; self.bytes.len() / self.dtype.size()];
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
    fn rows_are_read_where_they_lie() {
        let values: Vec<u8> = (0..6).flat_map(|i| (i as f32).to_le_bytes()).collect();
        let t = Tensor::new(Dtype::F32, vec![2, 3], Bytes::owned(values)).unwrap();
        let mut row = [0.0; 3];
        t.row(1, &mut row);
        assert_eq!(row, [3.0, 4.0, 5.0]);
        assert_eq!((t.rows(), t.row_len()), (2, 3));
    }
}
