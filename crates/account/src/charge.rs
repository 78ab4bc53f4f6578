//! The cost of one mechanism, in the notion of privacy that describes it best.
//!
//! A charge describes one mechanism under one neighbouring relation. The caller must derive the
//! sensitivity and the noise from the same adjacency that the guarantee states.

use serde::{Deserialize, Serialize};

use crate::slack::checked_tau;
use crate::{AccountError, Budget, Epsilon, Mu, Rho};

/// The cost of one mechanism. Its parameters are valid by construction.
///
/// ```
/// use hushstream_account::{AccountError, Charge, Epsilon};
///
/// let epsilon = Epsilon::new(0.1)?;
/// let (pure, selection) = (Charge::Pure(epsilon), Charge::BoundedRange(epsilon));
/// // Both are 0.1-DP, but a selection of bounded range costs a quarter of ρ.
/// assert_eq!(pure.epsilon(), selection.epsilon());
/// assert!((pure.rho()?.get() / selection.rho()?.get() - 4.0).abs() < 0.01);
/// # Ok::<(), AccountError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Charge {
    /// A Gaussian mechanism (or the rounding of one): exactly μ-GDP.
    Gaussian(Mu),
    /// Any ε-DP mechanism, discrete Laplace and L2-Laplace among them.
    Pure(Epsilon),
    /// Continuous Laplace noise, or its rounding to a lattice that holds the query, with ratio
    /// ε = Δ₁/b. Also ε-DP, and a little better.
    RoundedLaplace(Epsilon),
    /// A ρ-zCDP mechanism, discrete Gaussian among them.
    Zcdp(Rho),
    /// A selection whose privacy loss lies in an interval of length η (exponential mechanism). Also
    /// η-DP, and four times better in ρ.
    BoundedRange(Epsilon),
    /// A mechanism with a known (ε, δ) and nothing more.
    Approximate(Budget),
}

/// The price of a run: its charge, the (ε, δ) it was planned for, and the error of its draws.
///
/// ```
/// use hushstream_account::{AccountError, Budget, Charge, Mu, Price};
///
/// let budget = Budget::approx(1.0, 1e-6)?;
/// let charge = Charge::Gaussian(Mu::within(budget)?);
/// let price = Price::new(charge, budget, 1e-30)?;
/// assert!(price.covers(&Price::new(charge, budget, 0.0)?));
/// assert!(!price.covers(&Price::new(charge, budget, 1e-20)?));
/// # Ok::<(), AccountError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Price {
    /// The cost of the ideal mechanism.
    pub charge: Charge,
    /// The (ε, δ) that the run was planned for. A Gaussian run enters a ledger that adds up ε and δ
    /// with this ε.
    pub fixed: Option<Budget>,
    #[serde(deserialize_with = "read_tau")]
    tau: f64,
}

impl Price {
    /// The price of a run that was fixed at this (ε, δ), and whose draws are off by a
    /// total-variation distance of `tau` in all.
    ///
    /// # Errors
    /// [`AccountError::Parameter`] unless 0 ≤ τ ≤ 1.
    pub fn new(charge: Charge, fixed: Budget, tau: f64) -> Result<Self, AccountError> {
        Ok(Self {
            charge,
            fixed: Some(fixed),
            tau: checked_tau(tau)?,
        })
    }

    /// The total-variation error of all draws that one protected unit affects.
    #[must_use]
    pub fn tau(&self) -> f64 {
        self.tau
    }

    /// Whether this price covers the other: the same kind of charge, and no smaller number.
    #[must_use]
    pub fn covers(&self, other: &Self) -> bool {
        let charge = match (self.charge, other.charge) {
            (Charge::Gaussian(paid), Charge::Gaussian(asked)) => paid >= asked,
            (Charge::Pure(paid), Charge::Pure(asked))
            | (Charge::RoundedLaplace(paid), Charge::RoundedLaplace(asked))
            | (Charge::BoundedRange(paid), Charge::BoundedRange(asked)) => paid >= asked,
            (Charge::Zcdp(paid), Charge::Zcdp(asked)) => paid >= asked,
            (Charge::Approximate(paid), Charge::Approximate(asked)) => {
                paid.epsilon() >= asked.epsilon() && paid.delta() >= asked.delta()
            }
            _ => false,
        };
        charge && self.tau >= other.tau
    }
}

fn read_tau<'de, D: serde::Deserializer<'de>>(file: D) -> Result<f64, D::Error> {
    checked_tau(f64::deserialize(file)?).map_err(serde::de::Error::custom)
}

/// A price with exact draws and no planned (ε, δ).
impl From<Charge> for Price {
    fn from(charge: Charge) -> Self {
        Self {
            charge,
            fixed: None,
            tau: 0.0,
        }
    }
}

