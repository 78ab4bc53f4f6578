//! The store without threads: ticks of operations, each one transaction.

use super::{
    AUDIT, AuditRow, DATASETS, DatasetRow, Exact, IDS, KEYS, META, MODELS, ModelRow, ModelStatus,
    NAMES, Published, RELEASES, ReleaseRow, SLOTS, STATES, StoreError, TENANTS, TOKENS, VERSION,
    decode, encode, store_error,
};
use crate::clock::Millis;
use crate::rounds::{Event, Filled, Slot, State};
use redb::{Database, Durability, ReadableDatabase, ReadableTable, Table};
use sha2::{Digest, Sha256};
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

/// What is done after the commit.
pub enum After {
    /// Tell the waiting caller.
    Call(Box<dyn FnOnce() + Send>),
    /// A batch is closed: its model learns.
    Closed {
        /// The model.
        model: Arc<ModelRow>,
        /// The batch.
        batch: u64,
        /// When.
        at: Millis,
    },
}

/// An operation: it runs inside the tick's transaction, and what it returns runs after the commit.
pub type Op = Box<dyn FnOnce(&mut Tx<'_>) -> Result<After, StoreError> + Send>;

/// The rounds of a model, in memory and in the store.
pub struct Live {
    /// The model.
    pub row: Arc<ModelRow>,
    /// Its rounds.
    pub state: State,
    /// Exact counts.
    pub exact: Exact,
    due: Option<Millis>,
    is_changed: bool,
}

/// The store and the rounds of all models.
pub struct Core {
    db: Arc<Database>,
    live: HashMap<u64, Live>,
    due: BTreeSet<(Millis, u64)>,
    boot: u64,
    latest: Millis,
    sweeps: VecDeque<Sweep>,
}

/// Slots that were learned from, whose rows are still there.
struct Sweep {
    model: u64,
    first: u64,
    end: u64,
}

/// The most rows that one tick sweeps: those of a large batch at once would hold everybody up.
const SWEPT: usize = 512;

/// What a request for a slot meets.
pub enum Taken {
    /// A new slot.
    New(u64),
    /// The slot that its id has already.
    Again(u64, Slot),
    /// Its id has a slot that was learned from.
    Learned,
    /// No slot is given out: all were, or the model is paused.
    Over,
}

/// What is told about an event meets.
pub enum Reached {
    /// Its slot, which is not closed.
    Open(u64, Slot),
    /// Its batch is closed.
    Closed,
    /// No slot has this id.
    Unknown,
}

/// A transaction in progress, for all operations of a tick.
pub struct Tx<'t> {
    /// The time of this tick.
    pub now: Millis,
    /// The number of this start of the server.
    pub boot: u64,
    pub(crate) meta: Table<'t, &'static str, u64>,
    pub(crate) tenants: Table<'t, &'static str, u64>,
    pub(crate) tokens: Table<'t, &'static str, &'static [u8]>,
    pub(crate) datasets: Table<'t, &'static str, &'static [u8]>,
    pub(crate) models: Table<'t, u64, &'static [u8]>,
    pub(crate) names: Table<'t, &'static str, u64>,
    states: Table<'t, u64, &'static [u8]>,
    slots: Table<'t, (u64, u64), &'static [u8]>,
    ids: Table<'t, (u64, [u8; 16]), u64>,
    releases: Table<'t, (u64, u64), &'static [u8]>,
    audit: Table<'t, u64, &'static [u8]>,
    pub(crate) keys: Table<'t, &'static str, &'static [u8]>,
    live: &'t mut HashMap<u64, Live>,
    due: &'t mut BTreeSet<(Millis, u64)>,
    sweeps: &'t mut VecDeque<Sweep>,
    changed: Vec<u64>,
    after: Vec<After>,
}

