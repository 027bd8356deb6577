//! How far may a file's answers be from those of the model it was made from?
//!
//! [`ROWS`] has one row a type, measured; docs/models.md says how. A file states what it allows beside its probes, so that a
//! later version of this table changes no verdict on it.

use serde::Serialize;

use crate::quant::Dtype;

/// What a probe's vector must keep to.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Tolerance {
    /// The lowest cosine with the stored vector.
    pub lowest_cosine: f32,
    /// The largest difference of a value, as a share of the stored vector's length; of vectors of length 1, the difference itself.
    pub largest_error: f32,
}

const fn allow(lowest_cosine: f32, largest_error: f32) -> Tolerance {
    Tolerance { lowest_cosine, largest_error }
}

/// What is left between processors: the same numbers, summed in another order.
const SAME: Tolerance = allow(0.99999, 0.0005);

/// Arithmetic of eight bits, on weights of any type.
pub(super) const INT8: Tolerance = allow(0.995, 0.04);

/// Of files whose coarsest new weights are of this type, computed at f32 or in eight bits: about three times the loss of the worst
/// probe (of all-MiniLM-L6-v2 the empty text), since other models lose more or less.
const ROWS: &[(Dtype, Tolerance)] = &[
    (Dtype::F32, SAME),
    (Dtype::F16, allow(0.9999, 0.002)),
    (Dtype::Bf16, allow(0.9995, 0.01)),
    (Dtype::Q8_0, INT8),
    (Dtype::Q8K, INT8),
    (Dtype::Q6K, allow(0.99, 0.04)),
    (Dtype::Q5K, allow(0.93, 0.1)),
    (Dtype::Q5_1, allow(0.93, 0.1)),
    (Dtype::Q5_0, allow(0.93, 0.1)),
    (Dtype::Q4K, allow(0.9, 0.13)),
    (Dtype::Q4_1, allow(0.75, 0.2)),
    (Dtype::Q4_0, allow(0.75, 0.2)),
    (Dtype::Iq4Nl, allow(0.75, 0.2)),
    (Dtype::Q3K, allow(0.7, 0.25)),
    (Dtype::Q2K, allow(0.4, 0.6)),
];

impl Tolerance {
    /// What a file may allow in which tensors of these types (from, to) are stored. A tensor whose type stays costs nothing.
    pub fn of_types(types: impl IntoIterator<Item = (Dtype, Dtype)>) -> Tolerance {
        let changed = types.into_iter().filter(|(from, to)| from != to).map(|(_, to)| to);
        let row = |dtype: Dtype| ROWS.iter().find(|(d, _)| *d == dtype).map_or(SAME, |(_, tolerance)| *tolerance);
        changed.map(row).fold(SAME, Tolerance::looser)
    }

    /// What either allows.
    pub fn looser(self, other: Tolerance) -> Tolerance {
        Tolerance { lowest_cosine: self.lowest_cosine.min(other.lowest_cosine), largest_error: self.largest_error.max(other.largest_error) }
    }

    /// Whether a probe with this cosine and this error keeps to it. What is not a number does not.
    pub(super) fn allows(self, cosine: f64, error: f64) -> bool {
        cosine >= f64::from(self.lowest_cosine) && error <= f64::from(self.largest_error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_that_weights_can_have_has_a_row_and_fewer_bits_allow_no_less() {
        for dtype in Dtype::all() {
            assert_eq!(ROWS.iter().filter(|(d, _)| *d == dtype).count(), usize::from(dtype.is_float()), "{}", dtype.name());
        }
        for pair in ROWS.windows(2) {
            let ((a, before), (b, after)) = (pair[0], pair[1]);
            assert_eq!(before.looser(after), after, "{} is below {}", b.name(), a.name());
        }
    }

    #[test]
    fn a_file_allows_what_its_coarsest_new_type_needs() {
        let of = |types: &[(Dtype, Dtype)]| Tolerance::of_types(types.iter().copied());
        assert_eq!(of(&[]), SAME);
        assert_eq!(of(&[(Dtype::Q4_0, Dtype::Q4_0), (Dtype::F32, Dtype::F32), (Dtype::I64, Dtype::I64)]), SAME);
        assert_eq!(of(&[(Dtype::F32, Dtype::F16), (Dtype::F32, Dtype::Q8_0)]), INT8);
        assert_eq!(of(&[(Dtype::Q4_0, Dtype::F32)]), SAME);
    }

    #[test]
    fn nan_keeps_to_nothing() {
        assert!(SAME.allows(1.0, 0.0) && !SAME.allows(f64::NAN, 0.0) && !SAME.allows(1.0, f64::NAN) && !SAME.allows(0.5, 0.0));
    }
}
