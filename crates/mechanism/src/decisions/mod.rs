//! Private decisions: second moments of the arm that was played, in the arm's own block, and an
//! evaluation beside them, all in one sum on one clock.
//!
//! **What a record adds.** Let φ be the features of its context ([`ContextMap`]), a the arm that
//! was played for it, y ∈ [−½, ½] its reward ([`Outcomes`]). Block a of K blocks gets the record's
//! second moments (φφᵀ, κ·y·φ) in the integers of `moments.rs`; the other blocks get 0. They get it
//! in the same item: a block whose arm nobody plays has its items, and its noise, all the same.
//!
//! *Claim.* Two items that differ in one record are at most δ·radius + √D apart, D all coordinates
//! of all blocks, δ that of one block ([`TargetWeight::distance`](crate::TargetWeight::distance));
//! if one of the two records is null, radius + √D. **K arms cost no sensitivity.**
//!
//! *Proof.* Everything before the last line is about the exact sums, times the multipliers of
//! `moments.rs`, and its notation. If both records have the same arm, all other blocks are equal,
//! and the claim is that of one block. If they have two, block a differs by the first record's
//! point and block a′ by the second's, and no point is longer than the radius: the distance is at
//! most √2·radius. And √2 ≤ δ: for κ² ≤ 2, δ²(1 + κ²) = 2 + 2κ² + κ⁴/2 ≥ 2(1 + κ²); above,
//! 4κ² ≥ 2 + 2κ². A null adds nothing anywhere, so one block differs by one point. An item is
//! truncated coordinate by coordinate, which adds less than 1 where the sums differ and nothing
//! elsewhere: at most √D. ∎
//!
//! **Why one clock.** Were an item of block a the next B records *of arm a*, one record with
//! another context, hence another arm, would shift all later records of two blocks by one place.
//! And a block that releases nothing while its arm is not played tells that nobody played it.
//!
//! **The arm is drawn inside** from the policy, a function of releases before this item, and the
//! record's own context, with a coin at the address of its slot. So given the releases and the
//! coins, a changed record changes its own contribution alone, and the claim holds adaptively: the
//! releases are private as those of any sum. The arm itself depends on the context without noise.
//! It may go to the person who asked, and to nobody else ([`AskerOnly`](crate::AskerOnly)).
//!
//! **Joint privacy.** The decision for another person is a function of the releases, that person's
//! context and that person's coin. So the law of (all policies, all decisions for everybody else)
//! moves by no more than that of the policies (the billboard lemma of Hsu et al. 2014); others may
//! choose their contexts and rewards from all of these. It may move with the person's own decision,
//! which is theirs: privacy of all decisions would force regret linear in the number of decisions
//! (Shariff and Sheffet 2018).
//!
//! **Evaluation** adds 1 + 2J coordinates ([`Evaluation`]): y, and for each of J policies π with w
//! = min(π(a)/p, M)/M ∈ [0, 1], p the probability of the arm: w·y and w. The code checks, in
//! integers of 1/2S, that |y| ≤ S, that 0 ≤ w ≤ 2S and that 2|w·y| ≤ w. So w·y and w lie in a
//! triangle with the corners (0, 0), (−S, 2S) and (S, 2S), and no two points of a triangle are
//! further apart than two of its corners, here √5·S. Two records are at most S√(4 + 5J) apart in
//! all of these coordinates; a null adds nothing, and a record is at most S√(1 + 5J) away from it.
//! Both are reached: by opposite rewards, one with all weights 1 and one with all weights 0. With S
//! ≤ s·radius, moments and evaluation together move by at most √((δ·radius + √D)² + (e·radius)²) ≤
//! √(δ² + e²)·radius + √D, e = s√(4 + 5J) or s√(1 + 5J). e²/(δ² + e²) is the share of μ² that the
//! evaluation takes.

mod context;
mod evaluation;
mod exact;
mod form;
mod outcomes;
mod policy;

pub use context::{ContextMap, Plain};
pub use evaluation::{Estimate, Evaluated, Evaluation, Judged};
pub use exact::ExactDecisions;
pub(crate) use form::DecisionForm;
pub use outcomes::Outcomes;
pub use policy::{Drawn, Policy, Rule};

use crate::boundary::Raw;
use crate::losses::{Bounds, Features, Record};
use crate::moments::{Moments, TargetWeight};
use crate::sums::Geometry;
use hushstream_account::{Adjacency, ParameterError};

