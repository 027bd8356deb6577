//! Which functions does learning need of an instruction set?
//!
//! A part of [`super::super::kernels`]: one table an instruction set, made by [`table!`] from the algorithms in [`super::rows`] and
//! [`super::product`], which are written once over [`Simd`](super::super::simd::Simd); [`super::reference`] is their definition.

use super::product::Product;
use super::rows::{Adam, NormBack};
use crate::engine::graph::Activation;

/// The functions of one instruction set.
pub(in super::super) struct Kernels {
    /// See [`super::product::product`].
    pub product: unsafe fn(&Product),
    /// See [`super::rows::activate_back`].
    pub activate_back: unsafe fn(Activation, gradient: *const f32, x: *const f32, out: *mut f32, n: usize),
    /// See [`super::rows::norm_back`].
    pub norm_back: unsafe fn(&NormBack),
    /// See [`super::rows::drop_row`].
    pub drop_row: unsafe fn(x: *const f32, out: *mut f32, n: usize, key: u32, threshold: u32, scale: f32),
    /// See [`super::rows::softmax_back`].
    pub softmax_back: unsafe fn(weights: *const f32, gradient: *mut f32, n: usize, scale: f32),
    /// See [`super::rows::column_sums`].
    pub column_sums: unsafe fn(x: *const f32, stride: usize, rows: usize, columns: usize, sums: *mut f32),
    /// See [`super::rows::largest_and_sum`].
    pub largest_and_sum: unsafe fn(scores: *mut f32, stride: usize, rows: usize, columns: usize, bias: *const f32, out: *mut f32),
    /// See [`super::rows::probabilities`].
    pub probabilities: unsafe fn(scores: *mut f32, columns: usize, total: *const f32, factors: *const f32) -> f32,
    /// See [`super::rows::adam`].
    pub adam: unsafe fn(&Adam),
    /// See [`super::rows::squares`].
    pub squares: unsafe fn(x: *const f32, n: usize) -> f64,
}

/// The table of the registers `$simd`, each function compiled with `$features`, products in tiles of `$rows` rows and `$columns` registers.
macro_rules! table {
    ($simd:ty, $($features:literal)?, $rows:literal, $columns:literal) => {
        pub(in crate::engine::cpu) const LEARN: $crate::engine::cpu::learn::kernels::Kernels = {
            use $crate::engine::cpu::learn::{product, rows};
            use $crate::engine::graph::Activation;

            $(#[target_feature(enable = $features)])?
            unsafe fn product(p: &product::Product) {
                // SAFETY: the caller's contract is that of the algorithm.
                unsafe { product::product::<$simd, $rows, $columns>(p) }
            }
            $(#[target_feature(enable = $features)])?
            unsafe fn activate_back(which: Activation, gradient: *const f32, x: *const f32, out: *mut f32, n: usize) {
                // SAFETY: as above.
                unsafe { rows::activate_back::<$simd>(which, gradient, x, out, n) }
            }
            $(#[target_feature(enable = $features)])?
            unsafe fn norm_back(row: &rows::NormBack) {
                // SAFETY: as above.
                unsafe { rows::norm_back::<$simd>(row) }
            }
            $(#[target_feature(enable = $features)])?
            unsafe fn drop_row(x: *const f32, out: *mut f32, n: usize, key: u32, threshold: u32, scale: f32) {
                // SAFETY: as above.
                unsafe { rows::drop_row(x, out, n, key, threshold, scale) }
            }
            $(#[target_feature(enable = $features)])?
            unsafe fn softmax_back(weights: *const f32, gradient: *mut f32, n: usize, scale: f32) {
                // SAFETY: as above.
                unsafe { rows::softmax_back::<$simd>(weights, gradient, n, scale) }
            }
            $(#[target_feature(enable = $features)])?
            unsafe fn column_sums(x: *const f32, stride: usize, rows: usize, columns: usize, sums: *mut f32) {
                // SAFETY: as above.
                unsafe { rows::column_sums::<$simd>(x, stride, rows, columns, sums) }
            }
            $(#[target_feature(enable = $features)])?
            unsafe fn largest_and_sum(scores: *mut f32, stride: usize, n: usize, columns: usize, bias: *const f32, out: *mut f32) {
                // SAFETY: as above.
                unsafe { rows::largest_and_sum::<$simd>(scores, stride, n, columns, bias, out) }
            }
            $(#[target_feature(enable = $features)])?
            unsafe fn probabilities(scores: *mut f32, columns: usize, total: *const f32, factors: *const f32) -> f32 {
                // SAFETY: as above.
                unsafe { rows::probabilities::<$simd>(scores, columns, total, factors) }
            }
            $(#[target_feature(enable = $features)])?
            unsafe fn adam(step: &rows::Adam) {
                // SAFETY: as above.
                unsafe { rows::adam(step) }
            }
            $(#[target_feature(enable = $features)])?
            unsafe fn squares(x: *const f32, n: usize) -> f64 {
                // SAFETY: as above.
                unsafe { rows::squares(x, n) }
            }
            $crate::engine::cpu::learn::kernels::Kernels {
                product,
                activate_back,
                norm_back,
                drop_row,
                softmax_back,
                column_sums,
                largest_and_sum,
                probabilities,
                adam,
                squares,
            }
        };
    };
}
pub(in super::super) use table;
