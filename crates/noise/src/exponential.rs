//! e^(−x) in integers for the samplers: a fast version with 128 bits, and one of any precision with
//! proved bounds.
//!
//! Fixed point "Q128" means that the integer n stands for n/2¹²⁸.

use dashu_int::UBig;
use dashu_int::ops::BitTest;

/// ⌊a·b/2¹²⁸⌋: the product of two Q128 numbers, rounded down.
#[inline]
pub(crate) fn multiply_q128(a: u128, b: u128) -> u128 {
    let low = u128::from(u64::MAX);
    let (a1, a0, b1, b0) = (a >> 64, a & low, b >> 64, b & low);
    // No overflow: each cross sum is at most (2⁶⁴−1)² + 2(2⁶⁴−1) = 2¹²⁸ − 1.
    let middle = a1 * b0 + ((a0 * b0) >> 64);
    let other = a0 * b1 + (middle & low);
    a1 * b1 + (middle >> 64) + (other >> 64)
}

/// Number of Taylor terms: for x ≤ 1/4 the first one left out is below 4^−31/31! < 2⁻¹⁷⁴; for
/// x < 1/16, as almost always, 22 leave out less than 16^−23/23! < 2⁻¹⁶⁶.
const TERMS: usize = 30;

/// ⌊2¹²⁸/n⌋ for n = 0…TERMS (the first two entries are not used: 2¹²⁸ does not fit).
const RECIPROCALS: [u128; TERMS + 1] = {
    let mut table = [u128::MAX; TERMS + 1];
    let mut n = 2;
    while n <= TERMS {
        // 2¹²⁸ = n·⌊(2¹²⁸−1)/n⌋ + remainder + 1; the quotient grows by one only if n divides 2¹²⁸.
        table[n] = u128::MAX / n as u128 + (n.is_power_of_two() as u128);
        n += 1;
    }
    table
};

/// e^(−x) in Q128 for x ≤ 1/4 in Q128, with an error of at most 2⁻¹²⁵.
///
/// Horner's form of the Taylor series, s ← 1 − x·s/n from the last term to the first. A step errs
/// by at most three units (two products rounded down, a reciprocal rounded down, 1 written as
/// 2¹²⁸−1: the first three make the product too small, the last makes the result too small), and
/// every later step shrinks an error by x/n ≤ 1/4: in all at most 3·(1 + 1/4 + …) = 4 units, plus
/// the one unit of the final 1.
pub(crate) fn exp_minus_q128(x: u128) -> u128 {
    debug_assert!(x <= 1 << 126);
    let terms = if x < 1 << 124 { 22 } else { TERMS };
    let mut sum = u128::MAX;
    for n in (2..=terms).rev() {
        sum = u128::MAX - multiply_q128(multiply_q128(x, sum), RECIPROCALS[n]);
    }
    u128::MAX - multiply_q128(x, sum)
}

