//! Histories of operations against a small model: decide, reward, repeat, late, delete, tick, and
//! crashes before and after every commit. Every reward is a power of two of its own, so that one
//! that is lost or counted twice shows in the sum.

use hushstream_server::rounds::{Aggregation, Cell, Contribution, Filled, Settings, Slot, Told};
use hushstream_server::store::{
    After, Core, ModelRow, ModelStatus, Op, Reached, Taken, Tx, batch_of,
};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use redb::Database;
use redb::backends::InMemoryBackend;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

const HISTORIES: u32 = if cfg!(feature = "long") {
    100_000
} else {
    1_000
};

#[derive(Debug, Clone)]
enum Step {
    /// Asks with this id; a repeat if it was used.
    Decide {
        id: u8,
        deferred: bool,
    },
    /// Tells the next power of two, or once more the last one that this id was told.
    Reward {
        id: u8,
        again: bool,
    },
    Activate {
        id: u8,
    },
    Delete {
        id: u8,
    },
    Advance {
        by: u64,
    },
    /// Learns from one closed batch; a crash may come before or after its release is stored.
    Learn {
        crash: Crash,
    },
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Crash {
    No,
    /// The commit is lost.
    Before,
    /// The commit is durable, and nobody was told.
    After,
}

fn crash() -> impl Strategy<Value = Crash> {
    prop_oneof![8 => Just(Crash::No), 1 => Just(Crash::Before), 1 => Just(Crash::After)]
}

fn step() -> impl Strategy<Value = (Step, Crash)> {
    let id = 0..24_u8;
    let step = prop_oneof![
        8 => (id.clone(), prop::bool::weighted(0.2))
            .prop_map(|(id, deferred)| Step::Decide { id, deferred }),
        6 => (id.clone(), prop::bool::weighted(0.3))
            .prop_map(|(id, again)| Step::Reward { id, again }),
        2 => id.clone().prop_map(|id| Step::Activate { id }),
        1 => id.prop_map(|id| Step::Delete { id }),
        4 => (0..40_u64).prop_map(|by| Step::Advance { by }),
        4 => crash().prop_map(|crash| Step::Learn { crash }),
    ];
    (step, crash())
}

fn settings() -> Settings {
    Settings {
        batch: 3,
        batches: 5,
        close_after: Some(60),
        reward_wait: 25,
        boundary: 100,
    }
}

fn row() -> ModelRow {
    ModelRow {
        number: 1,
        tenant: "main".to_owned(),
        name: "m".to_owned(),
        dataset: "d".to_owned(),
        spec: "{}".to_owned(),
        rounds: settings(),
        aggregation: Aggregation::Sum,
        columns: Vec::new(),
        target: None,
        actions: vec!["a".to_owned(), "b".to_owned()],
        reward_bounds: (0.0, 1.0),
        persons: false,
        created: 0,
        status: ModelStatus::Open,
        charge: None,
        recipe: "igw".to_owned(),
        simulated: true,
    }
}

/// What the server should do, by the words of the rules: a list of slots with their times.
#[derive(Default)]
struct Expected {
    slots: Vec<ExpectedSlot>,
    /// When each batch is full.
    full: Vec<u64>,
    opened: u64,
    ids: HashMap<u8, usize>,
    /// The last reward of each id.
    told: HashMap<u8, u32>,
    next_power: u32,
}

#[derive(Default, Clone)]
struct ExpectedSlot {
    sum: u128,
    /// Given out, and not null.
    is_filled: bool,
    deferred: bool,
    activated: bool,
    deleted: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Seen {
    New(usize),
    Again(usize),
    Over,
    Done,
    Closed,
    Unknown,
}

impl Expected {
    /// Fills what the clock has filled.
    fn tick(&mut self, now: u64) {
        if !self.slots.len().is_multiple_of(3) && self.opened + 60 <= now {
            self.full.push(self.opened + 60);
            while !self.slots.len().is_multiple_of(3) {
                self.slots.push(ExpectedSlot::default());
            }
        }
    }

