//! Self-attention of one head within one sequence.
//!
//! Keys and values of the head are packed into panels once ([`super::gemm`]); then, for a few query rows at a time: scores
//! (queries times the keys that one of them sees, ranges of them side by side), softmax, and the weighted sum of values, all in the
//! worker's own scratch. Keys are taken in one fixed order, so that a result depends on the sequence alone. The weighted sum is made in
//! parts of at most [`PART`] keys, which are added in their order: one chain of so many additions as a long text has keys would lose digits.

use std::ops::Range;

use super::disentangled::{self, Positions};
use super::gemm::{Ahead, PANEL, Start, Tile, row_stride, split};
use super::kernels::Kernels;
use crate::engine::graph::{Attention, Bias, Far, Ranges, Sight, WeightId};

/// Query rows handled together: the tile rows of every table divide it.
pub(super) const QUERIES: usize = 24;

/// Values summed in one chain, at most: whole panels.
const PART: usize = 1024;

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
    /// Tokens of the sequence.
    pub rows: usize,
    /// Width of the head.
    pub size: usize,
    /// What [`diagonals`] wrote; null for no bias.
    pub bias: *const f32,
    /// Products with positions that are added to the scores.
    pub positions: Option<Positions>,
    /// What the sum is multiplied by.
    pub scale: f32,
}

/// The keys that a block of queries sees, in ranges whose scores stand side by side, each from a panel's start on.
pub(super) struct Keys {
    ranges: Ranges,
    /// Scores of a query, the last range's padding aside.
    pub columns: usize,
}

impl Keys {
    pub(super) fn of(sight: &Sight, queries: Range<usize>) -> Keys {
        let ranges = sight.seen(queries, PANEL);
        let columns = ranges.iter().fold(0usize, |at, keys| at.next_multiple_of(PANEL) + keys.len());
        Keys { ranges, columns }
    }

    /// Each range and the column of its first score.
    pub(super) fn ranges(&self) -> impl Iterator<Item = (usize, Range<usize>)> {
        self.ranges.iter().scan(0, |at, keys| {
            let column = *at;
            *at += keys.len().next_multiple_of(PANEL);
            Some((column, keys.clone()))
        })
    }

    /// The same, cut into parts of which each is summed in one chain.
    pub(super) fn parts(&self) -> impl Iterator<Item = (usize, Range<usize>)> {
        self.ranges().flat_map(|(column, keys)| {
            keys.clone().step_by(PART).map(move |first| (column + first - keys.start, first..(first + PART).min(keys.end)))
        })
    }

    /// The column of a key that is among them.
    fn column(&self, key: usize) -> usize {
        self.ranges().find(|(_, keys)| keys.contains(&key)).map_or(0, |(column, keys)| column + key - keys.start)
    }
}

impl Head {
    /// Adds what the head adds to the scores of query `query`, whose row is `scores`: its bias, and the weight of keys that count more than
    /// once. What the query does not see between what it sees is put out of its sight. Returns the columns from the first to the last that
    /// it sees.
    ///
    /// # Safety
    /// `scores` holds the columns of `keys`, `bias` is null or what [`diagonals`] wrote for the head's rows.
    pub(super) unsafe fn finish_scores(&self, sight: &Sight, query: usize, keys: &Keys, scores: *mut f32) -> Range<usize> {
        let mut seen: Option<Range<usize>> = None;
        for range in sight.seen(query..query + 1, 1).iter() {
            let column = keys.column(range.start);
            // SAFETY: the query sees no key that its block does not see.
            let own = unsafe { std::slice::from_raw_parts_mut(scores.add(column), range.len()) };
            if !self.bias.is_null() {
                // SAFETY: of the `2 * rows - 1` numbers, those of query q begin at `rows - 1 - q`.
                let bias = unsafe { std::slice::from_raw_parts(self.bias.add(self.rows - 1 - query + range.start), range.len()) };
                own.iter_mut().zip(bias).for_each(|(score, bias)| *score += bias);
            }
            if let Some((count, times)) = sight.often(range) {
                // As often in the sum over the keys: softmax multiplies scores by the scale.
                let more = times.ln() / self.scale;
                own[..count].iter_mut().for_each(|score| *score += more);
            }
            let so_far = seen.get_or_insert(column..column);
            // SAFETY: between two columns of the row.
            unsafe { std::slice::from_raw_parts_mut(scores.add(so_far.end), column - so_far.end).fill(f32::NEG_INFINITY) };
            so_far.end = column + range.len();
        }
        seen.unwrap_or(0..0)
    }
}

