//! Requests for a selection, and the choice of its parameters.

use super::board::{Board, Exposure, RATE_BITS};
use super::calibrate::{Setting, best_board, best_hedge};
use super::error::SelectError;
use super::plan::{Schedule, SelectPlan};
use crate::persons::Participation;
use hushstream_account::{Adjacency, Budget, ParameterError};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Octaves of a selection with an unknown horizon: 32.
pub(super) const OCTAVES: u32 = 32;
/// Totals stay below 2⁶² in units of 2⁻²⁴.
pub(super) const MOST_ROUNDS: u64 = 1 << 38;

/// How an expert is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Method {
    /// AFKT22 Algorithm 1.
    Dartboard,
    /// The same in batches (AFKT22 §3.1.1).
    BatchedDartboard,
    /// A draw after every batch.
    BatchedHedge,
    /// A draw at every power of two, on the items since the last (AFKT22 Algorithm 2): for
    /// stochastic losses.
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

/// The number of rounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Horizon {
    /// T.
    Known(u64),
    /// Octaves of 1, 2, 4, … items, each with the whole budget: an item is in one of them, so their
    /// costs do not add up.
    Unknown,
    /// Seasons of so many rounds, each begun anew with the whole budget, for streams that drift: an
    /// item is in one of them.
    Seasons {
        /// Rounds of a season.
        season: u64,
        /// T, if it is known.
        rounds: Option<u64>,
    },
}

impl Horizon {
    /// T, if it is known.
    pub(super) fn rounds(self) -> Option<u64> {
        match self {
            Self::Known(rounds) => Some(rounds),
            Self::Unknown => None,
            Self::Seasons { rounds, .. } => rounds,
        }
    }
}

/// Parameters of a selection.
///
/// ```
/// use hushstream_account::{Adjacency, Budget};
/// use hushstream_mechanism::Participation;
/// use hushstream_mechanism::select::{Horizon, Method, SelectRequest};
///
/// let request = SelectRequest {
///     method: Method::BatchedHedge,
///     experts: 10,
///     horizon: Horizon::Known(10_000),
///     batch: None, // choose the best one
///     adjacency: Adjacency::ReplaceOne,
///     participation: Participation::OncePerRecord,
///     budget: Budget::pure(1.0)?,
/// };
/// let plan = request.plan()?;
/// assert!(plan.batch() > 1 && plan.regret_bound() < Some(10_000.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SelectRequest {
    /// The method.
    pub method: Method,
    /// d, the number of experts.
    pub experts: u32,
    /// T, if it is known. Limited updates do not need it.
    pub horizon: Horizon,
    /// B, loss vectors per item; by default the best batch for batched methods, and 1 otherwise.
    pub batch: Option<u64>,
    /// The neighbouring relation.
    pub adjacency: Adjacency,
    /// Who contributes how often. A journal stores it after the plan.
    #[serde(skip)]
    pub participation: Participation,
    /// The budget of the whole run; δ is not used for persons with an unknown horizon.
    pub budget: Budget,
}

