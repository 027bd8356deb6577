//! How does a part of a storage become a tensor?
//!
//! A tensor whose numbers lie in order shares the storage's bytes. Others (a transposed matrix, a slice of columns) are copied in
//! order, doubles as F32. Their size altogether is limited by a [`Budget`], since a stride of 0, or a storage that many share, makes much of
//! little.

use super::globals::Element;
use super::invalid;
use super::pickle::View;
use crate::error::Result;
use crate::quant::{Bytes, Dtype, Tensor};

/// How many bytes the tensors may still have.
pub(super) struct Budget(usize);

impl Budget {
    /// Of a file of `len` bytes: a few tied matrices.
    pub(super) fn of(len: usize) -> Budget {
        Budget(len.saturating_mul(4))
    }

    fn spend(&mut self, bytes: usize) -> Result<()> {
        let left = self.0.checked_sub(bytes).ok_or_else(|| invalid("its tensors are many times as large as the file"))?;
        self.0 = left;
        Ok(())
    }
}

/// The tensor `view` of the numbers `storage`, `None` for one of whole numbers.
pub(super) fn tensor(view: &View, storage: &Bytes, budget: &mut Budget) -> Result<Option<Tensor>> {
    let (dtype, size) = match view.storage.element {
        Element::Float(dtype) => (dtype, dtype.block_bytes()),
        Element::Double => (Dtype::F32, 8),
        Element::Whole(_) => return Ok(None),
    };
    let shape = || view.shape.clone();
    let too_large = || invalid(format!("shape {:?} is too large", view.shape));
    let elements = view.shape.iter().try_fold(1usize, |n, d| n.checked_mul(*d)).ok_or_else(too_large)?;
    let last = reach(view).ok_or_else(too_large)?;
    let have = storage.len() / size;
    if elements > 0 && last >= have {
        let told = format!("shape {:?}, strides {:?} and offset {} reach number {last} of {have}", view.shape, view.strides, view.offset);
        return Err(invalid(told));
    }
    let whole = || invalid(format!("shape {:?} does not fit its bytes", view.shape));
    if elements == 0 {
        return Tensor::new(dtype, shape(), Bytes::owned([0u8; 0])).map(Some).ok_or_else(whole);
    }
    // Also of what is shared: who writes the tensors writes each of them whole.
    budget.spend(elements.checked_mul(size).ok_or_else(too_large)?)?;
    let in_order = in_order(&view.shape, &view.strides);
    if in_order && view.storage.element != Element::Double {
        let bytes = storage.slice(view.offset * size..(view.offset + elements) * size);
        return bytes.and_then(|bytes| Tensor::new(dtype, shape(), bytes)).map(Some).ok_or_else(whole);
    }
    let mut bytes = Vec::with_capacity(elements * dtype.block_bytes());
    each(view, |at| {
        let number = &storage[at * size..(at + 1) * size];
        match (view.storage.element, number.first_chunk()) {
            (Element::Double, Some(double)) => bytes.extend_from_slice(&(f64::from_le_bytes(*double) as f32).to_le_bytes()),
            _ => bytes.extend_from_slice(number),
        }
    });
    Tensor::new(dtype, shape(), Bytes::owned(bytes)).map(Some).ok_or_else(whole)
}

/// The number that lies farthest, `None` where it cannot be said.
fn reach(view: &View) -> Option<usize> {
    view.shape.iter().zip(&view.strides).try_fold(view.offset, |at, (d, s)| at.checked_add(d.saturating_sub(1).checked_mul(*s)?))
}

/// Whether the numbers lie one behind the other, the last dimension innermost.
fn in_order(shape: &[usize], strides: &[usize]) -> bool {
    let mut expected = 1usize;
    shape.iter().zip(strides).rev().all(|(d, s)| {
        let fits = *d == 1 || *s == expected;
        expected = expected.saturating_mul(*d);
        fits
    })
}

/// Calls `visit` with the place of each number, in the order of the tensor; the places are known to lie in the storage.
fn each(view: &View, mut visit: impl FnMut(usize)) {
    let mut index = vec![0; view.shape.len()];
    let mut at = view.offset;
    loop {
        visit(at);
        let mut dimension = index.len();
        loop {
            let Some(d) = dimension.checked_sub(1) else { return };
            dimension = d;
            index[d] += 1;
            at += view.strides[d];
            if index[d] < view.shape[d] {
                break;
            }
            at -= view.strides[d] * view.shape[d];
            index[d] = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::pickle::Storage;
    use super::*;

    fn view(element: Element, offset: usize, shape: &[usize], strides: &[usize]) -> View {
        let storage = Storage { key: "0".into(), element, len: 6, part: None };
        View { storage, offset, shape: shape.to_vec(), strides: strides.to_vec() }
    }

    fn six() -> Bytes {
        Bytes::owned((0..6).flat_map(|i| (i as f32).to_le_bytes()).collect::<Vec<u8>>())
    }

    fn values(offset: usize, shape: &[usize], strides: &[usize]) -> Result<Vec<f32>> {
        let view = view(Element::Float(Dtype::F32), offset, shape, strides);
        Ok(tensor(&view, &six(), &mut Budget::of(24))?.unwrap().to_f32())
    }

    #[test]
    fn strides_say_where_numbers_lie() {
        assert_eq!(values(0, &[2, 3], &[3, 1]).unwrap(), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
        assert_eq!(values(0, &[3, 2], &[1, 3]).unwrap(), [0.0, 3.0, 1.0, 4.0, 2.0, 5.0]);
        assert_eq!(values(1, &[2, 2], &[3, 1]).unwrap(), [1.0, 2.0, 4.0, 5.0]);
        assert_eq!(values(2, &[1, 3], &[700, 1]).unwrap(), [2.0, 3.0, 4.0], "the stride of a single row is of no meaning");
        assert_eq!(values(4, &[3], &[0]).unwrap(), [4.0; 3]);
        assert_eq!(values(5, &[], &[]).unwrap(), [5.0]);
        assert_eq!(values(9, &[0, 3], &[3, 1]).unwrap(), [0f32; 0]);
        assert_eq!(values(0, &[2, 1, 3], &[1, 9, 2]).unwrap(), [0.0, 2.0, 4.0, 1.0, 3.0, 5.0]);
    }

    #[test]
    fn what_reaches_outside_or_is_too_large_is_refused() {
        for (offset, shape, strides) in [
            (0, &[7][..], &[1][..]),
            (6, &[1], &[1]),
            (1, &[2, 3], &[3, 1]),
            (0, &[2, 2], &[5, 1]),
            (0, &[usize::MAX, 2], &[0, 0]),
            (0, &[2, 2], &[usize::MAX, 1]),
            (usize::MAX, &[2], &[1]),
            (0, &[1 << 40], &[0]),
            (0, &[25], &[0]),
        ] {
            assert!(values(offset, shape, strides).is_err(), "{offset} {shape:?} {strides:?}");
        }
    }

    #[test]
    fn doubles_become_the_nearest_f32() {
        let doubles = Bytes::owned([0.1f64, -1e-3, 3.0].iter().flat_map(|v| v.to_le_bytes()).collect::<Vec<u8>>());
        let double = view(Element::Double, 0, &[3], &[1]);
        let tensor = tensor(&double, &doubles, &mut Budget::of(100)).unwrap().unwrap();
        assert_eq!((tensor.dtype(), tensor.to_f32()), (Dtype::F32, vec![0.1f32, -1e-3, 3.0]));
    }
}