    fn is_closed(&self, slot: usize, now: u64) -> bool {
        self.full.get(slot / 3).is_some_and(|full| full + 25 <= now)
    }

    fn closed(&self, now: u64) -> usize {
        self.full.iter().filter(|full| *full + 25 <= now).count()
    }

    fn decide(&mut self, id: u8, deferred: bool, now: u64) -> Seen {
        self.tick(now);
        if let Some(slot) = self.ids.get(&id) {
            return Seen::Again(*slot);
        }
        if self.slots.len() == 15 {
            return Seen::Over;
        }
        if self.slots.len().is_multiple_of(3) {
            self.opened = now;
        }
        self.slots.push(ExpectedSlot {
            is_filled: true,
            deferred,
            ..ExpectedSlot::default()
        });
        if self.slots.len().is_multiple_of(3) {
            self.full.push(now);
        }
        self.ids.insert(id, self.slots.len() - 1);
        Seen::New(self.slots.len() - 1)
    }

    fn tell(&mut self, id: u8, now: u64, change: impl FnOnce(&mut ExpectedSlot)) -> Seen {
        self.tick(now);
        match self.ids.get(&id) {
            None => Seen::Unknown,
            Some(slot) if self.is_closed(*slot, now) => Seen::Closed,
            Some(slot) => {
                change(&mut self.slots[*slot]);
                Seen::Done
            }
        }
    }

    /// The sum of everything that counts in the first batches.
    fn sum(&self, batches: usize) -> u128 {
        let counts = |slot: &&ExpectedSlot| {
            slot.is_filled && !slot.deleted && (!slot.deferred || slot.activated)
        };
        let slots = self.slots.iter().take(3 * batches);
        slots.filter(counts).map(|slot| slot.sum).sum()
    }
}

fn name(id: u8) -> [u8; 16] {
    [id; 16]
}

/// The operation of a step, as the API's handlers do it, and where its outcome is noted.
fn operation(step: &Step, power: f64, seen: &Arc<Mutex<Option<Seen>>>) -> Op {
    let (step, seen) = (step.clone(), Arc::clone(seen));
    Box::new(move |tx: &mut Tx<'_>| {
        let tell = |tx: &mut Tx<'_>, id: u8, change: &dyn Fn(&mut Slot)| {
            Ok(match tx.reach(1, name(id))? {
                Reached::Open(place, mut slot) => {
                    change(&mut slot);
                    tx.put_slot(1, place, &slot)?;
                    Seen::Done
                }
                Reached::Closed => Seen::Closed,
                Reached::Unknown => Seen::Unknown,
            })
        };
        let outcome: Result<Seen, hushstream_server::store::StoreError> = match step {
            Step::Decide { id, deferred } => Ok(match tx.take(1, name(id))? {
                Taken::New(place) => {
                    let slot = Slot {
                        id: name(id),
                        body: [0; 16],
                        filled: Filled::Decided {
                            context: vec![Cell::Missing],
                            arm: 0,
                            probability: 1.0,
                            policy: 0,
                            among: None,
                            boot: [0; 16],
                        },
                        told: Told::default(),
                        deferred,
                        activated: false,
                        deleted: false,
                        person: None,
                    };
                    tx.put_slot(1, place, &slot)?;
                    Seen::New(place as usize)
                }
                Taken::Again(place, _) => Seen::Again(place as usize),
                Taken::Learned => Seen::Again(usize::MAX),
                Taken::Over => Seen::Over,
            }),
            Step::Reward { id, .. } => tell(tx, id, &|slot| {
                let name = (power.log2() as u128).to_le_bytes();
                slot.told.add(power, Some(name), Aggregation::Sum);
            }),
            Step::Activate { id } => tell(tx, id, &|slot| slot.activated = true),
            Step::Delete { id } => tell(tx, id, &|slot| slot.deleted = true),
            Step::Advance { .. } | Step::Learn { .. } => Ok(Seen::Done),
        };
        *seen.lock().unwrap() = Some(outcome?);
        Ok(After::Call(Box::new(|| ())))
    })
}

