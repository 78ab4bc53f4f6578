//! Nothing is published before its sync, and then everything is, once, in order.

use crate::disk::{Leftover, Machine};
use crate::game::*;
use hushstream_mechanism::sums::SumError;
use hushstream_mechanism::{
    CameBack, DiaryError, GuaranteeKind, Ledger, MemoryStorage, Transcript, Windowed,
};
use hushstream_recipes::{Recipe, RecipeName, RunError, SumRun};
use hushstream_sets::Ball;

const ROUNDS: u64 = 30;

fn pay(recipe: &Recipe) -> Ledger {
    let plan = recipe.plan();
    let (budget, noise) = (plan.request().budget, plan.request().noise);
    Ledger::simulated(budget, filter(noise), plan.scope()).unwrap()
}

/// Steps that a sync publishes.
fn steps<G: GuaranteeKind>(run: &mut SumRun<G>, ledger: &mut Ledger) -> Vec<u64> {
    let published = publish(run, ledger);
    published.into_iter().map(|(step, _)| step).collect()
}

#[test]
fn a_sync_publishes_what_came_since_the_last_in_order() {
    fn check<G: GuaranteeKind>(recipe: &Recipe) {
        let case = name(recipe);
        let (mut run, mut ledger) = Machine::default().open::<G>(recipe).unwrap();
        assert!(
            steps(&mut run, &mut ledger).is_empty(),
            "{case}: nothing yet"
        );
        let mut questions = Vec::new();
        let mut published = Vec::new();
        for t in 1..=ROUNDS {
            play(&mut run, t);
            questions.push(bits(run.question().for_the_operator()));
            if [1, 2, 10, 11, 29, 30].contains(&t) {
                published.extend(publish(&mut run, &mut ledger));
                assert!(steps(&mut run, &mut ledger).is_empty(), "{case}: each once");
            }
        }
        let expected: Vec<(u64, Vec<u64>)> = (1..ROUNDS).zip(questions).collect();
        assert_eq!(
            published, expected,
            "{case}: step t is the question to record t + 1"
        );
        assert_eq!(run.rounds(), ROUNDS);
    }
    for request in every_recipe(3, ROUNDS) {
        let recipe = request.plan().unwrap();
        if recipe.plan().request().kind.is_windowed() {
            check::<Windowed>(&recipe);
        } else {
            check::<Transcript>(&recipe);
        }
    }
}

/// With batches an iterate serves a whole batch, and a release comes with its last record.
#[test]
fn batches_publish_when_they_are_full() {
    let mut start = request(
        RecipeName::Pftal,
        distance(3),
        Ball::new(3, 1.0).unwrap(),
        ROUNDS,
    );
    start.batch = 4;
    let recipe = start.plan().unwrap();
    let (mut run, mut ledger) = Machine::default().open::<Transcript>(&recipe).unwrap();
    let mut before = bits(run.question().for_the_operator());
    for t in 1..=ROUNDS {
        play(&mut run, t);
        // 30 records are 8 items, the last of 2; the last item is never asked.
        let full = t.is_multiple_of(4);
        let expected = if full { vec![t / 4] } else { Vec::new() };
        assert_eq!(steps(&mut run, &mut ledger), expected, "t={t}");
        assert_eq!(
            bits(run.question().for_the_operator()) != before,
            full,
            "t={t}"
        );
        before = bits(run.question().for_the_operator());
    }
    assert_eq!(recipe.plan().most_releases(), 7);
}

/// What no sync has covered is nobody's: after a crash that loses it, other records may come in its
/// place, and what was published stays.
#[test]
fn what_was_not_synced_may_be_played_otherwise() {
    let start = request(
        RecipeName::Pftal,
        distance(3),
        Ball::new(3, 1.0).unwrap(),
        ROUNDS,
    );
    let recipe = start.plan().unwrap();
    let machine = Machine::default();
    let (mut run, mut ledger) = machine.open::<Transcript>(&recipe).unwrap();
    (1..=10).for_each(|t| play(&mut run, t));
    let published = publish(&mut run, &mut ledger);
    (11..=15).for_each(|t| play(&mut run, t));
    drop((run, ledger));
    machine.crash(Leftover::Nothing);
    let (mut run, mut ledger, _) = machine.resume::<Transcript>(&recipe).unwrap();
    assert_eq!(run.rounds(), 10);
    (21..=25).for_each(|t| play(&mut run, t));
    let again = publish(&mut run, &mut ledger);
    assert_eq!(again[..10], published);
    assert_eq!(again.len(), 15);
}

