//! Disks that fail: a run is killed at its n-th sync, for every n, with any part of the unsynced
//! bytes surviving. After recovery nothing already published is contradicted, no charge is lost,
//! and the budget is never exceeded.
//!
//! After a crash the stream continues with other contents: records that the run has not journalled
//! may differ the next time. So an address that is used twice shows as two values of one release.

use crate::game::*;
use hushstream_mechanism::sums::{Noise, PrivateSum, SumKind};
use hushstream_mechanism::{CameBack, Contribution, Ledger, LedgerError, Raw, Storage, Transcript};
use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex};

/// How many of the unsynced bytes a crash leaves behind.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Leftover {
    Nothing,
    Half,
    Everything,
}

/// All disks of one machine: they die together, at the n-th sync.
#[derive(Default)]
pub(crate) struct Machine {
    pub(crate) syncs_left: Option<u64>,
}

#[derive(Default)]
pub(crate) struct Platter {
    durable: Vec<u8>,
    cached: Vec<u8>,
    witness: Option<Vec<u8>>,
    /// What was durable after each sync.
    copies: Vec<Vec<u8>>,
}

impl Platter {
    pub(crate) fn crash(&mut self, leftover: Leftover) {
        let survived = match leftover {
            Leftover::Nothing => self.durable.clone(),
            Leftover::Everything => self.cached.clone(),
            Leftover::Half => {
                let extra = self.cached.len().saturating_sub(self.durable.len()) / 2;
                let kept = self.cached.len().min(self.durable.len() + extra);
                self.cached[..kept].to_vec()
            }
        };
        self.durable.clone_from(&survived);
        self.cached = survived;
    }
}

#[derive(Clone)]
pub(crate) struct Disk {
    machine: Arc<Mutex<Machine>>,
    pub(crate) platter: Arc<Mutex<Platter>>,
}

impl Disk {
    pub(crate) fn new(machine: &Arc<Mutex<Machine>>) -> Self {
        Self {
            machine: machine.clone(),
            platter: Arc::default(),
        }
    }

