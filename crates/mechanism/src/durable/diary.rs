//! The diary of one run: what every mechanism but a sum writes down so that a stop changes nothing.
//!
//! It begins with an opening (plan, instance, key's fingerprint, ledger), then perhaps a checkpoint, then items, all as bytes that the mechanism
//! encodes. Private, like the data. Three duties, the same for selections, feedback and solvers:
//! - an item is written before anything that depends on it can leave: pending values wait for [`Diary::sync`];
//! - one object, known to the ledger by a random name, may publish; a later resume takes over;
//! - if more was published than the diary knows (an old copy), the run goes on as a new instance with fresh addresses **and an empty state**, on items
//!   that nobody has seen. Each item is in one instance only, so the guarantee of one instance covers it. The decision depends on counts alone.

mod error;
mod found;

pub use error::DiaryError;

use super::{Ledger, LedgerError, LogError, RowLog, Storage};
use crate::boundary::{Grant, GuaranteeKind, Pending, Receipt, Released, Scope};
use hushstream_account::Price;
use hushstream_noise::{Instance, Key, Source};
use serde::{Deserialize, Serialize};
use std::marker::PhantomData;

/// A diary is long from this many bytes, or from this many times its last checkpoint.
const LONG: u64 = 1 << 20;
/// Generators of one mechanism.
const STREAMS: u64 = 128;

/// How a run came back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CameBack {
    /// Everything that was ever published is in the journal: bit for bit as if it had never stopped.
    Continued,
    /// The journal is older than what was published: a new instance goes on with an empty state. The items in between must not be fed again.
    NewInstance {
        /// How many items are missing.
        lost: u64,
    },
}

/// How a run, or a new instance of it, began.
#[derive(Clone, Serialize, Deserialize)]
struct Opening {
    /// The kind of mechanism: a journal of another kind is refused.
    kind: String,
    plan: Vec<u8>,
    instance: [u8; 16],
    after: Option<[u8; 16]>,
    life: Life,
    key: [u8; 16],
    ledger: [u8; 16],
    number: u64,
    simulated: bool,
    before: u64,
}

/// The one object that writes, and the one, as the ledger knew it, that it took over from.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct Life {
    name: [u8; 16],
    after: Option<[u8; 16]>,
}

/// Everything after some number of items: the mechanism's state, and a note of whoever runs it.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Checkpoint {
    pub(crate) items: u64,
    #[serde(with = "bytes")]
    pub(crate) state: Vec<u8>,
    #[serde(with = "bytes")]
    pub(crate) note: Vec<u8>,
}

#[derive(Serialize, Deserialize)]
enum Record {
    Opened(Box<Opening>),
    Checkpoint(Checkpoint),
    Item(#[serde(with = "bytes")] Vec<u8>),
    Life(Life),
}

/// A journal that was read, before anything has changed.
pub(crate) struct FoundDiary {
    log: RowLog,
    opening: Opening,
    checkpoint: Option<Checkpoint>,
    items: Vec<Vec<u8>>,
    life: Life,
    life_is_fresh: bool,
}

/// What a plan costs, about what, and how many items it may take in.
pub(crate) struct Terms {
    pub(crate) price: Price,
    pub(crate) scope: Scope,
    pub(crate) planned: u64,
}

/// The diary.
pub(crate) struct Diary {
    log: RowLog,
    /// Length of the log when it was last written anew.
    base: u64,
    opening: Opening,
    grant: Grant,
    planned: u64,
    items: u64,
    durable: u64,
    broken: bool,
    noted: bool,
}

impl Diary {
    /// Begins a run that has been paid for, on empty storage.
    pub(crate) fn open(
        kind: &str,
        plan: Vec<u8>,
        terms: &Terms,
        grant: Grant,
        key: &Key,
        ledger: &mut Ledger,
        storage: Box<dyn Storage>,
    ) -> Result<Self, DiaryError> {
        if ledger.name() != grant.ledger {
            return Err(DiaryError::WrongLedger);
        }
        if ledger.begun(grant.number).is_some() {
            return Err(LedgerError::Begun(grant.number).into());
        }
        let (log, records) = RowLog::open(storage)?;
        if !records.is_empty() {
            return Err(DiaryError::Journal("it holds a run already; resume it"));
        }
        check_grant(terms, &grant)?;
        let opening = Opening {
            kind: kind.to_owned(),
            plan,
            instance: Instance::fresh(key, grant.number, 0)?.to_bytes(),
            after: None,
            life: Life {
                name: Instance::from_os()?.to_bytes(),
                after: None,
            },
            key: key.fingerprint(),
            ledger: grant.ledger,
            number: grant.number,
            simulated: grant.simulated || key.is_simulated(),
            before: 0,
        };
        let mut diary = Self::assemble(log, opening, grant, terms.planned);
        diary.append(&Record::Opened(Box::new(diary.opening.clone())))?;
        diary.log.sync()?;
        let (instance, life) = (diary.opening.instance, diary.opening.life.name);
        ledger.begin(diary.grant.number, instance, life, diary.is_simulated())?;
        Ok(diary)
    }

