//! AVX2 with FMA: eight numbers a register, sixteen registers, tiles of 6 rows and half a panel.

#[cfg(target_arch = "x86_64")]
pub(super) use x86::KERNELS;

/// Other processors have a row that says so.
#[cfg(not(target_arch = "x86_64"))]
pub(super) const KERNELS: super::kernels::Kernels =
    super::kernels::Kernels { name: "avx2", available: || false, ..super::portable::KERNELS };

#[cfg(target_arch = "x86_64")]
#[allow(unsafe_op_in_unsafe_fn, reason = "one or two intrinsics a body; the contract is the trait's")]
mod x86 {
    use std::arch::x86_64::*;

    use super::super::gemm::{Tile, tile as gemm_tile};
    use super::super::kernels::{Kernels, NormRow};
    use super::super::simd::Simd;
    use super::super::{math, rowwise};
    use crate::engine::graph::Activation;

    pub(in super::super) const KERNELS: Kernels = Kernels {
        name: "avx2",
        available: || std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma"),
        tile_rows: 6,
        tile,
        activate,
        softmax,
        add_norm,
    };

    #[derive(Clone, Copy)]
    struct Avx2;

    /// Eight ones, eight zeros: a window into it masks the first n lanes.
    static MASK: [i32; 16] = [-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0];

    #[inline(always)]
    unsafe fn first(n: usize) -> __m256i {
        _mm256_loadu_si256(MASK.as_ptr().add(8 - n).cast())
    }

    impl Simd for Avx2 {
        type V = __m256;
        const LANES: usize = 8;

        #[inline(always)]
        unsafe fn splat(x: f32) -> __m256 {
            _mm256_set1_ps(x)
        }
        #[inline(always)]
        unsafe fn load(p: *const f32) -> __m256 {
            _mm256_loadu_ps(p)
        }
        #[inline(always)]
        unsafe fn store(p: *mut f32, v: __m256) {
            _mm256_storeu_ps(p, v)
        }
        #[inline(always)]
        unsafe fn prefetch(p: *const f32) {
            _mm_prefetch::<_MM_HINT_T1>(p.cast());
        }
        #[inline(always)]
        unsafe fn load_part(p: *const f32, n: usize, fill: f32) -> __m256 {
            let mask = first(n);
            _mm256_blendv_ps(_mm256_set1_ps(fill), _mm256_maskload_ps(p, mask), _mm256_castsi256_ps(mask))
        }
        #[inline(always)]
        unsafe fn store_part(p: *mut f32, n: usize, v: __m256) {
            _mm256_maskstore_ps(p, first(n), v)
        }
        #[inline(always)]
        unsafe fn add(a: __m256, b: __m256) -> __m256 {
            _mm256_add_ps(a, b)
        }
        #[inline(always)]
        unsafe fn sub(a: __m256, b: __m256) -> __m256 {
            _mm256_sub_ps(a, b)
        }
        #[inline(always)]
        unsafe fn mul(a: __m256, b: __m256) -> __m256 {
            _mm256_mul_ps(a, b)
        }
        #[inline(always)]
        unsafe fn div(a: __m256, b: __m256) -> __m256 {
            _mm256_div_ps(a, b)
        }
        #[inline(always)]
        unsafe fn fma(a: __m256, b: __m256, c: __m256) -> __m256 {
            _mm256_fmadd_ps(a, b, c)
        }
        #[inline(always)]
        unsafe fn max(a: __m256, b: __m256) -> __m256 {
            _mm256_max_ps(a, b)
        }
        #[inline(always)]
        unsafe fn min(a: __m256, b: __m256) -> __m256 {
            _mm256_min_ps(a, b)
        }
        #[inline(always)]
        unsafe fn round(a: __m256) -> __m256 {
            _mm256_round_ps::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(a)
        }
        #[inline(always)]
        unsafe fn scale(a: __m256, n: __m256) -> __m256 {
            let exponent = _mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127));
            _mm256_mul_ps(a, _mm256_castsi256_ps(_mm256_slli_epi32::<23>(exponent)))
        }
        #[inline(always)]
        unsafe fn keep_from(v: __m256, x: __m256, limit: __m256) -> __m256 {
            _mm256_and_ps(_mm256_cmp_ps::<_CMP_NLT_UQ>(x, limit), v)
        }
        #[inline(always)]
        unsafe fn sum(v: __m256) -> f32 {
            let four = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps::<1>(v));
            let two = _mm_add_ps(four, _mm_movehl_ps(four, four));
            _mm_cvtss_f32(_mm_add_ss(two, _mm_shuffle_ps::<1>(two, two)))
        }
        #[inline(always)]
        unsafe fn largest(v: __m256) -> f32 {
            let four = _mm_max_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps::<1>(v));
            let two = _mm_max_ps(four, _mm_movehl_ps(four, four));
            _mm_cvtss_f32(_mm_max_ss(two, _mm_shuffle_ps::<1>(two, two)))
        }
    }

    #[target_feature(enable = "avx2,fma")]
    unsafe fn tile(t: &Tile) {
        for half in [0, 16] {
            // SAFETY: the caller's contract is `Tile`'s; this function is compiled for AVX2 and FMA.
            unsafe {
                match t.rows {
                    1 => gemm_tile::<Avx2, 1, 2>(t, half),
                    2 => gemm_tile::<Avx2, 2, 2>(t, half),
                    3 => gemm_tile::<Avx2, 3, 2>(t, half),
                    4 => gemm_tile::<Avx2, 4, 2>(t, half),
                    5 => gemm_tile::<Avx2, 5, 2>(t, half),
                    6 => gemm_tile::<Avx2, 6, 2>(t, half),
                    rows => unreachable!("a tile of {rows} rows"),
                }
            }
        }
    }

    #[target_feature(enable = "avx2,fma")]
    unsafe fn activate(activation: Activation, block: *mut f32, rows: usize, stride: usize) {
        // SAFETY: the caller gives `rows` rows of one panel.
        unsafe { math::activate_block::<Avx2>(activation, block, rows, stride) }
    }

    #[target_feature(enable = "avx2,fma")]
    unsafe fn softmax(row: *mut f32, n: usize, padded: usize, scale: f32) -> f32 {
        // SAFETY: the caller's contract is `rowwise::softmax`'s.
        unsafe { rowwise::softmax::<Avx2>(row, n, padded, scale) }
    }

    #[target_feature(enable = "avx2,fma")]
    unsafe fn add_norm(row: &NormRow) {
        // SAFETY: the caller's contract is `rowwise::add_norm`'s.
        unsafe { rowwise::add_norm::<Avx2>(row) }
    }
}
