//! A recipe's regret bound in numbers, before any data: the theorem its learner proves, at this
//! calibration, for this plan's noise.
//!
//! Every bound is for records within the public bounds, and in the units of one record's loss.
//! Items of B records have B times the slope and the curvature; the records of an unfinished last
//! item add at most slope·diameter each. Where a learner's bound is linear in the length of the
//! noise in each round (the leaders on quadratics), it holds in expectation with the mean length;
//! otherwise with probability 1 − β for the length that is exceeded with probability β
//! ([`NOISE_BETA`]).

use super::noise_length::{NOISE_BETA, mean_length, rare_length};
use super::recipe::{Ask, Recipe};
use crate::catalogue::RecipeName;
use hushstream_learn::{
    DualAveraging, FollowTheApproximateLeader, FrankWolfe, LearnError, LocalLinear,
    PerturbedLeader, RegularisedLeader,
};
use hushstream_mechanism::Moments;
use hushstream_mechanism::losses::Loss;
use hushstream_mechanism::sums::{Noise, SumKind};
use std::fmt;

/// In which sense a bound holds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Holds {
    /// On average over the noise, also against adaptive streams.
    Expected,
    /// On average over the noise, for streams fixed in advance.
    ExpectedOblivious,
    /// But with this probability.
    Unless(f64),
}

impl fmt::Display for Holds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Expected => f.write_str("in expectation"),
            Self::ExpectedOblivious => f.write_str("in expectation, for losses fixed in advance"),
            Self::Unless(beta) => write!(f, "with probability 1 - {beta}"),
        }
    }
}

/// A bound on the regret of a whole run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RegretBound {
    /// The number.
    pub value: f64,
    /// In which sense.
    pub holds: Holds,
    /// Where it is proved.
    pub theorem: &'static str,
}

impl RegretBound {
    fn expected(value: f64, theorem: &'static str) -> Self {
        Self {
            value,
            holds: Holds::Expected,
            theorem,
        }
    }
}

/// The recipe's public numbers, for an item.
struct Item {
    /// Largest length of a loss's gradient.
    slope: f64,
    /// Whole items.
    horizon: u64,
    /// The largest regret from the records of an unfinished last item.
    rest: f64,
}

impl Recipe {
    /// The bound for this recipe, sum, noise and calibration; if none is proved, why not.
    ///
    /// # Errors
    /// The reason, for people.
    pub fn regret_bound(&self) -> Result<RegretBound, String> {
        let bound = match &self.ask {
            Ask::Moments(moments) => self.least_squares_bound(moments),
            Ask::Gradient(loss) => {
                let item = self.item(loss.as_ref());
                let mut bound = match self.request.recipe {
                    RecipeName::PftalConvex => self.dual_averaging_bound(&item),
                    RecipeName::Ftrl => self.regularised_bound(&item),
                    RecipeName::Ftpl => self.perturbed_bound(&item),
                    RecipeName::CocoL => self.linear_oracle_bound(loss.as_ref(), &item),
                    _ => self.approximate_leader_bound(loss.as_ref(), &item),
                }?;
                bound.value += item.rest;
                Ok(bound)
            }
        }?;
        if bound.value.is_finite() {
            Ok(bound)
        } else {
            Err("the bound overflows".to_owned())
        }
    }

    /// What the regret can never exceed: the largest slope of a loss times the diameter of the set,
    /// each round. A bound above it says nothing.
    #[must_use]
    pub fn trivial_regret(&self) -> Option<f64> {
        match &self.ask {
            Ask::Moments(moments) => {
                let items = self.request.rounds.div_ceil(self.request.batch);
                let learner = self.least_squares(moments).ok()?;
                Some(learner.trivial_regret(items))
            }
            Ask::Gradient(loss) => {
                let item = self.item(loss.as_ref());
                let items = item.horizon as f64 * item.slope * self.request.set.diameter();
                Some(items + item.rest)
            }
        }
    }

