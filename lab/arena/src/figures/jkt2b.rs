//! A figure of the shape of JKT12's Figure 2b: private least squares in 90 dimensions over 515,345
//! records, average regret against ε.
//!
//! **Not the paper's data.** Year Prediction (515,345 × 90) is not used; the records are synthetic,
//! of the same number and dimension, made as those of [`super::jkt2a`]: g_t standard Gaussian
//! clipped to length R = 1.2·√d ≈ 11.4, y_t = ⟨g_t, x*⟩ + N(0, 0.01) clipped to [−R, R], ‖x*‖ = 1,
//! losses ½(y − ⟨g, x⟩)² + ½‖x‖²; δ = 10⁻⁶, replace-one. Regret is against ridge regression in
//! hindsight on the same records.
//!
//! Records are summed in items of 256, for everyone alike: second moments in 90 dimensions are
//! 4,185 numbers, and an iterate a record old would cost a factorisation a record. **As printed**
//! is the noise of PrivateSum as in [`super::jkt2a`], for T records, on the paper's tree at the
//! ends of items, in the corrected learner; it is **unsound** (errata J1, J2) and simulated on
//! public synthetic data only.

use super::in_parallel;
use super::jkt2a::NoiseTree;
use crate::Dice;
use crate::play::ArenaError;
use hushstream_account::{Adjacency, Budget, FilterKind};
use hushstream_mechanism::losses::{Bounds, Features, Record};
use hushstream_mechanism::sums::{PlanError, SumKind};
use hushstream_mechanism::{Ledger, MemoryStorage, Moments, Participation, Raw, Transcript};
use hushstream_noise::Key;
use hushstream_recipes::{Objective, Recipe, RecipeError, RecipeName, RecipeRequest, SumRun};
use hushstream_sets::Ball;
use std::fmt;
use std::sync::Arc;

/// As many records as Year Prediction has.
pub const ROUNDS: u64 = 515_345;
/// From little to much.
pub const EPSILONS: [f64; 5] = [0.1, 0.3, 1.0, 3.0, 10.0];
/// δ.
pub const DELTA: f64 = 1e-6;

const D: usize = 90;
const BATCH: u64 = 256;
const DEVIATION: f64 = 0.1;

fn bound() -> f64 {
    1.2 * (D as f64).sqrt()
}

/// Who plays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Follow the leader, without privacy.
    NonPrivate,
    /// Always 0.
    Nothing,
    /// `pqftl` as it is shipped, on the paper's tree.
    Tree,
    /// `pqftl` as it is shipped, on a BLT sum.
    Blt,
    /// The learner of `pqftl` with the noise that the paper prints. Unsound.
    PrintedNoise,
}

impl Method {
    /// Those that may be shown of any data.
    pub const SOUND: [Self; 4] = [Self::NonPrivate, Self::Nothing, Self::Tree, Self::Blt];
    /// All methods.
    pub const ALL: [Self; 5] = [
        Self::NonPrivate,
        Self::Nothing,
        Self::Tree,
        Self::Blt,
        Self::PrintedNoise,
    ];

    fn is_private(self) -> bool {
        !matches!(self, Self::NonPrivate | Self::Nothing)
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NonPrivate => "non-private",
            Self::Nothing => "never moving",
            Self::Tree => "pqftl on tree",
            Self::Blt => "pqftl on blt",
            Self::PrintedNoise => "printed noise (UNSOUND)",
        })
    }
}

/// A point of the figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Row {
    /// ε. Methods without one have the same row at each.
    pub epsilon: f64,
    /// Who played.
    pub method: Method,
    /// Regret divided by T, mean of the repeats.
    pub mean: f64,
    /// The smallest of the repeats.
    pub low: f64,
    /// The largest.
    pub high: f64,
}

