//! What a ledger must not believe: a compaction that failed, and storage that forgets.

use super::lives::MARKS_KEPT;
use super::*;
use crate::boundary::{Raw, Transcript};
use crate::lattice::Contribution;
use crate::persons::Participation;
use crate::sums::{Geometry, Noise, PrivateSum, SumError, SumKind, SumPlan, SumRequest};
use hushstream_account::Adjacency;
use hushstream_noise::Key;
use std::io;
use std::sync::{Arc, Mutex};

/// When a replacement of the whole content fails: not at all, before anything is written, or after all was written.
#[derive(Clone, Copy, Default)]
enum Failing {
    #[default]
    Never,
    Before,
    After,
}

/// A disk that several hands can look at.
#[derive(Clone, Default)]
struct Disk {
    bytes: Arc<Mutex<Vec<u8>>>,
    failing: Arc<Mutex<Failing>>,
    forgets: bool,
}

impl Storage for Disk {
    fn load(&mut self) -> io::Result<Vec<u8>> {
        Ok(self.bytes.lock().unwrap().clone())
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.bytes.lock().unwrap().extend_from_slice(bytes);
        Ok(())
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.bytes.lock().unwrap().truncate(length as usize);
        Ok(())
    }

    fn replace(&mut self, bytes: &[u8]) -> io::Result<()> {
        let failing = *self.failing.lock().unwrap();
        if !matches!(failing, Failing::Before) {
            *self.bytes.lock().unwrap() = bytes.to_vec();
        }
        match failing {
            Failing::Never => Ok(()),
            Failing::Before | Failing::After => Err(io::Error::other("the disk died")),
        }
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn is_durable(&self) -> bool {
        !self.forgets
    }
}

fn plan() -> SumPlan {
    SumRequest {
        kind: SumKind::Tree,
        noise: Noise::Gaussian,
        releases: 100,
        dimension: 1,
        bound: 1.0,
        geometry: Geometry::Ball,
        least_sigma: 0.0,
        batch: 1,
        adjacency: Adjacency::ReplaceOne,
        participation: Participation::OncePerRecord,
        budget: Budget::approx(0.5, 1e-7).unwrap(),
    }
    .plan()
    .unwrap()
}

fn create(disk: &Disk) -> Ledger {
    let budget = Budget::approx(4.0, 1e-6).unwrap();
    Ledger::create(disk.clone(), budget, FilterKind::Gaussian, plan().scope()).unwrap()
}

#[test]
fn a_compaction_keeps_charges_and_marks() {
    let disk = Disk::default();
    let mut ledger = create(&disk);
    let charge = plan().charge().unwrap();
    for _ in 0..3 {
        ledger.debit(charge, plan().scope()).unwrap();
    }
    ledger.begin(1, [1; 16], [2; 16], false).unwrap();
    ledger.begin(3, [3; 16], [4; 16], false).unwrap();
    ledger.mark(3, [4; 16], 7).unwrap();
    ledger.marks_written = MARKS_KEPT;
    ledger.mark(1, [2; 16], 9).unwrap();
    assert!(ledger.marks_written < 10);
    let again = Ledger::open(disk).unwrap();
    assert_eq!(again.charges().count(), 3);
    assert_eq!(
        (again.begun(1).unwrap().mark, again.begun(3).unwrap().mark),
        (9, 7)
    );
    assert!((again.spent_of().0 - ledger.spent_of().0).abs() < 1e-15);
    assert!(!again.is_simulated());
}

/// Whether the disk failed before or after it wrote is not known: nothing is taken as durable, and nothing more is written.
#[test]
fn a_failed_compaction_makes_nothing_durable() {
    for failing in [Failing::Before, Failing::After] {
        let disk = Disk::default();
        let mut ledger = create(&disk);
        let charge = plan().charge().unwrap();
        ledger.debit(charge, plan().scope()).unwrap();
        ledger.begin(1, [1; 16], [2; 16], false).unwrap();
        ledger.mark(1, [2; 16], 5).unwrap();
        let spent = ledger.spent_of();
        ledger.marks_written = MARKS_KEPT;
        *disk.failing.lock().unwrap() = failing;
        assert!(matches!(
            ledger.mark(1, [2; 16], 6),
            Err(LedgerError::Log(LogError::Storage(_)))
        ));
        assert_eq!(ledger.begun(1).unwrap().mark, 5);
        assert!(ledger.marks_written >= MARKS_KEPT);
        // Poisoned: also for what would need no writing, and for charges.
        *disk.failing.lock().unwrap() = Failing::Never;
        for step in [5, 6, 7] {
            assert!(matches!(
                ledger.mark(1, [2; 16], step),
                Err(LedgerError::Log(LogError::Poisoned))
            ));
        }
        assert!(matches!(
            ledger.debit(charge, plan().scope()),
            Err(LedgerError::Log(LogError::Poisoned))
        ));
        assert!(ledger.begin(1, [1; 16], [9; 16], false).is_err());
        assert_eq!((ledger.spent_of(), ledger.charges().count()), (spent, 1));
        assert_eq!(ledger.begun(1).unwrap().life, [2; 16]);
        // The disk knows: the old, or the new; never less.
        let again = Ledger::open(disk).unwrap();
        let mark = again.begun(1).unwrap().mark;
        assert_eq!(
            mark,
            if matches!(failing, Failing::After) {
                6
            } else {
                5
            }
        );
        assert_eq!(again.charges().count(), 1);
    }
}

/// A release whose mark went down with the compaction stays inside.
#[test]
fn nothing_is_published_on_a_failed_compaction() {
    let disk = Disk::default();
    let mut ledger = create(&disk);
    let grant = ledger
        .debit(plan().charge().unwrap(), plan().scope())
        .unwrap();
    let journal = Disk::default();
    let key = Key::insecure_from_seed(3);
    let mut sum =
        PrivateSum::<Transcript>::open(plan(), grant, &key, &mut ledger, journal).unwrap();
    let pending = sum.add(Raw::seal(Contribution::Dense(vec![0.5]))).unwrap();
    ledger.marks_written = MARKS_KEPT;
    *disk.failing.lock().unwrap() = Failing::After;
    assert!(matches!(sum.sync(&mut ledger), Err(SumError::Ledger(_))));
    let pending = sum.publish(pending.unwrap());
    assert!(pending.is_err(), "it was published");
    *disk.failing.lock().unwrap() = Failing::Never;
    assert!(sum.sync(&mut ledger).is_err());
    assert!(sum.publish(pending.err().unwrap()).is_err());
}

/// What was durable once is not on storage that forgets: charges made there would be lost. And who was marked stays marked.
#[test]
fn simulated_noise_and_a_raised_budget_are_remembered_through_a_compaction() {
    let disk = Disk::default();
    let mut ledger = create(&disk);
    let charge = plan().charge().unwrap();
    for _ in 0..2 {
        ledger.debit(charge, plan().scope()).unwrap();
    }
    assert!(!ledger.is_widened() && !ledger.is_unprotected(1));
    ledger.begin(1, [1; 16], [2; 16], true).unwrap();
    ledger.begin(2, [3; 16], [4; 16], false).unwrap();
    // A life that goes on with a key from elsewhere does not make good what was published.
    ledger.begin(1, [1; 16], [5; 16], false).unwrap();
    ledger.widen(Budget::approx(5.0, 1e-6).unwrap()).unwrap();
    for _ in 0..2 {
        let again = Ledger::open(disk.clone()).unwrap();
        assert!(again.is_unprotected(1) && !again.is_unprotected(2) && again.is_widened());
        assert!(!again.is_simulated());
        ledger.marks_written = MARKS_KEPT;
        let step = ledger.begun(2).unwrap().mark + 1;
        ledger.mark(2, [4; 16], step).unwrap();
        assert!(ledger.marks_written < 10);
    }
}

#[test]
fn a_seeded_key_marks_its_charge() {
    let disk = Disk::default();
    let mut ledger = create(&disk);
    for (number, key) in [
        (1, Key::insecure_from_seed(1)),
        (2, Key::from_os().unwrap()),
    ] {
        let charge = plan().charge().unwrap();
        let grant = ledger.debit(charge, plan().scope()).unwrap();
        PrivateSum::<Transcript>::open(plan(), grant, &key, &mut ledger, Disk::default()).unwrap();
        assert_eq!(ledger.is_unprotected(number), number == 1);
    }
}

#[test]
fn a_ledger_opened_on_storage_that_forgets_is_marked_simulated() {
    let disk = Disk::default();
    let mut ledger = create(&disk);
    let charge = plan().charge().unwrap();
    ledger.debit(charge, plan().scope()).unwrap();
    assert!(!ledger.is_simulated() && !Ledger::open(disk.clone()).unwrap().is_simulated());
    let forgetful = Disk {
        forgets: true,
        ..disk
    };
    let mut copy = Ledger::open(forgetful).unwrap();
    assert!(copy.is_simulated() && copy.grant_again(1).unwrap().simulated);
    assert!(copy.debit(charge, plan().scope()).unwrap().simulated);

    let forgetful = Disk {
        forgets: true,
        ..Disk::default()
    };
    let mut ledger = create(&forgetful);
    assert!(ledger.is_simulated());
    ledger.debit(charge, plan().scope()).unwrap();
    let durable = Disk {
        forgets: false,
        ..forgetful
    };
    let mut ledger = Ledger::open(durable.clone()).unwrap();
    assert!(ledger.is_simulated());
    // Also once it is written anew.
    ledger.begin(1, [1; 16], [2; 16], false).unwrap();
    ledger.marks_written = MARKS_KEPT;
    ledger.mark(1, [2; 16], 1).unwrap();
    assert!(Ledger::open(durable).unwrap().is_simulated());
}