    fn assemble(log: RowLog, opening: Opening, grant: Grant, planned: u64) -> Self {
        Self {
            log,
            base: 0,
            opening,
            grant,
            planned,
            items: 0,
            durable: 0,
            broken: false,
            noted: false,
        }
    }

    /// Items taken in, over all instances.
    pub(crate) fn steps(&self) -> u64 {
        self.opening.before + self.items
    }

    /// Items taken in by this instance: the clock of its noise addresses and epochs.
    pub(crate) fn items(&self) -> u64 {
        self.items
    }

    pub(crate) fn is_simulated(&self) -> bool {
        self.opening.simulated
    }

    /// Generator `stream` of this mechanism in this instance.
    pub(crate) fn source(&self, key: &Key, stream: u64) -> Source {
        debug_assert!(stream < STREAMS);
        let instance = Instance::from_bytes(self.opening.instance);
        Source::open(key, instance, self.grant.number * STREAMS + stream)
    }

    /// Whether one more item may come in.
    pub(crate) fn check_open(&self) -> Result<(), DiaryError> {
        if self.broken {
            return Err(DiaryError::Broken);
        }
        if self.steps() >= self.planned {
            return Err(DiaryError::Exhausted {
                planned: self.planned,
                refused: self.steps() + 1,
            });
        }
        Ok(())
    }

    /// Writes one item. After a failure the run must be resumed.
    pub(crate) fn item(&mut self, bytes: Vec<u8>) -> Result<(), DiaryError> {
        self.check_open()?;
        self.broken = true;
        self.log.append_item(encode(&Record::Item(bytes))?)?;
        self.broken = false;
        self.items += 1;
        Ok(())
    }

    /// The same for items whose encoding costs something: not even made where nothing is kept.
    pub(crate) fn item_with(
        &mut self,
        bytes: impl FnOnce() -> Result<Vec<u8>, DiaryError>,
    ) -> Result<(), DiaryError> {
        if self.log.is_kept() {
            return self.item(bytes()?);
        }
        self.check_open()?;
        self.items += 1;
        Ok(())
    }

    /// A value drawn after the last item.
    pub(crate) fn pending<T, G: GuaranteeKind>(&self, value: T) -> Pending<T, G> {
        Pending {
            value,
            receipt: Receipt {
                mechanism: self.grant.number,
                instance: self.opening.instance,
                step: self.steps(),
                simulated: self.opening.simulated,
            },
            life: self.opening.life.name,
            kind: PhantomData,
        }
    }

    pub(crate) fn sync(&mut self, ledger: &mut Ledger) -> Result<(), DiaryError> {
        if ledger.name() != self.grant.ledger {
            return Err(DiaryError::WrongLedger);
        }
        let steps = self.steps();
        self.log.sync()?;
        ledger.mark(self.grant.number, self.opening.life.name, steps)?;
        self.durable = steps;
        Ok(())
    }