/// Plays the figure: for each ε in order, the methods in order.
///
/// # Errors
/// Rounds or an ε that the recipe refuses.
pub fn figure(
    rounds: u64,
    repeats: u64,
    epsilons: &[f64],
    methods: &[Method],
) -> Result<Vec<Row>, ArenaError> {
    let none = f64::INFINITY;
    let mut jobs: Vec<(Method, f64, u64)> = Vec::new();
    for seed in 0..repeats.max(1) {
        for &method in methods {
            let of = if method.is_private() {
                epsilons
            } else {
                &[none]
            };
            jobs.extend(of.iter().map(|&epsilon| (method, epsilon, seed)));
        }
    }
    let played = in_parallel(&jobs, |&(method, epsilon, seed)| {
        let stream = Stream { rounds, seed };
        Ok(stream.loss(method, epsilon)? / rounds as f64)
    })?;
    // Ridge in hindsight is the leader's last word on the same records.
    let seeds: Vec<u64> = (0..repeats.max(1)).collect();
    let least = in_parallel(&seeds, |&seed| {
        Ok(Stream { rounds, seed }.least()? / rounds as f64)
    })?;
    let row = |epsilon: f64, method: Method| {
        let of = if method.is_private() { epsilon } else { none };
        let values: Vec<f64> = jobs
            .iter()
            .zip(&played)
            .filter(|((m, e, _), _)| *m == method && e.total_cmp(&of).is_eq())
            .map(|((_, _, seed), &value)| value - least[*seed as usize])
            .collect();
        Row {
            epsilon,
            method,
            mean: values.iter().sum::<f64>() / values.len() as f64,
            low: values.iter().copied().fold(f64::INFINITY, f64::min),
            high: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        }
    };
    Ok(epsilons
        .iter()
        .flat_map(|&epsilon| methods.iter().map(move |&method| (epsilon, method)))
        .map(|(epsilon, method)| row(epsilon, method))
        .collect())
}

/// The records of one repeat, made anew whenever they are read: together they would not fit.
struct Stream {
    rounds: u64,
    seed: u64,
}

impl Stream {
    fn each(
        &self,
        mut visit: impl FnMut(Vec<f64>, f64) -> Result<(), ArenaError>,
    ) -> Result<(), ArenaError> {
        let mut dice = Dice::new(self.seed ^ 0x6a6b_7462);
        let mut x: Vec<f64> = (0..D).map(|_| dice.normal()).collect();
        let length = dot(&x, &x).sqrt();
        x.iter_mut().for_each(|value| *value /= length);
        for _ in 0..self.rounds {
            let mut g: Vec<f64> = (0..D).map(|_| dice.normal()).collect();
            let shrink = (bound() / dot(&g, &g).sqrt()).min(1.0);
            g.iter_mut().for_each(|value| *value *= shrink);
            let y = dot(&g, &x) + DEVIATION * dice.normal();
            visit(g, y.clamp(-bound(), bound()))?;
        }
        Ok(())
    }

    fn recipe(&self, epsilon: f64, sum: SumKind) -> Result<Recipe, ArenaError> {
        let bounds = Bounds::new(bound(), (-bound(), bound()), bound());
        let bounds = bounds.map_err(RecipeError::from)?;
        let budget = Budget::approx(epsilon, DELTA);
        let request = RecipeRequest {
            recipe: RecipeName::Pqftl,
            objective: Objective::LeastSquares(Moments::new(D, bounds)),
            set: Arc::new(Ball::new(D, bound())?),
            rounds: self.rounds,
            batch: BATCH,
            budget: budget.map_err(|error| RecipeError::from(PlanError::from(error)))?,
            adjacency: Adjacency::ReplaceOne,
            participation: Participation::OncePerRecord,
            sum: Some(sum),
            noise: None,
            window: None,
            curvature: Some(1.0),
            learning_rate: None,
            tuned: false,
        };
        Ok(request.plan()?)
    }

    /// Total loss.
    fn loss(&self, method: Method, epsilon: f64) -> Result<f64, ArenaError> {
        match method {
            Method::NonPrivate => self.simulated((0.0, 0.0)).map(|(total, _)| total),
            Method::Nothing => {
                let mut total = 0.0;
                self.each(|_, y| {
                    total += 0.5 * y * y;
                    Ok(())
                })?;
                Ok(total)
            }
            Method::Tree => self.play(epsilon, SumKind::Tree),
            Method::Blt => self.play(epsilon, SumKind::BLT),
            Method::PrintedNoise => {
                let log = (self.rounds as f64).log2();
                let factor = log * (2.0 * log / DELTA).ln().sqrt() / (epsilon / 2.0);
                let sigmas = (bound() * bound() * factor, bound() * factor);
                self.simulated(sigmas).map(|(total, _)| total)
            }
        }
    }

