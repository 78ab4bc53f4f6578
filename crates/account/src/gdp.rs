//! Gaussian differential privacy: one number μ for any composition of Gaussian mechanisms.
//!
//! Gaussian noise of deviation σ on a query of L2-sensitivity Δ has μ = Δ/σ; μ² adds up under
//! composition, also adaptively; and μ-GDP holds exactly when the mechanism is (ε, δ(ε))-DP for
//! every ε ≥ 0 with
//!
//! δ(ε) = Φ(−x₁) − e^ε·Φ(−x₂), x₁ = ε/μ − μ/2, x₂ = x₁ + μ
//!
//! (Balle & Wang 2018, Theorem 8; Dong, Roth & Su 2022, Corollary 2.13). Valid for every ε, unlike
//! the classical σ = √(2 ln(1.25/δ))/ε, which at (10, 1e-6) in truth spends δ = 1.9e-6.
//!
//! The evaluation, and the margin by which it errs upwards, are in `tradeoff.rs`.
//!
//! **Which Gaussian covers a mechanism of another kind.** A trade-off function f gives the least
//! type II error at each type I error; a mechanism is post-processing of the pair N(0, 1), N(μ, 1)
//! exactly when f ≥ G_μ, G_μ(α) = Φ(Φ⁻¹(1 − α) − μ) (Blackwell; Dong, Roth & Su 2022, Theorem 2).
//! * *ε-DP*: f is at least the piecewise linear function through (0, 1), (p, p), (1, 0) with
//!   p = 1/(1 + e^ε), randomised response. G_μ is convex and meets both ends, so f ≥ G_μ exactly
//!   if p ≥ G_μ(p), that is μ ≥ −2Φ⁻¹(p). Equality there: no smaller μ covers every ε-DP mechanism.
//! * *Bounded range η*: the likelihood ratio lies in [e^{t−η}, e^t] for some t in [0, η]. By
//!   convexity the worst law of the ratio sits on the two ends, so its trade-off function is linear
//!   between (0, 1), (a, b), (1, 0) with a = (e^{η−t} − 1)/(e^η − 1), b = (e^t − 1)/(e^η − 1). So
//!   μ ≥ −Φ⁻¹(a) − Φ⁻¹(b) is needed for every t. Now (1 − a)/a = e^η·b/(1 − b): with F the logistic
//!   distribution function, 1 − a = F(x + h) and b = F(x − h) for h = η/2 and some x. Let
//!   ψ = Φ⁻¹∘F, which is odd. ψ is concave on [0, ∞) (below). By symmetry let x ≥ 0. For x ≤ h,
//!   ψ(x + h) − ψ(x − h) = ψ(h + x) + ψ(h − x) ≤ 2ψ(h). For x > h the difference falls in x, and at
//!   x = h it is ψ(2h) ≤ 2ψ(h). So μ = 2ψ(η/2) = −2Φ⁻¹(1/(1 + e^{η/2})) is enough, and it is needed
//!   at t = η/2: a bounded range η costs as much as pure η/2.
//! * *ψ is concave on [0, ∞)*: with z = ψ(x), (ln ψ′)′ = ψψ′ − (2F − 1) has the sign of −D(z),
//!   D = φ·(2Φ − 1) − zΦ(1 − Φ). D(0) = D(∞) = 0 and D′ = φ²·(2 − k), k = Φ(1 − Φ)/φ². k grows from
//!   π/2 < 2 without bound: k′ has the sign of 2z − (h(z) − h(−z)), where h = φ/(1 − Φ) has slope
//!   below 1 (Sampford 1953). So D rises, then falls, and is never negative. In particular
//!   2ψ(x) ≤ 2ψ′(0)·x = x·√(π/2), which is used for small ε.

use serde::{Deserialize, Serialize};

use crate::normal::ln_tail_upper;
use crate::round::{UNIT, add_up, mul_up, smallest_with, sub_down, widen_up};
use crate::slack::precision_slack;
use crate::tradeoff::{delta_upper, epsilon_upper, limit};
use crate::{AccountError, Budget, Epsilon};
use std::f64::consts::PI;

