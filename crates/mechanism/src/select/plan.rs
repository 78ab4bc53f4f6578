//! What is wanted of a selection, and what comes of it before it sees anything.

use super::board::{Board, RATE_BITS};
use super::calibrate::{Setting, best_board, best_hedge};
use super::error::SelectError;
use crate::boundary::Scope;
use crate::durable::Terms;
use hushstream_account::{Adjacency, Budget, Charge, Epsilon, FilterKind, Guarantee};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Items of a selection that does not know its horizon: 32 octaves.
const OCTAVES: u32 = 32;
/// Totals stay below 2⁶² in units of 2⁻²⁴.
const MOST_ROUNDS: u64 = 1 << 38;

/// How an expert is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Method {
    /// AFKT22 Algorithm 1.
    Dartboard,
    /// The same in batches (AFKT22 §3.1.1).
    BatchedDartboard,
    /// A draw after every batch.
    BatchedHedge,
    /// A draw at every power of two, on the items since the last (AFKT22 Algorithm 2): for stochastic losses.
    LimitedUpdates,
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Dartboard => "private shrinking dartboard",
            Self::BatchedDartboard => "private shrinking dartboard, batched",
            Self::BatchedHedge => "private Hedge in batches",
            Self::LimitedUpdates => "limited updates by the exponential mechanism",
        })
    }
}

/// How many rounds there will be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Horizon {
    /// T.
    Known(u64),
    /// Octaves of 1, 2, 4, … items, each with the whole budget: an item is in one of them, so nothing adds up.
    Unknown,
}

/// What is wanted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SelectRequest {
    /// How.
    pub method: Method,
    /// d.
    pub experts: u32,
    /// T, if it is known. Limited updates need not know.
    pub horizon: Horizon,
    /// Loss vectors in one item, B; the best one if none is given and the method is a batched one.
    pub batch: Option<u64>,
    /// The neighbouring relation.
    pub adjacency: Adjacency,
    /// What may be spent.
    pub budget: Budget,
}

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

impl SelectRequest {
    /// Chooses the parameters.
    ///
    /// # Errors
    /// Everything that is out of range, each with what is allowed.
    pub fn plan(self) -> Result<SelectPlan, SelectError> {
        let batch = self.batch.unwrap_or(1);
        let whole = if let Horizon::Known(rounds) = self.horizon {
            rounds
        } else {
            batch
        };
        for (parameter, given) in [
            ("experts", u64::from(self.experts)),
            ("rounds", whole),
            ("batch", batch),
        ] {
            if !(1..=MOST_ROUNDS).contains(&given) {
                return Err(SelectError::Count {
                    parameter,
                    given,
                    allowed: "1 to 2^38 (experts: below 2^32)",
                });
            }
        }
        // Totals of one octave must stay below 2⁶² too.
        if self.horizon == Horizon::Unknown && batch > MOST_ROUNDS >> OCTAVES {
            return Err(SelectError::Count {
                parameter: "batch",
                given: batch,
                allowed: "at most 64 for an unknown horizon",
            });
        }
        if matches!(self.method, Method::Dartboard | Method::LimitedUpdates) && batch != 1 {
            return Err(SelectError::Count {
                parameter: "batch",
                given: batch,
                allowed: "1 for this method; use dartboard-batched",
            });
        }
        let (batch, schedule) = match self.method {
            Method::LimitedUpdates => (1, self.doubling()?),
            _ => match (self.horizon, self.batch) {
                (Horizon::Unknown, _) => (batch, self.octaves(batch)?),
                (Horizon::Known(rounds), None) if self.method != Method::Dartboard => {
                    self.best_batch(rounds)?
                }
                (Horizon::Known(rounds), _) => (batch, Schedule::Whole(self.board(rounds, batch)?)),
            },
        };
        let plan = SelectPlan {
            request: self,
            batch,
            schedule,
        };
        plan.guarantee(true)?;
        Ok(plan)
    }

