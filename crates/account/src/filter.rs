//! A budget that may be spent adaptively: sizes of later charges may depend on earlier releases.
//!
//! A filter is opened with a budget and one way of adding; it then admits a charge exactly when the sum, this charge included, stays within
//! the limit. Whatever rule picks the charges, the whole transcript is then (ε, δ)-DP with the budget's ε and δ:
//! * *Gaussian*: Σμ² ≤ B², B = μ(ε, δ) (Smith & Thakurta 2022: fully adaptive composition for GDP).
//! * *zCDP*: Σρ ≤ B. Given the past, E_P[e^{(α−1)(L_t − αρ_t)}] ≤ 1, so e^{(α−1)Σ(L_t − αρ_t)} is a supermartingale; with Σρ_t ≤ B on
//!   every path, E_P[e^{(α−1)ΣL_t}] ≤ e^{(α−1)αB}: the transcript is B-zCDP (Feldman & Zrnic 2021).
//! * *Pure*: Σε ≤ ε, since the likelihood ratio of a transcript is at most the product of the e^{ε_t} on its own path.
//! * *Approximate*: Σε ≤ ε and Σδ ≤ δ (Rogers, Roth, Ullman & Vadhan 2016). Given the past, step t of world P holds a part min(P_t, e^{ε_t}Q_t), which
//!   misses mass δ_t at most. The product of these parts along a path is at most e^{Σε_t}·Q there, and what it misses of P is at most E_P Σδ_t.
//!
//! Filters for general trade-off functions are not valid in this form, so there is none. The kind is fixed when the filter is opened: choosing the best
//! kind after the fact is not covered by any of the three arguments. Precision slack is not filtered; the guarantee adds it.

use thiserror::Error;

use crate::round::{add_up, mul_down};
use crate::{AccountError, Budget, Charge, Rho, tradeoff};

/// How a filter adds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FilterKind {
    /// Gaussian charges only: Σμ², the tightest for them.
    Gaussian,
    /// Every charge without a δ of its own: Σρ.
    Zcdp,
    /// Charges with an ε and no δ: Σε.
    Pure,
    /// Charges with an ε, with or without a δ: Σε and Σδ.
    Approximate,
}

/// A budget with a running sum that never exceeds it.
#[derive(Debug, Clone, PartialEq)]
pub struct Filter {
    budget: Budget,
    kind: FilterKind,
    limit: f64,
    spent: f64,
    /// Σδ; only an approximate filter admits any.
    delta: f64,
}

/// Why a charge was not admitted. Nothing was spent.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum Refused {
    /// The charge does not fit.
    #[error(
        "the charge of {unit} = {asked} does not fit: {spent} of {limit} is spent; use a smaller charge or a larger budget"
    )]
    OverBudget {
        /// What is added up: μ², ρ, ε or δ.
        unit: &'static str,
        /// The size of the charge.
        asked: f64,
        /// What was spent before, and still is.
        spent: f64,
        /// What the budget allows in all.
        limit: f64,
    },
    /// This filter has no proof for this kind of charge.
    #[error("a {filter} filter cannot admit a {charge} charge: it admits {allowed}")]
    WrongKind {
        /// The filter's kind.
        filter: &'static str,
        /// The charge's kind.
        charge: &'static str,
        /// What would be admitted.
        allowed: &'static str,
    },
    /// The cost of the charge is not a finite number.
    #[error(transparent)]
    Unusable(#[from] AccountError),
}

impl Filter {
    /// Opens a filter; the limit is rounded down.
    ///
    /// # Errors
    /// [`AccountError::NeedsDelta`] if δ = 0 and the kind is not [`FilterKind::Pure`]; [`AccountError::NotFinite`] if
    /// the budget is so small that no float would do.
    pub fn open(budget: Budget, kind: FilterKind) -> Result<Self, AccountError> {
        let limit = match kind {
            FilterKind::Gaussian => {
                let mu = tradeoff::limit(budget)?;
                mul_down(mu, mu)
            }
            FilterKind::Zcdp => Rho::within(budget)?.get(),
            FilterKind::Pure | FilterKind::Approximate => budget.epsilon(),
        };
        Ok(Self {
            budget,
            kind,
            limit,
            spent: 0.0,
            delta: 0.0,
        })
    }

