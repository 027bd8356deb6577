//! Q4_0 and Q4_1: 32 values in 4 bits each.
//!
//! | | Q4_0, `v = d (q - 8)` | Q4_1, `v = d q + m` |
//! |---|---|---|
//! | 0..2 | `d`, f16: the value farthest from zero / -8 | `d`, f16: (highest - lowest) / 15 |
//! | 2..4 | | `m`, f16: the lowest value |
//! | last 16 | `q`: value `i` in the low half of byte `i`, value `16 + i` in the high half | the same |

use super::block::{bounds, extreme, get_f16, inverse, put_f16, read_blocks, truncate, write_blocks};

pub(super) const ELEMENTS: usize = 32;
const HALF: usize = ELEMENTS / 2;
pub(super) const BYTES_0: usize = 18;
pub(super) const BYTES_1: usize = 20;
const QUANTS_0: usize = 2;
const QUANTS_1: usize = 4;
const _: () = assert!(QUANTS_0 + HALF == BYTES_0 && QUANTS_1 + HALF == BYTES_1);

pub(super) fn dequantise_0(bytes: &[u8], out: &mut [f32]) {
    read_blocks(bytes, out, |b: &[u8; BYTES_0], v: &mut [f32; ELEMENTS]| {
        let d = get_f16(b, 0);
        for (i, q) in b[QUANTS_0..].iter().enumerate() {
            v[i] = f32::from((q & 15) as i8 - 8) * d;
            v[HALF + i] = f32::from((q >> 4) as i8 - 8) * d;
        }
    });
}

pub(super) fn quantise_0(values: &[f32], bytes: &mut [u8]) {
    write_blocks(values, bytes, |v: &[f32; ELEMENTS], b: &mut [u8; BYTES_0]| {
        let d = extreme(v).0 / -8.0;
        put_f16(b, 0, d);
        let id = inverse(d);
        let code = |v: f32| capped(truncate(v * id + 8.5));
        (0..HALF).for_each(|i| b[QUANTS_0 + i] = code(v[i]) | (code(v[HALF + i]) << 4));
    });
}

pub(super) fn dequantise_1(bytes: &[u8], out: &mut [f32]) {
    read_blocks(bytes, out, |b: &[u8; BYTES_1], v: &mut [f32; ELEMENTS]| {
        let (d, m) = (get_f16(b, 0), get_f16(b, 2));
        for (i, q) in b[QUANTS_1..].iter().enumerate() {
            v[i] = f32::from(q & 15) * d + m;
            v[HALF + i] = f32::from(q >> 4) * d + m;
        }
    });
}

pub(super) fn quantise_1(values: &[f32], bytes: &mut [u8]) {
    write_blocks(values, bytes, |v: &[f32; ELEMENTS], b: &mut [u8; BYTES_1]| {
        let (low, high) = bounds(v);
        let d = (high - low) / 15.0;
        put_f16(b, 0, d);
        put_f16(b, 2, low);
        let id = inverse(d);
        let code = |v: f32| capped(truncate((v - low) * id + 0.5));
        (0..HALF).for_each(|i| b[QUANTS_1 + i] = code(v[i]) | (code(v[HALF + i]) << 4));
    });
}

/// At most 15, the byte taken as signed.
fn capped(code: u8) -> u8 {
    (code as i8).min(15) as u8
}
