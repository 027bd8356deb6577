//! `C = A * B`: how are matrices multiplied?
//!
//! B is packed once in panels of [`PANEL`] columns: panel after panel, within a panel row after row of `PANEL` numbers, so
//! that a kernel reads it in one straight line. A stays row-major. A tile of up to `tile_rows` rows and one panel is held in
//! registers over the whole depth: each output is one chain of multiply-adds in the order of the depth, whatever the number
//! of rows in the call. That is what makes results independent of the batch.
//!
//! Method: the register tile of Goto and van de Geijn (Anatomy of high-performance matrix multiplication, 2008), with A read
//! by broadcast instead of packed, since its rows are padded against cache aliasing ([`row_stride`]).

use super::simd::Simd;

/// Columns of a packed panel, and what row widths are rounded up to.
pub(super) const PANEL: usize = 32;

/// What a tile starts from.
#[derive(Clone, Copy)]
pub(super) enum Start {
    /// Zero.
    Zero,
    /// One number a column, `PANEL` of them.
    Bias(*const f32),
    /// What C holds: the sum over an earlier part of the depth.
    Sum,
}

/// One tile: `c[rows, PANEL] = start + a[rows, depth] * b[depth, PANEL]`.
#[derive(Clone, Copy)]
pub(super) struct Tile {
    /// First row of A.
    pub a: *const f32,
    /// Numbers from one row of A to the next.
    pub a_stride: usize,
    /// The packed panel: `depth * PANEL` numbers.
    pub b: *const f32,
    /// Columns of A, rows of the panel.
    pub depth: usize,
    /// First row of C; each row has `PANEL` writable numbers.
    pub c: *mut f32,
    /// Numbers from one row of C to the next.
    pub c_stride: usize,
    /// Rows, at least 1 and at most the kernel table's `tile_rows`.
    pub rows: usize,
    /// What the sum starts from.
    pub start: Start,
    /// What to fetch into the cache meanwhile.
    pub ahead: Ahead,
}

/// Numbers that a later tile reads, fetched one cache line a step of the depth. A few tokens' products are bound by memory: the
/// next panel must be on its way while this one is multiplied.
#[derive(Clone, Copy)]
pub(super) struct Ahead {
    first: *const f32,
    step: usize,
}

impl Ahead {
    /// Nothing: lines of the tile's own panel, which are there.
    pub(super) fn none(panel: *const f32) -> Ahead {
        Ahead { first: panel, step: 0 }
    }

    /// The share of `next`, a panel of `depth` rows, that tile `i` of `tiles` over the present panel fetches: an even part, so that
    /// memory is never asked for more at once than it gives. Steps shorter than a line ask for it more than once, which costs
    /// nothing; a single tile asks for every other line, whose neighbour the processor brings along.
    pub(super) fn share(next: &[f32], depth: usize, tiles: usize, i: usize) -> Ahead {
        let step = PANEL.div_ceil(tiles);
        Ahead { first: next.as_ptr().wrapping_add(i * depth * step), step }
    }

    /// As [`Ahead::share`], of any numbers `next`, by a tile that asks `steps` times.
    pub(super) fn even_share(next: &[f32], steps: usize, tiles: usize, i: usize) -> Ahead {
        let step = next.len().div_ceil((steps * tiles).max(1));
        Ahead { first: next.as_ptr().wrapping_add(i * steps * step), step }
    }

    /// The first line to ask for.
    pub(super) fn first(self) -> *const f32 {
        self.first
    }

    /// Numbers from one line to the next.
    pub(super) fn step(self) -> usize {
        self.step
    }
}

