//! Gaussian differential privacy: one number μ for any composition of Gaussian mechanisms.
//!
//! Gaussian noise of deviation σ on a query of L2-sensitivity Δ has μ = Δ/σ; μ² adds up under composition, also
//! adaptively; and μ-GDP holds exactly when the mechanism is (ε, δ(ε))-DP for every ε ≥ 0 with
//!
//! δ(ε) = Φ(−x₁) − e^ε·Φ(−x₂), x₁ = ε/μ − μ/2, x₂ = x₁ + μ
//!
//! (Balle & Wang 2018, Theorem 8; Dong, Roth & Su 2022, Corollary 2.13). Valid for every ε, unlike the classical
//! σ = √(2 ln(1.25/δ))/ε, which at (10, 1e-6) in truth spends δ = 1.9e-6.
//!
//! The evaluation, and the margin by which it errs upwards, are in `tradeoff.rs`.

use serde::{Deserialize, Serialize};

use crate::round::{UNIT, add_up, mul_up};
use crate::tradeoff::{delta_upper, epsilon_upper, limit, ln_delta_upper};
use crate::{AccountError, Budget, Rho};

/// The parameter μ > 0 of Gaussian differential privacy.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Mu(f64);

impl Mu {
    /// A known μ.
    ///
    /// # Errors
    /// [`AccountError::OutOfRange`] unless 0 < μ < ∞.
    pub fn new(mu: f64) -> Result<Self, AccountError> {
        AccountError::positive("mu", mu).map(Self)
    }

    /// The μ = Δ/σ of Gaussian noise with deviation `sigma` on a query of L2-sensitivity `sensitivity`, rounded up.
    ///
    /// # Errors
    /// [`AccountError::OutOfRange`] unless both are finite and above 0; [`AccountError::NotFinite`] if the ratio overflows.
    pub fn of_noise(sensitivity: f64, sigma: f64) -> Result<Self, AccountError> {
        let sensitivity = AccountError::positive("sensitivity", sensitivity)?;
        let sigma = AccountError::positive("sigma", sigma)?;
        finite((sensitivity / sigma).next_up())
    }

    /// The largest μ that an (ε, δ) budget allows, rounded down.
    ///
    /// It is kept another 2⁻⁵⁰ below, so that its square, rounded up, still fits a [`Filter`](crate::Filter) opened with the same budget.
    ///
    /// # Errors
    /// [`AccountError::NeedsDelta`] if δ = 0: Gaussian noise is never pure. [`AccountError::NotFinite`] if the
    /// budget is so small that no float would do.
    pub fn within(budget: Budget) -> Result<Self, AccountError> {
        limit(budget).map(|mu| Self((mu * (1.0 - 8.0 * UNIT)).next_down()))
    }

    /// μ as a number.
    #[must_use]
    pub fn get(self) -> f64 {
        self.0
    }

    /// An upper bound on δ at this ε, at most 1.
    ///
    /// # Errors
    /// [`AccountError::OutOfRange`] unless 0 ≤ ε < ∞.
    pub fn delta_at(self, epsilon: f64) -> Result<f64, AccountError> {
        Ok(delta_upper(self.0, AccountError::epsilon_asked(epsilon)?))
    }

    /// An upper bound on ln δ at this ε, for δ too small for a float.
    ///
    /// # Errors
    /// [`AccountError::OutOfRange`] unless 0 ≤ ε < ∞.
    pub fn ln_delta_at(self, epsilon: f64) -> Result<f64, AccountError> {
        Ok(ln_delta_upper(self.0, AccountError::epsilon_asked(epsilon)?).min(0.0))
    }

    /// An upper bound on the smallest ε ≥ 0 at this δ.
    ///
    /// # Errors
    /// [`AccountError::OutOfRange`] unless 0 < δ < 1; [`AccountError::NotFinite`] if no float would do.
    pub fn epsilon_at(self, delta: f64) -> Result<f64, AccountError> {
        let delta = AccountError::delta_asked(delta)?;
        epsilon_upper(self.0, delta).ok_or(AccountError::NotFinite {
            quantity: "epsilon",
        })
    }

    /// The μ of both mechanisms together: √(μ₁² + μ₂²), rounded up.
    ///
    /// # Errors
    /// [`AccountError::NotFinite`] if the squares overflow.
    pub fn compose(self, other: Self) -> Result<Self, AccountError> {
        finite(root_up(add_up(self.squared(), other.squared())))
    }

    /// The noise deviation σ = Δ/μ that gives this μ on a query of L2-sensitivity Δ, rounded up.
    ///
    /// # Errors
    /// [`AccountError::OutOfRange`] unless Δ is finite and above 0; [`AccountError::NotFinite`] if σ overflows.
    pub fn sigma_for(self, sensitivity: f64) -> Result<f64, AccountError> {
        let sensitivity = AccountError::positive("sensitivity", sensitivity)?;
        let sigma = (sensitivity / self.0).next_up();
        if sigma.is_finite() {
            Ok(sigma)
        } else {
            Err(AccountError::NotFinite { quantity: "sigma" })
        }
    }

