//! Games with a context: which arm is best depends on it, linearly.
//!
//! A context is a point of the unit sphere in p − 1 dimensions; features are its coordinates and 1.
//! Arm a earns 1 with probability ½ + ⟨θ_a, φ⟩ between 0 and 1, and 0 otherwise: on average
//! [`BASE`], and more or less along a hidden direction of its own. What is measured is the average
//! reward, against that of the best arm for every context.

use crate::dice::Dice;
use crate::play::{ArenaError, open};
use hushstream_account::{Adjacency, Budget};
use hushstream_mechanism::decisions::Outcomes;
use hushstream_mechanism::losses::{Features, Record};
use hushstream_mechanism::sums::{Noise, SumKind};
use hushstream_mechanism::{MemoryStorage, Participation, Raw, Scoreboard, Yardstick};
use hushstream_noise::Key;
use hushstream_recipes::{
    Baseline, Column, DecisionsPlayer, DecisionsRecipe, DecisionsRequest, DecisionsShadow,
    RecipeError, RecipeName,
};

/// The average reward of an arm.
const BASE: f64 = 0.289;
/// How much the best context of an arm earns more than its average, but for chance.
const REACH: f64 = 0.575;

/// A game of arms and contexts.
#[derive(Debug, Clone)]
pub struct ContextualGame {
    /// `igw` or `linucb-jdp`.
    pub recipe: RecipeName,
    /// K.
    pub arms: usize,
    /// p.
    pub features: usize,
    /// T.
    pub rounds: u64,
    /// The sum; chosen if not stated.
    pub sum: Option<SumKind>,
    /// The noise; by the budget if not stated.
    pub noise: Option<Noise>,
    /// Records per release; chosen if not stated.
    pub batch: Option<u64>,
    /// What γ is multiplied by.
    pub exploration: Option<f64>,
    /// The budget.
    pub budget: Budget,
    /// The neighbouring relation.
    pub adjacency: Adjacency,
}

/// What was earned on average.
#[derive(Debug, Clone, PartialEq)]
pub struct Earned {
    /// With privacy: all rounds, and the last quarter.
    pub private: [f64; 2],
    /// Without.
    pub exact: [f64; 2],
    /// By the best arm for every context.
    pub best: f64,
    /// By arms drawn alike.
    pub uniform: f64,
    /// (t, the regret so far with privacy, and without), at geometrically spaced t.
    pub curve: Vec<(u64, [f64; 2])>,
}

impl Earned {
    /// The regret with privacy, and without, against the best arm for every context.
    #[must_use]
    pub fn regret(&self) -> [f64; 2] {
        self.curve.last().map_or([0.0; 2], |last| last.1)
    }
}

impl ContextualGame {
    /// The recipe, calibrated for this game.
    ///
    /// # Errors
    /// A combination that does not fit.
    pub fn recipe(&self) -> Result<DecisionsRecipe, ArenaError> {
        Ok(DecisionsRequest {
            recipe: self.recipe,
            columns: vec![Column::Number { zero: 0.0 }; self.features.saturating_sub(1)],
            arms: self.arms,
            outcomes: Outcomes::Table,
            rounds: self.rounds,
            horizon_unknown: false,
            budget: self.budget,
            adjacency: self.adjacency,
            participation: Participation::OncePerRecord,
            sum: self.sum,
            noise: self.noise,
            batch: self.batch,
            knots: Some(0),
            length: Some(1.0),
            ridge: None,
            exploration: self.exploration,
            evaluation: None,
            first_arm: false,
        }
        .plan()?)
    }

    /// Plays once, with privacy and without. The seed fixes both the game and the noise.
    ///
    /// # Errors
    /// A combination that does not fit; contexts of fewer than two features, the 1 included.
    pub fn play(&self, seed: u64) -> Result<Earned, ArenaError> {
        let recipe = self.recipe()?;
        let price = recipe.plan().charge().map_err(RecipeError::from)?;
        let paid = (self.budget, price, recipe.plan().scope());
        let mut shadow = DecisionsShadow::new(&recipe)?;
        let key = Key::insecure_from_seed(seed);
        let storage = MemoryStorage::default();
        let (mut run, mut ledger) = open::<DecisionsPlayer>(recipe, paid, &key, storage)?;
        let mut dice = Dice::new(seed ^ 0x61_72_6d_73);
        let d = self.features - 1;
        let arms: Vec<Vec<f64>> = (0..self.arms).map(|_| sphere(d, &mut dice)).collect();
        let board = || Scoreboard::new(Yardstick::Experts(self.arms), f64::INFINITY);
        let (mut own, mut other) = (board(), board());
        let (mut best, mut uniform) = (0.0, 0.0);
        let (mut curve, mut next) = (Vec::new(), 1.0_f64);
        for t in 0..self.rounds {
            if t == self.rounds - self.rounds / 4 {
                own.mark();
                other.mark();
            }
            let x = sphere(d, &mut dice);
            let chance = |arm: &Vec<f64>| {
                let along: f64 = arm.iter().zip(&x).map(|(a, b)| a * b).sum();
                (BASE + REACH * along).clamp(0.0, 1.0)
            };
            let chances: Vec<f64> = arms.iter().map(chance).collect();
            best += chances.iter().copied().fold(0.0, f64::max);
            uniform += chances.iter().sum::<f64>() / chances.len() as f64;
            let rewards = chances
                .iter()
                .map(|&p| if dice.coin(p) { 1.0 } else { -1.0 });
            let values: Vec<f64> = x.iter().copied().chain(rewards).collect();
            let sealed = |values| {
                Raw::seal(Record {
                    features: Features::Dense(values),
                    target: 0.0,
                })
            };
            let copy = sealed(values.clone());
            shadow.score(&copy, &mut other);
            shadow.learn(&copy)?;
            run.take(None, sealed(values), Some(&mut own))?;
            let played = (t + 1) as f64;
            if played >= next || t + 1 == self.rounds {
                let regret = |board| best - played * earned(board)[0];
                curve.push((t + 1, [regret(&own), regret(&other)]));
                next *= 1.1;
            }
            if t % 4096 == 4095 {
                run.sync(&mut ledger)?;
            }
        }
        run.sync(&mut ledger)?;
        let rounds = self.rounds as f64;
        Ok(Earned {
            private: earned(&own),
            exact: earned(&other),
            best: best / rounds,
            uniform: uniform / rounds,
            curve,
        })
    }
}

/// The average reward of all rounds, and since the last mark.
fn earned(board: &Scoreboard) -> [f64; 2] {
    let summary = board.summary();
    let summary = summary.for_the_operator();
    [1.0 - summary.average, 1.0 - summary.since_last]
}

fn sphere(dimension: usize, dice: &mut Dice) -> Vec<f64> {
    let values: Vec<f64> = (0..dimension).map(|_| dice.normal()).collect();
    let length = values.iter().map(|v| v * v).sum::<f64>().sqrt().max(1e-12);
    values.iter().map(|v| v / length).collect()
}
