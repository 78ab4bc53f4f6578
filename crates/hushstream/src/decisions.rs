//! Decisions: what is stated about them, what is answered, and what was evaluated.

use crate::error::{Result, refuse};
use crate::model::Model;
use hushstream_mechanism::decisions::{Drawn, Estimate, Policy, Rule};
use hushstream_mechanism::losses::Record;
use hushstream_mechanism::{AskerOnly, Raw};
use hushstream_noise::Source;
use hushstream_read::{Encoder, Fields as Row};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The answer to one person's question. It depends on that person's context: tell it to that person
/// and to nobody else.
///
/// ```
/// use hushstream::prelude::*;
///
/// let mut run = Learner::decide(["red", "green"])
///     .features(2)
///     .records(100)
///     .budget(Budget::approx(8.0, 1e-6)?)
///     .adjacency(ReplaceOne)
///     .simulated(7)
///     .start()?;
/// for person in 0..100 {
///     let context = [f64::from(person % 2), 0.5];
///     let answer = run.decide(&context)?;
///     let decision: &Decision = answer.for_the_asker();
///     let liked = decision.action == if person % 2 == 1 { "red" } else { "green" };
///     let id = decision.id;
///     run.reward(id, if liked { 1.0 } else { 0.0 })?;
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    /// Its number, by which [`Run::reward`](crate::Run::reward) names it.
    pub id: u64,
    /// The arm.
    pub action: String,
    /// The probability with which it was drawn.
    pub probability: f64,
    /// All arms with their probabilities, the most likely first.
    pub ranking: Vec<(String, f64)>,
}

impl Decision {
    pub(crate) fn new(id: u64, drawn: &Drawn, names: &[String]) -> Self {
        let pairs = names
            .iter()
            .cloned()
            .zip(drawn.probabilities.iter().copied());
        let mut ranking: Vec<(String, f64)> = pairs.collect();
        ranking.sort_by(|a, b| b.1.total_cmp(&a.1));
        Self {
            id,
            action: names.get(drawn.arm).cloned().unwrap_or_default(),
            probability: drawn.probability,
            ranking,
        }
    }
}

/// A published policy, ready to decide: [`Model::decider`].
pub struct Decider {
    policy: Policy,
    encoder: Encoder,
    arms: Vec<String>,
}

impl Decider {
    pub(crate) fn new(policy: Policy, encoder: Encoder, arms: Vec<String>) -> Self {
        Self {
            policy,
            encoder,
            arms,
        }
    }

    /// Decides for the context of a slot, which becomes the decision's id, with the coin of that
    /// slot. One slot is one person's: a slot that comes again, after a crash, needs coins of
    /// another name.
    ///
    /// # Errors
    /// A row without one of the columns; a value that cannot be read.
    pub fn decide(
        &mut self,
        context: &(impl Row + ?Sized),
        coins: &Source,
        slot: u64,
    ) -> Result<AskerOnly<Decision>> {
        let context = self.sealed(context)?;
        let drawn = self.policy.decide(&context, coins, slot);
        Ok(drawn.map(|drawn| Decision::new(slot, &drawn, &self.arms)))
    }

    /// The same among the arms that are `allowed`, as if there were no others: all of them, if none
    /// is.
    ///
    /// # Errors
    /// As [`Decider::decide`].
    pub fn decide_among(
        &mut self,
        context: &(impl Row + ?Sized),
        allowed: &[bool],
        coins: &Source,
        slot: u64,
    ) -> Result<AskerOnly<Decision>> {
        let context = self.sealed(context)?;
        let drawn = self.policy.decide_among(&context, allowed, coins, slot);
        Ok(drawn.map(|drawn| Decision::new(slot, &drawn, &self.arms)))
    }

    /// Answers the first arm always, while the policy is only tried.
    ///
    /// # Errors
    /// None for a policy that exists.
    pub fn first_arm(mut self) -> Result<Self> {
        let (map, weights) = (self.policy.map().clone(), self.policy.weights().to_vec());
        self.policy = Policy::new(map, weights, self.arms.len(), Rule::Always(0))?;
        Ok(self)
    }

    /// The names of the arms.
    #[must_use]
    pub fn arms(&self) -> &[String] {
        &self.arms
    }

