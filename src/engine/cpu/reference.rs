//! The definition: each kernel as its formula says, one number at a time, sums in double precision.
//!
//! Slow and obvious. Every other table is compared with this one on odd sizes and full-range values (`tests` at the foot of
//! this folder), and it can be chosen (`CLOZE_ISA=reference`) to check a whole model.

use super::dot::{DotTile, QuantiseRow};
use super::gemm::{PANEL, Start, Tile};
use super::int8::{BLOCK, OUTLIER_ROWS, OUTLIERS, PANEL_BLOCK, PANEL_HEAD, RowLayout, UNITS};
use super::kernels::{Kernels, NormRow};
use super::pack::Packed;
use crate::engine::graph::{Activation, Attention, Bias, Met, Op, Sight};

pub(super) const KERNELS: Kernels = Kernels {
    name: "reference",
    available: || true,
    tile_rows: 1,
    tile,
    dot_rows: 1,
    dot_tile,
    quantise_row,
    bf16: None,
    activate,
    activate_int8: activate,
    softmax,
    add_norm,
    #[cfg(feature = "train")]
    learn: &super::learn::reference::LEARN,
};

/// An output of an int8 product: scale * sum of blocks + low * sum of weights + bias + outliers.
unsafe fn dot_tile(t: &DotTile) {
    for r in 0..t.rows {
        for j in 0..PANEL {
            // SAFETY: the caller's contract is `DotTile`'s.
            unsafe {
                let row = t.a.add(r * t.layout.stride);
                let number = |at: usize| f64::from(*row.add(at).cast::<f32>());
                let head = |i: usize| f64::from(*t.panel.cast::<f32>().add(i * PANEL + j));
                let mut sum = 0.0;
                for block in 0..t.layout.blocks {
                    let part = t.panel.add(PANEL_HEAD + block * PANEL_BLOCK);
                    let mut whole = 0i64;
                    for k in 0..BLOCK {
                        let w = *part.add(PANEL * 2 + (k / 4 * PANEL + j) * 4 + k % 4) as i8;
                        whole += i64::from(w) * i64::from(*row.add(RowLayout::DATA + block * BLOCK + k));
                    }
                    sum += whole as f64 * f64::from(half::f16::from_bits(*part.cast::<u16>().add(j)).to_f32());
                }
                let mut value = sum * head(UNITS) * number(0) + number(4) * head(0);
                if !t.bias.is_null() {
                    value += f64::from(*t.bias.add(j));
                }
                for o in 0..t.outliers {
                    let bf16 = |pair: *const u8| f64::from(half::bf16::from_bits(*pair.cast::<u16>().add(o % 2)).to_f32());
                    let weights = t.panel.add(((OUTLIER_ROWS + o / 2) * PANEL + j) * 4);
                    value += bf16(row.add(RowLayout::OUTLIERS_AT + o / 2 * 4)) * bf16(weights);
                }
                *t.c.add(r * t.c_stride + j) = value as f32;
            }
        }
    }
}

/// Quantises a row over its smallest and largest value, outliers aside.
unsafe fn quantise_row(row: &QuantiseRow<'_>) {
    // SAFETY: the caller gives `width` numbers and `stride` bytes.
    unsafe {
        let x = std::slice::from_raw_parts(row.x, row.width);
        let usual = |c: usize| !row.outliers.contains(&(c as u32));
        let low = (0..row.width).filter(|c| usual(*c)).map(|c| x[c]).fold(f32::INFINITY, f32::min);
        let high = (0..row.width).filter(|c| usual(*c)).map(|c| x[c]).fold(f32::NEG_INFINITY, f32::max);
        let scale = ((f64::from(high) - f64::from(low)) / 255.0) as f32;
        let damaged = x.iter().any(|v| !v.is_finite());
        let head = row.out.cast::<f32>();
        *head = scale;
        *head.add(1) = if damaged { f32::NAN } else { low };
        for o in 0..OUTLIERS {
            let value = row.outliers.get(o).map_or(0.0, |c| x[*c as usize]);
            *row.out.add(RowLayout::OUTLIERS_AT).cast::<half::bf16>().add(o) = half::bf16::from_f32(value);
        }
        let neutral = (0..row.width).find(|c| usual(*c)).map_or(0.0, |c| x[c]);
        for c in 0..row.layout.blocks * BLOCK {
            let v = x.get(c).filter(|_| usual(c)).unwrap_or(&neutral);
            let q = if scale > 0.0 { ((v - low) / scale).round_ties_even() } else { 0.0 };
            *row.out.add(RowLayout::DATA + c) = q as u8;
        }
    }
}