    pub(crate) fn publish<T, G: GuaranteeKind>(
        &self,
        pending: Pending<T, G>,
    ) -> Result<Released<T, G>, Pending<T, G>> {
        if pending.life == self.opening.life.name && pending.receipt.step <= self.durable {
            Ok(pending.publish())
        } else {
            Err(pending)
        }
    }

    /// From now on whoever runs the mechanism makes its checkpoints.
    pub(crate) fn keep_note(&mut self) {
        self.noted = true;
    }

    /// Whether a checkpoint would pay, and may be made: nothing unsynced may be lost by it.
    pub(crate) fn checkpoint_is_due(&self) -> bool {
        let since = self.log.bytes().saturating_sub(self.base);
        self.durable == self.steps() && since > LONG.max(8 * self.base)
    }

    /// Whether the mechanism itself should checkpoint now.
    pub(crate) fn must_checkpoint(&self) -> bool {
        !self.noted && self.checkpoint_is_due()
    }

    /// Replaces the journal by a checkpoint of the present state.
    pub(crate) fn checkpoint(
        &mut self,
        state: &impl Serialize,
        note: Vec<u8>,
    ) -> Result<(), DiaryError> {
        if self.durable != self.steps() {
            return Err(DiaryError::Journal("a checkpoint must follow a sync"));
        }
        let checkpoint = Checkpoint {
            items: self.items,
            state: encode(state)?,
            note,
        };
        self.restart(checkpoint)
    }

    fn restart(&mut self, checkpoint: Checkpoint) -> Result<(), DiaryError> {
        let records = vec![
            encode(&Record::Opened(Box::new(self.opening.clone())))?,
            encode(&Record::Checkpoint(checkpoint))?,
        ];
        self.log.replace(records)?;
        self.base = self.log.bytes();
        Ok(())
    }

    fn append(&mut self, record: &Record) -> Result<(), DiaryError> {
        Ok(self.log.append(encode(record)?)?)
    }
}

/// A run that was taken over. If it continued, the mechanism restores the checkpoint's state, if there is one, puts the items through itself, each counted by
/// [`Diary::replayed`], and is where it was. In a new instance it begins empty; checkpoint and items then tell only what was known of the old one.
pub(crate) struct Back {
    pub(crate) diary: Diary,
    pub(crate) outcome: CameBack,
    pub(crate) checkpoint: Option<Checkpoint>,
    pub(crate) items: Vec<Vec<u8>>,
}

impl Diary {
    /// Counts an item that was read back.
    pub(crate) fn replayed(&mut self) {
        self.items += 1;
    }
}

fn check_grant(terms: &Terms, grant: &Grant) -> Result<(), DiaryError> {
    if grant.scope != terms.scope {
        return Err(DiaryError::OtherScope {
            granted: grant.scope,
            plan: terms.scope,
        });
    }
    if grant.price.covers(&terms.price) {
        Ok(())
    } else {
        Err(DiaryError::GrantBelowPrice {
            granted: grant.price,
            price: terms.price,
        })
    }
}

/// The bytes of a plan, a state or an item.
pub(crate) fn encode(value: &impl Serialize) -> Result<Vec<u8>, DiaryError> {
    postcard::to_allocvec(value).map_err(|_| LogError::TooLarge.into())
}

/// An item or a state that was read back.
pub(crate) fn decode<T: for<'a> Deserialize<'a>>(bytes: &[u8]) -> Result<T, DiaryError> {
    postcard::from_bytes(bytes).map_err(|_| DiaryError::Journal("a record is not of this version"))
}

/// Bytes as bytes: a sequence of small numbers would be visited one by one.
mod bytes {
    use serde::de::{Deserializer, Error, Visitor};
    use serde::ser::Serializer;
    use std::fmt;

    pub(super) fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(bytes)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<u8>, D::Error> {
        struct Bytes;
        impl Visitor<'_> for Bytes {
            type Value = Vec<u8>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("bytes")
            }

            fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Vec<u8>, E> {
                Ok(bytes.to_vec())
            }
        }
        deserializer.deserialize_bytes(Bytes)
    }
}