    fn item(&self, loss: &dyn Loss) -> Item {
        let (rounds, batch) = (self.request.rounds, self.request.batch);
        // A multiple of (1, …, 1) costs every point of the simplex the same.
        let offset = if self.request.set.name() == "simplex" {
            0.0
        } else {
            loss.offset().abs() * (loss.dimension() as f64).sqrt()
        };
        let slope = loss.lipschitz() + offset;
        Item {
            slope: slope * batch as f64,
            horizon: rounds / batch,
            rest: (rounds % batch) as f64 * slope * self.request.set.diameter(),
        }
    }

    /// The mean length of what separates a release from the exact sum.
    fn mean_error(&self) -> f64 {
        mean_length(&self.plan) + self.plan.truncation()
    }

    /// The same, exceeded by some release with probability at most β.
    fn rare_error(&self) -> f64 {
        rare_length(&self.plan, NOISE_BETA) + self.plan.truncation()
    }

    /// Whether every loss is as curved as the learner takes it to be.
    fn curved(&self, loss: &dyn Loss) -> Result<(), String> {
        let known = loss.strong_convexity() * self.request.batch as f64;
        if self.curvature <= known * (1.0 + 1e-12) {
            return Ok(());
        }
        Err(format!(
            "the curvature, {}, is above what the losses are known to have, {known}: no theorem \
             covers it",
            self.curvature
        ))
    }

    fn approximate_leader_bound(
        &self,
        loss: &dyn Loss,
        item: &Item,
    ) -> Result<RegretBound, String> {
        self.curved(loss)?;
        let set = self.request.set.clone();
        let learner = FollowTheApproximateLeader::new(set, self.curvature).map_err(text)?;
        Ok(RegretBound::expected(
            learner.regret_bound(item.slope, self.mean_error(), item.horizon),
            match self.request.recipe {
                RecipeName::CocoP => {
                    "WDP20 Theorems 3 and 4 with errata W1, W2: (1 + ln T)((L + mu D)^2/2 + L N)/mu"
                }
                _ => "ST13 Theorem 4 with erratum S1: (1 + ln T)((L + H D)^2/2 + L N)/H",
            },
        ))
    }

    fn dual_averaging_bound(&self, item: &Item) -> Result<RegretBound, String> {
        let set = self.request.set.clone();
        let learner = DualAveraging::new(set, self.curvature).map_err(text)?;
        Ok(RegretBound::expected(
            learner.regret_bound(item.slope, self.mean_error(), item.horizon),
            "ST13 Theorem 11 with errata S1, S3: (1 + ln T)((L + H r)^2/2 + L N)/H + H T r^2/2",
        ))
    }

    fn least_squares_bound(&self, moments: &Moments) -> Result<RegretBound, String> {
        if !self.request.rounds.is_multiple_of(self.request.batch) {
            return Err(
                "the last item is not full, and is then less regularised than the theorem \
                assumes: take rounds that the batch divides"
                    .to_owned(),
            );
        }
        let learner = self.least_squares(moments).map_err(text)?;
        let (p, sd) = (moments.features() as f64, self.plan.prefix_sd_max());
        let rounding = self.request.rounds as f64 * moments.rounding();
        let truncation = self.plan.truncation() + rounding;
        let matrix = sd * (p * (p + 1.0) / 2.0).sqrt() + truncation;
        let targets = moments.targets() as f64;
        let target = (sd * (p * targets).sqrt() + truncation) / moments.target_scale();
        let items = self.request.rounds / self.request.batch;
        let value = learner.regret_bound(matrix, target, items);
        let value = value.ok_or("the schedule of recomputing has no bound")?;
        Ok(RegretBound::expected(
            value,
            "JKT12 Theorem 4 with errata J1, J2, J3, J5: (1 + ln T)(G^2/2 + G(N_u + rho \
             N_V))/alpha, and lambda rho^2/2 for a ridge",
        ))
    }

    /// AS17's theorems are about noise of one law in every release.
    fn one_law(&self) -> Result<(), String> {
        let kind = self.plan.request().kind;
        if matches!(kind, SumKind::PaddedTree | SumKind::Smooth) {
            return Ok(());
        }
        Err(format!(
            "the theorem needs noise of one law in every release, which {kind} does not have: use \
             tree-padded or smooth"
        ))
    }

    /// Truncated losses are what the learner plays against: each costs at most its distance from
    /// the true one.
    fn truncated(&self) -> f64 {
        self.request.set.diameter() * self.plan.truncation()
    }

