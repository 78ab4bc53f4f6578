//! Loops over integer vectors that every step makes, compiled for every width of vectors.

use pulp::{Arch, Simd, WithSimd};

/// `total` += `terms`, modulo 2⁶⁴: the caller knows that nothing wraps, and a loop that looked for it would not become vectors.
pub(super) fn add(total: &mut [i64], terms: &[i64]) {
    dispatch(total, |total| {
        for (total, term) in total.iter_mut().zip(terms) {
            *total = total.wrapping_add(*term);
        }
    });
}

/// `total` = `above` ± `terms`, likewise.
pub(super) fn sum_signed(total: &mut [i64], above: &[i64], terms: &[i64], sign: i8) {
    // −v is v with all bits inverted, plus one.
    let mask = i64::from(sign >> 7);
    dispatch(total, |total| {
        for (total, (above, term)) in total.iter_mut().zip(above.iter().zip(terms)) {
            *total = above.wrapping_add(*term ^ mask).wrapping_sub(mask);
        }
    });
}

/// `out` = (`exact` + `noise`)·`unit`: the integer is what is released; the float is made from it.
pub(super) fn release(out: &mut [f64], exact: &[i64], noise: &[i64], unit: f64) {
    dispatch(out, |out| {
        for (out, (exact, noise)) in out.iter_mut().zip(exact.iter().zip(noise)) {
            *out = nearest(exact.wrapping_add(*noise)) * unit;
        }
    });
}

/// The float nearest to an integer, ties to even: what a cast gives, for which older processors have no vector.
///
/// 2⁵² + l and 2⁸⁴ + 2⁶³ + 2³²·h, for the lower half l and the upper half h, are floats whose digits are those halves. Taking 2⁸⁴ + 2⁶³ + 2⁵² from the latter leaves
/// 2³²·h − 2⁵², exactly, a multiple of 2³² below 2⁶⁴; the one addition that follows rounds 2³²·h + l.
#[inline(always)]
pub(crate) fn nearest(value: i64) -> f64 {
    const LOW: u64 = 0x4330_0000_0000_0000; // 2⁵²
    const HIGH: u64 = 0x4530_0000_0000_0000; // 2⁸⁴
    const BOTH: f64 = (1_u128 << 84) as f64 + (1_u128 << 63) as f64 + (1_u128 << 52) as f64;
    let low = f64::from_bits(LOW | value as u64 & 0xffff_ffff);
    let high = f64::from_bits((HIGH | (value as u64) >> 32) ^ 0x8000_0000);
    (high - BOTH) + low
}

fn dispatch<T>(out: &mut [T], work: impl FnOnce(&mut [T])) {
    Arch::new().dispatch(Work { out, work });
}

struct Work<'a, T, F> {
    out: &'a mut [T],
    work: F,
}

impl<T, F: FnOnce(&mut [T])> WithSimd for Work<'_, T, F> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        (self.work)(self.out);
    }
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

        #[test]
        fn signed_sums(above: [i64; 11], terms: [i64; 11], negative: bool) {
            let mut total = [7; 11];
            sum_signed(&mut total, &above, &terms, if negative { -1 } else { 1 });
            for i in 0..11 {
                let wanted = if negative {
                    above[i].wrapping_sub(terms[i])
                } else {
                    above[i].wrapping_add(terms[i])
                };
                prop_assert_eq!(total[i], wanted);
            }
        }
    }
}
