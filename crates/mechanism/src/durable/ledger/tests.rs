//! Failures that a ledger must detect: a failed compaction, and storage that forgets.

use super::lives::MARKS_KEPT;
use super::*;
use crate::boundary::{Raw, Transcript};
use crate::durable::DiaryError;
use crate::lattice::Contribution;
use crate::persons::Participation;
use crate::sums::{Geometry, Noise, PrivateSum, SumError, SumKind, SumPlan, SumRequest};
use hushstream_account::{Adjacency, Charge, Epsilon};
use hushstream_noise::Key;
use std::io;
use std::sync::{Arc, Mutex};

/// When a replacement of the whole content fails: never, before anything is written, or after
/// everything was written.
#[derive(Clone, Copy, Default)]
enum Failing {
    #[default]
    Never,
    Before,
    After,
}

/// A disk shared by several owners.
#[derive(Clone, Default)]
struct Disk {
    bytes: Arc<Mutex<Vec<u8>>>,
    witness: Arc<Mutex<Option<Vec<u8>>>>,
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

    fn load_witness(&mut self) -> io::Result<Option<Vec<u8>>> {
        Ok(self.witness.lock().unwrap().clone())
    }

    fn replace_witness(&mut self, bytes: &[u8]) -> io::Result<()> {
        *self.witness.lock().unwrap() = Some(bytes.to_vec());
        Ok(())
    }

    fn is_durable(&self) -> bool {
        !self.forgets
    }
}

impl Disk {
    fn content(&self) -> Vec<u8> {
        self.bytes.lock().unwrap().clone()
    }