unsafe fn tile(t: &Tile) {
    for r in 0..t.rows {
        for j in 0..PANEL {
            // SAFETY: the caller's contract is `Tile`'s.
            unsafe {
                let mut sum = match t.start {
                    Start::Zero => 0.0,
                    Start::Bias(bias) => f64::from(*bias.add(j)),
                    Start::Sum => f64::from(*t.c.add(r * t.c_stride + j)),
                };
                for k in 0..t.depth {
                    sum += f64::from(*t.a.add(r * t.a_stride + k)) * f64::from(*t.b.add(k * PANEL + j));
                }
                *t.c.add(r * t.c_stride + j) = sum as f32;
            }
        }
    }
}

/// The activation's formula.
pub(super) fn activation(activation: Activation, x: f64) -> f64 {
    match activation {
        Activation::Identity => x,
        Activation::Gelu => 0.5 * x * erfc(-x * std::f64::consts::FRAC_1_SQRT_2),
        Activation::GeluTanh => 0.5 * x * (1.0 + ((2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x * x * x)).tanh()),
        Activation::Relu if x < 0.0 => 0.0,
        Activation::Relu => x,
        Activation::Tanh => x.tanh(),
        Activation::Silu => x / (1.0 + (-x).exp()),
    }
}

/// The complementary error function: its power series near zero, its continued fraction beyond (Abramowitz and Stegun,
/// Handbook of Mathematical Functions, 7.1.5 and 7.1.14).
pub(super) fn erfc(x: f64) -> f64 {
    let z = x.abs();
    let value = if z.is_nan() {
        z
    } else if z < 2.5 {
        let (mut term, mut sum) = (z, z);
        for n in 1..80 {
            term *= -z * z / f64::from(n);
            sum += term / f64::from(2 * n + 1);
        }
        1.0 - sum * 2.0 / std::f64::consts::PI.sqrt()
    } else {
        let fraction = (1..=80).rev().fold(z, |f, n| z + f64::from(n) / 2.0 / f);
        (-z * z).exp() / (fraction * std::f64::consts::PI.sqrt())
    };
    if x < 0.0 { 2.0 - value } else { value }
}

unsafe fn activate(which: Activation, block: *mut f32, rows: usize, stride: usize) {
    for r in 0..rows {
        for j in 0..PANEL {
            // SAFETY: the caller gives `rows` rows of one panel.
            unsafe {
                let x = block.add(r * stride + j);
                *x = activation(which, f64::from(*x)) as f32;
            }
        }
    }
}

