//! Rényi differential privacy: a curve r(α) ≥ D_α, for mechanisms that one ρ describes badly.
//!
//! A curve bounds D_α(M(x)‖M(x′)) for all neighbours *in both directions*, at every order of a
//! fixed public grid (Mironov 2017). Curves add up under composition; (ε, δ) follows at the best
//! order of the grid. Orders are 1 + 2^{i/16} from 1.008 to 131,073: the best of them costs at most
//! 3·10⁻⁴ of ε over the best real order for a line αρ (measured: 2·10⁻² for the sharp curve of a
//! very rare coin).
//!
//! The curves of the single mechanisms are derived in `divergence.rs`. A curve that is not finite
//! everywhere is an error: a maximum that ignored NaN would silently drop one direction.

use std::sync::LazyLock;

use crate::divergence::{coin, laplace, randomised_response};
use crate::renyi::{delta_from_ln, epsilon_from, ln_delta_from};
use crate::round::{add_up, mul_up};
use crate::{AccountError, Epsilon, Mu, Rho};

/// The grid: 24 octaves of α − 1, sixteen orders each. α − 1 is exact in floating point for each of
/// them.
static ORDERS: LazyLock<Vec<f64>> = LazyLock::new(|| {
    (-7 * 16..=17 * 16)
        .map(|i| 1.0 + libm::exp2(f64::from(i) / 16.0))
        .collect()
});

/// An upper bound on the Rényi divergence at each order of the grid.
///
/// ```
/// use hushstream_account::{AccountError, Mu, RenyiCurve};
///
/// let mu = Mu::new(0.1)?;
/// let hundred = RenyiCurve::gaussian(mu)?.times(100)?;
/// // A hundred Gaussian charges of 0.1 are one of 1; the Rényi bound is a little looser.
/// let exact = Mu::new(1.0)?.epsilon_at(1e-6)?;
/// let bound = hundred.epsilon_at(1e-6)?;
/// assert!(exact <= bound && bound < 1.1 * exact);
/// # Ok::<(), AccountError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct RenyiCurve {
    bounds: Vec<f64>,
}

