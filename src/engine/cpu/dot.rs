//! `C = A * B` for int8: how are quantised matrices multiplied?
//!
//! A tile of a few rows and a part of a panel ([`super::int8`]) is held in registers over the whole depth: an integer sum a block,
//! turned into f32 and added to the tile's f32 sum with the weights' scale. Each output is one chain in the order of the blocks,
//! whatever the number of rows in the call, so that results do not depend on the batch.
//!
//! **The multiply instructions and their limits.** `vpdpbusd` multiplies unsigned bytes (activations) by signed bytes (weights)
//! and adds four products to an i32 without saturation. `vpmaddubsw` (AVX2) adds two products to an i16 *with* saturation: there
//! 128 is taken from the activation, its absolute value (at most 128) is the unsigned side and its sign goes to the weight (at
//! most 127), so that two products are at most 2 * 128 * 127 = 32512 < 32767; the 128 comes back with the row's `low`. Weights
//! are never -128.

use half::bf16;

use super::gemm::{Ahead, PANEL};
use super::int8::{BLOCK, OUTLIER_PAIRS, OUTLIER_ROWS, OUTLIERS, PANEL_BLOCK, PANEL_HEAD, RowLayout, UNITS};
use super::simd::Simd;

/// The whole numbers that int8 kernels need beside [`Simd`].
pub(super) trait Whole: Simd {
    /// A register of `LANES` i32, or four times as many bytes.
    type I: Copy;

    unsafe fn zero() -> Self::I;
    /// The i32 at `p` in every lane.
    unsafe fn broadcast(p: *const i32) -> Self::I;
    /// Four bytes a lane.
    unsafe fn load_bytes(p: *const u8) -> Self::I;
    unsafe fn to_f32(sums: Self::I) -> Self::V;
    /// The bf16 number in the lower half of each lane.
    unsafe fn first_bf16(pairs: Self::I) -> Self::V;
    /// The bf16 number in the upper half of each lane.
    unsafe fn second_bf16(pairs: Self::I) -> Self::V;
    /// `LANES` f16 numbers.
    unsafe fn load_f16(p: *const u16) -> Self::V;
    /// Writes `LANES` numbers, rounded to nearest and limited to 0 to 255, as bytes.
    unsafe fn store_u8(p: *mut u8, v: Self::V);
}

/// An instruction that multiplies bytes, over the registers `S`.
pub(super) trait Dot {
    type S: Whole;
    /// What [`Dot::dot`] takes from each activation.
    const TAKES: f32;

    /// Each lane of `sum` plus the products of four weights and four activations.
    unsafe fn dot(sum: Whole8<Self>, weights: Whole8<Self>, a: Whole8<Self>) -> Whole8<Self>;

    /// Each lane of `sum` plus the products of two bf16 weights and two bf16 activations.
    #[inline(always)]
    unsafe fn dot_bf16(sum: <Self::S as Simd>::V, weights: Whole8<Self>, a: Whole8<Self>) -> <Self::S as Simd>::V {
        // SAFETY: the caller runs where S exists.
        unsafe {
            let sum = Self::S::fma(Self::S::first_bf16(a), Self::S::first_bf16(weights), sum);
            Self::S::fma(Self::S::second_bf16(a), Self::S::second_bf16(weights), sum)
        }
    }
}

/// The register of whole numbers of an instruction.
type Whole8<D> = <<D as Dot>::S as Whole>::I;

/// One tile: `c[rows, PANEL] = a[rows, depth] * panel + bias`.
#[derive(Clone, Copy)]
pub(super) struct DotTile {
    /// First quantised row of A.
    pub a: *const u8,
    /// Its parts.
    pub layout: RowLayout,
    /// The packed panel.
    pub panel: *const u8,
    /// Inputs that are not quantised, from 0 to `OUTLIERS`.
    pub outliers: usize,
    /// One number an output, or null.
    pub bias: *const f32,
    /// First row of C; each row has `PANEL` writable numbers.
    pub c: *mut f32,
    /// Numbers from one row of C to the next.
    pub c_stride: usize,
    /// Rows, at least 1 and at most the kernel table's `dot_rows`.
    pub rows: usize,
    /// What to fetch into the cache meanwhile, a step a four inputs.
    pub ahead: Ahead,
}

