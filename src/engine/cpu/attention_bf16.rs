//! Self-attention of one head in bf16, for int8 models: products of bf16 pairs, summed in f32.
//!
//! As [`super::attention`], with queries, keys, values and probabilities rounded to bf16 (8 bits, an error of 2^-9 of each number,
//! less than that of the int8 rows they come from); softmax is f32. Panels hold pairs of neighbouring inputs: for keys, inputs
//! 2p and 2p + 1 of each key; for values, tokens 2p and 2p + 1 of each column. An odd last one is paired with zero.

use std::ops::Range;

use super::attention::{Head, Keys, QUERIES, add, scores_stride, tiles, widest_stride};
use super::gemm::{PANEL, split};
use super::kernels::Kernels;
use crate::engine::graph::{Attention, Sight};

/// The bf16 functions of an instruction set that has them.
pub(super) struct Bf16 {
    /// One tile.
    pub tile: unsafe fn(&PairTile),
    /// Rounds `n` numbers to bf16.
    pub narrow: unsafe fn(x: *const f32, n: usize, out: *mut u16),
    /// As [`super::rowwise::softmax`], the results as bf16, which overwrite the scores from the front; `padded` is even.
    pub softmax: unsafe fn(row: *mut f32, n: usize, padded: usize, scale: f32) -> f32,
    /// `out = x * factor` for `n` numbers.
    pub scale: unsafe fn(x: *const f32, factor: f32, n: usize, out: *mut f32),
    /// Rounds the numbers of two rows to bf16 pairs; without a second row (null) to pairs with zero.
    pub pair: unsafe fn(first: *const f32, second: *const f32, n: usize, out: *mut u32),
}

/// One tile: `c[rows, PANEL] = a[rows, pairs] * b[pairs, PANEL]`, a pair of products at a time.
#[derive(Clone, Copy)]
pub(super) struct PairTile {
    /// First row of A: bf16 numbers.
    pub a: *const u16,
    /// Numbers from one row of A to the next, even.
    pub a_stride: usize,
    /// The packed panel: `pairs * PANEL` pairs.
    pub b: *const u32,
    pub pairs: usize,
    /// First row of C; each row has `PANEL` writable numbers.
    pub c: *mut f32,
    /// Numbers from one row of C to the next.
    pub c_stride: usize,
    /// Rows, at least 1 and at most the kernel table's `tile_rows`.
    pub rows: usize,
}

/// Numbers of scratch that a sequence of `tokens` needs.
pub(super) fn scratch_len(attention: &Attention, tokens: usize) -> usize {
    let size = attention.head_size;
    let (keys, columns) = (tokens.next_multiple_of(PANEL), size.next_multiple_of(PANEL));
    keys * size.div_ceil(2) + tokens.div_ceil(2) * columns + QUERIES * (widest_stride(attention, tokens) + 2 * columns + columns / 2)
}

/// Computes the rows `queries` of the head's output.
///
/// # Safety
/// As [`super::attention::attend`]; `bf16` may run here.
pub(super) unsafe fn attend(kernels: &Kernels, bf16: &Bf16, head: &Head, sight: &Sight, asked: Range<usize>, scratch: *mut f32) {
    let Head { tokens, size, .. } = *head;
    let (keys, columns) = (tokens.next_multiple_of(PANEL), size.next_multiple_of(PANEL));
    let (size_pairs, token_pairs) = (size.div_ceil(2), tokens.div_ceil(2));
    // SAFETY: the six parts together are `scratch_len` numbers.
    unsafe {
        let key_panels = scratch.cast::<u32>();
        let value_panels = key_panels.add(keys * size_pairs);
        let scores = value_panels.add(token_pairs * columns).cast::<f32>();
        let stride = scores_stride(sight, tokens);
        let mixed = scores.add(QUERIES * stride);
        let part = mixed.add(QUERIES * columns);
        let room = Room { scores, stride, values: value_panels, token_pairs, mixed, part, columns };
        let queries = part.add(QUERIES * columns).cast::<u16>();
        pack_keys(bf16, head, key_panels, queries);
        pack_values(bf16, head, value_panels);
        let blocks = asked.len().div_ceil(QUERIES);
        for block in 0..blocks {
            let (first, rows) = split(asked.len(), blocks, block);
            let first = asked.start + first;
            for r in 0..rows {
                narrow_row(bf16, head.queries.add((first + r) * head.stride), size, queries.add(r * columns));
            }
            let keys = Keys::of(sight, first..first + rows);
            for (column, keys) in keys.ranges() {
                let score = Product {
                    a: queries,
                    a_stride: columns,
                    pairs: size_pairs,
                    panels: key_panels.add(keys.start * size_pairs),
                    panel: size_pairs * PANEL,
                };
                multiply(kernels, bf16, &score, rows, keys.len().next_multiple_of(PANEL), scores.add(column), stride);
                if let Some(positions) = &head.positions {
                    positions.add(kernels, head, first..first + rows, &keys, scores.add(column), stride);
                }
            }
            let mut inverse = [0f32; QUERIES];
            let width = keys.columns.next_multiple_of(2);
            for (r, sum) in inverse.iter_mut().enumerate().take(rows) {
                let row = scores.add(r * stride);
                let seen = head.finish_scores(sight, first + r, &keys, row);
                *sum = (bf16.softmax)(row.add(seen.start), seen.len(), seen.len().next_multiple_of(2), head.scale);
                if seen != (0..keys.columns) {
                    spread(row.cast(), seen.start, seen.len(), width);
                }
            }
            mix(kernels, bf16, &room, &keys, rows);
            for (r, sum) in inverse.iter().enumerate().take(rows) {
                (bf16.scale)(mixed.add(r * columns), *sum, size, head.out.add((first + r) * head.out_stride));
            }
        }
    }
}

