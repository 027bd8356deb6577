//! Which few vector operations does the engine need?
//!
//! The algorithms (`gemm`, `math`, `rowwise`) are written once over [`Simd`]; each instruction set implements it in its own
//! file and wraps the algorithms in functions compiled for it. A method is `unsafe` because it may only run where the
//! instruction set exists: the kernel table proves that once ([`super::kernels`]), and pointers are the algorithms' contract.

/// A vector register of `LANES` f32 and the operations on it.
pub(super) trait Simd: Copy {
    /// The register.
    type V: Copy;
    /// Numbers in a register.
    const LANES: usize;

    unsafe fn splat(x: f32) -> Self::V;
    unsafe fn load(p: *const f32) -> Self::V;
    unsafe fn store(p: *mut f32, v: Self::V);
    /// Asks for the cache line at `p`, which need not be readable.
    unsafe fn prefetch(p: *const f32);
    /// The first `n < LANES` numbers, the rest `fill`.
    unsafe fn load_part(p: *const f32, n: usize, fill: f32) -> Self::V;
    /// Writes the first `n < LANES` numbers.
    unsafe fn store_part(p: *mut f32, n: usize, v: Self::V);
    unsafe fn add(a: Self::V, b: Self::V) -> Self::V;
    unsafe fn sub(a: Self::V, b: Self::V) -> Self::V;
    unsafe fn mul(a: Self::V, b: Self::V) -> Self::V;
    unsafe fn div(a: Self::V, b: Self::V) -> Self::V;
    /// `a * b + c`, rounded once where the instruction set can.
    unsafe fn fma(a: Self::V, b: Self::V, c: Self::V) -> Self::V;
    /// The larger; `b` where either is NaN.
    unsafe fn max(a: Self::V, b: Self::V) -> Self::V;
    /// The smaller; `b` where either is NaN.
    unsafe fn min(a: Self::V, b: Self::V) -> Self::V;
    /// To the nearest whole number.
    unsafe fn round(a: Self::V) -> Self::V;
    /// `a * 2^n` for whole `n` from -126 to 127.
    unsafe fn scale(a: Self::V, n: Self::V) -> Self::V;
    /// 0 where `x < limit`, `v` elsewhere (and where `x` is NaN).
    unsafe fn keep_from(v: Self::V, x: Self::V, limit: Self::V) -> Self::V;
    /// The sum of the lanes, in an order that never changes.
    unsafe fn sum(v: Self::V) -> f32;
    /// The largest lane.
    unsafe fn largest(v: Self::V) -> f32;
}

/// Plain arrays of eight: what every other processor runs, left to the compiler's own vectors.
#[derive(Clone, Copy)]
pub(super) struct Portable;

#[inline(always)]
fn each(f: impl Fn(usize) -> f32) -> [f32; 8] {
    std::array::from_fn(f)
}

#[allow(unsafe_op_in_unsafe_fn, reason = "each body is one pointer access or none; the contract is the trait's")]
impl Simd for Portable {
    type V = [f32; 8];
    const LANES: usize = 8;

    #[inline(always)]
    unsafe fn splat(x: f32) -> Self::V {
        [x; 8]
    }
    #[inline(always)]
    unsafe fn load(p: *const f32) -> Self::V {
        // SAFETY: the caller gives eight readable numbers.
        unsafe { p.cast::<[f32; 8]>().read_unaligned() }
    }
    #[inline(always)]
    unsafe fn store(p: *mut f32, v: Self::V) {
        // SAFETY: the caller gives eight writable numbers.
        unsafe { p.cast::<[f32; 8]>().write_unaligned(v) }
    }
    #[inline(always)]
    unsafe fn prefetch(_: *const f32) {}
    #[inline(always)]
    unsafe fn load_part(p: *const f32, n: usize, fill: f32) -> Self::V {
        // SAFETY: the caller gives n readable numbers.
        each(|i| if i < n { unsafe { *p.add(i) } } else { fill })
    }
    #[inline(always)]
    unsafe fn store_part(p: *mut f32, n: usize, v: Self::V) {
        for (i, x) in v.iter().enumerate().take(n) {
            // SAFETY: the caller gives n writable numbers.
            unsafe { *p.add(i) = *x }
        }
    }
    #[inline(always)]
    unsafe fn add(a: Self::V, b: Self::V) -> Self::V {
        each(|i| a[i] + b[i])
    }
    #[inline(always)]
    unsafe fn sub(a: Self::V, b: Self::V) -> Self::V {
        each(|i| a[i] - b[i])
    }
    #[inline(always)]
    unsafe fn mul(a: Self::V, b: Self::V) -> Self::V {
        each(|i| a[i] * b[i])
    }
    #[inline(always)]
    unsafe fn div(a: Self::V, b: Self::V) -> Self::V {
        each(|i| a[i] / b[i])
    }
    #[inline(always)]
    unsafe fn fma(a: Self::V, b: Self::V, c: Self::V) -> Self::V {
        // Rounded twice: a single rounding is a slow library call where the processor lacks the instruction.
        each(|i| a[i] * b[i] + c[i])
    }
    #[inline(always)]
    unsafe fn max(a: Self::V, b: Self::V) -> Self::V {
        each(|i| if a[i] > b[i] { a[i] } else { b[i] })
    }
    #[inline(always)]
    unsafe fn min(a: Self::V, b: Self::V) -> Self::V {
        each(|i| if a[i] < b[i] { a[i] } else { b[i] })
    }
    #[inline(always)]
    unsafe fn round(a: Self::V) -> Self::V {
        // Adding and taking away 1.5 * 2^23 rounds to nearest even for |a| < 2^22: exponents are far smaller.
        const MAGIC: f32 = 12_582_912.0;
        each(|i| (a[i] + MAGIC) - MAGIC)
    }
    #[inline(always)]
    unsafe fn scale(a: Self::V, n: Self::V) -> Self::V {
        each(|i| a[i] * f32::from_bits(((n[i] as i32 + 127) << 23) as u32))
    }
    #[inline(always)]
    unsafe fn keep_from(v: Self::V, x: Self::V, limit: Self::V) -> Self::V {
        each(|i| if x[i] < limit[i] { 0.0 } else { v[i] })
    }
    #[inline(always)]
    unsafe fn sum(v: Self::V) -> f32 {
        ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7]))
    }
    #[inline(always)]
    unsafe fn largest(v: Self::V) -> f32 {
        v.into_iter().fold(f32::NEG_INFINITY, |m, x| if x > m { x } else { m })
    }
}
