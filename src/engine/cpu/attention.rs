//! Self-attention of one head within one sequence.
//!
//! Keys and values of the head are packed into panels once ([`super::gemm`]); then, for a few query rows at a time: scores
//! (queries times the keys that one of them sees), softmax, and the weighted sum of values, all in the worker's own scratch. Keys are
//! taken in one fixed order, so that a result depends on the sequence alone.

use std::ops::Range;

use super::disentangled::{self, Positions};
use super::gemm::{Ahead, PANEL, Start, Tile, row_stride, split};
use super::kernels::Kernels;
use crate::engine::graph::{Attention, Bias, Span, WeightId};

/// Query rows handled together: the tile rows of every table divide it.
pub(super) const QUERIES: usize = 24;

/// One head's view of a sequence.
#[derive(Clone, Copy)]
pub(super) struct Head {
    /// The head's columns of the sequence's first row: queries.
    pub queries: *const f32,
    /// Keys.
    pub keys: *const f32,
    /// Values.
    pub values: *const f32,
    /// Numbers from one of these rows to the next.
    pub stride: usize,
    /// The head's columns of the first output row.
    pub out: *mut f32,
    /// Numbers from one output row to the next.
    pub out_stride: usize,
    /// Tokens of the sequence that are seen: keys and values.
    pub tokens: usize,
    /// Tokens that see them: queries and output rows.
    pub rows: usize,
    /// Width of the head.
    pub size: usize,
    /// What [`diagonals`] wrote; null for no bias.
    pub bias: *const f32,
    /// Products with positions that are added to the scores.
    pub positions: Option<Positions>,
    /// What the sum is multiplied by.
    pub scale: f32,
    /// Which keys a query sees.
    pub span: Span,
}

impl Head {
    /// The keys that the queries from `first` on see, from a panel's start on: what their scores are computed with.
    pub(super) fn keys_of(&self, first: usize, queries: usize) -> Range<usize> {
        let seen = self.span.seen(first..first + queries, self.tokens);
        seen.start / PANEL * PANEL..seen.end
    }

    /// Adds the bias to the scores of query `query` with the keys `seen`.
    ///
    /// # Safety
    /// `scores` holds a number a key, `bias` is null or what [`diagonals`] wrote for the head's rows.
    pub(super) unsafe fn add_bias(&self, query: usize, seen: &Range<usize>, scores: *mut f32) {
        if self.bias.is_null() {
            return;
        }
        // SAFETY: of the `2 * rows - 1` numbers, those of query q begin at `rows - 1 - q`.
        let (scores, bias) = unsafe {
            let from = self.bias.add(self.rows - 1 - query + seen.start);
            (std::slice::from_raw_parts_mut(scores, seen.len()), std::slice::from_raw_parts(from, seen.len()))
        };
        scores.iter_mut().zip(bias).for_each(|(score, bias)| *score += bias);
    }
}

/// Numbers of scratch that the bias of a sequence of `tokens` needs, in whole cache lines.
pub(super) fn bias_len(attention: &Attention, tokens: usize) -> usize {
    match &attention.bias {
        Bias::None => 0,
        Bias::Relative(_) | Bias::Slopes(_) => (2 * tokens).next_multiple_of(16),
        Bias::Disentangled(positions) => disentangled::scratch_len(positions, tokens),
    }
}

/// Writes one head's bias by distance, from `-(tokens - 1)` to `tokens - 1`, and returns where (null for none). The numbers are the
/// bias's times `sqrt(head_size)`: softmax scales scores and bias together. `table` gives the numbers of a weight.
///
/// # Safety
/// `scratch` gives [`bias_len`] numbers.
pub(super) unsafe fn diagonals<'w>(
    attention: &Attention,
    table: impl Fn(WeightId) -> &'w [f32],
    head: usize,
    tokens: usize,
    scratch: *mut f32,
) -> *const f32 {
    let Attention { heads, head_size, ref bias, .. } = *attention;
    if matches!(bias, Bias::None | Bias::Disentangled(_)) {
        return std::ptr::null();
    }
    // SAFETY: the caller's contract; `2 * tokens - 1` numbers are used.
    let out = unsafe { std::slice::from_raw_parts_mut(scratch, 2 * tokens - 1) };
    let unscaled = (head_size as f32).sqrt();
    for (i, number) in out.iter_mut().enumerate() {
        *number = bias.at(i as isize + 1 - tokens as isize, head, heads, &table) * unscaled;
    }
    scratch
}

/// Numbers from one row of scores to the next: the keys that [`QUERIES`] queries see, from a panel's start on, and room for the zeros
/// that softmax writes behind them.
pub(super) fn scores_stride(tokens: usize, span: Span) -> usize {
    let window = span.before.saturating_add(span.after).saturating_add(QUERIES + PANEL);
    row_stride(tokens.min(window)) + PANEL
}

/// Numbers of scratch that a sequence of `tokens` and a head of `size` need.
pub(super) fn scratch_len(tokens: usize, size: usize, span: Span) -> usize {
    let (keys, columns) = (tokens.next_multiple_of(PANEL), size.next_multiple_of(PANEL));
    keys * size + tokens * columns + QUERIES * (scores_stride(tokens, span) + columns)
}

