//! The diary of one run: its journal, and the decision on which every recovery rests.
//!
//! A journal begins with an opening (plan, instance, the key's fingerprint, ledger), then perhaps a
//! checkpoint, then items; a resume adds a life. It is private, like the data. A long journal is
//! rewritten, atomically, with a checkpoint in place of the items. The ledger holds the run's last
//! instance and life, and its mark: how far releases may have left the process.
//!
//! **Order.** An item is in the journal before the mechanism takes it in. The release drawn from it
//! stays [`Pending`] until [`Diary::sync`] has made first the journal durable, then the mark; only
//! then can it be published. So every release that leaves is covered by the mark.
//!
//! **Two ways to recover.** Let `known` be the number of items in the journal, and `published` the
//! mark, or the number that the caller states if that is larger.
//! - `known ≥ published`: the journal reaches as far as any release. The items are replayed. Noise
//!   is a function of its address, so the run is restored bit for bit. Items beyond the mark were
//!   never published; drawing their releases again gives the same values.
//! - `known < published` (an old copy, a lost disk): releases have left whose items are not in the
//!   journal. If the run continued at its addresses, the same noise would be added to other items,
//!   and the difference of two such releases is exact. So the run continues as a **new instance**,
//!   with fresh addresses, on records that no instance has seen, from public values alone: the last
//!   known release (sums), or nothing.
//!
//! **A new instance costs nothing.** Each record is in one instance only, and the releases of an
//! instance depend on its own records and on values that were public when it began. So one record
//! affects one instance only, whose guarantee was paid for. No instance has more items than the
//! plan allows, since all instances count together. A record that is read in several passes is in
//! several instances, and all instances together are within the price of one
//! ([`Participation::Passes`](crate::Participation::Passes)).
//!
//! **The decision depends on counts alone**: `known`, `published` and names, never on contents. So
//! the fact that a new instance began reveals nothing about the data.
//!
//! **One writer.** Two copies of a journal that both continued would use their addresses twice. So
//! every object that opens or resumes a run is a *life* with a random name. The ledger records the
//! last life. A release leaves only from the life that drew it, and the ledger's mark moves only
//! for that life. A journal may be resumed if the ledger's life is its own last one, or the one
//! that its last life took over from, provided that the last life took in no item (a crash came
//! before the ledger recorded it); the same holds for a new instance. Any other journal has been
//! superseded.

mod error;

pub use error::DiaryError;

use super::ledger::Begun;
use super::{Ledger, LedgerError, LogError, RowLog, Storage};
use crate::boundary::{Grant, GuaranteeKind, Pending, Receipt, Released};
use crate::mechanism::{Generators, Terms};
use hushstream_noise::{Instance, Key};
use serde::{Deserialize, Serialize};
use std::marker::PhantomData;

/// How a run was resumed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CameBack {
    /// Everything ever published is in the journal: the run continues bit for bit as if it had
    /// never stopped.
    Continued,
    /// The journal is older than the last published release: a new instance continues. The records
    /// of the missing items must not be fed again.
    NewInstance {
        /// Number of missing items.
        lost: u64,
    },
}

/// The beginning of a run, or of a new instance of it.
#[derive(Clone, Serialize, Deserialize)]
struct Opening {
    /// The kind of mechanism: a journal of another kind is refused.
    kind: String,
    plan: Vec<u8>,
    instance: [u8; 16],
    /// The instance that this one took over from, according to the ledger.
    after: Option<[u8; 16]>,
    life: Life,
    key: [u8; 16],
    ledger: [u8; 16],
    number: u64,
    simulated: bool,
    /// Items of earlier instances, published or lost.
    before: u64,
}

/// The object that writes, and the one it took over from, according to the ledger.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct Life {
    name: [u8; 16],
    after: Option<[u8; 16]>,
}

/// The mechanism's state after some number of items, and a note of the caller's.
#[derive(Serialize, Deserialize)]
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
    Life(Life),
}

/// The first byte of an item; other records have the number of their kind there. The mechanism's
/// bytes follow without a copy, because items are written every round.
pub(crate) const ITEM: u8 = 3;

/// A journal that was read; nothing has changed yet.
pub(crate) struct Found {
    log: RowLog,
    opening: Opening,
    checkpoint: Option<Checkpoint>,
    items: Vec<Vec<u8>>,
    /// The last life.
    life: Life,
    /// Whether that life has taken in no item.
    life_is_fresh: bool,
}

/// Permission to take over a run.
pub(crate) struct Claim {
    pub(crate) outcome: CameBack,
    planned: u64,
    simulated: bool,
    begun: Option<Begun>,
    published: u64,
}

