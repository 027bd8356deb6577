//! Self-attention of one head in bf16, for int8 models: products of bf16 pairs, summed in f32.
//!
//! As [`super::attention`], with queries, keys, values and probabilities rounded to bf16 (8 bits, an error of 2^-9 of each number,
//! less than that of the int8 rows they come from); softmax is f32. Panels hold pairs of neighbouring inputs: for keys, inputs
//! 2p and 2p + 1 of each key; for values, tokens 2p and 2p + 1 of each column. An odd last one is paired with zero.

use super::attention::{Head, QUERIES, scores_stride, tiles};
use super::gemm::{PANEL, split};
use super::kernels::Kernels;
use crate::engine::graph::Span;

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

/// Numbers of scratch that a sequence of `tokens` and a head of `size` need.
pub(super) fn scratch_len(tokens: usize, size: usize, span: Span) -> usize {
    let (keys, columns) = (tokens.next_multiple_of(PANEL), size.next_multiple_of(PANEL));
    keys * size.div_ceil(2) + tokens.div_ceil(2) * columns + QUERIES * (scores_stride(tokens, span) + columns + columns / 2)
}

/// Computes the head.
///
/// # Safety
/// As [`super::attention::attend`]; `bf16` may run here.
pub(super) unsafe fn attend(kernels: &Kernels, bf16: &Bf16, head: &Head, scratch: *mut f32) {
    let Head { tokens, size, .. } = *head;
    let (keys, columns) = (tokens.next_multiple_of(PANEL), size.next_multiple_of(PANEL));
    let (size_pairs, token_pairs) = (size.div_ceil(2), tokens.div_ceil(2));
    // SAFETY: the five parts together are `scratch_len` numbers.
    unsafe {
        let key_panels = scratch.cast::<u32>();
        let value_panels = key_panels.add(keys * size_pairs);
        let scores = value_panels.add(token_pairs * columns).cast::<f32>();
        let stride = scores_stride(tokens, head.span);
        let mixed = scores.add(QUERIES * stride);
        let queries = mixed.add(QUERIES * columns).cast::<u16>();
        pack_keys(bf16, head, key_panels, queries);
        pack_values(bf16, head, value_panels);
        let blocks = head.rows.div_ceil(QUERIES);
        for block in 0..blocks {
            let (first, rows) = split(head.rows, blocks, block);
            for r in 0..rows {
                narrow_row(bf16, head.queries.add((first + r) * head.stride), size, queries.add(r * columns));
            }
            let keys = head.keys_of(first, rows);
            let score = Product {
                a: queries,
                a_stride: columns,
                pairs: size_pairs,
                panels: key_panels.add(keys.start * size_pairs),
                panel: size_pairs * PANEL,
            };
            multiply(kernels, bf16, &score, rows, keys.len().next_multiple_of(PANEL), scores, stride);
            let mut inverse = [0f32; QUERIES];
            if let Some(positions) = &head.positions {
                positions.add(kernels, head, first..first + rows, &keys, scores, stride);
            }
            for (r, sum) in inverse.iter_mut().enumerate().take(rows) {
                let (row, query) = (scores.add(r * stride), first + r);
                let seen = head.span.seen(query..query + 1, tokens);
                let own = row.add(seen.start - keys.start);
                head.add_bias(query, &seen, own);
                *sum = (bf16.softmax)(own, seen.len(), seen.len().next_multiple_of(2), head.scale);
                if seen != keys {
                    spread(row.cast(), seen.start - keys.start, seen.len(), keys.len().next_multiple_of(2));
                }
            }
            let mix = Product {
                a: scores.cast::<u16>(),
                a_stride: stride * 2,
                pairs: keys.len().div_ceil(2),
                // A panel's start is even.
                panels: value_panels.add(keys.start / 2 * PANEL),
                panel: token_pairs * PANEL,
            };
            multiply(kernels, bf16, &mix, rows, columns, mixed, columns);
            for (r, sum) in inverse.iter().enumerate().take(rows) {
                (bf16.scale)(mixed.add(r * columns), *sum, size, head.out.add((first + r) * head.out_stride));
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
