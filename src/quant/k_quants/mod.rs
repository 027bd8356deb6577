//! Q2_K to Q6_K and Q8_K: 256 values in a super-block, whose parts have scales that are themselves quantised.
//!
//! Methods and layouts are those of ggml's reference functions (`quantize_row_q*_K_ref` in `ggml-quants.c`): `search` finds the
//! scale of a part by trying several, `scales` packs scales and minima of 6 bits, and each type has a file.

pub(super) mod q2_k;
pub(super) mod q3_k;
pub(super) mod q45_k;
pub(super) mod q6_k;
pub(super) mod q8_k;
mod scales;
mod search;

/// Values of a super-block.
pub(super) const ELEMENTS: usize = 256;

/// Packs codes of 2 bits: of each 128, value `32 s + i` stands in bits `2 s` of byte `i`.
fn pack_pairs(codes: &[u8; ELEMENTS], bytes: &mut [u8]) {
    for (codes, bytes) in codes.as_chunks::<128>().0.iter().zip(bytes.as_chunks_mut::<32>().0) {
        for i in 0..32 {
            bytes[i] = (0..4).fold(0, |byte, s| byte | codes[32 * s + i] << (2 * s));
        }
    }
}

/// Code `index` of those that [`pack_pairs`] packs.
fn pair(bytes: &[u8], index: usize) -> u8 {
    bytes[index / 128 * 32 + index % 32] >> (index % 128 / 32 * 2) & 3
}
