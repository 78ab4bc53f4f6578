//! Stopping changes nothing: resumed at every step and at random ones, after crashes that keep any
//! part of the unsynced bytes, and from old copies.

use crate::machine::*;
use crate::streams::{Dice, record, row};
use hushstream_mechanism::losses::{Bounds, LinearModel, Link, Loss};
use hushstream_mechanism::perturb::*;
use hushstream_mechanism::sums::Noise;
use hushstream_mechanism::{CameBack, DiaryError, Participation, Raw};
use hushstream_sets::Ball;
use std::sync::Arc;

fn stop_anywhere(plan: &PerturbPlan, rounds: u64) {
    let machine = Machine::default();
    let (mut run, mut ledger) = machine.open(plan);
    let mut stopped = vec![machine.copy()];
    let mut whole = Vec::new();
    for t in 1..=rounds {
        whole.push(play(&mut run, &mut ledger, t, true));
        stopped.push(machine.copy());
    }
    for (stop, machine) in (0..).zip(&stopped) {
        let (back, mut ledger) = machine.resume(plan).unwrap();
        assert_eq!(back.outcome, CameBack::Continued);
        let mut run = back.run;
        assert_eq!(run.steps(), stop);
        let recent = back.recent.into_iter();
        let again: Vec<Vec<u64>> = recent
            .map(|pending| bits(run.publish(pending).ok().unwrap().value()))
            .collect();
        let expected: Vec<Vec<u64>> = whole[..stop as usize].concat();
        assert_eq!(again, expected, "stop {stop}");
        for t in stop + 1..=rounds {
            let released = play(&mut run, &mut ledger, t, true);
            assert_eq!(released, whole[t as usize - 1], "stop {stop} t {t}");
        }
    }
}

#[test]
fn stopping_anywhere_changes_nothing() {
    for learner in learners() {
        for noise in [Noise::Gaussian, Noise::L2Laplace] {
            stop_anywhere(&plan(learner.clone(), Timing::Every(63), noise), 63);
        }
        stop_anywhere(&plan(learner.clone(), Timing::Unknown, Noise::Gaussian), 20);
        let average = Arc::new(Average::of(learner));
        stop_anywhere(&plan(average, Timing::Last(25), Noise::Gaussian), 25);
    }
}

/// Ten thousand records, stopped at random moments, with checkpoints in between.
#[test]
fn a_long_run_that_stops_now_and_then() {
    let rounds = 10_000;
    // A wide state, so that the journal is rewritten several times.
    let bounds = Bounds::new(1.0, (-1.0, 1.0), 1.0).unwrap();
    let model = LinearModel::new(40, Link::Logistic, bounds).unwrap();
    let set = Arc::new(Ball::new(40, 1.0).unwrap());
    let constant = Curvature::constant(1.0).unwrap();
    let learner = ImplicitDescent::new(model.explicit().unwrap(), set, constant).unwrap();
    let plan = plan(Arc::new(learner), Timing::Every(rounds), Noise::Gaussian);
    let feed = |run: &mut Iterates, t: u64| {
        let mut dice = Dice(t);
        let row = row(&mut dice, 40).unwrap_or((vec![f64::NAN; 40], 0.0));
        run.add(None, Raw::seal(record(&row))).unwrap().unwrap()
    };
    let (mut whole, mut whole_ledger) = Machine::default().open(&plan);
    let machine = Machine::default();
    let (mut run, mut ledger) = machine.open(&plan);
    let mut dice = Dice(77);
    let mut stops = 0;
    for t in 1..=rounds {
        let expected = feed(&mut whole, t);
        let ours = feed(&mut run, t);
        if t % 64 == 0 || t == rounds {
            run.sync(&mut ledger).unwrap();
            whole.sync(&mut whole_ledger).unwrap();
            let expected = whole.publish(expected).ok().unwrap();
            let ours = run.publish(ours).ok().unwrap();
            assert_eq!(bits(ours.value()), bits(expected.value()), "t {t}");
            if dice.below(4) == 0 {
                drop((run, ledger));
                let (back, reopened) = machine.resume(&plan).unwrap();
                (run, ledger) = (back.run, reopened);
                assert_eq!(run.steps(), t);
                stops += 1;
            }
        }
    }
    assert!(stops > 20, "{stops}");
    assert!(machine.journal.length() < 3 << 20);
}