impl RenyiCurve {
    /// The orders α of the grid, increasing.
    #[must_use]
    pub fn orders() -> &'static [f64] {
        &ORDERS
    }

    /// The bound at each order of the grid.
    #[must_use]
    pub fn bounds(&self) -> &[f64] {
        &self.bounds
    }

    /// A curve from a proved bound, which must hold in both directions at each order.
    ///
    /// # Errors
    /// [`AccountError::Parameter`] if a value is negative, infinite or NaN.
    pub fn from_bound(bound: impl Fn(f64) -> f64) -> Result<Self, AccountError> {
        let checked = |&alpha: &f64| {
            let value = bound(alpha);
            let valid = value.is_finite() && value >= 0.0;
            AccountError::unless(valid, "Rényi divergence", value, "finite and at least 0")
        };
        let bounds = ORDERS.iter().map(checked).collect::<Result<_, _>>()?;
        Ok(Self { bounds })
    }

    /// A Gaussian mechanism: αμ²/2.
    ///
    /// # Errors
    /// [`AccountError::Parameter`] if the curve overflows.
    pub fn gaussian(mu: Mu) -> Result<Self, AccountError> {
        let half_square = mul_up(0.5, mu.squared());
        Self::from_bound(|alpha| mul_up(alpha, half_square))
    }

    /// A ρ-zCDP mechanism: αρ.
    ///
    /// # Errors
    /// [`AccountError::Parameter`] if the curve overflows.
    pub fn zcdp(rho: Rho) -> Result<Self, AccountError> {
        Self::from_bound(|alpha| mul_up(alpha, rho.get()))
    }

    /// Any ε-DP mechanism.
    ///
    /// # Errors
    /// [`AccountError::Parameter`] if the curve overflows.
    pub fn pure(epsilon: Epsilon) -> Result<Self, AccountError> {
        Self::from_bound(|alpha| randomised_response(alpha, epsilon.get()))
    }

    /// Continuous Laplace noise with ratio ε = Δ₁/b, or its rounding to a lattice that holds the
    /// query.
    ///
    /// # Errors
    /// [`AccountError::Parameter`] if the curve overflows.
    pub fn laplace(ratio: Epsilon) -> Result<Self, AccountError> {
        Self::from_bound(|alpha| laplace(alpha, ratio.get()))
    }

    /// An η-bounded-range selection.
    ///
    /// # Errors
    /// [`AccountError::Parameter`] if the curve overflows.
    pub fn bounded_range(range: Epsilon) -> Result<Self, AccountError> {
        let eta = range.get();
        let rho = mul_up(0.125, mul_up(eta, eta));
        Self::from_bound(|alpha| {
            let line = mul_up(alpha, rho);
            // Below this the η-DP curve is the larger one, and it is expensive to compute.
            if alpha * eta <= 2.0 {
                line
            } else {
                line.min(randomised_response(alpha, eta))
            }
        })
    }

    /// One coin whose probability is exactly `p` in one world and exactly `q` in the other. Pass
    /// the probability of the rarer side, for precision.
    ///
    /// # Errors
    /// [`AccountError::Parameter`] unless 1e-200 ≤ p < 1 and 1e-200 ≤ q < 1 (quotients of smaller
    /// ones could underflow).
    pub fn coin(p: f64, q: f64) -> Result<Self, AccountError> {
        for (name, value) in [("p", p), ("q", q)] {
            let valid = (1e-200..1.0).contains(&value);
            AccountError::unless(valid, name, value, "at least 1e-200 and below 1")?;
        }
        Self::from_bound(|alpha| {
            let (there, back) = (coin(alpha, p, q), coin(alpha, q, p));
            // Written so that a NaN in either direction survives and is rejected.
            if there >= back || there.is_nan() {
                there
            } else {
                back
            }
        })
    }

    /// The curve of both mechanisms together: the sum of the curves.
    ///
    /// # Errors
    /// [`AccountError::NotFinite`] if a sum overflows.
    pub fn compose(&self, other: &Self) -> Result<Self, AccountError> {
        let sums = self.bounds.iter().zip(&other.bounds);
        finite(sums.map(|(a, b)| add_up(*a, *b)))
    }

    /// The curve of `count` such mechanisms together.
    ///
    /// # Errors
    /// [`AccountError::NotFinite`] if a product overflows.
    pub fn times(&self, count: u64) -> Result<Self, AccountError> {
        // A count above 2⁵³ is rounded by the conversion; the next float is then a bound.
        let exact = count < 1 << 53;
        let count = if exact {
            count as f64
        } else {
            (count as f64).next_up()
        };
        finite(self.bounds.iter().map(|b| mul_up(*b, count)))
    }

    /// An upper bound on the smallest ε ≥ 0 at this δ.
    ///
    /// # Errors
    /// [`AccountError::Parameter`] unless 0 < δ < 1.
    pub fn epsilon_at(&self, delta: f64) -> Result<f64, AccountError> {
        let ln_delta = libm::log(AccountError::delta_asked(delta)?);
        let each = self.by_order(|beta, bound| epsilon_from(beta, bound, ln_delta));
        Ok(each.fold(f64::INFINITY, f64::min))
    }

    /// An upper bound on δ at this ε, at most 1.
    ///
    /// # Errors
    /// [`AccountError::Parameter`] unless 0 ≤ ε < ∞.
    pub fn delta_at(&self, epsilon: f64) -> Result<f64, AccountError> {
        let epsilon = AccountError::epsilon_asked(epsilon)?;
        let each = self.by_order(|beta, bound| ln_delta_from(beta, bound, epsilon));
        Ok(delta_from_ln(each.fold(0.0, f64::min)))
    }

    fn by_order(&self, bound: impl Fn(f64, f64) -> f64) -> impl Iterator<Item = f64> {
        let orders = ORDERS.iter().zip(&self.bounds);
        orders.map(move |(alpha, value)| bound(alpha - 1.0, *value))
    }
}