    /// All arms with their probabilities for a context, in the order of the arms: what a decision
    /// that was drawn elsewhere from this policy was drawn with.
    ///
    /// # Errors
    /// As [`Decider::decide`].
    pub fn probabilities(
        &mut self,
        context: &(impl Row + ?Sized),
    ) -> Result<AskerOnly<Vec<(String, f64)>>> {
        let context = self.sealed(context)?;
        let chances = self.policy.chances(&context);
        Ok(chances.map(|chances| self.arms.iter().cloned().zip(chances).collect()))
    }

    fn sealed(&mut self, context: &(impl Row + ?Sized)) -> Result<Raw<Record>> {
        let mut read = hushstream_read::Row::default();
        self.encoder.row(context, &mut read)?;
        Ok(Raw::seal(Record {
            features: read.features,
            target: 0.0,
        }))
    }
}

/// A policy that is evaluated beside the one that learns.
#[derive(Debug, Clone)]
pub enum Judge {
    /// The policy that learns, as it is when a record comes.
    Current,
    /// Every arm alike.
    Uniform,
    /// Always this arm.
    Arm(String),
    /// A published policy, as it is in its file.
    Model(Box<Model>),
}

impl fmt::Display for Judge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Current => f.write_str("current policy"),
            Self::Uniform => f.write_str("uniform policy"),
            Self::Arm(name) => write!(f, "always {name}"),
            Self::Model(model) => write!(f, "release {} of another run", model.release),
        }
    }
}

/// What is stated about decisions, besides the data and the method.
#[derive(Debug, Clone, Default)]
pub struct DecisionWishes {
    /// What γ is multiplied by; 4 if not stated.
    pub exploration: Option<f64>,
    /// Whether the first arm is always answered, while the policy learns from what it earns.
    pub first_arm: bool,
    /// The policies to be evaluated; for a log by default the current one.
    pub evaluate: Option<Vec<Judge>>,
    /// The share of μ² that evaluation takes; 0.05 if not stated, 0 for none.
    pub evaluation_share: Option<f64>,
    /// The greatest weight of a record in an evaluation.
    pub greatest_weight: Option<f64>,
    /// The reward of a decision that nobody told one for; the middle of the range if not stated.
    pub default_reward: Option<f64>,
    /// Decisions after the last of a batch until it is closed; further rewards are refused. One
    /// batch if not stated.
    pub reward_wait: Option<u64>,
}

/// An estimate with a 95 % interval, from releases alone: publishable.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Evaluation {
    /// Which policy.
    pub policy: String,
    /// `mean`, `ips` or `snips`.
    pub estimate: String,
    /// The average reward, in the units of the data.
    pub reward: f64,
    /// The interval's lower end.
    pub low: f64,
    /// The interval's upper end.
    pub high: f64,
}

/// Deviations of a 95 % interval.
const DEVIATIONS: f64 = 1.959_963_984_540_054;

impl Evaluation {
    /// In the units of rewards between these bounds.
    pub(crate) fn of(
        read: Option<&(Estimate, Vec<[Estimate; 2]>)>,
        (low, high): (f64, f64),
        judged: &[String],
    ) -> Option<Vec<Self>> {
        let (mean, others) = read?;
        let one = |policy: &str, name: &str, estimate: &Estimate| {
            let unit = |value: f64| low + (high - low) * value;
            let margin = DEVIATIONS * estimate.deviation;
            Self {
                policy: policy.to_owned(),
                estimate: name.to_owned(),
                reward: unit(estimate.value),
                low: unit(estimate.value - margin),
                high: unit(estimate.value + margin),
            }
        };
        let mut all = vec![one("as played", "mean", mean)];
        for (policy, [ips, snips]) in judged.iter().zip(others) {
            all.extend([one(policy, "ips", ips), one(policy, "snips", snips)]);
        }
        Some(all)
    }
}

/// A reward on the scale of −1 to 1.
pub(crate) fn scaled(reward: f64, (low, high): (f64, f64)) -> Result<f64> {
    if !reward.is_finite() {
        refuse!(
            "a reward is not a finite number; allowed: a number, which is clipped to its range"
        );
    }
    Ok(2.0 * (reward.clamp(low, high) - low) / (high - low) - 1.0)
}
