//! In which number type is a result vector written?
//!
//! Search indexes store vectors as f32, f16, int8 or bits. The conversions are defined here once and used by every face:
//! - `f16`: IEEE rounding to nearest even; a value beyond ±65504 becomes infinite.
//! - `int8`: symmetric, one scale a vector: `q[i] = round(v[i] / scale)`, `scale = max|v| / 127`, halves away from zero; a
//!   zero vector has scale 0. `v[i] ≈ q[i] * scale`; the scale cancels in a cosine.
//! - `binary`: bit `i` is `v[i] > 0`, the first value in the highest bit, the last byte filled with zeros: the layout of
//!   numpy's `packbits` and of sentence-transformers' `ubinary`.

use half::f16;

/// Rounds to f16; the results are the raw bits.
pub fn to_f16(vector: &[f32]) -> impl Iterator<Item = u16> + '_ {
    vector.iter().map(|v| f16::from_f32(*v).to_bits())
}

/// The int8 values and the scale of one vector.
pub fn to_int8(vector: &[f32]) -> (Vec<i8>, f32) {
    let peak = vector.iter().fold(0f32, |m, v| m.max(v.abs()));
    if peak == 0.0 {
        return (vec![0; vector.len()], 0.0);
    }
    let scale = peak / 127.0;
    // Dividing by the peak first keeps a subnormal scale from overflowing its inverse.
    let values = vector.iter().map(|v| (v / peak * 127.0).round() as i8).collect();
    (values, scale)
}

/// One bit a value, packed; `ceil(len / 8)` bytes.
pub fn to_binary(vector: &[f32]) -> Vec<u8> {
    vector.chunks(8).map(|chunk| chunk.iter().enumerate().fold(0, |byte, (i, v)| byte | (u8::from(*v > 0.0) << (7 - i)))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn int8_spans_the_range_and_keeps_the_direction() {
        let (q, scale) = to_int8(&[1.0, -0.5, 0.25, 0.0]);
        assert_eq!(q, [127, -64, 32, 0]);
        assert!((scale - 1.0 / 127.0).abs() < 1e-9);
        assert_eq!(to_int8(&[0.0, 0.0]), (vec![0, 0], 0.0));
        assert_eq!(to_int8(&[f32::MIN_POSITIVE / 8.0, 0.0]).0, [127, 0]);
    }

    #[test]
    fn bits_are_packed_as_numpy_packbits_does() {
        // numpy.packbits([1,0,1,1,0,0,0,1, 1,0]) == [0b10110001, 0b10000000]
        assert_eq!(to_binary(&[1.0, -1.0, 2.0, 0.1, 0.0, -0.0, -3.0, 9.0, 1.0, -1.0]), [0b1011_0001, 0b1000_0000]);
    }

    #[test]
    fn f16_rounds_to_nearest_even() {
        // 1 + 2^-11 lies halfway between 1 and the next f16; the even one is 1.
        assert_eq!(to_f16(&[1.0 + f32::powi(2.0, -11), 1e6]).collect::<Vec<_>>(), [0x3c00, 0x7c00]);
    }
}