impl Core {
    /// Opens the store, and counts this start: durably, before anything is answered.
    ///
    /// # Errors
    /// A store of another version; a disk that fails.
    pub fn open(db: Arc<Database>) -> Result<Self, StoreError> {
        let txn = db.begin_write().map_err(store_error)?;
        let boot = {
            let mut meta = txn.open_table(META).map_err(store_error)?;
            let version = meta.get("version").map_err(store_error)?;
            if version.is_some_and(|version| version.value() != VERSION) {
                let told = "another version of the program wrote this store".to_owned();
                return Err(Box::new(redb::Error::Corrupted(told)));
            }
            let before = meta.get("boot").map_err(store_error)?;
            let boot = before.map_or(0, |boot| boot.value()) + 1;
            meta.insert("version", VERSION).map_err(store_error)?;
            meta.insert("boot", boot).map_err(store_error)?;
            boot
        };
        for table in [TOKENS, DATASETS, KEYS] {
            txn.open_table(table).map_err(store_error)?;
        }
        for table in [TENANTS, NAMES] {
            txn.open_table(table).map_err(store_error)?;
        }
        for table in [MODELS, STATES, AUDIT] {
            txn.open_table(table).map_err(store_error)?;
        }
        for table in [SLOTS, RELEASES] {
            txn.open_table(table).map_err(store_error)?;
        }
        txn.open_table(IDS).map_err(store_error)?;
        txn.commit().map_err(store_error)?;
        let mut core = Self {
            db,
            live: HashMap::new(),
            due: BTreeSet::new(),
            boot,
            latest: 0,
            sweeps: VecDeque::new(),
        };
        core.load()?;
        Ok(core)
    }

    fn load(&mut self) -> Result<(), StoreError> {
        let txn = self.db.begin_read().map_err(store_error)?;
        let models = txn.open_table(MODELS).map_err(store_error)?;
        let states = txn.open_table(STATES).map_err(store_error)?;
        let slots = txn.open_table(SLOTS).map_err(store_error)?;
        for entry in models.iter().map_err(store_error)? {
            let (number, row) = entry.map_err(store_error)?;
            let row: ModelRow = decode(row.value())?;
            let stored = states.get(number.value()).map_err(store_error)?;
            let (state, exact) = match stored {
                Some(stored) => decode(stored.value())?,
                None => (State::default(), Exact::default()),
            };
            let mut live = Live {
                row: Arc::new(row),
                state,
                exact,
                due: None,
                is_changed: false,
            };
            schedule(&mut live, &mut self.due);
            // What a stop left to be swept.
            let (model, end) = (number.value(), live.learned());
            let mut left = slots.range((model, 0)..(model, end)).map_err(store_error)?;
            if left.next().is_some() {
                let first = 0;
                self.sweeps.push_back(Sweep { model, first, end });
            }
            self.live.insert(model, live);
        }
        Ok(())
    }

    /// The store, to be read.
    #[must_use]
    pub fn db(&self) -> Arc<Database> {
        Arc::clone(&self.db)
    }

    /// The random name of this store, and how often it has published.
    ///
    /// # Errors
    /// A disk that fails.
    pub fn name(&self) -> Result<(u64, u64), StoreError> {
        let txn = self.db.begin_write().map_err(store_error)?;
        let told = {
            let mut meta = txn.open_table(META).map_err(store_error)?;
            let known = meta.get("name").map_err(store_error)?;
            let known = known.map(|known| known.value());
            let mut bytes = [0; 8];
            if known.is_none() && getrandom::fill(&mut bytes).is_err() {
                let told = "no random bytes".to_owned();
                return Err(Box::new(redb::Error::Corrupted(told)));
            }
            let name = known.unwrap_or(u64::from_le_bytes(bytes));
            meta.insert("name", name).map_err(store_error)?;
            let published = meta.get("published").map_err(store_error)?;
            (name, published.map_or(0, |published| published.value()))
        };
        txn.commit().map_err(store_error)?;
        Ok(told)
    }

    /// The number of this start.
    #[must_use]
    pub fn boot(&self) -> u64 {
        self.boot
    }

    /// All models, and how far each has learned and closed.
    pub fn models(&self) -> impl Iterator<Item = (&Arc<ModelRow>, &State)> {
        self.live.values().map(|live| (&live.row, &live.state))
    }

