//! What policies earn, from noisy sums on the clock of the decisions.
//!
//! Arm a is played with probability p; the reward is ½ + y. For a policy π that was fixed before,
//! with w = min(π(a)/p, M):
//!
//! | estimate | is | because |
//! |---|---|---|
//! | average reward | ½ + Σy/n | |
//! | inverse propensity (IPS) | ½ + Σw·y/n | E[w·y] = E_π[y] where no weight is clipped |
//! | self-normalised (SNIPS) | ½ + Σw·y/Σw | E[w] = 1 there; between the bounds, less variance |
//!
//! y, not the reward itself, is weighted: a constant need not be estimated. A clipped weight pulls
//! an estimate towards ½; none is clipped while every p is at least 1/M.
//!
//! **Intervals.** The noise of a sum is normal with a public deviation. The chance of the records
//! is bounded from public numbers: w·y has E[(wy)²] ≤ M·E[w]/4 ≤ M/4 and w has E[w²] ≤ M, because
//! w ≤ M and E[w] ≤ 1. So IPS deviates by at most √(M/4n), besides noise. For SNIPS, Σw(y − v)/Σw
//! with v = E_π[y], estimated: E[w²(y−v)²] ≤ M·E[w(y−v)²] ≤ M·E_π(y − v)² ≤ M(¼ − v²), as for every
//! y ∈ [−½, ½] with mean v. The average reward is that of these records: it has noise alone.

use super::{ContextMap, Policy};
use crate::lattice::Lattice;
use crate::moments::TargetWeight;
use hushstream_account::{Adjacency, ParameterError};
use serde::{Deserialize, Serialize};

/// A policy that is evaluated beside the one that plays.
#[derive(Debug, Clone, PartialEq)]
pub enum Judged {
    /// A frozen policy.
    Frozen(Box<Policy>),
    /// The policy that learns, as it is when a record comes.
    Current,
}

/// The policies to be evaluated, and for how much of the budget.
#[derive(Debug, Clone, PartialEq)]
pub struct Evaluation {
    /// The policies.
    pub judged: Vec<Judged>,
    /// M, the greatest weight.
    pub most: f64,
    /// The share of μ² that it takes.
    pub share: f64,
}

/// Coordinates of an evaluation, and their scale: part of a sum's geometry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evaluated {
    /// Coordinates from −S to S: 1 + J.
    pub(crate) signed: u32,
    /// Coordinates from 0 to 2S, each at least twice the size of a signed one: J.
    pub(crate) positive: u32,
    /// s in units of 2⁻¹⁶: S = ⌊s·radius⌋.
    pub(crate) scale: u16,
}

/// The most of a scale: S is at most a quarter of the radius.
const MOST_SCALE: u16 = 1 << 14;

impl Evaluated {
    /// No evaluation.
    pub const NOTHING: Self = Self {
        signed: 0,
        positive: 0,
        scale: 0,
    };

    /// All of them.
    pub(crate) fn coordinates(self) -> usize {
        self.signed as usize + self.positive as usize
    }

    /// Whether a program makes it.
    pub(crate) fn is_sound(self) -> bool {
        let is_nothing = self == Self::NOTHING;
        let fits = self.signed == self.positive + 1 && (1..=MOST_SCALE).contains(&self.scale);
        is_nothing || fits
    }

    /// S.
    pub(crate) fn steps(self, radius: i64) -> i64 {
        // The radius has at most 41 bits.
        (radius * i64::from(self.scale)) >> 16
    }

    /// Whether these integers can be the sum of so many contributions, moments first: the noise was
    /// paid for no others.
    pub(crate) fn holds_sum(self, values: &[i64], records: u64, lattice: &Lattice) -> bool {
        let Some(place) = values.len().checked_sub(self.coordinates()) else {
            return false;
        };
        let (sums, others) = values.split_at(place);
        let (signed, positive) = others.split_at(self.signed as usize);
        let most = i128::from(self.steps(lattice.radius())) * i128::from(records);
        let within = |low: i128, high: i128| move |&v: &i64| (low..=high).contains(&v.into());
        let mut pairs = signed.iter().skip(1).zip(positive);
        values.len() == lattice.dimension()
            && lattice.holds_part(sums, records, 16)
            && signed.iter().all(within(-most, most))
            && positive.iter().all(within(0, 2 * most))
            && pairs.all(|(&rewards, &weights)| 2 * i128::from(rewards).abs() <= weights.into())
    }

    /// e, rounded up.
    pub(crate) fn distance(self, adjacency: Adjacency) -> f64 {
        if self == Self::NOTHING {
            return 0.0;
        }
        let policies = 5.0 * f64::from(self.positive);
        let coordinates = match adjacency {
            Adjacency::ReplaceOne => 4.0 + policies,
            Adjacency::ZeroOut => 1.0 + policies,
        };
        let scale = f64::from(self.scale) / 65536.0;
        scale * coordinates.sqrt() * (1.0 + 4.0 * f64::EPSILON)
    }

