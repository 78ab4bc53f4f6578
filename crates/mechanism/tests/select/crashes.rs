//! Disks that fail at the n-th sync, for every n, with any part of the unsynced bytes surviving:
//! after recovery no play is contradicted and no charge is lost, although the stream continues with
//! other contents, and even if somebody has restored an older journal. Selections, feedback and
//! solvers share this diary.

use crate::request;
use hushstream_account::Budget;
use hushstream_mechanism::select::{Method, SelectPlan, Selection};
use hushstream_mechanism::{CameBack, Ledger, Raw, Storage};
use hushstream_noise::Key;
use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex};

/// Durable bytes, and those that a crash may take.
#[derive(Default)]
struct Platter {
    durable: Vec<u8>,
    cached: Vec<u8>,
    /// What was durable after each sync.
    copies: Vec<Vec<u8>>,
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
}

const ITEMS: u64 = 10;
const EXPERTS: u64 = 50;

/// Losses of item t, other ones in every life.
fn losses(t: u64, life: u64) -> Raw<Vec<f64>> {
    let loss = |i| ((5 * t + (2 + life) * i + 3 * life) % 7) as f64 / 6.0;
    Raw::seal((0..EXPERTS).map(loss).collect())
}

/// Everything published.
#[derive(Default)]
struct Seen {
    /// By address: instance and step.
    plays: BTreeMap<([u8; 16], u64), u32>,
    finished: bool,
    /// How the last resume went.
    outcome: Option<CameBack>,
}

impl Seen {
    fn in_order(&self) -> BTreeMap<u64, u32> {
        let plays = self.plays.iter();
        plays.map(|(at, play)| (at.1, *play)).collect()
    }
}

/// Runs, or continues, until the disk dies or all items are in.
fn live(plan: &SelectPlan, disks: [&Disk; 2], group: u64, life: u64, seen: &mut Seen) {
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
                seen.outcome = Some(back.outcome);
                (back.run, back.recent)
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
                    let at = (play.receipt().instance, play.receipt().step);
                    let before = *seen.plays.entry(at).or_insert(*play.value());
                    assert_eq!(before, *play.value(), "a play was contradicted");
                }
                if t % 4 == 0 {
                    selection.checkpoint(Vec::new())?;
                }
            }
            if t == ITEMS {
                seen.finished = true;
                return Ok(());
            }
            waiting.extend(selection.add(None, losses(t, life))?);
        }
    };
    let _ = run();
}

/// Runs, fails at a sync, and runs again with other contents. Returns what was published before the
/// crash, and in all.
fn die_and_live(
    plan: &SelectPlan,
    group: u64,
    parts: usize,
    death: u64,
    between: impl FnOnce(&Disk),
) -> (BTreeMap<u64, u32>, Seen, usize) {
    let ledger_disk = Disk::default();
    let journal_disk = ledger_disk.beside();
    let disks = [&ledger_disk, &journal_disk];
    let mut seen = Seen::default();
    *ledger_disk.syncs_left.lock().unwrap() = Some(death);
    live(plan, disks, group, 0, &mut seen);
    let before = seen.in_order();
    disks.iter().for_each(|disk| disk.crash(parts));
    *ledger_disk.syncs_left.lock().unwrap() = None;
    between(&journal_disk);
    live(plan, disks, group, 1, &mut seen);
    let ledger = Ledger::open(ledger_disk).unwrap();
    (before, seen, ledger.charges().count())
}

/// Hedge draws an expert with every item, with so much budget that other losses give another play.
fn plan() -> SelectPlan {
    let mut request = request(Method::BatchedHedge, EXPERTS as u32, ITEMS + 1, 1);
    request.budget = Budget::approx(100.0, 1e-6).unwrap();
    request.plan().unwrap()
}

#[test]
fn a_crash_at_any_sync_contradicts_nothing_and_loses_no_charge() {
    let dartboard = request(Method::Dartboard, EXPERTS as u32, ITEMS + 1, 1);
    for plan in [dartboard.plan().unwrap(), plan()] {
        let mut whole = Seen::default();
        let disk = Disk::default();
        live(&plan, [&disk, &disk.beside()], 1, 0, &mut whole);
        let expected = whole.in_order();
        assert_eq!(expected.len(), ITEMS as usize);
        for group in [1, 3] {
            for parts in [0, 2, 4] {
                for death in 0..30 {
                    let (before, seen, charges) = die_and_live(&plan, group, parts, death, |_| {});
                    let case = format!("group {group}, {parts} quarters left, death at {death}");
                    assert!(seen.finished, "{case}");
                    assert!(
                        matches!(seen.outcome, None | Some(CameBack::Continued)),
                        "{case}"
                    );
                    let all = seen.in_order();
                    assert_eq!(all.len(), ITEMS as usize, "{case}");
                    assert_eq!(seen.plays.len(), all.len(), "{case}: one instance");
                    for (step, play) in before {
                        assert_eq!(play, expected[&step], "{case}");
                        assert_eq!(play, all[&step], "{case}");
                    }
                    assert_eq!(charges, 1, "{case}");
                }
            }
        }
    }
}

#[test]
fn a_crash_and_an_older_journal_contradict_nothing() {
    let plan = plan();
    let (mut continued, mut new_instances) = (0, 0);
    for parts in [0, 4] {
        for death in 0..30 {
            for age in 0..14 {
                let (before, seen, charges) = die_and_live(&plan, 1, parts, death, |journal| {
                    let mut platter = journal.platter.lock().unwrap();
                    if let Some(copy) = platter.copies.len().checked_sub(age + 1) {
                        let copy = platter.copies[copy].clone();
                        (platter.durable, platter.cached) = (copy.clone(), copy);
                    }
                });
                let case = format!("{parts} quarters left, death at {death}, {age} syncs old");
                let all = seen.in_order();
                match seen.outcome {
                    Some(CameBack::NewInstance { lost }) => {
                        assert!(lost > 0, "{case}");
                        new_instances += 1;
                    }
                    Some(CameBack::Continued) => continued += 1,
                    // A copy from before the run had begun is refused.
                    None => assert!(seen.finished || all == before, "{case}"),
                }
                assert!(seen.finished || seen.outcome.is_none(), "{case}");
                // Every step once: published plays stay, new ones are at their own addresses.
                assert_eq!(seen.plays.len(), all.len(), "{case}");
                for (step, play) in before {
                    assert_eq!(play, all[&step], "{case}");
                }
                assert_eq!(charges, 1, "{case}");
            }
        }
    }
    assert!(continued > 0 && new_instances > 0);
}
