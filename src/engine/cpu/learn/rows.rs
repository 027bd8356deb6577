//! The way back over activations, norms, softmax and dropout, and the optimiser's step: rows of numbers.
//!
//! Lane sums are in an order that depends on the width alone. Functions with whole numbers or roots are plain loops, which the compiler
//! vectorises inside the functions of [`super::kernels::table`].

use super::super::math::{derivative, exp};
use super::super::simd::Simd;
use crate::engine::graph::Activation;

/// The first `n` numbers at `p`, or all lanes; the rest `fill`.
#[inline(always)]
unsafe fn load<S: Simd>(p: *const f32, n: usize, fill: f32) -> S::V {
    // SAFETY: the caller gives `n` readable numbers.
    unsafe { if n >= S::LANES { S::load(p) } else { S::load_part(p, n, fill) } }
}

#[inline(always)]
unsafe fn store<S: Simd>(p: *mut f32, n: usize, v: S::V) {
    // SAFETY: the caller gives `n` writable numbers.
    unsafe { if n >= S::LANES { S::store(p, v) } else { S::store_part(p, n, v) } }
}

/// `out = gradient * activation'(x)`; `out` may be `gradient`.
#[inline(always)]
pub(in super::super) unsafe fn activate_back<S: Simd>(which: Activation, gradient: *const f32, x: *const f32, out: *mut f32, n: usize) {
    let mut i = 0;
    while i < n {
        // SAFETY: the caller runs where S exists and gives `n` numbers each.
        unsafe {
            let d = derivative::<S>(which, load::<S>(x.add(i), n - i, 0.0));
            store::<S>(out.add(i), n - i, S::mul(load::<S>(gradient.add(i), n - i, 0.0), d));
        }
        i += S::LANES;
    }
}

/// One row on the way back over a norm.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct NormBack {
    pub gradient: *const f32,
    /// What was normalised.
    pub x: *const f32,
    pub weight: *const f32,
    /// The gradient of x; may be `gradient`.
    pub out: *mut f32,
    pub width: usize,
    pub epsilon: f32,
    /// The gradients so far of the scale, and behind them of the shift, `width` numbers each; null for none.
    pub sums: *mut f32,
}

/// With `n = (x - mean) / deviation` and `g = gradient * weight`: `(g - mean(g) - n mean(g n)) / deviation`.
#[inline(always)]
pub(in super::super) unsafe fn norm_back<S: Simd>(row: &NormBack) {
    let NormBack { gradient, x, weight, out, width, epsilon, sums } = *row;
    // SAFETY: the caller runs where S exists and gives rows of `width` numbers.
    unsafe {
        let mut total = S::splat(0.0);
        let mut i = 0;
        while i < width {
            total = S::add(total, load::<S>(x.add(i), width - i, 0.0));
            i += S::LANES;
        }
        let mean_value = S::sum(total) / width as f32;
        let mean = S::splat(mean_value);
        let mut squares = S::splat(0.0);
        i = 0;
        while i < width {
            let d = S::sub(load::<S>(x.add(i), width - i, mean_value), mean);
            squares = S::fma(d, d, squares);
            i += S::LANES;
        }
        let inverse_value = 1.0 / (S::sum(squares) / width as f32 + epsilon).sqrt();
        let inverse = S::splat(inverse_value);
        let (mut plain, mut scaled) = (S::splat(0.0), S::splat(0.0));
        i = 0;
        while i < width {
            let (d, normal) =
                (load::<S>(gradient.add(i), width - i, 0.0), S::mul(S::sub(load::<S>(x.add(i), width - i, mean_value), mean), inverse));
            let g = S::mul(d, load::<S>(weight.add(i), width - i, 0.0));
            plain = S::add(plain, g);
            scaled = S::fma(g, normal, scaled);
            if !sums.is_null() {
                let (of_weight, of_bias) = (sums.add(i), sums.add(width + i));
                store::<S>(of_weight, width - i, S::fma(d, normal, load::<S>(of_weight, width - i, 0.0)));
                store::<S>(of_bias, width - i, S::add(d, load::<S>(of_bias, width - i, 0.0)));
            }
            i += S::LANES;
        }
        let plain = S::splat(S::sum(plain) / width as f32);
        let scaled = S::splat(S::sum(scaled) / width as f32);
        i = 0;
        while i < width {
            let normal = S::mul(S::sub(load::<S>(x.add(i), width - i, mean_value), mean), inverse);
            let g = S::sub(S::mul(load::<S>(gradient.add(i), width - i, 0.0), load::<S>(weight.add(i), width - i, 0.0)), plain);
            let g = S::sub(g, S::mul(normal, scaled));
            store::<S>(out.add(i), width - i, S::mul(g, inverse));
            i += S::LANES;
        }
    }
}

