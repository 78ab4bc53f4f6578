//! A recipe for experts: method, experts or a net, and a calibration.

use crate::catalogue::{CATALOGUE, RecipeName, Rules};
use crate::error::RecipeError;
use crate::linear::{Holds, NOT_ALL, RegretBound};
use crate::note::as_before;
use hushstream_account::{Adjacency, Budget};
use hushstream_mechanism::Participation;
use hushstream_mechanism::losses::Loss;
use hushstream_mechanism::select::{Board, Horizon, SelectPlan, SelectRequest};
use hushstream_sets::{ConvexSet, SetError};
use std::sync::Arc;

/// A net is made coarser until it has at most this many points.
const MOST_POINTS: usize = 20_000;

/// Who gives advice.
#[derive(Clone)]
pub enum Advice {
    /// This many experts; a record is a loss for each.
    Experts(u32),
    /// The points of a net of a convex set; a record has a loss at each (`cover`).
    Net {
        /// The loss, with a Lipschitz constant on the set.
        loss: Arc<dyn Loss>,
        /// The set.
        set: Arc<dyn ConvexSet>,
        /// The net's radius; diameter/T, or as fine as is sensible, if none is given.
        radius: Option<f64>,
    },
}

/// What a recipe chooses among.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Among {
    /// Experts.
    Experts,
    /// The points of a net.
    Points,
}

/// Parameters of an expert recipe.
#[derive(Clone)]
pub struct ExpertsRequest {
    /// `dartboard`, `dartboard-batched`, `hedge-batched`, `cover` or `limited-updates`.
    pub recipe: RecipeName,
    /// Who gives advice.
    pub advice: Advice,
    /// T, if it is known; otherwise octaves.
    pub rounds: Option<u64>,
    /// Rounds after which it begins anew, for losses that drift; never if none.
    pub restart: Option<u64>,
    /// Rounds for which an expert is held; the best for the batched recipes if none is given.
    pub batch: Option<u64>,
    /// Parameters of one's own instead of calibrated ones, for a known horizon.
    pub board: Option<Board>,
    /// What may be spent.
    pub budget: Budget,
    /// The neighbouring relation.
    pub adjacency: Adjacency,
    /// Who contributes how often.
    pub participation: Participation,
}

/// A recipe with everything fixed but the data.
#[derive(Clone)]
pub struct ExpertsRecipe {
    pub(crate) request: ExpertsRequest,
    pub(crate) plan: SelectPlan,
    pub(crate) points: Vec<Vec<f64>>,
    /// What losses on a net are divided by.
    pub(crate) range: f64,
    pub(crate) radius: f64,
}

impl ExpertsRequest {
    /// The recipe with the least certified regret among `dartboard`, `dartboard-batched` and
    /// `hedge-batched`, whichever was named; `dartboard` in octaves for an unknown horizon, and
    /// `cover` on a net.
    ///
    /// # Errors
    /// As [`ExpertsRequest::plan`].
    pub fn automatic(mut self) -> Result<ExpertsRecipe, RecipeError> {
        self.recipe = match (&self.advice, self.rounds) {
            (Advice::Net { .. }, _) => RecipeName::Cover,
            (_, None) => RecipeName::Dartboard,
            (_, Some(_)) => {
                let mut best = (f64::INFINITY, RecipeName::Dartboard);
                for entry in CATALOGUE {
                    let Rules::Choice(_, Among::Experts) = entry.rules else {
                        continue;
                    };
                    let request = Self {
                        recipe: entry.recipe,
                        ..self.clone()
                    };
                    let planned = request.plan().ok();
                    match planned.and_then(|planned| planned.regret_bound()) {
                        Some(bound) if bound < best.0 => best = (bound, entry.recipe),
                        _ => {}
                    }
                }
                best.1
            }
        };
        self.plan()
    }

