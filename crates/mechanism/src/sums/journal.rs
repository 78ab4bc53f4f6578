//! The journal of one sum: what it took in, item by item, so that a replay is bit-identical. Private, like the data.
//!
//! It begins with an opening (plan, instance, key's fingerprint, ledger), then perhaps a checkpoint, then items. When it has grown
//! long it is written anew, atomically, with a checkpoint instead of the items.

use super::plan::PlanFields;
use super::running::State;
use crate::durable::{LogError, RowLog, Storage, packed};
use crate::persons::Persons;
use serde::{Deserialize, Serialize};

/// A journal is long from this many bytes; from fewer if items are small, of which each takes memory of its own when it is read; from more if they are large.
const LONG: u64 = 1 << 22;
const MANY_ITEMS: u64 = 1 << 15;
const FEW_ITEMS: u64 = 64;
/// Bytes of an item beside its numbers, about.
const FRAME: u64 = 32;

/// How a run, or a new instance of it, began.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct Opening {
    pub(crate) plan: PlanFields,
    pub(crate) instance: [u8; 16],
    /// The instance, as the ledger knew it, that this one took over from.
    pub(crate) after: Option<[u8; 16]>,
    /// The object that wrote this.
    pub(crate) life: Life,
    pub(crate) key: [u8; 16],
    pub(crate) ledger: [u8; 16],
    pub(crate) number: u64,
    pub(crate) simulated: bool,
    /// Items of earlier instances, published or lost.
    pub(crate) before: u64,
    /// The last known release of earlier instances: public.
    pub(crate) base: Vec<f64>,
}

/// The one object that writes a journal and may publish from it. Every resume begins another: two copies of a journal that went different ways have
/// different lives, and the ledger knows the last.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Life {
    pub(crate) name: [u8; 16],
    /// The life, as the ledger knew it, that this one took over from.
    pub(crate) after: Option<[u8; 16]>,
}

/// One item: the sum of a batch.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct Item {
    #[serde(with = "packed")]
    pub(crate) values: Vec<i64>,
    /// The person of every record, where the plan limits persons: whether a record was taken in
    /// follows.
    #[serde(with = "packed")]
    pub(crate) persons: Vec<u64>,
    #[serde(with = "postcard::fixint::le")]
    pub(crate) nulls: u64,
    #[serde(with = "postcard::fixint::le")]
    pub(crate) clipped: u64,
}

/// Everything after some number of items.
#[derive(Serialize, Deserialize)]
pub(crate) struct Checkpoint {
    pub(crate) items: u64,
    pub(crate) state: State,
    pub(crate) persons: Persons,
    #[serde(with = "postcard::fixint::le")]
    pub(crate) nulls: u64,
    #[serde(with = "postcard::fixint::le")]
    pub(crate) clipped: u64,
    /// Of whoever runs the sum.
    pub(crate) note: Vec<u8>,
}

#[derive(Serialize, Deserialize)]
enum Record {
    Opened(Box<Opening>),
    Checkpoint(Checkpoint),
    Item(Item),
    Life(Life),
}

/// Written without taking ownership; same encoding as [`Record`].
#[derive(Serialize)]
enum RecordRef<'a> {
    Opened(&'a Opening),
    Checkpoint(&'a Checkpoint),
    Item(&'a Item),
    Life(&'a Life),
}

/// What an existing journal holds.
pub(crate) struct Found {
    pub(crate) opening: Opening,
    pub(crate) checkpoint: Option<Checkpoint>,
    pub(crate) items: Vec<Item>,
    /// The last life.
    pub(crate) life: Life,
    /// Whether that life has taken nothing in.
    pub(crate) life_is_fresh: bool,
}

impl Found {
    /// Whether nothing has come in since the opening.
    pub(crate) fn is_fresh(&self) -> bool {
        let untouched = self
            .checkpoint
            .as_ref()
            .is_none_or(|checkpoint| checkpoint.items == 0);
        untouched && self.items.is_empty()
    }
}

/// The journal.
pub(crate) struct Journal {
    log: RowLog,
    /// Length of the log when it was last written anew.
    base: u64,
}

impl Journal {
    pub(crate) fn open(storage: Box<dyn Storage>) -> Result<(Self, Option<Found>), LogError> {
        let (log, payloads) = RowLog::open(storage)?;
        let mut found: Option<Found> = None;
        for (place, payload) in (0..).zip(payloads) {
            let broken = || LogError::Record(place);
            match (
                postcard::from_bytes(&payload).map_err(|_| broken())?,
                &mut found,
            ) {
                (Record::Opened(opening), None) => {
                    found = Some(Found {
                        life: opening.life,
                        life_is_fresh: true,
                        opening: *opening,
                        checkpoint: None,
                        items: Vec::new(),
                    });
                }
                (Record::Checkpoint(checkpoint), Some(found)) if found.items.is_empty() => {
                    found.life_is_fresh = checkpoint.items == 0;
                    found.checkpoint = Some(checkpoint);
                }
                (Record::Item(item), Some(found)) => {
                    found.life_is_fresh = false;
                    found.items.push(item);
                }
                (Record::Life(life), Some(found)) => {
                    (found.life, found.life_is_fresh) = (life, true);
                }
                _ => return Err(broken()),
            }
        }
        Ok((Self { log, base: 0 }, found))
    }

    /// Writes the opening, durably: a run that has published can always be found again.
    pub(crate) fn start(&mut self, opening: &Opening) -> Result<(), LogError> {
        self.log.append(encode(&RecordRef::Opened(opening))?)?;
        self.log.sync()
    }

    /// Writes down, durably, that another object goes on from here.
    pub(crate) fn begin_life(&mut self, life: &Life) -> Result<(), LogError> {
        self.log.append(encode(&RecordRef::Life(life))?)?;
        self.log.sync()
    }

    pub(crate) fn item(&mut self, item: &Item) -> Result<(), LogError> {
        if !self.log.is_kept() {
            return Ok(());
        }
        self.log.append_item(encode(&RecordRef::Item(item))?)
    }

    pub(crate) fn sync(&mut self) -> Result<(), LogError> {
        self.log.sync()
    }

    /// Replaces everything by an opening and a checkpoint, atomically and durably.
    pub(crate) fn restart(
        &mut self,
        opening: &Opening,
        checkpoint: &Checkpoint,
    ) -> Result<(), LogError> {
        let records = vec![
            encode(&RecordRef::Opened(opening))?,
            encode(&RecordRef::Checkpoint(checkpoint))?,
        ];
        self.log.replace(records)?;
        self.base = self.log.bytes();
        Ok(())
    }

    /// Whether a checkpoint would pay.
    pub(crate) fn is_long(&self, dimension: usize) -> bool {
        let since = self.log.bytes() - self.base;
        let item = FRAME + 8 * dimension as u64;
        let long = LONG.min(MANY_ITEMS * item).max(FEW_ITEMS * item);
        since > long.max(self.base)
    }
}

fn encode(record: &RecordRef<'_>) -> Result<Vec<u8>, LogError> {
    // Items are written once a round: all their bytes at once, instead of a vector that grows.
    let bytes = match record {
        RecordRef::Item(item) => {
            Vec::with_capacity(8 * (item.values.len() + item.persons.len()) + 64)
        }
        _ => Vec::new(),
    };
    postcard::to_extend(record, bytes).map_err(|_| LogError::Record(0))
}