impl From<&Price> for Price {
    fn from(price: &Price) -> Self {
        *price
    }
}

impl Charge {
    /// The μ of the Gaussian that covers this charge, rounded up; with [`Charge::delta`] for
    /// [`Charge::Approximate`], as for [`Charge::rho`]. `None` for zCDP: no Gaussian covers every
    /// ρ-zCDP mechanism.
    #[must_use]
    pub fn mu(&self) -> Option<Mu> {
        match *self {
            Self::Gaussian(mu) => Some(mu),
            Self::Pure(epsilon) | Self::RoundedLaplace(epsilon) => Some(Mu::of_pure(epsilon)),
            Self::BoundedRange(range) => Some(Mu::of_bounded_range(range)),
            Self::Approximate(budget) => Epsilon::new(budget.epsilon()).ok().map(Mu::of_pure),
            Self::Zcdp(_) => None,
        }
    }

    /// The ρ of this charge, rounded up.
    ///
    /// For [`Charge::Approximate`] with δ > 0 the ρ holds outside an event of probability δ, which
    /// must be charged besides: an (ε, δ)-DP mechanism is post-processing of one that reveals
    /// everything with probability δ and is otherwise ε-DP (Kairouz, Oh & Viswanath 2015).
    ///
    /// # Errors
    /// [`AccountError::NotFinite`] if it overflows.
    pub fn rho(&self) -> Result<Rho, AccountError> {
        match *self {
            Self::Gaussian(mu) => Rho::of_gaussian(mu),
            Self::Pure(epsilon) => Ok(Rho::of_pure(epsilon)),
            Self::RoundedLaplace(ratio) => Ok(Rho::of_laplace(ratio)),
            Self::Zcdp(rho) => Ok(rho),
            Self::BoundedRange(range) => Ok(Rho::of_bounded_range(range)),
            Self::Approximate(budget) => Epsilon::new(budget.epsilon()).map(Rho::of_pure),
        }
    }

    /// The ε of this charge if basic composition can add it: the mechanism is (ε, δ)-DP with the δ
    /// of [`Charge::delta`].
    #[must_use]
    pub fn epsilon(&self) -> Option<f64> {
        match *self {
            Self::Pure(epsilon) | Self::RoundedLaplace(epsilon) | Self::BoundedRange(epsilon) => {
                Some(epsilon.get())
            }
            Self::Approximate(budget) => Some(budget.epsilon()),
            Self::Gaussian(_) | Self::Zcdp(_) => None,
        }
    }

    /// The δ of this charge that no conversion removes: zero except for [`Charge::Approximate`].
    #[must_use]
    pub fn delta(&self) -> f64 {
        match *self {
            Self::Approximate(budget) => budget.delta(),
            _ => 0.0,
        }
    }

    /// The name of the kind, for messages.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Gaussian(_) => "Gaussian",
            Self::Pure(_) => "pure",
            Self::RoundedLaplace(_) => "rounded Laplace",
            Self::Zcdp(_) => "zCDP",
            Self::BoundedRange(_) => "bounded-range",
            Self::Approximate(_) => "approximate",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs() {
        let e = Epsilon::new(1.0).unwrap();
        let rho = |charge: Charge| charge.rho().unwrap().get();
        assert!((rho(Charge::Gaussian(Mu::new(1.0).unwrap())) - 0.5).abs() < 1e-15);
        assert!((rho(Charge::Pure(e)) - 0.462_117_157_260_009_8).abs() < 1e-14);
        assert!((rho(Charge::RoundedLaplace(e)) - 0.367_879_441_171_442_3).abs() < 1e-14);
        assert!((rho(Charge::BoundedRange(e)) - 0.125).abs() < 1e-15);
        let approximate = Charge::Approximate(Budget::approx(1.0, 1e-6).unwrap());
        assert!((rho(approximate) - rho(Charge::Pure(e))).abs() < 1e-15);
        assert!(approximate.delta() > 0.0 && approximate.epsilon().is_some());
        assert!(Charge::Zcdp(Rho::new(1.0).unwrap()).epsilon().is_none());
    }

    #[test]
    fn deserialising_checks_the_numbers() {
        let charge = Charge::Gaussian(Mu::new(0.5).unwrap());
        let json = serde_json::to_string(&charge).unwrap();
        assert_eq!(json, r#"{"gaussian":0.5}"#);
        assert_eq!(serde_json::from_str::<Charge>(&json).unwrap(), charge);
        assert!(serde_json::from_str::<Charge>(r#"{"pure":-1.0}"#).is_err());
    }
}