    /// Total loss of ridge regression in hindsight.
    fn least(&self) -> Result<f64, ArenaError> {
        let (_, best) = self.simulated((0.0, 0.0))?;
        let mut total = 0.0;
        self.each(|v, y| {
            total += loss(&v, y, &best);
            Ok(())
        })?;
        Ok(total)
    }

    /// The shipped recipe, all of it.
    fn play(&self, epsilon: f64, sum: SumKind) -> Result<f64, ArenaError> {
        let recipe = self.recipe(epsilon, sum)?;
        let (scope, budget) = (recipe.plan().scope(), recipe.request().budget);
        let mut ledger = Ledger::simulated(budget, FilterKind::Gaussian, scope)?;
        let charge = recipe.plan().charge().map_err(RecipeError::from)?;
        let grant = ledger.debit(charge, scope)?;
        let key = Key::insecure_from_seed(self.seed);
        let storage = MemoryStorage::default();
        let mut run = SumRun::<Transcript>::open(recipe, grant, &key, &mut ledger, storage)?;
        let (mut total, mut t) = (0.0, 0_u64);
        self.each(|v, y| {
            total += loss(&v, y, run.question().for_the_operator());
            let record = Record {
                features: Features::Dense(v),
                target: y,
            };
            run.learn(None, Raw::seal(record))?;
            t += 1;
            if t.is_multiple_of(32 * BATCH) {
                run.sync(&mut ledger)?;
            }
            Ok(())
        })?;
        Ok(total)
    }

    /// The learner of `pqftl`, fed with exact sums under tree noise of these deviations, of Σvvᵀ
    /// and of Σyv; and where it ends.
    fn simulated(&self, (matrix, vector): (f64, f64)) -> Result<(f64, Vec<f64>), ArenaError> {
        // The learner does not know ε.
        let mut learner = self.recipe(1.0, SumKind::Tree)?.learner()?;
        let products = D * (D + 1) / 2;
        let sigmas = (0..products + D).map(|i| if i < products { matrix } else { vector });
        let mut noise = NoiseTree::new(sigmas.collect(), self.seed);
        let mut prefix = vec![0.0; products + D];
        let (mut total, mut t) = (0.0, 0_u64);
        self.each(|v, y| {
            total += loss(&v, y, learner.iterate());
            let mut sums = prefix.iter_mut();
            for a in &v {
                *sums.next().expect("the diagonal") += a * a;
            }
            for (i, a) in v.iter().enumerate() {
                for b in &v[i + 1..] {
                    *sums.next().expect("the rest") += std::f64::consts::SQRT_2 * a * b;
                }
            }
            sums.zip(&v).for_each(|(sum, a)| *sum += y * a);
            t += 1;
            if t.is_multiple_of(BATCH) || t == self.rounds {
                let mut noisy = noise.at(t.div_ceil(BATCH));
                noisy.iter_mut().zip(&prefix).for_each(|(n, p)| *n += p);
                learner.observe(&noisy).map_err(RecipeError::from)?;
            }
            Ok(())
        })?;
        Ok((total, learner.iterate().to_vec()))
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn loss(v: &[f64], y: f64, x: &[f64]) -> f64 {
    0.5 * (y - dot(v, x)).powi(2) + 0.5 * dot(x, x)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// At a fiftieth of the length: the leader is best, and nobody is better than the best in
    /// hindsight.
    #[test]
    fn the_shape_is_right() {
        let rows = figure(10_000, 1, &[10.0], &Method::ALL).unwrap();
        let mean = |i: usize| rows[i].mean;
        assert!(rows.iter().all(|row| row.mean > 0.0), "{rows:?}");
        assert!((2..5).all(|i| mean(0) < mean(i)), "{rows:?}");
        assert!(figure(1, 1, &[1.0], &Method::SOUND).is_err());
    }
}
