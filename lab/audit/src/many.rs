//! Many canaries in one run, for long streams.
//!
//! In a stream of n records, m of them are canaries, each in a coordinate of its own; fair coins
//! decide on which side each canary stands. After a run the attacker says of each canary whether it
//! stood on the right.
//!
//! **Theorem.** Let a_i and b_i be the probabilities of saying "right" of canary i when it stands
//! left and right. If the mechanism is private with a trade-off whose region {(a, b)} is convex
//! (that of every μ, and of every (ε, δ), is), the averages (ā, b̄) over the canaries lie in the
//! region. **Proof.** Given the other coins, the two sides of coin i are neighbouring streams;
//! averaging over the other coins, and over the canaries, keeps a point in a convex set. ∎ Nothing
//! is assumed about how canaries depend on each other.
//!
//! **The averages from R runs.** With coin S_i and verdict V_i, the mean over i of 2·1[S_i = right,
//! V_i = right] lies in [0, 2] and has expectation b̄; runs are independent, so the empirical
//! Bernstein bound (Maurer and Pontil 2009, Theorem 4) gives b̄ from below, and likewise ā from
//! above. The canaries of a run average out its variance, which is what they are for.

use crate::AuditError;
use crate::bound::{Claim, Rates};
use crate::duel::{Duel, Runs, World, play_many};
use crate::procedure::{Effort, Verdict};
use hushstream_account::{Adjacency, Budget, Charge, FilterKind, ParameterError};
use hushstream_arena::Dice;
use hushstream_mechanism::losses::{Bounds, Features, LinearModel, Link, Record};
use hushstream_mechanism::sums::{Noise, SumKind};
use hushstream_mechanism::{Ledger, MemoryStorage, Participation, Raw, Transcript};
use hushstream_noise::Key;
use hushstream_recipes::{Objective, Recipe, RecipeName, RecipeRequest, SumRun};
use hushstream_sets::Ball;
use std::sync::Arc;
use std::time::Instant;

/// `pftal-convex` on the binary tree over a long stream.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LongStream {
    /// n.
    pub releases: u64,
    /// m, the canaries of a run.
    pub canaries: usize,
    /// The claimed guarantee.
    pub budget: Budget,
}

impl LongStream {
    /// The canaries: the records that most nodes contain. Item τ lies in the nodes of the levels
    /// where τ − 1 has a zero.
    fn places(&self) -> Vec<u64> {
        let mut places: Vec<u64> = (1..=self.releases).collect();
        places.sort_by_key(|place| (place - 1).count_ones());
        places.truncate(self.canaries);
        places
    }

    fn recipe(&self) -> Result<Recipe, AuditError> {
        let d = self.canaries;
        let bounds = Bounds::new(1.0, (-1.0, 1.0), 0.01)?;
        Ok(RecipeRequest {
            recipe: RecipeName::PftalConvex,
            objective: Objective::Convex(Arc::new(LinearModel::new(d, Link::Hinge, bounds)?)),
            set: Arc::new(Ball::new(d, 0.01)?),
            rounds: self.releases + 1,
            batch: 1,
            budget: self.budget,
            adjacency: Adjacency::ReplaceOne,
            participation: Participation::OncePerRecord,
            sum: Some(SumKind::Tree),
            noise: Some(Noise::Gaussian),
            window: None,
            // So large that iterates are small: no projection, and the hinge is steepest.
            curvature: Some(1e8),
            learning_rate: None,
            tuned: false,
        }
        .plan()?)
    }

    /// Plays so many runs and gives what they prove.
    ///
    /// # Errors
    /// A budget without δ; a stream shorter than its canaries.
    pub fn audit(&self, runs: u64, error: f64, seed: u64) -> Result<Verdict, AuditError> {
        if self.canaries == 0 || (self.canaries as u64) > self.releases {
            return Err(ParameterError::new(
                "canaries",
                self.canaries as f64,
                "between 1 and the number of releases",
            )
            .into());
        }
        let start = Instant::now();
        let recipe = self.recipe()?;
        let Charge::Gaussian(mu) = recipe.plan().charge()?.charge else {
            return Err(ParameterError::new(
                "delta",
                self.budget.delta(),
                "positive: this audit is of Gaussian noise",
            )
            .into());
        };
        let claim = Claim::Gaussian {
            mu: mu.get(),
            epsilon: self.budget.epsilon(),
            delta: self.budget.delta(),
        };
        let crowd = Crowd {
            stream: *self,
            places: self.places(),
            recipe,
        };
        let batch = Runs {
            seed,
            stage: 0,
            count: runs,
        };
        let effort = Effort::runs(runs, error, seed);
        let played = play_many(&crowd, World::Left, batch, |seen| seen)?;
        let column = |i: usize| -> Vec<f64> { played.iter().map(|run| run[i]).collect() };
        let rates = Rates {
            hits: bernstein(&column(0), -1.0, effort.error / 2.0).clamp(0.0, 1.0),
            alarms: bernstein(&column(1), 1.0, effort.error / 2.0).clamp(0.0, 1.0),
        };
        Ok(Verdict {
            claim,
            rates,
            error,
            runs,
            attack: format!(
                "{} canaries a run: matched filter of their nodes",
                self.canaries
            ),
            seconds: start.elapsed().as_secs_f64(),
            curve: Vec::new(),
        })
    }
}

