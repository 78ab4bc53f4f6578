//! What is wanted of private feedback, and what it costs.
//!
//! Noise is fixed: discrete Laplace of scale 2³⁰ or ⌊2³⁰·N(0,1)⌉. Privacy sets the integer image R of the range's bound M: a number y becomes ⌊yR/M⌋ toward zero, in [0, R] or [−R, R], checked in
//! integers, so a person moves the sum of a batch by at most Δ = R, or 2R for a symmetric range and replace-one. Then ε = Δ/2³⁰, respectively μ = Δ/2³⁰, exactly.

use super::reading::Reading;
use crate::boundary::Scope;
use crate::durable::{DiaryError, Terms};
use hushstream_account::{
    AccountError, Adjacency, Budget, Charge, Epsilon, FilterKind, Guarantee, GuaranteeError, Mu,
    Price,
};
use hushstream_noise::{DiscreteLaplace, NoiseError, RoundedGaussian};
use serde::{Deserialize, Serialize};

/// The scale of all noise, in lattice units.
pub(crate) const SCALE: u64 = 1 << 30;
const MOST_ITEMS: u64 = 1 << 40;

/// Where answers lie. What is outside is clipped.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Range {
    /// [0, M]: two answers are M apart.
    ZeroTo(f64),
    /// [−M, M]: two answers are 2M apart.
    Symmetric(f64),
}

impl Range {
    /// M.
    #[must_use]
    pub fn bound(self) -> f64 {
        match self {
            Self::ZeroTo(bound) | Self::Symmetric(bound) => bound,
        }
    }

    /// Δ/M: how far one person's answer can be from another, or from the null answer 0.
    #[must_use]
    pub fn width(self, adjacency: Adjacency) -> f64 {
        match self {
            Self::ZeroTo(_) => 1.0,
            Self::Symmetric(_) => adjacency.kappa(),
        }
    }

    /// The nearest number of the range.
    #[must_use]
    pub fn clip(self, value: f64) -> f64 {
        match self {
            Self::ZeroTo(bound) => value.clamp(0.0, bound),
            Self::Symmetric(bound) => value.clamp(-bound, bound),
        }
    }
}

/// The law of the noise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum FeedbackNoise {
    /// Discrete Laplace: ε, δ = 0.
    Laplace,
    /// Rounded Gaussian: δ > 0.
    Gaussian,
}

impl FeedbackNoise {
    /// Total-variation error of the one draw that a record affects.
    fn slack(self) -> f64 {
        match self {
            Self::Laplace => DiscreteLaplace::SLACK,
            Self::Gaussian => RoundedGaussian::SLACK,
        }
    }
}

/// What is wanted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FeedbackRequest {
    /// Where answers lie.
    pub range: Range,
    /// Persons who answer the same play.
    pub batch: u64,
    /// Persons in all, if that is known. Privacy does not depend on it.
    pub rounds: Option<u64>,
    /// The noise; Laplace for δ = 0 and Gaussian for δ > 0 if none is named.
    pub noise: Option<FeedbackNoise>,
    /// The neighbouring relation.
    pub adjacency: Adjacency,
    /// What may be spent.
    pub budget: Budget,
}