    /// What a sum of y is multiplied by in the sums of this bound.
    #[must_use]
    pub fn unit(self, bound: f64) -> f64 {
        2.0 * bound * f64::from(self.scale) / 65536.0
    }
}

/// An estimate with its standard deviation.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The value, from 0 to 1 but for noise.
    pub value: f64,
    /// A bound on its deviation.
    pub deviation: f64,
}

impl Evaluation {
    /// The numbers that it adds to a release.
    #[must_use]
    pub fn coordinates(&self) -> usize {
        1 + 2 * self.judged.len()
    }

    pub(super) fn check(&self, context: &ContextMap, arms: usize) -> Result<(), ParameterError> {
        let allowed = "policies of the same arms and contexts";
        for judged in &self.judged {
            if let Judged::Frozen(policy) = judged
                && (policy.arms() != arms || policy.map().columns() != context.columns())
            {
                let arms = policy.arms() as f64;
                return Err(ParameterError::new("arms of a policy", arms, allowed));
            }
        }
        if self.judged.len() > 64 {
            let count = self.judged.len() as f64;
            return Err(ParameterError::new(
                "evaluated policies",
                count,
                "at most 64",
            ));
        }
        if !(1.0..=1e9).contains(&self.most) {
            let allowed = "1 to 1e9";
            return Err(ParameterError::new("greatest weight", self.most, allowed));
        }
        if !(self.share > 0.0 && self.share <= 0.5) {
            let allowed = "above 0 and at most 0.5";
            return Err(ParameterError::new(
                "share of the evaluation",
                self.share,
                allowed,
            ));
        }
        Ok(())
    }

    /// Its coordinates, scaled so that it takes its share.
    pub(super) fn scaled(&self, weight: TargetWeight, adjacency: Adjacency) -> Evaluated {
        let one = Evaluated {
            signed: 1 + self.judged.len() as u32,
            positive: self.judged.len() as u32,
            scale: 1,
        };
        let wanted = weight.distance(adjacency) * (self.share / (1.0 - self.share)).sqrt();
        let scale = (wanted / one.distance(adjacency)).floor();
        Evaluated {
            scale: scale.clamp(1.0, f64::from(MOST_SCALE)) as u16,
            ..one
        }
    }

    /// The average reward, and IPS and SNIPS of every policy, from the last coordinates of a
    /// release after `records` records; `unit` is [`Evaluated::unit`], `noise` the deviation of a
    /// coordinate.
    #[must_use]
    pub fn read(
        &self,
        sums: &[f64],
        (unit, noise): (f64, f64),
        records: u64,
    ) -> Option<(Estimate, Vec<[Estimate; 2]>)> {
        let (signed, positive) = sums.split_at_checked(1 + self.judged.len())?;
        let (n, noise) = (records.max(1) as f64, noise / unit);
        let mean = Estimate {
            value: 0.5 + signed[0] / unit / n,
            deviation: noise / n,
        };
        let judged = signed[1..].iter().zip(positive).map(|(rewards, weights)| {
            // Weights are divided by M in the sums.
            let (rewards, weights) = (self.most * rewards / unit, self.most * weights / unit);
            let noise = self.most * noise;
            let value = rewards / n;
            let chance = (self.most / 4.0 - value * value).max(0.0) * n;
            let ips = Estimate {
                value: 0.5 + value,
                deviation: (chance + noise * noise).sqrt() / n,
            };
            // As much weight as there is at least, so that noise does not divide by nothing.
            let whole = weights.max(n / 4.0);
            let ratio = (rewards / whole).clamp(-0.5, 0.5);
            let chance = self.most * (0.25 - ratio * ratio).max(0.0) * n;
            let noise = noise * noise * (1.0 + ratio * ratio);
            let snips = Estimate {
                value: 0.5 + ratio,
                deviation: (chance + noise).sqrt() / whole,
            };
            [ips, snips]
        });
        Some((mean, judged.collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Never below the root of an integer, however the factors are rounded: a fused product has the
    /// sign of the exact one.
    #[test]
    fn the_distance_is_rounded_up() {
        for (positive, scale) in (0..200).flat_map(|j| (1..300).map(move |s| (j, s * 13))) {
            let evaluated = Evaluated {
                signed: positive + 1,
                positive,
                scale,
            };
            let squared = (f64::from(scale) / 65536.0).powi(2);
            for (adjacency, alone) in [(Adjacency::ReplaceOne, 4.0), (Adjacency::ZeroOut, 1.0)] {
                let distance = evaluated.distance(adjacency);
                let exact = squared * (alone + 5.0 * f64::from(positive));
                assert!(
                    distance.mul_add(distance, -exact) >= 0.0,
                    "{positive} {scale}"
                );
            }
        }
    }
}
