//! One repeat of the figure: its records, the best answer to them, and everyone's way through them.

use super::noise_tree::NoiseTree;
use super::{ALPHA, D, DELTA, DEVIATION, Method, bound, printed_sigmas};
use crate::Dice;
use crate::play::ArenaError;
use hushstream_account::{AccountError, Adjacency, Budget, FilterKind};
use hushstream_mechanism::losses::{Bounds, Features, Record};
use hushstream_mechanism::sums::{PlanError, SumKind};
use hushstream_mechanism::{Ledger, MemoryStorage, Moments, Participation, Raw, Transcript};
use hushstream_noise::Key;
use hushstream_recipes::{Objective, Recipe, RecipeError, RecipeName, RecipeRequest, SumRun};
use hushstream_sets::Ball;
use std::sync::Arc;

/// All records of one repeat, and the best answer to them.
pub(super) struct Stream {
    seed: u64,
    rows: Vec<([f64; D], f64)>,
    /// Total loss of ridge regression in hindsight.
    pub(super) least: f64,
}

impl Stream {
    pub(super) fn new(rounds: u64, seed: u64) -> Self {
        let mut dice = Dice::new(seed ^ 0x6a6b_7432);
        let mut x: [f64; D] = std::array::from_fn(|_| dice.normal());
        let length = dot(&x, &x).sqrt();
        x.iter_mut().for_each(|value| *value /= length);
        let row = |_| {
            let mut g: [f64; D] = std::array::from_fn(|_| dice.normal());
            let shrink = (bound() / dot(&g, &g).sqrt()).min(1.0);
            g.iter_mut().for_each(|value| *value *= shrink);
            let y = dot(&g, &x) + DEVIATION * dice.normal();
            (g, y.clamp(-bound(), bound()))
        };
        let mut stream = Self {
            seed,
            rows: (0..rounds).map(row).collect(),
            least: 0.0,
        };
        let mut sums = Sums::default();
        stream.rows.iter().for_each(|(v, y)| sums.add(v, *y));
        let best = sums.solve().unwrap_or_default();
        stream.least = stream.rows.iter().map(|row| loss(row, &best)).sum();
        stream
    }

    pub(super) fn regret(&self, method: Method, epsilon: f64) -> Result<f64, ArenaError> {
        let sigmas = printed_sigmas(epsilon, self.rows.len() as u64);
        let total = match method {
            Method::NonPrivate => self.follow_the_leader(),
            Method::Nothing => self.rows.iter().map(|row| loss(row, &[0.0; D])).sum(),
            Method::Tree => self.play(epsilon, SumKind::Tree)?,
            Method::Blt => self.play(epsilon, SumKind::BLT)?,
            Method::PrintedNoise => self.simulated(sigmas)?,
            Method::Printed => self.printed(sigmas),
        };
        Ok(total - self.least)
    }

    fn follow_the_leader(&self) -> f64 {
        let (mut sums, mut x, mut total) = (Sums::default(), [0.0; D], 0.0);
        for row in &self.rows {
            total += loss(row, &x);
            sums.add(&row.0, row.1);
            x = sums.solve().unwrap_or(x);
        }
        total
    }

    fn recipe(&self, epsilon: f64, sum: SumKind) -> Result<Recipe, ArenaError> {
        let bounds = Bounds::new(bound(), (-bound(), bound()), bound());
        let bounds = bounds.expect("the figure's public bounds are sound");
        let request = RecipeRequest {
            recipe: RecipeName::Pqftl,
            objective: Objective::LeastSquares(Moments::new(D, bounds)),
            set: Arc::new(Ball::new(D, bound())?),
            rounds: self.rows.len() as u64,
            batch: 1,
            budget: Budget::approx(epsilon, DELTA).map_err(unplanned)?,
            adjacency: Adjacency::ReplaceOne,
            participation: Participation::OncePerRecord,
            sum: Some(sum),
            noise: None,
            window: None,
            curvature: Some(ALPHA),
            learning_rate: None,
            tuned: false,
        };
        Ok(request.plan()?)
    }

    /// The shipped recipe, all of it.
    fn play(&self, epsilon: f64, sum: SumKind) -> Result<f64, ArenaError> {
        let recipe = self.recipe(epsilon, sum)?;
        let (scope, budget) = (recipe.plan().scope(), recipe.request().budget);
        let mut ledger = Ledger::simulated(budget, FilterKind::Gaussian, scope)?;
        let charge = recipe.plan().charge().map_err(RecipeError::from)?;
        let grant = ledger.debit(charge, scope)?;
        let key = Key::insecure_from_seed(self.seed);
        let mut run =
            SumRun::<Transcript>::open(recipe, grant, &key, &mut ledger, MemoryStorage::default())?;
        let mut total = 0.0;
        for (t, row) in self.rows.iter().enumerate() {
            total += loss(row, run.question().for_the_operator());
            let record = Record {
                features: Features::Dense(row.0.to_vec()),
                target: row.1,
            };
            run.learn(None, Raw::seal(record))?;
            if t % 512 == 511 {
                run.sync(&mut ledger)?;
            }
        }
        Ok(total)
    }

