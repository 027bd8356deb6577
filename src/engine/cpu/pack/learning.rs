//! Weights that change: the packed numbers are the model's own, and each matrix stands transposed beside itself.
//!
//! The forms of [`super`] serve the way forward; the gradient of a product's input is a product with the transposed matrix, the weight of
//! index `id + weights`. Gradients and the optimiser's moments have the layout of the numbers, padding included, so that a step walks
//! over them in one line.

use std::ops::Range;

use super::{Buffer, Entry, PANEL, Packed, Result, Role, Weight, WeightId, pack_matrix, pack_vector, packed_len};
use crate::error::{ErrorKind, fail};

impl Packed {
    /// Packs all weights of a model that learns, each in memory of its own.
    ///
    /// # Errors
    /// As [`Packed::new`].
    pub(in super::super) fn learning(weights: &[Weight]) -> Result<Packed> {
        let mut total = 0usize;
        let mut take = |len: Option<usize>, name: &str| -> Result<Range<usize>> {
            let Some(end) = len.and_then(|len| total.checked_add(len)) else {
                return fail(ErrorKind::InvalidTensor, format!("tensor {name:?} is too large"));
            };
            let range = total..end;
            total = end;
            Ok(range)
        };
        let mut list = Vec::with_capacity(2 * weights.len());
        for weight in weights {
            let depth = weight.tensors[0].row_len();
            list.push(match weight.role {
                Role::Matrix | Role::Head => Entry::Matrix { panels: take(packed_len(weight, false), &weight.name)?, depth },
                Role::Vector => Entry::Vector(take(packed_len(weight, false), &weight.name)?),
                Role::Table => Entry::Rows { numbers: take(weight.rows().checked_mul(depth), &weight.name)?, width: depth },
            });
        }
        for weight in weights {
            list.push(match weight.role {
                Role::Matrix | Role::Head => {
                    let (outputs, inputs) = (weight.rows(), weight.tensors[0].row_len());
                    let len = inputs.div_ceil(PANEL).checked_mul(PANEL).and_then(|n| n.checked_mul(outputs));
                    Entry::Matrix { panels: take(len, &weight.name)?, depth: outputs }
                }
                Role::Vector | Role::Table => Entry::Nothing,
            });
        }
        let mut packed = Packed { numbers: Buffer::zeroed(total)?, list };
        for (id, weight) in weights.iter().enumerate() {
            packed.load(WeightId(id), weight)?;
        }
        Ok(packed)
    }

    /// Numbers that learn: all but the transposed matrices.
    pub(in super::super) fn learned(&self) -> usize {
        self.list[..self.list.len() / 2].iter().map(|entry| entry.range().end).max().unwrap_or(0)
    }

    /// Where the numbers of weight `id` stand.
    pub(in super::super) fn place(&self, id: WeightId) -> Range<usize> {
        self.list[id.0].range()
    }

    /// All numbers.
    pub(in super::super) fn numbers(&self) -> &[f32] {
        &self.numbers
    }

    /// All numbers, to change.
    pub(in super::super) fn numbers_mut(&mut self) -> &mut [f32] {
        &mut self.numbers
    }

    /// Fills the place of `id` from `weight`.
    fn load(&mut self, id: WeightId, weight: &Weight) -> Result<()> {
        let numbers = &mut self.numbers[self.list[id.0].range()];
        match weight.role {
            Role::Matrix | Role::Head => pack_matrix(weight, numbers),
            Role::Vector => pack_vector(weight, numbers),
            Role::Table => {
                weight.tensors[0].dtype().widen(weight.tensors[0].bytes(), numbers);
                super::check_finite(numbers, weight)
            }
        }
    }

    /// The rows `rows`, of `row_len` numbers, of the weight `id` in `numbers`, which has the layout of all numbers.
    pub(in super::super) fn unpacked(&self, id: WeightId, numbers: &[f32], rows: Range<usize>, row_len: usize) -> Vec<f32> {
        match &self.list[id.0] {
            Entry::Matrix { panels, depth } => {
                let panels = &numbers[panels.clone()];
                let at = |row: usize, k: usize| panels[row / PANEL * PANEL * depth + k * PANEL + row % PANEL];
                rows.flat_map(|row| (0..*depth).map(move |k| at(row, k))).collect()
            }
            entry => numbers[entry.range()][rows.start * row_len..rows.end * row_len].to_vec(),
        }
    }

    /// The matrices that stand transposed, each as tasks of one panel.
    pub(in super::super) fn transposed(&self) -> Vec<Transposed> {
        let weights = self.list.len() / 2;
        let of = |id: usize| match (&self.list[id], &self.list[id + weights]) {
            (Entry::Matrix { panels: from, depth: inputs }, Entry::Matrix { panels: to, depth: outputs }) => {
                Some((from.start, to.start, *inputs, *outputs))
            }
            _ => None,
        };
        (0..weights)
            .filter_map(of)
            .flat_map(|(from, to, inputs, outputs)| {
                (0..inputs.div_ceil(PANEL)).map(move |panel| Transposed { from, to, inputs, outputs, panel })
            })
            .collect()
    }
}

impl Entry {
    fn range(&self) -> Range<usize> {
        match self {
            Entry::Matrix { panels: range, .. } | Entry::Vector(range) | Entry::Rows { numbers: range, .. } => range.clone(),
            // None of these learns.
            Entry::Int8 { .. } | Entry::Table(_) | Entry::Nothing => 0..0,
        }
    }
}

/// One panel of a transposed matrix: `PANEL` inputs, `outputs` rows.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Transposed {
    from: usize,
    to: usize,
    inputs: usize,
    outputs: usize,
    panel: usize,
}

impl Transposed {
    /// Copies the panel's numbers from where the matrix stands.
    ///
    /// # Safety
    /// `numbers` are all numbers of the [`Packed`] that this came from; nobody else writes the panel or the matrix.
    pub(in super::super) unsafe fn copy(&self, numbers: *mut f32) {
        let Transposed { from, to, inputs, outputs, panel } = *self;
        let first = panel * PANEL;
        let count = PANEL.min(inputs - first);
        for output in 0..outputs {
            // SAFETY: both places lie in the numbers: panels of `inputs` rows there, of `outputs` rows here.
            unsafe {
                let source = numbers.add(from + output / PANEL * PANEL * inputs + first * PANEL + output % PANEL);
                let target = numbers.add(to + panel * PANEL * outputs + output * PANEL);
                (0..count).for_each(|j| *target.add(j) = *source.add(j * PANEL));
            }
        }
    }
}
