//! Plain Rust for every processor: the same algorithms over arrays of eight.

use super::dot::{self, Dot, DotTile, QuantiseRow, Whole};
use super::gemm::{Tile, tile as gemm_tile};
use super::kernels::{Kernels, NormRow};
use super::simd::{Portable, Simd};
use super::{math, rowwise};
use crate::engine::graph::Activation;

#[cfg(feature = "train")]
super::learn::kernels::table!(Portable, , 2, 1);

pub(super) const KERNELS: Kernels = Kernels {
    name: "portable",
    available: || true,
    tile_rows: 2,
    tile,
    dot_rows: 2,
    dot_tile,
    quantise_row,
    bf16: None,
    activate,
    activate_int8,
    softmax,
    add_norm,
    #[cfg(feature = "train")]
    learn: &LEARN,
};

#[allow(unsafe_op_in_unsafe_fn, reason = "each body is one pointer access or none; the contract is the trait's")]
impl Whole for Portable {
    /// The bytes of a lane: first byte lowest.
    type I = [i32; 8];

    #[inline(always)]
    unsafe fn zero() -> [i32; 8] {
        [0; 8]
    }
    #[inline(always)]
    unsafe fn broadcast(p: *const i32) -> [i32; 8] {
        // SAFETY: the caller gives a readable number.
        [unsafe { p.read_unaligned() }; 8]
    }
    #[inline(always)]
    unsafe fn load_bytes(p: *const u8) -> [i32; 8] {
        // SAFETY: the caller gives 32 readable bytes.
        unsafe { p.cast::<[i32; 8]>().read_unaligned() }
    }
    #[inline(always)]
    unsafe fn to_f32(sums: [i32; 8]) -> [f32; 8] {
        sums.map(|x| x as f32)
    }
    #[inline(always)]
    unsafe fn first_bf16(pairs: [i32; 8]) -> [f32; 8] {
        pairs.map(|x| f32::from_bits(x.cast_unsigned() << 16))
    }
    #[inline(always)]
    unsafe fn second_bf16(pairs: [i32; 8]) -> [f32; 8] {
        pairs.map(|x| f32::from_bits(x.cast_unsigned() & 0xffff_0000))
    }
    #[inline(always)]
    unsafe fn load_f16(p: *const u16) -> [f32; 8] {
        // SAFETY: the caller gives eight readable numbers.
        unsafe { p.cast::<[u16; 8]>().read_unaligned() }.map(|bits| half::f16::from_bits(bits).to_f32())
    }
    #[inline(always)]
    unsafe fn store_u8(p: *mut u8, v: [f32; 8]) {
        // SAFETY: the caller gives eight writable bytes. `as` limits and makes NaN zero.
        unsafe { p.cast::<[u8; 8]>().write_unaligned(v.map(|x| x.round_ties_even() as u8)) }
    }
}

impl Dot for Portable {
    type S = Portable;
    const TAKES: f32 = 0.0;

    #[inline(always)]
    unsafe fn dot(sum: [i32; 8], weights: [i32; 8], a: [i32; 8]) -> [i32; 8] {
        let mut out = sum;
        for lane in 0..8 {
            let (w, a) = (weights[lane].to_ne_bytes(), a[lane].to_ne_bytes());
            for byte in 0..4 {
                out[lane] += i32::from(w[byte] as i8) * i32::from(a[byte]);
            }
        }
        out
    }
}

unsafe fn dot_tile(t: &DotTile) {
    for quarter in (0..4).map(|q| q * Portable::LANES) {
        // SAFETY: the caller's contract is `DotTile`'s; arrays exist everywhere.
        unsafe {
            match t.rows {
                1 => dot::dot_tile::<Portable, 1, 1>(t, quarter),
                2 => dot::dot_tile::<Portable, 2, 1>(t, quarter),
                rows => unreachable!("a tile of {rows} rows"),
            }
        }
    }
}

unsafe fn quantise_row(row: &QuantiseRow<'_>) {
    // SAFETY: the caller's contract is `dot::quantise_row`'s.
    unsafe { dot::quantise_row::<Portable>(row) }
}

unsafe fn tile(t: &Tile) {
    for quarter in [0, 8, 16, 24] {
        // SAFETY: the caller's contract is `Tile`'s; arrays exist everywhere.
        unsafe {
            match t.rows {
                1 => gemm_tile::<Portable, 1, 1>(t, quarter),
                2 => gemm_tile::<Portable, 2, 1>(t, quarter),
                rows => unreachable!("a tile of {rows} rows"),
            }
        }
    }
}

unsafe fn activate(activation: Activation, block: *mut f32, rows: usize, stride: usize) {
    // SAFETY: the caller gives `rows` rows of one panel.
    unsafe { math::activate_block::<Portable>(activation, block, rows, stride) }
}

unsafe fn activate_int8(activation: Activation, block: *mut f32, rows: usize, stride: usize) {
    // SAFETY: the caller gives `rows` rows of one panel.
    unsafe { math::activate_block_int8::<Portable>(activation, block, rows, stride) }
}

unsafe fn softmax(row: *mut f32, n: usize, padded: usize, scale: f32) -> f32 {
    // SAFETY: the caller's contract is `rowwise::softmax`'s.
    unsafe { rowwise::softmax::<Portable>(row, n, padded, scale) }
}

unsafe fn add_norm(row: &NormRow) {
    // SAFETY: the caller's contract is `rowwise::add_norm`'s.
    unsafe { rowwise::add_norm::<Portable>(row) }
}