    /// The ρ = μ²/2 of the same mechanism in zero-concentrated terms, rounded up.
    ///
    /// # Errors
    /// [`AccountError::NotFinite`] if the square overflows.
    pub fn to_rho(self) -> Result<Rho, AccountError> {
        Rho::of_gaussian(self)
    }

    /// μ², rounded up: what a sum of Gaussian charges adds.
    pub(crate) fn squared(self) -> f64 {
        mul_up(self.0, self.0)
    }
}

impl From<Mu> for f64 {
    fn from(mu: Mu) -> Self {
        mu.0
    }
}

impl TryFrom<f64> for Mu {
    type Error = AccountError;

    fn try_from(mu: f64) -> Result<Self, AccountError> {
        Self::new(mu)
    }
}

/// A float not below √x.
pub(crate) fn root_up(x: f64) -> f64 {
    if x > 0.0 { x.sqrt().next_up() } else { 0.0 }
}

fn finite(mu: f64) -> Result<Mu, AccountError> {
    if mu.is_finite() {
        Ok(Mu(mu))
    } else {
        Err(AccountError::NotFinite { quantity: "mu" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mu_within(epsilon: f64, delta: f64) -> f64 {
        Mu::within(Budget::approx(epsilon, delta).unwrap())
            .unwrap()
            .get()
    }

    #[test]
    fn published_values() {
        for (epsilon, delta, mu) in [
            (1.0, 1e-6, 0.236_704),
            (0.5, 1e-8, 0.101_383_5),
            (2.0, 1e-5, 0.501_551_7),
            (5.0, 1e-6, 1.020_357),
        ] {
            assert!((mu_within(epsilon, delta) - mu).abs() < 1e-6);
        }
        let sigma = Mu::new(mu_within(1.0, 1e-6)).unwrap().sigma_for(1.0);
        assert!((sigma.unwrap() - 4.2247).abs() < 5e-5);
    }

    #[test]
    fn classical_formula_is_invalid_for_large_epsilon() {
        // σ = √(2 ln(1.25/δ))/ε at δ = 1e-6 spends 1.9e-6 at ε = 10 and 1.6e-4 at ε = 20.
        for (epsilon, spent) in [(10.0, 1.9e-6), (20.0, 1.6e-4)] {
            let sigma = (2.0 * (1.25_f64 / 1e-6).ln()).sqrt() / epsilon;
            let delta = Mu::of_noise(1.0, sigma).unwrap().delta_at(epsilon);
            assert!((delta.unwrap() / spent - 1.0).abs() < 0.05);
        }
    }

    #[test]
    fn forgetting_kappa_is_a_breach() {
        let delta = Mu::new(2.0 * mu_within(1.0, 1e-6)).unwrap().delta_at(1.0);
        assert!((delta.unwrap() / 4.8e-3 - 1.0).abs() < 0.02);
    }

    #[test]
    fn extremes_are_finite_and_ordered() {
        for epsilon in [0.0, 1e-6, 1.0, 700.0, 1e5, 1e300] {
            let mut last = f64::NEG_INFINITY;
            for exponent in -6_000..=6_000 {
                let mu = 10.0_f64.powf(f64::from(exponent) / 20.0);
                let bound = Mu::new(mu).unwrap().ln_delta_at(epsilon).unwrap();
                assert!(!bound.is_nan() && bound <= 0.0 && bound >= last);
                last = bound;
            }
        }
        assert!(Mu::new(1e-3).unwrap().delta_at(1e5).unwrap() > 0.0);
        assert!(Mu::new(1e200).unwrap().epsilon_at(1e-6).is_err());
        let mu = mu_within(1e5, 1e-300);
        assert!((Mu::new(mu).unwrap().epsilon_at(1e-300).unwrap() / 1e5 - 1.0).abs() < 1e-9);
        assert!(mu_within(1e-6, 1e-300) > 0.0);
    }

    #[test]
    fn bad_parameters_are_errors() {
        assert!(Mu::new(0.0).is_err() && Mu::new(f64::NAN).is_err());
        let zero_scale = Mu::of_noise(1.0, 0.0).unwrap_err().to_string();
        assert!(zero_scale.contains("sigma = 0"), "{zero_scale}");
        assert!(Mu::of_noise(1e300, 1e-300).is_err());
        let pure = Mu::within(Budget::pure(1.0).unwrap());
        assert_eq!(
            pure,
            Err(AccountError::NeedsDelta {
                noise: "Gaussian noise"
            })
        );
        let mu = Mu::new(1.0).unwrap();
        assert!(mu.delta_at(-1.0).is_err() && mu.delta_at(f64::NAN).is_err());
        assert!(mu.epsilon_at(0.0).is_err() && mu.epsilon_at(1.0).is_err());
        assert!(serde_json::from_str::<Mu>("-1").is_err());
    }

    #[test]
    fn composition_adds_squares() {
        let both = Mu::new(3.0).unwrap().compose(Mu::new(4.0).unwrap());
        let mu = both.unwrap().get();
        assert!((5.0..5.0 + 1e-14).contains(&mu));
        assert!(
            Mu::new(1e200)
                .unwrap()
                .compose(Mu::new(1.0).unwrap())
                .is_err()
        );
    }
}
