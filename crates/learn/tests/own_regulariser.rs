//! A regulariser from outside, and the certified regret of each: measured below it, with noise of
//! one law before every play.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::{Draws, add, dot};
use hushstream_learn::{
    Entropy, LearnError, Learner, PNorm, RegularisedLeader, Regulariser, Squares,
};
use hushstream_sets::{ConvexSet, L1Ball, Simplex};
use std::sync::Arc;

/// Tsallis entropy on the simplex, −2Σ√xᵢ: its second derivative is xᵢ^(−3/2)/2 ≥ ½, so it is
/// ½-strongly convex in L2. The leader is xᵢ = (η·lᵢ + λ)⁻², λ by Newton's method from the left,
/// where the sum of these is convex and falls.
#[derive(Debug)]
struct Tsallis(Simplex);

impl Regulariser for Tsallis {
    fn set(&self) -> &dyn ConvexSet {
        &self.0
    }

    fn leader(&self, rate: f64, losses: &[f64]) -> Result<Vec<f64>, LearnError> {
        let least = losses.iter().copied().fold(f64::INFINITY, f64::min);
        let sizes: Vec<f64> = losses.iter().map(|loss| rate * (loss - least)).collect();
        let mut multiplier = 1.0;
        for _ in 0..100 {
            let sum = |power: i32| -> f64 {
                let terms = sizes.iter().map(|size| (size + multiplier).powi(power));
                terms.sum()
            };
            multiplier += (sum(-2) - 1.0) / (2.0 * sum(-3));
        }
        let weights: Vec<f64> = sizes
            .iter()
            .map(|size| (size + multiplier).powi(-2))
            .collect();
        let total: f64 = weights.iter().sum();
        Ok(weights.into_iter().map(|weight| weight / total).collect())
    }

    fn range(&self) -> f64 {
        2.0 * ((self.0.dimension() as f64).sqrt() - 1.0)
    }

    fn squared_length(&self, losses: &[f64]) -> f64 {
        2.0 * dot(losses, losses)
    }
}

/// Losses that switch sides, on average over runs, with N(0, s²) in every coordinate of every
/// prefix sum, the one over no losses too.
fn check(regulariser: &Arc<dyn Regulariser>, deviation: f64, lowest: impl Fn(&[f64]) -> f64) {
    const ROUNDS: usize = 600;
    const RUNS: u64 = 20;
    let d = regulariser.set().dimension();
    let losses: Vec<Vec<f64>> = (0..ROUNDS)
        .map(|t| {
            (0..d)
                .map(|i| if t / 50 % d == i { -0.6 } else { 0.4 })
                .collect()
        })
        .collect();
    let squares: f64 = losses
        .iter()
        .map(|loss| regulariser.squared_length(loss))
        .sum();
    let rate = RegularisedLeader::best_rate(regulariser.range(), squares).unwrap();
    let new = || RegularisedLeader::new(regulariser.clone(), rate).unwrap();
    // ⟨Z, x⟩ has a range of at most the diameter times E‖Z‖.
    let range = regulariser.set().diameter() * deviation * (d as f64).sqrt();
    let bound = new().regret_bound(squares, range);
    let mut regret = 0.0;
    for run in 0..RUNS {
        let (mut learner, mut draws) = (new(), Draws::new(77 + run));
        let mut noise = || {
            (0..d)
                .map(|_| deviation * draws.normal())
                .collect::<Vec<f64>>()
        };
        learner.observe_initial(&noise()).unwrap();
        let mut sum = vec![0.0; d];
        for loss in &losses {
            assert!(regulariser.set().contains(learner.iterate(), 1e-9));
            regret += dot(loss, learner.iterate()) / RUNS as f64;
            add(&mut sum, 1.0, loss);
            let mut noisy = noise();
            add(&mut noisy, 1.0, &sum);
            learner.observe(&noisy).unwrap();
        }
        if run == 0 {
            regret -= lowest(&sum);
        }
    }
    println!("{regulariser:?}: {regret} {bound}");
    assert!(regret <= bound, "{regulariser:?}: {regret} {bound}");
}

#[test]
fn every_regulariser_has_the_certified_regret() {
    let least = |sum: &[f64]| sum.iter().copied().fold(f64::INFINITY, f64::min);
    let largest = |sum: &[f64]| {
        -sum.iter()
            .fold(0.0_f64, |most, value| most.max(value.abs()))
    };
    for deviation in [0.0, 8.0] {
        let simplex = Simplex::new(6).unwrap();
        check(&(Arc::new(Entropy::new(6).unwrap()) as _), deviation, least);
        check(
            &(Arc::new(Squares::new(Arc::new(simplex.clone())).unwrap()) as _),
            deviation,
            least,
        );
        check(&(Arc::new(Tsallis(simplex)) as _), deviation, least);
        let ball = L1Ball::new(6, 1.0).unwrap();
        check(
            &(Arc::new(Squares::new(Arc::new(ball)).unwrap()) as _),
            deviation,
            largest,
        );
        for p in [1.2, 2.0] {
            check(
                &(Arc::new(PNorm::new(6, 1.0, p).unwrap()) as _),
                deviation,
                largest,
            );
        }
    }
}

/// A bound that is as good as is said: with many dimensions the p-norm's is a small part of that of
/// squares.
#[test]
fn p_norms_are_for_many_dimensions() {
    for (d, share) in [(100, 0.7), (10_000, 0.12)] {
        let bound = |regulariser: &dyn Regulariser| {
            (2.0 * regulariser.range() * regulariser.squared_length(&vec![1.0; d])).sqrt()
        };
        let norm = bound(&PNorm::for_l1_ball(d, 1.0).unwrap());
        let squares = bound(&Squares::new(Arc::new(L1Ball::new(d, 1.0).unwrap())).unwrap());
        assert!(norm < share * squares, "{d}: {norm} {squares}");
    }
}