impl SelectRequest {
    /// Chooses the parameters.
    ///
    /// # Errors
    /// A parameter out of range; the message states the allowed values.
    pub fn plan(mut self) -> Result<SelectPlan, SelectError> {
        self.participation.check_few()?;
        if self.participation.is_per_person() && self.horizon == Horizon::Unknown {
            // A person is in several octaves, whose best Rényi orders differ: see `SelectPlan`.
            self.budget = Budget::pure(self.budget.epsilon())?;
        }
        let batch = self.batch.unwrap_or(1);
        let (whole, season) = match self.horizon {
            Horizon::Known(rounds) => (rounds, rounds),
            Horizon::Unknown => (batch, batch),
            Horizon::Seasons { season, rounds } => (rounds.unwrap_or(season), season),
        };
        for (parameter, given) in [
            ("experts", u64::from(self.experts)),
            ("rounds", whole),
            ("rounds of a season", season),
            ("batch", batch),
        ] {
            if !(1..=MOST_ROUNDS).contains(&given) {
                return Err(ParameterError::new(
                    parameter,
                    given,
                    "1 to 2^38 (experts: below 2^32)",
                )
                .into());
            }
        }
        // Totals of one octave must stay below 2⁶² too.
        if self.horizon == Horizon::Unknown && batch > MOST_ROUNDS >> OCTAVES {
            return Err(
                ParameterError::new("batch", batch, "at most 64 for an unknown horizon").into(),
            );
        }
        if matches!(self.method, Method::Dartboard | Method::LimitedUpdates) && batch != 1 {
            return Err(ParameterError::new(
                "batch",
                batch,
                "1 for this method; use dartboard-batched",
            )
            .into());
        }
        let best = self.batch.is_none() && self.method != Method::Dartboard;
        let (batch, schedule) = match (self.method, self.horizon) {
            (Method::LimitedUpdates, Horizon::Seasons { season, .. }) => {
                return Err(ParameterError::new(
                    "rounds of a season",
                    season,
                    "none for limited updates, which are for losses that do not drift; use dartboard",
                )
                .into());
            }
            (Method::LimitedUpdates, _) => (1, self.doubling()?),
            (_, Horizon::Unknown) => (batch, self.octaves(batch)?),
            (_, Horizon::Known(_) | Horizon::Seasons { .. }) => {
                let (batch, board) = if best {
                    self.best_batch(season)?
                } else {
                    (batch, self.board(season, batch)?)
                };
                (batch, self.schedule(board, batch))
            }
        };
        let plan = SelectPlan {
            request: self,
            batch,
            schedule,
        };
        plan.guarantee(true)?;
        Ok(plan)
    }

    /// Plans with given parameters instead of calibrated ones, for a known horizon. The price is
    /// what they cost, for any ε of the budget.
    ///
    /// # Errors
    /// An unknown horizon or a method without a board; a rate above 1/B; counts out of range.
    pub fn plan_with(self, board: Board) -> Result<SelectPlan, SelectError> {
        let batch = self.batch.unwrap_or(1);
        let plan = SelectPlan {
            schedule: self.schedule(board, batch),
            batch,
            request: self,
        };
        if plan.request.method == Method::LimitedUpdates {
            return Err(SelectError::Stored);
        }
        plan.check_stored()?;
        Ok(plan)
    }

    pub(super) fn exposure(&self) -> Exposure {
        Exposure::of(self.adjacency, self.participation)
    }

    pub(super) fn setting(&self, rounds: u64, batch: u64) -> Setting {
        Setting {
            experts: u64::from(self.experts),
            rounds,
            batch,
            exposure: self.exposure(),
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

    /// One board, for the whole horizon or in every season.
    fn schedule(&self, board: Board, batch: u64) -> Schedule {
        match self.horizon {
            Horizon::Seasons { season, .. } => Schedule::Seasons {
                board,
                items: items_of(season, batch),
            },
            _ => Schedule::Whole(board),
        }
    }

    /// The power of two with the least bound; for Hedge, whose bound is cheap to compute, its
    /// neighbours are tried too.
    fn best_batch(&self, rounds: u64) -> Result<(u64, Board), SelectError> {
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
            Some((_, batch, board)) => Ok((batch, board)),
            None => Ok((1, self.board(rounds, 1)?)),
        }
    }

    fn octaves(&self, batch: u64) -> Result<Schedule, SelectError> {
        let boards = (0..OCTAVES)
            .map(|octave| self.board((1_u64 << octave) * batch, batch))
            .collect::<Result<_, _>>()?;
        Ok(Schedule::Octaves(boards))
    }

    /// κ = ε/(2k) for replace-one, ε/k for zero-out: one draw an octave, whose loss lies in an
    /// interval of length 2κ or κ for each of the person's loss vectors in it, k in all.
    fn doubling(&self) -> Result<Schedule, SelectError> {
        let rate = self.budget.epsilon().min(64.0) / self.exposure().units();
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

/// Items of a season of so many rounds, in whole batches.
pub(super) fn items_of(season: u64, batch: u64) -> u64 {
    (season / batch.max(1)).max(1)
}
