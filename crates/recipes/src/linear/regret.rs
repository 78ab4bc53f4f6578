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
use super::recipe::Recipe;
use std::fmt;

/// Why there is no bound where persons are limited.
pub(crate) const NOT_ALL: &str =
    "none is known where persons are limited: records beyond a limit are not learned";

/// In which sense a bound holds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Holds {
    /// On average over the noise, also against adaptive streams.
    Expected,
    /// On average over the noise, for streams fixed in advance.
    ExpectedOblivious,
    /// On average over the noise and over records drawn independently from one distribution.
    ExpectedStochastic,
    /// But with this probability.
    Unless(f64),
}

impl fmt::Display for Holds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Expected => f.write_str("in expectation"),
            Self::ExpectedOblivious => f.write_str("in expectation, for losses fixed in advance"),
            Self::ExpectedStochastic => {
                f.write_str("in expectation, for records drawn independently from one distribution")
            }
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
    pub(crate) fn expected(value: f64, theorem: &'static str) -> Self {
        Self {
            value,
            holds: Holds::Expected,
            theorem,
        }
    }
}

/// The recipe's public numbers, for an item.
pub(crate) struct Item {
    /// Largest length of a loss's gradient; 0 where none is asked for.
    pub(crate) slope: f64,
    /// Whole items.
    pub(crate) horizon: u64,
    /// The largest regret from the records of an unfinished last item.
    pub(crate) rest: f64,
}

impl Recipe {
    /// The bound for this recipe, sum, noise and calibration; if none is proved, why not.
    ///
    /// # Errors
    /// The reason, for people.
    pub fn regret_bound(&self) -> Result<RegretBound, String> {
        let item = self.item();
        let mut bound = self.rules.bound(self, &item)?;
        bound.value += item.rest;
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
        self.rules.trivial_regret(self, &self.item())
    }

    fn item(&self) -> Item {
        let (rounds, batch) = (self.request.rounds, self.request.batch);
        let set = &self.request.set;
        let slope = self.loss().map_or(0.0, |loss| {
            // A multiple of (1, …, 1) costs every point of the simplex the same.
            let offset = if set.name() == "simplex" {
                0.0
            } else {
                loss.offset().abs() * (loss.dimension() as f64).sqrt()
            };
            loss.lipschitz() + offset
        });
        Item {
            slope: slope * batch as f64,
            horizon: rounds / batch,
            rest: (rounds % batch) as f64 * slope * set.diameter(),
        }
    }

    /// A bound on the mean length of a release's noise.
    pub(crate) fn mean_noise(&self) -> f64 {
        mean_length(&self.plan)
    }

    /// A length that is exceeded by some release with probability at most β.
    pub(crate) fn rare_noise(&self) -> f64 {
        rare_length(&self.plan, NOISE_BETA)
    }

    /// The mean length of what separates a release from the exact sum.
    pub(crate) fn mean_error(&self) -> f64 {
        self.mean_noise() + self.plan.truncation()
    }

    /// The same, exceeded by some release with probability at most β.
    pub(crate) fn rare_error(&self) -> f64 {
        self.rare_noise() + self.plan.truncation()
    }

    /// Whether every loss is as curved as the learner takes it to be.
    pub(crate) fn curved(&self) -> Result<(), String> {
        let own = self.loss().map_or(0.0, |loss| loss.strong_convexity());
        let known = own * self.request.batch as f64;
        if self.curvature <= known * (1.0 + 1e-12) {
            return Ok(());
        }
        Err(format!(
            "the curvature, {}, is above what the losses are known to have, {known}: no theorem \
             covers it",
            self.curvature
        ))
    }

    /// AS17's theorems are about noise of one law in every release.
    pub(crate) fn one_law(&self) -> Result<(), String> {
        let kind = self.plan.request().kind;
        if kind.has_one_law() {
            return Ok(());
        }
        Err(format!(
            "the theorem needs noise of one law in every release, which {kind} does not have: use \
             tree-padded or smooth"
        ))
    }

    /// Truncated losses are what the learner plays against: each costs at most its distance from
    /// the true one.
    pub(crate) fn truncated(&self) -> f64 {
        self.request.set.diameter() * self.plan.truncation()
    }
}
