//! What do queries and keys of a head say to the distance between them?
//!
//! DeBERTa (He et al., 2021) adds two terms to the scores: each query's product with the row that its distance to a key has among
//! position keys, and each key's with the row that the distance has among position queries. Both are products with a small table,
//! packed in panels when the model is opened, then gathered by distance: of the (tokens, places) products of the keys, made once a
//! head, and those of a block of queries, made as the block is scored. Only panels that some distance of the block needs are multiplied.
//! Each product is one chain over the width of the head, and terms are added in one order, so a score depends on its sequence alone.

use std::ops::Range;

use super::attention::{Head, Product, QUERIES, multiply};
use super::gemm::{PANEL, row_stride, split};
use super::kernels::Kernels;
use super::pack::Matrix;
use crate::engine::graph::Disentangled;

/// The rows that one head's queries and keys meet in a sequence, and scratch for their products.
#[derive(Clone, Copy)]
pub(super) struct Positions {
    /// Panels of the rows that queries meet; null without this term.
    keys: *const f32,
    /// Panels of the rows that keys meet; null without this term.
    queries: *const f32,
    /// `2 * tokens - 1` places, counted from the first row of the lowest panel in use: first that of the largest distance, query minus key.
    places: *const u32,
    /// Tokens of the sequence.
    tokens: usize,
    /// The lowest panel in use.
    lowest: usize,
    /// Products of each key, (tokens, places in use), and of a block of queries.
    of_keys: *mut f32,
    of_queries: *mut f32,
    /// Numbers from one row of products to the next.
    stride: usize,
}

/// The panels that the distances of a sequence of `tokens` need: the lowest, and how many.
fn panels(positions: &Disentangled, tokens: usize) -> (usize, usize) {
    let farthest = tokens as isize - 1;
    let (low, high) = (positions.place(-farthest) / PANEL, positions.place(farthest) / PANEL);
    (low, high - low + 1)
}

/// Numbers of scratch for a sequence of `tokens`, in whole cache lines.
pub(super) fn scratch_len(positions: &Disentangled, tokens: usize) -> usize {
    let stride = row_stride(panels(positions, tokens).1 * PANEL);
    (2 * tokens).next_multiple_of(16) + (tokens + QUERIES).saturating_mul(stride)
}

impl Positions {
    /// Lays out the scratch and writes the place of each distance.
    ///
    /// # Safety
    /// `scratch` gives [`scratch_len`] numbers; the matrices have panels for every place and live as long as the result is used.
    pub(super) unsafe fn new(
        positions: &Disentangled,
        keys: Option<Matrix<'_>>,
        queries: Option<Matrix<'_>>,
        tokens: usize,
        scratch: *mut f32,
    ) -> Positions {
        let (lowest, count) = panels(positions, tokens);
        let stride = row_stride(count * PANEL);
        let panel = |m: Option<Matrix<'_>>| m.map_or(std::ptr::null(), |m| m.panel(0).as_ptr());
        // SAFETY: the three parts together are `scratch_len` numbers; a u32 is as large and as aligned as an f32.
        unsafe {
            let places = std::slice::from_raw_parts_mut(scratch.cast::<u32>(), 2 * tokens - 1);
            for (i, place) in places.iter_mut().enumerate() {
                *place = (positions.place(tokens as isize - 1 - i as isize) - lowest * PANEL) as u32;
            }
            let of_keys = scratch.add((2 * tokens).next_multiple_of(16));
            let of_queries = of_keys.add(tokens * stride);
            Positions { keys: panel(keys), queries: panel(queries), places: places.as_ptr(), tokens, lowest, of_keys, of_queries, stride }
        }
    }

    /// The place of the distance of query and key.
    ///
    /// # Safety
    /// Both are tokens of the sequence.
    unsafe fn place(&self, query: usize, key: usize) -> usize {
        // SAFETY: from 0 to 2 * tokens - 2.
        unsafe { *self.places.add(self.tokens - 1 - query + key) as usize }
    }

    /// The products of the rows at `a`, as many as `rows` says, with the panels from the place `low` to the place `high`.
    unsafe fn products(
        &self,
        kernels: &Kernels,
        head: &Head,
        (a, rows): (*const f32, usize),
        table: *const f32,
        (low, high): (usize, usize),
        out: *mut f32,
    ) {
        let (first, last) = (low / PANEL, high / PANEL);
        // SAFETY: the caller gives rows of the head's width, a table with these panels and rows of `stride` products.
        unsafe {
            let panels = table.add((self.lowest + first) * PANEL * head.size);
            let product = Product { a, a_stride: head.stride, depth: head.size, panels, panel: head.size * PANEL };
            multiply(kernels, &product, rows, (last - first + 1) * PANEL, out.add(first * PANEL), self.stride);
        }
    }

    /// Multiplies the keys with the rows that they meet, before any score is added to.
    ///
    /// # Safety
    /// `head` is the one that this was made for, and `kernels` may run here.
    pub(super) unsafe fn meet_keys(&self, kernels: &Kernels, head: &Head) {
        if self.queries.is_null() {
            return;
        }
        let blocks = self.tokens.div_ceil(QUERIES);
        for (first, rows) in (0..blocks).map(|block| split(self.tokens, blocks, block)) {
            // SAFETY: keys of the head; the scratch has a row of products for each.
            unsafe {
                let range = (self.place(0, first + rows - 1), self.place(self.tokens - 1, first));
                let (a, out) = (head.keys.add(first * head.stride), self.of_keys.add(first * self.stride));
                self.products(kernels, head, (a, rows), self.queries, range, out);
            }
        }
    }

    /// Adds both terms to the scores of the queries `queries` with the keys `keys`; a row of scores lies `stride` numbers from the next.
    ///
    /// # Safety
    /// `head` is the one that this was made for, after [`Positions::meet_keys`]; there are at most [`QUERIES`] rows, each of a number a key.
    pub(super) unsafe fn add(
        &self,
        kernels: &Kernels,
        head: &Head,
        queries: Range<usize>,
        keys: &Range<usize>,
        scores: *mut f32,
        stride: usize,
    ) {
        let (first, rows) = (queries.start, queries.len());
        // SAFETY: places lie within the products' rows; scores have a number a key.
        unsafe {
            if !self.keys.is_null() {
                let range = (self.place(first, keys.end - 1), self.place(first + rows - 1, keys.start));
                self.products(kernels, head, (head.queries.add(first * head.stride), rows), self.keys, range, self.of_queries);
                for r in 0..rows {
                    let (scores, products) = (scores.add(r * stride), self.of_queries.add(r * self.stride));
                    for key in keys.clone() {
                        *scores.add(key - keys.start) += *products.add(self.place(first + r, key));
                    }
                }
            }
            if !self.queries.is_null() {
                // Key by key: what a block of queries reads of a key's products lies close together.
                for key in keys.clone() {
                    let products = self.of_keys.add(key * self.stride);
                    for r in 0..rows {
                        *scores.add(r * stride + key - keys.start) += *products.add(self.place(first + r, key));
                    }
                }
            }
        }
    }
}
