//! The plan of a selection: schedule, price and guarantee.

use super::board::{Board, RATE_BITS};
use super::error::SelectError;
use super::request::{Horizon, MOST_ROUNDS, Method, OCTAVES, SelectRequest, items_of};
use crate::boundary::Scope;
use crate::mechanism::Terms;
use crate::persons::Persons;
use hushstream_account::{Budget, Charge, Epsilon, FilterKind, Guarantee, Price};
use serde::{Deserialize, Serialize};

/// When experts are drawn.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum Schedule {
    /// One board for the whole horizon.
    Whole(Board),
    /// A fresh board for each octave.
    Octaves(Vec<Board>),
    /// One draw with this rate at the end of each octave, from its items alone.
    Doubling { rate: u64 },
    /// The same board in every season of so many items, each begun anew.
    Seasons { board: Board, items: u64 },
}

/// A selection plan: everything that is fixed before any data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SelectPlan {
    pub(crate) request: SelectRequest,
    pub(crate) batch: u64,
    pub(crate) schedule: Schedule,
}

impl SelectPlan {
    /// The request of this plan.
    #[must_use]
    pub fn request(&self) -> &SelectRequest {
        &self.request
    }

    /// B, the batch size.
    #[must_use]
    pub fn batch(&self) -> u64 {
        self.batch
    }

    /// The board, if there is one for the whole horizon or for every season.
    #[must_use]
    pub fn board(&self) -> Option<&Board> {
        match &self.schedule {
            Schedule::Whole(board) | Schedule::Seasons { board, .. } => Some(board),
            _ => None,
        }
    }

    /// The board that decides after item number `item`, from 1; for an unknown horizon, the board
    /// of its octave. `None` for one draw per octave.
    #[must_use]
    pub fn board_of(&self, item: u64) -> Option<&Board> {
        match &self.schedule {
            Schedule::Whole(board) | Schedule::Seasons { board, .. } => Some(board),
            Schedule::Octaves(boards) => {
                let octave = item.max(1).ilog2() as usize;
                boards.get(octave.min(boards.len().saturating_sub(1)))
            }
            Schedule::Doubling { .. } => None,
        }
    }

    /// The largest number of items: nothing is released after the last round.
    #[must_use]
    pub fn most_items(&self) -> u64 {
        match (&self.schedule, self.request.horizon) {
            (Schedule::Octaves(boards), _) => (1_u64 << boards.len()) - 1,
            (_, horizon) => match horizon.rounds() {
                Some(rounds) => rounds.div_ceil(self.batch).saturating_sub(1),
                None => MOST_ROUNDS,
            },
        }
    }

    /// T, as far as it is planned.
    #[must_use]
    pub fn rounds(&self) -> u64 {
        let most = || self.most_items().saturating_mul(self.batch);
        self.request.horizon.rounds().unwrap_or_else(most)
    }

    /// Rounds of a season, where there are such.
    #[must_use]
    pub fn season(&self) -> Option<u64> {
        match self.schedule {
            Schedule::Seasons { items, .. } => Some(items * self.batch),
            _ => None,
        }
    }

    /// A bound on the expected regret against losses that do not depend on the plays; `None` for
    /// limited updates (stochastic losses) and for octaves. In seasons it is against the best
    /// expert of each, which may change from one to the next: every season has the law of a run of
    /// its own, from a uniform start, so its regret is at most that of S rounds, and there are
    /// ⌈T/S⌉ of them.
    #[must_use]
    pub fn regret_bound(&self) -> Option<f64> {
        if let Some(season) = self.season() {
            let seasons = self.request.horizon.rounds()?.div_ceil(season);
            let setting = self.request.setting(season, self.batch);
            let board = self.board()?;
            return Some(seasons as f64 * setting.regret_bound(board));
        }
        let setting = self.request.setting(self.rounds(), self.batch);
        self.board().map(|board| setting.regret_bound(board))
    }

    /// The rate r of the draws P(x) ∝ e^(−r·Σℓ) at the end of every octave, where there are such.
    #[must_use]
    pub fn doubling_rate(&self) -> Option<f64> {
        match self.schedule {
            Schedule::Doubling { rate } => Some(rate as f64 / (1_u64 << RATE_BITS) as f64),
            _ => None,
        }
    }

    /// ε at the budget's δ.
    ///
    /// A record is in one octave, so octaves cost the most of them. A person's loss vectors may be
    /// in several: c₁ + c₂ + … ≤ c coins, and u₁ + u₂ + … ≤ u units of κ. At δ = 0 both add up, to
    /// no more than the costliest octave costs for c and u. (At δ > 0 the sum of curves, each at
    /// its own best order, has no such bound; persons in octaves are priced at δ = 0.) Seasons have
    /// one board, hence one curve: at every order the coins cost no more than c of them, and draws
    /// of range uᵢκ cost uᵢ²ρ, together at most u²ρ. So seasons cost what one of them costs.
    fn spent(&self) -> Result<f64, SelectError> {
        let (exposure, delta) = (self.request.exposure(), self.request.budget.delta());
        Ok(match &self.schedule {
            Schedule::Whole(board) | Schedule::Seasons { board, .. } => {
                board.epsilon(exposure, delta)?
            }
            Schedule::Octaves(boards) => boards.iter().try_fold(0.0_f64, |worst, board| {
                let spent = board.epsilon(exposure, delta);
                spent.map(|spent| worst.max(spent))
            })?,
            Schedule::Doubling { .. } => {
                exposure.units() * self.doubling_rate().unwrap_or(f64::NAN)
            }
        })
    }