    /// The plan with parameters of one's own instead of the calibrated ones, for a known horizon. Its price is what they cost, whatever the budget's ε.
    ///
    /// # Errors
    /// An unknown horizon or a method without a board; a rate above 1/B; counts out of range.
    pub fn plan_with(self, board: Board) -> Result<SelectPlan, SelectError> {
        let plan = SelectPlan {
            batch: self.batch.unwrap_or(1),
            request: self,
            schedule: Schedule::Whole(board),
        };
        if plan.request.method == Method::LimitedUpdates {
            return Err(SelectError::Stored);
        }
        plan.check_stored()?;
        Ok(plan)
    }

    fn setting(&self, rounds: u64, batch: u64) -> Setting {
        Setting {
            experts: u64::from(self.experts),
            rounds,
            batch,
            adjacency: self.adjacency,
            budget: self.budget,
        }
    }

    fn board(&self, rounds: u64, batch: u64) -> Result<Board, SelectError> {
        let setting = self.setting(rounds, batch);
        Ok(match self.method {
            Method::BatchedHedge => best_hedge(&setting)?,
            _ => best_board(&setting)?,
        })
    }

    /// The power of two with the least bound; for Hedge, whose bound is cheap to compute, also its neighbours.
    fn best_batch(&self, rounds: u64) -> Result<(u64, Schedule), SelectError> {
        let mut best: Option<(f64, u64, Board)> = None;
        let mut worse = 0;
        let mut last = f64::INFINITY;
        for power in 0..38 {
            let batch = 1_u64 << power;
            if batch > rounds.max(1) {
                break;
            }
            let Ok(board) = self.board(rounds, batch) else {
                continue;
            };
            let bound = self.setting(rounds, batch).objective(&board);
            if best.is_none_or(|(known, _, _)| bound < known) {
                best = Some((bound, batch, board));
            }
            worse = if bound > last { worse + 1 } else { 0 };
            last = bound;
            if worse == 2 {
                break;
            }
        }
        match best {
            Some((_, batch, board)) => Ok((batch, Schedule::Whole(board))),
            None => Ok((1, Schedule::Whole(self.board(rounds, 1)?))),
        }
    }

    fn octaves(&self, batch: u64) -> Result<Schedule, SelectError> {
        let boards = (0..OCTAVES)
            .map(|octave| self.board((1_u64 << octave) * batch, batch))
            .collect::<Result<_, _>>()?;
        Ok(Schedule::Octaves(boards))
    }

    /// κ = ε/2 for replace-one, ε for zero-out: one draw, whose loss lies in an interval of length 2κ or κ.
    fn doubling(&self) -> Result<Schedule, SelectError> {
        let rate = self.budget.epsilon().min(64.0) / self.adjacency.kappa();
        let rate = (rate * (1_u64 << RATE_BITS) as f64) as u64;
        if rate == 0 {
            return Err(SelectError::Account(
                hushstream_account::AccountError::NotFinite {
                    quantity: "rate of a selection",
                },
            ));
        }
        Ok(Schedule::Doubling { rate })
    }
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

    /// The bound on the expected regret against losses that do not depend on the plays; none for limited updates (stochastic losses) and for octaves.
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
    pub fn charge(&self) -> Result<Charge, SelectError> {
        // A selection that is never asked costs nothing, which is not a charge: the smallest one stands for it.
        let spent = self.spent()?.max(1e-12);
        let pure =
            self.request.budget.is_pure() || matches!(self.schedule, Schedule::Doubling { .. });
        Ok(if pure {
            Charge::Pure(Epsilon::new(spent)?)
        } else {
            Charge::Approximate(Budget::approx(spent, self.request.budget.delta())?)
        })
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
        })
    }

    /// What everything that the planned selection releases promises.
    ///
    /// # Errors
    /// Never for a plan that exists; the numbers were checked.
    pub fn guarantee(&self, simulated: bool) -> Result<Guarantee, SelectError> {
        self.promise(self.rounds(), self.most_items(), (0.0, 1.0), simulated)
    }

    /// The same in words about this many rounds (for an unknown horizon those that were played) with losses between these bounds.
    pub(crate) fn promise(
        &self,
        rounds: u64,
        items: u64,
        (low, high): (f64, f64),
        simulated: bool,
    ) -> Result<Guarantee, SelectError> {
        let charge = self.charge()?;
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

    /// Checks a plan that comes from a file. Its price is computed from its boards, so a forged one costs more than was paid.
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