    /// The learner of `pqftl`, fed with exact sums under tree noise of these deviations, of Σvvᵀ
    /// and of Σyv. The symmetric part of a matrix of independent N(0, σ²) is just what independent
    /// N(0, σ²) are in the learner's coordinates.
    fn simulated(&self, (matrix, vector): (f64, f64)) -> Result<f64, ArenaError> {
        // The learner does not know ε.
        let mut learner = self.recipe(1.0, SumKind::Tree)?.learner()?;
        let products = D * (D + 1) / 2;
        let sigmas = (0..products + D).map(|i| if i < products { matrix } else { vector });
        let mut noise = NoiseTree::new(sigmas.collect(), self.seed);
        let mut prefix = vec![0.0; products + D];
        let mut total = 0.0;
        for (t, row) in (1_u64..).zip(&self.rows) {
            total += loss(row, learner.iterate());
            let (v, y) = row;
            let squares = v.iter().map(|v| v * v);
            let others = (0..D).flat_map(|i| (i + 1..D).map(move |j| (i, j)));
            let others = others.map(|(i, j)| std::f64::consts::SQRT_2 * v[i] * v[j]);
            let item = squares.chain(others).chain(v.iter().map(|v| y * v));
            prefix
                .iter_mut()
                .zip(item)
                .for_each(|(sum, new)| *sum += new);
            let mut noisy = noise.at(t);
            noisy.iter_mut().zip(&prefix).for_each(|(n, p)| *n += p);
            learner.observe(&noisy).map_err(RecipeError::from)?;
        }
        Ok(total)
    }

    /// Algorithm 4 as it stands; where its matrix has no inverse at all, the iterate stays.
    fn printed(&self, (matrix, vector): (f64, f64)) -> f64 {
        let sigmas = (0..D * D + D).map(|i| if i < D * D { matrix } else { vector });
        let mut noise = NoiseTree::new(sigmas.collect(), self.seed);
        let (mut sums, mut x, mut total) = (Sums::default(), [0.0; D], 0.0);
        for (t, row) in (1_u64..).zip(&self.rows) {
            total += loss(row, &x);
            sums.add(&row.0, row.1);
            let draws = noise.at(t);
            let (on_matrix, on_vector) = draws.split_at(D * D);
            let mut noisy = sums.clone();
            for (i, entries) in noisy.matrix.iter_mut().enumerate() {
                for (j, entry) in entries.iter_mut().enumerate() {
                    *entry += on_matrix[D * i + j];
                }
                noisy.vector[i] += on_vector[i];
            }
            x = noisy.solve().unwrap_or(x);
        }
        total
    }
}

fn unplanned(error: AccountError) -> ArenaError {
    RecipeError::from(PlanError::from(error)).into()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn loss((v, y): &([f64; D], f64), x: &[f64]) -> f64 {
    0.5 * (y - dot(v, x)).powi(2) + 0.5 * ALPHA * dot(x, x)
}

/// tαI + Σvvᵀ and Σyv.
#[derive(Clone, Default)]
struct Sums {
    matrix: [[f64; D]; D],
    vector: [f64; D],
}

impl Sums {
    fn add(&mut self, v: &[f64; D], y: f64) {
        for i in 0..D {
            for j in 0..D {
                self.matrix[i][j] += v[i] * v[j];
            }
            self.matrix[i][i] += ALPHA;
            self.vector[i] += y * v[i];
        }
    }

    /// matrix⁻¹·vector, by elimination with pivots; nothing, if there is no inverse.
    fn solve(&self) -> Option<[f64; D]> {
        let (mut a, mut b) = (self.matrix, self.vector);
        for column in 0..D {
            let pivot = (column..D).max_by(|&i, &j| {
                let (i, j) = (a[i][column].abs(), a[j][column].abs());
                i.total_cmp(&j)
            })?;
            a.swap(column, pivot);
            b.swap(column, pivot);
            let (top, below) = a.split_at_mut(column + 1);
            let top = &top[column];
            for (row, i) in below.iter_mut().zip(column + 1..) {
                let factor = row[column] / top[column];
                row.iter_mut().zip(top).for_each(|(r, t)| *r -= factor * t);
                b[i] -= factor * b[column];
            }
        }
        let mut x = [0.0; D];
        for i in (0..D).rev() {
            let known = dot(&a[i][i + 1..], &x[i + 1..]);
            x[i] = (b[i] - known) / a[i][i];
        }
        x.iter().all(|value| value.is_finite()).then_some(x)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two ways to the same leader: the shipped learner on exact sums, and elimination.
    #[test]
    fn without_noise_all_are_the_leader() {
        let stream = Stream::new(500, 1);
        let leader = stream.follow_the_leader();
        let simulated = stream.simulated((0.0, 0.0)).unwrap();
        assert!(
            (simulated / leader - 1.0).abs() < 1e-9,
            "{simulated} {leader}"
        );
        let printed = stream.printed((0.0, 0.0));
        assert!((printed / leader - 1.0).abs() < 1e-9, "{printed} {leader}");
        assert!(leader > stream.least);
    }

    #[test]
    fn singular_systems_have_no_solution() {
        assert!(Sums::default().solve().is_none());
    }
}
