//! Round loops: what is published and when, stopping and going on, files.

use crate::common::*;
use hushstream_account::Budget;
use hushstream_mechanism::losses::Bounds;
use hushstream_mechanism::perturb::{Leader, QuadraticLeader};
use hushstream_mechanism::{CameBack, FileStorage, Ledger, MemoryStorage, Participation};
use hushstream_recipes::{
    Averaged, Insider, IterateRecipe, IterateRequest, IterateRun, RecipeName, RunError,
};
use std::sync::Arc;

const ROUNDS: u64 = 14;

/// Every recipe, pure ones and persons too, and two learners with proofs of their own.
fn recipes() -> Vec<IterateRecipe> {
    let mut all = Vec::new();
    for name in RECIPES {
        all.push(request(name, ROUNDS).plan().unwrap());
        let mut pure = request(name, ROUNDS);
        pure.budget = Budget::pure(1.0).unwrap();
        all.push(pure.plan().unwrap());
    }
    let mut persons = request(RecipeName::Pigd, ROUNDS);
    persons.participation = Participation::PerPerson {
        most: 3,
        separation: 2,
    };
    all.push(persons.plan().unwrap());
    let mut leader = request(RecipeName::Pocp, ROUNDS);
    leader.insider = Insider::Learner(Arc::new(
        Leader::new(distance(), leader.set.clone(), 1.0).unwrap(),
    ));
    all.push(leader.plan().unwrap());
    let mut quadratic = request(RecipeName::Pocp, ROUNDS);
    let bounds = Bounds::new(1.0, (-1.0, 1.0), 1.0).unwrap();
    quadratic.insider = Insider::Learner(Arc::new(QuadraticLeader::new(D, bounds, 1.0).unwrap()));
    all.push(quadratic.plan().unwrap());
    all
}

fn play(run: &mut IterateRun, t: u64) {
    let person =
        (run.recipe().request().participation != Participation::OncePerRecord).then_some(t % 4);
    run.learn(person, record(t)).unwrap();
}

fn publish(run: &mut IterateRun, ledger: &mut Ledger) -> Vec<Vec<u64>> {
    let released = run.sync(ledger).unwrap();
    released
        .iter()
        .map(|release| bits(release.value()))
        .collect()
}

/// In files, one life after the other, each playing one record: the same releases as without a
/// stop.
#[test]
fn stopping_after_every_record_changes_nothing() {
    for recipe in recipes() {
        let case = recipe.description();
        let (mut whole, mut memory) =
            open(&recipe, MemoryStorage::default(), MemoryStorage::default());
        let directory = tempfile::tempdir().unwrap();
        let file = |name: &str| FileStorage::open(directory.path().join(name)).unwrap();
        drop(open(&recipe, file("ledger"), file("journal")));
        let mut published = Vec::new();
        for t in 1..=ROUNDS {
            let mut ledger = Ledger::open(file("ledger")).unwrap();
            let (mut run, outcome) =
                IterateRun::resume(recipe.clone(), file("journal"), &key(), &mut ledger, None)
                    .unwrap();
            assert_eq!(outcome, CameBack::Continued, "{case}");
            assert_eq!(
                bits(run.question().for_the_operator()),
                bits(whole.question().for_the_operator()),
                "{case} {t}"
            );
            play(&mut run, t);
            play(&mut whole, t);
            published.extend(publish(&mut whole, &mut memory));
            // Everything since the journal began comes again, then what is new.
            assert_eq!(publish(&mut run, &mut ledger), published, "{case} {t}");
            assert_eq!(
                bits(run.question().for_the_operator()),
                bits(whole.question().for_the_operator()),
                "{case} {t}"
            );
            let counts = |run: &IterateRun| {
                let (nulls, clipped) = run.counts();
                (*nulls.for_the_operator(), *clipped.for_the_operator())
            };
            assert_eq!(counts(&run), counts(&whole), "{case} {t}");
        }
        let expected = recipe.plan().releases().min(ROUNDS);
        assert_eq!(published.len() as u64, expected, "{case}");
        let set = &recipe.request().set;
        assert!(
            set.contains(whole.question().for_the_operator(), 1e-9),
            "{case}"
        );
    }
}

#[test]
fn nothing_leaves_before_a_sync_and_the_end_is_the_end() {
    let recipe = request(RecipeName::Pigd, 5).plan().unwrap();
    let (mut run, mut ledger) = open(&recipe, MemoryStorage::default(), MemoryStorage::default());
    for t in 1..=5 {
        play(&mut run, t);
    }
    assert_eq!(run.sync(&mut ledger).unwrap().len(), 4);
    assert!(run.sync(&mut ledger).unwrap().is_empty());
    assert!(matches!(
        run.learn(None, record(6)),
        Err(RunError::Finished {
            planned: 5,
            refused: 6
        })
    ));
    assert!(run.loss(&record(1)).is_some());
}

