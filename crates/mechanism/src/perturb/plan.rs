//! Requests for perturbed iterates, and their plans.

use super::schedule::{Schedule, noise_scale};
use super::{PerturbError, StableLearner, Timing, Weighting};
use crate::boundary::Scope;
use crate::persons::Participation;
use crate::sums::Noise;
use hushstream_account::{
    Adjacency, Budget, Charge, Epsilon, Guarantee, GuaranteeError, Mu, ParameterError, Price,
    precision_slack,
};
use hushstream_noise::L2Laplace;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Planning visits all releases: more than this would take minutes.
const MOST: u64 = 1 << 30;

/// Parameters of perturbed iterates.
#[derive(Clone)]
pub struct PerturbRequest {
    /// The learner.
    pub learner: Arc<dyn StableLearner>,
    /// When iterates are released.
    pub timing: Timing,
    /// How noise affects the learner.
    pub weighting: Weighting,
    /// Gaussian, or L2-Laplace for pure privacy.
    pub noise: Noise,
    /// The neighbouring relation.
    pub adjacency: Adjacency,
    /// How often a person contributes.
    pub participation: Participation,
    /// The budget of the whole run.
    pub budget: Budget,
}

/// A plan of perturbed iterates: everything that is fixed before any data.
#[derive(Clone)]
pub struct PerturbPlan {
    pub(super) request: PerturbRequest,
    pub(super) schedule: Schedule,
    price: f64,
}

/// Version of the releases and of their encoding in a journal; increase it with every change of
/// either.
const VERSION: u32 = 4;

/// The part of a plan that a journal stores, to recognise it.
#[derive(PartialEq, Serialize, Deserialize)]
pub(super) struct Stored {
    version: u32,
    /// Bits of the sensitivities at the schedule's probes: they detect a learner that has changed
    /// without a new description.
    sensitivities: Vec<u64>,
    learner: String,
    schedule: Schedule,
    adjacency: Adjacency,
    participation: Participation,
}

impl PerturbRequest {
    /// Splits the budget over the releases. O(number of releases).
    ///
    /// # Errors
    /// A parameter out of range; the message states the allowed values.
    pub fn plan(self) -> Result<PerturbPlan, PerturbError> {
        let steps = match self.timing {
            Timing::Every(steps) | Timing::Last(steps) => steps,
            Timing::Unknown => 1,
        };
        if !(1..=MOST).contains(&steps) {
            return Err(ParameterError::new(
                "rounds",
                steps,
                "1 to 2^30 releases (or an unknown horizon)",
            )
            .into());
        }
        let (most, _) = self.participation.limits();
        if !(1..=1 << 30).contains(&most) {
            return Err(
                ParameterError::new("contributions per person", most as f64, "1 to 2^30").into(),
            );
        }
        let dimension = u32::try_from(self.learner.dimension()).unwrap_or(u32::MAX);
        if dimension == 0 || dimension == u32::MAX {
            return Err(
                ParameterError::new("dimension", f64::from(dimension), "1 to 2^32 - 2").into(),
            );
        }
        let reach = self.learner.reach();
        if !(reach > 0.0 && reach.is_finite()) {
            return Err(ParameterError::new("reach", reach, "a positive finite number").into());
        }
        let limit = self.limit(dimension)?;
        let schedule = Schedule::new(
            self.noise,
            self.weighting,
            self.timing,
            limit,
            dimension,
            reach,
            |t| self.sensitivity(t),
        )?;
        let price = schedule.price(|t| self.sensitivity(t))?;
        if price > limit {
            return Err(PerturbError::BudgetTooSmall);
        }
        let plan = PerturbPlan {
            request: self,
            schedule,
            price,
        };
        // Refuse here whatever can be refused: a plan has a price and a guarantee.
        plan.charge()?;
        plan.guarantee(true)?;
        Ok(plan)
    }

    /// A person's k records are k replacements, one after the other. An empty record does not use
    /// up a turn, so the other k may be in other rounds: then 2k records are replaced by nothing.
    fn sensitivity(&self, t: u64) -> f64 {
        let (most, _) = self.participation.limits();
        let mut one = self.learner.sensitivity(t, self.adjacency);
        let is_person = matches!(self.participation, Participation::PerPerson { .. });
        if is_person && self.adjacency == Adjacency::ReplaceOne {
            one = one.max(2.0 * self.learner.sensitivity(t, Adjacency::ZeroOut));
        }
        one * most as f64
    }

    /// μ or ε that may be spent. For Gaussian noise the samplers' slack is subtracted from δ; for
    /// pure noise the guarantee states it.
    fn limit(&self, dimension: u32) -> Result<f64, PerturbError> {
        match self.noise {
            Noise::Laplace => Err(PerturbError::Noise),
            Noise::L2Laplace => {
                L2Laplace::new(dimension, noise_scale(self.noise))?;
                Ok(self.budget.epsilon())
            }
            Noise::Gaussian => {
                let budget = self.budget;
                if budget.is_pure() {
                    return Ok(Mu::within(budget)?.get()); // refuses, and says why
                }
                let slack = precision_slack(budget.epsilon(), self.total_variation(dimension))?;
                let delta = (budget.delta() - 2.0 * slack) * (1.0 - 1e-14);
                if delta <= 0.0 {
                    return Err(PerturbError::Slack {
                        epsilon: budget.epsilon(),
                        delta: budget.delta(),
                        slack,
                    });
                }
                Ok(Mu::within(Budget::approx(budget.epsilon(), delta)?)?.get())
            }
        }
    }

