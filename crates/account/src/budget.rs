//! A privacy budget: a pair (ε, δ), checked once and valid from then on.
//!
//! A mechanism M is (ε, δ)-DP when P[M(x) ∈ S] ≤ e^ε·P[M(x′) ∈ S] + δ for all neighbours x, x′ and
//! all sets S. ε = 0 would allow nothing to be learned and δ ≥ 1 would promise nothing, so neither
//! is a budget.

use serde::{Deserialize, Serialize};

use crate::AccountError;

/// A privacy budget (ε, δ): ε finite and above 0, δ at least 0 and below 1.
///
/// ```
/// use hushstream_account::{AccountError, Budget};
///
/// let budget = Budget::approx(1.0, 1e-6)?;
/// assert_eq!((budget.epsilon(), budget.delta()), (1.0, 1e-6));
/// assert!(Budget::pure(1.0)?.is_pure());
/// assert!(Budget::approx(1.0, 1.0).is_err());
/// # Ok::<(), AccountError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Parts", into = "Parts")]
pub struct Budget {
    epsilon: f64,
    delta: f64,
}

impl Budget {
    /// A budget for approximate differential privacy.
    ///
    /// # Errors
    /// [`AccountError::Parameter`] unless 0 < ε < ∞ and 0 ≤ δ < 1.
    pub fn approx(epsilon: f64, delta: f64) -> Result<Self, AccountError> {
        let valid = (0.0..1.0).contains(&delta);
        Ok(Self {
            epsilon: AccountError::positive("epsilon", epsilon)?,
            delta: AccountError::unless(valid, "delta", delta, "at least 0 and below 1")?,
        })
    }

    /// A budget for pure differential privacy, δ = 0.
    ///
    /// # Errors
    /// [`AccountError::Parameter`] unless 0 < ε < ∞.
    pub fn pure(epsilon: f64) -> Result<Self, AccountError> {
        Self::approx(epsilon, 0.0)
    }

    /// ε, the logarithm of the largest ratio of probabilities.
    #[must_use]
    pub fn epsilon(self) -> f64 {
        self.epsilon
    }

    /// δ, the additive part.
    #[must_use]
    pub fn delta(self) -> f64 {
        self.delta
    }

    /// Whether δ = 0.
    #[must_use]
    pub fn is_pure(self) -> bool {
        self.delta <= 0.0
    }
}

/// The serialised form, checked on the way in.
#[derive(Serialize, Deserialize)]
struct Parts {
    epsilon: f64,
    delta: f64,
}

impl From<Budget> for Parts {
    fn from(Budget { epsilon, delta }: Budget) -> Self {
        Self { epsilon, delta }
    }
}

impl TryFrom<Parts> for Budget {
    type Error = AccountError;

    fn try_from(Parts { epsilon, delta }: Parts) -> Result<Self, AccountError> {
        Self::approx(epsilon, delta)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_parameters_are_errors_that_say_what_is_allowed() {
        for epsilon in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let error = Budget::approx(epsilon, 1e-6).unwrap_err().to_string();
            assert!(error.starts_with("epsilon = "), "{error}");
            assert!(error.contains("finite and above 0"), "{error}");
        }
        for delta in [-1e-300, 1.0, 2.0, f64::NAN, f64::INFINITY] {
            let error = Budget::approx(1.0, delta).unwrap_err().to_string();
            assert!(error.starts_with("delta = "), "{error}");
            assert!(error.contains("at least 0 and below 1"), "{error}");
        }
    }

    #[test]
    fn pure_means_no_delta() {
        assert!(Budget::pure(1.0).unwrap().is_pure());
        assert!(!Budget::approx(1.0, 1e-300).unwrap().is_pure());
        assert!(Budget::pure(f64::NAN).is_err());
    }

    #[test]
    fn deserialising_checks_the_numbers() {
        let budget: Budget = serde_json::from_str(r#"{"epsilon":1.0,"delta":1e-6}"#).unwrap();
        assert_eq!(budget, Budget::approx(1.0, 1e-6).unwrap());
        assert!(serde_json::from_str::<Budget>(r#"{"epsilon":1.0,"delta":1.0}"#).is_err());
    }
}
