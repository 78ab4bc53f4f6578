//! Disks that die: a run is killed at its n-th sync, for every n, with whatever part of the unsynced bytes survives. After recovery nothing
//! already published is contradicted, no charge is lost, and the budget is never exceeded.

use crate::game::*;
use hushstream_mechanism::sums::{Noise, PrivateSum, Resumed, SumKind};
use hushstream_mechanism::{Ledger, LedgerError, Raw, Storage, Transcript};
use std::io;
use std::sync::{Arc, Mutex};

/// How many of the unsynced bytes a crash leaves behind.
#[derive(Clone, Copy, Debug)]
enum Leftover {
    Nothing,
    Half,
    Everything,
}

/// All disks of one machine: they die together, at the n-th sync.
#[derive(Default)]
struct Machine {
    syncs_left: Option<u64>,
}

#[derive(Default)]
struct Platter {
    durable: Vec<u8>,
    cached: Vec<u8>,
    witness: Option<Vec<u8>>,
}

impl Platter {
    fn crash(&mut self, leftover: Leftover) {
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
struct Disk {
    machine: Arc<Mutex<Machine>>,
    platter: Arc<Mutex<Platter>>,
}

impl Disk {
    fn new(machine: &Arc<Mutex<Machine>>) -> Self {
        Self {
            machine: machine.clone(),
            platter: Arc::default(),
        }
    }

    /// Counts a sync, or dies at it.
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

    fn alive(&self) -> io::Result<()> {
        if self.machine.lock().unwrap().syncs_left == Some(0) {
            return Err(io::Error::other("the disk died"));
        }
        Ok(())
    }
}

impl Storage for Disk {
    fn load(&mut self) -> io::Result<Vec<u8>> {
        Ok(self.platter.lock().unwrap().cached.clone())
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        // A dying disk still takes bytes into its cache.
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
        self.alive()?;
        let mut platter = self.platter.lock().unwrap();
        platter.durable = bytes.to_vec();
        platter.cached = bytes.to_vec();
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        self.tick()?;
        let mut platter = self.platter.lock().unwrap();
        platter.durable = platter.cached.clone();
        Ok(())
    }

    fn load_witness(&mut self) -> io::Result<Option<Vec<u8>>> {
        Ok(self.platter.lock().unwrap().witness.clone())
    }

    /// Atomic, and a sync at which the machine may die.
    fn replace_witness(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.tick()?;
        self.alive()?;
        self.platter.lock().unwrap().witness = Some(bytes.to_vec());
        Ok(())
    }
}

const RELEASES: u64 = 12;

/// What the world has seen, and how the run ended.
struct Seen {
    releases: Vec<Option<Vec<f64>>>,
    finished: bool,
}

/// Runs, or continues, until the disk dies or all items are in. Publishes in groups of `group`.
fn live(
    ledger_disk: &Disk,
    journal_disk: &Disk,
    kind: SumKind,
    noise: Noise,
    group: u64,
    seen: &mut Seen,
) {
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
        let resumed =
            PrivateSum::<Transcript>::resume(journal_disk.clone(), &key(), &mut ledger, None);
        let mut sum = match resumed {
            Ok(resumption) => {
                assert_eq!(
                    resumption.outcome,
                    Resumed::Continued,
                    "what was published is always in the journal"
                );
                waiting = resumption.recent;
                resumption.sum
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
                let place = &mut seen.releases[release.receipt().step as usize - 1];
                let value = release.into_value();
                if let Some(before) = place {
                    assert_eq!(before, &value, "a release was contradicted");
                }
                *place = Some(value);
            }
            Ok::<(), Box<dyn std::error::Error>>(())
        };
        publish(&mut sum, &mut waiting)?;
        while sum.steps() < RELEASES {
            let t = sum.steps() + 1;
            waiting.push(sum.add(Raw::seal(item(t)))?.unwrap());
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

#[test]
fn a_crash_at_any_sync_contradicts_nothing_and_loses_no_charge() {
    for (kind, noise) in cells() {
        let (mut sum, mut ledger) = open(request(kind, noise, RELEASES));
        let expected = feed(&mut sum, &mut ledger, 1..=RELEASES);
        for group in [1, 5] {
            for leftover in [Leftover::Nothing, Leftover::Half, Leftover::Everything] {
                for death in 0..40 {
                    let machine = Arc::new(Mutex::new(Machine::default()));
                    let (ledger_disk, journal_disk) = (Disk::new(&machine), Disk::new(&machine));
                    let mut seen = Seen {
                        releases: vec![None; RELEASES as usize],
                        finished: false,
                    };
                    machine.lock().unwrap().syncs_left = Some(death);
                    live(&ledger_disk, &journal_disk, kind, noise, group, &mut seen);
                    let published_before = seen.releases.iter().flatten().count();
                    for disk in [&ledger_disk, &journal_disk] {
                        disk.platter.lock().unwrap().crash(leftover);
                    }
                    machine.lock().unwrap().syncs_left = None;
                    live(&ledger_disk, &journal_disk, kind, noise, group, &mut seen);

                    let case = format!(
                        "{kind} {noise}, group {group}, death at {death}, {leftover:?} left"
                    );
                    let ledger = Ledger::open(ledger_disk.clone()).unwrap();
                    let used = ledger.filter().used();
                    assert!(used <= 1.0, "{case}");
                    if published_before > 0 {
                        assert!(used > 0.0, "{case}: the charge is there");
                    }
                    assert!(seen.finished, "{case}: every run can go on");
                    assert_eq!(ledger.charges().count(), 1, "{case}: one run, one charge");
                    let all: Vec<Vec<f64>> = seen.releases.into_iter().flatten().collect();
                    assert_eq!(all, expected, "{case}");
                }
            }
        }
    }
}