/// One run with coins of its own: (2·share of "right" where right, 2·share of "right" where left).
struct Crowd {
    stream: LongStream,
    places: Vec<u64>,
    recipe: Recipe,
}

impl Duel for Crowd {
    fn name(&self) -> String {
        "many canaries".into()
    }

    fn play(&self, _: World, seed: u64) -> Result<Vec<f64>, AuditError> {
        let plan = self.recipe.plan();
        let budget = self.stream.budget;
        let mut ledger = Ledger::simulated(budget, FilterKind::Gaussian, plan.scope())?;
        let grant = ledger.debit(plan.charge()?, plan.scope())?;
        let key = Key::insecure_from_seed(seed);
        let storage = MemoryStorage::default();
        let mut run =
            SumRun::<Transcript>::open(self.recipe.clone(), grant, &key, &mut ledger, storage)?;
        let mut dice = Dice::new(!seed);
        let sides: Vec<bool> = self.places.iter().map(|_| dice.coin(0.5)).collect();
        let d = self.places.len();
        for t in 1..=self.stream.releases {
            let features = match self.places.iter().position(|&place| place == t) {
                Some(i) => vec![(i as u32, 1.0)],
                None => Vec::new(),
            };
            let side = features.first().is_some_and(|&(i, _)| sides[i as usize]);
            let record = Record {
                features: Features::Sparse(features),
                target: if side { -1.0 } else { 1.0 },
            };
            run.learn(None, Raw::seal(record))?;
        }
        let mut scores = vec![0.0; d];
        let mut sums: Vec<Vec<f64>> = vec![vec![0.0; d]];
        for (t, iterate) in (1_u64..).zip(run.sync(&mut ledger)?) {
            let factor = -self.recipe.curvature() * t as f64;
            let sum: Vec<f64> = iterate.value().iter().map(|x| factor * x).collect();
            // Release t minus the one where its newest node begins is that node.
            let begin = t - (1 << t.trailing_zeros());
            let before = &sums[usize::try_from(begin).unwrap_or(0)];
            for (i, &place) in self.places.iter().enumerate() {
                if begin < place && place <= t {
                    scores[i] += sum[i] - before[i];
                }
            }
            sums.push(sum);
        }
        let share = |side: bool| {
            let says = scores.iter().zip(&sides);
            let count = says
                .filter(|&(score, &at)| at == side && *score > 0.0)
                .count();
            2.0 * count as f64 / d as f64
        };
        Ok(vec![share(true), share(false)])
    }
}

/// A bound on the expectation of values in [0, 2], below (`side` −1) or above (+1), wrong with
/// probability at most `error`.
fn bernstein(values: &[f64], side: f64, error: f64) -> f64 {
    let n = values.len() as f64;
    if n < 2.0 {
        return if side > 0.0 { 2.0 } else { 0.0 };
    }
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let log = libm::log(2.0 / error);
    let margin = (2.0 * variance * log / n).sqrt() + 2.0 * 7.0 * log / (3.0 * (n - 1.0));
    // Rounding is far below this.
    mean + side * margin * (1.0 + 1e-12)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_on_a_mean_enclose_it() {
        let mut dice = Dice::new(3);
        let values: Vec<f64> = (0..2000).map(|_| 2.0 * dice.uniform()).collect();
        let (low, high) = (
            bernstein(&values, -1.0, 1e-3),
            bernstein(&values, 1.0, 1e-3),
        );
        assert!(low < 1.0 && high > 1.0 && high - low < 0.2, "{low} {high}");
    }

    #[test]
    fn too_many_canaries_are_refused() {
        let stream = LongStream {
            releases: 3,
            canaries: 4,
            budget: Budget::approx(1.0, 1e-6).unwrap(),
        };
        assert!(stream.audit(10, 0.1, 1).is_err());
    }
}
