//! The price of draws whose law differs from the stated one.
//!
//! If every draw's law is off by a total-variation distance, τ in all, then from
//! P(S) ≤ e^ε·Q(S) + δ for the ideal laws, P̃(S) ≤ P(S) + τ ≤ e^ε·Q(S) + δ + τ ≤
//! e^ε·Q̃(S) + δ + (1 + e^ε)τ: the claim is (ε, δ + (1+e^ε)·τ). τ counts the draws that one
//! protected unit can affect. An exact sampler has τ = 0 and costs nothing.

use crate::AccountError;
use crate::round::widen_up;

/// The precision slack (1 + e^ε)·τ, rounded up: the addition to δ for draws that are off by a
/// total-variation distance of τ in all.
///
/// At most 1, which as a δ says nothing: an overflowing e^ε cannot turn into a claim.
///
/// ```
/// use hushstream_account::{AccountError, precision_slack};
///
/// let slack = precision_slack(1.0, 1e-20)?;
/// assert!((slack / 3.718e-20 - 1.0).abs() < 1e-3);
/// assert_eq!(precision_slack(1.0, 0.0)?, 0.0);
/// # Ok::<(), AccountError>(())
/// ```
///
/// # Errors
/// [`AccountError::Parameter`] unless 0 ≤ ε < ∞ and 0 ≤ τ ≤ 1.
pub fn precision_slack(epsilon: f64, tau: f64) -> Result<f64, AccountError> {
    let epsilon = AccountError::epsilon_asked(epsilon)?;
    Ok(slack(epsilon, checked_tau(tau)?))
}

/// The slack of checked arguments.
pub(crate) fn slack(epsilon: f64, tau: f64) -> f64 {
    if tau > 0.0 {
        widen_up((1.0 + libm::exp(epsilon)) * tau, 8.0).min(1.0)
    } else {
        0.0
    }
}

/// Checks a total-variation distance.
pub(crate) fn checked_tau(tau: f64) -> Result<f64, AccountError> {
    let valid = (0.0..=1.0).contains(&tau);
    AccountError::unless(valid, "total variation", tau, "at least 0 and at most 1")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slack_is_bounded_and_checked() {
        assert!((precision_slack(0.0, 1e-30).unwrap() / 2e-30 - 1.0).abs() < 1e-14);
        assert!((precision_slack(1e5, 1e-30).unwrap() - 1.0).abs() < 1e-15);
        assert!(precision_slack(1e5, 0.0).unwrap() <= 0.0);
        assert!(precision_slack(f64::NAN, 0.0).is_err() && precision_slack(1.0, 2.0).is_err());
    }
}
