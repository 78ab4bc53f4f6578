//! A budget for adaptive spending: the sizes of later charges may depend on earlier releases.
//!
//! A filter is opened with a budget (ε, δ) and one currency. It admits a charge exactly when two
//! sums, this charge included, stay within their limits: one in the currency, one of δ. Then
//! the whole transcript is (ε, δ)-DP, for every rule that picks the charges:
//!
//! | currency | Σ of | limit | δ for Σδ |
//! |---|---|---|---|
//! | Gaussian | μ² | μ(ε, δ − D)² | D |
//! | zCDP | ρ | ρ(ε, δ − D) | D |
//! | approximate | ε | ε | δ |
//! | pure | ε | ε | precision only |
//!
//! D is fixed before anything is released: stated, or what the first charge needs.
//!
//! **The cost of each kind of charge in each currency.** Gaussian: μ² of the Gaussian that covers
//! the mechanism (proofs in `gdp.rs`): pure ε as −2Φ⁻¹(1/(1 + e^ε)), bounded range η as pure η/2,
//! (ε′, δ′) as pure ε′ and δ′. zCDP: its ρ (`zcdp.rs`), and δ′ of (ε′, δ′). Approximate: its ε and
//! δ; a Gaussian or zCDP charge enters with the ε′ that its run was fixed at, and its δ at ε′.
//!
//! **Proofs for ideal draws.**
//! * *Gaussian*. Without δ: if Σμ² ≤ B² on every path, the transcript is B-GDP (Smith & Thakurta
//!   2022: fully adaptive composition), so (ε, δ − D)-DP. With δ: an (ε′, δ′)-DP step is
//!   post-processing of one that reveals everything with probability δ′ and is ε′-DP otherwise
//!   (Kairouz, Oh & Viswanath 2015). Let P*, Q* be the laws of the transcript in both worlds if
//!   no step ever reveals, and w = Π(1 − δ_t), a function of the transcript. The part of P without
//!   a revealing step has density w·P*, and (ε, δ − D)-DP holds for every test with values in
//!   [0, 1]: ∫_S w dP* ≤ e^ε·∫_S w dQ* + δ − D ≤ e^ε·Q(S) + δ − D. The rest of P has mass
//!   E[1 − w] ≤ max Σδ_t ≤ D.
//! * *zCDP*. Given the past, E_P[e^{(α−1)(L_t − αρ_t)}] ≤ 1, so e^{(α−1)Σ(L_t − αρ_t)} is a
//!   supermartingale; with Σρ_t ≤ B on every path, E_P[e^{(α−1)ΣL_t}] ≤ e^{(α−1)αB}: the transcript
//!   is B-zCDP (Feldman & Zrnic 2021). δ as above (Whitehouse, Ramdas, Rogers & Wu 2023).
//! * *Approximate* (and *pure*, with every δ = 0). Given the past, step t of world P holds a part
//!   min(P_t, e^{ε_t}·Q_t), which misses mass δ_t at most. The product of these parts along a path
//!   is at most e^{Σε_t}·Q there, and it misses at most E_P Σδ_t of P (Rogers, Roth, Ullman &
//!   Vadhan 2016).
//!
//! **Draws that are not exact.** The ideal and the real transcript are within Στ of each other on
//! every path, so the claim is (ε, δ_ideal + (1 + e^ε)·Στ) with the *budget's* ε (see `slack.rs`).
//! The filter therefore counts (1 + e^ε)·Στ in the sum of δ.
//!
//! **No region but a rectangle.** "The ε at δ of everything that is spent is at most ε" is no
//! filter, although it holds for sizes that were fixed in advance: an analyst who looks at the
//! releases and changes the kind of charge at the right moment spends more than δ. At (1, 1e-6) one
//! look is enough for 1.7·δ, and a hundred looks for 15.7·δ (tests compute both). So D is fixed,
//! and so is the currency.
//!
//! **Interleaved runs.** A run is interactive: releases of several runs on one ledger may
//! alternate, and each may depend on all before. Every f-DP interactive mechanism is interactive
//! post-processing of a one-shot mechanism with the same trade-off function (Vadhan & Zhang 2023;
//! for (ε, δ)-DP Lyu 2022, after Vadhan & Wang 2021 for pure privacy), and every filter for
//! one-shot mechanisms is one for interactive ones, in (ε, δ)-DP, f-DP, and Rényi DP of each fixed
//! order (Haney et al. 2023). All charges of runs in this workspace are f-DP statements: Gaussians,
//! pure, bounded range, (ε, δ). They are covered in every currency. A charge of which only ρ is
//! known is covered by the Rényi theorem, order by order, in a zCDP ledger whose charges have no δ
//! of their own; beside charges with a δ the cited theorems do not name that mixture.

