//! IQ4_NL: 32 values in 4 bits each, which choose among 16 levels that lie denser near zero, `v = d level[q]`.
//!
//! | bytes | what |
//! |---|---|
//! | 0..2 | `d`, f16 |
//! | 2..18 | `q`: value `i` in the low half of byte `i`, value `16 + i` in the high half |
//!
//! The scale is searched as `ggml_quantize_chunk` does it without an importance matrix, which is what llama.cpp's files hold
//! (`quantize_iq4_nl`): 15 scales around the one that maps the farthest value to the lowest level, the best by the sum of
//! squares weighted with the values' squares.

use super::block::{extreme, get_f16, inverse, put_f16, read_blocks, write_blocks};

pub(super) const ELEMENTS: usize = 32;
const HALF: usize = ELEMENTS / 2;
pub(super) const BYTES: usize = 18;
const QUANTS: usize = 2;
const _: () = assert!(QUANTS + HALF == BYTES);

/// ggml's `kvalues_iq4nl`.
const LEVELS: [i8; 16] = [-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113];
const LOWEST: f32 = LEVELS[0] as f32;

/// Scales tried on each side of the first.
const TRIES: i32 = 7;

/// Blocks nearer to zero than this are zero.
const NOTHING: f32 = 1e-15;

pub(super) fn dequantise(bytes: &[u8], out: &mut [f32]) {
    read_blocks(bytes, out, |b: &[u8; BYTES], v: &mut [f32; ELEMENTS]| {
        let d = get_f16(b, 0);
        for (i, q) in b[QUANTS..].iter().enumerate() {
            v[i] = d * level(usize::from(q & 15));
            v[HALF + i] = d * level(usize::from(q >> 4));
        }
    });
}

pub(super) fn quantise(values: &[f32], bytes: &mut [u8]) {
    write_blocks(values, bytes, |v: &[f32; ELEMENTS], b: &mut [u8; BYTES]| {
        let d = scale(v);
        put_f16(b, 0, d);
        let id = inverse(d);
        let code = |v: f32| nearest_level(id * v) as u8;
        (0..HALF).for_each(|i| b[QUANTS + i] = code(v[i]) | (code(v[HALF + i]) << 4));
    });
}

fn scale(values: &[f32; ELEMENTS]) -> f32 {
    let (far, distance) = extreme(values);
    if distance < NOTHING {
        return 0.0;
    }
    let (product, square) = sums(values, 1.0 / (-far / LOWEST));
    let mut d = if square > 0.0 { product / square } else { 0.0 };
    let mut best = d * product;
    for step in -TRIES..=TRIES {
        let (product, square) = sums(values, (step as f32 + LOWEST) / far);
        if square > 0.0 && product * product > best * square {
            d = product / square;
            best = d * product;
        }
    }
    d
}

/// The weighted sums of value times level and of level squared, with values scaled by `id`.
fn sums(values: &[f32; ELEMENTS], id: f32) -> (f32, f32) {
    values.iter().fold((0.0, 0.0), |(product, square), v| {
        let (q, w) = (level(nearest_level(id * v)), v * v);
        (product + w * q * v, square + w * q * q)
    })
}

fn level(index: usize) -> f32 {
    f32::from(LEVELS[index])
}

/// The index of the level nearest to `x`, the higher of two that are as near.
fn nearest_level(x: f32) -> usize {
    if x <= level(0) {
        return 0;
    }
    if x >= level(15) {
        return 15;
    }
    let (mut low, mut high) = (0, 15);
    while high - low > 1 {
        let middle = (low + high) / 2;
        if x < level(middle) { high = middle } else { low = middle }
    }
    if x - level(high - 1) < level(high) - x { high - 1 } else { high }
}