/// A crash loses unsynced items, none of which was published; repeated releases have the same bits.
#[test]
fn a_crash_repeats_releases_and_never_redraws_them() {
    let plan = plan(learners()[0].clone(), Timing::Every(40), Noise::Gaussian);
    for half in [false, true] {
        for stop in 1..40_u64 {
            let machine = Machine::default();
            let (mut run, mut ledger) = machine.open(&plan);
            let mut published = Vec::new();
            for t in 1..=stop {
                published.extend(play(&mut run, &mut ledger, t, t % 5 != 4));
            }
            machine.ledger.crash(half);
            machine.journal.crash(half);
            let (back, _) = machine.resume(&plan).unwrap();
            assert_eq!(back.outcome, CameBack::Continued);
            let run = back.run;
            let mut recent = back.recent.into_iter();
            // Published ones are all there, in order, among those that come again.
            for release in &published {
                let found = recent.by_ref().any(|pending| {
                    let again = run.publish(pending).ok();
                    again.is_some_and(|again| bits(again.value()) == *release)
                });
                assert!(found, "stop {stop}");
            }
        }
    }
}

#[test]
fn an_old_copy_goes_on_as_a_new_instance() {
    let every = plan(learners()[0].clone(), Timing::Every(40), Noise::Gaussian);
    let machine = Machine::default();
    let (mut run, mut ledger) = machine.open(&every);
    for t in 1..=10 {
        play(&mut run, &mut ledger, t, true);
    }
    let old = machine.journal.copy();
    let mut seen = Vec::new();
    for t in 11..=15 {
        seen.extend(play(&mut run, &mut ledger, t, true));
    }
    drop((run, ledger));
    let restored = Machine {
        ledger: machine.ledger.clone(),
        journal: old,
    };
    let (back, mut ledger) = restored.resume(&every).unwrap();
    assert_eq!(back.outcome, CameBack::NewInstance { lost: 5 });
    let mut run = back.run;
    assert_eq!(run.steps(), 15);
    // The same records would get other noise: no earlier release is repeated.
    for t in 11..=15 {
        let fresh = play(&mut run, &mut ledger, t, true);
        assert!(!seen.contains(&fresh[0]));
    }
    for t in 21..=40 {
        play(&mut run, &mut ledger, t, true);
    }
    let full = run.add(None, Raw::seal(record(&(vec![0.0; D], 0.0))));
    assert!(matches!(
        full,
        Err(PerturbError::Diary(DiaryError::Exhausted {
            planned: 40,
            ..
        }))
    ));
    // The first journal has been superseded.
    drop((run, ledger));
    assert!(matches!(
        machine.resume(&every).err().unwrap(),
        PerturbError::Diary(DiaryError::Superseded)
    ));
}

/// One release at the end needs every record: it is never made from fewer, no matter how often one
/// tries.
#[test]
fn an_old_copy_of_a_single_release_is_refused_for_ever() {
    let last = plan(
        Arc::new(Average::of(learners()[0].clone())),
        Timing::Last(20),
        Noise::Gaussian,
    );
    let machine = Machine::default();
    let (mut run, mut ledger) = machine.open(&last);
    for t in 1..=5 {
        play(&mut run, &mut ledger, t, true);
    }
    let old = machine.journal.copy();
    for t in 6..=9 {
        play(&mut run, &mut ledger, t, true);
    }
    drop((run, ledger));
    let restored = Machine {
        ledger: machine.ledger.clone(),
        journal: old,
    };
    for _ in 0..3 {
        let refused = restored.resume(&last).err().unwrap();
        assert!(
            matches!(
                refused,
                PerturbError::Diary(DiaryError::Lost { lost: 4, .. })
            ),
            "{refused}"
        );
    }
    // The mistake has cost nothing: the right journal goes on.
    let (back, mut ledger) = machine.resume(&last).unwrap();
    assert_eq!(back.outcome, CameBack::Continued);
    let mut run = back.run;
    assert_eq!(run.steps(), 9);
    let released: Vec<_> = (10..=20)
        .flat_map(|t| play(&mut run, &mut ledger, t, true))
        .collect();
    assert_eq!(released.len(), 1);
}