    fn regularised_bound(&self, item: &Item) -> Result<RegretBound, String> {
        self.one_law()?;
        let set = &self.request.set;
        let dimension = set.dimension() as f64;
        let (learner, norm) = if self.is_entropic() {
            let learner = RegularisedLeader::entropic(set.dimension(), self.learning_rate);
            (learner, item.slope / dimension.sqrt())
        } else {
            let learner = RegularisedLeader::euclidean(set.clone(), self.learning_rate);
            (learner, item.slope)
        };
        let learner = learner.map_err(text)?;
        let squares = item.horizon as f64 * norm * norm;
        Ok(RegretBound {
            value: learner.regret_bound(squares, self.noise_range()) + self.truncated(),
            holds: Holds::ExpectedOblivious,
            theorem: "AS17 Theorem 3.4 with errata A1, A7: D_R/eta + (eta/2) sum |l|*^2 + D_Z",
        })
    }

    /// D_Z = E[max⟨Z, x⟩ − min⟨Z, x⟩] over the set, at most diameter·E‖Z‖. On the simplex it is
    /// E[max − min] of N coordinates: at most 2s√(2 ln N) for normal ones, hence also for
    /// L2-Laplace, which is normal given its variance, of mean at most s²; and 2(s√(2 ln N) + b·ln
    /// N) for sums of Laplace noises of scale b with weights ±1, as ln E e^(λX) = −ln(1 − λ²b²) ≤
    /// λ²b²/(1 − λb) for each.
    fn noise_range(&self) -> f64 {
        let any = self.request.set.diameter() * mean_length(&self.plan);
        if !self.is_entropic() {
            return any;
        }
        let logarithm = (self.request.set.dimension() as f64).ln();
        let normal = self.plan.prefix_sd_max() * (2.0 * logarithm).sqrt();
        let tail = match self.plan.request().noise {
            Noise::Laplace => self.plan.node_sigma() / std::f64::consts::SQRT_2 * logarithm,
            Noise::Gaussian | Noise::L2Laplace => 0.0,
        };
        any.min(2.0 * (normal + tail))
    }

    fn perturbed_bound(&self, item: &Item) -> Result<RegretBound, String> {
        self.one_law()?;
        let learner = PerturbedLeader::new(self.request.set.clone()).map_err(text)?;
        let deviation = self.plan.prefix_sd_max();
        let value = learner.regret_bound(item.slope, deviation, item.horizon);
        Ok(RegretBound {
            value: value + self.truncated(),
            holds: Holds::ExpectedOblivious,
            theorem: "AS17 Theorem 3.5 with errata A3, A7: |X|(s sqrt(N) + T |Y|^2/(s sqrt(2 pi)))",
        })
    }

    fn linear_oracle_bound(&self, loss: &dyn Loss, item: &Item) -> Result<RegretBound, String> {
        self.curved(loss)?;
        let set = self.request.set.clone();
        let noise = self.rare_error();
        let (value, theorem) = if self.minimises_only() {
            let learner = FrankWolfe::new(set, self.curvature).map_err(text)?;
            (
                learner.regret_bound(item.slope, noise, item.horizon),
                "online Frank-Wolfe: (1 + ln T)((L + mu D)^2/2 + L N)/mu + (3/2) L E T^(2/3)",
            )
        } else if self.request.tuned {
            return Err(
                "the tuned variant's bound is computed along the way and known after the run"
                    .to_owned(),
            );
        } else {
            let learner =
                LocalLinear::as_stated(set, self.curvature, item.slope, self.rare_noise());
            let value = learner
                .map_err(text)?
                .stated_bound(item.slope, noise, item.horizon);
            let value = value.ok_or(
                "noise can move the sums further in a round than WDP20's \
                constants allow: its theorem does not cover this plan (erratum W8)",
            )?;
            (
                value,
                "WDP20 Theorems 6 and 7 with errata W1, W3, W8: (1 + ln T)((L + mu D)^2/2 + L N + \
                 2 L C1)/mu + C0 mu D^2/2",
            )
        };
        Ok(RegretBound {
            value,
            holds: Holds::Unless(NOISE_BETA),
            theorem,
        })
    }
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn text(error: LearnError) -> String {
    error.to_string()
}
