//! Softmax and layer normalisation: whole rows, one pass each, lane sums in an order that depends on the width alone.

use super::kernels::NormRow;
use super::math::exp;
use super::simd::Simd;

/// Replaces the scores `row[..n]` by `e^(scale * (score - largest))` and `row[n..padded]` by 0; returns 1 / their sum.
/// `padded` is a multiple of 32 and `row[..padded]` is writable.
#[inline(always)]
pub(super) unsafe fn softmax<S: Simd>(row: *mut f32, n: usize, padded: usize, scale: f32) -> f32 {
    // SAFETY: the caller runs where S exists and gives `padded` >= n numbers, a multiple of every register's lanes.
    unsafe {
        let whole = n / S::LANES * S::LANES;
        let rest = n - whole;
        let mut top = S::splat(f32::NEG_INFINITY);
        for i in (0..whole).step_by(S::LANES) {
            top = S::max(top, S::load(row.add(i)));
        }
        if rest > 0 {
            top = S::max(top, S::load_part(row.add(whole), rest, f32::NEG_INFINITY));
        }
        let largest = S::splat(S::largest(top));
        let factor = S::splat(scale);
        let mut sum = S::splat(0.0);
        for i in (0..whole).step_by(S::LANES) {
            let e = exp::<S>(S::mul(S::sub(S::load(row.add(i)), largest), factor));
            S::store(row.add(i), e);
            sum = S::add(sum, e);
        }
        let mut i = whole;
        if rest > 0 {
            let e = exp::<S>(S::mul(S::sub(S::load_part(row.add(whole), rest, 0.0), largest), factor));
            S::store(row.add(whole), S::splat(0.0));
            S::store_part(row.add(whole), rest, e);
            sum = S::add(sum, S::load(row.add(whole)));
            i += S::LANES;
        }
        while i < padded {
            S::store(row.add(i), S::splat(0.0));
            i += S::LANES;
        }
        1.0 / S::sum(sum)
    }
}

/// Layer normalisation of the row `x + y` into `out`. Two passes, as the definition says: mean, then variance around it.
#[inline(always)]
pub(super) unsafe fn add_norm<S: Simd>(row: &NormRow) {
    let NormRow { x, y, out, width, weight, bias, epsilon } = *row;
    // SAFETY: the caller runs where S exists and gives rows of `width` numbers.
    unsafe {
        let whole = width / S::LANES * S::LANES;
        let rest = width - whole;
        let mut sum = S::splat(0.0);
        for i in (0..whole).step_by(S::LANES) {
            let mut v = S::load(x.add(i));
            if !y.is_null() {
                v = S::add(v, S::load(y.add(i)));
            }
            S::store(out.add(i), v);
            sum = S::add(sum, v);
        }
        if rest > 0 {
            let mut v = S::load_part(x.add(whole), rest, 0.0);
            if !y.is_null() {
                v = S::add(v, S::load_part(y.add(whole), rest, 0.0));
            }
            S::store_part(out.add(whole), rest, v);
            sum = S::add(sum, v);
        }
        let mean_value = S::sum(sum) / width as f32;
        let mean = S::splat(mean_value);
        let mut squares = S::splat(0.0);
        for i in (0..whole).step_by(S::LANES) {
            let d = S::sub(S::load(out.add(i)), mean);
            squares = S::fma(d, d, squares);
        }
        if rest > 0 {
            let d = S::sub(S::load_part(out.add(whole), rest, mean_value), mean);
            squares = S::fma(d, d, squares);
        }
        // Squares that overflow would divide every number to nothing: that must show, not pass for an answer.
        let variance = S::sum(squares) / width as f32;
        let factor = S::splat(if variance.is_finite() { 1.0 / (variance + epsilon).sqrt() } else { f32::NAN });
        for i in (0..whole).step_by(S::LANES) {
            let d = S::mul(S::sub(S::load(out.add(i)), mean), factor);
            let shift = if bias.is_null() { S::splat(0.0) } else { S::load(bias.add(i)) };
            S::store(out.add(i), S::fma(d, S::load(weight.add(i)), shift));
        }
        if rest > 0 {
            let d = S::mul(S::sub(S::load_part(out.add(whole), rest, 0.0), mean), factor);
            let shift = if bias.is_null() { S::splat(0.0) } else { S::load_part(bias.add(whole), rest, 0.0) };
            let v = S::fma(d, S::load_part(weight.add(whole), rest, 0.0), shift);
            S::store_part(out.add(whole), rest, v);
        }
    }
}
