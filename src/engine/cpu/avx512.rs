//! AVX-512: sixteen numbers a register, thirty-two registers, tiles of 12 rows.

#[cfg(target_arch = "x86_64")]
pub(super) use x86::{BF16, KERNELS, VNNI};

/// Other processors have rows that say so.
#[cfg(not(target_arch = "x86_64"))]
pub(super) const KERNELS: super::kernels::Kernels =
    super::kernels::Kernels { name: "avx512", available: || false, ..super::portable::KERNELS };
#[cfg(not(target_arch = "x86_64"))]
pub(super) const VNNI: super::kernels::Kernels = super::kernels::Kernels { name: "avx512vnni", ..KERNELS };
#[cfg(not(target_arch = "x86_64"))]
pub(super) const BF16: super::kernels::Kernels = super::kernels::Kernels { name: "avx512bf16", ..KERNELS };

#[cfg(target_arch = "x86_64")]
#[allow(unsafe_op_in_unsafe_fn, reason = "one intrinsic a body; the contract is the trait's")]
mod x86 {
    use std::arch::x86_64::*;

    use super::super::attention_bf16::{Bf16, PairTile};
    use super::super::avx2;
    use super::super::dot::{self, Dot, DotTile, QuantiseRow, Whole};
    use super::super::gemm::{PANEL, Tile, tile as gemm_tile};
    use super::super::kernels::{Kernels, NormRow};
    use super::super::simd::Simd;
    use super::super::{math, rowwise};
    use crate::engine::graph::Activation;

    #[cfg(feature = "train")]
    super::super::learn::kernels::table!(Avx512, "avx512f,avx512bw", 12, 2);

    pub(in super::super) const KERNELS: Kernels = Kernels {
        name: "avx512",
        available: || {
            std::arch::is_x86_feature_detected!("avx512f") && std::arch::is_x86_feature_detected!("avx512bw") && (avx2::KERNELS.available)()
        },
        tile_rows: 12,
        tile,
        // Before VNNI, AVX-512 has no better way to multiply bytes than AVX2.
        dot_rows: avx2::KERNELS.dot_rows,
        dot_tile: avx2::KERNELS.dot_tile,
        quantise_row,
        bf16: None,
        activate,
        activate_int8,
        softmax,
        add_norm,
        #[cfg(feature = "train")]
        learn: &LEARN,
    };

    /// With VNNI, four products an instruction.
    pub(in super::super) const VNNI: Kernels = Kernels {
        name: "avx512vnni",
        available: || (KERNELS.available)() && std::arch::is_x86_feature_detected!("avx512vnni"),
        dot_rows: 6,
        dot_tile: dot_tile_vnni,
        ..KERNELS
    };

    /// With bf16 beside VNNI.
    pub(in super::super) const BF16: Kernels = Kernels {
        name: "avx512bf16",
        available: || (VNNI.available)() && std::arch::is_x86_feature_detected!("avx512bf16"),
        dot_tile: dot_tile_bf16,
        bf16: Some(&Bf16 { tile: pair_tile, narrow, softmax: softmax_bf16, scale, pair }),
        ..VNNI
    };

    #[derive(Clone, Copy)]
    struct Avx512;

    #[inline(always)]
    fn first(n: usize) -> __mmask16 {
        ((1u32 << n) - 1) as __mmask16
    }

    impl Simd for Avx512 {
        type V = __m512;
        const LANES: usize = 16;

