//! Q3_K: 16 parts of 16 values in 3 bits each, `v = d (s - 32) (q - 4)`.
//!
//! | bytes | what |
//! |---|---|
//! | 0..32 | the high bits of `q`: value `32 k + i` in bit `k` of byte `i` |
//! | 32..96 | the low 2 bits, see [`pair`] |
//! | 96..108 | scales `s`, 6 bits: low halves in bytes 0 to 7 (part `p`, and `8 + p` above it), upper 2 bits of part `p` in byte `8 + p % 4` |
//! | 108..110 | `d`, f16 |

use super::super::block::{get_f16, nearest, put_f16, read_blocks, write_blocks};
use super::search::symmetric_by_exchange;
use super::{ELEMENTS, pack_pairs, pair};

pub(in crate::quant) const BYTES: usize = 110;
const PARTS: usize = 16;
const QUANTS: usize = ELEMENTS / 8;
const SCALES: usize = QUANTS + ELEMENTS / 4;
const D: usize = SCALES + 12;
const _: () = assert!(D + 2 == BYTES);

pub(in crate::quant) fn dequantise(bytes: &[u8], out: &mut [f32]) {
    read_blocks(bytes, out, |b: &[u8; BYTES], v: &mut [f32; ELEMENTS]| {
        let d = get_f16(b, D);
        for (i, v) in v.iter_mut().enumerate() {
            let high = b[i % 32] >> (i / 32) & 1;
            *v = d * scale(b, i / 16) * f32::from((pair(&b[QUANTS..], i) | high << 2) as i8 - 4);
        }
    });
}

pub(in crate::quant) fn quantise(values: &[f32], bytes: &mut [u8]) {
    write_blocks(values, bytes, |v: &[f32; ELEMENTS], b: &mut [u8; BYTES]| {
        let mut codes = [0u8; ELEMENTS];
        let mut scales = [0f32; PARTS];
        for (part, (v, codes)) in v.as_chunks::<16>().0.iter().zip(codes.as_chunks_mut::<16>().0).enumerate() {
            scales[part] = symmetric_by_exchange(v, codes);
        }
        put_scales(b, &scales);
        for (part, (v, codes)) in v.as_chunks::<16>().0.iter().zip(codes.as_chunks_mut::<16>().0).enumerate() {
            let d = get_f16(b, D) * scale(b, part);
            if d == 0.0 {
                continue;
            }
            codes.iter_mut().zip(v).for_each(|(c, v)| *c = (nearest(v / d).clamp(-4, 3) + 4) as u8);
        }
        for (i, code) in codes.iter_mut().enumerate() {
            b[i % 32] |= (*code >> 2) << (i / 32);
            *code &= 3;
        }
        pack_pairs(&codes, &mut b[QUANTS..SCALES]);
    });
}

/// The whole-number scale of a part, from -32 to 31.
fn scale(b: &[u8; BYTES], part: usize) -> f32 {
    let low = if part < 8 { b[SCALES + part] & 15 } else { b[SCALES + part - 8] >> 4 };
    let high = b[SCALES + 8 + part % 4] >> (2 * (part / 4)) & 3;
    f32::from((low | high << 4) as i8 - 32)
}

fn put_scales(b: &mut [u8; BYTES], scales: &[f32; PARTS]) {
    let (far, _) = super::super::block::extreme(scales);
    if far == 0.0 {
        return;
    }
    let iscale = -32.0 / far;
    for (part, s) in scales.iter().enumerate() {
        // Cut to a byte before it is clamped, as in the definition.
        let code = ((nearest(iscale * s) as i8).clamp(-32, 31) + 32) as u8;
        b[SCALES + part % 8] |= (code & 15) << (part / 8 * 4);
        b[SCALES + 8 + part % 4] |= code >> 4 << (2 * (part / 4));
    }
    put_f16(b, D, 1.0 / iscale);
}