    /// Spends the charge if it fits.
    ///
    /// # Errors
    /// [`Refused`] if it does not; nothing is spent then.
    pub fn try_spend(&mut self, charge: &Charge) -> Result<(), Refused> {
        let (unit, asked) = self.size(charge)?;
        let total = add_up(self.spent, asked);
        let delta = add_up(self.delta, charge.delta());
        // Not `total > limit`: a NaN must not be admitted.
        let fits = total <= self.limit;
        if fits && delta <= self.budget.delta() {
            (self.spent, self.delta) = (total, delta);
            Ok(())
        } else if fits {
            Err(Refused::OverBudget {
                unit: "delta",
                asked: charge.delta(),
                spent: self.delta,
                limit: self.budget.delta(),
            })
        } else {
            Err(Refused::OverBudget {
                unit,
                asked,
                spent: self.spent,
                limit: self.limit,
            })
        }
    }

    /// The budget it was opened with: the claim, however the charges were chosen.
    #[must_use]
    pub fn budget(&self) -> Budget {
        self.budget
    }

    /// How it adds.
    #[must_use]
    pub fn kind(&self) -> FilterKind {
        self.kind
    }

    /// What is spent so far: Σμ², Σρ or Σε, rounded up.
    #[must_use]
    pub fn spent(&self) -> f64 {
        self.spent
    }

    /// What may be spent in all, rounded down.
    #[must_use]
    pub fn limit(&self) -> f64 {
        self.limit
    }