use thiserror::Error;

use crate::round::{add_up, mul_down, mul_up, sub_down};
use crate::slack::slack;
use crate::{AccountError, Budget, Charge, Mu, Price, Rho, tradeoff};

/// The currency of a filter: the quantity that it sums, beside δ.
///
/// ```
/// use hushstream_account::{AccountError, Budget, Filter, FilterKind};
///
/// // A Gaussian or zCDP filter needs δ > 0.
/// let pure = Budget::pure(1.0)?;
/// assert!(Filter::open(pure, FilterKind::Gaussian).is_err());
/// assert!(Filter::open(pure, FilterKind::Pure).is_ok());
/// # Ok::<(), AccountError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FilterKind {
    /// Σμ²: the tightest for Gaussian charges.
    Gaussian,
    /// Σρ.
    Zcdp,
    /// Σε of charges without a δ.
    Pure,
    /// Σε.
    Approximate,
}

/// δ that a pure filter allows for the precision of draws, 2⁻⁶⁴.
const PURE_ROOM: f64 = 1.0 / (1_u128 << 64) as f64;

/// The smallest D of a Gaussian filter, as a share of δ: so small that [`Mu::within`] of the whole
/// budget, which leaves a margin, still fits.
const LEAST_SHARE: f64 = 1e-16;

/// A budget with running sums that never exceed it.
///
/// ```
/// use hushstream_account::{Budget, Charge, Epsilon, Filter, FilterKind};
///
/// let mut filter = Filter::open(Budget::pure(1.0)?, FilterKind::Pure)?;
/// let half = Charge::Pure(Epsilon::new(0.5)?);
/// filter.try_spend(half)?;
/// filter.try_spend(half)?;
/// assert!(filter.try_spend(half).is_err()); // nothing is left, and nothing was spent
/// assert_eq!(filter.used(), 1.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Filter {
    budget: Budget,
    kind: FilterKind,
    /// The stated D; if `None`, the first charge sets it.
    stated: Option<f64>,
    limits: Limits,
    sums: Sums,
}

/// The limits of both sums.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Limits {
    /// The limit in the currency, rounded down.
    most: f64,
    /// The limit for δ of charges and for the precision of draws.
    room: f64,
}

/// The running sums, rounded up.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Sums {
    spent: f64,
    delta: f64,
    tau: f64,
    charges: u64,
}

/// Why a charge was not admitted. Nothing was spent.
///
/// ```
/// use hushstream_account::{Budget, Charge, Epsilon, Filter, FilterKind};
///
/// let mut filter = Filter::open(Budget::pure(1.0)?, FilterKind::Pure)?;
/// let refused = filter.try_spend(Charge::Pure(Epsilon::new(2.0)?)).unwrap_err();
/// assert!(refused.to_string().starts_with("it needs 200 % of the budget, and 0 % is used"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum Refused {
    /// The charge does not fit.
    #[error(
        "it needs {} % of the budget, and {} % is used; use a smaller charge or a larger budget",
        percent(*.asked),
        percent(*.used)
    )]
    OverBudget {
        /// The size of the charge, as a share of the budget.
        asked: f64,
        /// The share that was spent before.
        used: f64,
    },
    /// The δ of the charge and of its draws' precision does not fit.
    #[error(
        "it needs a delta of {asked:.3e} for itself and the precision of its draws, \
         and {used:.3e} of the {room:.3e} that is set aside for this is used; \
         use a smaller delta or a larger budget"
    )]
    OverDelta {
        /// δ of the charge, and the precision slack that it adds.
        asked: f64,
        /// The δ that was used before.
        used: f64,
        /// The δ that is set aside in all.
        room: f64,
    },
    /// This filter has no proof for this kind of charge.
    #[error("a {filter} budget cannot admit a {charge} charge: it admits {allowed}")]
    WrongKind {
        /// The filter's kind.
        filter: &'static str,
        /// The charge's kind.
        charge: &'static str,
        /// The kinds that this filter admits.
        allowed: &'static str,
    },
    /// The cost of the charge is not a finite number.
    #[error(transparent)]
    Unusable(#[from] AccountError),
}