/// An operation after which the commit fails.
fn failing() -> Op {
    Box::new(|_| Err(Box::new(redb::Error::Corrupted("a crash".to_owned()))))
}

struct Simulated {
    db: Arc<Database>,
    core: Core,
    now: u64,
    /// What the learner has made durable: batches, and their sum.
    learned: (u64, u128),
    model: Arc<ModelRow>,
}

impl Simulated {
    fn new() -> Self {
        let backend = InMemoryBackend::new();
        let db = Database::builder().create_with_backend(backend).unwrap();
        let db = Arc::new(db);
        let mut core = Core::open(Arc::clone(&db)).unwrap();
        let put: Op = Box::new(|tx| {
            tx.put_model(row())?;
            Ok(After::Call(Box::new(|| ())))
        });
        core.tick(0, vec![put]).unwrap();
        Self {
            db,
            core,
            now: 0,
            learned: (0, 0),
            model: Arc::new(row()),
        }
    }

    fn restart(&mut self) {
        self.core = Core::open(Arc::clone(&self.db)).unwrap();
    }

    /// Commits operations, or crashes; whether they are durable.
    fn commit(&mut self, mut ops: Vec<Op>, crash: Crash) -> bool {
        if crash == Crash::Before {
            ops.push(failing());
        }
        let done = self.core.tick(self.now, ops).is_ok();
        assert_eq!(done, crash != Crash::Before);
        if crash != Crash::No {
            self.restart();
        }
        done
    }

    /// As a data set's actor does it: the batch that comes next, unless the journal has it.
    fn learn(&mut self, crash: Crash) {
        let (_, state) = self.core.models().next().unwrap();
        let (closed, fed) = (state.closed, state.fed);
        assert!(self.learned.0 == fed || self.learned.0 == fed + 1);
        if self.learned.0 == fed {
            if closed == fed {
                return;
            }
            let slots = batch_of(&self.db, &self.model, fed).unwrap();
            assert_eq!(slots.len(), 3);
            for slot in slots.iter().flatten() {
                if let Contribution::Decided { reward, .. } = slot.contribution() {
                    self.learned.1 += reward.unwrap_or(0.0) as u128;
                }
            }
            self.learned.0 += 1;
        }
        let publish: Op = Box::new(move |tx| {
            tx.publish(1, (fed + 1, None), fed + 1)?;
            Ok(After::Call(Box::new(|| ())))
        });
        self.commit(vec![publish], crash);
    }
}

fn history(steps: &[(Step, Crash)]) {
    let (mut real, mut expected) = (Simulated::new(), Expected::default());
    for (step, crash) in steps {
        match step {
            Step::Advance { by } => {
                real.now += by;
                let _ = real.commit(Vec::new(), *crash);
                expected.tick(real.now);
                continue;
            }
            Step::Learn { crash } => {
                real.learn(*crash);
                expected.tick(real.now);
                continue;
            }
            _ => {}
        }
        let seen = Arc::new(Mutex::new(None));
        let exponent = match step {
            Step::Reward { id, again: true } => expected.told.get(id).copied(),
            _ => None,
        };
        let (is_again, exponent) = (exponent.is_some(), exponent.unwrap_or(expected.next_power));
        let power = 2_f64.powi(exponent as i32);
        let done = real.commit(vec![operation(step, power, &seen)], *crash);
        if !done {
            continue;
        }
        let now = real.now;
        let wanted = match *step {
            Step::Decide { id, deferred } => expected.decide(id, deferred, now),
            Step::Reward { id, .. } => {
                let power = 1_u128 << exponent;
                let told = expected.tell(id, now, |slot| {
                    slot.sum += if is_again { 0 } else { power };
                });
                if told == Seen::Done && !is_again {
                    expected.told.insert(id, exponent);
                    expected.next_power += 1;
                }
                told
            }
            Step::Activate { id } => expected.tell(id, now, |slot| slot.activated = true),
            Step::Delete { id } => expected.tell(id, now, |slot| slot.deleted = true),
            Step::Advance { .. } | Step::Learn { .. } => Seen::Done,
        };
        let seen = seen.lock().unwrap().take().unwrap();
        let is_same =
            seen == wanted || matches!((seen, wanted), (Seen::Again(usize::MAX), Seen::Again(_)));
        assert!(is_same, "{step:?}: {seen:?}, not {wanted:?}");
    }
    // The end: everything is closed, and learned from.
    real.now += 1000;
    expected.tick(real.now);
    real.commit(Vec::new(), Crash::No);
    for _ in 0..5 {
        real.learn(Crash::No);
    }
    let closed = expected.closed(real.now);
    assert_eq!(real.learned, (closed as u64, expected.sum(closed)));
}