/// The journal of a run in progress.
pub(crate) struct Diary {
    log: RowLog,
    /// Length of the log when it was last rewritten.
    base: u64,
    opening: Opening,
    planned: u64,
    /// Items of this instance.
    items: u64,
    /// The last step, over all instances, that a sync covers.
    durable: u64,
    broken: bool,
    /// Bytes of the last item and of the row chain that the log appends.
    room: usize,
}

impl Diary {
    /// Begins a run with a grant, on empty storage.
    pub(crate) fn open(
        kind: &str,
        plan: Vec<u8>,
        terms: &Terms,
        grant: &Grant,
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
        check_grant(terms, grant)?;
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
        let mut diary = Self::assemble(log, opening, terms.planned);
        let opened = Record::Opened(Box::new(diary.opening.clone()));
        diary.log.append(encode(&opened)?)?;
        diary.log.sync()?;
        diary.begin(ledger)?;
        Ok(diary)
    }

    fn assemble(log: RowLog, opening: Opening, planned: u64) -> Self {
        Self {
            log,
            base: 0,
            opening,
            planned,
            items: 0,
            durable: 0,
            broken: false,
            room: 0,
        }
    }

    /// Records in the ledger that this object, and no other, continues the run.
    fn begin(&self, ledger: &mut Ledger) -> Result<(), LedgerError> {
        let Opening {
            number,
            instance,
            life,
            simulated,
            ..
        } = self.opening;
        ledger.begin(number, instance, life.name, simulated)
    }

    /// Number of items so far, over all instances.
    pub(crate) fn steps(&self) -> u64 {
        self.opening.before + self.items
    }

    /// The largest number of items of this instance.
    pub(crate) fn items_planned(&self) -> u64 {
        self.planned - self.opening.before
    }

    /// Number of items of this instance so far: the clock of its noise addresses and epochs.
    pub(crate) fn items(&self) -> u64 {
        self.items
    }

    /// The number of the charge in the ledger.
    pub(crate) fn number(&self) -> u64 {
        self.opening.number
    }

    pub(crate) fn is_simulated(&self) -> bool {
        self.opening.simulated
    }

    /// The name of the object that writes.
    pub(crate) fn life(&self) -> [u8; 16] {
        self.opening.life.name
    }

    /// What makes a run the same through all its lives and instances: its ledger, its charge and
    /// its plan.
    pub(crate) fn identity(&self) -> (&[u8; 16], u64, &[u8]) {
        let Opening {
            ledger,
            number,
            plan,
            ..
        } = &self.opening;
        (ledger, *number, plan)
    }

