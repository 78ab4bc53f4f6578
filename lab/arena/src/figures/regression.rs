//! Online ridge regression on synthetic records, for the figures with least squares: the records,
//! and everyone's way through them.
//!
//! Features are standard Gaussian, clipped to length R = 1.2·√d; targets are ⟨g_t, x*⟩ + N(0,
//! 0.01), ‖x*‖ = 1, clipped to [−R, R]; losses are ½(y − ⟨g, x⟩)² + ½‖x‖².

use crate::Dice;
use crate::play::{ArenaError, open};
use crate::task::dense;
use crate::vector::{add, dot, solve};
use hushstream_account::{Adjacency, Budget};
use hushstream_mechanism::losses::Bounds;
use hushstream_mechanism::sums::{PlanError, SumKind};
use hushstream_mechanism::{MemoryStorage, Moments, Participation, Raw, Transcript};
use hushstream_noise::Key;
use hushstream_recipes::{
    Ask, Objective, Recipe, RecipeError, RecipeName, RecipeRequest, SumPlayer,
};
use hushstream_sets::Ball;
use std::fmt;
use std::sync::Arc;

/// δ.
pub(super) const DELTA: f64 = 1e-6;

const DEVIATION: f64 = 0.1;

/// R in d dimensions, for features and targets alike.
pub(super) fn bound(dimension: usize) -> f64 {
    1.2 * (dimension as f64).sqrt()
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
    /// Noise and update as the paper prints them. Unsound.
    Printed,
}

impl Method {
    /// All methods: first those that may be shown of any data, then those whose update is sound.
    pub const ALL: [Self; 6] = [
        Self::NonPrivate,
        Self::Nothing,
        Self::Tree,
        Self::Blt,
        Self::PrintedNoise,
        Self::Printed,
    ];

    /// Whether ε matters to it.
    pub fn is_private(self) -> bool {
        !matches!(self, Self::NonPrivate | Self::Nothing)
    }

    /// Whether its privacy claim is false.
    pub fn is_unsound(self) -> bool {
        matches!(self, Self::PrintedNoise | Self::Printed)
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
            Self::Printed => "as printed (UNSOUND)",
        })
    }
}

/// The deviations (of Σvvᵀ, of Σyv) that the paper prints for `rounds` rounds in `dimension`
/// dimensions, for a claim of (ε, [`DELTA`]).
pub(super) fn printed_sigmas(dimension: usize, epsilon: f64, rounds: u64) -> (f64, f64) {
    let (log, bound) = ((rounds as f64).log2(), bound(dimension));
    let (half_epsilon, half_delta) = (epsilon / 2.0, DELTA / 2.0);
    let factor = log * (log / half_delta).ln().sqrt() / half_epsilon;
    (bound * bound * factor, bound * factor)
}

/// Features and target.
pub(super) type Example = (Vec<f32>, f32);

/// The records of one repeat: those of a file, or made anew whenever they are read, since together
/// they may not fit.
#[derive(Debug, Clone)]
pub(super) struct Regression {
    /// Of a file, features and target, within [`bound`].
    pub(super) records: Option<Arc<Vec<Example>>>,
    pub(super) dimension: usize,
    pub(super) rounds: u64,
    /// Records to an item.
    pub(super) batch: u64,
    pub(super) seed: u64,
    /// Tells the figures' records apart.
    pub(super) salt: u64,
}

impl Regression {
    /// Visits the records in order.
    pub(super) fn each(
        &self,
        mut visit: impl FnMut(Vec<f64>, f64) -> Result<(), ArenaError>,
    ) -> Result<(), ArenaError> {
        let (mut dice, bound) = (Dice::new(self.seed ^ self.salt), bound(self.dimension));
        if let Some(records) = &self.records {
            let mut order: Vec<usize> = (0..records.len()).collect();
            for last in (1..order.len()).rev() {
                order.swap(last, (dice.bits() % (last as u64 + 1)) as usize);
            }
            for &place in order.iter().take(self.rounds as usize) {
                let (features, target) = &records[place];
                let features = features.iter().map(|&value| f64::from(value)).collect();
                visit(features, f64::from(*target))?;
            }
            return Ok(());
        }
        let gaussian =
            |dice: &mut Dice| -> Vec<f64> { (0..self.dimension).map(|_| dice.normal()).collect() };
        let mut x = gaussian(&mut dice);
        let length = dot(&x, &x).sqrt();
        x.iter_mut().for_each(|value| *value /= length);
        for _ in 0..self.rounds {
            let mut g = gaussian(&mut dice);
            let shrink = (bound / dot(&g, &g).sqrt()).min(1.0);
            g.iter_mut().for_each(|value| *value *= shrink);
            let y = dot(&g, &x) + DEVIATION * dice.normal();
            visit(g, y.clamp(-bound, bound))?;
        }
        Ok(())
    }

