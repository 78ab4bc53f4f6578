//! Four numbers one after the other: the meaning of every operation.

use super::{FOUR, Four};
use crate::sums::nearest;

/// No processor in particular.
#[derive(Clone, Copy)]
pub(crate) struct Plain;

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
            *out = a.mul_add(b, *out);
        }
        out
    }

    #[inline(always)]
    fn less_product(self, a: Self::Floats, b: Self::Floats, c: Self::Floats) -> Self::Floats {
        self.fused(a.map(|a| -a), b, c)
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