/// Numbers of scratch that the bias of a sequence of `tokens` needs, in whole cache lines.
pub(super) fn bias_len(attention: &Attention, tokens: usize) -> usize {
    match &attention.bias {
        Bias::None => 0,
        Bias::Relative(_) | Bias::Slopes(_) => (2 * tokens).next_multiple_of(16),
        Bias::Disentangled(positions) => disentangled::scratch_len(positions, attention.head_size, tokens),
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

/// Numbers from one row of scores to the next: the keys that [`QUERIES`] queries see, each range from a panel's start on, and room for the
/// zeros that softmax writes behind them.
pub(super) fn scores_stride(sight: &Sight, tokens: usize) -> usize {
    row_stride(tokens.min(sight.widest(QUERIES).saturating_add(3 * PANEL))) + PANEL
}

/// The most that [`scores_stride`] comes to in a sequence of up to `tokens`.
pub(super) fn widest_stride(attention: &Attention, tokens: usize) -> usize {
    match attention.far {
        Far::None => scores_stride(&Sight::of(attention, &[], tokens), tokens),
        // Some of their queries see all keys.
        Far::Start(_) | Far::End(_) | Far::Blocks(_) => scores_stride(&Sight::all(tokens), tokens),
    }
}

/// Numbers of scratch that a sequence of `tokens` needs.
pub(super) fn scratch_len(attention: &Attention, tokens: usize) -> usize {
    let size = attention.head_size;
    let (keys, columns) = (tokens.next_multiple_of(PANEL), size.next_multiple_of(PANEL));
    keys * size + tokens * columns + QUERIES * (widest_stride(attention, tokens) + 2 * columns)
}

/// Computes the rows `queries` of the head's output.
///
/// # Safety
/// `head`'s pointers give `rows` queries and `tokens` keys and values of `size` numbers, the output's `rows`, those of `queries` written by nobody else meanwhile; `scratch` gives
/// `scratch_len` numbers; `kernels` may run here.
pub(super) unsafe fn attend(kernels: &Kernels, head: &Head, sight: &Sight, queries: Range<usize>, scratch: *mut f32) {
    let Head { tokens, size, .. } = *head;
    let (keys, columns) = (tokens.next_multiple_of(PANEL), size.next_multiple_of(PANEL));
    // SAFETY: the five parts together are `scratch_len` numbers.
    unsafe {
        let key_panels = scratch;
        let value_panels = key_panels.add(keys * size);
        let scores = value_panels.add(tokens * columns);
        let stride = scores_stride(sight, tokens);
        let mixed = scores.add(QUERIES * stride);
        let room = Room { scores, stride, values: value_panels, tokens, mixed, part: mixed.add(QUERIES * columns), columns };
        pack_keys(head, key_panels);
        pack_values(head, value_panels);
        let blocks = queries.len().div_ceil(QUERIES);
        for block in 0..blocks {
            let (first, rows) = split(queries.len(), blocks, block);
            let first = queries.start + first;
            let keys = Keys::of(sight, first..first + rows);
            for (column, keys) in keys.ranges() {
                let score = Product {
                    a: head.queries.add(first * head.stride),
                    a_stride: head.stride,
                    depth: size,
                    panels: key_panels.add(keys.start * size),
                    panel: size * PANEL,
                };
                multiply(kernels, &score, rows, keys.len().next_multiple_of(PANEL), scores.add(column), stride);
                if let Some(positions) = &head.positions {
                    positions.add(kernels, head, first..first + rows, &keys, scores.add(column), stride);
                }
            }
            let mut inverse = [0f32; QUERIES];
            for (r, sum) in inverse.iter_mut().enumerate().take(rows) {
                let row = scores.add(r * stride);
                let seen = head.finish_scores(sight, first + r, &keys, row);
                *sum = (kernels.softmax)(row.add(seen.start), seen.len(), seen.len().next_multiple_of(PANEL), head.scale);
                // What this query does not see and others of the block do.
                std::slice::from_raw_parts_mut(row, seen.start).fill(0.0);
                std::slice::from_raw_parts_mut(row.add(seen.end), keys.columns - seen.end).fill(0.0);
            }
            mix(kernels, &room, &keys, rows);
            for (r, sum) in inverse.iter().enumerate().take(rows) {
                let out = std::slice::from_raw_parts_mut(head.out.add((first + r) * head.out_stride), size);
                let row = std::slice::from_raw_parts(mixed.add(r * columns), size);
                out.iter_mut().zip(row).for_each(|(o, x)| *o = x * sum);
            }
        }
    }
}

/// Where a block of queries has its probabilities and their sums over values.
struct Room {
    scores: *mut f32,
    /// Numbers from one row of scores to the next.
    stride: usize,
    /// The panels of all values, and their number.
    values: *const f32,
    tokens: usize,
    /// The sums, and room for a part of them; rows of `columns`.
    mixed: *mut f32,
    part: *mut f32,
    columns: usize,
}

/// The sums of the values of `keys` by the probabilities of `rows` queries, part by part.
unsafe fn mix(kernels: &Kernels, room: &Room, keys: &Keys, rows: usize) {
    let Room { scores, stride, values, tokens, mixed, part, columns } = *room;
    for (i, (column, keys)) in keys.parts().enumerate() {
        // SAFETY: the caller gives rows of probabilities for `keys`, and room for as many rows of sums.
        unsafe {
            let panels = values.add(keys.start * PANEL);
            let product = Product { a: scores.add(column), a_stride: stride, depth: keys.len(), panels, panel: tokens * PANEL };
            multiply(kernels, &product, rows, columns, if i == 0 { mixed } else { part }, columns);
            if i > 0 {
                add(mixed, part, rows * columns);
            }
        }
    }
}

/// `sum += part`, for `n` numbers.
pub(super) unsafe fn add(sum: *mut f32, part: *const f32, n: usize) {
    // SAFETY: the caller gives `n` numbers of two places.
    let (sum, part) = unsafe { (std::slice::from_raw_parts_mut(sum, n), std::slice::from_raw_parts(part, n)) };
    sum.iter_mut().zip(part).for_each(|(sum, part)| *sum += part);
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

/// Panels of the head's keys.
pub(super) unsafe fn pack_keys(head: &Head, panels: *mut f32) {
    // SAFETY: the caller gives whole panels and `tokens` keys.
    unsafe { pack_rows((head.keys, head.stride), head.tokens, head.size, panels) }
}

/// Panels of PANEL keys: row `k` of a panel holds number `k` of each of `rows` keys of `size` numbers, one `stride` behind the other; missing
/// keys are zero.
pub(super) unsafe fn pack_rows((keys, stride): (*const f32, usize), rows: usize, size: usize, panels: *mut f32) {
    for panel in 0..rows.div_ceil(PANEL) {
        let first = panel * PANEL;
        let count = PANEL.min(rows - first);
        // SAFETY: the caller gives whole panels and as many keys.
        unsafe {
            let out = std::slice::from_raw_parts_mut(panels.add(first * size), PANEL * size);
            if count < PANEL {
                out.fill(0.0);
            }
            for j in 0..count {
                let key = std::slice::from_raw_parts(keys.add((first + j) * stride), size);
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
