//! Which scale suits a part of a super-block?
//!
//! Each search writes a code for each value and returns the scale. The order of the sums is part of the definition: the codes
//! must equal ggml's.

use super::super::block::{extreme, nearest};

/// Parts nearer to zero than this are zero (ggml's `GROUP_MAX_EPS`).
pub(super) const NOTHING: f32 = 1e-15;

/// `v = scale (code - half)` for codes below `2 half`: 19 scales, the best by squares weighted with the values' squares
/// (`make_qx_quants`, `rmse_type` 1).
pub(super) fn symmetric(values: &[f32; 16], half: i32, codes: &mut [u8]) -> f32 {
    let (far, distance) = extreme(values);
    if distance < NOTHING {
        codes.fill(0);
        return 0.0;
    }
    let clamped = |v: f32, iscale: f32| nearest(iscale * v).clamp(-half, half - 1);
    let sums = |iscale: f32| {
        values.iter().fold((0f32, 0f32), |(product, square), v| {
            let (w, l) = (v * v, clamped(*v, iscale) as f32);
            (product + w * v * l, square + w * l * l)
        })
    };
    let mut write = |iscale: f32| codes.iter_mut().zip(values).for_each(|(c, v)| *c = (half + clamped(*v, iscale)) as u8);
    let iscale = -half as f32 / far;
    write(iscale);
    let (product, square) = sums(iscale);
    let mut scale = if square == 0.0 { 0.0 } else { product / square };
    let mut best = scale * product;
    for step in (-9..=9).filter(|step| *step != 0) {
        let iscale = -(half as f32 + 0.1 * step as f32) / far;
        let (product, square) = sums(iscale);
        if square > 0.0 && product * product > best * square {
            write(iscale);
            scale = product / square;
            best = scale * product;
        }
    }
    scale
}

/// As [`symmetric`] for codes below 8, improved one code at a time, at most five rounds (`make_q3_quants`).
pub(super) fn symmetric_by_exchange(values: &[f32; 16], codes: &mut [u8]) -> f32 {
    const HALF: i32 = 4;
    let (far, distance) = extreme(values);
    if distance < NOTHING {
        codes.fill(0);
        return 0.0;
    }
    let iscale = -HALF as f32 / far;
    let mut chosen = values.map(|v| nearest(iscale * v).clamp(-HALF, HALF - 1));
    let (mut product, mut square) = values.iter().zip(&chosen).fold((0f32, 0f32), |(product, square), (v, l)| {
        let (w, l) = (v * v, *l as f32);
        (product + w * v * l, square + w * l * l)
    });
    for _ in 0..5 {
        let mut changed = false;
        for (v, chosen) in values.iter().zip(&mut chosen) {
            let (w, l) = (v * v, *chosen as f32);
            let without = product - w * v * l;
            // Written so that NaN stops here, as in the definition.
            if without > 0.0 {
                let square_without = square - w * l * l;
                let new = nearest(v * square_without / without).clamp(-HALF, HALF - 1);
                if new != *chosen {
                    let n = new as f32;
                    let (with, square_with) = (without + w * v * n, square_without + w * n * n);
                    if square_with > 0.0 && with * with * square > product * product * square_with {
                        (*chosen, product, square) = (new, with, square_with);
                        changed = true;
                    }
                }
            }
        }
        if !changed {
            break;
        }
    }
    codes.iter_mut().zip(&chosen).for_each(|(c, l)| *c = (l + HALF) as u8);
    if square > 0.0 { product / square } else { 0.0 }
}

/// What [`with_minimum`] tries, and how it measures.
pub(super) struct Attempts {
    /// The highest code.
    pub(super) highest: i32,
    /// Added to `highest` for the first attempt.
    pub(super) first: f32,
    /// Attempts after the first, each 0.1 higher.
    pub(super) steps: i32,
    /// Whether errors count by their size rather than by their square.
    pub(super) absolute: bool,
}

/// `v = scale code - minimum` (`make_qkx2_quants`): returns scale and minimum, which is at least 0. `weights` has one a value.
pub(super) fn with_minimum<const N: usize>(values: &[f32; N], weights: &[f32; N], tried: &Attempts, codes: &mut [u8]) -> (f32, f32) {
    let (mut min, mut max) = (values[0], values[0]);
    let (mut sum_w, mut sum_x) = (weights[0], weights[0] * values[0]);
    for (v, w) in values.iter().zip(weights).skip(1) {
        min = if *v < min { *v } else { min };
        max = if *v > max { *v } else { max };
        sum_w += w;
        sum_x += w * v;
    }
    min = if min > 0.0 { 0.0 } else { min };
    if max == min {
        codes.fill(0);
        return (0.0, -min);
    }
    let (low, range) = (min, max - min);
    let code = |v: f32, iscale: f32, low: f32| nearest(iscale * (v - low)).clamp(0, tried.highest) as u8;
    let error = |codes: &[u8], scale: f32, min: f32| {
        codes.iter().zip(values).zip(weights).fold(0f32, |sum, ((c, v), w)| {
            let diff = scale * f32::from(*c) + min - v;
            sum + w * if tried.absolute { diff.abs() } else { diff * diff }
        })
    };
    let iscale = tried.highest as f32 / range;
    codes.iter_mut().zip(values).for_each(|(c, v)| *c = code(*v, iscale, low));
    let mut scale = 1.0 / iscale;
    let mut best = error(codes, scale, min);
    for step in 0..=tried.steps {
        // The definition measures from the minimum found so far, over the range left then.
        let iscale = (tried.first + 0.1 * step as f32 + tried.highest as f32) / (max - min);
        let candidate = values.map(|v| code(v, iscale, min));
        let Some((this_scale, this_min)) = fitted(&candidate, values, weights, sum_w, sum_x) else { continue };
        let this_error = error(&candidate, this_scale, this_min);
        if this_error < best {
            codes.copy_from_slice(&candidate);
            (best, scale, min) = (this_error, this_scale, this_min);
        }
    }
    (scale, -min)
}

/// The scale and the (negated) minimum with the least weighted squares for these codes; the minimum is never above 0.
fn fitted<const N: usize>(codes: &[u8; N], values: &[f32; N], weights: &[f32; N], sum_w: f32, sum_x: f32) -> Option<(f32, f32)> {
    let (mut sum_l, mut sum_l2, mut sum_xl) = (0f32, 0f32, 0f32);
    for ((c, v), w) in codes.iter().zip(values).zip(weights) {
        let l = f32::from(*c);
        sum_l += w * l;
        sum_l2 += w * l * l;
        sum_xl += w * l * v;
    }
    let determinant = sum_w * sum_l2 - sum_l * sum_l;
    if determinant > 0.0 {
        let min = (sum_l2 * sum_x - sum_l * sum_xl) / determinant;
        return Some(if min > 0.0 { (sum_xl / sum_l2, 0.0) } else { ((sum_w * sum_xl - sum_x * sum_l) / determinant, min) });
    }
    None
}
