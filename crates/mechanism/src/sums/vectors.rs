//! Loops over integer vectors. Sums are modulo 2⁶⁴: the caller ensures that nothing wraps; a check
//! would prevent vectorisation.

use crate::wide::wide;

wide! {
    /// `total` += `terms`.
    pub(super) fn add<'a>(total: &'a mut [i64], terms: &'a [i64]) -> () {
        for (total, term) in total.iter_mut().zip(terms) {
            *total = total.wrapping_add(*term);
        }
    }

    /// `out` = (`exact` + `noise`)·`unit`: the integer is what is released; the float is made from
    /// it.
    pub(super) fn release<'a>(
        out: &'a mut [f64],
        exact: &'a [i64],
        noise: &'a [i64],
        unit: f64,
    ) -> () {
        for (out, (exact, noise)) in out.iter_mut().zip(exact.iter().zip(noise)) {
            *out = nearest(exact.wrapping_add(*noise)) * unit;
        }
    }

    /// `total` = `above` ± `noise`.
    pub(super) fn add_noise<'a>(
        total: &'a mut [i64],
        above: &'a [i64],
        noise: &'a [i64],
        sign: i8,
    ) -> () {
        debug_assert_eq!(total.len(), noise.len(), "nothing of an older sum may stay");
        // All ones for −: −v is v with all bits inverted, plus one.
        let mask = i64::from(sign >> 7);
        for (total, (above, term)) in total.iter_mut().zip(above.iter().zip(noise)) {
            *total = above.wrapping_add(*term ^ mask).wrapping_sub(mask);
        }
    }
}

/// The float nearest to an integer, ties to even: what a cast gives, for which older processors
/// have no vector.
///
/// 2⁵² + l and 2⁸⁴ + 2⁶³ + 2³²·h, for the lower half l and the upper half h, are floats whose
/// digits are those halves. Taking 2⁸⁴ + 2⁶³ + 2⁵² from the latter leaves 2³²·h − 2⁵², exactly, a
/// multiple of 2³² below 2⁶⁴; the one addition that follows rounds 2³²·h + l.
#[inline(always)]
fn nearest(value: i64) -> f64 {
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

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        #[test]
        fn signed_sums_and_what_they_release(
            above: [i64; 11],
            terms: [i64; 11],
            exact: [i64; 11],
            negative: bool,
        ) {
            let sign = if negative { -1 } else { 1 };
            for length in [0, 1, 4, 8, 11] {
                let (mut total, mut sum, mut out) = ([7; 11], exact, [0.0; 11]);
                add_noise(&mut total[..length], &above[..length], &terms[..length], sign);
                add(&mut sum[..length], &terms[..length]);
                release(&mut out[..length], &exact[..length], &total[..length], 0.3);
                for i in 0..length {
                    let wanted = if negative {
                        above[i].wrapping_sub(terms[i])
                    } else {
                        above[i].wrapping_add(terms[i])
                    };
                    prop_assert_eq!(total[i], wanted);
                    prop_assert_eq!(sum[i], exact[i].wrapping_add(terms[i]));
                    let released = exact[i].wrapping_add(wanted) as f64 * 0.3;
                    prop_assert_eq!(out[i].to_bits(), released.to_bits());
                }
                prop_assert!(total[length..].iter().all(|&left| left == 7));
            }
        }

        #[test]
        fn the_nearest_float_is_the_cast(value: i64, by in 0_u32..64) {
            check(value >> by);
        }
    }

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
}