/// As [`super::attention`] has it.
struct Room {
    scores: *const f32,
    stride: usize,
    values: *const u32,
    token_pairs: usize,
    mixed: *mut f32,
    part: *mut f32,
    columns: usize,
}

/// The sums of the values of `keys` by the probabilities of `rows` queries, part by part.
unsafe fn mix(kernels: &Kernels, bf16: &Bf16, room: &Room, keys: &Keys, rows: usize) {
    let Room { scores, stride, values, token_pairs, mixed, part, columns } = *room;
    for (i, (column, keys)) in keys.parts().enumerate() {
        // SAFETY: the caller gives rows of probabilities for `keys`, and room for as many rows of sums.
        unsafe {
            let product = Product {
                a: scores.cast::<u16>().add(column),
                a_stride: stride * 2,
                pairs: keys.len().div_ceil(2),
                // A panel's start is even.
                panels: values.add(keys.start / 2 * PANEL),
                panel: token_pairs * PANEL,
            };
            multiply(kernels, bf16, &product, rows, columns, if i == 0 { mixed } else { part }, columns);
            if i > 0 {
                add(mixed, part, rows * columns);
            }
        }
    }
}

/// Moves the `count` probabilities that softmax wrote at the scores from `start` on to their own places in the row, among zeros: the row
/// has `width` in all.
unsafe fn spread(row: *mut u16, start: usize, count: usize, width: usize) {
    // SAFETY: the caller gives a row of `width` scores, each as wide as two probabilities.
    unsafe {
        std::ptr::copy(row.add(2 * start), row.add(start), count);
        std::slice::from_raw_parts_mut(row, start).fill(0);
        std::slice::from_raw_parts_mut(row.add(start + count), width - start - count).fill(0);
    }
}

/// Left side, depth and packed right side of a product.
struct Product {
    a: *const u16,
    a_stride: usize,
    pairs: usize,
    panels: *const u32,
    /// Pairs from one panel to the next.
    panel: usize,
}

/// `out[rows, columns] = a * panels`; `columns` is a multiple of PANEL.
unsafe fn multiply(kernels: &Kernels, bf16: &Bf16, p: &Product, rows: usize, columns: usize, out: *mut f32, out_stride: usize) {
    for (panel, first, rows) in tiles(rows, columns, kernels.tile_rows) {
        // SAFETY: the caller gives `rows` rows of A and of the output, and columns / PANEL panels.
        unsafe {
            (bf16.tile)(&PairTile {
                a: p.a.add(first * p.a_stride),
                a_stride: p.a_stride,
                b: p.panels.add(panel * p.panel),
                pairs: p.pairs,
                c: out.add(first * out_stride + panel * PANEL),
                c_stride: out_stride,
                rows,
            });
        }
    }
}

/// One row of `size` numbers; an odd one is followed by zero.
unsafe fn narrow_row(bf16: &Bf16, x: *const f32, size: usize, out: *mut u16) {
    // SAFETY: the caller gives `size` numbers and room for an even number of them.
    unsafe {
        if !size.is_multiple_of(2) {
            *out.add(size) = 0;
        }
        (bf16.narrow)(x, size, out);
    }
}

/// Panels of PANEL keys: row `p` of a panel holds the pair `p` of each key; missing keys are zero. `row` is room for one key.
unsafe fn pack_keys(bf16: &Bf16, head: &Head, panels: *mut u32, row: *mut u16) {
    let pairs = head.size.div_ceil(2);
    for panel in 0..head.tokens.div_ceil(PANEL) {
        let first = panel * PANEL;
        let count = PANEL.min(head.tokens - first);
        // SAFETY: the caller gives whole panels and `tokens` keys; `row` is aligned as the f32 before it.
        unsafe {
            let out = std::slice::from_raw_parts_mut(panels.add(first * pairs), PANEL * pairs);
            if count < PANEL {
                out.fill(0);
            }
            for j in 0..count {
                narrow_row(bf16, head.keys.add((first + j) * head.stride), head.size, row);
                let key = std::slice::from_raw_parts(row.cast::<u32>(), pairs);
                for (p, pair) in key.iter().enumerate() {
                    out[p * PANEL + j] = *pair;
                }
            }
        }
    }
}

/// Panels of PANEL columns: row `p` of a panel holds those columns of values 2p and 2p + 1; missing ones are zero.
unsafe fn pack_values(bf16: &Bf16, head: &Head, panels: *mut u32) {
    let pairs = head.tokens.div_ceil(2);
    for panel in 0..head.size.div_ceil(PANEL) {
        let first = panel * PANEL;
        let count = PANEL.min(head.size - first);
        for p in 0..pairs {
            // SAFETY: the caller gives whole panels and `tokens` values.
            unsafe {
                let out = panels.add((panel * pairs + p) * PANEL);
                let value = head.values.add(2 * p * head.stride + first);
                let next = if 2 * p + 1 < head.tokens { value.add(head.stride) } else { std::ptr::null() };
                (bf16.pair)(value, next, count, out);
                std::slice::from_raw_parts_mut(out.add(count), PANEL - count).fill(0);
            }
        }
    }
}
