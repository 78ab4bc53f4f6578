//! A selection before it sees anything: its schedule, its price and what it promises.

use super::board::{Board, RATE_BITS};
use super::error::SelectError;
use super::request::{Horizon, MOST_ROUNDS, Method, OCTAVES, SelectRequest};
use crate::boundary::Scope;
use crate::mechanism::Terms;
use hushstream_account::{Budget, Charge, Epsilon, FilterKind, Guarantee, Price};
use serde::{Deserialize, Serialize};

/// What happens after each item.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) enum Schedule {
    /// One board for the whole horizon.
    Whole(Board),
    /// A fresh board for each octave.
    Octaves(Vec<Board>),
    /// One draw with this rate at the end of each octave, from its items alone.
    Doubling { rate: u64 },
}

/// A selection with everything fixed but the data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SelectPlan {
    pub(crate) request: SelectRequest,
    pub(crate) batch: u64,
    pub(crate) schedule: Schedule,
}

impl SelectPlan {
    /// What was asked for.
    #[must_use]
    pub fn request(&self) -> &SelectRequest {
        &self.request
    }

    /// B.
    #[must_use]
    pub fn batch(&self) -> u64 {
        self.batch
    }

    /// The board, if there is one for the whole horizon.
    #[must_use]
    pub fn board(&self) -> Option<&Board> {
        match &self.schedule {
            Schedule::Whole(board) => Some(board),
            _ => None,
        }
    }

    /// The board that decides after item number `item`, from 1: for an unknown horizon that of its
    /// octave. None where every octave ends with one draw.
    #[must_use]
    pub fn board_of(&self, item: u64) -> Option<&Board> {
        match &self.schedule {
            Schedule::Whole(board) => Some(board),
            Schedule::Octaves(boards) => {
                let octave = item.max(1).ilog2() as usize;
                boards.get(octave.min(boards.len().saturating_sub(1)))
            }
            Schedule::Doubling { .. } => None,
        }
    }

    /// How many items may come in: nothing is released after the last round's.
    #[must_use]
    pub fn most_items(&self) -> u64 {
        match (&self.schedule, self.request.horizon) {
            (Schedule::Octaves(boards), _) => (1_u64 << boards.len()) - 1,
            (_, Horizon::Known(rounds)) => rounds.div_ceil(self.batch).saturating_sub(1),
            (_, Horizon::Unknown) => MOST_ROUNDS,
        }
    }

    /// T, as far as it is planned for.
    #[must_use]
    pub fn rounds(&self) -> u64 {
        match self.request.horizon {
            Horizon::Known(rounds) => rounds,
            Horizon::Unknown => self.most_items().saturating_mul(self.batch),
        }
    }

    /// The bound on the expected regret against losses that do not depend on the plays; none for
    /// limited updates (stochastic losses) and for octaves.
    #[must_use]
    pub fn regret_bound(&self) -> Option<f64> {
        let setting = self.request.setting(self.rounds(), self.batch);
        self.board().map(|board| setting.regret_bound(board))
    }

    /// ε at the budget's δ.
    fn spent(&self) -> Result<f64, SelectError> {
        let (adjacency, delta) = (self.request.adjacency, self.request.budget.delta());
        Ok(match &self.schedule {
            Schedule::Whole(board) => board.epsilon(adjacency, delta)?,
            Schedule::Octaves(boards) => boards.iter().try_fold(0.0_f64, |most, board| {
                board.epsilon(adjacency, delta).map(|spent| most.max(spent))
            })?,
            Schedule::Doubling { rate } => {
                adjacency.kappa() * *rate as f64 / (1_u64 << RATE_BITS) as f64
            }
        })
    }

    /// The price of the whole run.
    ///
    /// # Errors
    /// Never for a plan that exists; the numbers were checked.
    pub fn charge(&self) -> Result<Price, SelectError> {
        // A selection that is never asked costs nothing, which is not a charge: the smallest one
        // stands for it.
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

    /// The filter of a ledger that admits the price.
    #[must_use]
    pub fn filter(&self) -> FilterKind {
        if self.request.budget.is_pure() {
            FilterKind::Pure
        } else {
            FilterKind::Approximate
        }
    }

    /// What its budget is about.
    #[must_use]
    pub fn scope(&self) -> Scope {
        Scope::records(self.request.adjacency)
    }

    pub(crate) fn terms(&self) -> Result<Terms, SelectError> {
        Ok(Terms {
            price: self.charge()?,
            scope: self.scope(),
            planned: self.most_items(),
            needs_all: None,
        })
    }

    /// What everything that the planned selection releases promises.
    ///
    /// # Errors
    /// Never for a plan that exists; the numbers were checked.
    pub fn guarantee(&self, simulated: bool) -> Result<Guarantee, SelectError> {
        self.promise(self.rounds(), self.most_items(), (0.0, 1.0), simulated)
    }

    /// The same in words about this many rounds (for an unknown horizon those that were played)
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
        for erratum in errata {
            builder = builder.erratum(*erratum);
        }
        Ok(builder.build()?)
    }

    /// Checks a plan that comes from a file. Its price is computed from its boards, so a forged one
    /// costs more than was paid.
    pub(crate) fn check_stored(&self) -> Result<(), SelectError> {
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
            Schedule::Octaves(boards) => {
                !boards.is_empty() && boards.len() <= OCTAVES as usize && boards.iter().all(sound)
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
