//! Pure differential privacy: ε alone.
//!
//! M is ε-DP when P[M(x) ∈ S] ≤ e^ε·P[M(x′) ∈ S] for all neighbours and all S, i.e. (ε, 0)-DP.
//! Composition adds: the likelihood ratio of a transcript is a product of conditional ratios, each
//! at most e^{ε_i}, also when each ε_i-DP step is chosen from the steps before it (basic
//! composition, Dwork et al. 2006). The sum is rounded up.

use serde::{Deserialize, Serialize};

use crate::AccountError;
use crate::round::add_up;

/// The parameter ε > 0 of a pure mechanism, or the range η of a bounded-range one.
///
/// ```
/// use hushstream_account::{AccountError, Epsilon};
///
/// // Laplace noise of scale 4 on a query of L1-sensitivity 2.
/// let epsilon = Epsilon::of_noise(2.0, 4.0)?;
/// assert!((epsilon.get() - 0.5).abs() < 1e-12);
/// assert_eq!(Epsilon::new(0.5)?.compose(Epsilon::new(0.5)?)?, Epsilon::new(1.0)?);
/// # Ok::<(), AccountError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Epsilon(f64);

impl Epsilon {
    /// Checks a known ε.
    ///
    /// # Errors
    /// [`AccountError::Parameter`] unless 0 < ε < ∞.
    pub fn new(epsilon: f64) -> Result<Self, AccountError> {
        AccountError::positive("epsilon", epsilon).map(Self)
    }

    /// The ε = Δ₁/b of Laplace noise with scale b on a query of L1-sensitivity Δ₁, rounded up.
    ///
    /// # Errors
    /// [`AccountError::Parameter`] unless both are finite and above 0; [`AccountError::NotFinite`]
    /// if the ratio overflows.
    pub fn of_noise(sensitivity: f64, scale: f64) -> Result<Self, AccountError> {
        let sensitivity = AccountError::positive("sensitivity", sensitivity)?;
        let scale = AccountError::positive("scale", scale)?;
        AccountError::finite("epsilon", (sensitivity / scale).next_up()).map(Self)
    }

    /// ε as a number.
    #[must_use]
    pub fn get(self) -> f64 {
        self.0
    }

    /// The ε of both mechanisms together: ε₁ + ε₂, rounded up.
    ///
    /// # Errors
    /// [`AccountError::NotFinite`] if the sum overflows.
    pub fn compose(self, other: Self) -> Result<Self, AccountError> {
        AccountError::finite("epsilon", add_up(self.0, other.0)).map(Self)
    }
}

crate::error::as_float!(Epsilon);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_rounded_up_only_when_inexact() {
        let half = Epsilon::new(0.5).unwrap();
        let one = half.compose(half).unwrap().get();
        assert_eq!(one.to_bits(), 1.0_f64.to_bits());
        let tiny = Epsilon::new(1e-30).unwrap();
        assert!(half.compose(tiny).unwrap().get() > 0.5);
    }

    #[test]
    fn bad_parameters_are_errors() {
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(Epsilon::new(bad).is_err());
        }
        assert!(Epsilon::of_noise(1.0, 0.0).is_err());
        assert!(Epsilon::of_noise(1e300, 1e-300).is_err());
        let huge = Epsilon::new(1e308).unwrap();
        assert!(huge.compose(huge).is_err());
    }

    #[test]
    fn noise_scale_gives_ratio() {
        let epsilon = Epsilon::of_noise(2.0, 4.0).unwrap().get();
        assert!((0.5..0.5 + 1e-15).contains(&epsilon));
    }
}
