//! The same in vectors of 256 bits. Compilers do not find these instructions by themselves: marks gathered in an integer, sums of neighbouring products, sums of
//! bytes, and a table that fits a vector.

use super::{BLOCK, Four, Vectors, WIDTH};
use crate::digits::{POINT, ZEROS};
use pulp::cast;
use pulp::x86::V3;
use std::arch::x86_64::{__m256d, __m256i};

const POWERS: [u32; 8] = [1, 10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000];

/// y = 1/p, rounded, for the powers p = 10ᵏ. m/p, for an integer |m| < 2²⁷, is q = m·y, rounded, and then q + (m − q·p)·y with one rounding, several times as fast as a
/// division and just as exact:
///
/// q is within two units u of its last place. So m − q·p is a multiple of u below 2p·u, and known exactly; and what is rounded in the end differs from m/p by at most
/// 2u·2⁻⁵³. That rounds to another number than m/p only if m/p is so near the middle of two floats, an odd M of 54 bits times u′/2, where u′ ≥ u/2 is the unit there. It is not the middle,
/// because M would have to divide m; so it is at least 1/p of u′/2 away from it, which is more than 2⁻²⁶·u. ∎
const RECIPROCALS: [u64; 8] = {
    let mut reciprocals = [0; 8];
    let mut k = 0;
    while k < 8 {
        reciprocals[k] = (1.0 / POWERS[k] as f64).to_bits();
        k += 1;
    }
    reciprocals
};

const RECIPROCALS_LOWER: [u32; 8] = halves(0);
const RECIPROCALS_UPPER: [u32; 8] = halves(32);

const fn halves(from: u32) -> [u32; 8] {
    let mut halves = [0; 8];
    let mut k = 0;
    while k < 8 {
        halves[k] = (RECIPROCALS[k] >> from) as u32;
        k += 1;
    }
    halves
}

impl Vectors for V3 {
    #[inline(always)]
    fn marks(self, bytes: &[u8; BLOCK], byte: u8) -> u64 {
        let wanted = self.avx._mm256_set1_epi8(byte as i8);
        let halves: [[u8; 32]; 2] = cast(*bytes);
        let [low, high] = halves.map(|half| {
            let found = self.avx2._mm256_cmpeq_epi8(cast(half), wanted);
            u64::from(self.avx2._mm256_movemask_epi8(found) as u32)
        });
        high << 32 | low
    }

