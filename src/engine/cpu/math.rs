//! exp, tanh, erf and the activations, eight or sixteen numbers at a time.
//!
//! The rational and polynomial coefficients are our own minimax fits (Lawson's iteratively reweighted least squares on
//! Chebyshev nodes, in double precision); the largest errors in f32, measured by `tests` over a million points, stand beside
//! each function.

use super::gemm::PANEL;
use super::simd::Simd;
use crate::engine::graph::Activation;

/// `c[0] + c[1] z + c[2] z^2 + ...` by Horner's rule.
#[inline(always)]
unsafe fn polynomial<S: Simd, const N: usize>(z: S::V, c: [f32; N]) -> S::V {
    // SAFETY: the caller runs where S exists.
    unsafe {
        let mut p = S::splat(c[N - 1]);
        for i in (0..N - 1).rev() {
            p = S::fma(p, z, S::splat(c[i]));
        }
        p
    }
}

/// `x` within two limits; NaN stays NaN (the order of the operands matters, see [`Simd::max`]).
#[inline(always)]
unsafe fn clamp<S: Simd>(x: S::V, low: f32, high: f32) -> S::V {
    // SAFETY: the caller runs where S exists.
    unsafe { S::min(S::splat(high), S::max(S::splat(low), x)) }
}

/// e^x; relative error below 2e-7. Below -87.3 the result stays at the smallest normal number, above 88.3 at e^88.3.
#[inline(always)]
pub(super) unsafe fn exp<S: Simd>(x: S::V) -> S::V {
    // ln 2 in two parts: n * HIGH is exact for |n| < 2^9.
    const HIGH: f32 = 0.693_359_4;
    const LOW: f32 = -2.121_944_4e-4;
    // SAFETY: the caller runs where S exists.
    unsafe {
        let x = clamp::<S>(x, -87.3, 88.3);
        let n = S::round(S::mul(x, S::splat(std::f32::consts::LOG2_E)));
        let r = S::fma(n, S::splat(-HIGH), x);
        let r = S::fma(n, S::splat(-LOW), r);
        let p = polynomial::<S, 7>(r, [1.0, 1.0, 0.499_999_93, 0.166_665_2, 0.041_668_387, 0.008_368_71, 0.001_381_461_2]);
        S::scale(p, n)
    }
}

/// erf(x), limited to the range where it differs from ±1; absolute error below 5e-7.
#[inline(always)]
unsafe fn erf<S: Simd>(x: S::V) -> S::V {
    const P: [f32; 7] =
        [std::f32::consts::FRAC_2_SQRT_PI, 0.199_903_18, 0.050_570_355, 0.003_700_602_6, 1.418_193_2e-4, -1.957_575e-6, 1.992_233_2e-8];
    const Q: [f32; 5] = [1.0, 0.510_491_2, 0.114_989_45, 0.014_351_258, 9.557_715e-4];
    // SAFETY: the caller runs where S exists.
    unsafe {
        let x = clamp::<S>(x, -3.92, 3.92);
        let z = S::mul(x, x);
        S::div(S::mul(x, polynomial::<S, 7>(z, P)), polynomial::<S, 5>(z, Q))
    }
}

/// tanh(x); relative error below 5e-7.
#[inline(always)]
unsafe fn tanh<S: Simd>(x: S::V) -> S::V {
    const P: [f32; 7] = [1.0, 0.130_835_82, 0.003_103_476_8, 1.114_924_9e-5, -2.020_439_7e-8, 5.267_735_3e-11, -8.461_973e-14];
    const Q: [f32; 4] = [1.0, 0.464_169_1, 0.024_493_273, 2.545_444_5e-4];
    // SAFETY: the caller runs where S exists.
    unsafe {
        let x = clamp::<S>(x, -9.01, 9.01);
        let z = S::mul(x, x);
        let t = S::div(S::mul(x, polynomial::<S, 7>(z, P)), polynomial::<S, 4>(z, Q));
        clamp::<S>(t, -1.0, 1.0)
    }
}

/// A function of one number, applied to a register. A trait rather than a closure: a closure is a function of its own, compiled
/// without the instruction set unless the optimiser happens to take it apart.
trait Function {
    unsafe fn of<S: Simd>(x: S::V) -> S::V;
}

/// max(x, 0).
struct Relu;