/// The public start is the same with and without data; after that the noise is as large as planned.
#[test]
fn releases_are_iterates_with_their_noise() {
    let mut request = request(RecipeName::Pigd, 3000);
    request.budget = Budget::approx(1.0, 1e-6).unwrap();
    let recipe = request.plan().unwrap();
    let (mut run, mut ledger) = open(&recipe, MemoryStorage::default(), MemoryStorage::default());
    for t in 1..=3000 {
        run.learn(None, record(t)).unwrap();
    }
    let released = run.sync(&mut ledger).unwrap();
    // Inside the unit ball the last iterates hardly move; what is left is noise, of which
    // projection takes a part where it is large.
    let last = &released[2000..];
    let mean: Vec<f64> = (0..D)
        .map(|i| last.iter().map(|r| r.value()[i]).sum::<f64>() / last.len() as f64)
        .collect();
    let mut square = 0.0;
    for (t, release) in (2001_u64..).zip(last) {
        let sigma = recipe.plan().sigma(t);
        let here = release.value().iter().zip(&mean);
        square += here.map(|(x, m)| ((x - m) / sigma).powi(2)).sum::<f64>();
    }
    let ratio = square / (last.len() * D) as f64;
    assert!((0.5..1.2).contains(&ratio), "{ratio}");
}

#[test]
fn guarantees_say_what_holds() {
    let text = |name| {
        let recipe = request(name, 1000).plan().unwrap();
        let (run, _) = open(&recipe, MemoryStorage::default(), MemoryStorage::default());
        run.guarantee().unwrap().to_string()
    };
    let pigd = text(RecipeName::Pigd);
    assert!(pigd.contains("e^1.00 plus 1e-6"), "{pigd}");
    assert!(
        pigd.contains("JKT12 Algorithm 2") && pigd.contains("J11"),
        "{pigd}"
    );
    assert!(pigd.contains("features are clipped to length 1"), "{pigd}");
    assert!(pigd.contains("n = 999 releases"), "{pigd}");
    assert!(text(RecipeName::Pol).contains("n = 1 releases"));
    assert!(text(RecipeName::PocpAnytime).contains("J14"));
}

/// So long that the journal is written anew: the mean is still that of the later half of all
/// releases.
#[test]
fn the_mean_of_releases_outlives_its_journal() {
    let rounds = 24_000;
    let recipe = request(RecipeName::Pgiga, rounds).plan().unwrap();
    let mut ends = Vec::new();
    for stops in [false, true] {
        let directory = tempfile::tempdir().unwrap();
        let file = || FileStorage::open(directory.path().join("journal")).unwrap();
        let (mut run, mut ledger) = open(&recipe, MemoryStorage::default(), file());
        let (mut total, mut count, mut anew) = (vec![0.0; D], 0.0, 0);
        for t in 1..=rounds {
            anew += u32::from(run.checkpoint_is_due());
            run.learn(None, record(t)).unwrap();
            if t % 500 != 0 {
                continue;
            }
            for release in run.sync(&mut ledger).unwrap() {
                if !stops && release.receipt().step > (rounds - 1) / 2 {
                    let parts = total.iter_mut().zip(release.value());
                    parts.for_each(|(total, part)| *total += part);
                    count += 1.0;
                }
            }
            if stops && t % 4_000 == 0 {
                drop(run);
                let back = IterateRun::resume(recipe.clone(), file(), &key(), &mut ledger, None);
                run = back.unwrap().0;
                // The last round asks nothing, so nothing of it is kept.
                if t == rounds {
                    break;
                }
            }
        }
        assert!(anew > 0);
        let (of, mean) = run.mean().unwrap().for_the_operator().clone();
        assert_eq!(of, rounds / 2);
        if !stops {
            assert!((count - of as f64).abs() < 0.5);
            for (mean, total) in mean.iter().zip(&total) {
                assert!((mean - total / count).abs() < 1e-12);
            }
        }
        ends.push(bits(&mean));
    }
    assert_eq!(ends[0], ends[1]);
    // Where one model is released, or nobody knows how many, there is none.
    for recipe in [RecipeName::Pol, RecipeName::PocpAnytime] {
        let recipe = request(recipe, 10).plan().unwrap();
        let (mut run, _) = open(&recipe, MemoryStorage::default(), MemoryStorage::default());
        (1..=9).for_each(|t| run.learn(None, record(t)).unwrap());
        assert!(run.mean().is_none());
    }
}

/// The average of the later half has less noise, and that of very few records is the one that moves
/// less.
#[test]
fn later_iterates_need_less_noise() {
    let sigma = |average, rounds| {
        let planned = IterateRequest {
            average,
            ..request(RecipeName::Pol, rounds)
        };
        let planned = planned.plan().unwrap();
        planned.plan().sigma(rounds - 1)
    };
    let (all, later) = (
        sigma(Averaged::All, 10_000),
        sigma(Averaged::LaterHalf, 10_000),
    );
    let harmonic = |count: u32| (1..=count).map(|j| 1.0 / f64::from(j)).sum::<f64>();
    let expected = (harmonic(10_000) - 1.0) / (2.0 * (harmonic(10_000) - harmonic(5_000)));
    assert!(
        (all / later / expected - 1.0).abs() < 1e-3,
        "{}",
        all / later
    );
    for few in 2..=4 {
        assert!((sigma(Averaged::All, few) - sigma(Averaged::LaterHalf, few)).abs() < 1e-12);
    }
}
