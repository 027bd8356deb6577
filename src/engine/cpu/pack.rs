//! Weights as the kernels want them: matrices in panels, vectors padded to panels, tables where they lie.

#[cfg(feature = "train")]
pub(super) mod learning;

use std::ops::Range;

use super::buffer::Buffer;
use super::gemm::PANEL;
use super::int8::panel_bytes;
use super::pack_int8;
use crate::engine::graph::WeightId;
use crate::engine::weights::{Precision, Role, Weight};
use crate::error::{ErrorKind, Result, fail};
use crate::quant::Tensor;

/// All weights of a model. One allocation holds the packed numbers, so that large pages serve it whole.
pub(super) struct Packed {
    numbers: Buffer,
    list: Vec<Entry>,
}

/// A weight, ready for the kernels; ranges are of [`Packed::numbers`].
enum Entry {
    Matrix {
        panels: Range<usize>,
        depth: usize,
    },
    Int8 {
        panels: Range<usize>,
        depth: usize,
        outliers: Vec<u32>,
    },
    Vector(Range<usize>),
    Table(Tensor),
    /// A table that learns: f32, row after row.
    #[cfg(feature = "train")]
    Rows {
        numbers: Range<usize>,
        width: usize,
    },
    /// A place in the list that no weight has.
    #[cfg(feature = "train")]
    Nothing,
}

/// An embedding table: rows of numbers, as they lie in a file or in the engine's own memory.
#[derive(Clone, Copy)]
pub(super) enum Table<'w> {
    Stored(&'w Tensor),
    #[cfg(feature = "train")]
    Held {
        numbers: &'w [f32],
        width: usize,
    },
}

impl Table<'_> {
    /// Numbers of a row.
    pub(super) fn row_len(&self) -> usize {
        match self {
            Table::Stored(tensor) => tensor.row_len(),
            #[cfg(feature = "train")]
            Table::Held { width, .. } => *width,
        }
    }

    pub(super) fn rows(&self) -> usize {
        match self {
            Table::Stored(tensor) => tensor.rows(),
            #[cfg(feature = "train")]
            Table::Held { numbers, width } => numbers.len() / (*width).max(1),
        }
    }

    /// Whether its rows can be read as f32.
    pub(super) fn is_float(&self) -> bool {
        match self {
            Table::Stored(tensor) => tensor.dtype().is_float(),
            #[cfg(feature = "train")]
            Table::Held { .. } => true,
        }
    }

    /// Writes row `index`, or as many of its numbers as `out` takes, to `out`.
    pub(super) fn row(&self, index: usize, out: &mut [f32]) {
        match self {
            Table::Stored(tensor) if out.len() < tensor.row_len() => {
                let mut whole = vec![0.0; tensor.row_len()];
                tensor.row(index, &mut whole);
                out.copy_from_slice(&whole[..out.len()]);
            }
            Table::Stored(tensor) => tensor.row(index, out),
            #[cfg(feature = "train")]
            Table::Held { numbers, width } => out.copy_from_slice(&numbers[index * width..][..out.len()]),
        }
    }
}

/// A matrix (outputs, inputs) in panels of `PANEL` outputs: f32 as in [`super::gemm`], or int8 as in [`super::int8`].
#[derive(Clone, Copy)]
pub(super) struct Matrix<'w> {
    panels: &'w [f32],
    /// Inputs.
    pub depth: usize,
    /// Of an int8 matrix: the inputs that are not quantised.
    pub int8: Option<&'w [u32]>,
}

impl<'w> Matrix<'w> {
    /// The numbers of panel `index` (of an int8 matrix, its bytes four at a time).
    pub(super) fn panel(&self, index: usize) -> &'w [f32] {
        let size = panel_len(self.int8.is_some(), self.depth);
        &self.panels[index * size..(index + 1) * size]
    }

    /// Whether there are panels for `width` outputs.
    pub(super) fn holds(&self, width: usize) -> bool {
        let panels = width.div_ceil(PANEL);
        panel_len(self.int8.is_some(), self.depth).checked_mul(panels).is_some_and(|len| len <= self.panels.len())
    }
}

/// Numbers (f32's worth of bytes) of a panel.
fn panel_len(int8: bool, depth: usize) -> usize {
    if int8 { panel_bytes(depth) / 4 } else { depth * PANEL }
}

