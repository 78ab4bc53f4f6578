//! One error for bad numbers: it names the parameter, what was given, and what is allowed.

use thiserror::Error;

/// A privacy parameter that cannot be used, and what is allowed instead.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum AccountError {
    /// A number outside its allowed range (NaN and infinities are always outside).
    #[error("{parameter} = {value} is not allowed: it must be {allowed}")]
    OutOfRange {
        /// The parameter, as the documentation names it.
        parameter: &'static str,
        /// What was given.
        value: f64,
        /// What is allowed, in words.
        allowed: &'static str,
    },
    /// δ = 0 was asked of noise that cannot give it.
    #[error("{noise} cannot give delta = 0: allow 0 < delta < 1, or use a pure mechanism")]
    NeedsDelta {
        /// The noise or notion of privacy that needs δ > 0.
        noise: &'static str,
    },
    /// No finite answer exists at the δ asked for, because at least this much is already lost.
    #[error("delta = {delta} cannot be reached: ask for a delta above {at_least}")]
    DeltaOutOfReach {
        /// The δ asked for.
        delta: f64,
        /// A δ that any answer must exceed.
        at_least: f64,
    },
    /// A computed quantity is not a finite number.
    #[error("{quantity} is not a finite number for these parameters: use less extreme ones")]
    NotFinite {
        /// What was being computed.
        quantity: &'static str,
    },
    /// A word that is not one of the known names.
    #[error("unknown {parameter} `{value}`: it must be {allowed}")]
    UnknownName {
        /// The parameter, as the documentation names it.
        parameter: &'static str,
        /// What was given.
        value: String,
        /// The known names.
        allowed: &'static str,
    },
}

impl AccountError {
    /// The error for `value` unless `valid`; written so that a NaN, which fails every
    /// comparison, is rejected.
    pub(crate) fn unless(
        valid: bool,
        parameter: &'static str,
        value: f64,
        allowed: &'static str,
    ) -> Result<f64, Self> {
        if valid {
            Ok(value)
        } else {
            Err(Self::OutOfRange {
                parameter,
                value,
                allowed,
            })
        }
    }

    /// A finite number above zero.
    pub(crate) fn positive(parameter: &'static str, value: f64) -> Result<f64, Self> {
        let valid = value.is_finite() && value > 0.0;
        Self::unless(valid, parameter, value, "finite and above 0")
    }

    /// An ε at which a δ is asked for: zero is a fair question.
    pub(crate) fn epsilon_asked(value: f64) -> Result<f64, Self> {
        let valid = value.is_finite() && value >= 0.0;
        Self::unless(valid, "epsilon", value, "finite and at least 0")
    }

    /// A δ at which an ε is asked for, zero excluded.
    pub(crate) fn delta_asked(value: f64) -> Result<f64, Self> {
        let valid = value > 0.0 && value < 1.0;
        Self::unless(valid, "delta", value, "above 0 and below 1")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_parameter_value_and_range() {
        let error = AccountError::positive("epsilon", -1.0).unwrap_err();
        assert_eq!(
            error.to_string(),
            "epsilon = -1 is not allowed: it must be finite and above 0"
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
