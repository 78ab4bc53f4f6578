//! Recipes that do not stand on sums of gradients: one-point values, iterates, answers, phases,
//! sparse models.

use crate::adapter::{
    OnAnswers, OnIterates, OnSolver, OnSparse, OnValues, Play, RELEASES, all_sums,
};
use crate::share_of_price;
use crate::sums::share_seen;
use hushstream_account::Adjacency;
use hushstream_mechanism::feedback::FeedbackNoise;
use hushstream_mechanism::losses::Link;
use hushstream_mechanism::sums::Noise;
use hushstream_recipes::{CATALOGUE, MechanismKind, RecipeName};

const NOISES: [Noise; 3] = [Noise::Gaussian, Noise::Laplace, Noise::L2Laplace];
const ADJACENCIES: [Adjacency; 2] = [Adjacency::ReplaceOne, Adjacency::ZeroOut];

fn recipes(kind: impl Fn(MechanismKind) -> bool) -> impl Iterator<Item = RecipeName> {
    let entries = CATALOGUE.iter().filter(move |entry| kind(entry.mechanism));
    entries.map(|entry| entry.recipe)
}

fn check(cell: &dyn Play, least: f64) {
    let share = share_of_price(cell);
    assert!(share >= least, "{}: only {share} of the price", cell.name());
}

/// Every kind of mechanism is audited somewhere; a new one does not compile until it is.
#[test]
fn no_mechanism_is_forgotten() {
    for entry in CATALOGUE {
        let _here = match entry.mechanism {
            MechanismKind::Sum(_) => "sums.rs",
            MechanismKind::Selection => "selections.rs",
            MechanismKind::SparseTree
            | MechanismKind::Feedback
            | MechanismKind::Batch
            | MechanismKind::Values(_)
            | MechanismKind::Iterate => "others.rs",
        };
    }
}

#[test]
fn one_value_moves_no_sum_by_more_than_was_paid() {
    let values: Vec<_> = recipes(|kind| matches!(kind, MechanismKind::Values(_))).collect();
    assert_eq!(values, [RecipeName::PftalBandit]);
    for sum in all_sums() {
        for noise in NOISES {
            for adjacency in ADJACENCIES {
                let fits = RecipeName::PftalBandit.accepts(sum, noise).is_ok();
                for persons in [1, 3] {
                    // Directions are no corners of an L1 ball: Laplace noise pays for √2 as much.
                    // Those of a person's plays differ, where the price is for one direction.
                    let least = match (noise, persons) {
                        (_, 3) => 0.3,
                        (Noise::Laplace, _) => 0.7,
                        _ => 0.99,
                    };
                    match OnValues::plan(sum, noise, adjacency, persons) {
                        Ok(cell) => check(&cell, least * share_seen(sum, RELEASES)),
                        Err(error) => assert!(!fits || persons > 1, "{sum} {noise}: {error}"),
                    }
                }
            }
        }
    }
}

/// Where a loss has no curvature, or the horizon is not known, iterates move by less than is paid
/// for; and a person's records are paid for as if each were the one that moves most.
fn tightness(recipe: RecipeName, persons: u64) -> f64 {
    match (recipe, persons) {
        (RecipeName::PocpAnytime, 3) => 0.42,
        (RecipeName::PocpAnytime | RecipeName::PigdConvex, _) => 0.78,
        (_, 1) => 0.99,
        _ => 0.79,
    }
}

#[test]
fn one_record_moves_no_iterates_by_more_than_was_paid() {
    for recipe in recipes(|kind| kind == MechanismKind::Iterate) {
        for noise in NOISES {
            for adjacency in ADJACENCIES {
                for persons in [1, 3] {
                    let cell = OnIterates::plan(recipe, noise, adjacency, persons, 2);
                    match cell {
                        Ok(cell) => check(&cell, tightness(recipe, persons)),
                        Err(error) => assert_eq!(noise, Noise::Laplace, "{recipe}: {error}"),
                    }
                }
            }
        }
    }
}

/// So many dimensions that the journal is replaced by a checkpoint every few records.
#[test]
fn iterates_after_checkpoints_of_their_own() {
    let cell = OnIterates::plan(
        RecipeName::Pigd,
        Noise::Gaussian,
        Adjacency::ReplaceOne,
        3,
        25_000,
    );
    check(&cell.unwrap(), 0.88);
}

#[test]
fn one_answer_moves_no_mean_by_more_than_was_paid() {
    for recipe in recipes(|kind| kind == MechanismKind::Feedback) {
        for noise in [FeedbackNoise::Gaussian, FeedbackNoise::Laplace] {
            for adjacency in ADJACENCIES {
                for batch in [1, 4] {
                    for (known, persons) in [(true, 1), (false, 1), (true, 3), (false, 3)] {
                        let size = (batch, persons);
                        match OnAnswers::plan(recipe, noise, adjacency, size, known) {
                            Ok(cell) => check(&cell, 0.99),
                            Err(error) => {
                                let held = recipe == RecipeName::Exp2Batched;
                                assert!(batch == 4 && !held, "{recipe}: {error}");
                            }
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn one_record_moves_no_phase_by_more_than_was_paid() {
    for adjacency in ADJACENCIES {
        for place in 1..=RELEASES {
            for persons in [1, 2, 3] {
                let least = match (OnSolver::phase(place), persons) {
                    // The first record of a phase moves every iterate of it, the others fewer: of
                    // four iterates the first three records move 4, 3 and 2.
                    (Some((size, 1)), 1) if place == size => 0.99,
                    (Some((8, 1)), 2) if place == 8 => 0.87,
                    (Some((8, 1)), 3) if place == 8 => 0.74,
                    _ => 0.0,
                };
                // Gradient steps, and implicit ones on a loss with a corner.
                for link in [Link::Huber(0.5), Link::Absolute] {
                    for noise in [Noise::Gaussian, Noise::L2Laplace] {
                        let cell = OnSolver::plan(link, noise, adjacency, (place, persons));
                        // Pure noise has long tails: a start may be so near a target that the loss
                        // is flatter.
                        let tails = if noise.is_pure() && persons > 1 {
                            0.2
                        } else {
                            0.0
                        };
                        check(&cell.unwrap(), least - tails);
                    }
                }
            }
        }
    }
}

#[test]
fn one_record_moves_no_sparse_model_by_more_than_was_paid() {
    for adjacency in ADJACENCIES {
        check(&OnSparse::plan(adjacency, 4).unwrap(), 0.99);
    }
    // So many features that the journal is replaced by a checkpoint on the way.
    check(
        &OnSparse::plan(Adjacency::ReplaceOne, 25_000).unwrap(),
        0.99,
    );
}