/// Each number kept, times `scale`, where a hash of `key` and its place is at least `threshold`; else 0. `out` may be `x`. The hash is
/// Wellons' `lowbias32` (Prospecting for Hash Functions, 2018).
#[inline(always)]
pub(in super::super) unsafe fn drop_row(x: *const f32, out: *mut f32, n: usize, key: u32, threshold: u32, scale: f32) {
    for i in 0..n {
        let factor = if hash(key, i as u32) >= threshold { scale } else { 0.0 };
        // SAFETY: the caller gives `n` numbers each.
        unsafe { *out.add(i) = *x.add(i) * factor };
    }
}

/// A hash of a row's key and a place in the row.
#[inline(always)]
pub(super) fn hash(key: u32, place: u32) -> u32 {
    let mut h = key ^ place.wrapping_mul(0x9e37_79b9);
    h = (h ^ (h >> 16)).wrapping_mul(0x7feb_352d);
    h = (h ^ (h >> 15)).wrapping_mul(0x846c_a68b);
    h ^ (h >> 16)
}

/// From the gradient of softmax's result to that of what it read, times `scale`: `w (gradient - sum(w gradient)) scale`, in place.
#[inline(always)]
pub(in super::super) unsafe fn softmax_back<S: Simd>(weights: *const f32, gradient: *mut f32, n: usize, scale: f32) {
    // SAFETY: the caller runs where S exists and gives `n` numbers each.
    unsafe {
        let mut sum = S::splat(0.0);
        let mut i = 0;
        while i < n {
            sum = S::fma(load::<S>(weights.add(i), n - i, 0.0), load::<S>(gradient.add(i), n - i, 0.0), sum);
            i += S::LANES;
        }
        let (sum, scale) = (S::splat(S::sum(sum)), S::splat(scale));
        i = 0;
        while i < n {
            let d = S::sub(load::<S>(gradient.add(i), n - i, 0.0), sum);
            store::<S>(gradient.add(i), n - i, S::mul(S::mul(load::<S>(weights.add(i), n - i, 0.0), scale), d));
            i += S::LANES;
        }
    }
}

/// Adds the sum of each column to `sums`, rows in their order.
#[inline(always)]
pub(in super::super) unsafe fn column_sums<S: Simd>(x: *const f32, stride: usize, rows: usize, columns: usize, sums: *mut f32) {
    let mut i = 0;
    while i < columns {
        // SAFETY: the caller runs where S exists and gives `rows` rows and `columns` sums.
        unsafe {
            let mut sum = load::<S>(sums.add(i), columns - i, 0.0);
            for row in 0..rows {
                sum = S::add(sum, load::<S>(x.add(row * stride + i), columns - i, 0.0));
            }
            store::<S>(sums.add(i), columns - i, sum);
        }
        i += S::LANES;
    }
}