    /// When there is something to do next.
    #[must_use]
    pub fn next_due(&self) -> Option<Millis> {
        if !self.sweeps.is_empty() {
            return Some(self.latest);
        }
        self.due.first().map(|(at, _)| *at)
    }

    /// Does what is due, then these operations, in one durable commit. What they return is to be
    /// called now: it is durable.
    ///
    /// # Errors
    /// A disk that fails. Nothing of the tick is durable then, and the store must be opened again.
    pub fn tick(&mut self, now: Millis, ops: Vec<Op>) -> Result<Vec<After>, StoreError> {
        // The clock of the store never goes back.
        self.latest = self.latest.max(now);
        let now = self.latest;
        let mut txn = self.db.begin_write().map_err(store_error)?;
        txn.set_durability(Durability::Immediate)
            .map_err(store_error)?;
        let after = {
            let mut tx = Tx {
                now,
                boot: self.boot,
                meta: txn.open_table(META).map_err(store_error)?,
                tenants: txn.open_table(TENANTS).map_err(store_error)?,
                tokens: txn.open_table(TOKENS).map_err(store_error)?,
                datasets: txn.open_table(DATASETS).map_err(store_error)?,
                models: txn.open_table(MODELS).map_err(store_error)?,
                names: txn.open_table(NAMES).map_err(store_error)?,
                states: txn.open_table(STATES).map_err(store_error)?,
                slots: txn.open_table(SLOTS).map_err(store_error)?,
                ids: txn.open_table(IDS).map_err(store_error)?,
                releases: txn.open_table(RELEASES).map_err(store_error)?,
                audit: txn.open_table(AUDIT).map_err(store_error)?,
                keys: txn.open_table(KEYS).map_err(store_error)?,
                live: &mut self.live,
                due: &mut self.due,
                sweeps: &mut self.sweeps,
                changed: Vec::new(),
                after: Vec::new(),
            };
            tx.do_what_is_due();
            for op in ops {
                let after = op(&mut tx)?;
                tx.after.push(after);
            }
            tx.store_states()?;
            tx.sweep()?;
            tx.after
        };
        txn.commit().map_err(store_error)?;
        Ok(after)
    }
}

impl Live {
    /// The first slot that was not learned from.
    fn learned(&self) -> u64 {
        self.state.fed * self.row.rounds.batch
    }
}

/// Notes when a model is due next.
fn schedule(live: &mut Live, due: &mut BTreeSet<(Millis, u64)>) {
    let next = live.state.next_due(&live.row.rounds);
    if next != live.due {
        if let Some(at) = live.due {
            due.remove(&(at, live.row.number));
        }
        if let Some(at) = next {
            due.insert((at, live.row.number));
        }
        live.due = next;
    }
}

