//! How are int8 weights and activations laid out?
//!
//! **Weights** are kept as Q8_0 keeps them, in blocks twice as long: [`BLOCK`] inputs of one output share a scale (f16),
//! `w = unit * scale * q` with `q` from -127 to 127. (Blocks of 32 are no more accurate here and cost 5 % of the time; see benches.) A matrix is packed in panels of [`PANEL`] outputs; a panel is, in this order,
//! - for each output the sum of its weights (f32): what a shift of all inputs adds to the output;
//! - for each output the unit of its scales (f32, a power of two), which keeps them where f16 is exact;
//! - [`OUTLIER_PAIRS`] rows of pairs of bf16 weights, first input lowest: the inputs that are not quantised;
//! - for each block: the outputs' scales (f16), then for each four inputs the outputs' `q`, four bytes an output.
//!
//! **Activations** are quantised row by row at run time, `x = scale * q + low` with `q` from 0 to 255 between the row's own
//! smallest and largest value: a row's bits depend on nothing else. A row is, in this order, scale, low, the [`OUTLIERS`]
//! inputs that are not quantised, as bf16 (one cache line together), and the `q` of all blocks.
//!
//! An output is then `scale * unit * sum over blocks (w_scale * sum(q_w * q)) + low * sum(w) + bias + sum(outlier * w)`: the inner
//! sums are exact integers (at most 64 * 127 * 255 < 2^24), the blocks are added in f32 in their order.
//!
//! **Outliers.** A few columns of a normalised row are often ten times as large as all others (Dettmers et al., LLM.int8(),
//! 2022; Kovaleva et al., BERT Busters, 2021) and would leave the rest a handful of steps. These inputs are multiplied as bf16
//! (8 bits each, so that their error is that of the others) with bf16 weights; their int8 weights are zero. [`super::calibrate`] finds
//! them.

use super::gemm::PANEL;

/// Inputs that share a weight's scale.
pub(super) const BLOCK: usize = 64;
/// Most inputs of a matrix that are not quantised.
pub(super) const OUTLIERS: usize = 8;
/// The same in pairs: an odd last one has zero beside it.
pub(super) const OUTLIER_PAIRS: usize = OUTLIERS / 2;

/// Rows of a panel's head: sums, units, then outliers' weights.
pub(super) const UNITS: usize = 1;
/// First row of the outliers' weights.
pub(super) const OUTLIER_ROWS: usize = 2;
/// Bytes of a panel before its blocks.
pub(super) const PANEL_HEAD: usize = (OUTLIER_ROWS + OUTLIER_PAIRS) * PANEL * 4;
/// Bytes of a block of a panel: scales, then weights.
pub(super) const PANEL_BLOCK: usize = PANEL * 2 + BLOCK * PANEL;
/// Bytes of a row before its blocks: scale, low, outliers, filled up to a cache line.
const ROW_HEAD: usize = 64;

const _: () = assert!(PANEL_HEAD.is_multiple_of(64) && PANEL_BLOCK.is_multiple_of(64) && 8 + OUTLIERS * 2 <= ROW_HEAD);

/// Blocks of `depth` inputs; the last may be partly filled (with zero weights).
pub(super) fn blocks(depth: usize) -> usize {
    depth.div_ceil(BLOCK)
}

/// Bytes of a panel over `depth` inputs: whole cache lines.
pub(super) fn panel_bytes(depth: usize) -> usize {
    PANEL_HEAD + blocks(depth) * PANEL_BLOCK
}

/// Where the parts of a quantised row of `width` numbers lie, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RowLayout {
    /// Blocks of the row.
    pub blocks: usize,
    /// From one row to the next.
    pub stride: usize,
}

impl RowLayout {
    /// First of the outliers.
    pub(super) const OUTLIERS_AT: usize = 8;
    /// First of the quantised numbers.
    pub(super) const DATA: usize = ROW_HEAD;

    pub(super) fn new(width: usize) -> RowLayout {
        let blocks = blocks(width);
        let bytes = (ROW_HEAD + blocks * BLOCK).next_multiple_of(64);
        // Rows never lie a multiple of 4096 bytes apart: they would share a few sets of the first-level cache.
        let stride = if bytes.is_multiple_of(1024) { bytes + 64 } else { bytes };
        RowLayout { blocks, stride }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_hold_their_parts_and_never_alias() {
        for width in [1, 31, 32, 33, 384, 768, 1000, 1536, 3072, 4096] {
            let row = RowLayout::new(width);
            assert!(row.blocks * BLOCK >= width && row.stride >= RowLayout::DATA + row.blocks * BLOCK);
            assert!(row.stride.is_multiple_of(64) && !row.stride.is_multiple_of(4096), "{width}");
        }
    }
}