    /// Total-variation error of all draws: every release after a record may depend on it.
    fn total_variation(&self, dimension: u32) -> f64 {
        let releases = match self.timing {
            Timing::Every(releases) => releases as f64,
            Timing::Last(_) => 1.0,
            Timing::Unknown => (1_u64 << 44) as f64,
        };
        releases * f64::from(dimension) * self.noise.slack()
    }
}

impl PerturbPlan {
    /// The request of this plan.
    #[must_use]
    pub fn request(&self) -> &PerturbRequest {
        &self.request
    }

    /// The largest number of steps; one more is refused.
    #[must_use]
    pub fn most_steps(&self) -> u64 {
        self.schedule.most_steps()
    }

    /// The largest number of releases.
    #[must_use]
    pub fn releases(&self) -> u64 {
        self.schedule.releases()
    }

    /// s_t of the plan: the learner's, times the contributions of a person.
    #[must_use]
    pub fn sensitivity(&self, t: u64) -> f64 {
        self.request.sensitivity(t)
    }

    /// Standard deviation of one coordinate of the noise on release t, in the units of the iterate;
    /// 0 if the iterate depends on no data or is not released; infinite if the sensitivity is not a
    /// bound, in which case step t will be refused.
    #[must_use]
    pub fn sigma(&self, t: u64) -> f64 {
        let dimension = u32::try_from(self.request.learner.dimension()).unwrap_or(u32::MAX);
        if !self.schedule.is_released(t) {
            return 0.0;
        }
        let scale = match self.schedule.scale(t, self.sensitivity(t)) {
            Ok(scale) => scale.unwrap_or(0.0),
            Err(_) => f64::INFINITY,
        };
        scale * self.request.noise.variance(dimension).sqrt()
    }

    /// The scope of the charge.
    #[must_use]
    pub fn scope(&self) -> Scope {
        Scope {
            adjacency: self.request.adjacency,
            per_person: self.request.participation != Participation::OncePerRecord,
            windowed: false,
        }
    }

    /// The price of all releases together.
    ///
    /// # Errors
    /// Numbers out of range. [`PerturbRequest::plan`] has checked them, so a plan does not fail
    /// here.
    pub fn charge(&self) -> Result<Price, PerturbError> {
        let charge = if self.request.noise.is_pure() {
            Charge::Pure(Epsilon::new(self.price)?)
        } else {
            Charge::Gaussian(Mu::new(self.price)?)
        };
        let dimension = u32::try_from(self.request.learner.dimension()).unwrap_or(u32::MAX);
        let tau = self.request.total_variation(dimension).min(1.0);
        Ok(Price::new(charge, self.request.budget, tau)?)
    }

    pub(super) fn stored(&self) -> Stored {
        let probes = self.schedule.probes().into_iter();
        Stored {
            version: VERSION,
            sensitivities: probes.map(|t| self.sensitivity(t).to_bits()).collect(),
            learner: self.request.learner.describe(),
            schedule: self.schedule.clone(),
            adjacency: self.request.adjacency,
            participation: self.request.participation,
        }
    }

    /// The guarantee of everything that will be released.
    ///
    /// # Errors
    /// Numbers out of range. [`PerturbRequest::plan`] has checked them, so a plan does not fail
    /// here.
    pub fn guarantee(&self, simulated: bool) -> Result<Guarantee, GuaranteeError> {
        let request = &self.request;
        let (epsilon, delta) = if request.noise.is_pure() {
            (self.price, 0.0)
        } else {
            let epsilon = request.budget.epsilon();
            (epsilon, Mu::new(self.price)?.delta_at(epsilon)?)
        };
        let dimension = u32::try_from(request.learner.dimension()).unwrap_or(u32::MAX);
        let mut builder = Guarantee::builder(epsilon, delta, request.adjacency, self.most_steps())
            .releases(self.releases())
            .mechanism("perturbed iterates")
            .noise(request.noise.to_string())
            .assume(request.learner.assumption())
            .assume("the number of records and the time of each are public")
            .assume("the time a step takes is not observed")
            .assume(self.cryptography(dimension))
            .total_variation(request.total_variation(dimension))
            .simulated(simulated);
        if request.learner.proof().is_none() {
            builder = builder
                .assume("the learner is a caller's own, and so is the proof of its sensitivity");
        }
        if !request.noise.is_pure() {
            builder = builder.mu(Mu::new(self.price)?);
        }
        builder = request.participation.stated(builder);
        let (citation, errata): (_, &[&str]) = match request.timing {
            Timing::Every(_) => ("JKT12 Theorem 1", &["J8", "J9", "J10", "J11"]),
            Timing::Unknown => ("JKT12 Theorem 13", &["J8", "J11", "J14"]),
            Timing::Last(_) => ("JKT12 Theorem 5", &["J11", "J12", "J13"]),
        };
        builder = builder.citation(citation);
        for erratum in errata {
            builder = builder.erratum(*erratum);
        }
        builder.build()
    }

    /// The computational assumption, with the number of blocks under one cipher key and the
    /// switching bound q²/2¹²⁹ for it.
    fn cryptography(&self, dimension: u32) -> String {
        let inside = if self.request.noise.is_pure() {
            16.0
        } else {
            1.0
        };
        let blocks = self.releases() as f64 * f64::from(dimension) * inside;
        let distance = (blocks * blocks / 2_f64.powi(129)).min(1.0);
        format!(
            "AES-256 and HMAC-SHA-256 are pseudo-random (AES on up to {blocks:.1e} blocks, to \
             within {distance:.1e})"
        )
    }
}
