//! What do queries and keys of a head say to the distance between them?
//!
//! DeBERTa (He et al., 2021) adds two terms to the scores: each query's product with the row that its distance to a key has among
//! position keys, and each key's with the row that the distance has among position queries. Both are products with a small table,
//! packed in panels when the model is opened (while it learns, in each run), then gathered by distance: of the (tokens, places) products of the keys, made once a
//! head, and those of a block of queries, made as the block is scored. Only panels that some distance of the block needs are multiplied.
//! Each product is one chain over the width of the head, and terms are added in one order, so a score depends on its sequence alone.

use std::ops::Range;

use super::attention::{Head, Product, QUERIES, multiply, pack_rows};
use super::gemm::{PANEL, row_stride, split};
use super::kernels::Kernels;
use super::ops::Work;
use super::pack::Matrix;
use crate::engine::graph::{Attention, Bias, Disentangled, Met};

/// The rows that one head's queries and keys meet in a sequence, and scratch for their products.
#[derive(Clone, Copy)]
pub(super) struct Positions {
    /// The lowest panel in use of the rows that queries meet; null without this term.
    keys: *const f32,
    /// Of the rows that keys meet.
    queries: *const f32,
    /// `2 * tokens - 1` places, counted from the first row of the lowest panel in use: first that of the largest distance, query minus key.
    places: *const u32,
    /// Tokens of the sequence.
    tokens: usize,
    /// Products of each key, (tokens, places in use), and of a block of queries.
    of_keys: *mut f32,
    of_queries: *mut f32,
    /// Numbers from one row of products to the next.
    stride: usize,
}

/// The panels that the distances of a sequence of `tokens` need: the lowest, and how many.
pub(super) fn panels(positions: &Disentangled, tokens: usize) -> (usize, usize) {
    let farthest = tokens as isize - 1;
    let (low, high) = (positions.place(-farthest) / PANEL, positions.place(farthest) / PANEL);
    (low, high - low + 1)
}

/// Numbers of scratch for a sequence of `tokens` and heads of `size`, in whole cache lines.
pub(super) fn scratch_len(positions: &Disentangled, size: usize, tokens: usize) -> usize {
    let places = panels(positions, tokens).1 * PANEL;
    let packed = [&positions.keys, &positions.queries].iter().filter(|met| met.value().is_some()).count() * places * size;
    (2 * tokens).next_multiple_of(16) + (tokens + QUERIES).saturating_mul(row_stride(places)).saturating_add(packed)
}

/// The rows of distances that one side of a head meets.
#[derive(Clone, Copy)]
enum Rows<'w> {
    Nothing,
    Packed(Matrix<'w>),
    /// The head's columns of the first row, numbers from one row to the next, and rows.
    Lines(*const f32, usize, usize),
}

impl Work {
    /// What head `head` of an attention meets in a sequence of `tokens`; `None` where it does not tell distances so.
    ///
    /// # Safety
    /// `scratch` gives [`scratch_len`] numbers; the values that the attention reads are complete.
    pub(super) unsafe fn positions(&self, attention: &Attention, head: usize, tokens: usize, scratch: *mut f32) -> Option<Positions> {
        let Bias::Disentangled(positions) = &attention.bias else { return None };
        let rows = |met: &Met| match met {
            Met::Nothing => Rows::Nothing,
            Met::Made(ids) => Rows::Packed(self.matrix(ids[head])),
            Met::Rows { value, from } => {
                let place = self.place(value.index());
                // SAFETY: the columns are the head's, as was checked before the run.
                let first = unsafe { self.row(value.index(), 0).add(from + head * attention.head_size) };
                Rows::Lines(first, place.stride, place.rows)
            }
        };
        let sides = [rows(&positions.keys), rows(&positions.queries)];
        // SAFETY: handed on.
        Some(unsafe { Positions::new(positions, sides, attention.head_size, tokens, scratch) })
    }
}

impl Positions {
    /// Lays out the scratch and writes the place of each distance.
    ///
    /// # Safety
    /// `scratch` gives [`scratch_len`] numbers; there are rows for every place, and they live as long as the result is used.
    unsafe fn new(positions: &Disentangled, sides: [Rows<'_>; 2], size: usize, tokens: usize, scratch: *mut f32) -> Positions {
        let (lowest, count) = panels(positions, tokens);
        let stride = row_stride(count * PANEL);
        // SAFETY: the parts together are `scratch_len` numbers; a u32 is as large and as aligned as an f32.
        unsafe {
            let places = std::slice::from_raw_parts_mut(scratch.cast::<u32>(), 2 * tokens - 1);
            for (i, place) in places.iter_mut().enumerate() {
                *place = (positions.place(tokens as isize - 1 - i as isize) - lowest * PANEL) as u32;
            }
            let of_keys = scratch.add((2 * tokens).next_multiple_of(16));
            let of_queries = of_keys.add(tokens * stride);
            let mut packed = of_queries.add(QUERIES * stride);
            let [keys, queries] = sides.map(|side| match side {
                Rows::Nothing => std::ptr::null(),
                Rows::Packed(matrix) => matrix.panel(lowest).as_ptr(),
                Rows::Lines(first, from_row_to_row, rows) => {
                    let out = packed;
                    packed = packed.add(count * PANEL * size);
                    let used = (rows - lowest * PANEL).min(count * PANEL);
                    pack_rows((first.add(lowest * PANEL * from_row_to_row), from_row_to_row), used, size, out);
                    out.cast_const()
                }
            });
            Positions { keys, queries, places: places.as_ptr(), tokens, of_keys, of_queries, stride }
        }
    }

    /// The place of the distance of query and key.
    ///
    /// # Safety
    /// Both are tokens of the sequence.
    pub(super) unsafe fn place(&self, query: usize, key: usize) -> usize {
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
            let panels = table.add(first * PANEL * head.size);
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
