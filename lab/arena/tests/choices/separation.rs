//! AFKT22 §4: privacy costs more against an adversary that sees the plays. The adversary of Theorem
//! 5 plays the adaptive game; its losses are recorded and replayed, now fixed in advance, against
//! the same recipe with fresh coins. Hedge without privacy does not mind either.
//!
//! **Measured**, pure ε, d = 2p experts, T = 0.9·p, one game each; regret divided by T:
//!
//! | ε | T | adaptive | replayed | Hedge without privacy, adaptive |
//! |---|---|---|---|---|
//! | 1 | 1,999 | 0.990 | 0.034 | 0.008 |
//! | 0.1 (`long`) | 19,999 | 0.995 | 0.178 | 0.002 |

use crate::experts::duel::{Advisor, duel, hedge};
use crate::experts::fingerprint::Fingerprint;
use crate::experts::matrix::SignMatrix;
use hushstream_account::{Adjacency, Budget};
use hushstream_arena::Dice;
use hushstream_recipes::{Advice, ExpertsRecipe, ExpertsRequest, RecipeName};

fn dartboard(experts: usize, rounds: u64, budget: Budget) -> ExpertsRecipe {
    ExpertsRequest {
        recipe: RecipeName::Dartboard,
        advice: Advice::Experts(experts as u32),
        rounds: Some(rounds),
        batch: None,
        board: None,
        budget,
        adjacency: Adjacency::ReplaceOne,
    }
    .plan()
    .unwrap()
}

/// Regret a round: adaptive, replayed, Hedge.
fn separation(epsilon: f64, columns: usize) -> [f64; 3] {
    let matrix = SignMatrix::consensus(columns / 1000 + 1, columns, &mut Dice::new(5));
    let mut adversary = Fingerprint::new(matrix.clone(), None);
    let rounds = adversary.rounds();
    let recipe = dartboard(adversary.experts(), rounds, Budget::pure(epsilon).unwrap());
    let adaptive = duel(&recipe, &mut adversary, 1);
    assert!(
        adaptive.best < 0.5,
        "an expert that was never followed has no loss"
    );
    let replayed = duel(&recipe, &mut adversary.replay(), 2);
    let free = hedge(&mut Fingerprint::new(matrix, None), 3);
    let shares = [adaptive, replayed, free].map(|outcome| outcome.regret() / rounds as f64);
    println!("eps {epsilon}, T = {rounds}: {shares:.3?}");
    shares
}

#[test]
fn an_adversary_that_sees_the_plays_costs_a_constant_a_round() {
    let [adaptive, replayed, free] = separation(1.0, 2222);
    assert!(adaptive > 0.9, "{adaptive}");
    assert!(replayed < 0.25, "{replayed}");
    assert!(free < 0.1, "{free}");
}

#[cfg(feature = "long")]
#[test]
fn also_at_the_theorems_budget() {
    let [adaptive, replayed, free] = separation(0.1, 22_222);
    assert!(adaptive > 0.9 && replayed < 0.4 && free < 0.05);
}

/// Theorem 4's matrix and Theorem 6's subsets at a size that can be played: the adversary wins its
/// rounds here too.
#[test]
fn the_other_adversaries_play() {
    let budget = Budget::approx(0.1, 1e-6).unwrap();
    let matrix = SignMatrix::tardos(8, 2000, &mut Dice::new(7));
    let mut adversary = Fingerprint::new(matrix, Some(200));
    let rounds = adversary.rounds();
    let recipe = dartboard(adversary.experts(), rounds, budget);
    let outcome = duel(&recipe, &mut adversary, 1);
    // Zero losses follow after 200 rounds: the regret is of the first 200.
    assert!(
        outcome.regret() > 120.0 && outcome.loss <= 200.0,
        "{outcome:?}"
    );
    let pairs = SignMatrix::consensus(3, 40, &mut Dice::new(8));
    let mut adversary = Fingerprint::of_subsets(pairs, 2).unwrap();
    let rounds = adversary.rounds();
    let recipe = dartboard(adversary.experts(), rounds, budget);
    let outcome = duel(&recipe, &mut adversary, 1);
    assert!(
        outcome.best < 0.5 && outcome.regret() > 0.7 * rounds as f64,
        "{outcome:?}"
    );
}