impl Packed {
    /// Packs all weights of a model; at `Precision::Int8` the matrices that take part wait for [`Packed::pack_int8`].
    ///
    /// # Errors
    /// `NonFinite` naming the tensor when a number is NaN or infinite (tables are read only as tokens need them, so theirs
    /// show up in results instead); `OutOfMemory`.
    pub(super) fn new(weights: &[Weight], precision: Precision) -> Result<Packed> {
        let mut total = 0usize;
        let mut list = Vec::with_capacity(weights.len());
        for weight in weights {
            let int8 = weight.role == Role::Matrix && precision == Precision::Int8;
            let Some(end) = packed_len(weight, int8).and_then(|len| total.checked_add(len)) else {
                return fail(ErrorKind::InvalidTensor, format!("tensor {:?} is too large", weight.name));
            };
            let (range, depth) = (total..end, weight.tensors[0].row_len());
            list.push(match weight.role {
                Role::Matrix if int8 => Entry::Int8 { panels: range, depth, outliers: Vec::new() },
                Role::Matrix | Role::Head => Entry::Matrix { panels: range, depth },
                Role::Vector => Entry::Vector(range),
                Role::Table => Entry::Table(weight.tensors[0].clone()),
            });
            total = end;
        }
        let mut numbers = Buffer::zeroed(total)?;
        for (weight, entry) in weights.iter().zip(&list) {
            match entry {
                Entry::Matrix { panels, .. } => {
                    pack_matrix(weight, &mut numbers[panels.clone()])?;
                    release(weight);
                }
                Entry::Vector(range) => pack_vector(weight, &mut numbers[range.clone()])?,
                _ => {}
            }
        }
        Ok(Packed { numbers, list })
    }

    /// Packs the int8 matrix `id`, whose inputs `outliers` are not quantised.
    ///
    /// # Errors
    /// `NonFinite` naming the tensor when a number is NaN or infinite.
    pub(super) fn pack_int8(&mut self, id: WeightId, weight: &Weight, outliers: &[u32]) -> Result<()> {
        if let Some(Entry::Int8 { panels, depth, outliers: kept }) = self.list.get_mut(id.0) {
            if !kept.is_empty() {
                // Packed before, with rows of f32 that may be fewer now.
                self.numbers[panels.clone()].fill(0.0);
            }
            pack_int8::pack(weight, *depth, outliers, &mut self.numbers[panels.clone()])?;
            release(weight);
            *kept = outliers.to_vec();
        }
        Ok(())
    }

    /// The matrix `id`.
    pub(super) fn matrix(&self, id: WeightId) -> Option<Matrix<'_>> {
        match self.list.get(id.0)? {
            Entry::Matrix { panels, depth } => Some(Matrix { panels: &self.numbers[panels.clone()], depth: *depth, int8: None }),
            Entry::Int8 { panels, depth, outliers } => {
                Some(Matrix { panels: &self.numbers[panels.clone()], depth: *depth, int8: Some(outliers) })
            }
            _ => None,
        }
    }

    /// The vector `id`, padded with zeros to whole panels.
    pub(super) fn vector(&self, id: WeightId) -> Option<&[f32]> {
        match self.list.get(id.0)? {
            Entry::Vector(range) => Some(&self.numbers[range.clone()]),
            _ => None,
        }
    }

    /// The table `id`.
    pub(super) fn table(&self, id: WeightId) -> Option<Table<'_>> {
        match self.list.get(id.0)? {
            Entry::Table(tensor) => Some(Table::Stored(tensor)),
            #[cfg(feature = "train")]
            Entry::Rows { numbers, width } => Some(Table::Held { numbers: &self.numbers[numbers.clone()], width: *width }),
            _ => None,
        }
    }

    /// Bytes in this process's own memory, and bytes used in a mapped file.
    pub(super) fn bytes(&self) -> (usize, usize) {
        let tables = self.list.iter().filter_map(|entry| if let Entry::Table(t) = entry { Some(t) } else { None });
        tables.fold((self.numbers.bytes(), 0), |(owned, mapped), t| match t.bytes() {
            bytes if bytes.is_mapped() => (owned, mapped + bytes.len()),
            bytes => (owned + bytes.len(), mapped),
        })
    }
}

/// Numbers that the packed form of `weight` takes, in whole panels.
fn packed_len(weight: &Weight, int8: bool) -> Option<usize> {
    match weight.role {
        Role::Matrix | Role::Head => {
            let depth = weight.tensors[0].row_len();
            // A panel's head and padding are small beside any depth that overflows.
            let panel = if int8 { depth.checked_add(4096).map(|_| panel_len(true, depth))? } else { depth.checked_mul(PANEL)? };
            weight.rows().div_ceil(PANEL).checked_mul(panel)
        }
        Role::Vector => weight.tensors.iter().map(|t| t.rows() * t.row_len()).sum::<usize>().checked_next_multiple_of(PANEL),
        Role::Table => Some(0),
    }
}

/// The packed numbers are what is read from here on.
fn release(weight: &Weight) {
    weight.tensors.iter().for_each(|t| t.bytes().release());
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
pub(super) fn transpose(rows: &[f32], depth: usize, panel: &mut [f32], column: usize) {
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

pub(super) fn check_finite(values: &[f32], weight: &Weight) -> Result<()> {
    // The bits of a number that is not finite are the largest; that vectorises where a search or a sum does not.
    if values.iter().fold(0, |m, v| v.abs().to_bits().max(m)) < f32::INFINITY.to_bits() {
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
        let packed = Packed::new(&[weight], Precision::F32).unwrap();
        let m = packed.matrix(WeightId(0)).unwrap();
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
                let e = Packed::new(&[Weight { name: "layer.7".into(), role, tensors: vec![t.clone()] }], Precision::F32).err().unwrap();
                assert_eq!(e.kind(), ErrorKind::NonFinite);
                assert!(e.message().contains("layer.7"));
            }
        }
    }
}