    /// The price of the whole run.
    ///
    /// # Errors
    /// Numbers out of range. [`SelectRequest::plan`] has checked them, so a plan does not fail
    /// here.
    pub fn charge(&self) -> Result<Price, SelectError> {
        // A selection without items costs nothing, but a charge must be positive: use the smallest.
        let spent = self.spent()?.max(1e-12);
        let pure =
            self.request.budget.is_pure() || matches!(self.schedule, Schedule::Doubling { .. });
        let charge = if pure {
            Charge::Pure(Epsilon::new(spent)?)
        } else {
            Charge::Approximate(Budget::approx(spent, self.request.budget.delta())?)
        };
        // Coins and draws are exact.
        Ok(Price::new(charge, self.request.budget, 0.0)?)
    }

    /// The filter of a ledger that accepts the price.
    #[must_use]
    pub fn filter(&self) -> FilterKind {
        if self.request.budget.is_pure() {
            FilterKind::Pure
        } else {
            FilterKind::Approximate
        }
    }

    /// The scope of the price.
    #[must_use]
    pub fn scope(&self) -> Scope {
        Scope {
            per_person: self.request.participation.is_per_person(),
            ..Scope::records(self.request.adjacency)
        }
    }

    pub(crate) fn terms(&self) -> Result<Terms, SelectError> {
        Ok(Terms {
            price: self.charge()?,
            scope: self.scope(),
            planned: self.most_items(),
            needs_all: self
                .request
                .participation
                .is_per_person()
                .then_some(Persons::NEEDED),
        })
    }

    /// The guarantee of everything that the planned selection releases.
    ///
    /// # Errors
    /// Numbers out of range. [`SelectRequest::plan`] has checked them, so a plan does not fail
    /// here.
    pub fn guarantee(&self, simulated: bool) -> Result<Guarantee, SelectError> {
        self.promise(self.rounds(), self.most_items(), (0.0, 1.0), simulated)
    }

    /// The guarantee for this number of rounds (for an unknown horizon, the rounds played so far)
    /// with losses between these bounds.
    pub(crate) fn promise(
        &self,
        rounds: u64,
        items: u64,
        (low, high): (f64, f64),
        simulated: bool,
    ) -> Result<Guarantee, SelectError> {
        let charge = self.charge()?.charge;
        let (citation, errata): (&str, &[&str]) = match self.request.method {
            Method::Dartboard => ("AFKT22 Theorem 1", &["F1", "F2", "F3", "F4"]),
            Method::BatchedDartboard => ("AFKT22 Theorem 2", &["F1", "F2", "F3", "F4", "F5", "F6"]),
            Method::BatchedHedge => ("bounded range: Cesar and Rogers 2021", &[]),
            Method::LimitedUpdates => ("AFKT22 Theorem 3", &["F9"]),
        };
        let mut builder = Guarantee::builder(
            charge.epsilon().unwrap_or(f64::NAN),
            charge.delta(),
            self.request.adjacency,
            rounds,
        )
        .releases(items)
        .mechanism(self.request.method.to_string())
        .noise("exact coins and exponential mechanism")
        .assume(format!("losses are clipped to [{low}, {high}]"))
        .assume("the number of records and the time of each are public")
        .assume("AES-256 and HMAC-SHA-256 are pseudo-random")
        .citation(citation)
        .simulated(simulated);
        builder = self.request.participation.stated(builder);
        for erratum in errata {
            builder = builder.erratum(*erratum);
        }
        Ok(builder.build()?)
    }

    /// Checks a plan from a file. Its price is computed from its boards, so a forged plan costs
    /// more than was paid.
    pub(crate) fn check_stored(&self) -> Result<(), SelectError> {
        self.request.participation.check_few()?;
        let unit = 1_u64 << RATE_BITS;
        let sound = |board: &Board| {
            board.rate >= 1
                && (board.rate == 1 || board.rate.saturating_mul(self.batch) <= unit)
                && (1..=1 << super::board::FORCED_BITS).contains(&board.forced)
        };
        let boards = match &self.schedule {
            Schedule::Whole(board) => {
                sound(board) && matches!(self.request.horizon, Horizon::Known(_))
            }
            Schedule::Seasons { board, items } => match self.request.horizon {
                Horizon::Seasons { season, .. } => {
                    sound(board) && *items == items_of(season, self.batch)
                }
                _ => false,
            },
            Schedule::Octaves(boards) => {
                let priced =
                    self.request.budget.is_pure() || !self.request.participation.is_per_person();
                priced
                    && !boards.is_empty()
                    && boards.len() <= OCTAVES as usize
                    && boards.iter().all(sound)
            }
            Schedule::Doubling { rate } => (1..=64 * unit).contains(rate) && self.batch == 1,
        };
        let counts = self.request.experts >= 1
            && (1..=MOST_ROUNDS).contains(&self.batch)
            && (1..=MOST_ROUNDS.saturating_mul(self.batch)).contains(&self.rounds().max(1));
        if boards && counts {
            self.guarantee(true).map(|_| ())
        } else {
            Err(SelectError::Stored)
        }
    }
}
