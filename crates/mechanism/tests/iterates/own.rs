//! A caller's own learner: its bound is trusted, but neither its staying the same nor its being a
//! number is.

use crate::machine::{Machine, bits, plan};
use crate::streams::record;
use hushstream_account::Adjacency;
use hushstream_mechanism::losses::Record;
use hushstream_mechanism::perturb::*;
use hushstream_mechanism::sums::Noise;
use hushstream_mechanism::{DiaryError, Raw};
use std::sync::Arc;

/// The mean of targets in [−1, 1], with any stated sensitivity.
struct Mean<S>(S);

impl<S: Fn(u64) -> f64 + Send + Sync> StableLearner for Mean<S> {
    fn describe(&self) -> String {
        "mean".into()
    }
    fn assumption(&self) -> String {
        "targets are clipped to [-1, 1]".into()
    }
    fn dimension(&self) -> usize {
        1
    }
    fn reach(&self) -> f64 {
        1.0
    }
    fn start(&self) -> Vec<f64> {
        vec![0.0]
    }
    fn step(&self, _t: u64, state: &mut [f64], record: Option<&Record>) -> Fate {
        state[0] += record.map_or(0.0, |record| record.target.clamp(-1.0, 1.0));
        Fate::Kept
    }
    fn iterate(&self, t: u64, state: &[f64], out: &mut [f64]) {
        out[0] = state[0] / t as f64;
    }
    fn sensitivity(&self, t: u64, _: Adjacency) -> f64 {
        (self.0)(t)
    }
}

fn mean(sensitivity: impl Fn(u64) -> f64 + Send + Sync + 'static) -> Arc<dyn StableLearner> {
    Arc::new(Mean(sensitivity))
}

fn right(t: u64) -> f64 {
    2.0 / t as f64 + 1e-12
}

fn target(y: f64) -> Raw<Record> {
    Raw::seal(record(&(Vec::new(), y)))
}

/// The same iterate and the same noise with another unit would reveal the noise: a changed bound is
/// refused, or what was released comes again bit for bit.
#[test]
fn a_bound_that_changes_never_rescales_noise() {
    let everywhere = |t: u64| right(t) * 1.001;
    // Not seen at any of the points that a journal keeps of the bound.
    let here_and_there = |t: u64| right(t) * if t == 5 { 1.001 } else { 1.0 };
    for noise in [Noise::Gaussian, Noise::L2Laplace] {
        for timing in [Timing::Unknown, Timing::Last(6), Timing::Every(6)] {
            let machine = Machine::default();
            let ours = plan(mean(right), timing, noise);
            let (mut run, mut ledger) = machine.open(&ours);
            let mut released = Vec::new();
            for t in 1..=6 {
                let pending = run.add(None, target(1.0 / f64::from(t))).unwrap();
                run.sync(&mut ledger).unwrap();
                released.extend(pending.map(|pending| run.publish(pending).ok().unwrap()));
            }
            drop((run, ledger));
            let larger = plan(mean(everywhere), timing, noise);
            let refused = machine.copy().resume(&larger).err().expect("refused");
            assert!(
                matches!(refused, PerturbError::Diary(DiaryError::NotAccepted)),
                "{refused}"
            );
            let other = plan(mean(here_and_there), timing, noise);
            match machine.copy().resume(&other) {
                Err(refused) => assert!(matches!(timing, Timing::Every(_)), "{refused}"),
                Ok((back, _)) => {
                    assert_eq!(back.recent.len(), released.len());
                    for (again, first) in back.recent.into_iter().zip(&released) {
                        let again = back.run.publish(again).ok().unwrap();
                        assert_eq!(bits(again.value()), bits(first.value()), "{timing:?}");
                    }
                }
            }
            assert!(machine.resume(&ours).is_ok());
        }
    }
}

/// The same when the release is known from a checkpoint alone.
#[test]
fn a_checkpoint_repeats_its_release_whatever_the_bound() {
    let factor = |t: u64| if t.is_power_of_two() { 1.0 } else { 1.001 };
    let changed = plan(
        mean(move |t| right(t) * factor(t)),
        Timing::Unknown,
        Noise::Gaussian,
    );
    let machine = Machine::default();
    let (mut run, mut ledger) = machine.open(&plan(mean(right), Timing::Unknown, Noise::Gaussian));
    let mut pending = run.add(None, target(0.5)).unwrap().unwrap();
    loop {
        if run.steps() % 1024 == 3 {
            run.sync(&mut ledger).unwrap();
        }
        if run.checkpoint_is_due() {
            break;
        }
        pending = run.add(None, target(0.5)).unwrap().unwrap();
    }
    let released = run.publish(pending).ok().unwrap();
    // The next record makes the checkpoint, and is lost.
    let _ = run.add(None, target(0.5)).unwrap();
    drop((run, ledger));
    machine.journal.crash(false);
    let (back, _) = machine.resume(&changed).unwrap();
    assert!(back.recent.is_empty());
    let before = back.run.publish(back.before.unwrap()).ok().unwrap();
    assert_eq!(bits(before.value()), bits(released.value()));
}

/// A bound that is no bound gets no noise to match it, and so no release: 0 alone means that none
/// is needed.
#[test]
fn a_negative_bound_is_refused_before_anything_is_released() {
    let falls = |t: u64| 1.0 / t as f64 - 0.001;
    let wanted = |learner, timing| {
        let mut request = plan(mean(right), Timing::Every(9), Noise::Gaussian)
            .request()
            .clone();
        (request.learner, request.timing) = (learner, timing);
        request.plan()
    };
    for timing in [Timing::Every(2000), Timing::Last(2000), Timing::Unknown] {
        let refused = wanted(mean(falls), timing).err().expect("refused");
        assert!(matches!(refused, PerturbError::Sensitivity(s) if s < 0.0));
    }
    for bad in [-1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        // Planning for an unknown horizon cannot look at every step: the step itself does.
        let learner = mean(move |t| if t == 3 { bad } else { right(t) });
        for timing in [Timing::Every(9), Timing::Last(3)] {
            let refused = wanted(learner.clone(), timing).err().expect("refused");
            assert!(matches!(refused, PerturbError::Sensitivity(_)), "{refused}");
        }
        let machine = Machine::default();
        let (mut run, mut ledger) = machine.open(&wanted(learner, Timing::Unknown).unwrap());
        for _ in 1..=2 {
            assert!(run.add(None, target(0.5)).unwrap().is_some());
        }
        for _ in 0..2 {
            let refused = run.add(None, target(0.5)).expect_err("refused");
            assert!(matches!(refused, PerturbError::Sensitivity(_)), "{refused}");
        }
        assert_eq!(run.steps(), 2);
        run.sync(&mut ledger).unwrap();
    }
}

/// The guarantee states whose proof it rests on.
#[test]
fn the_guarantee_names_a_proof_that_is_not_ours() {
    let says = |learner| {
        let plan = plan(learner, Timing::Every(9), Noise::Gaussian);
        let words = plan.guarantee(false).unwrap().to_string();
        assert!(words.contains("the time a step takes"), "{words}");
        words.contains("proof of its sensitivity")
    };
    for ours in crate::machine::learners() {
        assert!(!says(ours.clone()));
        assert!(!says(Arc::new(Average::of(ours))));
    }
    assert!(says(mean(right)));
    assert!(says(Arc::new(Average::of(mean(right)))));
}
