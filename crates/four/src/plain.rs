//! Four numbers one after the other: the meaning of every operation.

use super::{FOUR, Four};

/// No processor in particular.
#[derive(Clone, Copy)]
pub struct Plain;

#[inline(always)]
fn each<T: Copy, U: Copy + Default>(
    a: [T; FOUR],
    b: [T; FOUR],
    of: impl Fn(T, T) -> U,
) -> [U; FOUR] {
    let mut out = [U::default(); FOUR];
    for (out, (a, b)) in out.iter_mut().zip(a.into_iter().zip(b)) {
        *out = of(a, b);
    }
    out
}

/// a·b + c, rounded once: by the processor, or where it cannot, not by whatever the system has for
/// it.
#[inline(always)]
fn fused(a: f64, b: f64, c: f64) -> f64 {
    if cfg!(any(target_feature = "fma", target_arch = "aarch64")) {
        a.mul_add(b, c)
    } else {
        libm::fma(a, b, c)
    }
}

impl Four for Plain {
    type Words = [i64; FOUR];
    type Floats = [f64; FOUR];

    #[inline(always)]
    fn words(self, values: &[i64; FOUR]) -> Self::Words {
        *values
    }

    #[inline(always)]
    fn integers(self, words: Self::Words) -> [i64; FOUR] {
        words
    }

    #[inline(always)]
    fn floats(self, values: &[f64; FOUR]) -> Self::Floats {
        *values
    }

    #[inline(always)]
    fn numbers(self, floats: Self::Floats) -> [f64; FOUR] {
        floats
    }

    #[inline(always)]
    fn add(self, a: Self::Words, b: Self::Words) -> Self::Words {
        each(a, b, i64::wrapping_add)
    }

    #[inline(always)]
    fn subtract(self, a: Self::Words, b: Self::Words) -> Self::Words {
        each(a, b, i64::wrapping_sub)
    }

    #[inline(always)]
    fn xor(self, a: Self::Words, b: Self::Words) -> Self::Words {
        each(a, b, |a, b| a ^ b)
    }

    #[inline(always)]
    fn and(self, a: Self::Words, b: Self::Words) -> Self::Words {
        each(a, b, |a, b| a & b)
    }

    #[inline(always)]
    fn or(self, a: Self::Words, b: Self::Words) -> Self::Words {
        each(a, b, |a, b| a | b)
    }

    #[inline(always)]
    fn greater(self, a: Self::Words, b: Self::Words) -> Self::Words {
        each(a, b, |a, b| -i64::from(a > b))
    }

    #[inline(always)]
    fn equal(self, a: Self::Words, b: Self::Words) -> Self::Words {
        each(a, b, |a, b| -i64::from(a == b))
    }

    #[inline(always)]
    fn select(self, mask: Self::Words, a: Self::Words, b: Self::Words) -> Self::Words {
        self.xor(b, self.and(mask, self.xor(a, b)))
    }

    #[inline(always)]
    fn any(self, masks: Self::Words) -> bool {
        masks.iter().any(|mask| *mask != 0)
    }

    #[inline(always)]
    fn signed_product(self, a: Self::Words, b: Self::Words) -> Self::Words {
        each(a, b, |a, b| i64::from(a as i32) * i64::from(b as i32))
    }

    #[inline(always)]
    fn unsigned_product(self, a: Self::Words, b: Self::Words) -> Self::Words {
        each(a, b, |a, b| {
            (u64::from(a as u32) * u64::from(b as u32)).cast_signed()
        })
    }

    #[inline(always)]
    fn left(self, a: Self::Words, by: Self::Words) -> Self::Words {
        each(a, by, |a, by| a << by)
    }

    #[inline(always)]
    fn right(self, a: Self::Words, by: Self::Words) -> Self::Words {
        each(a, by, |a, by| (a.cast_unsigned() >> by).cast_signed())
    }

    #[inline(always)]
    fn left_by<const BITS: i32>(self, a: Self::Words) -> Self::Words {
        a.map(|a| a << BITS)
    }

    #[inline(always)]
    fn right_by<const BITS: i32>(self, a: Self::Words) -> Self::Words {
        a.map(|a| (a.cast_unsigned() >> BITS).cast_signed())
    }

