//! Q5_0 and Q5_1: 32 values in 5 bits each.
//!
//! | | Q5_0, `v = d (q - 16)` | Q5_1, `v = d q + m` |
//! |---|---|---|
//! | 0..2 | `d`, f16: the value farthest from zero / -16 | `d`, f16: (highest - lowest) / 31 |
//! | 2..4 | | `m`, f16: the lowest value |
//! | then 4 | the fifth bits, a little-endian u32: value `i` in bit `i` | the same |
//! | last 16 | low bits: value `i` in the low half of byte `i`, value `16 + i` in the high half | the same |

use super::block::{bounds, extreme, get_f16, inverse, put_f16, read_blocks, truncate, write_blocks};

pub(super) const ELEMENTS: usize = 32;
const HALF: usize = ELEMENTS / 2;
pub(super) const BYTES_0: usize = 22;
pub(super) const BYTES_1: usize = 24;
const CODES_0: usize = 2;
const CODES_1: usize = 4;
/// Bytes of the fifth bits, before the low bits.
const HIGH: usize = 4;
const _: () = assert!(CODES_0 + HIGH + HALF == BYTES_0 && CODES_1 + HIGH + HALF == BYTES_1);

pub(super) fn dequantise_0(bytes: &[u8], out: &mut [f32]) {
    read_blocks(bytes, out, |b: &[u8; BYTES_0], v: &mut [f32; ELEMENTS]| {
        let d = get_f16(b, 0);
        unpack(&b[CODES_0..], v, |q| f32::from(q as i8 - 16) * d);
    });
}

pub(super) fn quantise_0(values: &[f32], bytes: &mut [u8]) {
    write_blocks(values, bytes, |v: &[f32; ELEMENTS], b: &mut [u8; BYTES_0]| {
        let d = extreme(v).0 / -16.0;
        put_f16(b, 0, d);
        let id = inverse(d);
        pack(&mut b[CODES_0..], v, |v| (truncate(v * id + 16.5) as i8).min(31) as u8);
    });
}

pub(super) fn dequantise_1(bytes: &[u8], out: &mut [f32]) {
    read_blocks(bytes, out, |b: &[u8; BYTES_1], v: &mut [f32; ELEMENTS]| {
        let (d, m) = (get_f16(b, 0), get_f16(b, 2));
        unpack(&b[CODES_1..], v, |q| f32::from(q) * d + m);
    });
}

pub(super) fn quantise_1(values: &[f32], bytes: &mut [u8]) {
    write_blocks(values, bytes, |v: &[f32; ELEMENTS], b: &mut [u8; BYTES_1]| {
        let (low, high) = bounds(v);
        let d = (high - low) / 31.0;
        put_f16(b, 0, d);
        put_f16(b, 2, low);
        let id = inverse(d);
        pack(&mut b[CODES_1..], v, |v| truncate((v - low) * id + 0.5));
    });
}

/// The value of each code of 5 bits.
fn unpack(codes: &[u8], out: &mut [f32; ELEMENTS], value: impl Fn(u8) -> f32) {
    for i in 0..HALF {
        let fifth = |i: usize| (codes[i / 8] >> (i % 8) & 1) << 4;
        let low = codes[HIGH + i];
        out[i] = value(low & 15 | fifth(i));
        out[HALF + i] = value(low >> 4 | fifth(HALF + i));
    }
}

/// The low 5 bits of each value's code.
fn pack(codes: &mut [u8], values: &[f32; ELEMENTS], code: impl Fn(f32) -> u8) {
    for i in 0..HALF {
        let (first, second) = (code(values[i]), code(values[HALF + i]));
        codes[HIGH + i] = first & 15 | (second & 15) << 4;
        codes[i / 8] |= (first >> 4 & 1) << (i % 8);
        codes[(HALF + i) / 8] |= (second >> 4 & 1) << (i % 8);
    }
}