    /// The noise of this instance.
    pub(crate) fn generators<'a>(&self, key: &'a Key) -> Generators<'a> {
        Generators {
            key,
            instance: Instance::from_bytes(self.opening.instance),
            number: self.opening.number,
        }
    }

    /// Whether another item may come in.
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

    /// Whether the journal is stored at all.
    pub(crate) fn is_kept(&self) -> bool {
        self.log.is_kept()
    }

    /// Writes one item: `append` appends it to the given bytes. Without storage it is not even
    /// encoded. A failure leaves the mechanism between two states; the run must then be resumed.
    pub(crate) fn item(
        &mut self,
        append: impl FnOnce(Vec<u8>) -> Result<Vec<u8>, DiaryError>,
    ) -> Result<(), DiaryError> {
        self.check_open()?;
        if self.log.is_kept() {
            self.broken = true;
            // Allocate once: items have about equal lengths.
            let mut record = Vec::with_capacity(self.room);
            record.push(ITEM);
            let record = append(record)?;
            self.room = record.len() + RowLog::TAIL;
            self.log.append_item(record)?;
            self.broken = false;
        }
        self.items += 1;
        Ok(())
    }

    /// Counts an item that was read back.
    pub(crate) fn replayed(&mut self) {
        self.items += 1;
    }

    /// A value drawn after the last item.
    pub(crate) fn pending<T, G: GuaranteeKind>(&self, value: T) -> Pending<T, G> {
        Pending {
            value,
            receipt: Receipt {
                mechanism: self.opening.number,
                instance: self.opening.instance,
                step: self.steps(),
                simulated: self.opening.simulated,
            },
            life: self.opening.life.name,
            kind: PhantomData,
        }
    }

    pub(crate) fn sync(&mut self, ledger: &mut Ledger) -> Result<(), DiaryError> {
        if ledger.name() != self.opening.ledger {
            return Err(DiaryError::WrongLedger);
        }
        let steps = self.steps();
        self.log.sync()?;
        ledger.mark(self.opening.number, self.opening.life.name, steps)?;
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

    /// Whether a sync covers everything. A checkpoint then drops no item whose release a crash kept
    /// from being published.
    pub(crate) fn is_covered(&self) -> bool {
        self.durable == self.steps()
    }

    /// Bytes since the last checkpoint, and bytes of that checkpoint.
    pub(crate) fn length(&self) -> (u64, u64) {
        (self.log.bytes().saturating_sub(self.base), self.base)
    }

    /// Replaces the journal by a checkpoint of the current state.
    pub(crate) fn checkpoint(&mut self, state: Vec<u8>, note: Vec<u8>) -> Result<(), DiaryError> {
        if !self.is_covered() {
            return Err(DiaryError::Journal("a checkpoint must follow a sync"));
        }
        self.restart(state, note)
    }

    fn restart(&mut self, state: Vec<u8>, note: Vec<u8>) -> Result<(), DiaryError> {
        let checkpoint = Checkpoint {
            items: self.items,
            state,
            note,
        };
        let records = vec![
            encode(&Record::Opened(Box::new(self.opening.clone())))?,
            encode(&Record::Checkpoint(checkpoint))?,
        ];
        self.log.replace(records)?;
        self.base = self.log.bytes();
        Ok(())
    }

    /// Continues as the instance that was read.
    pub(crate) fn go_on(&mut self, claim: &Claim, ledger: &mut Ledger) -> Result<(), DiaryError> {
        self.log.append(encode(&Record::Life(self.opening.life))?)?;
        self.log.sync()?;
        self.hand_over(claim, ledger)
    }

    /// Takes fresh addresses, in memory; call [`Diary::go_anew`] next.
    pub(crate) fn renew(&mut self, claim: &Claim, key: &Key) -> Result<(), DiaryError> {
        self.opening.after = claim.begun.map(|begun| begun.instance);
        self.opening.before = claim.published;
        let instance = Instance::fresh(key, self.opening.number, claim.published)?;
        self.opening.instance = instance.to_bytes();
        self.items = 0;
        Ok(())
    }

    /// Continues as a new instance. The caller's note is kept: a crash at this point must not lose
    /// it.
    pub(crate) fn go_anew(
        &mut self,
        claim: &Claim,
        ledger: &mut Ledger,
        state: Vec<u8>,
        note: Vec<u8>,
    ) -> Result<(), DiaryError> {
        self.restart(state, note)?;
        self.hand_over(claim, ledger)
    }

    /// From here on this object, and no other, may publish.
    fn hand_over(&mut self, claim: &Claim, ledger: &mut Ledger) -> Result<(), DiaryError> {
        self.begin(ledger)?;
        ledger.mark(self.opening.number, self.life(), claim.published)?;
        self.durable = claim.published;
        Ok(())
    }
}

impl Found {
    /// Reads a journal of this kind.
    pub(crate) fn read(kind: &str, storage: Box<dyn Storage>) -> Result<Self, DiaryError> {
        let (log, payloads) = RowLog::open(storage)?;
        let mut payloads = (0..).zip(payloads);
        let Some((place, first)) = payloads.next() else {
            return Err(DiaryError::NoRun);
        };
        let Ok(Record::Opened(opening)) = postcard::from_bytes(&first) else {
            return Err(LogError::Record(place).into());
        };
        if opening.kind != kind {
            return Err(DiaryError::Journal("it holds a run of another mechanism"));
        }
        let mut found = Self {
            log,
            life: opening.life,
            life_is_fresh: true,
            opening: *opening,
            checkpoint: None,
            items: Vec::new(),
        };
        for (place, mut payload) in payloads {
            if payload.first() == Some(&ITEM) {
                payload.remove(0);
                found.life_is_fresh = false;
                found.items.push(payload);
                continue;
            }
            match postcard::from_bytes(&payload) {
                Ok(Record::Checkpoint(checkpoint)) if found.items.is_empty() => {
                    found.life_is_fresh = checkpoint.items == 0;
                    found.checkpoint = Some(checkpoint);
                }
                Ok(Record::Life(life)) => (found.life, found.life_is_fresh) = (life, true),
                _ => return Err(LogError::Record(place).into()),
            }
        }
        Ok(found)
    }

    /// The stored plan.
    pub(crate) fn plan(&self) -> &[u8] {
        &self.opening.plan
    }

    /// The note of the last checkpoint.
    pub(crate) fn note(&self) -> Option<&[u8]> {
        let checkpoint = self.checkpoint.as_ref();
        checkpoint.map(|checkpoint| &checkpoint.note[..])
    }

    /// Items of the last checkpoint.
    fn kept(&self) -> u64 {
        self.checkpoint.as_ref().map_or(0, |kept| kept.items)
    }