    /// Calibrates the recipe.
    ///
    /// # Errors
    /// Everything that is out of range or does not fit, each with what is allowed.
    pub fn plan(self) -> Result<ExpertsRecipe, RecipeError> {
        let unfit = |reason: &str| Err(RecipeError::Unfit(format!("{}: {reason}", self.recipe)));
        let Rules::Choice(method, among) = self.recipe.entry().rules else {
            return unfit("it does not choose among experts");
        };
        let (mut points, mut range, mut radius) = (Vec::new(), 1.0, 0.0);
        let experts = match (&self.advice, among) {
            (Advice::Net { .. }, Among::Experts) => {
                return unfit("a net of points is for cover");
            }
            (Advice::Experts(_), Among::Points) => {
                return unfit("it needs a loss and a set, whose net it plays on");
            }
            (Advice::Experts(experts), _) => *experts,
            (
                Advice::Net {
                    loss,
                    set,
                    radius: wanted,
                },
                _,
            ) => {
                let Some(rounds) = self.rounds else {
                    return unfit("it needs a known number of rounds: the net depends on it");
                };
                if loss.dimension() != set.dimension() {
                    return unfit("the loss and the set have different dimensions");
                }
                range = loss.lipschitz() * set.diameter();
                if !(range > 0.0 && range.is_finite()) {
                    return unfit(
                        "the losses' range, slope times diameter, is not a positive finite number",
                    );
                }
                radius = wanted.unwrap_or(set.diameter() / rounds.max(1) as f64);
                points = net(set.as_ref(), &mut radius, wanted.is_some())?;
                u32::try_from(points.len())
                    .map_err(|_| RecipeError::Unfit(format!("{}: too many points", self.recipe)))?
            }
        };
        let request = SelectRequest {
            method,
            experts,
            horizon: match (self.restart, self.rounds) {
                (Some(season), rounds) => Horizon::Seasons { season, rounds },
                (None, Some(rounds)) => Horizon::Known(rounds),
                (None, None) => Horizon::Unknown,
            },
            batch: self.batch,
            adjacency: self.adjacency,
            participation: self.participation,
            budget: self.budget,
        };
        let plan = match self.board {
            Some(board) => request.plan_with(board)?,
            None => request.plan()?,
        };
        Ok(ExpertsRecipe {
            request: self,
            plan,
            points,
            range,
            radius,
        })
    }
}

/// Σ N_j·excess(n_j) over the rounds 2^j, j ≥ 1: what is learned from the n_j = 2^(j−1) records
/// before is played for N_j rounds.
pub(crate) fn doublings(rounds: u64, excess: impl Fn(u64) -> f64) -> f64 {
    let begins = (1..64).map(|j| 1_u64 << j).take_while(|&t| t <= rounds);
    begins
        .map(|t| t.min(rounds - t + 1) as f64 * excess(t / 2))
        .sum()
}

/// The net, with a radius that is doubled until the net is small enough, unless it was asked for.
fn net(set: &dyn ConvexSet, radius: &mut f64, fixed: bool) -> Result<Vec<Vec<f64>>, RecipeError> {
    loop {
        match set.net(*radius) {
            Ok(points) if fixed || points.len() <= MOST_POINTS => return Ok(points),
            Err(error @ SetError::TooMany { .. }) if fixed => return Err(error.into()),
            Ok(_) | Err(SetError::TooMany { .. }) => *radius *= 2.0,
            Err(error) => return Err(error.into()),
        }
    }
}

impl ExpertsRecipe {
    /// The mechanism's plan.
    #[must_use]
    pub fn plan(&self) -> &SelectPlan {
        &self.plan
    }

    /// The parameters.
    #[must_use]
    pub fn request(&self) -> &ExpertsRequest {
        &self.request
    }

    /// T, as far as it is planned for.
    #[must_use]
    pub fn rounds(&self) -> u64 {
        self.plan.rounds()
    }

    /// The points of the net; empty where there are only experts.
    #[must_use]
    pub fn points(&self) -> &[Vec<f64>] {
        &self.points
    }