/// `ROWS` rows and `COLUMNS` registers of columns, beginning at column `at` of the panel.
///
/// Plain loops on purpose: a closure is a function of its own, compiled without the instruction set, and whether the optimiser
/// takes it apart again depends on the build.
#[inline(always)]
#[expect(clippy::needless_range_loop, reason = "indexed loops over constants are what the optimiser unrolls into registers")]
pub(super) unsafe fn tile<S: Simd, const ROWS: usize, const COLUMNS: usize>(t: &Tile, at: usize) {
    // SAFETY: the caller runs where S exists; the pointers are as `Tile` says and at + COLUMNS * LANES <= PANEL.
    unsafe {
        let mut sums = [[S::splat(0.0); COLUMNS]; ROWS];
        for r in 0..ROWS {
            for i in 0..COLUMNS {
                match t.start {
                    Start::Zero => {}
                    Start::Bias(bias) => sums[r][i] = S::load(bias.add(at + i * S::LANES)),
                    Start::Sum => sums[r][i] = S::load(t.c.add(r * t.c_stride + at + i * S::LANES)),
                }
            }
        }
        for k in 0..t.depth {
            S::prefetch(t.ahead.first.wrapping_add(k * t.ahead.step));
            let mut b = [S::splat(0.0); COLUMNS];
            for i in 0..COLUMNS {
                b[i] = S::load(t.b.add(k * PANEL + at + i * S::LANES));
            }
            for r in 0..ROWS {
                let a = S::splat(*t.a.add(r * t.a_stride + k));
                for i in 0..COLUMNS {
                    sums[r][i] = S::fma(a, b[i], sums[r][i]);
                }
            }
        }
        for r in 0..ROWS {
            for i in 0..COLUMNS {
                S::store(t.c.add(r * t.c_stride + at + i * S::LANES), sums[r][i]);
            }
        }
    }
}

/// Numbers from one row of an activation to the next: the width, rounded up to whole panels, plus a cache line, so that rows
/// never lie a multiple of 4096 bytes apart (they would share a few sets of the first-level cache).
pub(super) fn row_stride(width: usize) -> usize {
    width.next_multiple_of(PANEL) + 16
}

/// The parts into which a depth is cut, so that a block of A and the panels that pass by it fit the second-level cache. The sum
/// goes on from one part to the next in the same order, through C instead of a register: the cut never changes a result.
pub(super) fn depth_parts(depth: usize) -> impl Iterator<Item = (usize, usize)> {
    const LONGEST: usize = 768;
    let parts = depth.div_ceil(LONGEST).max(1);
    (0..parts).map(move |i| split(depth, parts, i))
}

/// Rows of tile `i` of `tiles` even tiles over `rows` rows: (first, count).
pub(super) fn split(rows: usize, tiles: usize, i: usize) -> (usize, usize) {
    let first = rows * i / tiles;
    (first, rows * (i + 1) / tiles - first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_never_alias_in_the_first_level_cache() {
        for width in [1, 31, 32, 64, 384, 768, 1008, 1024, 3072, 4096] {
            let stride = row_stride(width);
            assert!(stride >= width.next_multiple_of(PANEL));
            assert_ne!(stride * 4 % 4096, 0, "{width}");
            assert_eq!(stride % 16, 0, "rows begin on a cache line");
        }
    }

    #[test]
    fn depth_is_cut_into_parts_that_cover_it() {
        for depth in [1, 384, 768, 769, 1024, 3072] {
            let parts: Vec<_> = depth_parts(depth).collect();
            assert_eq!(parts.iter().map(|p| p.1).sum::<usize>(), depth);
            assert!(parts.iter().all(|p| p.1 <= 768) && parts[0].0 == 0);
        }
    }

    #[test]
    fn splits_are_even_and_cover_everything() {
        for rows in 1..100usize {
            let tiles = rows.div_ceil(12);
            let parts: Vec<_> = (0..tiles).map(|i| split(rows, tiles, i)).collect();
            assert_eq!(parts.iter().map(|p| p.1).sum::<usize>(), rows);
            assert!(parts.iter().all(|p| p.1 >= 1 && p.1 <= 12), "{parts:?}");
        }
    }
}