impl Function for Relu {
    #[inline(always)]
    unsafe fn of<S: Simd>(x: S::V) -> S::V {
        // SAFETY: the caller runs where S exists.
        unsafe { S::max(S::splat(0.0), x) }
    }
}

struct Tanh;

impl Function for Tanh {
    #[inline(always)]
    unsafe fn of<S: Simd>(x: S::V) -> S::V {
        // SAFETY: the caller runs where S exists.
        unsafe { tanh::<S>(x) }
    }
}

/// Left of this, both GELUs are zero to within 1e-7, and the fits' error times |x| would be larger.
const GELU_IS_ZERO: f32 = -5.54;

/// The exact GELU. Absolute error below 1.5e-6 or 3e-7 of |x|, whichever is larger.
struct Gelu;

impl Function for Gelu {
    #[inline(always)]
    unsafe fn of<S: Simd>(x: S::V) -> S::V {
        // SAFETY: the caller runs where S exists.
        unsafe {
            let half = S::mul(x, S::splat(0.5));
            let y = S::fma(half, erf::<S>(S::mul(x, S::splat(std::f32::consts::FRAC_1_SQRT_2))), half);
            S::keep_from(y, x, S::splat(GELU_IS_ZERO))
        }
    }
}

/// The tanh form of GELU. Error as [`Gelu`].
struct GeluTanh;

impl Function for GeluTanh {
    #[inline(always)]
    unsafe fn of<S: Simd>(x: S::V) -> S::V {
        // SAFETY: the caller runs where S exists.
        unsafe {
            let cube = S::mul(S::mul(x, x), S::mul(x, S::splat(0.044_715)));
            let inner = S::mul(S::add(x, cube), S::splat(0.797_884_6));
            let half = S::mul(x, S::splat(0.5));
            S::keep_from(S::fma(half, tanh::<S>(inner), half), x, S::splat(GELU_IS_ZERO))
        }
    }
}

/// `x * (1/2 + p(x))` with an odd polynomial p within ±4.1, where both GELUs are `x` or zero to within 1e-4. No division, and half
/// the instructions.
#[inline(always)]
unsafe fn short_gelu<S: Simd>(x: S::V, odd: [f32; 8]) -> S::V {
    // SAFETY: the caller runs where S exists.
    unsafe {
        let t = clamp::<S>(x, -4.1, 4.1);
        S::mul(x, S::fma(t, polynomial::<S, 8>(S::mul(t, t), odd), S::splat(0.5)))
    }
}

/// [`Gelu`] with an absolute error below 1e-4, or 3e-6 of |x| where that is larger.
struct ShortGelu;

impl Function for ShortGelu {
    #[inline(always)]
    unsafe fn of<S: Simd>(x: S::V) -> S::V {
        const ODD: [f32; 8] =
            [0.398_412, -0.065_439_39, 0.009_249_479, -9.381_164e-4, 6.517_995e-5, -2.910_505_4e-6, 7.451_83e-8, -8.258_718e-10];
        // SAFETY: the caller runs where S exists.
        unsafe { short_gelu::<S>(x, ODD) }
    }
}

/// [`GeluTanh`], error as [`ShortGelu`].
struct ShortGeluTanh;

impl Function for ShortGeluTanh {
    #[inline(always)]
    unsafe fn of<S: Simd>(x: S::V) -> S::V {
        const ODD: [f32; 8] =
            [0.398_494_24, -0.065_879_29, 0.009_524_363, -1.007_287_3e-3, 7.414_186e-5, -3.544_179_6e-6, 9.776_724e-8, -1.172_344e-9];
        // SAFETY: the caller runs where S exists.
        unsafe { short_gelu::<S>(x, ODD) }
    }
}

/// e^x for x of 0 or less, to be rounded to bf16: relative error below 8e-5. Below -87.3 the result stays at the smallest normal number.
#[inline(always)]
pub(super) unsafe fn short_exp<S: Simd>(x: S::V) -> S::V {
    // SAFETY: the caller runs where S exists.
    unsafe {
        let x = S::max(S::splat(-126.0), S::mul(x, S::splat(std::f32::consts::LOG2_E)));
        let n = S::round(x);
        let p = polynomial::<S, 4>(S::sub(x, n), [0.999_928_06, 0.693_260_97, 0.242_611_13, 0.055_171_67]);
        S::scale(p, n)
    }
}

/// Left of this, SiLU is zero to within 2e-36.
const SILU_IS_ZERO: f32 = -87.0;

