//! Products whose factors lie as they lie: a step along the depth may be a row of either.
//!
//! The gradients of a matrix are sums over tokens, `X^T dY`, of values that stand row after token; here A is read by columns and B by rows,
//! so that neither is copied first. Sums go along the depth in its order, as in [`super::super::gemm`].

use super::super::gemm::PANEL;
use super::super::simd::Simd;

/// `c[rows, PANEL] = a[rows, depth] * b[depth, PANEL]`, or added to what C holds.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Product {
    /// The first number of A, numbers from one of its rows to the next, and from one step of the depth to the next.
    pub a: *const f32,
    pub a_row: usize,
    pub a_step: usize,
    /// The first row of B, PANEL numbers, and numbers from one row to the next.
    pub b: *const f32,
    pub b_step: usize,
    pub depth: usize,
    /// The first row of C, PANEL writable numbers, and numbers from one row to the next.
    pub c: *mut f32,
    pub c_stride: usize,
    pub rows: usize,
    /// Whether C is added to.
    pub adds: bool,
}

/// Computes the product, `ROWS` rows and `COLUMNS` registers at a time.
#[inline(always)]
pub(in super::super) unsafe fn product<S: Simd, const ROWS: usize, const COLUMNS: usize>(p: &Product) {
    let mut done = 0;
    while done < p.rows {
        let rows = ROWS.min(p.rows - done);
        // SAFETY: the caller runs where S exists; the rows are those of `p`.
        unsafe {
            let part = Product { a: p.a.add(done * p.a_row), c: p.c.add(done * p.c_stride), rows, ..*p };
            let mut at = 0;
            while at < PANEL {
                match rows {
                    1 => tile::<S, 1, COLUMNS>(&part, at),
                    2 => tile::<S, 2, COLUMNS>(&part, at),
                    3 => tile::<S, 3, COLUMNS>(&part, at),
                    4 => tile::<S, 4, COLUMNS>(&part, at),
                    5 => tile::<S, 5, COLUMNS>(&part, at),
                    _ if rows == ROWS => tile::<S, ROWS, COLUMNS>(&part, at),
                    6 => tile::<S, 6, COLUMNS>(&part, at),
                    7 => tile::<S, 7, COLUMNS>(&part, at),
                    8 => tile::<S, 8, COLUMNS>(&part, at),
                    9 => tile::<S, 9, COLUMNS>(&part, at),
                    10 => tile::<S, 10, COLUMNS>(&part, at),
                    _ => tile::<S, 11, COLUMNS>(&part, at),
                }
                at += COLUMNS * S::LANES;
            }
        }
        done += rows;
    }
}

#[inline(always)]
#[expect(clippy::needless_range_loop, reason = "indexed loops over constants are what the optimiser unrolls into registers")]
unsafe fn tile<S: Simd, const ROWS: usize, const COLUMNS: usize>(p: &Product, at: usize) {
    // SAFETY: the caller runs where S exists; the pointers are as `Product` says and at + COLUMNS * LANES <= PANEL.
    unsafe {
        let mut sums = [[S::splat(0.0); COLUMNS]; ROWS];
        if p.adds {
            for r in 0..ROWS {
                for i in 0..COLUMNS {
                    sums[r][i] = S::load(p.c.add(r * p.c_stride + at + i * S::LANES));
                }
            }
        }
        let (mut a, mut b) = (p.a, p.b.add(at));
        for _ in 0..p.depth {
            let mut right = [S::splat(0.0); COLUMNS];
            for i in 0..COLUMNS {
                right[i] = S::load(b.add(i * S::LANES));
            }
            for r in 0..ROWS {
                let left = S::splat(*a.add(r * p.a_row));
                for i in 0..COLUMNS {
                    sums[r][i] = S::fma(left, right[i], sums[r][i]);
                }
            }
            a = a.wrapping_add(p.a_step);
            b = b.wrapping_add(p.b_step);
        }
        for r in 0..ROWS {
            for i in 0..COLUMNS {
                S::store(p.c.add(r * p.c_stride + at + i * S::LANES), sums[r][i]);
            }
        }
    }
}
