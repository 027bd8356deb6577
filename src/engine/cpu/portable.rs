//! Plain Rust for every processor: the same algorithms over arrays of eight.

use super::gemm::{Tile, tile as gemm_tile};
use super::kernels::{Kernels, NormRow};
use super::simd::Portable;
use super::{math, rowwise};
use crate::engine::graph::Activation;

pub(super) const KERNELS: Kernels = Kernels { name: "portable", available: || true, tile_rows: 2, tile, activate, softmax, add_norm };

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

unsafe fn softmax(row: *mut f32, n: usize, padded: usize, scale: f32) -> f32 {
    // SAFETY: the caller's contract is `rowwise::softmax`'s.
    unsafe { rowwise::softmax::<Portable>(row, n, padded, scale) }
}

unsafe fn add_norm(row: &NormRow) {
    // SAFETY: the caller's contract is `rowwise::add_norm`'s.
    unsafe { rowwise::add_norm::<Portable>(row) }
}
