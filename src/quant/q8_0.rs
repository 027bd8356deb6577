//! Q8_0: 32 values with one scale, `v = d q`.
//!
//! | bytes | what |
//! |---|---|
//! | 0..2 | `d`, f16: the largest distance from zero / 127 |
//! | 2..34 | `q`, i8 each, halves away from zero |

use super::block::{get_f16, inverse, put_f16, read_blocks, truncate, write_blocks};

pub(super) const ELEMENTS: usize = 32;
pub(super) const BYTES: usize = 34;
const QUANTS: usize = 2;
const _: () = assert!(QUANTS + ELEMENTS == BYTES);

pub(super) fn dequantise(bytes: &[u8], out: &mut [f32]) {
    read_blocks(bytes, out, |b: &[u8; BYTES], v: &mut [f32; ELEMENTS]| {
        let d = get_f16(b, 0);
        v.iter_mut().zip(&b[QUANTS..]).for_each(|(v, q)| *v = f32::from(*q as i8) * d);
    });
}

pub(super) fn quantise(values: &[f32], bytes: &mut [u8]) {
    write_blocks(values, bytes, |v: &[f32; ELEMENTS], b: &mut [u8; BYTES]| {
        let d = v.iter().fold(0f32, |m, v| m.max(v.abs())) / 127.0;
        put_f16(b, 0, d);
        let id = inverse(d);
        b[QUANTS..].iter_mut().zip(v).for_each(|(q, v)| *q = truncate((v * id).round()));
    });
}
