//! Q4_K and Q5_K: 8 parts of 32 values in 4 or 5 bits each, `v = d s q - dmin m`.
//!
//! | bytes | what |
//! |---|---|
//! | 0..2 | `d`, f16 |
//! | 2..4 | `dmin`, f16 |
//! | 4..16 | scales `s` and minima `m`, see [`scales`] |
//! | Q5_K: 16..48 | the fifth bits: value `32 p + i` in bit `p` of byte `i` |
//! | last 128 | low bits: of each 64, value `i` in the low half of byte `i`, value `32 + i` in the high half |

use super::super::block::{get_f16, nearest, put_f16, read_blocks, write_blocks};
use super::search::{Attempts, with_minimum};
use super::{ELEMENTS, scales};

pub(in crate::quant) const BYTES_4: usize = 144;
pub(in crate::quant) const BYTES_5: usize = 176;
const PARTS: usize = 8;
const DMIN: usize = 2;
const SCALES: usize = 4;
const CODES: usize = SCALES + scales::BYTES;
const FIFTH: usize = ELEMENTS / 8;
const _: () = assert!(CODES + ELEMENTS / 2 == BYTES_4 && CODES + FIFTH + ELEMENTS / 2 == BYTES_5);

const ATTEMPTS_4: Attempts = Attempts { highest: 15, first: -1.0, steps: 20, absolute: false };
const ATTEMPTS_5: Attempts = Attempts { highest: 31, first: -0.5, steps: 15, absolute: false };

pub(in crate::quant) fn dequantise_4(bytes: &[u8], out: &mut [f32]) {
    read_blocks(bytes, out, |b: &[u8; BYTES_4], v: &mut [f32; ELEMENTS]| unpack(b, v, |i| low(&b[CODES..], i)));
}

pub(in crate::quant) fn dequantise_5(bytes: &[u8], out: &mut [f32]) {
    read_blocks(bytes, out, |b: &[u8; BYTES_5], v: &mut [f32; ELEMENTS]| {
        let fifth = |i: usize| b[CODES + i % 32] >> (i / 32) & 1;
        unpack(b, v, |i| low(&b[CODES + FIFTH..], i) | fifth(i) << 4);
    });
}

pub(in crate::quant) fn quantise_4(values: &[f32], bytes: &mut [u8]) {
    write_blocks(values, bytes, |v: &[f32; ELEMENTS], b: &mut [u8; BYTES_4]| {
        let codes = codes(v, b, &ATTEMPTS_4);
        put_low(&codes, &mut b[CODES..]);
    });
}

pub(in crate::quant) fn quantise_5(values: &[f32], bytes: &mut [u8]) {
    write_blocks(values, bytes, |v: &[f32; ELEMENTS], b: &mut [u8; BYTES_5]| {
        let codes = codes(v, b, &ATTEMPTS_5);
        codes.iter().enumerate().for_each(|(i, code)| b[CODES + i % 32] |= (code >> 4) << (i / 32));
        put_low(&codes, &mut b[CODES + FIFTH..]);
    });
}

fn unpack(b: &[u8], out: &mut [f32; ELEMENTS], code: impl Fn(usize) -> u8) {
    let (d, dmin) = (get_f16(b, 0), get_f16(b, DMIN));
    for (part, v) in out.as_chunks_mut::<32>().0.iter_mut().enumerate() {
        let (scale, minimum) = scales::get(&b[SCALES..CODES], part);
        let (scale, minimum) = (d * f32::from(scale), dmin * f32::from(minimum));
        (0..32).for_each(|i| v[i] = scale * f32::from(code(32 * part + i)) - minimum);
    }
}

fn low(bytes: &[u8], index: usize) -> u8 {
    bytes[index / 64 * 32 + index % 32] >> (index % 64 / 32 * 4) & 15
}

fn put_low(codes: &[u8; ELEMENTS], bytes: &mut [u8]) {
    for (codes, bytes) in codes.as_chunks::<64>().0.iter().zip(bytes.as_chunks_mut::<32>().0) {
        (0..32).for_each(|i| bytes[i] = codes[i] & 15 | (codes[32 + i] & 15) << 4);
    }
}

/// Finds and writes scales and minima, and returns each value's code under them.
fn codes(values: &[f32; ELEMENTS], b: &mut [u8], attempts: &Attempts) -> [u8; ELEMENTS] {
    let mut codes = [0u8; ELEMENTS];
    let (mut found, mut minima) = ([0f32; PARTS], [0f32; PARTS]);
    for (part, (v, codes)) in values.as_chunks::<32>().0.iter().zip(codes.as_chunks_mut::<32>().0).enumerate() {
        let mean = (v.iter().fold(0f32, |sum, v| sum + v * v) / 32.0).sqrt();
        (found[part], minima[part]) = with_minimum(v, &v.map(|v| mean + v.abs()), attempts, codes);
    }
    let largest = |all: &[f32]| all.iter().fold(0f32, |m, s| if *s > m { *s } else { m });
    let (scale, minimum) = (largest(&found), largest(&minima));
    let inverse = |m: f32| if m > 0.0 { 63.0 / m } else { 0.0 };
    // Cut to a byte before it is capped, as in the definition.
    let six_bits = |x: f32| (nearest(x) as u8).min(63);
    for part in 0..PARTS {
        scales::put(&mut b[SCALES..CODES], part, six_bits(inverse(scale) * found[part]), six_bits(inverse(minimum) * minima[part]));
    }
    put_f16(b, 0, scale / 63.0);
    put_f16(b, DMIN, minimum / 63.0);
    let (d, dmin) = (get_f16(b, 0), get_f16(b, DMIN));
    for (part, (v, codes)) in values.as_chunks::<32>().0.iter().zip(codes.as_chunks_mut::<32>().0).enumerate() {
        let (scale, minimum) = scales::get(&b[SCALES..CODES], part);
        let (scale, minimum) = (d * f32::from(scale), dmin * f32::from(minimum));
        if scale == 0.0 {
            continue;
        }
        codes.iter_mut().zip(v).for_each(|(c, v)| *c = nearest((v + minimum) / scale).clamp(0, attempts.highest) as u8);
    }
    codes
}