/// What a sum of decisions learns from: contexts, arms, rewards, and policies to be evaluated.
#[derive(Debug, Clone, PartialEq)]
pub struct DecisionMap {
    context: ContextMap,
    outcomes: Outcomes,
    arms: usize,
    moments: Moments,
    evaluation: Option<Evaluation>,
}

impl DecisionMap {
    /// Decisions among `arms` arms.
    ///
    /// # Errors
    /// Fewer than two arms, or more than 4,096; bounds that are none; a policy to be evaluated that
    /// is for other contexts or arms.
    pub fn new(
        context: ContextMap,
        outcomes: Outcomes,
        arms: usize,
        evaluation: Option<Evaluation>,
    ) -> Result<Self, ParameterError> {
        if !(2..=4096).contains(&arms) {
            return Err(ParameterError::new("arms", arms as f64, "2 to 4096"));
        }
        outcomes.check()?;
        if let Some(evaluation) = &evaluation {
            evaluation.check(&context, arms)?;
        }
        let bounds = Bounds::new(context.length(), (-0.5, 0.5), 1.0)?;
        Ok(Self {
            moments: Moments::new(context.features(), bounds),
            context,
            outcomes,
            arms,
            evaluation,
        })
    }

    /// The features of contexts.
    #[must_use]
    pub fn context(&self) -> &ContextMap {
        &self.context
    }

    /// How records tell about their decision.
    #[must_use]
    pub fn outcomes(&self) -> Outcomes {
        self.outcomes
    }

    /// K.
    #[must_use]
    pub fn arms(&self) -> usize {
        self.arms
    }

    /// The moments of one block.
    #[must_use]
    pub fn moments(&self) -> &Moments {
        &self.moments
    }

    /// What is evaluated.
    #[must_use]
    pub fn evaluation(&self) -> Option<&Evaluation> {
        self.evaluation.as_ref()
    }

    /// Coordinates of all blocks, which come first.
    #[must_use]
    pub fn learned(&self) -> usize {
        self.arms * self.moments.dimension()
    }

    /// All coordinates.
    #[must_use]
    pub fn dimension(&self) -> usize {
        let evaluated = self.evaluation.as_ref().map_or(0, Evaluation::coordinates);
        self.learned() + evaluated
    }

    /// The geometry of a sum of these contributions.
    #[must_use]
    pub fn geometry(&self, adjacency: Adjacency) -> Geometry {
        let weight = self.moments.weight();
        let evaluated = self.evaluation.as_ref();
        Geometry::Decisions {
            weight,
            evaluated: evaluated.map_or(Evaluated::NOTHING, |evaluation| {
                evaluation.scaled(weight, adjacency)
            }),
        }
    }
}

/// How far apart moments and evaluation are together, in radii: √(δ² + e²), rounded up.
pub(crate) fn distance(weight: TargetWeight, evaluated: Evaluated, adjacency: Adjacency) -> f64 {
    let moments = weight.distance(adjacency);
    let evaluation = evaluated.distance(adjacency);
    if evaluation == 0.0 {
        return moments;
    }
    (moments * moments + evaluation * evaluation).sqrt() * (1.0 + 8.0 * f64::EPSILON)
}

/// The same where a person's turn may move to another item: √(2A² + 2m) of `sums/calibrate.rs`,
/// rounded up. Inner products of moments are at least −(δ²/2 − 1), those of the mean reward −s²;
/// those of a policy's pair are not negative.
pub(crate) fn distance_of_turns(weight: TargetWeight, evaluated: Evaluated) -> f64 {
    let moments = weight.distance(Adjacency::ReplaceOne);
    if evaluated == Evaluated::NOTHING {
        return moments;
    }
    let alone = evaluated.distance(Adjacency::ZeroOut);
    let mean = f64::from(evaluated.scale) / 65536.0;
    let square = moments * moments + 2.0 * (alone * alone + mean * mean);
    square.sqrt() * (1.0 + 8.0 * f64::EPSILON)
}

impl Raw<Record> {
    /// A sealed context for which this arm was played with this probability, and its reward from
    /// −1 to 1: a row of a log. A missing reward is the middle.
    #[must_use]
    pub fn decided(self, (arm, probability): (usize, f64), reward: Option<f64>) -> Self {
        let mut values = match self.open().features {
            Features::Dense(values) => values,
            Features::Sparse(_) => Vec::new(),
        };
        let reward = reward.unwrap_or(f64::NAN);
        values.extend([arm as f64, reward, probability]);
        Self::seal(Record {
            features: Features::Dense(values),
            target: 0.0,
        })
    }
}

#[cfg(test)]
mod tests;