/// `ROWS` rows and `COLUMNS` registers of columns, beginning at column `at` of the panel. Plain loops: see [`super::gemm::tile`].
#[inline(always)]
#[expect(clippy::needless_range_loop, reason = "indexed loops over constants are what the optimiser unrolls into registers")]
pub(super) unsafe fn dot_tile<D: Dot, const ROWS: usize, const COLUMNS: usize>(t: &DotTile, at: usize) {
    // SAFETY: the caller runs where D exists; the pointers are as `DotTile` says and at + COLUMNS * LANES <= PANEL.
    unsafe {
        let mut totals = [[D::S::splat(0.0); COLUMNS]; ROWS];
        let mut ahead = t.ahead.first();
        for block in 0..t.layout.blocks {
            let weights = t.panel.add(PANEL_HEAD + block * PANEL_BLOCK);
            let rows = t.a.add(RowLayout::DATA + block * BLOCK);
            let mut sums = [[D::S::zero(); COLUMNS]; ROWS];
            for k in 0..BLOCK / 4 {
                D::S::prefetch(ahead);
                ahead = ahead.wrapping_add(t.ahead.step());
                let mut w = [D::S::zero(); COLUMNS];
                for i in 0..COLUMNS {
                    w[i] = D::S::load_bytes(weights.add(PANEL * 2 + k * PANEL * 4 + (at + i * D::S::LANES) * 4));
                }
                for r in 0..ROWS {
                    let a = D::S::broadcast(rows.add(r * t.layout.stride + k * 4).cast());
                    for i in 0..COLUMNS {
                        sums[r][i] = D::dot(sums[r][i], w[i], a);
                    }
                }
            }
            for i in 0..COLUMNS {
                let scale = D::S::load_f16(weights.cast::<u16>().add(at + i * D::S::LANES));
                for r in 0..ROWS {
                    totals[r][i] = D::S::fma(D::S::to_f32(sums[r][i]), scale, totals[r][i]);
                }
            }
        }
        // Every loop over the tile has constant bounds, so that its sums stay in registers.
        let head = t.panel.cast::<f32>().add(at);
        for i in 0..COLUMNS {
            let column = i * D::S::LANES;
            let bias = if t.bias.is_null() { D::S::splat(0.0) } else { D::S::load(t.bias.add(at + column)) };
            let (weights, unit) = (D::S::load(head.add(column)), D::S::load(head.add(UNITS * PANEL + column)));
            for r in 0..ROWS {
                let row = t.a.add(r * t.layout.stride).cast::<f32>();
                let scaled = D::S::fma(D::S::mul(totals[r][i], unit), D::S::splat(*row), bias);
                let low = *row.add(1) + *row * D::TAKES;
                totals[r][i] = D::S::fma(D::S::splat(low), weights, scaled);
            }
        }
        for pair in 0..t.outliers.div_ceil(2) {
            let mut w = [D::S::zero(); COLUMNS];
            for i in 0..COLUMNS {
                w[i] = D::S::load_bytes(head.add((OUTLIER_ROWS + pair) * PANEL + i * D::S::LANES).cast());
            }
            for r in 0..ROWS {
                let a = D::S::broadcast(t.a.add(r * t.layout.stride + RowLayout::OUTLIERS_AT + pair * 4).cast());
                for i in 0..COLUMNS {
                    totals[r][i] = D::dot_bf16(totals[r][i], w[i], a);
                }
            }
        }
        for r in 0..ROWS {
            for i in 0..COLUMNS {
                D::S::store(t.c.add(r * t.c_stride + at + i * D::S::LANES), totals[r][i]);
            }
        }
    }
}

