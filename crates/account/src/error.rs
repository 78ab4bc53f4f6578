//! The errors of privacy accounting, and the range checks that its parameters share.

use thiserror::Error;

use crate::ParameterError;

/// Why a privacy parameter or a privacy loss cannot be computed.
///
/// ```
/// use hushstream_account::{AccountError, Budget, Mu};
///
/// let error = Budget::approx(-1.0, 1e-6).unwrap_err();
/// assert_eq!(error.to_string(), "epsilon = -1 is not allowed; allowed: finite and above 0");
///
/// let pure = Budget::pure(1.0)?;
/// assert!(matches!(Mu::within(pure), Err(AccountError::NeedsDelta { .. })));
/// # Ok::<(), AccountError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum AccountError {
    /// A number outside its allowed range (NaN and infinities are always outside).
    #[error(transparent)]
    Parameter(#[from] ParameterError),
    /// The noise has no guarantee with δ = 0.
    #[error("{noise} cannot give delta = 0: allow 0 < delta < 1, or use a pure mechanism")]
    NeedsDelta {
        /// The noise or notion of privacy that needs δ > 0.
        noise: &'static str,
    },
    /// No finite ε exists at the requested δ: a larger δ is already lost.
    #[error("delta = {delta} cannot be reached: ask for a delta above {at_least}")]
    DeltaOutOfReach {
        /// The requested δ.
        delta: f64,
        /// A lower bound on every δ that can be requested.
        at_least: f64,
    },
    /// A computed quantity is not a finite number.
    #[error("{quantity} is not a finite number for these parameters: use less extreme ones")]
    NotFinite {
        /// The quantity that overflowed.
        quantity: &'static str,
    },
}

impl AccountError {
    /// Returns `value` if `valid`. Callers state when a value is valid, not when it is invalid, so
    /// that NaN, which fails every comparison, is rejected.
    pub(crate) fn unless(
        valid: bool,
        parameter: &'static str,
        value: f64,
        allowed: &'static str,
    ) -> Result<f64, Self> {
        if valid {
            Ok(value)
        } else {
            Err(ParameterError::new(parameter, value, allowed).into())
        }
    }

    /// Checks that a number is finite and above zero.
    /// The value, unless it overflowed.
    pub(crate) fn finite(quantity: &'static str, value: f64) -> Result<f64, Self> {
        let finite = value.is_finite().then_some(value);
        finite.ok_or(Self::NotFinite { quantity })
    }

    pub(crate) fn positive(parameter: &'static str, value: f64) -> Result<f64, Self> {
        let valid = value.is_finite() && value > 0.0;
        Self::unless(valid, parameter, value, "finite and above 0")
    }

    /// Checks an ε at which a δ is requested; zero is allowed.
    pub(crate) fn epsilon_asked(value: f64) -> Result<f64, Self> {
        let valid = value.is_finite() && value >= 0.0;
        Self::unless(valid, "epsilon", value, "finite and at least 0")
    }

    /// Checks a δ at which an ε is requested; zero is not allowed.
    pub(crate) fn delta_asked(value: f64) -> Result<f64, Self> {
        let valid = value > 0.0 && value < 1.0;
        Self::unless(valid, "delta", value, "above 0 and below 1")
    }
}

/// A checked number is stored as a float, and checked again when it is read.
macro_rules! as_float {
    ($type:ident) => {
        impl From<$type> for f64 {
            fn from(checked: $type) -> Self {
                checked.0
            }
        }

        impl TryFrom<f64> for $type {
            type Error = AccountError;

            fn try_from(value: f64) -> Result<Self, AccountError> {
                Self::new(value)
            }
        }
    };
}
pub(crate) use as_float;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_parameter_value_and_range() {
        let error = AccountError::positive("epsilon", -1.0).unwrap_err();
        assert_eq!(
            error.to_string(),
            "epsilon = -1 is not allowed; allowed: finite and above 0"
        );
        for bad in [0.0, -0.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert!(AccountError::positive("epsilon", bad).is_err());
        }
        for bad in [0.0, 1.0, -0.1, 1.5, f64::NAN] {
            assert!(AccountError::delta_asked(bad).is_err());
        }
        assert!(AccountError::epsilon_asked(0.0).is_ok());
        assert!(AccountError::epsilon_asked(f64::NAN).is_err());
    }
}