#[test]
fn nothing_is_lost_and_nothing_counts_twice() {
    let config = Config {
        cases: HISTORIES,
        failure_persistence: None,
        ..Config::default()
    };
    let seed = [26; 32];
    let random = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
    let mut runner = TestRunner::new_with_rng(config, random);
    let histories = prop::collection::vec(step(), 1..48);
    let outcome = runner.run(&histories, |steps| {
        history(&steps);
        Ok(())
    });
    outcome.unwrap();
}

/// Rows of a large batch are swept over several ticks and starts; its slots are learned from at
/// once, and those of the next batch are as they were.
#[test]
fn a_large_batch_is_swept_in_pieces() {
    let mut real = Simulated::new();
    let mut row = row();
    (row.number, row.name) = (2, "large".to_owned());
    row.rounds = Settings {
        batch: 1300,
        ..settings()
    };
    let model = Arc::new(row.clone());
    let id = |slot: u64| {
        let mut id = [0; 16];
        id[..8].copy_from_slice(&slot.to_le_bytes());
        id
    };
    let put: Op = Box::new(move |tx| {
        tx.put_model(row)?;
        for slot in 0..1310 {
            assert!(matches!(tx.take(2, id(slot))?, Taken::New(_)));
            tx.put_slot(2, slot, &Slot::null(id(slot), [0; 16]))?;
        }
        Ok(After::Call(Box::new(|| ())))
    });
    real.core.tick(0, vec![put]).unwrap();
    real.core.tick(30, Vec::new()).unwrap();
    let rows = |real: &Simulated, batch| {
        let slots = batch_of(&real.db, &model, batch).unwrap();
        slots.iter().flatten().count()
    };
    let publish: Op = Box::new(|tx| {
        tx.publish(2, (1, None), 1)?;
        Ok(After::Call(Box::new(|| ())))
    });
    real.core.tick(30, vec![publish]).unwrap();
    let mut left = vec![rows(&real, 0)];
    let learned = move |real: &mut Simulated| {
        let look: Op = Box::new(move |tx| {
            for slot in [0, 511, 512, 1299] {
                assert!(matches!(tx.take(2, id(slot))?, Taken::Learned));
                assert!(matches!(tx.reach(2, id(slot))?, Reached::Closed));
            }
            assert!(matches!(tx.take(2, id(1300))?, Taken::Again(1300, _)));
            Ok(After::Call(Box::new(|| ())))
        });
        real.core.tick(30, vec![look]).unwrap();
    };
    assert_eq!(real.core.next_due(), Some(30), "there is more to sweep");
    // A stop in between.
    real.restart();
    while real.core.next_due().is_some_and(|due| due <= 30) {
        learned(&mut real);
        left.push(rows(&real, 0));
        assert!(left.len() < 10, "it does not end: {left:?}");
    }
    assert_eq!(left, [788, 276, 0]);
    assert_eq!(rows(&real, 1), 10);
}