/// Why feedback is refused.
#[derive(Debug, thiserror::Error)]
pub enum FeedbackError {
    /// A number out of range.
    #[error("{parameter} = {given} is not allowed; allowed: {allowed}")]
    Parameter {
        /// Which.
        parameter: &'static str,
        /// What was given.
        given: f64,
        /// What is allowed.
        allowed: &'static str,
    },
    /// The budget.
    #[error(transparent)]
    Account(#[from] AccountError),
    /// A guarantee that would promise nothing.
    #[error(transparent)]
    Guarantee(#[from] GuaranteeError),
    /// The journal or the ledger.
    #[error(transparent)]
    Diary(#[from] DiaryError),
    /// The noise.
    #[error(transparent)]
    Noise(#[from] NoiseError),
    /// A stored plan or item that this program does not make.
    #[error("the stored feedback is not of this program")]
    Stored,
}

/// Feedback with everything fixed but the data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FeedbackPlan {
    pub(crate) request: FeedbackRequest,
    pub(crate) noise: FeedbackNoise,
    /// R.
    pub(crate) radius: i64,
}

impl FeedbackRequest {
    /// Chooses the integer radius.
    ///
    /// # Errors
    /// Everything that is out of range, each with what is allowed.
    pub fn plan(self) -> Result<FeedbackPlan, FeedbackError> {
        let noise = self.noise.unwrap_or(if self.budget.is_pure() {
            FeedbackNoise::Laplace
        } else {
            FeedbackNoise::Gaussian
        });
        let allowed = match noise {
            FeedbackNoise::Laplace => self.budget.epsilon(),
            FeedbackNoise::Gaussian => Mu::within_with_slack(self.budget, noise.slack())?.get(),
        };
        let ideal = allowed * SCALE as f64 / self.range.width(self.adjacency);
        let mut plan = FeedbackPlan {
            request: self,
            noise,
            radius: ideal.clamp(0.0, (1_u64 << 40) as f64) as i64,
        };
        // Rounding may have gone one unit too far.
        while plan.radius > 0 && plan.loss()? > allowed {
            plan.radius -= 1;
        }
        plan.check()?;
        Ok(plan)
    }
}

impl FeedbackPlan {
    pub(crate) fn check(&self) -> Result<(), FeedbackError> {
        let request = &self.request;
        let bound = request.range.bound();
        let wrong = |parameter, given, allowed| {
            Err(FeedbackError::Parameter {
                parameter,
                given,
                allowed,
            })
        };
        if !(1e-200..1e200).contains(&bound) {
            return wrong("bound on answers", bound, "1e-200 to 1e200");
        }
        if !(1..=1 << 20).contains(&request.batch) {
            return wrong("batch", request.batch as f64, "1 to 2^20");
        }
        if !(1 << 10..=1 << 40).contains(&self.radius) {
            let given = request.budget.epsilon();
            return wrong(
                "epsilon",
                given,
                "large enough for a thousand lattice units",
            );
        }
        if request
            .rounds
            .is_some_and(|rounds| !(1..=MOST_ITEMS).contains(&rounds))
        {
            return wrong("rounds", 0.0, "1 to 2^40");
        }
        self.guarantee(true).map(|_| ())
    }

    /// Δ/2³⁰, rounded up: ε or μ.
    fn loss(&self) -> Result<f64, FeedbackError> {
        let width = self.request.range.width(self.request.adjacency);
        let moved = width * self.radius as f64;
        Ok(match self.noise {
            // Exact: an integer over a power of two.
            FeedbackNoise::Laplace => moved / SCALE as f64,
            FeedbackNoise::Gaussian => Mu::new(moved / SCALE as f64)?.get(),
        })
    }

    /// What was asked for.
    #[must_use]
    pub fn request(&self) -> &FeedbackRequest {
        &self.request
    }

    /// The law of the noise.
    #[must_use]
    pub fn noise(&self) -> FeedbackNoise {
        self.noise
    }

    /// The scale λ of the noise on one mean (its standard deviation, for Gaussian noise), in the units of answers.
    #[must_use]
    pub fn scale(&self) -> f64 {
        SCALE as f64 * self.unit() / self.request.batch as f64
    }

    /// The variance of the noise on one mean.
    #[must_use]
    pub fn variance(&self) -> f64 {
        let factor = match self.noise {
            FeedbackNoise::Laplace => 2.0,
            FeedbackNoise::Gaussian => 1.0,
        };
        factor * self.scale() * self.scale()
    }

    pub(crate) fn unit(&self) -> f64 {
        self.request.range.bound() / self.radius as f64
    }

    /// How many items may come in.
    #[must_use]
    pub fn most_items(&self) -> u64 {
        let rounds = self.request.rounds.unwrap_or(MOST_ITEMS);
        rounds.div_ceil(self.request.batch)
    }

    /// The price of the whole run.
    ///
    /// # Errors
    /// Never for a plan that exists.
    pub fn charge(&self) -> Result<Price, FeedbackError> {
        let loss = self.loss()?;
        let charge = match self.noise {
            FeedbackNoise::Laplace => Charge::Pure(Epsilon::new(loss)?),
            FeedbackNoise::Gaussian => Charge::Gaussian(Mu::new(loss)?),
        };
        Ok(Price::new(charge, self.request.budget, self.noise.slack())?)
    }

    /// The filter of a ledger that admits the price.
    #[must_use]
    pub fn filter(&self) -> FilterKind {
        match self.noise {
            FeedbackNoise::Laplace => FilterKind::Pure,
            FeedbackNoise::Gaussian => FilterKind::Gaussian,
        }
    }

    /// What its budget is about.
    #[must_use]
    pub fn scope(&self) -> Scope {
        Scope::records(self.request.adjacency)
    }

    pub(crate) fn terms(&self) -> Result<Terms, FeedbackError> {
        Ok(Terms {
            price: self.charge()?,
            scope: self.scope(),
            planned: self.most_items(),
        })
    }

    /// What all plays and noisy answers together promise.
    ///
    /// # Errors
    /// Never for a plan that exists.
    pub fn guarantee(&self, simulated: bool) -> Result<Guarantee, FeedbackError> {
        self.promise(self.most_items(), None, simulated)
    }

    /// The same in words about this many items: for an unknown horizon those that came in.
    pub(crate) fn promise(
        &self,
        items: u64,
        reading: Option<&Reading>,
        simulated: bool,
    ) -> Result<Guarantee, FeedbackError> {
        let request = &self.request;
        let (epsilon, delta, noise, slack) = match self.charge()?.charge {
            Charge::Gaussian(mu) => (
                request.budget.epsilon(),
                mu.delta_at(request.budget.epsilon())?,
                "Gaussian",
                self.noise.slack(),
            ),
            other => (
                other.epsilon().unwrap_or(f64::NAN),
                0.0,
                "Laplace",
                self.noise.slack(),
            ),
        };
        let rounds = request
            .rounds
            .unwrap_or(items.saturating_mul(request.batch));
        let clipped = match (reading, request.range) {
            (Some(reading), _) => reading.words(),
            (None, Range::ZeroTo(bound)) => format!("answers are clipped to [0, {bound}]"),
            (None, Range::Symmetric(bound)) => {
                format!("answers are clipped to [-{bound}, {bound}]")
            }
        };
        let mut builder = Guarantee::builder(epsilon, delta, request.adjacency, rounds)
            .releases(items)
            .mechanism("scalar feedback")
            .noise(noise)
            .sigma(self.variance().sqrt() / request.range.bound())
            .assume(clipped)
            .assume("the learner sees only its plays, its coins and the noisy answers")
            .assume("the number of records and the time of each are public")
            .assume("AES-256 and HMAC-SHA-256 are pseudo-random")
            .total_variation(slack)
            .citation("AS17 Theorem 4.1")
            .erratum("A4")
            .simulated(simulated);
        if let Charge::Gaussian(mu) = self.charge()?.charge {
            builder = builder.mu(mu);
        }
        Ok(builder.build()?)
    }
}