/// Nor may contributions per person be forgotten.
#[test]
fn an_old_copy_of_who_has_contributed_is_refused() {
    let mut request = plan(learners()[0].clone(), Timing::Every(20), Noise::Gaussian)
        .request()
        .clone();
    request.participation = Participation::PerPerson {
        most: 2,
        separation: 1,
    };
    let persons = request.plan().unwrap();
    let machine = Machine::default();
    let (mut run, mut ledger) = machine.open(&persons);
    let old = machine.journal.copy();
    for person in 0..3 {
        let row = (vec![0.1; D], 1.0);
        let _ = run.add(Some(person), Raw::seal(record(&row))).unwrap();
    }
    run.sync(&mut ledger).unwrap();
    drop((run, ledger));
    let restored = Machine {
        ledger: machine.ledger.clone(),
        journal: old,
    };
    let refused = restored.resume(&persons).err().unwrap();
    assert!(
        matches!(refused, PerturbError::Diary(DiaryError::Lost { .. })),
        "{refused}"
    );
    let (back, _) = machine.resume(&persons).unwrap();
    assert_eq!(back.run.steps(), 3);
}

/// Nor after the journal is rewritten.
#[test]
fn persons_are_remembered_over_checkpoints() {
    // So wide that the journal is long after a dozen items.
    const WIDE: usize = 6_000;
    let bounds = Bounds::new(1.0, (-1.0, 1.0), 1.0).unwrap();
    let model = LinearModel::new(WIDE, Link::Logistic, bounds).unwrap();
    let set = Arc::new(Ball::new(WIDE, 1.0).unwrap());
    let constant = Curvature::constant(1.0).unwrap();
    let learner = ImplicitDescent::new(model.explicit().unwrap(), set, constant).unwrap();
    let mut request = plan(Arc::new(learner), Timing::Every(40), Noise::Gaussian)
        .request()
        .clone();
    request.participation = Participation::PerPerson {
        most: 2,
        separation: 1,
    };
    let plan = request.plan().unwrap();
    let machine = Machine::default();
    let (mut run, mut ledger) = machine.open(&plan);
    let (mut longest, mut anew) = (0, 0);
    for t in 1..=30_u64 {
        let row = (vec![0.001; WIDE], 1.0);
        let _ = run.add(Some(7), Raw::seal(record(&row))).unwrap();
        let nulls = *run.counts().0.for_the_operator();
        assert_eq!(nulls, t.saturating_sub(2), "t {t}");
        run.sync(&mut ledger).unwrap();
        anew += u32::from(machine.journal.length() < longest);
        longest = machine.journal.length();
        if t % 2 == 0 {
            drop((run, ledger));
            let (back, reopened) = machine.resume(&plan).unwrap();
            (run, ledger) = (back.run, reopened);
        }
    }
    assert!(anew > 0, "the journal was never written anew");
}

#[test]
fn journals_of_other_plans_are_refused() {
    let ours = plan(learners()[0].clone(), Timing::Every(40), Noise::Gaussian);
    let machine = Machine::default();
    let (mut run, mut ledger) = machine.open(&ours);
    play(&mut run, &mut ledger, 1, true);
    drop((run, ledger));
    for other in [
        plan(learners()[0].clone(), Timing::Every(41), Noise::Gaussian),
        plan(learners()[1].clone(), Timing::Every(40), Noise::Gaussian),
        plan(learners()[0].clone(), Timing::Unknown, Noise::Gaussian),
        plan(learners()[0].clone(), Timing::Every(40), Noise::L2Laplace),
    ] {
        let refused = machine.copy().resume(&other).err().unwrap();
        assert!(
            matches!(refused, PerturbError::Diary(DiaryError::NotAccepted)),
            "{refused}"
        );
    }
    assert!(machine.resume(&ours).is_ok());
}
