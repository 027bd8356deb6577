//! Weights as the kernels want them: matrices in panels, vectors padded to panels, tables where they lie.

use std::ops::{Deref, Range};
use std::sync::Arc;

use super::buffer::Buffer;
use super::gemm::PANEL;
use crate::engine::weights::{Role, Weight};
use crate::error::{ErrorKind, Result, fail};
use crate::quant::Tensor;

/// A weight, ready for the kernels.
pub(super) enum Packed {
    Matrix(Matrix),
    /// Padded with zeros to whole panels.
    Vector(Span),
    Table(Tensor),
}

/// A matrix (outputs, inputs) in panels of `PANEL` outputs; see [`super::gemm`].
pub(super) struct Matrix {
    pub panels: Span,
    pub depth: usize,
}

impl Matrix {
    /// The numbers of panel `index`.
    pub(super) fn panel(&self, index: usize) -> &[f32] {
        let size = self.depth * PANEL;
        &self.panels[index * size..(index + 1) * size]
    }
}

/// A part of the buffer that holds all packed weights of a model: one allocation, so that large pages serve it whole.
pub(super) struct Span {
    all: Arc<Buffer>,
    range: Range<usize>,
}

impl Deref for Span {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        &self.all[self.range.clone()]
    }
}

impl Packed {
    /// Packs all weights of a model.
    ///
    /// # Errors
    /// `NonFinite` naming the tensor when a number is NaN or infinite (tables are read only as tokens need them, so theirs
    /// show up in results instead); `OutOfMemory`.
    pub(super) fn all(weights: &[Weight]) -> Result<Vec<Packed>> {
        let mut total = 0usize;
        let mut ranges = Vec::with_capacity(weights.len());
        for weight in weights {
            let Some(end) = packed_len(weight).and_then(|len| total.checked_add(len)) else {
                return fail(ErrorKind::InvalidTensor, format!("tensor {:?} is too large", weight.name));
            };
            ranges.push(total..end);
            total = end;
        }
        let mut buffer = Buffer::zeroed(total)?;
        for (weight, range) in weights.iter().zip(&ranges) {
            match weight.role {
                Role::Matrix => pack_matrix(weight, &mut buffer[range.clone()])?,
                Role::Vector => pack_vector(weight, &mut buffer[range.clone()])?,
                Role::Table => {}
            }
        }
        let all = Arc::new(buffer);
        let packed = |(weight, range): (&Weight, Range<usize>)| {
            let span = Span { all: Arc::clone(&all), range };
            match weight.role {
                Role::Matrix => Packed::Matrix(Matrix { panels: span, depth: weight.tensors[0].row_len() }),
                Role::Vector => Packed::Vector(span),
                Role::Table => Packed::Table(weight.tensors[0].clone()),
            }
        };
        Ok(weights.iter().zip(ranges).map(packed).collect())
    }

    /// Bytes in this process's own memory, and bytes used in a mapped file.
    pub(super) fn bytes(&self) -> (usize, usize) {
        match self {
            Packed::Matrix(Matrix { panels: span, .. }) | Packed::Vector(span) => (span.len() * 4, 0),
            Packed::Table(t) if t.bytes().is_mapped() => (0, t.bytes().len()),
            Packed::Table(t) => (t.bytes().len(), 0),
        }
    }
}

/// Numbers that the packed form of `weight` takes, in whole panels.
fn packed_len(weight: &Weight) -> Option<usize> {
    match weight.role {
        Role::Matrix => weight.rows().checked_next_multiple_of(PANEL)?.checked_mul(weight.tensors[0].row_len()),
        Role::Vector => weight.tensors.iter().map(|t| t.rows() * t.row_len()).sum::<usize>().checked_next_multiple_of(PANEL),
        Role::Table => Some(0),
    }
}

fn pack_matrix(weight: &Weight, panels: &mut [f32]) -> Result<()> {
    let depth = weight.tensors[0].row_len();
    let mut output = 0;
    // A whole panel's rows at once: their scattered writes then meet in the cache.
    let mut rows = vec![0f32; depth * PANEL];
    for tensor in &weight.tensors {
        let mut first = 0;
        while first < tensor.rows() {
            let count = (tensor.rows() - first).min(PANEL - output % PANEL);
            for (i, row) in rows.chunks_exact_mut(depth.max(1)).enumerate().take(count) {
                tensor.row(first + i, row);
                check_finite(row, weight)?;
            }
            let panel = &mut panels[output / PANEL * PANEL * depth..][..PANEL * depth];
            transpose(&rows[..count * depth], depth, panel, output % PANEL);
            first += count;
            output += count;
        }
    }
    Ok(())
}

/// Writes `rows` (each `depth` long) as columns `column..` of a panel, a few dozen rows of the panel at a time.
fn transpose(rows: &[f32], depth: usize, panel: &mut [f32], column: usize) {
    const STRIP: usize = 64;
    for start in (0..depth).step_by(STRIP) {
        let end = depth.min(start + STRIP);
        for (j, row) in rows.chunks_exact(depth).enumerate() {
            for k in start..end {
                panel[k * PANEL + column + j] = row[k];
            }
        }
    }
}

fn pack_vector(weight: &Weight, vector: &mut [f32]) -> Result<()> {
    let mut at = 0;
    for tensor in &weight.tensors {
        let values = tensor.to_f32();
        check_finite(&values, weight)?;
        vector[at..at + values.len()].copy_from_slice(&values);
        at += values.len();
    }
    Ok(())
}

fn check_finite(values: &[f32], weight: &Weight) -> Result<()> {
    // A sum of products with zero is zero unless a number is not finite; it vectorises where a search does not.
    if values.iter().map(|v| v * 0.0).sum::<f32>() == 0.0 {
        return Ok(());
    }
    fail(
        ErrorKind::NonFinite,
        format!("tensor {:?} holds a number that is NaN or infinite: the checkpoint is damaged, download or convert it again", weight.name),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quant::{Bytes, Dtype};

    fn tensor(rows: usize, width: usize, value: impl Fn(usize, usize) -> f32) -> Tensor {
        let bytes: Vec<u8> = (0..rows * width).flat_map(|i| value(i / width, i % width).to_le_bytes()).collect();
        Tensor::new(Dtype::F32, vec![rows, width], Bytes::owned(bytes)).unwrap()
    }

    #[test]
    fn stacked_matrices_are_packed_as_one() {
        let part = |base: usize, rows| tensor(rows, 70, move |r, c| (base + r) as f32 * 100.0 + c as f32);
        let weight = Weight { name: "w".into(), role: Role::Matrix, tensors: vec![part(0, 20), part(20, 45)] };
        let Some(Packed::Matrix(m)) = Packed::all(&[weight]).unwrap().pop() else { panic!("a matrix") };
        for n in 0..96 {
            for k in 0..70 {
                let expected = if n < 65 { n as f32 * 100.0 + k as f32 } else { 0.0 };
                assert_eq!(m.panel(n / PANEL)[k * PANEL + n % PANEL], expected, "output {n}, input {k}");
            }
        }
    }

    #[test]
    fn damaged_numbers_are_refused_by_name() {
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let t = tensor(3, 5, |r, c| if (r, c) == (2, 1) { bad } else { 1.0 });
            for role in [Role::Matrix, Role::Vector] {
                let e = Packed::all(&[Weight { name: "layer.7".into(), role, tensors: vec![t.clone()] }]).err().unwrap();
                assert_eq!(e.kind(), ErrorKind::NonFinite);
                assert!(e.message().contains("layer.7"));
            }
        }
    }
}
