//! A stop after every round, with the journal in a file: the same plays as without.

use crate::*;
use hushstream_mechanism::{CameBack, FileStorage, MemoryStorage};
use hushstream_noise::Key;
use hushstream_recipes::{BanditRun, ExpertsRun, LimitedUpdatesRun, ValuesRun};

const ROUNDS: u32 = 45;

fn losses(t: u32) -> Vec<f64> {
    (0..5)
        .map(|i| f64::from((7 * t + 3 * i * t + i) % 11) / 10.0)
        .collect()
}

#[test]
fn of_experts() {
    let recipes = [
        experts(RecipeName::Dartboard, Some(45), None),
        experts(RecipeName::Dartboard, None, None),
        experts(RecipeName::DartboardBatched, Some(45), None),
        experts(RecipeName::HedgeBatched, Some(45), Some(3)),
        experts(RecipeName::LimitedUpdates, None, None),
    ];
    let key = Key::insecure_from_seed(1);
    for recipe in recipes {
        let recipe = recipe.plan().unwrap();
        let (mut ledger, grant) = pay_experts(&recipe);
        let storage = MemoryStorage::default();
        let mut whole =
            ExpertsRun::open(recipe.clone(), grant, &key, &mut ledger, storage).unwrap();
        let mut expected = Vec::new();
        for t in 0..ROUNDS {
            expected.push(*whole.expert().for_the_operator());
            whole.learn_losses(None, Raw::seal(losses(t))).unwrap();
        }
        let directory = tempfile::tempdir().unwrap();
        let file = || FileStorage::open(directory.path().join("journal")).unwrap();
        let (mut ledger, grant) = pay_experts(&recipe);
        let mut run = ExpertsRun::open(recipe.clone(), grant, &key, &mut ledger, file()).unwrap();
        let batch = recipe.plan().batch();
        for t in 0..ROUNDS {
            assert_eq!(
                *run.expert().for_the_operator(),
                expected[t as usize],
                "{}",
                recipe.description()
            );
            run.learn_losses(None, Raw::seal(losses(t))).unwrap();
            let asked = u64::from(t + 1) < recipe.plan().most_items() * batch;
            if u64::from(t + 1) % batch == 0 && asked {
                let out = run.sync(&mut ledger).unwrap();
                // What a resumed run knows may leave again, never with another value.
                assert_eq!(out.last().unwrap().receipt().step, u64::from(t + 1) / batch);
                drop(run);
                let (back, outcome) =
                    ExpertsRun::resume(recipe.clone(), file(), &key, &mut ledger, None).unwrap();
                assert_eq!(outcome, CameBack::Continued);
                run = back;
                assert_eq!(run.rounds(), u64::from(t + 1));
            }
        }
        let other = experts(RecipeName::Dartboard, Some(46), None)
            .plan()
            .unwrap();
        drop(run);
        let refused = ExpertsRun::resume(other, file(), &key, &mut ledger, None);
        assert!(
            refused
                .err()
                .unwrap()
                .to_string()
                .contains("its recipe, privacy or settings differ")
        );
    }
}

#[test]
fn of_bandits() {
    let points = vec![vec![1.0, 0.0], vec![0.0, 1.0], vec![0.6, 0.6]];
    let requests = [
        bandit(RecipeName::Exp2, Actions::Arms(5), Some(45)),
        bandit(RecipeName::Exp2, Actions::Arms(5), None),
        BanditRequest {
            batch: Some(3),
            ..bandit(RecipeName::Exp2Batched, Actions::Arms(5), Some(45))
        },
        bandit(RecipeName::Exp2, Actions::Points(points), Some(45)),
        bandit(RecipeName::Scrible, Actions::Set(ball()), Some(45)),
        bandit(RecipeName::Scrible, Actions::Set(ball()), None),
    ];
    let key = Key::insecure_from_seed(2);
    for request in requests {
        let recipe = request.plan().unwrap();
        let width = match &recipe.request().actions {
            Actions::Arms(_) => 5,
            _ => 2,
        };
        let losses = |t: u32| Raw::seal(losses(t)[..width].to_vec());
        let (mut ledger, grant) = pay_bandit(&recipe);
        let storage = MemoryStorage::default();
        let mut whole = BanditRun::open(recipe.clone(), grant, &key, &mut ledger, storage).unwrap();
        let mut expected = Vec::new();
        for t in 0..ROUNDS {
            expected.push((*whole.play().for_the_operator()).clone());
            whole.learn_losses(None, losses(t)).unwrap();
        }
        let turns = whole.sync(&mut ledger).unwrap();
        assert_eq!(turns.len() as u64, 45 / recipe.batch());
        for turn in &turns {
            let turn = turn.value();
            assert!(turn.answer.is_finite() && turn.play.propensity > 0.0);
        }
        let directory = tempfile::tempdir().unwrap();
        let file = || FileStorage::open(directory.path().join("journal")).unwrap();
        let (mut ledger, grant) = pay_bandit(&recipe);
        let mut run = BanditRun::open(recipe.clone(), grant, &key, &mut ledger, file()).unwrap();
        // Once after every round, in the middle of batches too: whole batches are not asked again,
        // and half ones are.
        let (mut t, mut last_stop) = (0, 0);
        while t < ROUNDS {
            assert_eq!(
                *run.play().for_the_operator(),
                &expected[t as usize],
                "{}",
                recipe.description()
            );
            run.learn_losses(None, losses(t)).unwrap();
            t += 1;
            if t > last_stop {
                last_stop = t;
                run.sync(&mut ledger).unwrap();
                drop(run);
                let (back, outcome) =
                    BanditRun::resume(recipe.clone(), file(), &key, &mut ledger, None).unwrap();
                assert_eq!(outcome, CameBack::Continued);
                run = back;
                let whole = u64::from(t) / recipe.batch() * recipe.batch();
                assert_eq!(run.rounds(), whole, "{}", recipe.description());
                t = whole as u32;
            }
        }
    }
}

