//! The exponential mechanism: choose i with probability ∝ e^(−γ·penalty_i).
//!
//! **Law.** Exact, for whole penalties and a dyadic γ = m/2ˢ (every finite floating-point number is
//! one).
//!
//! **Method.** Let m be the least penalty and x_i = γ(penalty_i − m). Round each weight *up* to 64
//! bits, u_i between 2⁶⁴e^(−x_i) and three units more (2⁶⁴ itself for x_i = 0, 1 from ⌊x_i⌋ = 45
//! on, else the top 64 bits of a 128-bit evaluation plus 2, whose last units are part of the stored
//! format: a replay must repeat them); choose i with probability ∝ u_i in integers; keep it with
//! probability 2⁶⁴e^(−x_i)/u_i, else start over. The result is i with probability ∝ e^(−x_i),
//! exactly. *The acceptance coin* compares uniform bits with brackets of e^(−x_i), narrowing the
//! brackets until the comparison is certain, so nothing is ever rounded; for a weight near the
//! largest, 64 bits are not enough with probability 2⁻⁶². It reads one word at a time, and none for
//! x_i = 0.
//!
//! **Time.** One pass over the weights, except with probability O(number/2⁶⁴). The time of the
//! arithmetic still depends on the penalties, so an observer with a clock may learn about them:
//! draw ahead of need where that matters.

use crate::exponential::{exp_minus_bounds, exp_minus_q128, multiply_q128};
use crate::{Cursor, NoiseError};
use dashu_int::UBig;
use hushstream_account::ParameterError;
use std::sync::LazyLock;

/// A positive number of the form mantissa/2^shift.
///
/// ```
/// use hushstream_noise::{Dyadic, NoiseError};
///
/// let three_quarters = Dyadic::new(3, 2)?;
/// let tenth = Dyadic::from_f64(0.1)?; // exactly the float, which is not 1/10
/// assert_ne!(three_quarters, tenth);
/// assert!(Dyadic::from_f64(0.0).is_err());
/// # Ok::<(), NoiseError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dyadic {
    mantissa: u64,
    shift: u32,
}

impl Dyadic {
    /// `mantissa`/2^`shift`.
    ///
    /// # Errors
    /// A mantissa of 0, or a shift above 1100.
    pub fn new(mantissa: u64, shift: u32) -> Result<Self, NoiseError> {
        if mantissa == 0 || shift > 1100 {
            return Err(ParameterError::new(
                "dyadic number",
                format_args!("{mantissa}/2^{shift}"),
                "mantissa at least 1, shift at most 1100",
            )
            .into());
        }
        Ok(Self { mantissa, shift })
    }

    /// The exact value of a floating-point number.
    ///
    /// # Errors
    /// Zero, negative, infinite, NaN, or 2⁵³ and above.
    pub fn from_f64(value: f64) -> Result<Self, NoiseError> {
        let limit = (1_u64 << 53) as f64;
        if !(value > 0.0 && value < limit) {
            return Err(ParameterError::new("rate", value, "a positive number below 2^53").into());
        }
        let bits = value.to_bits();
        let exponent = (bits >> 52) as i32;
        let fraction = bits & ((1 << 52) - 1);
        let (mantissa, exponent) = if exponent == 0 {
            (fraction, -1074)
        } else {
            (fraction | 1 << 52, exponent - 1075)
        };
        Self::new(mantissa, exponent.unsigned_abs())
    }
}

/// Choice among weights e^(−rate·penalty).
///
/// ```
/// use hushstream_noise::{Dyadic, ExponentialChoice, Instance, Key, NoiseError, Source};
///
/// let source = Source::open(&Key::insecure_from_seed(1), Instance::from_bytes([0; 16]), 1);
/// let choice = ExponentialChoice::new(Dyadic::from_f64(1.0)?);
/// // The last index is e^5 = 148 times more likely than the others.
/// let draws = (0..100).map(|node| choice.draw(&[5, 5, 0], &mut source.cursor(node, 0)));
/// let last = draws.filter(|index| *index == Ok(2)).count();
/// assert!(last > 90);
/// # Ok::<(), NoiseError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExponentialChoice {
    rate: Dyadic,
}

impl ExponentialChoice {
    /// The draw is exact.
    pub const SLACK: f64 = 0.0;

    /// The exponential mechanism with the given rate; small penalties are preferred.
    #[must_use]
    pub fn new(rate: Dyadic) -> Self {
        Self { rate }
    }

    /// The index of a penalty, chosen with probability ∝ e^(−rate·penalty).
    ///
    /// # Errors
    /// No penalties, or more than 2³².
    pub fn draw(self, penalties: &[u64], bits: &mut Cursor<'_>) -> Result<usize, NoiseError> {
        let Some(&least) = penalties.iter().min() else {
            return Err(ParameterError::new("number of penalties", 0, "1 to 2^32").into());
        };
        if penalties.len() as u64 > 1 << 32 {
            let given = penalties.len();
            return Err(ParameterError::new("number of penalties", given, "1 to 2^32").into());
        }
        let total: u128 = penalties.iter().map(|p| self.weight_up(p - least)).sum();
        loop {
            let mut place = bits.below(total);
            let chosen = penalties
                .iter()
                .position(|penalty| {
                    let weight = self.weight_up(penalty - least);
                    let here = place < weight;
                    place = place.wrapping_sub(weight);
                    here
                })
                .expect("a place below the total lies in one of the weights");
            if self.keep(penalties[chosen] - least, bits) {
                return Ok(chosen);
            }
        }
    }