    #[inline(always)]
    fn plus(self, a: Self::Floats, b: Self::Floats) -> Self::Floats {
        each(a, b, |a, b| a + b)
    }

    #[inline(always)]
    fn minus(self, a: Self::Floats, b: Self::Floats) -> Self::Floats {
        each(a, b, |a, b| a - b)
    }

    #[inline(always)]
    fn times(self, a: Self::Floats, b: Self::Floats) -> Self::Floats {
        each(a, b, |a, b| a * b)
    }

    #[inline(always)]
    fn fused(self, a: Self::Floats, b: Self::Floats, c: Self::Floats) -> Self::Floats {
        let mut out = c;
        for (out, (a, b)) in out.iter_mut().zip(a.into_iter().zip(b)) {
            *out = fused(a, b, *out);
        }
        out
    }

    #[inline(always)]
    fn less_product(self, a: Self::Floats, b: Self::Floats, c: Self::Floats) -> Self::Floats {
        self.fused(a.map(|a| -a), b, c)
    }

    #[inline(always)]
    fn larger(self, a: Self::Floats, b: Self::Floats) -> Self::Floats {
        each(a, b, |a, b| if a > b { a } else { b })
    }

    #[inline(always)]
    fn smaller(self, a: Self::Floats, b: Self::Floats) -> Self::Floats {
        each(a, b, |a, b| if a < b { a } else { b })
    }

    #[inline(always)]
    fn truncated(self, a: Self::Floats) -> Self::Floats {
        a.map(f64::trunc)
    }

    #[inline(always)]
    fn magnitudes(self, a: Self::Floats) -> Self::Floats {
        a.map(f64::abs)
    }

    #[inline(always)]
    fn at_most(self, a: Self::Floats, b: Self::Floats) -> Self::Words {
        each(a, b, |a, b| -i64::from(a <= b))
    }

    #[inline(always)]
    fn bits(self, a: Self::Floats) -> Self::Words {
        a.map(|a| a.to_bits().cast_signed())
    }

    #[inline(always)]
    fn as_floats(self, a: Self::Words) -> Self::Floats {
        a.map(|a| f64::from_bits(a.cast_unsigned()))
    }

    #[inline(always)]
    fn nearest(self, words: Self::Words) -> Self::Floats {
        words.map(nearest)
    }
}

/// The float nearest to an integer, ties to even: what a cast gives, for which older processors
/// have no vector.
///
/// 2⁵² + l and 2⁸⁴ + 2⁶³ + 2³²·h, for the lower half l and the upper half h, are floats whose
/// digits are those halves. Taking 2⁸⁴ + 2⁶³ + 2⁵² from the latter leaves 2³²·h − 2⁵², exactly, a
/// multiple of 2³² below 2⁶⁴; the one addition that follows rounds 2³²·h + l.
#[inline(always)]
#[must_use]
pub fn nearest(value: i64) -> f64 {
    const LOW: u64 = 0x4330_0000_0000_0000; // 2⁵²
    const HIGH: u64 = 0x4530_0000_0000_0000; // 2⁸⁴
    const BOTH: f64 = (1_u128 << 84) as f64 + (1_u128 << 63) as f64 + (1_u128 << 52) as f64;
    let low = f64::from_bits(LOW | value as u64 & 0xffff_ffff);
    let high = f64::from_bits((HIGH | (value as u64) >> 32) ^ 0x8000_0000);
    (high - BOTH) + low
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(value: i64) {
        assert_eq!(
            nearest(value).to_bits(),
            (value as f64).to_bits(),
            "{value}"
        );
    }

    #[test]
    fn the_nearest_float_at_ties_and_extremes() {
        for bit in 0..64 {
            for other in 0..64 {
                for near in -2..=2 {
                    let value = (1_i64 << bit).wrapping_add(1 << other).wrapping_add(near);
                    check(value);
                    check(value.wrapping_neg());
                }
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        #[test]
        fn the_nearest_float_is_the_cast(value: i64, by in 0_u32..64) {
            check(value >> by);
        }
    }
}