        #[inline(always)]
        unsafe fn splat(x: f32) -> __m512 {
            _mm512_set1_ps(x)
        }
        #[inline(always)]
        unsafe fn load(p: *const f32) -> __m512 {
            _mm512_loadu_ps(p)
        }
        #[inline(always)]
        unsafe fn store(p: *mut f32, v: __m512) {
            _mm512_storeu_ps(p, v)
        }
        #[inline(always)]
        unsafe fn prefetch(p: *const f32) {
            _mm_prefetch::<_MM_HINT_T1>(p.cast());
        }
        #[inline(always)]
        unsafe fn load_part(p: *const f32, n: usize, fill: f32) -> __m512 {
            _mm512_mask_loadu_ps(_mm512_set1_ps(fill), first(n), p)
        }
        #[inline(always)]
        unsafe fn store_part(p: *mut f32, n: usize, v: __m512) {
            _mm512_mask_storeu_ps(p, first(n), v)
        }
        #[inline(always)]
        unsafe fn add(a: __m512, b: __m512) -> __m512 {
            _mm512_add_ps(a, b)
        }
        #[inline(always)]
        unsafe fn sub(a: __m512, b: __m512) -> __m512 {
            _mm512_sub_ps(a, b)
        }
        #[inline(always)]
        unsafe fn mul(a: __m512, b: __m512) -> __m512 {
            _mm512_mul_ps(a, b)
        }
        #[inline(always)]
        unsafe fn div(a: __m512, b: __m512) -> __m512 {
            _mm512_div_ps(a, b)
        }
        #[inline(always)]
        unsafe fn fma(a: __m512, b: __m512, c: __m512) -> __m512 {
            _mm512_fmadd_ps(a, b, c)
        }
        #[inline(always)]
        unsafe fn max(a: __m512, b: __m512) -> __m512 {
            _mm512_max_ps(a, b)
        }
        #[inline(always)]
        unsafe fn min(a: __m512, b: __m512) -> __m512 {
            _mm512_min_ps(a, b)
        }
        #[inline(always)]
        unsafe fn round(a: __m512) -> __m512 {
            _mm512_roundscale_ps::<0>(a)
        }
        #[inline(always)]
        unsafe fn scale(a: __m512, n: __m512) -> __m512 {
            _mm512_scalef_ps(a, n)
        }
        #[inline(always)]
        unsafe fn keep_from(v: __m512, x: __m512, limit: __m512) -> __m512 {
            _mm512_maskz_mov_ps(_mm512_cmp_ps_mask::<_CMP_NLT_UQ>(x, limit), v)
        }
        #[inline(always)]
        unsafe fn sum(v: __m512) -> f32 {
            _mm512_reduce_add_ps(v)
        }
        #[inline(always)]
        unsafe fn largest(v: __m512) -> f32 {
            _mm512_reduce_max_ps(v)
        }
    }

    impl Whole for Avx512 {
        type I = __m512i;

        #[inline(always)]
        unsafe fn zero() -> __m512i {
            _mm512_setzero_si512()
        }
        #[inline(always)]
        unsafe fn broadcast(p: *const i32) -> __m512i {
            _mm512_set1_epi32(p.read_unaligned())
        }
        #[inline(always)]
        unsafe fn load_bytes(p: *const u8) -> __m512i {
            _mm512_loadu_si512(p.cast())
        }
        #[inline(always)]
        unsafe fn to_f32(sums: __m512i) -> __m512 {
            _mm512_cvtepi32_ps(sums)
        }
        #[inline(always)]
        unsafe fn first_bf16(pairs: __m512i) -> __m512 {
            _mm512_castsi512_ps(_mm512_slli_epi32::<16>(pairs))
        }
        #[inline(always)]
        unsafe fn second_bf16(pairs: __m512i) -> __m512 {
            _mm512_castsi512_ps(_mm512_and_si512(pairs, _mm512_set1_epi32(0xffff_0000_u32.cast_signed())))
        }
        #[inline(always)]
        unsafe fn load_f16(p: *const u16) -> __m512 {
            _mm512_cvtph_ps(_mm256_loadu_si256(p.cast()))
        }
        #[inline(always)]
        unsafe fn store_u8(p: *mut u8, v: __m512) {
            _mm_storeu_si128(p.cast(), _mm512_cvtusepi32_epi8(_mm512_cvtps_epu32(v)))
        }
    }

    /// Four products of bytes to an i32.
    struct Vnni;

    impl Dot for Vnni {
        type S = Avx512;
        const TAKES: f32 = 0.0;

        #[inline(always)]
        unsafe fn dot(sum: __m512i, weights: __m512i, a: __m512i) -> __m512i {
            _mm512_dpbusd_epi32(sum, a, weights)
        }
    }

    /// As [`Vnni`], and two products of bf16 an instruction.
    struct VnniBf16;

    impl Dot for VnniBf16 {
        type S = Avx512;
        const TAKES: f32 = Vnni::TAKES;