/// A row to quantise.
#[derive(Clone, Copy)]
pub(super) struct QuantiseRow<'c> {
    /// The row, `width` numbers; its outliers are written over for a moment and put back.
    pub x: *mut f32,
    pub width: usize,
    /// Columns that are not quantised.
    pub outliers: &'c [u32],
    /// `layout.stride` writable bytes.
    pub out: *mut u8,
    pub layout: RowLayout,
}

/// Quantises a row as [`super::int8`] says. A NaN or an infinity makes `low` NaN, hence every output.
#[inline(always)]
pub(super) unsafe fn quantise_row<S: Whole>(row: &QuantiseRow<'_>) {
    let QuantiseRow { x, width, outliers, out, layout } = *row;
    let mut kept = [0f32; OUTLIERS];
    // SAFETY: the caller runs where S exists, gives `width` numbers, columns below it and `stride` bytes.
    unsafe {
        let neutral = neutral(x, width, outliers);
        for (o, column) in outliers.iter().enumerate() {
            kept[o] = *x.add(*column as usize);
            *x.add(*column as usize) = neutral;
        }
        let whole = width / S::LANES * S::LANES;
        let rest = width - whole;
        let (mut low, mut high, mut damaged) = (S::splat(f32::INFINITY), S::splat(f32::NEG_INFINITY), S::splat(0.0));
        for i in (0..whole).step_by(S::LANES) {
            let v = S::load(x.add(i));
            (low, high, damaged) = (S::min(v, low), S::max(v, high), S::fma(v, S::splat(0.0), damaged));
        }
        if rest > 0 {
            let v = S::load_part(x.add(whole), rest, neutral);
            (low, high, damaged) = (S::min(v, low), S::max(v, high), S::fma(v, S::splat(0.0), damaged));
        }
        let (low, high) = (-S::largest(S::sub(S::splat(0.0), low)), S::largest(high));
        // Halved first, so that the difference of two huge numbers is finite.
        let scale = (high * 0.5 - low * 0.5) / 127.5;
        let inverse = if scale > 0.0 { (1.0 / scale).min(f32::MAX) } else { 0.0 };
        let head = out.cast::<f32>();
        *head = scale;
        *head.add(1) = low + S::sum(damaged);
        for (pair, values) in kept.as_chunks::<2>().0.iter().enumerate() {
            *out.add(RowLayout::OUTLIERS_AT).cast::<u32>().add(pair) = bf16_pair(*values);
        }
        let (low, inverse) = (S::splat(low), S::splat(inverse));
        let data = out.add(RowLayout::DATA);
        for i in (0..whole).step_by(S::LANES) {
            S::store_u8(data.add(i), S::mul(S::sub(S::load(x.add(i)), low), inverse));
        }
        for i in (whole..layout.blocks * BLOCK).step_by(S::LANES) {
            // Beyond the width weights are zero: any number will do.
            let v = S::load_part(x.add(i.min(width)), width.saturating_sub(i), neutral);
            S::store_u8(data.add(i), S::mul(S::sub(v, low), inverse));
        }
        for (o, column) in outliers.iter().enumerate() {
            *x.add(*column as usize) = kept[o];
        }
    }
}

const _: () = assert!(OUTLIERS == 2 * OUTLIER_PAIRS);

/// Two numbers rounded to bf16, the first in the lower half.
pub(super) fn bf16_pair([first, second]: [f32; 2]) -> u32 {
    let bits = |x: f32| u32::from(bf16::from_f32(x).to_bits());
    bits(first) | bits(second) << 16
}

/// A number of the row that is no outlier: what stands in for those that are. (Outliers are never the whole row.)
unsafe fn neutral(x: *const f32, width: usize, outliers: &[u32]) -> f32 {
    let column = (0..width).find(|c| !outliers.contains(&(*c as u32))).unwrap_or(0);
    // SAFETY: the caller gives `width` numbers, at least one.
    unsafe { *x.add(column) }
}
