//! How do 8 scales and 8 minima of 6 bits stand in 12 bytes (Q4_K and Q5_K)?
//!
//! The first four of each in the low 6 bits of bytes 0 to 3 (scales) and 4 to 7 (minima). The other four: low halves in bytes
//! 8 to 11 (scale low, minimum high), upper 2 bits in the top of bytes 0 to 3 (scales) and 4 to 7 (minima).

/// Bytes of the packed scales and minima.
pub(super) const BYTES: usize = 12;

/// Writes scale and minimum `index`, in rising order of `index`.
pub(super) fn put(bytes: &mut [u8], index: usize, scale: u8, minimum: u8) {
    if index < 4 {
        bytes[index] = scale;
        bytes[index + 4] = minimum;
    } else {
        bytes[index + 4] = scale & 15 | (minimum & 15) << 4;
        bytes[index - 4] |= scale >> 4 << 6;
        bytes[index] |= minimum >> 4 << 6;
    }
}

/// Scale and minimum `index`.
pub(super) fn get(bytes: &[u8], index: usize) -> (u8, u8) {
    if index < 4 {
        (bytes[index] & 63, bytes[index + 4] & 63)
    } else {
        (bytes[index + 4] & 15 | bytes[index - 4] >> 6 << 4, bytes[index + 4] >> 4 | bytes[index] >> 6 << 4)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_put_is_got() {
        let mut bytes = [0; BYTES];
        (0..8).for_each(|i| put(&mut bytes, i, 63 - 7 * i as u8, 5 * i as u8 + 20));
        (0..8).for_each(|i| assert_eq!(get(&bytes, i), (63 - 7 * i as u8, 5 * i as u8 + 20)));
    }
}
