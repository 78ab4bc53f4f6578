//! Zero-concentrated differential privacy: one number ρ for any mixture of mechanisms.
//!
//! M is ρ-zCDP when D_α(M(x)‖M(x′)) ≤ α·ρ for all neighbours and all α > 1 (Bun & Steinke 2016). ρ
//! adds up. The conversion of `renyi.rs` at the best order gives (ε, δ): with β = α − 1 the
//! stationary points are unique, because
//!
//! dε/dβ = ρ + (ln δ + ln(1+β))/β² has the sign of ρβ² + ln(1+β) + ln δ, which increases, and
//! d ln δ/dβ = (1 + 2β)ρ − ln(1 + 1/β) − ε increases.
//!
//! **The cost of each mechanism.** Let K(s) = ln E_P[e^{sL}] = s·D_{1+s}, L the privacy loss;
//! K(0) = K(−1) = 0.
//! * *Gaussian*: K(s) = s(s+1)μ²/2, so ρ = μ²/2.
//! * *η-bounded range* (L lies in an interval of length η): K″ is a variance of L under a tilted
//!   law, ≤ η²/4, and interpolation at 0 and −1 gives K(s) = s(s+1)K″(ξ)/2 ≤ s(s+1)η²/8, so
//!   ρ = η²/8 (Cesar & Rogers 2021). Such a mechanism is also η-DP.
//! * *Any ε-DP mechanism* is post-processing of randomised response (Kairouz, Oh & Viswanath 2015),
//!   for which, with t = s + ½, e^K = cosh(tε)/cosh(ε/2). ρ = K′(0) = ε·tanh(ε/2).
//! * *Laplace with ratio ε* = Δ₁/b: e^K = e^{−ε/2}·(cosh(tε) + sinh(tε)/(2t)).
//!   ρ = K′(0) = ε + e^{−ε} − 1. Rounding to a lattice that holds the query is post-processing;
//!   several coordinates with Σε_i = ε cost no more, since this is convex and 0 at 0.
//!
//! **Why K′(0) is enough** in the last two: e^K is even and entire in t; as a function of v = t² it
//! has order ½ and only negative zeros v = −y²: cos(yε) = 0, respectively
//! y·cos(yε) + ½·sin(yε) = 0, the eigenvalue equation of the self-adjoint problem −u″ = y²u,
//! u(0) = 0, u′(ε) + ½u(ε) = 0. So it is a product of factors 1 + v/y² (Hadamard), and K is a sum
//! of ln(1 + v/y²) and a constant: concave in v. A concave function lies below its tangent at v = ¼
//! (s = 0), and as v − ¼ = s(s+1) and dK/dv = K′(0) there, K(s) ≤ s(s+1)·K′(0), that is
//! D_α ≤ α·K′(0). (Equality as α → 1: no smaller ρ exists.)

use serde::{Deserialize, Serialize};

use crate::renyi::{delta_from_ln, epsilon_from, ln_delta_from};
use crate::round::{add_up, exp_minus_one_minus_self, largest_with, mul_down, mul_up, widen_up};
use crate::{AccountError, Budget, Epsilon, Mu};

/// The parameter ρ > 0 of zero-concentrated differential privacy.
///
/// ```
/// use hushstream_account::{AccountError, Epsilon, Rho};
///
/// // A thousand draws of the exponential mechanism of range 0.02.
/// let draw = Rho::of_bounded_range(Epsilon::new(0.02)?);
/// let all = Rho::new(1000.0 * draw.get())?;
/// assert!((all.epsilon_at(1e-6)? - 1.4716).abs() < 1e-4);
/// # Ok::<(), AccountError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Rho(f64);

impl Rho {
    /// Checks a known ρ.
    ///
    /// # Errors
    /// [`AccountError::Parameter`] unless 0 < ρ < ∞.
    pub fn new(rho: f64) -> Result<Self, AccountError> {
        AccountError::positive("rho", rho).map(Self)
    }