impl Tx<'_> {
    fn do_what_is_due(&mut self) {
        while let Some(&(at, model)) = self.due.first().filter(|(at, _)| *at <= self.now) {
            self.due.remove(&(at, model));
            if let Some(live) = self.live.get_mut(&model) {
                live.due = None;
            }
            self.settle(model);
        }
    }

    /// Does what is due of a model.
    fn settle(&mut self, model: u64) {
        let Some(live) = self.live.get_mut(&model) else {
            return;
        };
        let before = live.state.clone();
        for Event::Closed { batch, at } in live.state.tick(self.now, &live.row.rounds) {
            let model = Arc::clone(&live.row);
            self.after.push(After::Closed { model, batch, at });
        }
        let is_changed = live.state != before;
        schedule(live, self.due);
        if is_changed {
            self.mark(model);
        }
    }

    fn mark(&mut self, model: u64) {
        if let Some(live) = self.live.get_mut(&model)
            && !std::mem::replace(&mut live.is_changed, true)
        {
            self.changed.push(model);
        }
    }

    fn store_states(&mut self) -> Result<(), StoreError> {
        for model in std::mem::take(&mut self.changed) {
            if let Some(live) = self.live.get_mut(&model) {
                live.is_changed = false;
                let row = encode(&(&live.state, &live.exact));
                self.states
                    .insert(model, row.as_slice())
                    .map_err(store_error)?;
            }
        }
        Ok(())
    }

    /// The rounds of a model, to be looked at.
    #[must_use]
    pub fn live(&self, model: u64) -> Option<&Live> {
        self.live.get(&model)
    }

    /// The rounds of a model, to be changed.
    pub fn change<R>(
        &mut self,
        model: u64,
        f: impl FnOnce(&mut State, &mut Exact) -> R,
    ) -> Option<R> {
        self.mark(model);
        let live = self.live.get_mut(&model)?;
        let result = f(&mut live.state, &mut live.exact);
        schedule(live, self.due);
        Some(result)
    }

    /// The slot of an id: the next one, unless it has one already. An id never gets a second.
    ///
    /// # Errors
    /// Those of the store.
    pub fn take(&mut self, model: u64, id: [u8; 16]) -> Result<Taken, StoreError> {
        if let Some(slot) = self.slot_of(model, id)? {
            let live = self.live.get(&model);
            if live.is_some_and(|live| slot < live.learned()) {
                return Ok(Taken::Learned);
            }
            let stored = self.slot(model, slot)?;
            return Ok(stored.map_or(Taken::Learned, |stored| Taken::Again(slot, stored)));
        }
        let now = self.now;
        let Some(live) = self.live.get(&model) else {
            return Ok(Taken::Over);
        };
        let row = Arc::clone(&live.row);
        let slot = self.change(model, |state, _| state.take(now, &row.rounds));
        let Some(slot) = slot.flatten() else {
            return Ok(Taken::Over);
        };
        self.ids.insert((model, id), slot).map_err(store_error)?;
        Ok(Taken::New(slot))
    }

    /// The open slot of an id. Before or after is decided here, by the durable mark.
    ///
    /// # Errors
    /// Those of the store.
    pub fn reach(&self, model: u64, id: [u8; 16]) -> Result<Reached, StoreError> {
        let Some(slot) = self.slot_of(model, id)? else {
            return Ok(Reached::Unknown);
        };
        let live = self.live.get(&model);
        if live.is_none_or(|live| live.state.is_closed(slot, &live.row.rounds)) {
            return Ok(Reached::Closed);
        }
        let stored = self.slot(model, slot)?;
        Ok(stored.map_or(Reached::Closed, |stored| Reached::Open(slot, stored)))
    }

    fn slot_of(&self, model: u64, id: [u8; 16]) -> Result<Option<u64>, StoreError> {
        let slot = self.ids.get((model, id)).map_err(store_error)?;
        Ok(slot.map(|slot| slot.value()))
    }

    fn slot(&self, model: u64, slot: u64) -> Result<Option<Slot>, StoreError> {
        let row = self.slots.get((model, slot)).map_err(store_error)?;
        row.map(|row| decode(row.value())).transpose()
    }

    /// Stores what is in a slot.
    ///
    /// # Errors
    /// Those of the store.
    pub fn put_slot(&mut self, model: u64, place: u64, slot: &Slot) -> Result<(), StoreError> {
        let row = encode(slot);
        let put = self.slots.insert((model, place), row.as_slice());
        put.map(|_| ()).map_err(store_error)
    }

    /// Makes all slots of a person null that are not closed; how many, and how many are closed and
    /// not learned from yet.
    ///
    /// # Errors
    /// Those of the store.
    pub fn forget_person(
        &mut self,
        model: u64,
        person: [u8; 16],
    ) -> Result<(u64, u64), StoreError> {
        let Some(live) = self.live.get(&model) else {
            return Ok((0, 0));
        };
        let closed = live.state.closed * live.row.rounds.batch;
        let (mut own, mut late) = (Vec::new(), 0);
        let all = self
            .slots
            .range((model, live.learned())..=(model, u64::MAX));
        for entry in all.map_err(store_error)? {
            let (key, row) = entry.map_err(store_error)?;
            let slot: Slot = decode(row.value())?;
            if slot.person == Some(person) && key.value().1 < closed {
                late += 1;
            } else if slot.person == Some(person) {
                own.push((key.value().1, slot));
            }
        }
        let count = own.len() as u64;
        for (place, mut slot) in own {
            (slot.deleted, slot.filled) = (true, Filled::Null);
            self.put_slot(model, place, &slot)?;
        }
        Ok((count, late))
    }

    /// Adds or changes a model.
    ///
    /// # Errors
    /// Those of the store.
    pub fn put_model(&mut self, row: ModelRow) -> Result<Arc<ModelRow>, StoreError> {
        let (number, name) = (row.number, format!("{}/{}", row.tenant, row.name));
        let bytes = encode(&row);
        self.models
            .insert(number, bytes.as_slice())
            .map_err(store_error)?;
        self.names
            .insert(name.as_str(), number)
            .map_err(store_error)?;
        let row = Arc::new(row);
        match self.live.get_mut(&number) {
            Some(live) => live.row = Arc::clone(&row),
            None => {
                let live = Live {
                    row: Arc::clone(&row),
                    state: State::default(),
                    exact: Exact::default(),
                    due: None,
                    is_changed: false,
                };
                self.live.insert(number, live);
                self.mark(number);
            }
        }
        Ok(row)
    }

    /// Ends learning and charging of everything that is there.
    ///
    /// # Errors
    /// Those of the store.
    pub fn lock_all(&mut self) -> Result<(), StoreError> {
        let mut datasets = Vec::new();
        for entry in self.datasets.iter().map_err(store_error)? {
            let (key, row) = entry.map_err(store_error)?;
            let mut row: DatasetRow = decode(row.value())?;
            row.locked = true;
            datasets.push((key.value().to_owned(), encode(&row)));
        }
        for (key, row) in datasets {
            self.datasets
                .insert(key.as_str(), row.as_slice())
                .map_err(store_error)?;
        }
        let models: Vec<ModelRow> = self.live.values().map(|live| (*live.row).clone()).collect();
        for mut model in models {
            model.status = ModelStatus::Failed;
            let number = model.number;
            self.put_model(model)?;
            self.change(number, |state, _| state.ended = true);
        }
        Ok(())
    }

    /// A new number, for a folder.
    ///
    /// # Errors
    /// Those of the store.
    pub fn next_number(&mut self) -> Result<u64, StoreError> {
        let last = self.meta.get("number").map_err(store_error)?;
        let next = last.map_or(0, |last| last.value()) + 1;
        self.meta.insert("number", next).map_err(store_error)?;
        Ok(next)
    }

    /// Stores a release, if its version is new, and has the slots of the batches that were learned
    /// from swept. Gives the number of publications of this store.
    ///
    /// # Errors
    /// Those of the store.
    pub fn publish(
        &mut self,
        model: u64,
        (version, release): (u64, Option<ReleaseRow>),
        fed: u64,
    ) -> Result<u64, StoreError> {
        let count = self.meta.get("published").map_err(store_error)?;
        let count = count.map_or(0, |count| count.value()) + 1;
        self.meta.insert("published", count).map_err(store_error)?;
        if let Some(release) = release {
            let there = self.releases.get((model, version)).map_err(store_error)?;
            let is_new = there.is_none();
            drop(there);
            if is_new {
                let row = encode(&release);
                self.releases
                    .insert((model, version), row.as_slice())
                    .map_err(store_error)?;
            }
        }
        let Some(live) = self.live.get(&model) else {
            return Ok(count);
        };
        let (first, last) = (live.state.fed, fed.max(live.state.fed));
        let batch = live.row.rounds.batch;
        let (first, end) = (first * batch, last * batch);
        self.sweeps.push_back(Sweep { model, first, end });
        self.change(model, |state, _| state.fed = last);
        Ok(count)
    }

    /// Removes rows of slots that were learned from, some in each tick.
    fn sweep(&mut self) -> Result<(), StoreError> {
        let mut left = SWEPT;
        while left > 0 {
            let Some(Sweep { model, first, end }) = self.sweeps.front_mut() else {
                return Ok(());
            };
            let all = self.slots.range((*model, *first)..(*model, *end));
            let mut last = None;
            for entry in all.map_err(store_error)?.take(left) {
                last = Some(entry.map_err(store_error)?.0.value().1);
                left -= 1;
            }
            let next = last.map_or(*end, |last| last + 1);
            self.slots
                .retain_in((*model, *first)..(*model, next), |_, _| false)
                .map_err(store_error)?;
            *first = next;
            if next == *end {
                self.sweeps.pop_front();
            }
        }
        Ok(())
    }

    /// Adds a line to the audit log: names and kinds, no values.
    ///
    /// # Errors
    /// Those of the store.
    pub fn audit(
        &mut self,
        tenant: Option<&str>,
        who: &str,
        what: &str,
        subject: &str,
    ) -> Result<(), StoreError> {
        let (seq, prev) = match self.audit.last().map_err(store_error)? {
            Some((seq, row)) => (seq.value() + 1, decode::<AuditRow>(row.value())?.hash),
            None => (1, [0; 32]),
        };
        let mut row = AuditRow {
            at: self.now,
            tenant: tenant.map(str::to_owned),
            who: who.to_owned(),
            what: what.to_owned(),
            subject: subject.to_owned(),
            prev,
            hash: [0; 32],
        };
        row.hash = row.chained(seq);
        let bytes = encode(&row);
        self.audit
            .insert(seq, bytes.as_slice())
            .map_err(store_error)?;
        Ok(())
    }
}