/// x / (1 + e^-x). Relative error below 5e-7.
struct Silu;

impl Function for Silu {
    #[inline(always)]
    unsafe fn of<S: Simd>(x: S::V) -> S::V {
        // SAFETY: the caller runs where S exists.
        unsafe {
            let y = S::div(x, S::add(S::splat(1.0), exp::<S>(S::sub(S::splat(0.0), x))));
            S::keep_from(y, x, S::splat(SILU_IS_ZERO))
        }
    }
}

/// As [`activate_block`], with the shorter forms: for the outputs of int8 products, which are known to a hundredth at best.
#[inline(always)]
pub(super) unsafe fn activate_block_int8<S: Simd>(activation: Activation, block: *mut f32, rows: usize, stride: usize) {
    // SAFETY: as `activate_block`.
    unsafe {
        match activation {
            Activation::Gelu => map_block::<S, ShortGelu>(block, rows, stride),
            Activation::GeluTanh => map_block::<S, ShortGeluTanh>(block, rows, stride),
            other => activate_block::<S>(other, block, rows, stride),
        }
    }
}

/// Applies `activation` to `rows` rows of one panel, `stride` numbers apart. NaN stays NaN.
#[inline(always)]
pub(super) unsafe fn activate_block<S: Simd>(activation: Activation, block: *mut f32, rows: usize, stride: usize) {
    // SAFETY: the caller runs where S exists and gives `rows` rows of PANEL numbers.
    unsafe {
        match activation {
            Activation::Identity => {}
            Activation::Relu => map_block::<S, Relu>(block, rows, stride),
            Activation::Tanh => map_block::<S, Tanh>(block, rows, stride),
            Activation::Silu => map_block::<S, Silu>(block, rows, stride),
            Activation::Gelu => map_block::<S, Gelu>(block, rows, stride),
            Activation::GeluTanh => map_block::<S, GeluTanh>(block, rows, stride),
        }
    }
}

/// The derivative of `activation` at x. Absolute error below 1e-6.
#[cfg(feature = "train")]
#[inline(always)]
pub(super) unsafe fn derivative<S: Simd>(activation: Activation, x: S::V) -> S::V {
    // SAFETY: the caller runs where S exists.
    unsafe {
        let one = S::splat(1.0);
        match activation {
            Activation::Identity => one,
            Activation::Relu => S::keep_from(one, x, S::splat(f32::MIN_POSITIVE)),
            Activation::Tanh => {
                let t = tanh::<S>(x);
                S::fma(S::sub(S::splat(0.0), t), t, one)
            }
            Activation::Silu => {
                let s = S::div(one, S::add(one, exp::<S>(S::sub(S::splat(0.0), x))));
                S::mul(s, S::fma(x, S::sub(one, s), one))
            }
            Activation::Gelu => {
                let half = S::splat(0.5);
                let below = S::fma(half, erf::<S>(S::mul(x, S::splat(std::f32::consts::FRAC_1_SQRT_2))), half);
                let density = exp::<S>(S::mul(S::mul(x, x), S::splat(-0.5)));
                let d = S::fma(S::mul(x, S::splat(0.398_942_3)), density, below);
                S::keep_from(d, x, S::splat(GELU_IS_ZERO))
            }
            Activation::GeluTanh => {
                let square = S::mul(x, x);
                let inner = S::mul(S::fma(S::mul(square, x), S::splat(0.044_715), x), S::splat(0.797_884_6));
                let slope = S::fma(square, S::splat(0.107_032_225), S::splat(0.797_884_6));
                let (half, t) = (S::splat(0.5), tanh::<S>(inner));
                let bell = S::fma(S::sub(S::splat(0.0), t), t, one);
                let d = S::fma(S::mul(half, S::mul(x, slope)), bell, S::fma(half, t, half));
                S::keep_from(d, x, S::splat(GELU_IS_ZERO))
            }
        }
    }
}

#[inline(always)]
unsafe fn map_block<S: Simd, F: Function>(block: *mut f32, rows: usize, stride: usize) {
    for r in 0..rows {
        for i in (0..PANEL).step_by(S::LANES) {
            // SAFETY: as `activate_block` says; PANEL is a multiple of LANES.
            unsafe {
                let p = block.add(r * stride + i);
                S::store(p, F::of::<S>(S::load(p)));
            }
        }
    }
}