    /// The largest ρ that an (ε, δ) budget allows, rounded down.
    ///
    /// # Errors
    /// [`AccountError::NeedsDelta`] if δ = 0; [`AccountError::NotFinite`] if the budget is so small
    /// that no float fits.
    pub fn within(budget: Budget) -> Result<Self, AccountError> {
        if budget.is_pure() {
            return Err(AccountError::NeedsDelta { noise: "zCDP" });
        }
        largest_with(|rho| epsilon_upper(rho, budget.delta()) <= budget.epsilon())
            .map(Self)
            .ok_or(AccountError::NotFinite { quantity: "rho" })
    }

    /// The ρ = μ²/2 of a Gaussian mechanism, rounded up.
    ///
    /// # Errors
    /// [`AccountError::NotFinite`] if the square overflows.
    pub fn of_gaussian(mu: Mu) -> Result<Self, AccountError> {
        AccountError::finite("rho", mul_up(0.5, mu.squared())).map(Self)
    }

    /// The ρ = ε·tanh(ε/2) of any ε-DP mechanism (discrete Laplace and L2-Laplace among them),
    /// rounded up.
    #[must_use]
    pub fn of_pure(epsilon: Epsilon) -> Self {
        Self(widen_up(epsilon.get() * libm::tanh(0.5 * epsilon.get()), 8.0).min(f64::MAX))
    }

    /// The ρ = ε + e^{−ε} − 1 of continuous Laplace noise with ratio ε = Δ₁/b, or of its rounding
    /// to a lattice that holds the query, rounded up. **Not** for the discrete Laplace law: that is
    /// [`Rho::of_pure`].
    #[must_use]
    pub fn of_laplace(ratio: Epsilon) -> Self {
        Self(widen_up(exp_minus_one_minus_self(-ratio.get()), 8.0).min(f64::MAX))
    }

    /// The ρ = η²/8 of an η-bounded-range selection, rounded up; for large η the bound of
    /// [`Rho::of_pure`], which is then smaller.
    #[must_use]
    pub fn of_bounded_range(range: Epsilon) -> Self {
        let square = mul_up(range.get(), range.get());
        Self(mul_up(0.125, square).min(Self::of_pure(range).0))
    }

    /// ρ as a number.
    #[must_use]
    pub fn get(self) -> f64 {
        self.0
    }