/// What head `head` of an attention looks at, (tokens, tokens): row `i` has the softmax of the scaled products of query `i` with each
/// key that it sees, plus the bias, as f32, and 0 for the others; a key that counts several times has the sum. `read` is what the operation
/// reads, (tokens, 3 * heads * head_size). Other operations look at nothing, and nor do those with queries of the start's own.
///
/// # Panics
/// If `map` has not as many rows and columns as `read` has rows.
pub(super) fn attention_map(op: &Op, weights: &Packed, read: &[f32], head: usize, map: &mut [f32]) {
    let Op::Attention { start: None, attention: attention @ Attention { heads, head_size, bias, .. }, .. } = op else {
        return map.fill(0.0);
    };
    let table = |id| weights.vector(id).unwrap_or_default();
    let width = 3 * heads * head_size;
    let tokens = read.len() / width.max(1);
    assert_eq!(map.len(), tokens * tokens, "a map is as wide as it is high");
    let part = |row: usize, which: usize| &read[row * width + (which * heads + head) * head_size..][..*head_size];
    let scale = 1.0 / (attention.products() as f64).sqrt();
    // Which tokens they are tells only who is at the start.
    let ids = vec![0; tokens];
    for (i, row) in map.chunks_exact_mut(tokens.max(1)).enumerate() {
        let product = |j: usize| dot(part(i, 0), part(j, 1).iter().copied()) * scale;
        let bias = |j: usize| match bias {
            Bias::Disentangled(positions) => {
                let place = positions.place(i as isize - j as isize);
                let met = |met: &Met, row: usize, which: usize| {
                    let matrix = met.made(head).and_then(|id| weights.matrix(id));
                    matrix
                        .map_or(0.0, |m| dot(part(row, which), (0..*head_size).map(|k| m.panel(place / PANEL)[k * PANEL + place % PANEL])))
                };
                (met(&positions.keys, i, 0) + met(&positions.queries, j, 1)) * scale
            }
            by_distance => f64::from(by_distance.at(j as isize - i as isize, head, *heads, &table)),
        };
        let (one, all) = (Sight::of(attention, &ids, tokens), Sight::all(tokens));
        let wide = one.wide(tokens).iter().any(|rows| rows.contains(&i));
        let seen = (if wide { &all } else { &one }).seen(i..i + 1, 1);
        let times = |j: usize| {
            seen.iter().find(|range| range.contains(&j)).and_then(|range| one.often(range)).filter(|(count, _)| !wide && j < *count)
        };
        let keys = || seen.iter().cloned().flatten();
        let scores: Vec<f64> = keys().map(|j| product(j) + bias(j)).collect();
        let largest = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let weights: Vec<f64> =
            keys().zip(&scores).map(|(j, s)| (s - largest).exp() * times(j).map_or(1.0, |(_, times)| f64::from(times))).collect();
        let sum: f64 = weights.iter().sum();
        row.fill(0.0);
        keys().zip(&weights).for_each(|(j, weight)| row[j] = (weight / sum) as f32);
    }
}

fn dot(x: &[f32], y: impl Iterator<Item = f32>) -> f64 {
    x.iter().zip(y).map(|(x, y)| f64::from(*x) * f64::from(y)).sum()
}

unsafe fn softmax(row: *mut f32, n: usize, padded: usize, scale: f32) -> f32 {
    // SAFETY: the caller gives `padded` >= n numbers.
    let row = unsafe { std::slice::from_raw_parts_mut(row, padded) };
    let largest = row[..n].iter().fold(f32::NEG_INFINITY, |m, x| m.max(*x));
    let mut sum = 0.0;
    for x in &mut row[..n] {
        let e = ((f64::from(*x) - f64::from(largest)) * f64::from(scale)).exp();
        sum += e;
        *x = e as f32;
    }
    row[n..].fill(0.0);
    (1.0 / sum) as f32
}

unsafe fn add_norm(row: &NormRow) {
    // SAFETY: the caller gives rows of `width` numbers.
    unsafe {
        let second = |i| if row.y.is_null() { 0.0 } else { f64::from(*row.y.add(i)) };
        let sums: Vec<f64> = (0..row.width).map(|i| f64::from(*row.x.add(i)) + second(i)).collect();
        let mean = sums.iter().sum::<f64>() / row.width as f64;
        let variance = sums.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / row.width as f64;
        let factor = 1.0 / (variance + f64::from(row.epsilon)).sqrt();
        for (i, v) in sums.iter().enumerate() {
            let shift = if row.bias.is_null() { 0.0 } else { f64::from(*row.bias.add(i)) };
            *row.out.add(i) = ((v - mean) * factor * f64::from(*row.weight.add(i)) + shift) as f32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn erfc_has_its_tabled_values() {
        // Abramowitz and Stegun, table 7.1, to the ten digits printed there.
        for (x, erf) in [(0.5, 0.5204998778), (1.0, 0.8427007929), (2.0, 0.9953222650), (0.02, 0.0225645747)] {
            assert!((1.0 - erfc(x) - erf).abs() < 1e-10, "{x}");
            assert!((erfc(-x) - 1.0 - erf).abs() < 1e-10, "-{x}");
        }
        assert!((erfc(2.4999999) - erfc(2.5000001)).abs() < 1e-9, "the two formulas meet");
        assert!((erfc(3.0) / 2.209_049_699_858_544e-5 - 1.0).abs() < 1e-10);
    }
}
