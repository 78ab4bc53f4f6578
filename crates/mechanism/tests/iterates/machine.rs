//! A machine that can stop anywhere: its disk, its ledger, and the learners that run on it.

use crate::streams::{Dice, record, row};
use hushstream_account::{Adjacency, Budget, FilterKind};
use hushstream_mechanism::losses::{Bounds, Distance, LinearModel, Link, Loss};
use hushstream_mechanism::perturb::*;
use hushstream_mechanism::sums::Noise;
use hushstream_mechanism::{Back, Ledger, Participation, Raw, Storage, Transcript};
use hushstream_noise::Key;
use hushstream_sets::Ball;
use std::io;
use std::sync::{Arc, Mutex};

pub(crate) const D: usize = 3;

/// A disk in memory that can be copied and can lose unsynced bytes.
#[derive(Clone, Default)]
pub(crate) struct Disk(Arc<Mutex<(Vec<u8>, usize)>>);

impl Disk {
    pub(crate) fn length(&self) -> usize {
        self.0.lock().unwrap().0.len()
    }

    pub(crate) fn copy(&self) -> Self {
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
    ) -> Result<(Back<Perturbed<Transcript>>, Ledger), PerturbError> {
        let mut ledger = Ledger::open(self.ledger.clone()).unwrap();
        let journal = self.journal.clone();
        let back =
            Iterates::resume_with(plan.clone(), journal, &key(), &mut ledger, None, |_| true)?;
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

/// Adds record t and publishes the releases that a sync covers: the bits of each.
pub(crate) fn play(run: &mut Iterates, ledger: &mut Ledger, t: u64, sync: bool) -> Vec<Vec<u64>> {
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