fn finite(bounds: impl Iterator<Item = f64>) -> Result<RenyiCurve, AccountError> {
    let checked = bounds.map(|bound| AccountError::finite("Rényi divergence", bound));
    let bounds = checked.collect::<Result<_, _>>()?;
    Ok(RenyiCurve { bounds })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn epsilon(value: f64) -> Epsilon {
        Epsilon::new(value).unwrap()
    }

    #[test]
    fn the_grid_is_exact() {
        let orders = RenyiCurve::orders();
        assert_eq!(orders.len(), 385);
        assert!(orders.windows(2).all(|pair| pair[0] < pair[1]));
        for alpha in orders {
            assert_eq!((1.0 + (alpha - 1.0)).to_bits(), alpha.to_bits());
        }
    }

    /// The shrinking dartboard of AFKT22 with η = 0.005, p = 0.0135 and 1300 resamples, at
    /// δ = 1e-6.
    #[test]
    fn dartboard() {
        let (eta, p) = (0.005_f64, 0.0135);
        let coin = RenyiCurve::coin(p, p + (1.0 - p) * eta).unwrap();
        let lambda = -libm::log1p(-eta);
        for (range, exact, at_most) in [
            (2.0 * lambda, 0.947_904, 0.948),
            (lambda, 0.606_68, 0.606_8),
        ] {
            let draws = RenyiCurve::bounded_range(epsilon(range)).unwrap();
            let curve = draws.times(1300).unwrap().compose(&coin).unwrap();
            let spent = curve.epsilon_at(1e-6).unwrap();
            assert!(spent >= exact - 5e-7 && spent <= at_most, "{spent}");
            assert!(curve.delta_at(spent).unwrap() <= 1e-6 * (1.0 + 1e-9));
        }
    }

    /// D_α ≤ αρ for Laplace and randomised response: the claims proved in `zcdp`, on a dense grid.
    #[test]
    fn zcdp_claims_hold_at_every_order() {
        for step in -160..=80 {
            let e = epsilon(2.0_f64.powf(f64::from(step) / 8.0));
            let (laplace_rho, pure_rho) = (Rho::of_laplace(e).get(), Rho::of_pure(e).get());
            for &alpha in RenyiCurve::orders() {
                let allowance = 1.0 + 2e-12;
                let curve = laplace(alpha, e.get());
                assert!(curve <= alpha * laplace_rho * allowance, "{alpha} {e:?}");
                let curve = randomised_response(alpha, e.get());
                assert!(curve <= alpha * pure_rho * allowance, "{alpha} {e:?}");
                assert!(laplace(alpha, e.get()) <= curve * allowance);
            }
            // And they are tight: a ρ smaller by 2 % fails near α = 1.
            let alpha = RenyiCurve::orders()[0];
            assert!(laplace(alpha, e.get()) > 0.98 * alpha * laplace_rho);
            assert!(randomised_response(alpha, e.get()) > 0.98 * alpha * pure_rho);
        }
    }

    #[test]
    fn a_coin_is_a_randomised_response() {
        // p = e^ε/(1+e^ε) against 1 − p is randomised response itself.
        let e = 1.5_f64;
        let p = 1.0 / (1.0 + e.exp());
        let (coin, pure) = (RenyiCurve::coin(p, 1.0 - p), RenyiCurve::pure(epsilon(e)));
        let (coin, pure) = (coin.unwrap(), pure.unwrap());
        for (a, b) in coin.bounds.iter().zip(&pure.bounds) {
            assert!((a - b).abs() < 1e-12);
        }
    }

    #[test]
    fn nothing_that_is_not_finite_gets_in() {
        for bad in [0.0, 1.0, f64::NAN, -0.5, f64::INFINITY] {
            assert!(RenyiCurve::coin(bad, 0.5).is_err());
            assert!(RenyiCurve::coin(0.5, bad).is_err());
            if !(bad >= 0.0 && bad.is_finite()) {
                assert!(RenyiCurve::from_bound(|_| bad).is_err());
            }
        }
        assert!(RenyiCurve::gaussian(Mu::new(1e160).unwrap()).is_err());
        let large = RenyiCurve::from_bound(|_| 1e308).unwrap();
        assert!(large.compose(&large).is_err() && large.times(2).is_err());
        let curve = RenyiCurve::pure(epsilon(1.0)).unwrap();
        assert!(curve.epsilon_at(0.0).is_err() && curve.delta_at(f64::NAN).is_err());
        for extreme in [1e-300, 1e-8, 1e300] {
            assert!(RenyiCurve::pure(epsilon(extreme)).is_ok());
            assert!(RenyiCurve::laplace(epsilon(extreme)).is_ok());
            assert!(RenyiCurve::bounded_range(epsilon(extreme)).is_ok());
        }
    }
}