/// Computes the head.
///
/// # Safety
/// `head`'s pointers give `rows` queries and `tokens` keys and values of `size` numbers, the output's `rows` written by nobody else meanwhile; `scratch` gives
/// `scratch_len` numbers; `kernels` may run here.
pub(super) unsafe fn attend(kernels: &Kernels, head: &Head, scratch: *mut f32) {
    let Head { tokens, size, .. } = *head;
    let (keys, columns) = (tokens.next_multiple_of(PANEL), size.next_multiple_of(PANEL));
    // SAFETY: the four parts together are `scratch_len` numbers.
    unsafe {
        let key_panels = scratch;
        let value_panels = key_panels.add(keys * size);
        let scores = value_panels.add(tokens * columns);
        let stride = scores_stride(tokens, head.span);
        let mixed = scores.add(QUERIES * stride);
        pack_keys(head, key_panels);
        pack_values(head, value_panels);
        let blocks = head.rows.div_ceil(QUERIES);
        for block in 0..blocks {
            let (first, rows) = split(head.rows, blocks, block);
            let keys = head.keys_of(first, rows);
            let score = Product {
                a: head.queries.add(first * head.stride),
                a_stride: head.stride,
                depth: size,
                panels: key_panels.add(keys.start * size),
                panel: size * PANEL,
            };
            multiply(kernels, &score, rows, keys.len().next_multiple_of(PANEL), scores, stride);
            let mut inverse = [0f32; QUERIES];
            if let Some(positions) = &head.positions {
                positions.add(kernels, head, first..first + rows, &keys, scores, stride);
            }
            for (r, sum) in inverse.iter_mut().enumerate().take(rows) {
                let (row, query) = (scores.add(r * stride), first + r);
                let seen = head.span.seen(query..query + 1, tokens);
                let own = row.add(seen.start - keys.start);
                head.add_bias(query, &seen, own);
                *sum = (kernels.softmax)(own, seen.len(), seen.len().next_multiple_of(PANEL), head.scale);
                // What this query does not see and others of the block do.
                std::slice::from_raw_parts_mut(row, seen.start - keys.start).fill(0.0);
                std::slice::from_raw_parts_mut(own.add(seen.len()), keys.end - seen.end).fill(0.0);
            }
            let mix = Product {
                a: scores,
                a_stride: stride,
                depth: keys.len(),
                panels: value_panels.add(keys.start * PANEL),
                panel: tokens * PANEL,
            };
            multiply(kernels, &mix, rows, columns, mixed, columns);
            for (r, sum) in inverse.iter().enumerate().take(rows) {
                let out = std::slice::from_raw_parts_mut(head.out.add((first + r) * head.out_stride), size);
                let row = std::slice::from_raw_parts(mixed.add(r * columns), size);
                out.iter_mut().zip(row).for_each(|(o, x)| *o = x * sum);
            }
        }
    }
}

/// Left side, depth and packed right side of a product.
pub(super) struct Product {
    pub a: *const f32,
    pub a_stride: usize,
    pub depth: usize,
    pub panels: *const f32,
    /// Numbers from one panel to the next.
    pub panel: usize,
}

/// `out[rows, columns] = a * panels`; `columns` is a multiple of PANEL.
pub(super) unsafe fn multiply(kernels: &Kernels, p: &Product, rows: usize, columns: usize, out: *mut f32, out_stride: usize) {
    for (panel, first, rows) in tiles(rows, columns, kernels.tile_rows) {
        // SAFETY: the caller gives `rows` rows of A and of the output, and columns / PANEL panels.
        unsafe {
            (kernels.tile)(&Tile {
                a: p.a.add(first * p.a_stride),
                a_stride: p.a_stride,
                b: p.panels.add(panel * p.panel),
                depth: p.depth,
                c: out.add(first * out_stride + panel * PANEL),
                c_stride: out_stride,
                rows,
                start: Start::Zero,
                ahead: Ahead::none(p.panels),
            });
        }
    }
}

/// The tiles of a product of `rows` and `columns`, panel after panel: (panel, first row, rows).
pub(super) fn tiles(rows: usize, columns: usize, most: usize) -> impl Iterator<Item = (usize, usize, usize)> {
    let tiles = rows.div_ceil(most);
    (0..columns / PANEL).flat_map(move |panel| {
        (0..tiles).map(move |i| {
            let (first, count) = split(rows, tiles, i);
            (panel, first, count)
        })
    })
}

/// Panels of PANEL keys: row `k` of a panel holds number `k` of each key; missing keys are zero.
unsafe fn pack_keys(head: &Head, panels: *mut f32) {
    for panel in 0..head.tokens.div_ceil(PANEL) {
        let first = panel * PANEL;
        let count = PANEL.min(head.tokens - first);
        // SAFETY: the caller gives whole panels and `tokens` keys.
        unsafe {
            let out = std::slice::from_raw_parts_mut(panels.add(first * head.size), PANEL * head.size);
            if count < PANEL {
                out.fill(0.0);
            }
            for j in 0..count {
                let key = std::slice::from_raw_parts(head.keys.add((first + j) * head.stride), head.size);
                for (k, x) in key.iter().enumerate() {
                    out[k * PANEL + j] = *x;
                }
            }
        }
    }
}

/// Panels of PANEL columns: row `t` of a panel holds those columns of value `t`; missing columns are zero.
unsafe fn pack_values(head: &Head, panels: *mut f32) {
    for panel in 0..head.size.div_ceil(PANEL) {
        let first = panel * PANEL;
        let count = PANEL.min(head.size - first);
        for t in 0..head.tokens {
            // SAFETY: the caller gives whole panels and `tokens` values.
            unsafe {
                let out = std::slice::from_raw_parts_mut(panels.add(first * head.tokens + t * PANEL), PANEL);
                out[..count].copy_from_slice(std::slice::from_raw_parts(head.values.add(t * head.stride + first), count));
                out[count..].fill(0.0);
            }
        }
    }
}