#[test]
fn of_limited_updates_and_values() {
    let key = Key::insecure_from_seed(3);
    let record = |t: u32| point(&[f64::from(t % 5) / 5.0, f64::from(t % 3) / 3.0 - 0.3]);
    let run = |stops: bool| {
        let directory = tempfile::tempdir().unwrap();
        let (one, two) = (directory.path().join("one"), directory.path().join("two"));
        let file = |path: &std::path::Path| FileStorage::open(path).unwrap();
        let (recipe, sums) = (limited(), values(45));
        let (mut ledger, grant) = paid(
            budget(1.0),
            recipe.plan().filter(),
            recipe.plan().scope(),
            recipe.plan().charge().unwrap(),
        );
        let mut limited =
            LimitedUpdatesRun::open(recipe.clone(), grant, &key, &mut ledger, file(&one)).unwrap();
        let (mut other, grant) = paid(
            budget(1.0),
            FilterKind::Gaussian,
            sums.plan().scope(),
            sums.plan().charge().unwrap(),
        );
        let mut values =
            ValuesRun::open(sums.clone(), grant, &key, &mut other, file(&two)).unwrap();
        let mut plays = Vec::new();
        for t in 0..ROUNDS {
            plays.push((
                limited.question().for_the_operator().to_vec(),
                values.question().for_the_operator().to_vec(),
            ));
            limited.learn(None, record(t)).unwrap();
            values.learn(None, record(t)).unwrap();
            if stops {
                limited.sync(&mut ledger).unwrap();
                values.sync(&mut other).unwrap();
                drop((limited, values));
                let (back, _) =
                    LimitedUpdatesRun::resume(recipe.clone(), file(&one), &key, &mut ledger, None)
                        .unwrap();
                limited = back;
                if t + 1 < ROUNDS {
                    let (back, _) =
                        ValuesRun::resume(sums.clone(), file(&two), &key, &mut other, None)
                            .unwrap();
                    values = back;
                } else {
                    break;
                }
            }
        }
        plays
    };
    assert_eq!(run(false), run(true));
}

/// So long that the journal is written anew: what the forgotten answers told about the arms is not
/// forgotten.
#[test]
fn what_a_bandit_knows_of_its_arms_outlives_its_journal() {
    let key = Key::insecure_from_seed(4);
    let recipe = bandit(RecipeName::Exp2, Actions::Arms(5), Some(60_000));
    let recipe = recipe.plan().unwrap();
    let mut ends = Vec::new();
    for stops in [false, true] {
        let directory = tempfile::tempdir().unwrap();
        let file = || FileStorage::open(directory.path().join("journal")).unwrap();
        let (mut ledger, grant) = pay_bandit(&recipe);
        let mut run = BanditRun::open(recipe.clone(), grant, &key, &mut ledger, file()).unwrap();
        let mut anew = 0;
        for t in 0..60_000 {
            anew += u32::from(run.checkpoint_is_due());
            run.learn_losses(None, Raw::seal(losses(t))).unwrap();
            if t % 1000 == 999 {
                run.sync(&mut ledger).unwrap();
            }
            if stops && t % 10_000 == 9_999 {
                drop(run);
                let back = BanditRun::resume(recipe.clone(), file(), &key, &mut ledger, None);
                run = back.unwrap().0;
            }
        }
        assert!(anew > 0);
        let estimates = run.estimates().for_the_operator().clone();
        let plays: u64 = estimates.iter().map(|arm| arm.plays).sum();
        assert_eq!(plays, 60_000);
        ends.push((estimates, run.policy().unwrap().for_the_operator().to_vec()));
    }
    assert_eq!(ends[0], ends[1]);
}