/// A journal restored from an old copy does not know what was published since. Its items are lost
/// to the sum; nothing is published twice with another value, and the run goes on with new records
/// under new addresses.
#[test]
fn an_old_copy_contradicts_nothing() {
    let start = request(
        RecipeName::Pftal,
        distance(3),
        Ball::new(3, 1.0).unwrap(),
        ROUNDS,
    );
    let recipe = start.plan().unwrap();
    let machine = Machine::default();
    let (mut run, mut ledger) = machine.open::<Transcript>(&recipe).unwrap();
    (1..=6).for_each(|t| play(&mut run, t));
    let published = publish(&mut run, &mut ledger);
    let question = bits(run.question().for_the_operator());
    let old = machine.copy().journal;
    (7..=8).for_each(|t| play(&mut run, t));
    let instance = run.sync(&mut ledger).unwrap()[0].receipt().instance;
    drop((run, ledger));

    let restored = Machine {
        ledger: machine.ledger,
        journal: old,
    };
    let (mut run, mut ledger, outcome) = restored.resume::<Transcript>(&recipe).unwrap();
    assert_eq!(outcome, CameBack::NewInstance { lost: 2 });
    assert_eq!(
        (run.rounds(), bits(run.question().for_the_operator())),
        (8, question)
    );
    assert_eq!(publish(&mut run, &mut ledger), published);
    (9..=ROUNDS).for_each(|t| play(&mut run, t));
    let rest = run.sync(&mut ledger).unwrap();
    let steps: Vec<u64> = rest.iter().map(|release| release.receipt().step).collect();
    assert_eq!(steps, (9..ROUNDS).collect::<Vec<_>>());
    assert!(
        rest.iter()
            .all(|release| release.receipt().instance != instance)
    );
    assert!(run.learn(None, record(3, 1)).is_err());
}

#[test]
fn receipts_say_where_a_release_comes_from() {
    let recipe = request(
        RecipeName::Pftal,
        distance(3),
        Ball::new(3, 1.0).unwrap(),
        ROUNDS,
    );
    let (mut run, mut ledger) = Machine::default()
        .open::<Transcript>(&recipe.plan().unwrap())
        .unwrap();
    (1..=5).for_each(|t| play(&mut run, t));
    let released = run.sync(&mut ledger).unwrap();
    assert!(released.iter().all(|release| release.receipt().simulated));
    let first = released[0].receipt();
    let same = |release: &hushstream_mechanism::Released<_, _>| {
        let receipt = release.receipt();
        (receipt.mechanism, receipt.instance) == (first.mechanism, first.instance)
    };
    assert!(released.iter().all(same));
    assert!(run.guarantee().unwrap().to_string().contains("NO privacy"));
}

/// The two guarantees are two types. A refused opening costs nothing: the charge can be used again.
#[test]
fn a_recipe_opens_only_under_its_own_guarantee() {
    fn refused<G: GuaranteeKind>(recipe: &Recipe, ledger: &mut Ledger) -> (u64, RunError) {
        let plan = recipe.plan();
        let grant = ledger.debit(plan.charge().unwrap(), plan.scope()).unwrap();
        let number = grant.number();
        let storage = MemoryStorage::default();
        let result = SumRun::<G>::open(recipe.clone(), grant, &key(), ledger, storage);
        (number, result.err().unwrap())
    }
    for request in every_recipe(3, ROUNDS) {
        let recipe = request.plan().unwrap();
        let mut ledger = pay(&recipe);
        let windowed = recipe.plan().request().kind.is_windowed();
        let (number, error) = if windowed {
            refused::<Transcript>(&recipe, &mut ledger)
        } else {
            refused::<Windowed>(&recipe, &mut ledger)
        };
        assert!(
            matches!(error, RunError::Sum(SumError::WrongGuarantee(_))),
            "{}: {error}",
            name(&recipe)
        );
        let kind = if windowed {
            "a window plan"
        } else {
            "a transcript plan"
        };
        assert!(error.to_string().contains(kind), "{error}");
        assert!(ledger.grant_again(number).is_ok());
    }
}

#[test]
fn another_ledger_publishes_nothing() {
    let recipe = request(
        RecipeName::Pftal,
        distance(3),
        Ball::new(3, 1.0).unwrap(),
        ROUNDS,
    );
    let recipe = recipe.plan().unwrap();
    let (mut run, mut ledger) = Machine::default().open::<Transcript>(&recipe).unwrap();
    play(&mut run, 1);
    let error = run.sync(&mut pay(&recipe)).err().unwrap();
    assert!(
        matches!(
            error,
            RunError::Sum(SumError::Diary(DiaryError::WrongLedger))
        ),
        "{error}"
    );
    assert_eq!(steps(&mut run, &mut ledger), [1], "nothing is lost by it");
}
