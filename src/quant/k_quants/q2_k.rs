//! Q2_K: 16 parts of 16 values in 2 bits each, `v = d s q - dmin m`.
//!
//! | bytes | what |
//! |---|---|
//! | 0..16 | a part's scale `s` (low half) and minimum `m` (high half), 4 bits each |
//! | 16..80 | `q`, see [`pair`] |
//! | 80..82 | `d`, f16 |
//! | 82..84 | `dmin`, f16 |

use super::super::block::{get_f16, nearest, put_f16, read_blocks, write_blocks};
use super::search::{Attempts, with_minimum};
use super::{ELEMENTS, pack_pairs, pair};

pub(in crate::quant) const BYTES: usize = 84;
const PARTS: usize = 16;
const QUANTS: usize = PARTS;
const D: usize = QUANTS + ELEMENTS / 4;
const DMIN: usize = D + 2;
const _: () = assert!(DMIN + 2 == BYTES);

const ATTEMPTS: Attempts = Attempts { highest: 3, first: -0.5, steps: 15, absolute: true };

pub(in crate::quant) fn dequantise(bytes: &[u8], out: &mut [f32]) {
    read_blocks(bytes, out, |b: &[u8; BYTES], v: &mut [f32; ELEMENTS]| {
        let (d, dmin) = (get_f16(b, D), get_f16(b, DMIN));
        for (part, v) in v.as_chunks_mut::<16>().0.iter_mut().enumerate() {
            let (scale, minimum) = (d * f32::from(b[part] & 15), dmin * f32::from(b[part] >> 4));
            (0..16).for_each(|i| v[i] = scale * f32::from(pair(&b[QUANTS..], 16 * part + i)) - minimum);
        }
    });
}

pub(in crate::quant) fn quantise(values: &[f32], bytes: &mut [u8]) {
    write_blocks(values, bytes, |v: &[f32; ELEMENTS], b: &mut [u8; BYTES]| {
        let mut codes = [0u8; ELEMENTS];
        let (mut scales, mut minima) = ([0f32; PARTS], [0f32; PARTS]);
        for (part, (v, codes)) in parts(v, &mut codes) {
            (scales[part], minima[part]) = with_minimum(v, &v.map(f32::abs), &ATTEMPTS, codes);
        }
        put_scales(b, D, &scales, |b, part, code| b[part] = code);
        put_scales(b, DMIN, &minima, |b, part, code| b[part] |= code << 4);
        for (part, (v, codes)) in parts(v, &mut codes) {
            let d = get_f16(b, D) * f32::from(b[part] & 15);
            if d == 0.0 {
                continue;
            }
            let minimum = get_f16(b, DMIN) * f32::from(b[part] >> 4);
            codes.iter_mut().zip(v).for_each(|(c, v)| *c = nearest((v + minimum) / d).clamp(0, 3) as u8);
        }
        pack_pairs(&codes, &mut b[QUANTS..D]);
    });
}

/// The parts' values and codes, by number.
fn parts<'a>(
    values: &'a [f32; ELEMENTS],
    codes: &'a mut [u8; ELEMENTS],
) -> impl Iterator<Item = (usize, (&'a [f32; 16], &'a mut [u8; 16]))> {
    values.as_chunks::<16>().0.iter().zip(codes.as_chunks_mut::<16>().0).enumerate()
}

/// Quantises the parts' scales (or minima) to 4 bits, with their own scale as f16 at byte `at`.
fn put_scales(b: &mut [u8; BYTES], at: usize, scales: &[f32; PARTS], put: impl Fn(&mut [u8; BYTES], usize, u8)) {
    let largest = scales.iter().fold(0f32, |m, s| if *s > m { *s } else { m });
    if largest > 0.0 {
        let iscale = 15.0 / largest;
        scales.iter().enumerate().for_each(|(part, s)| put(b, part, nearest(iscale * s) as u8));
        put_f16(b, at, largest / 15.0);
    }
}
