//! Q6_K: 16 parts of 16 values in 6 bits each, `v = d s (q - 32)`.
//!
//! | bytes | what |
//! |---|---|
//! | 0..128 | low halves of `q`: of each 128, value `i` (below 64) in the low half of byte `i`, value `64 + i` in the high half |
//! | 128..192 | upper 2 bits, see [`pair`] |
//! | 192..208 | scales `s`, i8 |
//! | 208..210 | `d`, f16 |

use super::super::block::{extreme, get_f16, nearest, put_f16, read_blocks, write_blocks};
use super::search::{NOTHING, symmetric};
use super::{ELEMENTS, pack_pairs, pair};

pub(in crate::quant) const BYTES: usize = 210;
const PARTS: usize = 16;
const HIGH: usize = ELEMENTS / 2;
const SCALES: usize = HIGH + ELEMENTS / 4;
const D: usize = SCALES + PARTS;
const _: () = assert!(D + 2 == BYTES);

pub(in crate::quant) fn dequantise(bytes: &[u8], out: &mut [f32]) {
    read_blocks(bytes, out, |b: &[u8; BYTES], v: &mut [f32; ELEMENTS]| {
        let d = get_f16(b, D);
        for (i, v) in v.iter_mut().enumerate() {
            let low = b[i / 128 * 64 + i % 64] >> (i % 128 / 64 * 4) & 15;
            *v = d * scale(b, i / 16) * f32::from((low | pair(&b[HIGH..], i) << 4) as i8 - 32);
        }
    });
}

pub(in crate::quant) fn quantise(values: &[f32], bytes: &mut [u8]) {
    write_blocks(values, bytes, |v: &[f32; ELEMENTS], b: &mut [u8; BYTES]| {
        let mut codes = [0u8; ELEMENTS];
        let mut scales = [0f32; PARTS];
        for (part, (v, codes)) in v.as_chunks::<16>().0.iter().zip(codes.as_chunks_mut::<16>().0).enumerate() {
            scales[part] = symmetric(v, 32, codes);
        }
        let (far, distance) = extreme(&scales);
        if distance < NOTHING {
            return;
        }
        let iscale = -128.0 / far;
        put_f16(b, D, 1.0 / iscale);
        for (part, s) in scales.iter().enumerate() {
            b[SCALES + part] = nearest(iscale * s).min(127) as u8;
        }
        for (part, (v, codes)) in v.as_chunks::<16>().0.iter().zip(codes.as_chunks_mut::<16>().0).enumerate() {
            let d = get_f16(b, D) * scale(b, part);
            if d == 0.0 {
                continue;
            }
            codes.iter_mut().zip(v).for_each(|(c, v)| *c = (nearest(v / d).clamp(-32, 31) + 32) as u8);
        }
        for (codes, bytes) in codes.as_chunks::<128>().0.iter().zip(b[..HIGH].as_chunks_mut::<64>().0) {
            (0..64).for_each(|i| bytes[i] = codes[i] & 15 | (codes[64 + i] & 15) << 4);
        }
        pack_pairs(&codes.map(|c| c >> 4), &mut b[HIGH..SCALES]);
    });
}

fn scale(b: &[u8; BYTES], part: usize) -> f32 {
    f32::from(b[SCALES + part] as i8)
}