impl AuditRow {
    /// The hash of this line, which holds that of the line before.
    #[must_use]
    pub fn chained(&self, seq: u64) -> [u8; 32] {
        let told = (seq, self.at, &self.tenant, &self.who, &self.what);
        let mut hash = Sha256::new();
        hash.update(encode(&(told, &self.subject, self.prev)));
        hash.finalize().into()
    }
}

/// Reads a release that was stored.
///
/// # Errors
/// Those of the store.
pub(crate) fn published(
    db: &Database,
    model: u64,
    version: Option<u64>,
) -> Result<Option<Published>, StoreError> {
    let txn = db.begin_read().map_err(store_error)?;
    let releases = txn.open_table(RELEASES).map_err(store_error)?;
    let last = version.unwrap_or(u64::MAX);
    let first = version.unwrap_or(0);
    let mut range = releases
        .range((model, first)..=(model, last))
        .map_err(store_error)?;
    let Some(entry) = range.next_back() else {
        return Ok(None);
    };
    let (key, row) = entry.map_err(store_error)?;
    let row: ReleaseRow = decode(row.value())?;
    Ok(Some(Published {
        version: key.value().1,
        at: row.at,
        file: row.file.into(),
    }))
}

/// The slots of a closed batch, in their order; nothing for one that is null.
///
/// # Errors
/// Those of the store.
pub fn batch_of(
    db: &Database,
    model: &ModelRow,
    batch: u64,
) -> Result<Vec<Option<Slot>>, StoreError> {
    let txn = db.begin_read().map_err(store_error)?;
    let slots = txn.open_table(SLOTS).map_err(store_error)?;
    let size = model.rounds.batch;
    let first = batch * size;
    let mut all: Vec<Option<Slot>> = (0..size).map(|_| None).collect();
    let range = (model.number, first)..(model.number, first + size);
    for entry in slots.range(range).map_err(store_error)? {
        let (key, row) = entry.map_err(store_error)?;
        let place = (key.value().1 - first) as usize;
        all[place] = Some(decode(row.value())?);
    }
    Ok(all)
}

/// The rounds of a model, as they are stored.
///
/// # Errors
/// Those of the store.
pub(crate) fn state_of(db: &Database, model: u64) -> Result<State, StoreError> {
    Ok(counts_of(db, model)?.0)
}

/// The rounds of a model, and its exact counts.
///
/// # Errors
/// Those of the store.
pub(crate) fn counts_of(db: &Database, model: u64) -> Result<(State, Exact), StoreError> {
    let txn = db.begin_read().map_err(store_error)?;
    let states = txn.open_table(STATES).map_err(store_error)?;
    match states.get(model).map_err(store_error)? {
        Some(row) => decode(row.value()),
        None => Ok((State::default(), Exact::default())),
    }
}