    #[inline(always)]
    fn numbers(
        self,
        words: &[u64; WIDTH],
        bits: &[u64; WIDTH],
        out: &mut [f64; WIDTH],
    ) -> [u64; WIDTH] {
        let (avx, v) = (self.avx, self.avx2);
        let all = |value: u64| avx._mm256_set1_epi64x(value as i64);
        let bytes = |value: u8| avx._mm256_set1_epi8(value as i8);
        let (words, bits, zero) = (cast(*words), cast(*bits), avx._mm256_setzero_si256());
        // The last byte goes to the top; below the first, and in the sign's place, are zeros, which are digits.
        let first = v._mm256_and_si256(words, all(0xff));
        let negative = v._mm256_cmpeq_epi64(first, all(b'-'.into()));
        let sign = v._mm256_srli_epi64::<56>(negative);
        let plain = v._mm256_andnot_si256(sign, v._mm256_xor_si256(words, all(ZEROS)));
        let text = v._mm256_sllv_epi64(plain, v._mm256_sub_epi64(all(64), bits));
        // Every byte but digits is a point, and there is at most one.
        let points = v._mm256_cmpeq_epi8(text, bytes(POINT));
        let others = v._mm256_cmpeq_epi8(v._mm256_max_epu8(text, bytes(10)), text);
        let ones = v._mm256_and_si256(points, bytes(1));
        let count = v._mm256_sad_epu8(ones, zero);
        let odd = v._mm256_xor_si256(others, points);
        let odd = v._mm256_or_si256(odd, v._mm256_cmpgt_epi64(count, all(1)));
        // Nothing, or a sign or a point alone, is no number, and what is longer than eight bytes is not here.
        let odd = v._mm256_or_si256(odd, v._mm256_cmpgt_epi64(bits, all(64)));
        let others_bits = v._mm256_add_epi64(
            v._mm256_and_si256(negative, all(8)),
            v._mm256_slli_epi64::<3>(count),
        );
        let odd = v._mm256_or_si256(odd, v._mm256_cmpeq_epi64(bits, others_bits));
        // What stands before the point moves up to close the gap; without a point everything is below it, and stays.
        let below = v._mm256_sub_epi64(ones, all(1));
        let above = v._mm256_or_si256(points, below);
        let before = v._mm256_sllv_epi64(
            v._mm256_and_si256(text, below),
            v._mm256_slli_epi64::<3>(count),
        );
        let digits = v._mm256_or_si256(before, v._mm256_andnot_si256(above, text));
        let eights = value(self, digits);
        let mantissa = v._mm256_sub_epi64(v._mm256_xor_si256(eights, negative), negative);
        // Bytes above the point, counted, name the power of ten.
        let decimals = v._mm256_sad_epu8(v._mm256_andnot_si256(above, bytes(1)), zero);
        let chosen = |table: [u32; 8]| v._mm256_permutevar8x32_epi32(cast(table), decimals);
        let power = v._mm256_and_si256(chosen(POWERS), all(0xffff_ffff));
        let upper = v._mm256_slli_epi64::<32>(chosen(RECIPROCALS_UPPER));
        let lower = chosen(RECIPROCALS_LOWER);
        let reciprocal = cast(v._mm256_blend_epi32::<0b1010_1010>(lower, upper));
        // At 1.5·2⁵² the last digits of a float count ones.
        let ones = 1.5 * (1_u64 << 52) as f64;
        let small = |value| {
            let shifted = v._mm256_add_epi64(value, all(ones.to_bits()));
            avx._mm256_sub_pd(cast(shifted), avx._mm256_set1_pd(ones))
        };
        let (mantissa, power) = (small(mantissa), small(power));
        *out = cast(quotient(self, mantissa, power, reciprocal));
        cast(odd)
    }

    const SHUFFLES: bool = true;

    #[inline(always)]
    fn shaped(
        self,
        words: &[u64; WIDTH],
        shapes: &Four<'_>,
        out: &mut [f64; WIDTH],
    ) -> [u64; WIDTH] {
        let (avx, v) = (self.avx, self.avx2);
        let text = v._mm256_xor_si256(cast(*words), cast(*shapes.text));
        let digits = v._mm256_shuffle_epi8(text, cast(*shapes.place));
        let odd = v._mm256_subs_epu8(digits, cast(*shapes.limit));
        // Below 2⁵², an integer is the last digits of 2⁵² and itself.
        let ones = (1_u64 << 52) as f64;
        let bits = avx._mm256_set1_epi64x(ones.to_bits() as i64);
        let shifted = v._mm256_or_si256(value(self, digits), bits);
        let mantissa = avx._mm256_sub_pd(cast(shifted), avx._mm256_set1_pd(ones));
        *out = cast(quotient(
            self,
            mantissa,
            cast(*shapes.power),
            cast(*shapes.reciprocal),
        ));
        cast(odd)
    }
}

/// The numbers that eight digits each spell, the first one lowest: by pairs, fours and eights.
#[inline(always)]
fn value(v3: V3, digits: __m256i) -> __m256i {
    let (avx, v) = (v3.avx, v3.avx2);
    let pairs = v._mm256_maddubs_epi16(digits, avx._mm256_set1_epi16(0x010a));
    let fours = v._mm256_madd_epi16(pairs, avx._mm256_set1_epi32(0x0001_0064));
    let upper = v._mm256_mul_epu32(fours, avx._mm256_set1_epi64x(10_000));
    v._mm256_add_epi64(upper, v._mm256_srli_epi64::<32>(fours))
}

/// What a division would give: see [`RECIPROCALS`].
#[inline(always)]
fn quotient(v3: V3, number: __m256d, power: __m256d, reciprocal: __m256d) -> __m256d {
    let near = v3.avx._mm256_mul_pd(number, reciprocal);
    let error = v3.fma._mm256_fnmadd_pd(near, power, number);
    v3.fma._mm256_fmadd_pd(error, reciprocal, near)
}
