//! Four numbers in a vector of 256 bits.

use super::{FOUR, Four, Work};
use pulp::x86::V3;
use pulp::{NullaryFnOnce, cast};
use std::arch::x86_64::{__m256d, __m256i, _CMP_LE_OQ, _MM_FROUND_NO_EXC, _MM_FROUND_TO_ZERO};

/// Work to be compiled for these processors.
pub(super) struct OnV3<W> {
    pub(super) v3: V3,
    pub(super) work: W,
}

impl<W: Work> NullaryFnOnce for OnV3<W> {
    type Output = W::Output;

    #[inline(always)]
    fn call(self) -> W::Output {
        self.work.with(self.v3)
    }
}

impl Four for V3 {
    type Words = __m256i;
    type Floats = __m256d;

    #[inline(always)]
    fn words(self, values: &[i64; FOUR]) -> __m256i {
        cast(*values)
    }

    #[inline(always)]
    fn integers(self, words: __m256i) -> [i64; FOUR] {
        cast(words)
    }

    #[inline(always)]
    fn floats(self, values: &[f64; FOUR]) -> __m256d {
        cast(*values)
    }

    #[inline(always)]
    fn numbers(self, floats: __m256d) -> [f64; FOUR] {
        cast(floats)
    }

    #[inline(always)]
    fn add(self, a: __m256i, b: __m256i) -> __m256i {
        self.avx2._mm256_add_epi64(a, b)
    }

    #[inline(always)]
    fn subtract(self, a: __m256i, b: __m256i) -> __m256i {
        self.avx2._mm256_sub_epi64(a, b)
    }

    #[inline(always)]
    fn xor(self, a: __m256i, b: __m256i) -> __m256i {
        self.avx2._mm256_xor_si256(a, b)
    }

    #[inline(always)]
    fn and(self, a: __m256i, b: __m256i) -> __m256i {
        self.avx2._mm256_and_si256(a, b)
    }

    #[inline(always)]
    fn or(self, a: __m256i, b: __m256i) -> __m256i {
        self.avx2._mm256_or_si256(a, b)
    }

    #[inline(always)]
    fn greater(self, a: __m256i, b: __m256i) -> __m256i {
        self.avx2._mm256_cmpgt_epi64(a, b)
    }

    #[inline(always)]
    fn equal(self, a: __m256i, b: __m256i) -> __m256i {
        self.avx2._mm256_cmpeq_epi64(a, b)
    }

    #[inline(always)]
    fn select(self, mask: __m256i, a: __m256i, b: __m256i) -> __m256i {
        self.avx2._mm256_blendv_epi8(b, a, mask)
    }

    #[inline(always)]
    fn any(self, masks: __m256i) -> bool {
        self.avx._mm256_movemask_pd(cast(masks)) != 0
    }

    #[inline(always)]
    fn signed_product(self, a: __m256i, b: __m256i) -> __m256i {
        self.avx2._mm256_mul_epi32(a, b)
    }

    #[inline(always)]
    fn unsigned_product(self, a: __m256i, b: __m256i) -> __m256i {
        self.avx2._mm256_mul_epu32(a, b)
    }

    #[inline(always)]
    fn left(self, a: __m256i, by: __m256i) -> __m256i {
        self.avx2._mm256_sllv_epi64(a, by)
    }

    #[inline(always)]
    fn right(self, a: __m256i, by: __m256i) -> __m256i {
        self.avx2._mm256_srlv_epi64(a, by)
    }

    #[inline(always)]
    fn left_by<const BITS: i32>(self, a: __m256i) -> __m256i {
        self.avx2._mm256_slli_epi64::<BITS>(a)
    }

    #[inline(always)]
    fn right_by<const BITS: i32>(self, a: __m256i) -> __m256i {
        self.avx2._mm256_srli_epi64::<BITS>(a)
    }

    #[inline(always)]
    fn plus(self, a: __m256d, b: __m256d) -> __m256d {
        self.avx._mm256_add_pd(a, b)
    }

    #[inline(always)]
    fn minus(self, a: __m256d, b: __m256d) -> __m256d {
        self.avx._mm256_sub_pd(a, b)
    }

    #[inline(always)]
    fn times(self, a: __m256d, b: __m256d) -> __m256d {
        self.avx._mm256_mul_pd(a, b)
    }

    #[inline(always)]
    fn fused(self, a: __m256d, b: __m256d, c: __m256d) -> __m256d {
        self.fma._mm256_fmadd_pd(a, b, c)
    }

    #[inline(always)]
    fn less_product(self, a: __m256d, b: __m256d, c: __m256d) -> __m256d {
        self.fma._mm256_fnmadd_pd(a, b, c)
    }

    #[inline(always)]
    fn larger(self, a: __m256d, b: __m256d) -> __m256d {
        self.avx._mm256_max_pd(a, b)
    }

    #[inline(always)]
    fn smaller(self, a: __m256d, b: __m256d) -> __m256d {
        self.avx._mm256_min_pd(a, b)
    }

    #[inline(always)]
    fn truncated(self, a: __m256d) -> __m256d {
        self.avx
            ._mm256_round_pd::<{ _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC }>(a)
    }

    #[inline(always)]
    fn magnitudes(self, a: __m256d) -> __m256d {
        self.avx._mm256_andnot_pd(self.avx._mm256_set1_pd(-0.0), a)
    }

    #[inline(always)]
    fn at_most(self, a: __m256d, b: __m256d) -> __m256i {
        cast(self.avx._mm256_cmp_pd::<_CMP_LE_OQ>(a, b))
    }

    #[inline(always)]
    fn bits(self, a: __m256d) -> __m256i {
        cast(a)
    }

    #[inline(always)]
    fn as_floats(self, a: __m256i) -> __m256d {
        cast(a)
    }

    /// As [`super::nearest`] does it, with the halves put together by a blend.
    #[inline(always)]
    fn nearest(self, words: __m256i) -> __m256d {
        let (avx, v) = (self.avx, self.avx2);
        let all = |bits: i64| avx._mm256_set1_epi64x(bits);
        const BOTH: f64 = (1_u128 << 84) as f64 + (1_u128 << 63) as f64 + (1_u128 << 52) as f64;
        let low = v._mm256_blend_epi32::<0b1010_1010>(words, all(0x4330_0000_0000_0000));
        let high = v._mm256_xor_si256(v._mm256_srli_epi64::<32>(words), all(0x4530_0000_8000_0000));
        let high = avx._mm256_sub_pd(cast(high), avx._mm256_set1_pd(BOTH));
        avx._mm256_add_pd(high, cast(low))
    }
}