    fn size(&self, charge: &Charge) -> Result<(&'static str, f64), Refused> {
        let refuse = |filter, allowed| {
            Err(Refused::WrongKind {
                filter,
                charge: charge.kind(),
                allowed,
            })
        };
        match (self.kind, charge) {
            (FilterKind::Gaussian, Charge::Gaussian(mu)) => Ok(("mu^2", mu.squared())),
            (FilterKind::Gaussian, _) => refuse("Gaussian", "Gaussian charges only"),
            (FilterKind::Zcdp, _) if charge.delta() <= 0.0 => Ok(("rho", charge.rho()?.get())),
            (FilterKind::Zcdp, _) => refuse("zCDP", "charges without a delta of their own"),
            (FilterKind::Pure, _) => match charge.epsilon() {
                Some(epsilon) if charge.delta() <= 0.0 => Ok(("epsilon", epsilon)),
                _ => refuse("pure", "charges with an epsilon and without delta"),
            },
            (FilterKind::Approximate, _) => match charge.epsilon() {
                Some(epsilon) => Ok(("epsilon", epsilon)),
                None => refuse("approximate", "charges with an epsilon"),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Epsilon, Mu};

    fn budget() -> Budget {
        Budget::approx(1.0, 1e-6).unwrap()
    }

    fn pure(epsilon: f64) -> Charge {
        Charge::Pure(Epsilon::new(epsilon).unwrap())
    }

    #[test]
    fn the_whole_budget_fits_once() {
        for (epsilon, delta) in [(1e-3, 1e-12), (1.0, 1e-6), (20.0, 1e-3), (1e5, 1e-9)] {
            let budget = Budget::approx(epsilon, delta).unwrap();
            let mu = Mu::within(budget).unwrap();
            let mut filter = Filter::open(budget, FilterKind::Gaussian).unwrap();
            filter.try_spend(&Charge::Gaussian(mu)).unwrap();
            let tiny = Mu::new(1e-3 * mu.get()).unwrap();
            assert!(filter.try_spend(&Charge::Gaussian(tiny)).is_err());

            let rho = Rho::within(budget).unwrap();
            let mut filter = Filter::open(budget, FilterKind::Zcdp).unwrap();
            filter.try_spend(&Charge::Zcdp(rho)).unwrap();
            let mut filter = Filter::open(budget, FilterKind::Zcdp).unwrap();
            let mu = rho.to_gaussian().unwrap();
            filter.try_spend(&Charge::Gaussian(mu)).unwrap();
        }
        let mut filter = Filter::open(Budget::pure(1.0).unwrap(), FilterKind::Pure).unwrap();
        filter.try_spend(&pure(0.5)).unwrap();
        filter.try_spend(&pure(0.5)).unwrap();
        assert!(filter.try_spend(&pure(1e-300)).is_err());
    }

    #[test]
    fn refusal_spends_nothing() {
        let mut filter = Filter::open(budget(), FilterKind::Pure).unwrap();
        filter.try_spend(&pure(0.75)).unwrap();
        let before = filter.clone();
        let refused = filter.try_spend(&pure(0.5)).unwrap_err();
        assert!(matches!(refused, Refused::OverBudget { .. }), "{refused}");
        assert_eq!(filter, before);
        filter.try_spend(&pure(0.25)).unwrap();
    }

    #[test]
    fn only_charges_with_a_proof_are_admitted() {
        let mut gaussian = Filter::open(budget(), FilterKind::Gaussian).unwrap();
        let mut zcdp = Filter::open(budget(), FilterKind::Zcdp).unwrap();
        let mut only_pure = Filter::open(budget(), FilterKind::Pure).unwrap();
        let approximate = Charge::Approximate(Budget::approx(0.01, 1e-9).unwrap());
        for filter in [&mut gaussian, &mut zcdp, &mut only_pure] {
            let refused = filter.try_spend(&approximate).unwrap_err();
            assert!(matches!(refused, Refused::WrongKind { .. }), "{refused}");
        }
        assert!(gaussian.try_spend(&pure(0.01)).is_err());
        assert!(zcdp.try_spend(&pure(0.01)).is_ok());
        let small = Charge::Gaussian(Mu::new(0.01).unwrap());
        assert!(only_pure.try_spend(&small).is_err());
        assert!(zcdp.try_spend(&small).is_ok());
        let pure_in_disguise = Charge::Approximate(Budget::pure(0.01).unwrap());
        assert!(only_pure.try_spend(&pure_in_disguise).is_ok());
    }

    #[test]
    fn an_approximate_filter_adds_both() {
        let mut filter = Filter::open(budget(), FilterKind::Approximate).unwrap();
        let charge = |epsilon, delta| Charge::Approximate(Budget::approx(epsilon, delta).unwrap());
        filter.try_spend(&charge(0.5, 5e-7)).unwrap();
        let before = filter.clone();
        let refused = filter.try_spend(&charge(0.25, 6e-7)).unwrap_err();
        assert!(
            refused.to_string().contains("delta = 0.0000006"),
            "{refused}"
        );
        assert!(filter.try_spend(&charge(0.75, 1e-9)).is_err());
        assert!(
            filter
                .try_spend(&Charge::Gaussian(Mu::new(0.01).unwrap()))
                .is_err()
        );
        assert_eq!(filter, before);
        filter.try_spend(&charge(0.25, 5e-7)).unwrap();
        filter.try_spend(&pure(0.25)).unwrap();
        assert!(filter.try_spend(&charge(1e-9, 1e-12)).is_err());
    }

    #[test]
    fn concentrated_filters_need_delta() {
        let pure = Budget::pure(1.0).unwrap();
        assert!(Filter::open(pure, FilterKind::Gaussian).is_err());
        assert!(Filter::open(pure, FilterKind::Zcdp).is_err());
        let overflow = Charge::Gaussian(Mu::new(1e200).unwrap());
        for kind in [FilterKind::Gaussian, FilterKind::Zcdp] {
            assert!(
                Filter::open(budget(), kind)
                    .unwrap()
                    .try_spend(&overflow)
                    .is_err()
            );
        }
    }
}