/// The parameter μ > 0 of Gaussian differential privacy.
///
/// ```
/// use hushstream_account::{AccountError, Budget, Mu};
///
/// let mu = Mu::within(Budget::approx(1.0, 1e-6)?)?;
/// // Noise for a query of sensitivity 2.
/// assert!((mu.sigma_for(2.0)? - 8.449).abs() < 1e-3);
/// assert!(mu.epsilon_at(1e-6)? <= 1.0);
/// assert!(mu.compose(mu)?.epsilon_at(1e-6)? > 1.4);
/// # Ok::<(), AccountError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Mu(f64);

impl Mu {
    /// Checks a known μ.
    ///
    /// # Errors
    /// [`AccountError::Parameter`] unless 0 < μ < ∞.
    pub fn new(mu: f64) -> Result<Self, AccountError> {
        AccountError::positive("mu", mu).map(Self)
    }

    /// The μ = Δ/σ of Gaussian noise with deviation `sigma` on a query of L2-sensitivity
    /// `sensitivity`, rounded up.
    ///
    /// # Errors
    /// [`AccountError::Parameter`] unless both are finite and above 0; [`AccountError::NotFinite`]
    /// if the ratio overflows.
    pub fn of_noise(sensitivity: f64, sigma: f64) -> Result<Self, AccountError> {
        let sensitivity = AccountError::positive("sensitivity", sensitivity)?;
        let sigma = AccountError::positive("sigma", sigma)?;
        AccountError::finite("mu", (sensitivity / sigma).next_up()).map(Self)
    }

    /// The largest μ that an (ε, δ) budget allows, rounded down.
    ///
    /// It is kept another 2⁻⁵⁰ below, so that its square, rounded up, still fits a
    /// [`Filter`](crate::Filter) opened with the same budget.
    ///
    /// # Errors
    /// [`AccountError::NeedsDelta`] if δ = 0: Gaussian noise is never pure.
    /// [`AccountError::NotFinite`] if the budget is so small that no float fits.
    pub fn within(budget: Budget) -> Result<Self, AccountError> {
        limit(budget).map(|mu| Self((mu * (1.0 - 8.0 * UNIT)).next_down()))
    }

    /// The largest μ that an (ε, δ) budget allows for draws that are off by a total-variation
    /// distance of `tau` in all: δ(ε; μ) + (1 + e^ε)·τ ≤ δ. Where [`Mu::within`] leaves room for
    /// the slack, it is that μ.
    ///
    /// # Errors
    /// As [`Mu::within`]; [`AccountError::DeltaOutOfReach`] if the slack leaves nothing of δ.
    pub fn within_with_slack(budget: Budget, tau: f64) -> Result<Self, AccountError> {
        let (epsilon, delta) = (budget.epsilon(), budget.delta());
        let slack = precision_slack(epsilon, tau)?;
        let whole = Self::within(budget)?;
        if add_up(delta_upper(whole.0, epsilon), slack) <= delta {
            return Ok(whole);
        }
        if slack >= delta {
            return Err(AccountError::DeltaOutOfReach {
                delta,
                at_least: slack,
            });
        }
        Self::within(Budget::approx(epsilon, sub_down(delta, slack))?)
    }

    /// The least μ whose Gaussian covers every ε-DP mechanism, −2Φ⁻¹(1/(1 + e^ε)), rounded up.
    #[must_use]
    pub fn of_pure(epsilon: Epsilon) -> Self {
        let epsilon = epsilon.get();
        // ln p, p = 1/(1 + e^ε): no overflow for large ε.
        let ln_p = -(epsilon + libm::log1p(libm::exp(-epsilon)));
        let straight = widen_up(epsilon * (PI / 2.0).sqrt(), 8.0);
        let exact = smallest_with(|z| ln_tail_upper(z) <= ln_p * (1.0 + 4.0 * UNIT));
        Self(
            exact
                .map_or(straight, |z| straight.min(2.0 * z))
                .min(f64::MAX),
        )
    }

