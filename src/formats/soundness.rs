//! Are a tensor's numbers sound, and does another type hold them?
//!
//! Rounding costs what [`MOST`] says at most, whatever the numbers are, as long as a block's scale is a number that f16 holds in
//! full. More is lost where the numbers are so small (below about 1e-5) that it is not, and all of it where the scale becomes zero.

use crate::error::{ErrorKind, Result, fail};
use crate::quant::{Dtype, Tensor};

/// The largest error of a row, as a share of the row (both root mean squares). One large number among small ones is the worst for a
/// block: n numbers and steps of s times the largest lose up to s / 2 x sqrt(n); these are a little more. Usual rows lose a tenth of it.
const MOST: &[(Dtype, f64)] = &[
    (Dtype::F16, 0.05),
    (Dtype::Bf16, 0.05),
    (Dtype::Q8_0, 0.05),
    (Dtype::Q8K, 0.1),
    (Dtype::Q6K, 0.2),
    (Dtype::Q5K, 0.35),
    (Dtype::Q5_1, 0.35),
    (Dtype::Q5_0, 0.35),
    (Dtype::Q4K, 0.6),
    (Dtype::Q4_1, 0.6),
    (Dtype::Q4_0, 0.6),
    (Dtype::Iq4Nl, 0.6),
    (Dtype::Q3K, 0.8),
    (Dtype::Q2K, 0.9),
];

/// The first number that is NaN or infinite, and its place; of blocks, as they are widened.
pub(super) fn first_not_finite(tensor: &Tensor) -> Option<(usize, f32)> {
    if !tensor.dtype().is_float() || tensor.elements() == 0 {
        return None;
    }
    let len = tensor.row_len();
    let mut row = vec![0f32; len];
    (0..tensor.rows()).find_map(|index| {
        tensor.row(index, &mut row);
        row.iter().position(|v| !v.is_finite()).map(|at| (index * len + at, row[at]))
    })
}

/// Refuses a tensor whose rows of `len` numbers, `before`, are no longer themselves, `after`, in type `dtype`. `name` is that of the GGUF
/// file, by which exceptions go.
pub(super) fn check_loss(name: &str, dtype: Dtype, len: usize, before: &[f32], after: &[f32]) -> Result<()> {
    let Some((_, most)) = MOST.iter().find(|(t, _)| *t == dtype) else { return Ok(()) };
    for (index, (before, after)) in before.chunks(len.max(1)).zip(after.chunks(len.max(1))).enumerate() {
        let largest = before.iter().fold(0f32, |largest, v| largest.max(v.abs()));
        // Numbers below all that f32 holds in full are zeros that rounding left.
        if largest < f32::MIN_POSITIVE {
            continue;
        }
        let gone = after.iter().all(|v| *v == 0.0);
        let lost = share_lost(before, after);
        if gone || lost > *most {
            let how = if gone { "becomes zeros".to_owned() } else { format!("is off by {:.0} % of itself", lost * 100.0) };
            let remedy = if dtype == Dtype::F16 { "bf16 or f32" } else { "bf16 or f32 (f16 if its numbers are above 1e-5)" };
            let told = format!(
                "tensor {name:?}: row {index}, whose largest number is {largest:e}, {how} in {}; store it as {remedy}: --tensor '{name}=f32'",
                dtype.name()
            );
            return fail(ErrorKind::InvalidArgument, told);
        }
    }
    Ok(())
}

/// The root mean square of the differences, as a share of that of `before`.
fn share_lost(before: &[f32], after: &[f32]) -> f64 {
    let square = |v: f64| v * v;
    let differences: f64 = before.iter().zip(after).map(|(b, a)| square(f64::from(*b) - f64::from(*a))).sum();
    let whole: f64 = before.iter().map(|v| square(f64::from(*v))).sum();
    (differences / whole).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1024 numbers that no pattern of a type suits.
    fn values(form: impl Fn(usize, f32) -> f32) -> Vec<f32> {
        let mut state = 1u32;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / (1 << 23) as f32 - 1.0
        };
        (0..1024).map(|i| form(i, next())).collect()
    }

    fn check(dtype: Dtype, before: &[f32]) -> Result<()> {
        let mut after = before.to_vec();
        dtype.widen(&dtype.quantise(before).unwrap(), &mut after);
        check_loss("blk.0.ffn_up.weight", dtype, 256, before, &after)
    }

    #[test]
    fn rows_of_every_usual_and_unusual_form_pass_in_every_type() {
        for dtype in Dtype::all().filter(|dtype| dtype.is_float()) {
            assert_eq!(MOST.iter().filter(|(t, _)| *t == dtype).count(), usize::from(dtype != Dtype::F32), "{}", dtype.name());
            for scale in [1e-2f32, 1.0, 1e3] {
                for (what, row) in [
                    ("even", values(|_, v| v * scale)),
                    ("bell", values(|_, v| v * v * v * scale)),
                    ("positive", values(|_, v| (v.abs() + 0.5) * scale)),
                    ("offset", values(|_, v| (v + 10.0) * scale)),
                    ("an outlier", values(|i, v| if i % 256 == 7 { scale } else { v * scale / 60.0 })),
                    ("one number", values(|i, _| if i % 256 == 7 { scale } else { 0.0 })),
                    ("zeros", vec![0.0; 1024]),
                    ("denormal", vec![1e-40; 1024]),
                ] {
                    check(dtype, &row).unwrap_or_else(|e| panic!("{what} x {scale} in {}: {e}", dtype.name()));
                }
            }
        }
    }

    #[test]
    fn rows_that_vanish_or_are_off_are_refused_and_the_message_helps() {
        for dtype in Dtype::all().filter(|dtype| dtype.is_quantised() && *dtype != Dtype::Q8K) {
            let e = check(dtype, &values(|_, v| v * 1e-8)).unwrap_err();
            for part in ["blk.0.ffn_up.weight", "row 0", dtype.name(), "--tensor 'blk.0.ffn_up.weight=f32'"] {
                assert!(e.message().contains(part), "{part}: {e}");
            }
            // One row among sound ones.
            let e = check(dtype, &values(|i, v| if i / 256 == 2 { v * 1e-12 } else { v })).unwrap_err();
            assert!(e.message().contains("row 2") && e.message().contains("zeros"), "{e}");
        }
        check(Dtype::Bf16, &values(|_, v| v * 1e-8)).unwrap();
        assert!(check(Dtype::F16, &values(|_, v| v * 1e-8)).unwrap_err().message().contains("bf16 or f32:"));
        // The scale is there, but coarse.
        assert!(check(Dtype::Q8_0, &values(|_, v| v * 1e-5)).unwrap_err().message().contains("is off by"));
    }
}