/// Adds to each row of scores its own `bias`; writes to `out` the largest of each column, and behind these the column's sum of
/// `e^(score - largest)`. `columns` are whole panels.
#[inline(always)]
pub(in super::super) unsafe fn largest_and_sum<S: Simd>(
    scores: *mut f32,
    stride: usize,
    rows: usize,
    columns: usize,
    bias: *const f32,
    out: *mut f32,
) {
    for i in (0..columns).step_by(S::LANES) {
        // SAFETY: the caller runs where S exists and gives `rows` rows of whole panels and twice as many numbers as columns.
        unsafe {
            let mut largest = S::splat(f32::NEG_INFINITY);
            for row in 0..rows {
                let at = scores.add(row * stride + i);
                let score = S::add(S::load(at), S::splat(*bias.add(row)));
                S::store(at, score);
                largest = S::max(largest, score);
            }
            let mut sum = S::splat(0.0);
            for row in 0..rows {
                sum = S::add(sum, exp::<S>(S::sub(S::load(scores.add(row * stride + i)), largest)));
            }
            S::store(out.add(i), largest);
            S::store(out.add(columns + i), sum);
        }
    }
}

/// Replaces each score of a row by `factor e^(score - total)` of its column, and returns their sum. `columns` are whole panels.
#[inline(always)]
pub(in super::super) unsafe fn probabilities<S: Simd>(scores: *mut f32, columns: usize, total: *const f32, factors: *const f32) -> f32 {
    // SAFETY: the caller runs where S exists and gives `columns` numbers each.
    unsafe {
        let mut sum = S::splat(0.0);
        for i in (0..columns).step_by(S::LANES) {
            let e = exp::<S>(S::sub(S::load(scores.add(i)), S::load(total.add(i))));
            let p = S::mul(e, S::load(factors.add(i)));
            S::store(scores.add(i), p);
            sum = S::add(sum, p);
        }
        S::sum(sum)
    }
}

/// A step of AdamW over some numbers of one kind.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Adam {
    pub numbers: *mut f32,
    pub gradients: *mut f32,
    pub means: *mut f32,
    pub squares: *mut f32,
    pub n: usize,
    pub rate: f32,
    /// The rate times the weight decay.
    pub decay: f32,
    pub beta1: f32,
    pub beta2: f32,
    pub epsilon: f32,
    /// `1 - beta^t` of both moments.
    pub correction1: f32,
    pub correction2: f32,
    /// What gradients are multiplied by.
    pub clip: f32,
}

/// Loshchilov and Hutter, Decoupled Weight Decay Regularization (2019); gradients are zero afterwards.
#[inline(always)]
pub(in super::super) unsafe fn adam(step: &Adam) {
    // SAFETY: the caller gives `n` numbers each, four places that do not overlap.
    let (p, g, m, v) = unsafe {
        let of = |at: *mut f32| std::slice::from_raw_parts_mut(at, step.n);
        (of(step.numbers), of(step.gradients), of(step.means), of(step.squares))
    };
    let (b1, b2) = (step.beta1, step.beta2);
    let (rate, root) = (step.rate / step.correction1, 1.0 / step.correction2.sqrt());
    for (((p, g), m), v) in p.iter_mut().zip(g).zip(m).zip(v) {
        let gradient = *g * step.clip;
        *m = b1 * *m + (1.0 - b1) * gradient;
        *v = b2 * *v + (1.0 - b2) * gradient * gradient;
        *p = *p * (1.0 - step.decay) - rate * *m / (v.sqrt() * root + step.epsilon);
        *g = 0.0;
    }
}

/// The sum of squares, in double precision, eight sums side by side.
#[inline(always)]
pub(in super::super) unsafe fn squares(x: *const f32, n: usize) -> f64 {
    // SAFETY: the caller gives `n` numbers.
    let x = unsafe { std::slice::from_raw_parts(x, n) };
    let mut sums = [0f64; 8];
    let whole = x.chunks_exact(8);
    let rest = whole.remainder();
    for part in whole {
        for i in 0..8 {
            sums[i] += f64::from(part[i]) * f64::from(part[i]);
        }
    }
    rest.iter().zip(&mut sums).for_each(|(x, sum)| *sum += f64::from(*x) * f64::from(*x));
    sums.iter().sum()
}