    /// The least μ whose Gaussian covers every selection of bounded range η, that of pure η/2.
    #[must_use]
    pub fn of_bounded_range(range: Epsilon) -> Self {
        // Halving is exact but for the smallest floats, where a larger ε is on the safe side.
        let half = (0.5 * range.get()).max(f64::MIN_POSITIVE);
        Epsilon::new(half).map_or(Self::of_pure(range), Self::of_pure)
    }

    /// μ as a number.
    #[must_use]
    pub fn get(self) -> f64 {
        self.0
    }

    /// An upper bound on δ at this ε, at most 1.
    ///
    /// # Errors
    /// [`AccountError::Parameter`] unless 0 ≤ ε < ∞.
    pub fn delta_at(self, epsilon: f64) -> Result<f64, AccountError> {
        Ok(delta_upper(self.0, AccountError::epsilon_asked(epsilon)?))
    }

    /// An upper bound on the smallest ε ≥ 0 at this δ.
    ///
    /// # Errors
    /// [`AccountError::Parameter`] unless 0 < δ < 1; [`AccountError::NotFinite`] if ε
    /// overflows.
    pub fn epsilon_at(self, delta: f64) -> Result<f64, AccountError> {
        let epsilon = epsilon_upper(self.0, AccountError::delta_asked(delta)?);
        AccountError::finite("epsilon", epsilon.unwrap_or(f64::INFINITY))
    }

    /// The μ of both mechanisms together: √(μ₁² + μ₂²), rounded up.
    ///
    /// # Errors
    /// [`AccountError::NotFinite`] if the squares overflow.
    pub fn compose(self, other: Self) -> Result<Self, AccountError> {
        AccountError::finite("mu", root_up(add_up(self.squared(), other.squared()))).map(Self)
    }

    /// The noise deviation σ = Δ/μ that gives this μ on a query of L2-sensitivity Δ, rounded up.
    ///
    /// # Errors
    /// [`AccountError::Parameter`] unless Δ is finite and above 0; [`AccountError::NotFinite`] if
    /// σ overflows.
    pub fn sigma_for(self, sensitivity: f64) -> Result<f64, AccountError> {
        let sensitivity = AccountError::positive("sensitivity", sensitivity)?;
        AccountError::finite("sigma", (sensitivity / self.0).next_up())
    }

    /// μ², rounded up: the quantity that adds up over Gaussian charges.
    pub(crate) fn squared(self) -> f64 {
        mul_up(self.0, self.0)
    }
}

crate::error::as_float!(Mu);

/// A float not below √x.
pub(crate) fn root_up(x: f64) -> f64 {
    if x > 0.0 { x.sqrt().next_up() } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tradeoff::ln_delta_upper;

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
    fn a_root_is_never_too_small_and_that_of_nothing_is_nothing() {
        assert!([0.0, -0.0].iter().all(|&zero| root_up(zero).abs() <= 0.0));
        assert!(root_up(2.0) > 2.0_f64.sqrt());
    }

    #[test]
    fn the_slack_of_draws_is_taken_out_of_delta() {
        let budget = Budget::approx(50.0, 1e-6).unwrap();
        let of = |tau| Mu::within_with_slack(budget, tau);
        let tau = 5e-7 / (1.0 + 50.0_f64.exp());
        let mu = of(tau).unwrap();
        assert!(mu.delta_at(50.0).unwrap() + 5e-7 <= 1e-6);
        assert!(mu < Mu::within(budget).unwrap());
        // An ordinary slack changes no bit, and one above δ leaves nothing.
        assert_eq!(of(1e-60).unwrap(), Mu::within(budget).unwrap());
        assert!(matches!(
            of(3.0 * tau),
            Err(AccountError::DeltaOutOfReach { .. })
        ));
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
                let bound = ln_delta_upper(mu, epsilon).min(0.0);
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