    /// Total loss of one point.
    pub(super) fn loss_of(&self, x: &[f64]) -> Result<f64, ArenaError> {
        let mut total = 0.0;
        self.each(|v, y| {
            total += loss(&v, y, x);
            Ok(())
        })?;
        Ok(total)
    }

    /// `pqftl` for these records.
    fn recipe(&self, epsilon: f64, sum: SumKind) -> Result<Recipe, ArenaError> {
        let bound = bound(self.dimension);
        let bounds = Bounds::new(bound, (-bound, bound), bound).map_err(RecipeError::from)?;
        let budget = Budget::approx(epsilon, DELTA);
        let request = RecipeRequest {
            recipe: RecipeName::Pqftl,
            objective: Objective::LeastSquares(Moments::new(self.dimension, bounds)),
            set: Arc::new(Ball::new(self.dimension, bound)?),
            rounds: self.rounds,
            batch: self.batch,
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

    /// Total loss of a method.
    pub(super) fn total(&self, method: Method, epsilon: f64) -> Result<f64, ArenaError> {
        let sigmas = printed_sigmas(self.dimension, epsilon, self.rounds);
        match method {
            Method::NonPrivate => self.simulated((0.0, 0.0)).map(|(total, _)| total),
            Method::Nothing => self.loss_of(&vec![0.0; self.dimension]),
            Method::Tree => self.play(epsilon, SumKind::Tree),
            Method::Blt => self.play(epsilon, SumKind::BLT),
            Method::PrintedNoise => self.simulated(sigmas).map(|(total, _)| total),
            Method::Printed => self.printed(sigmas),
        }
    }

    /// Total loss of the shipped recipe, all of it.
    fn play(&self, epsilon: f64, sum: SumKind) -> Result<f64, ArenaError> {
        let recipe = self.recipe(epsilon, sum)?;
        let price = recipe.plan().charge().map_err(RecipeError::from)?;
        let paid = (recipe.request().budget, price, recipe.plan().scope());
        let key = Key::insecure_from_seed(self.seed);
        let (mut run, mut ledger) =
            open::<SumPlayer<Transcript>>(recipe, paid, &key, MemoryStorage::default())?;
        let (mut total, mut t) = (0.0, 0_u64);
        self.each(|v, y| {
            total += loss(&v, y, run.question().for_the_operator());
            run.learn(None, Raw::seal(dense(v, y)))?;
            t += 1;
            if t.is_multiple_of(512 * self.batch) {
                run.sync(&mut ledger)?;
            }
            Ok(())
        })?;
        Ok(total)
    }

    /// The learner of `pqftl`, fed with exact sums under tree noise of these deviations, of Σvvᵀ
    /// and of Σyv: its total loss, and where it ends.
    pub(super) fn simulated(
        &self,
        (matrix, vector): (f64, f64),
    ) -> Result<(f64, Vec<f64>), ArenaError> {
        // The learner does not know ε.
        let recipe = self.recipe(1.0, SumKind::Tree)?;
        let mut learner = recipe.learner()?;
        let scale = match recipe.ask() {
            Ask::Moments(moments) => moments.target_scale(),
            Ask::Gradient(_) => 1.0,
        };
        let products = self.dimension * (self.dimension + 1) / 2;
        let size = products + self.dimension;
        let sigmas = (0..size).map(|i| if i < products { matrix } else { scale * vector });
        let mut noise = NoiseTree::new(sigmas.collect(), self.seed);
        let mut prefix = vec![0.0; size];
        let (mut total, mut t) = (0.0, 0_u64);
        self.each(|v, y| {
            total += loss(&v, y, learner.iterate());
            let squares = v.iter().map(|a| a * a);
            let others = (0..v.len()).flat_map(|i| v[i + 1..].iter().map(move |b| (i, b)));
            let others = others.map(|(i, b)| std::f64::consts::SQRT_2 * v[i] * b);
            let item = squares.chain(others).chain(v.iter().map(|a| scale * y * a));
            add(&mut prefix, item);
            t += 1;
            if t.is_multiple_of(self.batch) || t == self.rounds {
                let mut noisy = noise.at(t.div_ceil(self.batch));
                add(&mut noisy, prefix.iter().copied());
                learner.observe(&noisy).map_err(RecipeError::from)?;
            }
            Ok(())
        })?;
        Ok((total, learner.iterate().to_vec()))
    }

    /// The paper's update, (tαI + V̂)⁻¹û, with independent noise of these deviations in all entries
    /// of the matrix and in the vector: without noise, the leader. Gives its total loss.
    pub(super) fn printed(&self, (matrix, vector): (f64, f64)) -> Result<f64, ArenaError> {
        let d = self.dimension;
        let sigmas = (0..d * d + d).map(|i| if i < d * d { matrix } else { vector });
        let mut noise = NoiseTree::new(sigmas.collect(), self.seed);
        let (mut sums, mut x, mut total) = (Sums::new(d), vec![0.0; d], 0.0);
        let mut t = 0;
        self.each(|v, y| {
            total += loss(&v, y, &x);
            sums.add(&v, y);
            t += 1;
            let draws = noise.at(t);
            let mut noisy = sums.clone();
            for (i, row) in noisy.0.iter_mut().enumerate() {
                add(&mut row[..d], draws[d * i..].iter().copied());
                row[d] += draws[d * d + i];
            }
            if let Some(solved) = solve(noisy.0) {
                x = solved;
            }
            Ok(())
        })?;
        Ok(total)
    }

    /// Total loss of ridge regression in hindsight.
    pub(super) fn ridge(&self) -> Result<f64, ArenaError> {
        let mut sums = Sums::new(self.dimension);
        self.each(|v, y| {
            sums.add(&v, y);
            Ok(())
        })?;
        self.loss_of(&solve(sums.0).unwrap_or(vec![0.0; self.dimension]))
    }
}

/// tαI + Σvvᵀ, α = 1, and Σyv as the last column.
#[derive(Clone)]
struct Sums(Vec<Vec<f64>>);

impl Sums {
    fn new(dimension: usize) -> Self {
        Self(vec![vec![0.0; dimension + 1]; dimension])
    }

    fn add(&mut self, v: &[f64], y: f64) {
        for (i, row) in self.0.iter_mut().enumerate() {
            add(row, v.iter().map(|other| v[i] * other));
            row[i] += 1.0;
            row[v.len()] += y * v[i];
        }
    }
}

/// The noise of the paper's binary tree, without privacy's care: floating-point draws from public
/// dice.
struct NoiseTree {
    sigmas: Vec<f64>,
    /// One cached draw for each node that the present prefix may contain.
    levels: Vec<Vec<f64>>,
    dice: Dice,
}

impl NoiseTree {
    fn new(sigmas: Vec<f64>, seed: u64) -> Self {
        Self {
            sigmas,
            levels: Vec::new(),
            dice: Dice::new(seed ^ 0x6e_6f_69_73),
        }
    }

    /// What is in the prefix sum of t items; t = 1, 2, … in turn.
    fn at(&mut self, t: u64) -> Vec<f64> {
        // The node that is completed by item t is the largest that ends there; smaller ones that
        // end there are in no prefix sum.
        let completed = t.trailing_zeros() as usize;
        self.levels
            .resize(self.levels.len().max(completed + 1), Vec::new());
        let dice = &mut self.dice;
        self.levels[completed] = self.sigmas.iter().map(|s| s * dice.normal()).collect();
        let mut total = vec![0.0; self.sigmas.len()];
        for (_, level) in (0..).zip(&self.levels).filter(|(bit, _)| t >> bit & 1 == 1) {
            add(&mut total, level.iter().copied());
        }
        total
    }
}

fn loss(v: &[f64], y: f64, x: &[f64]) -> f64 {
    0.5 * (y - dot(v, x)).powi(2) + 0.5 * dot(x, x)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A prefix of t items has as many nodes as t has binary ones, and those that two prefixes
    /// share have the same noise in both.
    #[test]
    fn nodes_are_drawn_once() {
        let mut tree = NoiseTree::new(vec![2.0; 20_000], 3);
        let prefixes: Vec<Vec<f64>> = (1..=13).map(|t| tree.at(t)).collect();
        let square = |values: &mut dyn Iterator<Item = f64>| {
            values.map(|value| value * value).sum::<f64>() / (4.0 * 20_000.0)
        };
        for (t, prefix) in (1_u64..).zip(&prefixes) {
            let nodes = square(&mut prefix.iter().copied());
            assert!(
                (nodes / f64::from(t.count_ones()) - 1.0).abs() < 0.05,
                "{t}: {nodes}"
            );
        }
        let apart = |t: usize, u: usize| {
            let (a, b) = (&prefixes[t - 1], &prefixes[u - 1]);
            square(&mut a.iter().zip(b).map(|(a, b)| a - b))
        };
        // {4, 2, 1} and {4, 2}; {8, 4} and {8, 2, 1}; {8, 4, 1} and {4, 1}, whose fours are not the
        // same items.
        for (t, u, nodes) in [(7, 6, 1.0), (12, 11, 3.0), (13, 5, 5.0)] {
            assert!(
                (apart(t, u) / nodes - 1.0).abs() < 0.05,
                "{t} {u}: {}",
                apart(t, u)
            );
        }
    }
}