    /// Counts a sync, or fails at it. The machine may die before any sync, and so right after any
    /// other: also between a checkpoint and the next item.
    fn tick(&self) -> io::Result<()> {
        match &mut self.machine.lock().unwrap().syncs_left {
            Some(0) => Err(io::Error::other("the disk died")),
            Some(left) => {
                *left -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }
}

impl Storage for Disk {
    fn load(&mut self) -> io::Result<Vec<u8>> {
        Ok(self.platter.lock().unwrap().cached.clone())
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        // A failing disk still takes bytes into its cache.
        self.platter.lock().unwrap().cached.extend_from_slice(bytes);
        Ok(())
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.platter
            .lock()
            .unwrap()
            .cached
            .truncate(length as usize);
        Ok(())
    }

    fn replace(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.tick()?;
        let mut platter = self.platter.lock().unwrap();
        platter.durable = bytes.to_vec();
        platter.cached = bytes.to_vec();
        platter.copies.push(bytes.to_vec());
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        self.tick()?;
        let mut platter = self.platter.lock().unwrap();
        platter.durable = platter.cached.clone();
        let copy = platter.durable.clone();
        platter.copies.push(copy);
        Ok(())
    }

    fn load_witness(&mut self) -> io::Result<Option<Vec<u8>>> {
        Ok(self.platter.lock().unwrap().witness.clone())
    }

    /// Atomic, and a sync at which the machine may die.
    fn replace_witness(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.tick()?;
        self.platter.lock().unwrap().witness = Some(bytes.to_vec());
        Ok(())
    }
}

const RELEASES: u64 = 12;

/// Everything published.
#[derive(Default)]
struct Seen {
    /// By address: instance and step.
    releases: BTreeMap<([u8; 16], u64), Vec<f64>>,
    finished: bool,
    /// How the last resume went.
    resumed: Option<CameBack>,
}

impl Seen {
    /// The releases by step.
    fn in_order(&self) -> BTreeMap<u64, Vec<f64>> {
        let steps = self.releases.iter();
        steps.map(|(at, value)| (at.1, value.clone())).collect()
    }
}

/// Item t, with other contents in every life.
fn content(t: u64, life: u64) -> Raw<Contribution> {
    Raw::seal(item(t + 100 * life))
}

/// Runs, or continues, until the disk dies or all items are in. Publishes in groups of `group`.
fn live(
    disks: [&Disk; 2],
    (kind, noise): (SumKind, Noise),
    group: u64,
    life: u64,
    seen: &mut Seen,
) {
    let [ledger_disk, journal_disk] = disks;
    let mut run = || -> Result<(), Box<dyn std::error::Error>> {
        let mut ledger = match Ledger::open(ledger_disk.clone()) {
            Ok(ledger) => ledger,
            Err(error) if !matches!(error, LedgerError::Missing | LedgerError::Log(_)) => {
                panic!("a crash is no reason to refuse a ledger: {error}")
            }
            Err(_) => Ledger::create(ledger_disk.clone(), budget(noise), filter(noise), scope())?,
        };
        let plan = request(kind, noise, RELEASES).plan()?;
        let mut waiting = Vec::new();
        let resumed = PrivateSum::<Transcript>::resume(
            journal_disk.clone(),
            &key(),
            &mut ledger,
            None,
            |_| true,
        );
        let mut sum = match resumed {
            Ok(resumption) => {
                seen.resumed = Some(resumption.outcome);
                // A new instance does not publish what the old copy contained.
                if resumption.outcome == CameBack::Continued {
                    waiting = resumption.recent;
                }
                resumption.run
            }
            Err(_) => {
                // The charge of a run that never began can be used again.
                let grant = match ledger.grant_again(1) {
                    Ok(grant) => grant,
                    Err(_) => ledger.debit(charge(&plan), plan.scope())?,
                };
                PrivateSum::open(plan, grant, &key(), &mut ledger, journal_disk.clone())?
            }
        };
        let mut publish = |sum: &mut PrivateSum<Transcript>, waiting: &mut Vec<_>| {
            sum.sync(&mut ledger)?;
            for pending in waiting.drain(..) {
                let release = sum.publish(pending).unwrap();
                let at = (release.receipt().instance, release.receipt().step);
                let value: Vec<f64> = release.into_value();
                let before = seen.releases.entry(at).or_insert_with(|| value.clone());
                assert_eq!(before, &value, "a release was contradicted");
            }
            Ok::<(), Box<dyn std::error::Error>>(())
        };
        publish(&mut sum, &mut waiting)?;
        while sum.steps() < RELEASES {
            let t = sum.steps() + 1;
            waiting.push(sum.add(content(t, life))?.unwrap());
            if t.is_multiple_of(group) || t == RELEASES {
                publish(&mut sum, &mut waiting)?;
            }
        }
        seen.finished = true;
        Ok(())
    };
    // An error here is the disk's death; the assertions above are what is tested.
    let _ = run();
}

/// Runs once, fails at a sync, and runs again with other contents; `between` modifies the disks
/// after the crash. Returns what was published before it.
fn die_and_live(
    cell: (SumKind, Noise),
    group: u64,
    leftover: Leftover,
    death: u64,
    between: impl FnOnce(&Disk),
) -> (BTreeMap<u64, Vec<f64>>, Seen, Disk) {
    let machine = Arc::new(Mutex::new(Machine::default()));
    let (ledger_disk, journal_disk) = (Disk::new(&machine), Disk::new(&machine));
    let disks = [&ledger_disk, &journal_disk];
    let mut seen = Seen::default();
    machine.lock().unwrap().syncs_left = Some(death);
    live(disks, cell, group, 0, &mut seen);
    let before = seen.in_order();
    for disk in disks {
        disk.platter.lock().unwrap().crash(leftover);
    }
    machine.lock().unwrap().syncs_left = None;
    between(&journal_disk);
    live(disks, cell, group, 1, &mut seen);
    (before, seen, ledger_disk)
}

#[test]
fn a_crash_at_any_sync_contradicts_nothing_and_loses_no_charge() {
    for (kind, noise) in cells() {
        let (mut sum, mut ledger) = open(request(kind, noise, RELEASES));
        let expected = feed(&mut sum, &mut ledger, 1..=RELEASES);
        for group in [1, 5] {
            for leftover in [Leftover::Nothing, Leftover::Half, Leftover::Everything] {
                for death in 0..40 {
                    let (before, seen, ledger_disk) =
                        die_and_live((kind, noise), group, leftover, death, |_| {});
                    let case = format!(
                        "{kind} {noise}, group {group}, death at {death}, {leftover:?} left"
                    );
                    let ledger = Ledger::open(ledger_disk).unwrap();
                    let used = ledger.filter().used();
                    assert!(used <= 1.0, "{case}");
                    if !before.is_empty() {
                        assert!(used > 0.0, "{case}: the charge is there");
                    }
                    assert!(seen.finished, "{case}: every run can go on");
                    assert!(
                        matches!(seen.resumed, None | Some(CameBack::Continued)),
                        "{case}: what was published is always in the journal"
                    );
                    assert_eq!(ledger.charges().count(), 1, "{case}: one run, one charge");
                    let all = seen.in_order();
                    assert_eq!(all.len(), RELEASES as usize, "{case}");
                    assert_eq!(seen.releases.len(), all.len(), "{case}: one instance");
                    // Published releases stay, and equal those of a run without a crash.
                    for (step, value) in before {
                        assert_eq!(value, expected[step as usize - 1], "{case}");
                        assert_eq!(all[&step], value, "{case}");
                    }
                }
            }
        }
    }
}

/// The machine fails, and somebody restores a copy of the journal, of any age: nothing that was
/// published is contradicted.
#[test]
fn a_crash_and_an_older_journal_contradict_nothing() {
    for kind in [SumKind::Tree, SumKind::Octave, SumKind::BLT] {
        let cell = (kind, Noise::Gaussian);
        let (mut continued, mut new_instances) = (0, 0);
        for leftover in [Leftover::Nothing, Leftover::Everything] {
            for death in (0..40).step_by(3) {
                for age in 0..14 {
                    let (before, seen, ledger_disk) =
                        die_and_live(cell, 1, leftover, death, |journal| {
                            let mut platter = journal.platter.lock().unwrap();
                            let copies = platter.copies.len();
                            let Some(copy) = copies.checked_sub(age + 1) else {
                                return;
                            };
                            let copy = platter.copies[copy].clone();
                            (platter.durable, platter.cached) = (copy.clone(), copy);
                        });
                    let case = format!("{kind}, death at {death}, a copy {age} syncs old");
                    let all = seen.in_order();
                    match seen.resumed {
                        Some(CameBack::NewInstance { lost }) => {
                            assert!(lost > 0, "{case}");
                            new_instances += 1;
                        }
                        Some(CameBack::Continued) => continued += 1,
                        // A copy from before the run had begun is refused.
                        None => assert!(seen.finished || all == before, "{case}"),
                    }
                    assert!(seen.finished || seen.resumed.is_none(), "{case}");
                    // Every step once: published releases stay, new ones are at their own
                    // addresses.
                    assert_eq!(seen.releases.len(), all.len(), "{case}");
                    for (step, value) in &before {
                        assert_eq!(&all[step], value, "{case}");
                    }
                    let ledger = Ledger::open(ledger_disk).unwrap();
                    assert_eq!(ledger.charges().count(), 1, "{case}: one run, one charge");
                }
            }
        }
        assert!(continued > 0 && new_instances > 0, "{kind}");
    }
}
