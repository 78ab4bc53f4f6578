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
//! **Evidence.** With coin S_i and score X_i, the mean over i of 2·1[S_i = right, X_i ≥ t] lies in
//! [0, 2] and has expectation b̄, and likewise for ā: averages that take the place of a pair of
//! runs in a bet (`Evidence`). Runs are independent, canaries need not be; they average out the
//! variance of a run, which is what they are for.

#![allow(clippy::unwrap_used)]

use hushstream_account::{Adjacency, Budget, Charge};
use hushstream_arena::{Dice, in_parallel, open};
use hushstream_audit::{Claim, Evidence, Tails};
use hushstream_mechanism::losses::{Bounds, Features, LinearModel, Link, Record};
use hushstream_mechanism::sums::{Noise, SumKind};
use hushstream_mechanism::{MemoryStorage, Participation, Raw, Transcript};
use hushstream_noise::Key;
use hushstream_recipes::{Objective, Recipe, RecipeName, RecipeRequest, SumPlayer};
use hushstream_sets::Ball;
use std::sync::Arc;

/// n.
const RELEASES: u64 = 256;
/// Runs that thresholds and the first stakes are learned from.
const EARLIER: u64 = 100;
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

/// One run with coins of its own: each canary's score, and whether it stands right.
fn play(recipe: &Recipe, seed: u64) -> Vec<(f64, bool)> {
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
    scores.into_iter().zip(sides).collect()
}

/// How often a run's canaries are at or above each threshold, on each side, times two.
fn tails(canaries: &[(f64, bool)], thresholds: &[f64]) -> Tails {
    let side = |right: bool| -> Vec<f64> {
        let above = |t: &f64| {
            canaries
                .iter()
                .filter(|&&(x, at)| at == right && x >= *t)
                .count()
        };
        let shares = thresholds.iter().map(above);
        shares
            .map(|count| 2.0 * count as f64 / canaries.len() as f64)
            .collect()
    };
    Tails::new(&side(true), &side(false))
}

#[test]
fn a_long_stream_with_many_canaries() {
    const ERROR: f64 = 1e-3;
    let recipe = recipe();
    let Charge::Gaussian(mu) = recipe.plan().charge().unwrap().charge else {
        panic!("this audit is of Gaussian noise");
    };
    let claim = Claim::Gaussian {
        mu: mu.get(),
        epsilon: 8.0,
        delta: 1e-5,
    };
    let run = |first: u64, count: u64| {
        let seeds: Vec<u64> = (first..first + count).collect();
        in_parallel(&seeds, |&seed| Ok::<_, ()>(play(&recipe, seed))).unwrap()
    };
    let earlier = run(0, EARLIER);
    let mut scores: Vec<f64> = earlier.iter().flatten().map(|(score, _)| *score).collect();
    scores.sort_by(f64::total_cmp);
    let thresholds: Vec<f64> = (1..6).map(|k| scores[k * scores.len() / 6]).collect();
    let counted = |runs: &[Vec<(f64, bool)>]| -> Vec<Tails> {
        runs.iter()
            .map(|canaries| tails(canaries, &thresholds))
            .collect()
    };
    let mut evidence = Evidence::new(claim, &counted(&earlier), 2.0, ERROR);
    let mut first = EARLIER;
    while evidence.share() < 0.8 && first < 1500 {
        evidence.take(&counted(&run(first, 50)));
        first += 50;
    }
    let told = (evidence.share(), first);
    assert!((0.8..1.0).contains(&evidence.share()), "{told:?}");
}
