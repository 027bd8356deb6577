//! How is arithmetic on a block done, so that every type's bytes equal ggml's?
//!
//! The files of the types say what a block holds; here are the steps that they share: walking rows block by block, f16 scales,
//! and the two roundings of ggml's reference code (`ggml-quants.c`). Nothing here or in the types contracts a multiplication
//! and an addition, which is how ggml's own files are made on x86-64; a ggml compiled with contraction (AArch64 by default)
//! may choose another scale in the last bit.

use half::f16;

/// Calls `block` for each block of `bytes` (`B` bytes) and its values (`N` elements). Lengths that do not match are cut to the
/// shorter: `Dtype` has compared them.
pub(super) fn read_blocks<const B: usize, const N: usize>(bytes: &[u8], out: &mut [f32], block: impl Fn(&[u8; B], &mut [f32; N])) {
    for (bytes, out) in bytes.as_chunks::<B>().0.iter().zip(out.as_chunks_mut::<N>().0) {
        block(bytes, out);
    }
}

/// As [`read_blocks`], in the other direction. The bytes of a block are zero before.
pub(super) fn write_blocks<const N: usize, const B: usize>(values: &[f32], bytes: &mut [u8], block: impl Fn(&[f32; N], &mut [u8; B])) {
    for (values, bytes) in values.as_chunks::<N>().0.iter().zip(bytes.as_chunks_mut::<B>().0) {
        block(values, bytes);
    }
}

/// The f16 at byte `at`.
pub(super) fn get_f16(block: &[u8], at: usize) -> f32 {
    f16::from_le_bytes([block[at], block[at + 1]]).to_f32()
}

/// Writes `value` as f16 to byte `at`, rounded to nearest even; beyond the range it becomes infinite.
pub(super) fn put_f16(block: &mut [u8], at: usize, value: f32) {
    block[at..at + 2].copy_from_slice(&f16::from_f32(value).to_le_bytes());
}

/// `1 / d`, and 0 for 0: the factor that brings values to the scale `d`.
pub(super) fn inverse(d: f32) -> f32 {
    if d == 0.0 { 0.0 } else { 1.0 / d }
}

/// The low byte of the whole part of `x`. Beyond 32 bits and for NaN, which only a scale that overflows can cause, C leaves the
/// result open; here it is 0, as on x86.
pub(super) fn truncate(x: f32) -> u8 {
    if x.abs() < 2_147_483_648.0 { x as i32 as u8 } else { 0 }
}

/// The nearest whole number, halves to even, by the sum that makes f32 round (for |x| up to 2^22; beyond, low bits of the sum
/// as ggml takes them). NaN, which only an overflow can cause, is 0, as on x86.
pub(super) fn nearest(x: f32) -> i32 {
    if x.is_nan() {
        return 0;
    }
    // 1.5 * 2^23: the lowest bit of a sum near it counts 1.
    let bits = (x + 12_582_912.0).to_bits();
    (bits & 0x007f_ffff) as i32 - 0x0040_0000
}

/// The value that is farthest from zero (the first of equals, 0 where there is none) and its distance.
pub(super) fn extreme(values: &[f32]) -> (f32, f32) {
    values.iter().fold((0f32, 0f32), |(value, distance), v| if v.abs() > distance { (*v, v.abs()) } else { (value, distance) })
}

/// The lowest and the highest value.
pub(super) fn bounds(values: &[f32]) -> (f32, f32) {
    values.iter().fold((f32::MAX, -f32::MAX), |(low, high), v| (if *v < low { *v } else { low }, if *v > high { *v } else { high }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_rounds_halves_to_even_and_survives_everything() {
        for (x, n) in [(0.5, 0), (1.5, 2), (-0.5, 0), (-1.5, -2), (2.4, 2), (-2.6, -3), (4_194_303.0, 4_194_303), (f32::NAN, 0)] {
            assert_eq!(nearest(x), n, "{x}");
        }
        for x in [f32::INFINITY, f32::NEG_INFINITY, f32::MAX, f32::MIN] {
            let _ = nearest(x);
        }
    }

    #[test]
    fn truncation_is_toward_zero_and_defined_everywhere() {
        for (x, n) in [(15.9, 15), (-1.2, 255), (0.0, 0), (300.0, 44), (f32::NAN, 0), (f32::INFINITY, 0), (3e9, 0), (-3e9, 0)] {
            assert_eq!(truncate(x), n, "{x}");
        }
    }
}