/// A share in percent, rounded up: whole numbers, and two digits below ten.
fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    if percent < 10.0 {
        format!("{}", (percent * 10.0 - 1e-9).ceil().max(0.0) / 10.0)
    } else {
        format!("{:.0}", (percent - 1e-9).ceil())
    }
}

impl Filter {
    /// Opens a filter whose first charge sets D to its own need. Limits are rounded down.
    ///
    /// # Errors
    /// [`AccountError::NeedsDelta`] if δ = 0 and the kind is Gaussian or zCDP;
    /// [`AccountError::NotFinite`] if the budget is so small that no float fits.
    pub fn open(budget: Budget, kind: FilterKind) -> Result<Self, AccountError> {
        Self::with(budget, kind, None)
    }

    /// Opens a filter that sets aside `reserve` of δ for charges with a δ of their own and for the
    /// precision of draws. Approximate and pure filters, which add up ε, ignore it.
    ///
    /// # Errors
    /// As [`Filter::open`]; [`AccountError::Parameter`] unless 0 ≤ D < δ.
    pub fn reserving(budget: Budget, kind: FilterKind, reserve: f64) -> Result<Self, AccountError> {
        let valid = (0.0..budget.delta()).contains(&reserve)
            || matches!(kind, FilterKind::Pure | FilterKind::Approximate);
        AccountError::unless(valid, "reserve", reserve, "at least 0 and below delta")?;
        Self::with(budget, kind, Some(reserve))
    }

    fn with(budget: Budget, kind: FilterKind, stated: Option<f64>) -> Result<Self, AccountError> {
        let limits = limits(budget, kind, stated.unwrap_or(0.0))?;
        Ok(Self {
            budget,
            kind,
            stated,
            limits,
            sums: Sums::default(),
        })
    }

    /// Spends a charge if it fits.
    ///
    /// # Errors
    /// [`Refused`] if it does not; nothing is spent then.
    pub fn try_spend(&mut self, price: impl Into<Price>) -> Result<(), Refused> {
        let price = price.into();
        let (asked, own) = self.size(&price)?;
        let sums = Sums {
            spent: add_up(self.sums.spent, asked),
            delta: add_up(self.sums.delta, own),
            tau: add_up(self.sums.tau, price.tau()).min(1.0),
            charges: self.sums.charges + 1,
        };
        // D is fixed before anything is released, so no analyst chooses it after seeing releases.
        let (used, lost) = (self.lost(&self.sums), self.lost(&sums));
        let limits = if self.sums.charges == 0 && self.stated.is_none() {
            limits(self.budget, self.kind, lost).map_err(|error| match error {
                AccountError::DeltaOutOfReach { delta, .. } => Refused::OverDelta {
                    asked: lost,
                    used,
                    room: delta,
                },
                other => other.into(),
            })?
        } else {
            self.limits
        };
        // Not `>`: a NaN must not be admitted.
        let (fits, delta_fits) = (sums.spent <= limits.most, lost <= limits.room);
        if !fits {
            return Err(Refused::OverBudget {
                asked: asked / limits.most,
                used: self.sums.spent / limits.most,
            });
        }
        if !delta_fits {
            return Err(Refused::OverDelta {
                asked: lost - used,
                used,
                room: limits.room,
            });
        }
        (self.sums, self.limits) = (sums, limits);
        Ok(())
    }