    /// The μ = √(2ρ) of the Gaussian mechanism that costs this ρ, rounded down.
    ///
    /// # Errors
    /// [`AccountError::NotFinite`] if ρ is so small that no float fits.
    pub fn to_gaussian(self) -> Result<Mu, AccountError> {
        let twice = mul_down(2.0, self.0);
        largest_with(|mu| mul_up(mu, mu) <= twice)
            .ok_or(AccountError::NotFinite { quantity: "mu" })
            .and_then(Mu::new)
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
    /// [`AccountError::Parameter`] unless 0 < δ < 1; [`AccountError::NotFinite`] if ε overflows.
    pub fn epsilon_at(self, delta: f64) -> Result<f64, AccountError> {
        let epsilon = epsilon_upper(self.0, AccountError::delta_asked(delta)?);
        AccountError::finite("epsilon", epsilon)
    }

    /// The ρ of both mechanisms together: ρ₁ + ρ₂, rounded up.
    ///
    /// # Errors
    /// [`AccountError::NotFinite`] if the sum overflows.
    pub fn compose(self, other: Self) -> Result<Self, AccountError> {
        AccountError::finite("rho", add_up(self.0, other.0)).map(Self)
    }
}

crate::error::as_float!(Rho);

/// ε at δ from ρ-zCDP, rounded up; ρ = 0 loses nothing.
pub(crate) fn epsilon_upper(rho: f64, delta: f64) -> f64 {
    if rho <= 0.0 {
        return 0.0;
    }
    let ln_delta = libm::log(delta);
    let best = largest_with(|beta| rho * beta * beta + libm::log1p(beta) <= -ln_delta);
    best.map_or(f64::INFINITY, |beta| {
        epsilon_from(beta, rho + beta * rho, ln_delta)
    })
}

/// δ at ε from ρ-zCDP, rounded up, at most 1; ρ = 0 loses nothing.
pub(crate) fn delta_upper(rho: f64, epsilon: f64) -> f64 {
    if rho <= 0.0 {
        return 0.0;
    }
    let best = largest_with(|beta| rho + 2.0 * beta * rho - libm::log1p(1.0 / beta) <= epsilon);
    best.map_or(1.0, |beta| {
        delta_from_ln(ln_delta_from(beta, rho + beta * rho, epsilon))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rho(value: f64) -> Rho {
        Rho::new(value).unwrap()
    }

    fn epsilon(value: f64) -> Epsilon {
        Epsilon::new(value).unwrap()
    }

    #[test]
    fn published_values() {
        // 1000 bounded-range draws at 0.02.
        let draw = Rho::of_bounded_range(epsilon(0.02)).get();
        let spent = rho(1000.0 * draw).epsilon_at(1e-6).unwrap();
        assert!((spent - 1.4716).abs() < 5e-5, "{spent}");
        // σ at (1, 1e-6) by zCDP is 4.53, against 4.2247 by GDP.
        let budget = Budget::approx(1.0, 1e-6).unwrap();
        let mu = Rho::within(budget).unwrap().to_gaussian().unwrap();
        assert!((mu.sigma_for(1.0).unwrap() - 4.53).abs() < 5e-3);
    }

    #[test]
    fn no_order_does_better() {
        // The chosen order is the minimiser: a fine scan of orders never falls below it.
        for (rho, delta) in [(1e-4, 1e-9), (0.05, 1e-6), (3.0, 1e-5), (200.0, 0.1)] {
            let best = epsilon_upper(rho, delta);
            let best_ln_delta = libm::log(delta_upper(rho, best.max(1e-3)));
            for step in -400..=400 {
                let beta = 2.0_f64.powf(f64::from(step) / 20.0);
                let other = epsilon_from(beta, rho * (1.0 + beta), libm::log(delta));
                assert!(best <= other * (1.0 + 1e-12) + 1e-15);
                let other = ln_delta_from(beta, rho * (1.0 + beta), best.max(1e-3));
                assert!(best_ln_delta <= other + 1e-9);
            }
        }
    }

    #[test]
    fn within_and_back() {
        for (e, delta) in [(1e-3, 1e-9), (1.0, 1e-6), (50.0, 0.1), (1e4, 1e-200)] {
            let allowed = Rho::within(Budget::approx(e, delta).unwrap()).unwrap();
            let spent = allowed.epsilon_at(delta).unwrap();
            assert!(spent <= e && spent > e * (1.0 - 1e-9), "{e} {spent}");
            let mu = allowed.to_gaussian().unwrap();
            assert!(Rho::of_gaussian(mu).unwrap() <= allowed);
        }
    }

    #[test]
    fn conversions() {
        for e in [1e-12, 1e-6, 0.01, 0.3, 1.0, 5.0, 1e3, 1e300] {
            let (laplace, pure) = (Rho::of_laplace(epsilon(e)), Rho::of_pure(epsilon(e)));
            // Laplace is the better ε-DP mechanism, and neither exceeds ε or ε²/2.
            assert!(laplace.get() <= pure.get() && pure.get() <= (e * (1.0 + 1e-14)));
            assert!(pure.get() <= 0.5 * e * e * (1.0 + 1e-14) || e > 1e150);
            assert!(Rho::of_bounded_range(epsilon(e)) <= pure);
        }
        // ε + e^{−ε} − 1 = ε²/2 − ε³/6 + … near zero, where the direct formula has no digits left.
        let small = Rho::of_laplace(epsilon(1e-7)).get();
        assert!((small / (0.5e-14 * (1.0 - 1e-7 / 3.0)) - 1.0).abs() < 1e-14);
    }

    #[test]
    fn bad_parameters_are_errors() {
        assert!(Rho::new(0.0).is_err() && Rho::new(f64::NAN).is_err());
        assert!(Rho::within(Budget::pure(1.0).unwrap()).is_err());
        assert!(Rho::of_gaussian(Mu::new(1e200).unwrap()).is_err());
        assert!(rho(1.0).delta_at(f64::NAN).is_err());
        assert!(rho(1.0).epsilon_at(0.0).is_err());
        assert!(rho(f64::MAX).epsilon_at(1e-6).is_err() || rho(1e300).epsilon_at(1e-6).is_ok());
        assert!(rho(f64::MAX).compose(rho(f64::MAX)).is_err());
    }
}