    /// Another disk with this content and this disk's witness.
    fn with(&self, bytes: &[u8]) -> Self {
        Self {
            bytes: Arc::new(Mutex::new(bytes.to_vec())),
            witness: Arc::new(Mutex::new(self.witness.lock().unwrap().clone())),
            ..Self::default()
        }
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
    assert!((again.filter().used() - ledger.filter().used()).abs() < 1e-15);
    assert!(!again.is_simulated());
}

/// A program that begins a new life with every command does not make the ledger long: only the last
/// life of a run is kept, and an earlier one stays unable to publish.
#[test]
fn lives_are_compacted() {
    let disk = Disk::default();
    let mut ledger = create(&disk);
    let charge = plan().charge().unwrap();
    ledger.debit(charge, plan().scope()).unwrap();
    ledger.begin(1, [1; 16], [2; 16], false).unwrap();
    ledger.mark(1, [2; 16], 5).unwrap();
    let reopened = Ledger::open(disk.clone()).unwrap();
    assert_eq!(reopened.marks_written, ledger.marks_written);
    ledger.marks_written = MARKS_KEPT - 1;
    ledger.begin(1, [1; 16], [3; 16], false).unwrap();
    assert_eq!(ledger.marks_written, 2);
    let mut again = Ledger::open(disk).unwrap();
    assert_eq!(again.marks_written, 2);
    let begun = again.begun(1).unwrap();
    assert_eq!((begun.life, begun.mark), ([3; 16], 5));
    assert!(matches!(
        again.mark(1, [2; 16], 6),
        Err(LedgerError::TakenOver(1))
    ));
    again.mark(1, [3; 16], 6).unwrap();
}

/// It is unknown whether the disk failed before or after the write: nothing counts as durable, and
/// nothing more is written.
#[test]
fn a_failed_compaction_makes_nothing_durable() {
    for failing in [Failing::Before, Failing::After] {
        let disk = Disk::default();
        let mut ledger = create(&disk);
        let charge = plan().charge().unwrap();
        ledger.debit(charge, plan().scope()).unwrap();
        ledger.begin(1, [1; 16], [2; 16], false).unwrap();
        ledger.mark(1, [2; 16], 5).unwrap();
        let spent = ledger.filter().used();
        ledger.marks_written = MARKS_KEPT;
        *disk.failing.lock().unwrap() = failing;
        assert!(matches!(
            ledger.mark(1, [2; 16], 6),
            Err(LedgerError::Log(LogError::Storage(_)))
        ));
        assert_eq!(ledger.begun(1).unwrap().mark, 5);
        assert!(ledger.marks_written >= MARKS_KEPT);
        // Poisoned: also for calls that write nothing, and for charges.
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
        assert_eq!(ledger.filter().used().to_bits(), spent.to_bits());
        assert_eq!(ledger.charges().count(), 1);
        assert_eq!(ledger.begun(1).unwrap().life, [2; 16]);
        // The disk holds the old content or the new, never less.
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

/// A release whose mark was lost with the compaction cannot be published.
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
    assert!(matches!(
        sum.sync(&mut ledger),
        Err(SumError::Diary(DiaryError::Ledger(_)))
    ));
    let pending = sum.publish(pending.unwrap());
    assert!(pending.is_err(), "it was published");
    *disk.failing.lock().unwrap() = Failing::Never;
    assert!(sum.sync(&mut ledger).is_err());
    assert!(sum.publish(pending.err().unwrap()).is_err());
}

/// A compaction keeps the marks of simulated mechanisms and of a raised budget.
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
    // A life that continues with a key from elsewhere does not repair what was published.
    ledger.begin(1, [1; 16], [5; 16], false).unwrap();
    ledger.widen(Budget::approx(5.0, 1e-6).unwrap()).unwrap();
    for _ in 0..2 {
        let again = Ledger::open(disk.clone()).unwrap();
        assert!(again.is_unprotected(1) && !again.is_unprotected(2));
        assert!(again.is_widened() && again.is_raised());
        assert!(!again.is_simulated());
        ledger.marks_written = MARKS_KEPT;
        let step = ledger.begun(2).unwrap().mark + 1;
        ledger.mark(2, [4; 16], step).unwrap();
        assert!(ledger.marks_written < 10);
    }
}

/// A pure budget that is raised stays pure; one that gets a δ adds up both from then on.
#[test]
fn a_raised_budget_has_the_filter_of_its_kind() {
    let (disk, scope) = (Disk::default(), plan().scope());
    let pure = Budget::pure(1.0).unwrap();
    let mut ledger = Ledger::create(disk.clone(), pure, FilterKind::Pure, scope).unwrap();
    let charge = Charge::Pure(Epsilon::new(0.75).unwrap());
    ledger.debit(charge, scope).unwrap();
    for (budget, kind) in [
        (Budget::pure(1.5), FilterKind::Pure),
        (Budget::approx(1.5, 1e-6), FilterKind::Approximate),
    ] {
        ledger.widen(budget.unwrap()).unwrap();
        assert_eq!(ledger.filter.kind(), kind);
        assert_eq!(Ledger::open(disk.clone()).unwrap().filter.kind(), kind);
    }
    ledger.debit(charge, scope).unwrap();
    assert!(ledger.debit(charge, scope).is_err(), "2.25 of 1.5");
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

/// A ledger that was durable is simulated on storage that forgets: charges made there would be
/// lost.
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
    // Also after a rewrite.
    ledger.begin(1, [1; 16], [2; 16], false).unwrap();
    ledger.marks_written = MARKS_KEPT;
    ledger.mark(1, [2; 16], 1).unwrap();
    assert!(Ledger::open(durable).unwrap().is_simulated());
}

fn refused(disk: Disk) -> LedgerError {
    Ledger::open(disk).err().expect("it was opened")
}

/// A crash tears unsynced records; the witness distinguishes them from synced ones.
#[test]
fn a_rotten_end_and_an_old_copy_are_told_from_a_crash() {
    let disk = Disk::default();
    let mut ledger = create(&disk);
    let charge = plan().charge().unwrap();
    ledger.debit(charge, plan().scope()).unwrap();
    let one = disk.content();
    ledger.debit(charge, plan().scope()).unwrap();
    let two = disk.content();
    // Any byte of the last record, or a shorter file: both charges were there.
    for place in one.len()..two.len() {
        let mut rotten = two.clone();
        rotten[place] ^= 4;
        let other = disk.with(&rotten);
        let error = refused(other.clone());
        assert!(
            matches!(error, LedgerError::Behind { .. }),
            "{place}: {error}"
        );
        assert_eq!(other.content(), rotten, "what is refused stays as it is");
        assert!(matches!(
            refused(disk.with(&two[..place])),
            LedgerError::Behind { .. }
        ));
    }
    let told = refused(disk.with(&one)).to_string();
    assert!(
        told.contains("old copy") && told.contains("removing the witness"),
        "{told}"
    );
    // An old copy that continued with another charge.
    let branch = Disk::default().with(&one);
    let cheap = hushstream_account::Price::from(charge.charge);
    Ledger::open(branch.clone())
        .unwrap()
        .debit(cheap, plan().scope())
        .unwrap();
    assert!(matches!(
        refused(disk.with(&branch.content())),
        LedgerError::Branched
    ));
    // A torn record that was never synced, and a witness older than the last one.
    assert_eq!(
        Ledger::open(disk.with(&[&two[..], &[7; 5]].concat()))
            .unwrap()
            .charges()
            .count(),
        2
    );
    let lagging = Disk::default().with(&one);
    drop(Ledger::open(lagging.clone()).unwrap());
    let ahead = lagging.with(&two);
    let ledger = Ledger::open(ahead.clone()).unwrap();
    assert!(!ledger.was_unwitnessed() && ledger.charges().count() == 2);
    // The witness was updated.
    assert!(matches!(
        refused(ahead.with(&one)),
        LedgerError::Behind { .. }
    ));
}

/// A witness costs a sync: marks renew it now and then, and at the end.
#[test]
fn marks_renew_the_witness_now_and_then() {
    let disk = Disk::default();
    let mut ledger = create(&disk);
    ledger
        .debit(plan().charge().unwrap(), plan().scope())
        .unwrap();
    ledger.begin(1, [1; 16], [2; 16], false).unwrap();
    let witness = || disk.witness.lock().unwrap().clone();
    let mut renewals = Vec::new();
    for step in 1..=130 {
        let before = witness();
        ledger.mark(1, [2; 16], step).unwrap();
        if witness() != before {
            renewals.push(step);
        }
    }
    assert_eq!(renewals, [64, 128]);
    let before = witness();
    drop(ledger);
    assert_ne!(witness(), before);
}

#[test]
fn a_missing_witness_is_noted_and_made_and_one_without_its_ledger_refuses() {
    let disk = Disk::default();
    let mut ledger = create(&disk);
    assert!(!ledger.was_unwitnessed());
    ledger
        .debit(plan().charge().unwrap(), plan().scope())
        .unwrap();
    let alone = Disk::default().with(&disk.content());
    assert!(Ledger::open(alone.clone()).unwrap().was_unwitnessed());
    assert!(!Ledger::open(alone.clone()).unwrap().was_unwitnessed());
    // Another ledger's witness, a damaged one, and one whose ledger is gone.
    let other = Disk::default();
    create(&other);
    assert!(matches!(
        refused(other.with(&disk.content())),
        LedgerError::OtherWitness
    ));
    *alone.witness.lock().unwrap() = Some(b"hushstream witness 1".to_vec());
    assert!(matches!(refused(alone), LedgerError::WitnessDamaged));
    let gone = disk.with(&[]);
    assert!(matches!(refused(gone.clone()), LedgerError::Gone));
    let budget = Budget::approx(4.0, 1e-6).unwrap();
    let new = Ledger::create(gone, budget, FilterKind::Gaussian, plan().scope());
    assert!(matches!(new.err(), Some(LedgerError::Gone)));
}

/// Compaction makes the log shorter; the witness is not misled by it, also when a crash left it
/// behind.
#[test]
fn a_log_that_was_written_anew_agrees_with_its_witness() {
    let disk = Disk::default();
    let mut ledger = create(&disk);
    ledger
        .debit(plan().charge().unwrap(), plan().scope())
        .unwrap();
    ledger.begin(1, [1; 16], [2; 16], false).unwrap();
    for step in 1..=200 {
        ledger.mark(1, [2; 16], step).unwrap();
    }
    let (before, long) = (disk.witness.lock().unwrap().clone(), disk.content());
    ledger.marks_written = MARKS_KEPT;
    ledger.mark(1, [2; 16], 201).unwrap();
    drop(ledger);
    assert!(disk.content().len() < long.len());
    assert_eq!(
        Ledger::open(disk.with(&disk.content()))
            .unwrap()
            .begun(1)
            .unwrap()
            .mark,
        201
    );
    let lagging = disk.with(&disk.content());
    *lagging.witness.lock().unwrap() = before;
    assert!(Ledger::open(lagging).is_ok());
    assert!(matches!(
        refused(disk.with(&long)),
        LedgerError::Behind { .. }
    ));
}

#[test]
fn charges_are_merged_once_and_their_runs_go_on_where_they_began() {
    let (into, from) = (Disk::default(), Disk::default());
    let (mut ledger, mut other) = (create(&into), create(&from));
    let charge = plan().charge().unwrap();
    let scope = plan().scope();
    ledger.debit(charge, scope).unwrap();
    for _ in 0..2 {
        other.debit(charge, scope).unwrap();
    }
    other.begin(1, [1; 16], [2; 16], true).unwrap();
    let used = ledger.filter().used();
    // A crash after the first of its two records: the charges are in both, and merging again
    // continues.
    let half = from.content();
    ledger.merge(&mut other).unwrap();
    drop(other);
    let torn = Disk::default().with(&half);
    let mut again = Ledger::open(torn.clone()).unwrap();
    again.debit(charge, scope).unwrap();
    ledger.merge(&mut again).unwrap();
    assert_eq!(ledger.charges().count(), 4);
    assert!((ledger.filter().used() / (4.0 * used) - 1.0).abs() < 1e-9);
    ledger.merge(&mut Ledger::open(torn).unwrap()).unwrap();
    assert_eq!(ledger.charges().count(), 4);
    assert!(ledger.is_merged(2) && !ledger.is_merged(1) && ledger.is_unprotected(2));
    assert!(matches!(
        ledger.grant_again(3),
        Err(LedgerError::Elsewhere(3))
    ));
    assert_eq!(ledger.next_number(), 5);
    // The closed ledger takes no charge, and its runs continue.
    let mut closed = Ledger::open(from).unwrap();
    assert_eq!(closed.closed(), Some(Some(ledger.name_in_words())));
    let told = closed.debit(charge, scope).unwrap_err().to_string();
    assert!(told.contains(&ledger.name_in_words()), "{told}");
    assert!(closed.widen(Budget::approx(9.0, 1e-6).unwrap()).is_err());
    closed.mark(1, [2; 16], 3).unwrap();
    closed.begin(2, [1; 16], [5; 16], false).unwrap();
    let mut third = create(&Disk::default());
    assert!(matches!(
        third.merge(&mut closed),
        Err(LedgerError::Closed { .. })
    ));
    // All of it through a compaction and back.
    for ledger in [&mut ledger, &mut closed] {
        let number = if ledger.closed().is_some() { 2 } else { 1 };
        ledger.begin(number, [1; 16], [2; 16], false).unwrap();
        ledger.marks_written = MARKS_KEPT;
        ledger.mark(number, [2; 16], 9).unwrap();
    }
    assert_eq!(closed.closed(), Some(Some(ledger.name_in_words())));
    drop(ledger);
    let mut ledger = Ledger::open(into).unwrap();
    assert_eq!(ledger.charges().count(), 4);
    assert!(ledger.is_merged(4) && ledger.is_unprotected(2) && !ledger.is_unprotected(3));
    ledger.close().unwrap();
    let told = ledger.debit(charge, scope).unwrap_err().to_string();
    assert!(told.contains("no run can be charged"), "{told}");
}

#[test]
fn a_merge_that_does_not_fit_changes_nothing() {
    let (into, from) = (Disk::default(), Disk::default());
    let (mut ledger, mut other) = (create(&into), create(&from));
    let charge = plan().charge().unwrap();
    let mut most = 0;
    while other.debit(charge, plan().scope()).is_ok() {
        most += 1;
    }
    ledger.debit(charge, plan().scope()).unwrap();
    let before = (into.content(), from.content());
    assert!(matches!(
        ledger.merge(&mut other),
        Err(LedgerError::Refused(_))
    ));
    assert_eq!((into.content(), from.content()), before);
    assert_eq!(
        (ledger.charges().count(), other.charges().count()),
        (1, most)
    );
    // A copy under another name is the same ledger.
    let mut copy = Ledger::open(Disk::default().with(&into.content())).unwrap();
    assert!(matches!(
        ledger.merge(&mut copy),
        Err(LedgerError::SameLedger)
    ));
}

/// One ledger for sums, selections and pure runs, across a restart.
#[test]
fn a_gaussian_ledger_takes_every_kind() {
    let disk = Disk::default();
    let budget = Budget::approx(4.0, 1e-6).unwrap();
    let mut ledger = Ledger::create_reserving(
        disk.clone(),
        budget,
        FilterKind::Gaussian,
        plan().scope(),
        2e-7,
    )
    .unwrap();
    let fixed = Budget::approx(0.3, 1e-7).unwrap();
    ledger
        .debit(plan().charge().unwrap(), plan().scope())
        .unwrap();
    for charge in [
        Charge::Approximate(fixed),
        Charge::Pure(Epsilon::new(0.2).unwrap()),
    ] {
        let price = Price::new(charge, fixed, 0.0).unwrap();
        ledger.debit(price, plan().scope()).unwrap();
    }
    ledger
        .widen_reserving(Budget::approx(5.0, 2e-6).unwrap(), Some(4e-7))
        .unwrap();
    let again = Ledger::open(disk).unwrap();
    assert_eq!(again.filter(), ledger.filter());
    assert!(again.filter().used_delta() >= 1e-7 && again.filter().used() < 1.0);
}

/// A grant that does not pay for the precision of a plan's draws builds nothing.
#[test]
fn the_precision_of_draws_is_charged_or_nothing_is_built() {
    use hushstream_account::Price;
    let mut ledger = create(&Disk::default());
    let price = plan().charge().unwrap();
    assert!(price.tau() > 0.0);
    let grant = ledger
        .debit(Price::from(price.charge), plan().scope())
        .unwrap();
    let key = Key::insecure_from_seed(3);
    let sum = PrivateSum::<Transcript>::open(plan(), grant, &key, &mut ledger, Disk::default());
    assert!(matches!(
        sum.err(),
        Some(SumError::Diary(DiaryError::GrantBelowPrice { .. }))
    ));
}

/// Ledgers written by version 1 open, keep their guarantee and continue; so does one of version 2.
#[test]
fn golden_ledgers_are_read() {
    let golden = |name: &str| {
        let path = format!("{}/tests/golden/{name}", env!("CARGO_MANIFEST_DIR"));
        Disk::default().with(&std::fs::read(path).unwrap())
    };
    for (name, promise, runs) in [
        ("ledger-v1-gaussian", (4.0, 1e-6), 3),
        ("ledger-v1-approximate", (2.0, 1e-5), 1),
        ("ledger-v1-pure", (1.0, 0.0), 1),
        ("ledger-v2-gaussian", (5.0, 2e-6), 5),
    ] {
        let disk = golden(name);
        let mut ledger = Ledger::open(disk.clone()).unwrap();
        let budget = ledger.budget();
        assert_eq!((budget.epsilon(), budget.delta()), promise, "{name}");
        assert_eq!(ledger.charges().count(), runs, "{name}");
        assert!(
            ledger.filter().used() > 0.05 && ledger.filter().used() < 0.6,
            "{name}"
        );
        if name.ends_with("gaussian") {
            assert!(ledger.is_unprotected(1) && ledger.is_widened(), "{name}");
            assert_eq!(ledger.begun(1).unwrap().mark, 199);
            // Both a sum and, once the budget leaves room for its δ, a selection.
            ledger
                .debit(plan().charge().unwrap(), plan().scope())
                .unwrap();
            let selection = Charge::Approximate(Budget::approx(0.2, 1e-7).unwrap());
            let wider = Budget::approx(6.0, 3e-6).unwrap();
            ledger.widen_reserving(wider, Some(6e-7)).unwrap();
            ledger.debit(selection, plan().scope()).unwrap();
            drop(ledger);
            assert_eq!(
                Ledger::open(disk.clone()).unwrap().charges().count(),
                runs + 2
            );
        }
        assert!(disk.content().starts_with(b"HUSHLOG2L\x02"));
    }
    let later = golden("ledger-v2-gaussian").content();
    let later = [&later[..9], &[3], &later[10..]].concat();
    let told = refused(Disk::default().with(&later)).to_string();
    assert!(told.contains("a later version"), "{told}");
}
