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

/// Losses are truncated by less than this.
const TRUNCATED: f64 = 1.0 / (1_u64 << 24) as f64;

/// Other experts, whose mean loss is at least so much above the least.
struct Gap {
    others: f64,
    least: f64,
}

impl Gap {
    /// What the expert costs a round that is drawn with this rate from n losses; anything without a
    /// gap. h·e^(−nφ(h)) rises until n·h·min(r, h) = 1, and falls from there.
    fn excess(&self, n: f64, rate: f64) -> f64 {
        if self.least <= 0.0 {
            return f64::INFINITY;
        }
        let top = if rate * rate * n >= 1.0 {
            1.0 / n.sqrt()
        } else {
            1.0 / (n * rate)
        };
        let gap = top.min(1.0).max(self.least);
        let s = rate.min(gap);
        self.others * gap * (-n * (s * gap - s * s / 2.0)).exp() + TRUNCATED
    }

    /// How far the best of n losses in hindsight is below the best mean.
    fn hindsight(&self, n: f64) -> f64 {
        if self.least <= 0.0 {
            return f64::INFINITY;
        }
        let far = (-n * self.least * self.least / 2.0).exp();
        self.others * far / (std::f64::consts::E * self.least)
    }
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
    /// 1 + Σ_j N_j·min(1, ln d/(r·n_j) + √(ln d/(2n_j))) + √(T ln d/2) + T·2⁻²⁴,
    ///
    /// n_j = 2^(j−1) the losses before round 2^j and N_j ≤ 2^j the rounds until the next draw.
    ///
    /// *Proof.* Given the losses, the draw has Σℓ(x) at most ln d/r above the least on average, the
    /// entropy of the draw being at most ln d (Gibbs). The mean loss of an expert exceeds its
    /// average over n losses by at most √(ln d/(2n)) on average, also for the worst of d: each
    /// difference is sub-Gaussian of variance 1/(4n). The least average is, on average, at most the
    /// least mean. So a drawn expert is within the bracket of the best mean, in rounds of which its
    /// draw knows nothing. The best in hindsight is below the best mean by at most √(T ln d/2) a
    /// run, by the same inequality for all T losses; and losses are truncated by less than 2⁻²⁴. ∎
    ///
    /// # Errors
    /// The reason, for people.
    pub fn certified(&self) -> Result<RegretBound, String> {
        self.certified_apart(0.0)
    }

    /// The same where the mean loss of every other expert is at least `gap` above the least mean;
    /// for `limited-updates` it stops growing with T.
    ///
    /// **Claim.** With a gap g > 0 the bracket for n losses may be replaced by
    ///
    /// (d − 1)·max_{g ≤ h ≤ 1} h·e^(−nφ(h)), φ(h) = s·h − s²/2, s = min(r, h),
    ///
    /// and √(T ln d/2) by (d − 1)·e^(−Tg²/2)/(e·g): in all O(ln d/g + (ln d/r)·log(ln d/(g·r))).
    ///
    /// *Proof.* Let S be the sum of n losses of an expert less those of the best one: independent
    /// terms in [−1, 1] of mean h ≥ g, so E e^(−sS) ≤ e^(−n(sh − s²/2)) for every s (Hoeffding).
    /// The expert is drawn with probability at most min(1, e^(−rS)) ≤ e^(−sS) for s ≤ r, and costs
    /// h a round: that is h·e^(−nφ(h)) for s = min(r, h), for each of d − 1. Against the best in
    /// hindsight T further losses cost E max(−S)⁺ over the experts, and u⁺ ≤ e^(su)/(es) at s = h;
    /// what comes out falls with h. Truncation takes 2⁻²⁴ from a gap at most, and as much a round.
    /// ∎
    ///
    /// (arXiv 2605.29148 draws on random prefixes of blocks and has ln d/g + ln d/ε; drawing on
    /// whole blocks, as AFKT22's Algorithm 2 does, needs no further mechanism.)
    ///
    /// # Errors
    /// The reason, for people.
    pub fn certified_apart(&self, gap: f64) -> Result<RegretBound, String> {
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
        let gap = Gap {
            others: f64::from(self.plan.request().experts) - 1.0,
            least: gap - TRUNCATED,
        };
        let excess = |n: u64| {
            let any = logarithm / (rate * n as f64) + (logarithm / (2.0 * n as f64)).sqrt();
            any.min(gap.excess(n as f64, rate)).min(1.0)
        };
        let horizon = rounds as f64;
        let hindsight = (horizon * logarithm / 2.0)
            .sqrt()
            .min(gap.hindsight(horizon));
        Ok(RegretBound {
            value: 1.0 + doublings(rounds, excess) + hindsight + horizon * TRUNCATED,
            holds: Holds::ExpectedStochastic,
            theorem: if gap.least > 0.0 {
                "AFKT22 Algorithm 2 with a gap g: sum over j of 2^j min(ln d/(r n) + sqrt(ln \
                 d/(2n)), d max h exp(-n(sh - s^2/2))), h >= g, s = min(r, h), n = 2^(j-1), r = \
                 eps/2"
            } else {
                "AFKT22 Theorem 3 and Corollary 3.4 with erratum F9: sum over j of 2^j (ln \
                 d/(r n) + sqrt(ln d/(2n))), n = 2^(j-1), r = eps/2, plus sqrt(T ln d/2)"
            },
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The law of the sum of n coins.
    fn binomial(n: usize, p: f64) -> Vec<f64> {
        let mut law = vec![1.0];
        for _ in 0..n {
            let mut next = vec![0.0; law.len() + 1];
            for (k, share) in law.into_iter().enumerate() {
                next[k] += share * (1.0 - p);
                next[k + 1] += share * p;
            }
            law = next;
        }
        law
    }

    /// Two experts whose losses are coins: what the drawn one costs, and what hindsight gains,
    /// summed over all outcomes, is below the bounds, and not always far below.
    #[test]
    fn two_coins_cost_less_than_their_gap_allows() {
        let mut closest = 0.0_f64;
        for (n, rate) in [
            (1, 0.5),
            (8, 0.1),
            (8, 1.0),
            (30, 0.05),
            (30, 0.5),
            (60, 2.0),
        ] {
            for (low, high) in [(0.0, 0.2), (0.45, 0.55), (0.3, 0.6), (0.1, 0.9), (0.8, 1.0)] {
                let gap = Gap {
                    others: 1.0,
                    least: high - low,
                };
                let (mut drawn, mut gained) = (0.0, 0.0);
                for (best, share) in binomial(n, low).into_iter().enumerate() {
                    for (other, also) in binomial(n, high).into_iter().enumerate() {
                        let apart = other as f64 - best as f64;
                        drawn += share * also * (high - low) / (1.0 + (rate * apart).exp());
                        gained += share * also * (-apart).max(0.0);
                    }
                }
                let excess = gap.excess(n as f64, rate);
                assert!(drawn <= excess, "{n} {rate} {low} {high}: {drawn} {excess}");
                let hindsight = gap.hindsight(n as f64);
                assert!(
                    gained <= hindsight,
                    "{n} {low} {high}: {gained} {hindsight}"
                );
                closest = closest.max(drawn / excess);
            }
        }
        assert!(closest > 0.5, "{closest}");
    }
}