    /// The least D of a filter with this budget and currency that holds all these charges: their
    /// own δ and the precision of their draws, rounded up.
    ///
    /// # Errors
    /// [`Refused`] for a charge that this currency does not admit.
    pub fn needed_reserve<'a>(
        budget: Budget,
        kind: FilterKind,
        prices: impl IntoIterator<Item = &'a Price>,
    ) -> Result<f64, Refused> {
        let mut filter = Self {
            budget,
            kind,
            stated: None,
            limits: Limits {
                most: f64::INFINITY,
                room: f64::INFINITY,
            },
            sums: Sums::default(),
        };
        for price in prices {
            let (_, own) = filter.size(price)?;
            filter.sums.delta = add_up(filter.sums.delta, own);
            filter.sums.tau = add_up(filter.sums.tau, price.tau()).min(1.0);
        }
        Ok(filter.used_delta())
    }

    /// The δ that charges and the precision of draws have used, rounded up.
    fn lost(&self, sums: &Sums) -> f64 {
        add_up(sums.delta, slack(self.budget.epsilon(), sums.tau))
    }

    /// The budget of this filter.
    #[must_use]
    pub fn budget(&self) -> Budget {
        self.budget
    }

    /// The (ε, δ) that holds however the charges are chosen: the budget, and for a pure budget the
    /// δ that the precision of draws may cost.
    #[must_use]
    pub fn promise(&self) -> (f64, f64) {
        let delta = match self.kind {
            FilterKind::Pure => self.limits.room,
            _ => self.budget.delta(),
        };
        (self.budget.epsilon(), delta)
    }

    /// The currency of this filter.
    #[must_use]
    pub fn kind(&self) -> FilterKind {
        self.kind
    }

    /// The stated D; `None` if the first charge sets it.
    #[must_use]
    pub fn stated_reserve(&self) -> Option<f64> {
        self.stated
    }

    /// The δ set aside for charges with a δ and for the precision of draws.
    #[must_use]
    pub fn room(&self) -> f64 {
        self.limits.room
    }

    /// The spent share of the limit in the currency, from 0 to 1.
    #[must_use]
    pub fn used(&self) -> f64 {
        self.sums.spent / self.limits.most
    }

    /// The part of [`Filter::room`] that charges and the precision of draws have used.
    #[must_use]
    pub fn used_delta(&self) -> f64 {
        self.lost(&self.sums)
    }

    /// The cost of a charge in the currency, and its δ.
    fn size(&self, price: &Price) -> Result<(f64, f64), Refused> {
        let charge = price.charge;
        let refuse = |filter, allowed| {
            Err(Refused::WrongKind {
                filter,
                charge: charge.kind(),
                allowed,
            })
        };
        // For a charge without an ε: the ε of the run's plan, and the δ at that ε.
        let fixed = || -> Result<Option<(f64, f64)>, AccountError> {
            let Some(epsilon) = price.fixed.map(Budget::epsilon) else {
                return Ok(None);
            };
            let delta = match charge {
                Charge::Gaussian(mu) => mu.delta_at(epsilon)?,
                Charge::Zcdp(rho) => rho.delta_at(epsilon)?,
                _ => return Ok(None),
            };
            Ok(Some((epsilon, delta)))
        };
        let without = "charges that know which (epsilon, delta) they were fixed at";
        match self.kind {
            FilterKind::Gaussian => match (charge.mu(), fixed()?) {
                (Some(mu), _) => Ok((mu.squared(), charge.delta())),
                (None, Some((epsilon, delta))) => {
                    let mu = Mu::of_pure(crate::Epsilon::new(epsilon)?);
                    Ok((mu.squared(), delta))
                }
                (None, None) => refuse("Gaussian", without),
            },
            FilterKind::Zcdp => Ok((charge.rho()?.get(), charge.delta())),
            FilterKind::Pure => match charge.epsilon() {
                Some(epsilon) if charge.delta() <= 0.0 => Ok((epsilon, 0.0)),
                _ => refuse(
                    "pure",
                    "charges without delta; give the budget a delta to admit others",
                ),
            },
            FilterKind::Approximate => match (charge.epsilon(), fixed()?) {
                (Some(epsilon), _) => Ok((epsilon, charge.delta())),
                (None, Some(fixed)) => Ok(fixed),
                (None, None) => refuse("approximate", without),
            },
        }
    }
}

/// The limits of a budget with `reserve` set aside.
fn limits(budget: Budget, kind: FilterKind, reserve: f64) -> Result<Limits, AccountError> {
    let delta = budget.delta();
    let room = match kind {
        FilterKind::Gaussian => reserve.max(mul_up(LEAST_SHARE, delta)),
        _ => reserve,
    };
    let rest = || {
        if delta > 0.0 && room >= delta {
            return Err(AccountError::DeltaOutOfReach {
                delta,
                at_least: room,
            });
        }
        Budget::approx(budget.epsilon(), sub_down(delta, room).max(0.0))
    };
    Ok(match kind {
        FilterKind::Gaussian => {
            let mu = tradeoff::limit(rest()?)?;
            Limits {
                most: mul_down(mu, mu),
                room,
            }
        }
        FilterKind::Zcdp => Limits {
            most: Rho::within(rest()?)?.get(),
            room,
        },
        FilterKind::Pure => Limits {
            most: budget.epsilon(),
            room: delta.max(PURE_ROOM).max(reserve),
        },
        FilterKind::Approximate => Limits {
            most: budget.epsilon(),
            room: delta,
        },
    })
}

#[cfg(test)]
mod tests;
