//! AS17's additive cost: with pure noise, `ftrl` over N = 5 experts pays regret(ε) − regret(∞) ∝
//! 1/ε for its privacy, and a power of ln T. The same seed is the same game and the same noise, up
//! to its scale, at every ε; "∞" is ε = 10⁴.
//!
//! **What to expect.** Noise Z before Hedge at rate η is a prior ∝ e^(−ηZ), which costs E[(1/η)·ln
//! Σ_i e^(−η(Z_i − Z_j))] − (ln N)/η for the best expert j. That is about D_Z ∝ 1/ε, AS17's term,
//! if Z is large beside 1/η; but only about η·Var(Z) ∝ 1/ε² if it is small. A coordinate of Z has
//! deviation √2·(N·h/ε)·√h, 452/ε at T = 2¹⁶, and AS17's own η = √(4·ln N/T) has 1/η = 101 there:
//! over ε = 1…16 it crosses from one regime to the other, so at that rate the cost falls *faster*
//! than 1/ε. The law itself is seen at a rate at which noise decides: η = 1. In T, Z ∝ h·√h: b =
//! 1.5.
//!
//! **Measured**, switching game, excess over ε = ∞ at T = 2¹⁶, 8 seeds:
//!
//! | η | ε = 1 | 2 | 4 | 8 | 16 | exponent of ε |
//! |---|---|---|---|---|---|---|
//! | AS17's | 415.3 | 164.5 | 54.4 | 15.5 | 4.4 | −1.651 ± 0.059 |
//! | 1 | 554.3 | 283.6 | 135.1 | 63.7 | 31.1 | −1.047 ± 0.012 |
//!
//! and at T = 2¹⁴…2¹⁸, 4 seeds, with the exponent of T at b = 1.5:
//!
//! | η | ε | 2¹⁴ | 2¹⁵ | 2¹⁶ | 2¹⁷ | 2¹⁸ | exponent of T |
//! |---|---|---|---|---|---|---|---|
//! | AS17's | 1 | 403.3 | 419.9 | 448.4 | 447.7 | 436.2 | −0.104 ± 0.013 |
//! | AS17's | 4 | 58.1 | 56.8 | 55.4 | 52.0 | 48.3 | −0.202 ± 0.007 |
//! | 1 | 1 | 481.0 | 520.7 | 587.2 | 637.6 | 697.6 | 0.001 ± 0.005 |
//! | 1 | 4 | 108.1 | 122.4 | 137.0 | 151.9 | 161.6 | 0.011 ± 0.007 |

use crate::common::{Recorded, means, request};
use crate::fit::{growth, power};
use hushstream_account::Budget;
use hushstream_arena::Task;
use hushstream_mechanism::Transcript;
use hushstream_mechanism::losses::LinearLoss;
use hushstream_recipes::{Objective, RecipeName};
use hushstream_sets::Simplex;
use std::sync::Arc;

const EXPERTS: usize = 5;
/// As good as none, and still a plan.
const NO_PRIVACY: f64 = 1e4;

/// For each ε the mean regret beyond that without privacy.
fn excess<const E: usize>(
    rounds: u64,
    rate: Option<f64>,
    seeds: u64,
    epsilons: [f64; E],
) -> [f64; E] {
    let loss = LinearLoss::new(EXPERTS, 0.0, 1.0).unwrap();
    let set = Arc::new(Simplex::new(EXPERTS).unwrap());
    means(0..seeds, |seed| {
        let game = Recorded::new(Task::Experts, set.as_ref(), &loss, rounds, seed);
        let regret = |epsilon: f64| {
            let objective = Objective::Linear(loss.clone());
            let mut request = request(RecipeName::Ftrl, objective, set.clone(), rounds);
            request.budget = Budget::pure(epsilon).unwrap();
            request.learning_rate = rate;
            game.regret::<Transcript>(request.plan().unwrap(), &loss, seed)
        };
        let free = regret(NO_PRIVACY);
        epsilons.map(|epsilon| regret(epsilon) - free)
    })
}

/// D_Z: the range of N independent numbers of deviation s is at most √(2N)·s in expectation.
fn noise_range(rounds: u64, epsilon: f64) -> f64 {
    let levels = f64::from((rounds - 1).ilog2() + 1);
    let scale = EXPERTS as f64 * levels / epsilon;
    (2.0 * EXPERTS as f64).sqrt() * scale * (2.0 * levels).sqrt()
}

#[test]
fn cost_against_epsilon() {
    const T: u64 = 1 << 16;
    let epsilons = [1.0, 2.0, 4.0, 8.0, 16.0];
    for (rate, allowed) in [(None, -2.0..=-1.0), (Some(1.0), -1.3..=-0.7)] {
        let costs = excess(T, rate, 8, epsilons);
        let points: Vec<(f64, f64)> = epsilons.into_iter().zip(costs).collect();
        let fit = power(&points).unwrap();
        println!(
            "rate {rate:?}: {points:.1?}: {:.3} ± {:.3}",
            fit.exponent, fit.error
        );
        assert!(
            allowed.contains(&fit.exponent),
            "{rate:?}: {fit:?} {points:.1?}"
        );
        for (epsilon, cost) in points {
            assert!(
                cost <= noise_range(T, epsilon),
                "{rate:?} {epsilon}: {cost}"
            );
        }
    }
}

#[test]
fn cost_against_rounds() {
    let lengths = [14, 15, 16, 17, 18].map(|power| 1_u64 << power);
    for rate in [None, Some(1.0)] {
        let costs = lengths.map(|rounds| excess(rounds, rate, 4, [1.0, 4.0]));
        for (index, epsilon) in [1.0, 4.0].into_iter().enumerate() {
            let points: Vec<(u64, f64)> = lengths
                .into_iter()
                .zip(costs.iter().map(|cost| cost[index]))
                .collect();
            let fit = growth(&points, 1.5).unwrap();
            println!(
                "rate {rate:?}, epsilon {epsilon}: {points:.1?}: {:.3} ± {:.3}",
                fit.exponent, fit.error
            );
            assert!(
                fit.exponent <= 0.1,
                "{rate:?} {epsilon}: {fit:?} {points:.1?}"
            );
        }
    }
}