/// Integers (low, high) with low ≤ 2^precision·e^(−x) ≤ high for x = numerator/2^shift.
///
/// Halve x until it is below 1/2, bracket the alternating Taylor series in integers rounded
/// outward, square back. Squaring doubles the relative width, so 2·halvings + 32 guard bits leave a
/// bracket of a few units.
pub(crate) fn exp_minus_bounds(numerator: &UBig, shift: usize, precision: usize) -> (UBig, UBig) {
    let one = UBig::ONE;
    if (numerator >> shift) >= UBig::from(precision) {
        return (UBig::ZERO, one); // e^(−x) < 2^(−x) ≤ 2^(−precision)
    }
    let halvings = (numerator.bit_len() + 1).saturating_sub(shift);
    let working = precision + 2 * halvings + 32;
    let denominator_shift = shift + halvings;

    let unit = &one << working;
    let (mut term_low, mut term_high) = (unit.clone(), unit.clone());
    // Sum positive and negative terms separately, so that everything stays unsigned.
    let (mut plus_low, mut plus_high) = (unit.clone(), unit);
    let (mut minus_low, mut minus_high) = (UBig::ZERO, UBig::ZERO);
    let mut n = 1_usize;
    while !term_high.is_one() {
        term_low = ((&term_low * numerator) >> denominator_shift) / n;
        term_high = ceil_div(ceil_shift(&term_high * numerator, denominator_shift), n);
        if term_high.is_zero() {
            term_high = one.clone(); // numerator 0: stop, with a bracket of one unit
        }
        let (low, high) = if n % 2 == 1 {
            (&mut minus_low, &mut minus_high)
        } else {
            (&mut plus_low, &mut plus_high)
        };
        *low += &term_low;
        *high += &term_high;
        n += 1;
    }
    // The omitted terms alternate and decrease: at most the last term, one unit, to either side.
    let mut low = plus_low - minus_high - &one;
    let mut high = plus_high - minus_low + &one;
    for _ in 0..halvings {
        low = (&low * &low) >> working;
        high = ceil_shift(&high * &high, working);
    }
    let drop = working - precision;
    (low >> drop, ceil_shift(high, drop))
}

fn ceil_shift(value: UBig, shift: usize) -> UBig {
    (value + ((UBig::ONE << shift) - UBig::ONE)) >> shift
}

fn ceil_div(value: UBig, divisor: usize) -> UBig {
    (value + UBig::from(divisor - 1)) / divisor
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn big_product(a: u128, b: u128) -> u128 {
        u128::try_from((UBig::from(a) * UBig::from(b)) >> 128).unwrap()
    }

    #[test]
    fn products_of_extremes() {
        let values = [
            0,
            1,
            u128::MAX,
            u128::MAX - 1,
            1 << 64,
            (1 << 64) - 1,
            1 << 127,
        ];
        for a in values {
            for b in values {
                assert_eq!(multiply_q128(a, b), big_product(a, b));
            }
        }
    }

    #[test]
    fn known_digits_of_one_over_e() {
        // e^(−1) = 0.36787944117144232159552377016146086744581113103176…
        let (low, high) = exp_minus_bounds(&UBig::ONE, 0, 160);
        let scaled =
            UBig::from_str_radix("36787944117144232159552377016146086744581113103176", 10).unwrap();
        let ten = UBig::from(10_u8).pow(50);
        assert!(&low * &ten <= (&scaled + UBig::ONE) << 160);
        assert!(&high * &ten >= &scaled << 160);
        assert!(high - low <= UBig::from(4_u8));
    }

    #[test]
    fn extremes_stay_bracketed() {
        assert!(exp_minus_bounds(&UBig::ZERO, 0, 100).0 >= (UBig::ONE << 100) - UBig::from(2_u8));
        assert_eq!(
            exp_minus_bounds(&UBig::from(200_u8), 0, 100),
            (UBig::ZERO, UBig::ONE)
        );
    }

    proptest! {
        #[test]
        fn products_equal_big_products(a: u128, b: u128) {
            prop_assert_eq!(multiply_q128(a, b), big_product(a, b));
        }

        #[test]
        fn fast_and_proved_exponentials_agree(x in 0..=1_u128 << 126) {
            let (low, high) = exp_minus_bounds(&UBig::from(x), 128, 128);
            let fast = UBig::from(exp_minus_q128(x));
            prop_assert!(&fast + UBig::from(8_u8) >= low && fast <= high + UBig::from(8_u8));
        }

        #[test]
        fn brackets_are_narrow_and_nested(
            x: u64,
            shift in 50_usize..70,
            precision in 1_usize..300,
        ) {
            let x = UBig::from(x);
            let (low, high) = exp_minus_bounds(&x, shift, precision);
            prop_assert!(high >= low && &high - &low <= UBig::from(3_u8));
            let (finer_low, finer_high) = exp_minus_bounds(&x, shift, precision + 40);
            prop_assert!(finer_high >= &low << 40 && finer_low <= &high << 40);
        }
    }
}
