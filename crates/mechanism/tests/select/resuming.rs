//! Resuming: bit for bit after every item, a new instance after a lost journal, and refusals.

use crate::{Disk, open, request};
use hushstream_mechanism::select::{Horizon, Method, SelectError, SelectPlan, Selection};
use hushstream_mechanism::{CameBack, DiaryError, Raw};
use hushstream_noise::Key;

fn losses(t: u32) -> Vec<f64> {
    (0..5)
        .map(|i| f64::from((7 * t + 3 * i * t + i) % 11) / 10.0)
        .collect()
}

fn plans() -> Vec<SelectPlan> {
    let mut unknown = request(Method::Dartboard, 5, 1, 1);
    unknown.horizon = Horizon::Unknown;
    vec![
        request(Method::Dartboard, 5, 41, 1).plan().unwrap(),
        request(Method::BatchedDartboard, 5, 42, 2).plan().unwrap(),
        request(Method::BatchedHedge, 5, 42, 2).plan().unwrap(),
        request(Method::LimitedUpdates, 5, 41, 1).plan().unwrap(),
        unknown.plan().unwrap(),
    ]
}

#[test]
fn a_stop_anywhere_changes_nothing() {
    for plan in plans() {
        let key = Key::insecure_from_seed(3);
        let (mut ledger, mut whole) = open(&plan, &key, Disk::default());
        let first = whole.before_the_first().unwrap().into_value();
        let mut expected = vec![first];
        for t in 0..40 {
            if let Some(pending) = whole.add(None, Raw::seal(losses(t))).unwrap() {
                whole.sync(&mut ledger).unwrap();
                expected.push(whole.publish(pending).unwrap().into_value());
            }
        }
        let storage = Disk::default();
        let (mut ledger, selection) = open(&plan, &key, storage.clone());
        let mut selection = selection;
        let mut played = vec![selection.question()];
        for t in 0..40 {
            if selection.add(None, Raw::seal(losses(t))).unwrap().is_some() {
                selection.sync(&mut ledger).unwrap();
                played.push(selection.question());
                if t % 3 == 0 {
                    selection.checkpoint(b"note".to_vec()).unwrap();
                }
                drop(selection);
                let back =
                    Selection::resume(storage.clone(), &key, &mut ledger, None, |_| true).unwrap();
                assert_eq!(back.outcome, CameBack::Continued);
                selection = back.run;
            }
        }
        assert_eq!(played, expected, "{plan:?}");
        assert_eq!(
            whole.counts().0.for_the_operator(),
            selection.counts().0.for_the_operator()
        );
    }
}

#[test]
fn recent_plays_are_repeated_and_nothing_leaves_early() {
    let plan = &request(Method::Dartboard, 5, 41, 1).plan().unwrap();
    let key = Key::insecure_from_seed(4);
    let storage = Disk::default();
    let (mut ledger, mut selection) = open(plan, &key, storage.clone());
    let mut plays = Vec::new();
    for t in 0..10 {
        let pending = selection.add(None, Raw::seal(losses(t))).unwrap().unwrap();
        let pending = selection.publish(pending).unwrap_err(); // not yet durable
        plays.push(selection.question());
        drop(pending);
    }
    selection.sync(&mut ledger).unwrap();
    drop(selection);
    let back = Selection::resume(storage, &key, &mut ledger, Some(10), |_| true).unwrap();
    let again: Vec<u32> = back
        .recent
        .into_iter()
        .map(|pending| back.run.publish(pending).unwrap().into_value())
        .collect();
    assert_eq!(again, plays);
}

#[test]
fn an_old_journal_goes_on_under_a_new_name_and_an_empty_state() {
    let plan = &request(Method::Dartboard, 5, 41, 1).plan().unwrap();
    let key = Key::insecure_from_seed(5);
    let storage = Disk::default();
    let (mut ledger, mut selection) = open(plan, &key, storage.clone());
    let first = selection.before_the_first().unwrap().receipt();
    for t in 0..5 {
        selection.add(None, Raw::seal(losses(t))).unwrap();
    }
    selection.sync(&mut ledger).unwrap();
    let old = storage.copy();
    for t in 5..9 {
        selection.add(None, Raw::seal(losses(t))).unwrap();
    }
    selection.sync(&mut ledger).unwrap();
    drop(selection);
    let back = Selection::resume(old, &key, &mut ledger, None, |_| true).unwrap();
    assert_eq!(back.outcome, CameBack::NewInstance { lost: 4 });
    assert_eq!(back.run.steps(), 9);
    // The other journal is of an earlier life now.
    let refused = Selection::resume(storage, &key, &mut ledger, None, |_| true);
    assert!(matches!(
        refused.err(),
        Some(SelectError::Diary(DiaryError::Superseded))
    ));
    let mut selection = back.run;
    let pending = selection.add(None, Raw::seal(losses(9))).unwrap().unwrap();
    selection.sync(&mut ledger).unwrap();
    let receipt = selection.publish(pending).unwrap().receipt();
    assert_eq!(receipt.step, 10);
    assert_ne!(
        receipt.instance, first.instance,
        "addresses must not meet other contents"
    );
    for t in 10..40 {
        selection.add(None, Raw::seal(losses(t))).unwrap();
    }
    assert!(
        selection.add(None, Raw::seal(losses(0))).is_err(),
        "40 were planned"
    );
}

#[test]
fn other_keys_ledgers_and_runs_are_refused() {
    let plan = &request(Method::Dartboard, 5, 41, 1).plan().unwrap();
    let key = Key::insecure_from_seed(6);
    let storage = Disk::default();
    let (mut ledger, selection) = open(plan, &key, storage.clone());
    drop(selection);
    let other = Key::insecure_from_seed(7);
    assert!(Selection::resume(storage.clone(), &other, &mut ledger, None, |_| true).is_err());
    assert!(Selection::resume(storage.clone(), &key, &mut ledger, None, |_| false).is_err());
    assert!(Selection::resume(storage.clone(), &key, &mut ledger, Some(41), |_| true).is_err());
    let (mut stranger, _) = open(plan, &key, Disk::default());
    assert!(Selection::resume(storage.clone(), &key, &mut stranger, None, |_| true).is_err());
    assert!(Selection::resume(storage, &key, &mut ledger, None, |_| true).is_ok());
}

#[test]
fn malformed_losses_are_null_and_the_round_ticks() {
    let plan = &request(Method::Dartboard, 5, 41, 1).plan().unwrap();
    let (_, mut selection) = open(plan, &Key::insecure_from_seed(8), Disk::default());
    for bad in [vec![], vec![0.5; 4], vec![f64::NAN, 0.0, 0.0, 0.0, 0.0]] {
        assert!(selection.add(None, Raw::seal(bad)).unwrap().is_some());
    }
    selection
        .add(None, Raw::seal(vec![7.0, -3.0, 0.0, 0.0, 0.0]))
        .unwrap();
    let (nulls, clipped) = selection.counts();
    assert_eq!(
        (*nulls.for_the_operator(), *clipped.for_the_operator()),
        (3, 1)
    );
}
