//! Stopping changes nothing: resumed at every step and at random ones, after crashes that leave any part of what was not synced, and from old copies.

use crate::streams::{Dice, record, row};
use hushstream_account::{Adjacency, Budget, FilterKind};
use hushstream_mechanism::losses::{Bounds, Distance, LinearModel, Link, Loss};
use hushstream_mechanism::perturb::*;
use hushstream_mechanism::sums::Noise;
use hushstream_mechanism::{CameBack, DiaryError, Ledger, Participation, Raw, Storage, Transcript};
use hushstream_noise::Key;
use hushstream_sets::Ball;
use std::io;
use std::sync::{Arc, Mutex};

const D: usize = 3;

/// A disk in memory that can be copied as it stands and can lose what was not synced.
#[derive(Clone, Default)]
pub(crate) struct Disk(Arc<Mutex<(Vec<u8>, usize)>>);

impl Disk {
    fn copy(&self) -> Self {
        Self(Arc::new(Mutex::new(self.0.lock().unwrap().clone())))
    }

    pub(crate) fn crash(&self, half: bool) {
        let mut disk = self.0.lock().unwrap();
        let kept = disk.1 + if half { (disk.0.len() - disk.1) / 2 } else { 0 };
        disk.0.truncate(kept);
        disk.1 = kept;
    }
}

impl Storage for Disk {
    fn load(&mut self) -> io::Result<Vec<u8>> {
        Ok(self.0.lock().unwrap().0.clone())
    }
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.lock().unwrap().0.extend_from_slice(bytes);
        Ok(())
    }
    fn truncate(&mut self, length: u64) -> io::Result<()> {
        let mut disk = self.0.lock().unwrap();
        disk.0.truncate(length as usize);
        disk.1 = disk.1.min(length as usize);
        Ok(())
    }
    fn replace(&mut self, bytes: &[u8]) -> io::Result<()> {
        *self.0.lock().unwrap() = (bytes.to_vec(), bytes.len());
        Ok(())
    }
    fn sync(&mut self) -> io::Result<()> {
        let mut disk = self.0.lock().unwrap();
        disk.1 = disk.0.len();
        Ok(())
    }
}

#[derive(Default)]
pub(crate) struct Machine {
    pub(crate) ledger: Disk,
    pub(crate) journal: Disk,
}

pub(crate) type Iterates = PerturbedIterates<Transcript>;

impl Machine {
    pub(crate) fn copy(&self) -> Self {
        Self {
            ledger: self.ledger.copy(),
            journal: self.journal.copy(),
        }
    }

    pub(crate) fn open(&self, plan: &PerturbPlan) -> (Iterates, Ledger) {
        let request = plan.request();
        let kind = if request.noise == Noise::Gaussian {
            FilterKind::Gaussian
        } else {
            FilterKind::Pure
        };
        let mut ledger =
            Ledger::create(self.ledger.clone(), request.budget, kind, plan.scope()).unwrap();
        let grant = ledger.debit(plan.charge().unwrap(), plan.scope()).unwrap();
        let run = Iterates::open(
            plan.clone(),
            grant,
            &key(),
            &mut ledger,
            self.journal.clone(),
        );
        (run.unwrap(), ledger)
    }

    pub(crate) fn resume(
        &self,
        plan: &PerturbPlan,
    ) -> Result<(PerturbResumption<Transcript>, Ledger), PerturbError> {
        let mut ledger = Ledger::open(self.ledger.clone()).unwrap();
        let journal = self.journal.clone();
        let back = Iterates::resume(plan.clone(), journal, &key(), &mut ledger, None)?;
        Ok((back, ledger))
    }
}

fn key() -> Key {
    Key::insecure_from_seed(9)
}

pub(crate) fn plan(learner: Arc<dyn StableLearner>, timing: Timing, noise: Noise) -> PerturbPlan {
    PerturbRequest {
        learner,
        timing,
        weighting: Weighting::Lipschitz,
        noise,
        adjacency: Adjacency::ReplaceOne,
        participation: Participation::OncePerRecord,
        budget: if noise == Noise::Gaussian {
            Budget::approx(1.0, 1e-6).unwrap()
        } else {
            Budget::pure(1.0).unwrap()
        },
    }
    .plan()
    .unwrap()
}

pub(crate) fn learners() -> Vec<Arc<dyn StableLearner>> {
    let bounds = Bounds::new(1.0, (-1.0, 1.0), 1.0).unwrap();
    let set = Arc::new(Ball::new(D, 1.0).unwrap());
    let logistic = LinearModel::new(D, Link::Logistic, bounds).unwrap();
    let distance = Distance::new(D, 1.0, 1.0).unwrap();
    let constant = Curvature::constant(1.0).unwrap();
    let implicit =
        ImplicitDescent::new(logistic.explicit().unwrap(), set.clone(), constant).unwrap();
    let gradient = GradientDescent::new(
        distance.explicit().unwrap(),
        set.clone(),
        constant,
        StepSize::Corrected,
    );
    vec![
        Arc::new(implicit),
        Arc::new(gradient.unwrap()),
        Arc::new(Leader::new(distance, set, 1.0).unwrap()),
        Arc::new(QuadraticLeader::new(D, bounds, 0.5).unwrap()),
    ]
}

/// Plays record t and publishes what may leave: the bits of each release.
fn play(run: &mut Iterates, ledger: &mut Ledger, t: u64, sync: bool) -> Vec<Vec<u64>> {
    let mut dice = Dice(t);
    let row = row(&mut dice, D).unwrap_or((vec![f64::NAN; D], 0.0));
    let pending = run.add(None, Raw::seal(record(&row))).unwrap();
    if !sync {
        return Vec::new();
    }
    run.sync(ledger).unwrap();
    let released = pending.map(|pending| run.publish(pending).ok().unwrap());
    released
        .into_iter()
        .map(|value| bits(value.value()))
        .collect()
}

pub(crate) fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|value| value.to_bits()).collect()
}

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
        let mut run = back.iterates;
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
    // A wide state, so that the journal is written anew several times.
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
                (run, ledger) = (back.iterates, reopened);
                assert_eq!(run.steps(), t);
                stops += 1;
            }
        }
    }
    assert!(stops > 20, "{stops}");
    assert!(machine.journal.0.lock().unwrap().0.len() < 3 << 20);
}

/// A crash loses what was not synced, and none of that was published; what comes again has the same bits.
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
            let run = back.iterates;
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
    let mut run = back.iterates;
    assert_eq!(run.steps(), 15);
    // The same records again would meet other noise: nothing published before comes back.
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

/// One release at the end needs every record: it is not made from fewer, however often one tries.
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
            matches!(refused, PerturbError::RecordsLost { lost: 4 }),
            "{refused}"
        );
    }
    // The mistake has cost nothing: the right journal goes on.
    let (back, mut ledger) = machine.resume(&last).unwrap();
    assert_eq!(back.outcome, CameBack::Continued);
    let mut run = back.iterates;
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
    assert!(matches!(refused, PerturbError::PersonsLost), "{refused}");
    let (back, _) = machine.resume(&persons).unwrap();
    assert_eq!(back.iterates.steps(), 3);
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