    /// An integer from 2⁶⁴e^(−x) to 2⁶⁴e^(−x) + 3, x = rate·penalty.
    fn weight_up(self, penalty: u64) -> u128 {
        if penalty == 0 {
            return 1 << 64;
        }
        let product = u128::from(self.rate.mantissa) * u128::from(penalty);
        let shift = self.rate.shift;
        let whole = product.checked_shr(shift).unwrap_or(0);
        if whole >= 45 {
            return 1; // e^(−45) < 2⁻⁶⁴
        }
        let fraction = if shift <= 128 {
            let above = product.checked_shr(shift).unwrap_or(0);
            let below = product - above.checked_shl(shift).unwrap_or(0);
            below.checked_shl(128 - shift).unwrap_or(0)
        } else {
            product.checked_shr(shift - 128).unwrap_or(0)
        };
        // The argument is rounded down by less than a unit, each of the at most seven factors by a
        // few. So the result is within 2⁻¹²⁰ of e^(−x), and adding two units always rounds up.
        let quarter = exp_minus_q128(fraction >> 2);
        let half = multiply_q128(quarter, quarter);
        let mut weight = multiply_q128(half, half);
        for (bit, power) in POWERS.iter().enumerate() {
            if whole >> bit & 1 == 1 {
                weight = multiply_q128(weight, *power);
            }
        }
        (weight >> 64) + 2
    }

    /// Heads with probability 2⁶⁴e^(−x)/weight_up, exactly: brackets of e^(−x) against brackets of
    /// a uniform number, both narrowed by 64 bits at a time until they are disjoint.
    fn keep(self, penalty: u64, bits: &mut Cursor<'_>) -> bool {
        if penalty == 0 {
            return true; // the weight is 2⁶⁴ itself
        }
        let weight = UBig::from(self.weight_up(penalty));
        let numerator = UBig::from(self.rate.mantissa) * UBig::from(penalty);
        let mut uniform = UBig::ZERO;
        let mut digits = 0;
        loop {
            digits += 64;
            uniform = (uniform << 64) + UBig::from(bits.next_word());
            // uniform/2^digits·weight < 2⁶⁴e^(−x), both sides times 2^digits.
            let (low, high) = exp_minus_bounds(&numerator, self.rate.shift as usize, digits + 64);
            if (&uniform + UBig::ONE) * &weight <= low {
                return true;
            }
            if &uniform * &weight >= high {
                return false;
            }
        }
    }
}

/// e^(−1), e^(−2), e^(−4), …, e^(−32) in Q128, rounded down.
static POWERS: LazyLock<[u128; 6]> = LazyLock::new(|| {
    std::array::from_fn(|bit| {
        let (low, _) = exp_minus_bounds(&(UBig::ONE << bit), 0, 128);
        u128::try_from(low).expect("e^(-1) is below one")
    })
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Instance, Key, Source};
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(500))]

        #[test]
        fn weights_are_rounded_up_by_at_most_three(
            rate in 1_u64..1 << 40,
            shift in 20_u32..80,
            penalty: u32,
        ) {
            let choice = ExponentialChoice::new(Dyadic::new(rate, shift).unwrap());
            let weight = UBig::from(choice.weight_up(u64::from(penalty)));
            let x = UBig::from(rate) * UBig::from(penalty);
            let (low, high) = exp_minus_bounds(&x, shift as usize, 192);
            prop_assert!(&weight << 128 >= high);
            prop_assert!(weight << 128 <= low + (UBig::from(3_u8) << 128));
        }
    }

    #[test]
    fn floats_are_taken_exactly() {
        assert_eq!(
            Dyadic::from_f64(0.75).unwrap(),
            Dyadic::new(3 << 51, 53).unwrap()
        );
        assert_eq!(
            Dyadic::from_f64(5e-324).unwrap(),
            Dyadic::new(1, 1074).unwrap()
        );
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e300] {
            assert!(Dyadic::from_f64(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn extreme_rates_and_penalties() {
        let source = Source::open(
            &Key::insecure_from_seed(5),
            Instance::from_bytes([0; 16]),
            0,
        );
        let mut bits = source.cursor(0, 0);
        let steep = ExponentialChoice::new(Dyadic::new(u64::MAX, 0).unwrap());
        for _ in 0..100 {
            assert_eq!(steep.draw(&[u64::MAX, 3, 4], &mut bits), Ok(1));
        }
        let flat = ExponentialChoice::new(Dyadic::new(1, 1100).unwrap());
        let drawn: std::collections::HashSet<_> = (0..100)
            .map(|_| flat.draw(&[0, u64::MAX], &mut bits).unwrap())
            .collect();
        assert_eq!(drawn.len(), 2);
        assert!(flat.draw(&[], &mut bits).is_err());
        assert_eq!(flat.draw(&[7], &mut bits), Ok(0));
    }
}
