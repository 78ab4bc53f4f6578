//! Exact coins: probability p/q, and probability e^(−p/q).
//!
//! **Law.** Exact: no number is ever rounded; only integers are compared.
//!
//! **Proof for e^(−x)** (Canonne, Kamath and Steinke 2020, after von Neumann). For 0 ≤ x ≤ 1 toss
//! coins of probability x/1, x/2, x/3, … until the first tails, at toss k. P(k > m) = xᵐ/m!, so P(k
//! is odd) = Σ(−x)ᵐ/m! = e^(−x). For x > 1 toss ⌊x⌋ coins e^(−1), up to the first tails, and one
//! for the rest (also when it is 0); all must show heads.
//!
//! **Time** depends on the outcome, so an observer with a clock may learn it. Learners publish the
//! outcome anyway; where they do not, draw ahead of need.

use crate::{Cursor, NoiseError};
use hushstream_account::ParameterError;

/// A coin with an exact probability of heads.
///
/// ```
/// use hushstream_noise::{Coin, Instance, Key, NoiseError, Source};
///
/// let source = Source::open(&Key::insecure_from_seed(1), Instance::from_bytes([0; 16]), 1);
/// let mut bits = source.cursor(0, 0);
/// let coin = Coin::exp_minus(1, 2)?; // e^(−1/2) = 0.607
/// let heads = (0..1000).filter(|_| coin.toss(&mut bits)).count();
/// assert!((550..660).contains(&heads));
/// # Ok::<(), NoiseError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Coin {
    law: Law,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Law {
    Ratio(u64, u64),
    ExpMinus(u64, u64),
}

impl Coin {
    /// Heads with probability `numerator/denominator`.
    ///
    /// # Errors
    /// A denominator of 0, or a probability above 1.
    pub fn ratio(numerator: u64, denominator: u64) -> Result<Self, NoiseError> {
        if denominator == 0 || numerator > denominator {
            return Err(ParameterError::new(
                "probability",
                format_args!("{numerator}/{denominator}"),
                "numerator at most denominator, denominator at least 1",
            )
            .into());
        }
        Ok(Self {
            law: Law::Ratio(numerator, denominator),
        })
    }

    /// Heads with probability e^(−numerator/denominator).
    ///
    /// # Errors
    /// A denominator of 0.
    pub fn exp_minus(numerator: u64, denominator: u64) -> Result<Self, NoiseError> {
        if denominator == 0 {
            return Err(ParameterError::new(
                "exponent",
                format_args!("{numerator}/{denominator}"),
                "denominator at least 1",
            )
            .into());
        }
        Ok(Self {
            law: Law::ExpMinus(numerator, denominator),
        })
    }

    /// Tosses the coin; `true` is heads.
    pub fn toss(self, bits: &mut Cursor<'_>) -> bool {
        match self.law {
            Law::Ratio(numerator, denominator) => {
                bits.below(u128::from(denominator)) < u128::from(numerator)
            }
            Law::ExpMinus(numerator, denominator) => {
                let whole = numerator / denominator;
                (0..whole).all(|_| exp_minus_fraction(1, 1, bits))
                    && exp_minus_fraction(numerator % denominator, denominator, bits)
            }
        }
    }
}

/// Heads with probability e^(−numerator/denominator) for an exponent of at most 1.
pub(crate) fn exp_minus_fraction(numerator: u64, denominator: u64, bits: &mut Cursor<'_>) -> bool {
    debug_assert!(numerator <= denominator);
    let mut tosses = 1_u64;
    // denominator·tosses stays below 2¹²⁸: a run of 2⁶⁴ heads has probability 1/(2⁶⁴)!.
    while bits.below(u128::from(denominator) * u128::from(tosses)) < u128::from(numerator) {
        tosses += 1;
    }
    tosses % 2 == 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Instance, Key, Source};

    #[test]
    fn certain_and_impossible_outcomes() {
        let source = Source::open(
            &Key::insecure_from_seed(1),
            Instance::from_bytes([0; 16]),
            0,
        );
        let mut bits = source.cursor(0, 0);
        for _ in 0..1000 {
            assert!(Coin::ratio(1, 1).unwrap().toss(&mut bits));
            assert!(!Coin::ratio(0, 7).unwrap().toss(&mut bits));
            assert!(Coin::exp_minus(0, 7).unwrap().toss(&mut bits));
            assert!(!Coin::exp_minus(u64::MAX, 1).unwrap().toss(&mut bits));
        }
    }

    #[test]
    fn impossible_parameters_are_refused() {
        assert!(Coin::ratio(2, 1).is_err());
        assert!(Coin::ratio(0, 0).is_err());
        let message = Coin::exp_minus(3, 0).unwrap_err().to_string();
        assert_eq!(
            message,
            "exponent = 3/0 is not allowed; allowed: denominator at least 1"
        );
    }
}
