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

#![allow(clippy::unwrap_used)]

use hushstream_account::{Adjacency, Budget, Charge};
use hushstream_arena::{Dice, in_parallel, open};
use hushstream_audit::{Claim, Rates};
use hushstream_mechanism::losses::{Bounds, Features, LinearModel, Link, Record};
use hushstream_mechanism::sums::{Noise, SumKind};
use hushstream_mechanism::{MemoryStorage, Participation, Raw, Transcript};
use hushstream_noise::Key;
use hushstream_recipes::{Objective, Recipe, RecipeName, RecipeRequest, SumPlayer};
use hushstream_sets::Ball;
use std::sync::Arc;

/// n.
const RELEASES: u64 = 256;
/// m, the canaries of a run.
const CANARIES: usize = 32;

/// `pftal-convex` on the binary tree.
fn recipe() -> Recipe {
    let bounds = Bounds::new(1.0, (-1.0, 1.0), 0.01).unwrap();
    let model = LinearModel::new(CANARIES, Link::Hinge, bounds).unwrap();
    let request = RecipeRequest {
        recipe: RecipeName::PftalConvex,
        objective: Objective::Convex(Arc::new(model)),
        set: Arc::new(Ball::new(CANARIES, 0.01).unwrap()),
        rounds: RELEASES + 1,
        batch: 1,
        budget: Budget::approx(8.0, 1e-5).unwrap(),
        adjacency: Adjacency::ReplaceOne,
        participation: Participation::OncePerRecord,
        sum: Some(SumKind::Tree),
        noise: Some(Noise::Gaussian),
        window: None,
        // So large that iterates are small: no projection, and the hinge is steepest.
        curvature: Some(1e8),
        learning_rate: None,
        tuned: false,
    };
    request.plan().unwrap()
}

/// The canaries: the records that most nodes contain. Item τ lies in the nodes of the levels where
/// τ − 1 has a zero.
fn places() -> Vec<u64> {
    let mut places: Vec<u64> = (1..=RELEASES).collect();
    places.sort_by_key(|place| (place - 1).count_ones());
    places.truncate(CANARIES);
    places
}

/// One run with coins of its own: (2·share of "right" where right, 2·share of "right" where left).
fn play(recipe: &Recipe, seed: u64) -> (f64, f64) {
    let (places, curvature) = (places(), recipe.curvature());
    let plan = recipe.plan();
    let paid = (
        recipe.request().budget,
        plan.charge().unwrap(),
        plan.scope(),
    );
    let (key, storage) = (Key::insecure_from_seed(seed), MemoryStorage::default());
    let (mut run, mut ledger) =
        open::<SumPlayer<Transcript>>(recipe.clone(), paid, &key, storage).unwrap();
    let mut dice = Dice::new(!seed);
    let sides: Vec<bool> = places.iter().map(|_| dice.coin(0.5)).collect();
    let d = places.len();
    for t in 1..=RELEASES {
        let features = match places.iter().position(|&place| place == t) {
            Some(i) => vec![(i as u32, 1.0)],
            None => Vec::new(),
        };
        let side = features.first().is_some_and(|&(i, _)| sides[i as usize]);
        let record = Record {
            features: Features::Sparse(features),
            target: if side { -1.0 } else { 1.0 },
        };
        run.learn(None, Raw::seal(record)).unwrap();
    }
    let mut scores = vec![0.0; d];
    let mut sums: Vec<Vec<f64>> = vec![vec![0.0; d]];
    for (t, iterate) in (1_u64..).zip(run.sync(&mut ledger).unwrap()) {
        let factor = -curvature * t as f64;
        let sum: Vec<f64> = iterate.value().iter().map(|x| factor * x).collect();
        // Release t minus the one where its newest node begins is that node.
        let begin = t - (1 << t.trailing_zeros());
        let before = &sums[begin as usize];
        for (i, &place) in places.iter().enumerate() {
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
    (share(true), share(false))
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
fn a_long_stream_with_many_canaries() {
    const ERROR: f64 = 1e-3;
    let recipe = recipe();
    let Charge::Gaussian(mu) = recipe.plan().charge().unwrap().charge else {
        panic!("this audit is of Gaussian noise");
    };
    let seeds: Vec<u64> = (0..1500).collect();
    let played = in_parallel(&seeds, |&seed| Ok::<_, ()>(play(&recipe, seed))).unwrap();
    let (right, left): (Vec<f64>, Vec<f64>) = played.into_iter().unzip();
    let rates = Rates {
        hits: bernstein(&right, -1.0, ERROR / 2.0).clamp(0.0, 1.0),
        alarms: bernstein(&left, 1.0, ERROR / 2.0).clamp(0.0, 1.0),
    };
    let claim = Claim::Gaussian {
        mu: mu.get(),
        epsilon: 8.0,
        delta: 1e-5,
    };
    assert!(!claim.is_refuted_by(rates), "{rates:?}");
    assert!(rates.mu() > 0.6 * mu.get(), "{rates:?}");
}
