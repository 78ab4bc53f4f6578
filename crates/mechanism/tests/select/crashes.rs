//! Disks that die at the n-th sync, for every n, with whatever part of the unsynced bytes survives: after recovery no play is contradicted and no charge is lost. The diary under
//! test is the same for selections, feedback and solvers.

use crate::request;
use hushstream_mechanism::select::{Method, SelectPlan, Selection};
use hushstream_mechanism::{CameBack, Ledger, Raw, Storage};
use hushstream_noise::Key;
use std::io;
use std::sync::{Arc, Mutex};

/// Durable bytes, and those that a crash may take.
#[derive(Default)]
struct Platter {
    durable: Vec<u8>,
    cached: Vec<u8>,
}

#[derive(Clone, Default)]
struct Disk {
    syncs_left: Arc<Mutex<Option<u64>>>,
    platter: Arc<Mutex<Platter>>,
}

impl Disk {
    fn beside(&self) -> Self {
        Self {
            syncs_left: self.syncs_left.clone(),
            platter: Arc::default(),
        }
    }

    fn tick(&self) -> io::Result<()> {
        match &mut *self.syncs_left.lock().unwrap() {
            Some(0) => Err(io::Error::other("the disk died")),
            Some(left) => {
                *left -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Keeps `parts` quarters of the unsynced bytes.
    fn crash(&self, parts: usize) {
        let mut platter = self.platter.lock().unwrap();
        let extra = platter.cached.len().saturating_sub(platter.durable.len()) * parts / 4;
        let kept = platter.cached.len().min(platter.durable.len() + extra);
        let survived = platter.cached[..kept].to_vec();
        platter.durable.clone_from(&survived);
        platter.cached = survived;
    }
}

impl Storage for Disk {
    fn load(&mut self) -> io::Result<Vec<u8>> {
        Ok(self.platter.lock().unwrap().cached.clone())
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.platter.lock().unwrap().cached.extend_from_slice(bytes);
        Ok(())
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        let mut platter = self.platter.lock().unwrap();
        platter.cached.truncate(length as usize);
        Ok(())
    }

    fn replace(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.tick()?;
        let mut platter = self.platter.lock().unwrap();
        (platter.durable, platter.cached) = (bytes.to_vec(), bytes.to_vec());
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        self.tick()?;
        let mut platter = self.platter.lock().unwrap();
        platter.durable = platter.cached.clone();
        Ok(())
    }
}

const ITEMS: u64 = 10;

fn losses(t: u64) -> Raw<Vec<f64>> {
    Raw::seal((0..3).map(|i| ((5 * t + 2 * i) % 7) as f64 / 6.0).collect())
}

/// Runs, or continues, until the disk dies or all items are in; tells whether they are.
fn live(plan: &SelectPlan, disks: [&Disk; 2], group: u64, seen: &mut [Option<u32>]) -> bool {
    let key = Key::insecure_from_seed(9);
    let mut run = || -> Result<(), Box<dyn std::error::Error>> {
        let mut ledger = match Ledger::open(disks[0].clone()) {
            Ok(ledger) => ledger,
            Err(_) => {
                let budget = plan.request().budget;
                Ledger::create(disks[0].clone(), budget, plan.filter(), plan.scope())?
            }
        };
        let back = Selection::resume(disks[1].clone(), &key, &mut ledger, None, |_| true);
        let (mut selection, mut waiting) = match back {
            Ok(back) => {
                assert_eq!(back.outcome, CameBack::Continued);
                (back.selection, back.recent)
            }
            Err(_) => {
                let grant = match ledger.grant_again(1) {
                    Ok(grant) => grant,
                    Err(_) => ledger.debit(plan.charge()?, plan.scope())?,
                };
                let journal = disks[1].clone();
                let fresh = Selection::open(plan.clone(), grant, &key, &mut ledger, journal)?;
                (fresh, Vec::new())
            }
        };
        loop {
            let t = selection.steps();
            if t.is_multiple_of(group) || t == ITEMS {
                selection.sync(&mut ledger)?;
                for pending in waiting.drain(..) {
                    let play = selection.publish(pending).unwrap();
                    let place = &mut seen[play.receipt().step as usize - 1];
                    let value = *place.get_or_insert(*play.value());
                    assert_eq!(value, *play.value(), "a play was contradicted");
                }
                if t % 4 == 0 {
                    selection.checkpoint(Vec::new())?;
                }
            }
            if t == ITEMS {
                return Ok(());
            }
            waiting.extend(selection.add(losses(t))?);
        }
    };
    run().is_ok()
}

#[test]
fn a_crash_at_any_sync_contradicts_nothing_and_loses_no_charge() {
    let plan = request(Method::Dartboard, 3, ITEMS + 1, 1).plan().unwrap();
    let mut expected = vec![None; ITEMS as usize];
    let disk = Disk::default();
    assert!(live(&plan, [&disk, &disk.beside()], 1, &mut expected));
    for group in [1, 3] {
        for parts in [0, 2, 4] {
            for death in 0..30 {
                let ledger_disk = Disk::default();
                let journal_disk = ledger_disk.beside();
                let disks = [&ledger_disk, &journal_disk];
                let mut seen = vec![None; ITEMS as usize];
                *ledger_disk.syncs_left.lock().unwrap() = Some(death);
                live(&plan, disks, group, &mut seen);
                disks.iter().for_each(|disk| disk.crash(parts));
                *ledger_disk.syncs_left.lock().unwrap() = None;
                let case = format!("group {group}, {parts} quarters left, death at {death}");
                assert!(live(&plan, disks, group, &mut seen), "{case}");
                assert_eq!(seen.iter().flatten().count(), ITEMS as usize, "{case}");
                assert_eq!(seen, expected, "{case}");
                let ledger = Ledger::open(ledger_disk).unwrap();
                assert_eq!(ledger.charges().count(), 1, "{case}");
            }
        }
    }
}
