//! AVX2 with FMA: eight numbers a register, sixteen registers, tiles of 6 rows and half a panel.

#[cfg(target_arch = "x86_64")]
pub(super) use x86::{KERNELS, VNNI};

/// Other processors have rows that say so.
#[cfg(not(target_arch = "x86_64"))]
pub(super) const KERNELS: super::kernels::Kernels =
    super::kernels::Kernels { name: "avx2", available: || false, ..super::portable::KERNELS };
#[cfg(not(target_arch = "x86_64"))]
pub(super) const VNNI: super::kernels::Kernels = super::kernels::Kernels { name: "avxvnni", ..KERNELS };

#[cfg(target_arch = "x86_64")]
#[allow(unsafe_op_in_unsafe_fn, reason = "one or two intrinsics a body; the contract is the trait's")]
mod x86 {
    use std::arch::x86_64::*;

    use super::super::dot::{self, Dot, DotTile, QuantiseRow, Whole};
    use super::super::gemm::{Tile, tile as gemm_tile};
    use super::super::kernels::{Kernels, NormRow};
    use super::super::simd::Simd;
    use super::super::{math, rowwise};
    use crate::engine::graph::Activation;

    #[cfg(feature = "train")]
    super::super::learn::kernels::table!(Avx2, "avx2,fma", 6, 2);

    pub(in super::super) const KERNELS: Kernels = Kernels {
        name: "avx2",
        available: || {
            std::arch::is_x86_feature_detected!("avx2")
                && std::arch::is_x86_feature_detected!("fma")
                && std::arch::is_x86_feature_detected!("f16c")
        },
        tile_rows: 6,
        tile,
        dot_rows: 4,
        dot_tile: dot_tile_pairs,
        quantise_row,
        bf16: None,
        activate,
        activate_int8,
        softmax,
        add_norm,
        #[cfg(feature = "train")]
        learn: &LEARN,
    };

    /// With the VNNI of processors that have no AVX-512.
    pub(in super::super) const VNNI: Kernels = Kernels {
        name: "avxvnni",
        available: || (KERNELS.available)() && std::arch::is_x86_feature_detected!("avxvnni"),
        dot_tile: dot_tile_vnni,
        ..KERNELS
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

    impl Whole for Avx2 {
        type I = __m256i;

        #[inline(always)]
        unsafe fn zero() -> __m256i {
            _mm256_setzero_si256()
        }
        #[inline(always)]
        unsafe fn broadcast(p: *const i32) -> __m256i {
            _mm256_set1_epi32(p.read_unaligned())
        }
        #[inline(always)]
        unsafe fn load_bytes(p: *const u8) -> __m256i {
            _mm256_loadu_si256(p.cast())
        }
        #[inline(always)]
        unsafe fn to_f32(sums: __m256i) -> __m256 {
            _mm256_cvtepi32_ps(sums)
        }
        #[inline(always)]
        unsafe fn first_bf16(pairs: __m256i) -> __m256 {
            _mm256_castsi256_ps(_mm256_slli_epi32::<16>(pairs))
        }
        #[inline(always)]
        unsafe fn second_bf16(pairs: __m256i) -> __m256 {
            _mm256_castsi256_ps(_mm256_and_si256(pairs, _mm256_set1_epi32(i32::from_ne_bytes(0xffff_0000_u32.to_ne_bytes()))))
        }
        #[inline(always)]
        unsafe fn load_f16(p: *const u16) -> __m256 {
            _mm256_cvtph_ps(_mm_loadu_si128(p.cast()))
        }
        #[inline(always)]
        unsafe fn store_u8(p: *mut u8, v: __m256) {
            let whole = _mm256_cvtps_epi32(v);
            let words = _mm_packs_epi32(_mm256_castsi256_si128(whole), _mm256_extracti128_si256::<1>(whole));
            _mm_storel_epi64(p.cast(), _mm_packus_epi16(words, words));
        }
    }

    /// Two products to an i16, two of these to an i32.
    struct Pairs;

    impl Dot for Pairs {
        type S = Avx2;
        const TAKES: f32 = 128.0;

        #[inline(always)]
        unsafe fn dot(sum: __m256i, weights: __m256i, a: __m256i) -> __m256i {
            let less = _mm256_xor_si256(a, _mm256_set1_epi8(-128));
            let pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(less), _mm256_sign_epi8(weights, less));
            _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)))
        }
    }

    /// Four products to an i32.
    struct Vnni;

    impl Dot for Vnni {
        type S = Avx2;
        const TAKES: f32 = 0.0;

        #[inline(always)]
        unsafe fn dot(sum: __m256i, weights: __m256i, a: __m256i) -> __m256i {
            _mm256_dpbusd_avx_epi32(sum, a, weights)
        }
    }

    #[target_feature(enable = "avx2,fma,f16c")]
    unsafe fn dot_tile_pairs(t: &DotTile) {
        // SAFETY: the caller's contract is `DotTile`'s; this function is compiled for AVX2.
        unsafe { dot_rows::<Pairs>(t) }
    }

    #[target_feature(enable = "avx2,fma,f16c,avxvnni")]
    unsafe fn dot_tile_vnni(t: &DotTile) {
        // SAFETY: the caller's contract is `DotTile`'s; this function is compiled for AVX-VNNI.
        unsafe { dot_rows::<Vnni>(t) }
    }

    #[inline(always)]
    unsafe fn dot_rows<D: Dot<S = Avx2>>(t: &DotTile) {
        for quarter in [0, 8, 16, 24] {
            // SAFETY: as the callers say.
            unsafe {
                match t.rows {
                    1 => dot::dot_tile::<D, 1, 1>(t, quarter),
                    2 => dot::dot_tile::<D, 2, 1>(t, quarter),
                    3 => dot::dot_tile::<D, 3, 1>(t, quarter),
                    4 => dot::dot_tile::<D, 4, 1>(t, quarter),
                    rows => unreachable!("a tile of {rows} rows"),
                }
            }
        }
    }

    #[target_feature(enable = "avx2,fma,f16c")]
    unsafe fn quantise_row(row: &QuantiseRow<'_>) {
        // SAFETY: the caller's contract is `dot::quantise_row`'s.
        unsafe { dot::quantise_row::<Avx2>(row) }
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
    unsafe fn activate_int8(activation: Activation, block: *mut f32, rows: usize, stride: usize) {
        // SAFETY: the caller gives `rows` rows of one panel.
        unsafe { math::activate_block_int8::<Avx2>(activation, block, rows, stride) }
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