    /// A bound on the expected regret against losses that do not depend on the plays, where there
    /// is one; with a net, against every point of the set. None where persons are limited: records
    /// beyond a limit are not learned.
    #[must_use]
    pub fn regret_bound(&self) -> Option<f64> {
        if self.request.participation.is_per_person() {
            return None;
        }
        let bound = self.plan.regret_bound()?;
        Some(match &self.request.advice {
            Advice::Experts(_) => bound,
            Advice::Net { loss, .. } => {
                self.range * bound + loss.lipschitz() * self.radius * self.rounds() as f64
            }
        })
    }

    /// The certified regret, also for `limited-updates`, or why there is none.
    ///
    /// **Claim** (AFKT22 Theorem 3 and Corollary 3.4, with erratum F9). For losses in [0, 1] drawn
    /// independently from one distribution, draws P(x) ∝ e^(−r·Σℓ) at every power of two have,
    /// against the best of d experts in hindsight, in expectation regret at most
    ///
    /// 1 + Σ_j N_j·min(1, ln d/(r·n_j) + √(ln d/(2n_j))) + √(T ln d/2),
    ///
    /// n_j = 2^(j−1) the losses before round 2^j and N_j ≤ 2^j the rounds until the next draw.
    ///
    /// *Proof.* Given the losses, the draw has Σℓ(x) at most ln d/r above the least on average, the
    /// entropy of the draw being at most ln d (Gibbs). The mean loss of an expert exceeds its
    /// average over n losses by at most √(ln d/(2n)) on average, also for the worst of d: each
    /// difference is sub-Gaussian of variance 1/(4n). The least average is, on average, at most the
    /// least mean. So a drawn expert is within the bracket of the best mean, in rounds of which its
    /// draw knows nothing. The best in hindsight is below the best mean by at most √(T ln d/2) a
    /// run, by the same inequality for all T losses. ∎
    ///
    /// # Errors
    /// The reason, for people.
    pub fn certified(&self) -> Result<RegretBound, String> {
        if self.request.participation.is_per_person() {
            return Err(NOT_ALL.to_owned());
        }
        let Some(rate) = self.plan.doubling_rate() else {
            let value = self.regret_bound();
            return value
                .map(|value| RegretBound {
                    value,
                    holds: Holds::ExpectedOblivious,
                    theorem: match self.request.restart {
                        Some(_) => {
                            "ceil(T/S) times the recipe's bound for a season of S rounds, against \
                             the best expert of every season"
                        }
                        None => self.request.recipe.entry().holds,
                    },
                })
                .ok_or_else(|| "none is known for an unknown horizon".to_owned());
        };
        let logarithm = f64::from(self.plan.request().experts).ln();
        let rounds = self.rounds();
        let excess = |n: u64| {
            let n = n as f64;
            (logarithm / (rate * n) + (logarithm / (2.0 * n)).sqrt()).min(1.0)
        };
        let hindsight = (rounds as f64 * logarithm / 2.0).sqrt();
        Ok(RegretBound {
            value: 1.0 + doublings(rounds, excess) + hindsight,
            holds: Holds::ExpectedStochastic,
            theorem: "AFKT22 Theorem 3 and Corollary 3.4 with erratum F9: sum over j of 2^j (ln \
                      d/(r n) + sqrt(ln d/(2n))), n = 2^(j-1), r = eps/2, plus sqrt(T ln d/2)",
        })
    }

    /// What the regret can never exceed: the range of the losses, each round. A bound above it says
    /// nothing.
    #[must_use]
    pub fn trivial_regret(&self) -> f64 {
        self.range * self.rounds() as f64
    }

    /// Everything that makes two runs the same, in one line.
    #[must_use]
    pub fn description(&self) -> String {
        let advice = match &self.request.advice {
            Advice::Experts(experts) => format!("{experts} experts"),
            Advice::Net { loss, set, .. } => {
                format!(
                    "{} on {set:?}, net of radius {:e}",
                    loss.describe(),
                    self.radius
                )
            }
        };
        as_before(&format!(
            "{} with {advice}, {:?}",
            self.request.recipe, self.plan
        ))
    }
}
