//! Q8_K: 256 values in 8 bits with one scale, `v = d q`; ggml's type for activations, which files seldom hold.
//!
//! | bytes | what |
//! |---|---|
//! | 0..4 | `d`, f32: the value farthest from zero / -127 |
//! | 4..260 | `q`, i8 |
//! | 260..292 | the sum of each 16 `q`, i16 |

use super::super::block::{extreme, nearest, read_blocks, write_blocks};
use super::ELEMENTS;

pub(in crate::quant) const BYTES: usize = 292;
const QUANTS: usize = 4;
const SUMS: usize = QUANTS + ELEMENTS;
const _: () = assert!(SUMS + ELEMENTS / 16 * 2 == BYTES);

pub(in crate::quant) fn dequantise(bytes: &[u8], out: &mut [f32]) {
    read_blocks(bytes, out, |b: &[u8; BYTES], v: &mut [f32; ELEMENTS]| {
        let d = f32::from_le_bytes([b[0], b[1], b[2], b[3]]);
        v.iter_mut().zip(&b[QUANTS..SUMS]).for_each(|(v, q)| *v = d * f32::from(*q as i8));
    });
}

pub(in crate::quant) fn quantise(values: &[f32], bytes: &mut [u8]) {
    write_blocks(values, bytes, |v: &[f32; ELEMENTS], b: &mut [u8; BYTES]| {
        let (far, distance) = extreme(v);
        if distance == 0.0 {
            return;
        }
        let iscale = -127.0 / far;
        b[QUANTS..SUMS].iter_mut().zip(v).for_each(|(q, v)| *q = nearest(iscale * v).min(127) as u8);
        for part in 0..ELEMENTS / 16 {
            let sum: i16 = b[QUANTS + 16 * part..][..16].iter().map(|q| i16::from(*q as i8)).sum();
            b[SUMS + 2 * part..][..2].copy_from_slice(&sum.to_le_bytes());
        }
        b[..QUANTS].copy_from_slice(&(1.0 / iscale).to_le_bytes());
    });
}