    /// Whether no item has come in since the opening.
    fn is_fresh(&self) -> bool {
        self.kept() == 0 && self.items.is_empty()
    }

    /// Decides whether the run may be taken over, and how it continues. Changes nothing.
    pub(crate) fn claim(
        &self,
        terms: &Terms,
        key: &Key,
        ledger: &Ledger,
        last_published: Option<u64>,
    ) -> Result<Claim, DiaryError> {
        let opening = &self.opening;
        if opening.ledger != ledger.name() {
            return Err(DiaryError::WrongLedger);
        }
        if opening.key != key.fingerprint() {
            return Err(DiaryError::WrongKey);
        }
        let planned = terms.planned;
        if let Some(given) = last_published.filter(|&given| given > planned) {
            return Err(DiaryError::LastPublished { given, planned });
        }
        let grant = ledger.grant(opening.number)?;
        check_grant(terms, &grant)?;
        let begun = ledger.begun(grant.number);
        let mark = match begun {
            // A crash came before the ledger recorded the beginning: `open` has not returned, so no
            // item was taken in.
            None if self.is_fresh() => 0,
            None => return Err(DiaryError::Superseded),
            Some(begun) => {
                let same = begun.instance == opening.instance;
                let heard = self.life.name == begun.life;
                // The journal began a new life or instance, and a crash came before the ledger
                // recorded it.
                let unheard = self.life.after == Some(begun.life) && self.life_is_fresh;
                let next = opening.after == Some(begun.instance)
                    && self.is_fresh()
                    && opening.before >= begun.mark;
                if !(same && (heard || unheard) || next && unheard) {
                    return Err(DiaryError::Superseded);
                }
                begun.mark
            }
        };
        let published = mark.max(last_published.unwrap_or(0));
        let items = self.kept().saturating_add(self.items.len() as u64);
        let known = opening.before.saturating_add(items);
        if known > planned {
            return Err(DiaryError::Journal("it is longer than its plan"));
        }
        let lost = known.max(published) - items;
        if let Some(why) = terms.needs_all.filter(|_| lost > 0) {
            return Err(DiaryError::Lost { lost, why });
        }
        let outcome = if known >= published {
            CameBack::Continued
        } else {
            CameBack::NewInstance {
                lost: published - known,
            }
        };
        Ok(Claim {
            outcome,
            planned,
            simulated: grant.simulated || key.is_simulated(),
            begun,
            published,
        })
    }

    /// The diary of a new life, in memory, with the checkpoint and the items to replay; call
    /// [`Diary::replayed`] for each item. Call [`Diary::go_on`], or [`Diary::renew`] and
    /// [`Diary::go_anew`], next.
    pub(crate) fn take_over(
        self,
        claim: &Claim,
    ) -> Result<(Diary, Option<Checkpoint>, Items), DiaryError> {
        let items = self.kept();
        let mut opening = self.opening;
        // The new life takes over from the one in the ledger.
        opening.life = Life {
            name: Instance::from_os()?.to_bytes(),
            after: claim.begun.map(|begun| begun.life),
        };
        opening.simulated |= claim.simulated;
        let mut diary = Diary::assemble(self.log, opening, claim.planned);
        diary.items = items;
        Ok((diary, self.checkpoint, self.items))
    }
}

/// Items as the journal holds them.
type Items = Vec<Vec<u8>>;

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
            granted: Box::new(grant.price),
            price: Box::new(terms.price),
        })
    }
}

/// Encodes a plan or a state.
pub(crate) fn encode(value: &impl Serialize) -> Result<Vec<u8>, DiaryError> {
    append(value, Vec::new())
}

/// Appends an encoded item.
pub(crate) fn append(value: &impl Serialize, out: Vec<u8>) -> Result<Vec<u8>, DiaryError> {
    postcard::to_extend(value, out).map_err(|_| LogError::TooLarge.into())
}

/// Decodes a plan, an item or a state.
pub(crate) fn decode<T: for<'a> Deserialize<'a>>(bytes: &[u8]) -> Result<T, DiaryError> {
    decode_first(bytes).map(|(value, _)| value)
}

const OTHER_VERSION: &str = "a record is of another version of this program; finish its run with \
                             that version, or begin it anew";

/// Decodes a value, and returns the bytes after it.
pub(crate) fn decode_first<T: for<'a> Deserialize<'a>>(
    bytes: &[u8],
) -> Result<(T, &[u8]), DiaryError> {
    postcard::take_from_bytes(bytes).map_err(|_| DiaryError::Journal(OTHER_VERSION))
}

/// Byte strings: serde would visit a sequence of small numbers one by one.
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