        #[inline(always)]
        unsafe fn dot(sum: __m512i, weights: __m512i, a: __m512i) -> __m512i {
            Vnni::dot(sum, weights, a)
        }
        #[inline(always)]
        unsafe fn dot_bf16(sum: __m512, weights: __m512i, a: __m512i) -> __m512 {
            _mm512_dpbf16_ps(sum, pairs(a), pairs(weights))
        }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vnni")]
    unsafe fn dot_tile_vnni(t: &DotTile) {
        // SAFETY: the caller's contract is `DotTile`'s; this function is compiled for VNNI.
        unsafe { dot_rows::<Vnni>(t) }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vnni,avx512bf16")]
    unsafe fn dot_tile_bf16(t: &DotTile) {
        // SAFETY: the caller's contract is `DotTile`'s; this function is compiled for VNNI and bf16.
        unsafe { dot_rows::<VnniBf16>(t) }
    }

    #[inline(always)]
    unsafe fn dot_rows<D: Dot<S = Avx512>>(t: &DotTile) {
        // SAFETY: as the callers say.
        unsafe {
            match t.rows {
                1 => dot::dot_tile::<D, 1, 2>(t, 0),
                2 => dot::dot_tile::<D, 2, 2>(t, 0),
                3 => dot::dot_tile::<D, 3, 2>(t, 0),
                4 => dot::dot_tile::<D, 4, 2>(t, 0),
                5 => dot::dot_tile::<D, 5, 2>(t, 0),
                6 => dot::dot_tile::<D, 6, 2>(t, 0),
                rows => unreachable!("a tile of {rows} rows"),
            }
        }
    }

    #[target_feature(enable = "avx512f,avx512bw")]
    unsafe fn quantise_row(row: &QuantiseRow<'_>) {
        // SAFETY: the caller's contract is `dot::quantise_row`'s.
        unsafe { dot::quantise_row::<Avx512>(row) }
    }

    #[target_feature(enable = "avx512f,avx512bf16")]
    unsafe fn pair_tile(t: &PairTile) {
        // SAFETY: the caller's contract is `PairTile`'s; this function is compiled for bf16.
        unsafe {
            match t.rows {
                1 => pair_rows::<1>(t),
                2 => pair_rows::<2>(t),
                3 => pair_rows::<3>(t),
                4 => pair_rows::<4>(t),
                5 => pair_rows::<5>(t),
                6 => pair_rows::<6>(t),
                7 => pair_rows::<7>(t),
                8 => pair_rows::<8>(t),
                9 => pair_rows::<9>(t),
                10 => pair_rows::<10>(t),
                11 => pair_rows::<11>(t),
                12 => pair_rows::<12>(t),
                rows => unreachable!("a tile of {rows} rows"),
            }
        }
    }

    /// Sixteen pairs as the bf16 instructions take them.
    #[inline(always)]
    unsafe fn pairs(bits: __m512i) -> __m512bh {
        // SAFETY: both are 64 bytes of any content.
        unsafe { std::mem::transmute(bits) }
    }

    /// As [`gemm_tile`] over two registers, a pair of inputs a step.
    #[inline(always)]
    #[expect(clippy::needless_range_loop, reason = "indexed loops over constants are what the optimiser unrolls into registers")]
    unsafe fn pair_rows<const ROWS: usize>(t: &PairTile) {
        let mut sums = [[_mm512_setzero_ps(); 2]; ROWS];
        for p in 0..t.pairs {
            let row = t.b.add(p * PANEL);
            let b = [pairs(_mm512_loadu_si512(row.cast())), pairs(_mm512_loadu_si512(row.add(16).cast()))];
            for r in 0..ROWS {
                let a = pairs(_mm512_set1_epi32(t.a.add(r * t.a_stride + 2 * p).cast::<i32>().read_unaligned()));
                for i in 0..2 {
                    sums[r][i] = _mm512_dpbf16_ps(sums[r][i], a, b[i]);
                }
            }
        }
        for r in 0..ROWS {
            for i in 0..2 {
                _mm512_storeu_ps(t.c.add(r * t.c_stride + i * 16), sums[r][i]);
            }
        }
    }

    /// Sixteen numbers as bf16.
    #[inline(always)]
    unsafe fn rounded(x: __m512) -> __m256i {
        // SAFETY: both are 32 bytes of any content.
        unsafe { std::mem::transmute::<__m256bh, __m256i>(_mm512_cvtneps_pbh(x)) }
    }

    /// Sixteen numbers as bf16, each in the lower half of a lane.
    #[inline(always)]
    unsafe fn halves(x: __m512) -> __m512i {
        _mm512_cvtepu16_epi32(rounded(x))
    }

    /// Writes the first `n` of sixteen bf16 numbers. Whole registers go without a mask: masked stores of words are slow.
    #[inline(always)]
    unsafe fn store_words(out: *mut u16, n: usize, words: __m256i) {
        if n >= 16 {
            _mm256_storeu_si256(out.cast(), words);
        } else {
            _mm256_mask_storeu_epi16(out.cast(), first(n), words);
        }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512bf16")]
    unsafe fn narrow(x: *const f32, n: usize, out: *mut u16) {
        // SAFETY: the caller gives `n` numbers and room for as many; each step reads before it writes.
        unsafe {
            let mut i = 0;
            while i < n {
                store_words(out.add(i), n - i, rounded(_mm512_maskz_loadu_ps(first((n - i).min(16)), x.add(i))));
                i += 16;
            }
        }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512bf16")]
    unsafe fn softmax_bf16(row: *mut f32, n: usize, padded: usize, scale: f32) -> f32 {
        // SAFETY: the caller gives `padded` >= n numbers; each step reads its numbers before it writes their halves, further back.
        unsafe {
            let mut top = _mm512_set1_ps(f32::NEG_INFINITY);
            let mut i = 0;
            while i < n {
                let mask = first((n - i).min(16));
                top = _mm512_max_ps(top, _mm512_mask_loadu_ps(_mm512_set1_ps(f32::NEG_INFINITY), mask, row.add(i)));
                i += 16;
            }
            let (largest, factor) = (_mm512_set1_ps(_mm512_reduce_max_ps(top)), _mm512_set1_ps(scale));
            let mut sum = _mm512_setzero_ps();
            let out = row.cast::<u16>();
            let mut i = 0;
            while i < padded {
                let here = first(n.saturating_sub(i).min(16));
                let x = _mm512_sub_ps(_mm512_maskz_loadu_ps(here, row.add(i)), largest);
                let e = _mm512_maskz_mov_ps(here, math::short_exp::<Avx512>(_mm512_mul_ps(x, factor)));
                sum = _mm512_add_ps(sum, e);
                store_words(out.add(i), padded - i, rounded(e));
                i += 16;
            }
            1.0 / _mm512_reduce_add_ps(sum)
        }
    }

    #[target_feature(enable = "avx512f")]
    unsafe fn scale(x: *const f32, factor: f32, n: usize, out: *mut f32) {
        // SAFETY: the caller gives `n` numbers and room for as many.
        unsafe {
            let mut i = 0;
            while i < n {
                let mask = first((n - i).min(16));
                let v = _mm512_mul_ps(_mm512_maskz_loadu_ps(mask, x.add(i)), _mm512_set1_ps(factor));
                _mm512_mask_storeu_ps(out.add(i), mask, v);
                i += 16;
            }
        }
    }

    #[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
    unsafe fn pair(one: *const f32, two: *const f32, n: usize, out: *mut u32) {
        // SAFETY: the caller gives two rows of `n` numbers (or one) and room for `n` pairs.
        unsafe {
            let mut i = 0;
            while i < n {
                let mask = first((n - i).min(16));
                let low = halves(_mm512_maskz_loadu_ps(mask, one.add(i)));
                let high = if two.is_null() { _mm512_setzero_si512() } else { halves(_mm512_maskz_loadu_ps(mask, two.add(i))) };
                _mm512_mask_storeu_epi32(out.add(i).cast(), mask, _mm512_or_si512(low, _mm512_slli_epi32::<16>(high)));
                i += 16;
            }
        }
    }

    #[target_feature(enable = "avx512f")]
    unsafe fn tile(t: &Tile) {
        // SAFETY: the caller's contract is `Tile`'s; this function is compiled for AVX-512.
        unsafe {
            match t.rows {
                1 => gemm_tile::<Avx512, 1, 2>(t, 0),
                2 => gemm_tile::<Avx512, 2, 2>(t, 0),
                3 => gemm_tile::<Avx512, 3, 2>(t, 0),
                4 => gemm_tile::<Avx512, 4, 2>(t, 0),
                5 => gemm_tile::<Avx512, 5, 2>(t, 0),
                6 => gemm_tile::<Avx512, 6, 2>(t, 0),
                7 => gemm_tile::<Avx512, 7, 2>(t, 0),
                8 => gemm_tile::<Avx512, 8, 2>(t, 0),
                9 => gemm_tile::<Avx512, 9, 2>(t, 0),
                10 => gemm_tile::<Avx512, 10, 2>(t, 0),
                11 => gemm_tile::<Avx512, 11, 2>(t, 0),
                12 => gemm_tile::<Avx512, 12, 2>(t, 0),
                rows => unreachable!("a tile of {rows} rows"),
            }
        }
    }

    #[target_feature(enable = "avx512f")]
    unsafe fn activate(activation: Activation, block: *mut f32, rows: usize, stride: usize) {
        // SAFETY: the caller gives `rows` rows of one panel.
        unsafe { math::activate_block::<Avx512>(activation, block, rows, stride) }
    }

    #[target_feature(enable = "avx512f")]
    unsafe fn activate_int8(activation: Activation, block: *mut f32, rows: usize, stride: usize) {
        // SAFETY: the caller gives `rows` rows of one panel.
        unsafe { math::activate_block_int8::<Avx512>(activation, block, rows, stride) }
    }

    #[target_feature(enable = "avx512f")]
    unsafe fn softmax(row: *mut f32, n: usize, padded: usize, scale: f32) -> f32 {
        // SAFETY: the caller's contract is `rowwise::softmax`'s.
        unsafe { rowwise::softmax::<Avx512>(row, n, padded, scale) }
    }

    #[target_feature(enable = "avx512f")]
    unsafe fn add_norm(row: &NormRow) {
        // SAFETY: the caller's contract is `rowwise::add_norm`'s.
        unsafe { rowwise::add_norm::<Avx512>(row) }
    }
}
