//! The store without threads: ticks of operations, each one transaction.

use super::backend::{Fence, Named, Reads, Rows, Touches};
use super::embedded::{self, Embedded};
use super::shared::Shared;
use super::{
    AuditRow, DatasetRow, Exact, ModelRow, ModelStatus, ReleaseRow, StoreError, TokenRow,
    corrupted, decode, encode, store_error,
};
use crate::clock::Millis;
use crate::rounds::{Event, Filled, Slot, State};
use redb::{Database, Durability};
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

/// Where the rows are.
enum Home {
    /// In one file, whose only writer this is: the rounds of all models are in memory too.
    Embedded(Arc<Database>),
    /// In a database that other nodes write: a tick locks and reads the rounds that it touches.
    Shared(Arc<Shared>),
}

/// The store and the rounds of its models.
pub struct Core {
    home: Home,
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
    rows: &'t mut dyn Rows,
    live: &'t mut HashMap<u64, Live>,
    due: &'t mut BTreeSet<(Millis, u64)>,
    sweeps: &'t mut VecDeque<Sweep>,
    changed: Vec<u64>,
    after: Vec<After>,
}

impl Core {
    /// Opens the embedded store, and counts this start: durably, before anything is answered.
    ///
    /// # Errors
    /// A store of another version; a disk that fails.
    pub fn open(db: Arc<Database>) -> Result<Self, StoreError> {
        let boot = embedded::open(&db)?;
        let rows = Arc::clone(&db);
        let mut core = Self::new(Home::Embedded(db), boot);
        for row in rows.models(None)? {
            let (state, exact) = rows.counts(row.number)?;
            let mut live = Live::new(Arc::new(row), state, exact);
            schedule(&mut live, &mut core.due);
            // What a stop left to be swept.
            let (model, first, end) = (live.row.number, 0, live.learned());
            if embedded::has_slots(&rows, model, end)? {
                core.sweeps.push_back(Sweep { model, first, end });
            }
            core.live.insert(model, live);
        }
        Ok(core)
    }

    /// Opens the store that several nodes share, and counts this start.
    ///
    /// # Errors
    /// Those of the database.
    pub(crate) fn open_shared(shared: Arc<Shared>) -> Result<Self, StoreError> {
        let mut core = Self::new(Home::Shared(shared), 0);
        let count: Op = Box::new(|tx| {
            let boot = tx.rows.number(Named::Meta, "boot")?.unwrap_or(0) + 1;
            tx.put_number(Named::Meta, "boot", boot)?;
            tx.boot = boot;
            Ok(After::Call(Box::new(|| ())))
        });
        core.tick_on(0, &Touches::settings(), vec![count])?;
        Ok(core)
    }

    fn new(home: Home, boot: u64) -> Self {
        Self {
            home,
            live: HashMap::new(),
            due: BTreeSet::new(),
            boot,
            latest: 0,
            sweeps: VecDeque::new(),
        }
    }

    /// Whether other nodes write this store: then a tick that fails is not the end.
    pub(crate) fn is_shared(&self) -> bool {
        matches!(self.home, Home::Shared(_))
    }

    /// Adds a line of the node to the audit log.
    ///
    /// # Errors
    /// Those of the store.
    pub(crate) fn audit(
        &mut self,
        now: Millis,
        what: String,
        subject: String,
    ) -> Result<(), StoreError> {
        let note: Op = Box::new(move |tx| {
            tx.audit(None, "node", &what, &subject)?;
            Ok(After::Call(Box::new(|| ())))
        });
        self.tick_on(now, &Touches::settings(), vec![note])
            .map(drop)
    }

    /// The random name of the embedded store, and how often it has published.
    ///
    /// # Errors
    /// A disk that fails.
    pub fn name(&self) -> Result<(u64, u64), StoreError> {
        match &self.home {
            Home::Embedded(db) => embedded::name(db),
            Home::Shared(_) => Ok((0, 0)),
        }
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
        self.tick_on(now, &Touches::default(), ops)
    }

    /// The same for operations of which is known what they touch.
    ///
    /// # Errors
    /// As [`Core::tick`]. Where nodes share the store, it is not known whether the tick is durable,
    /// and the next one may succeed.
    pub(crate) fn tick_on(
        &mut self,
        now: Millis,
        touches: &Touches,
        ops: Vec<Op>,
    ) -> Result<Vec<After>, StoreError> {
        // The clock of the store never goes back.
        self.latest = self.latest.max(now);
        match &self.home {
            Home::Embedded(db) => {
                let mut txn = db.begin_write().map_err(store_error)?;
                txn.set_durability(Durability::Immediate)
                    .map_err(store_error)?;
                let mut rows = Embedded::new(&txn)?;
                let after = self.run(&mut rows, |tx| tx.do_what_is_due(), ops)?;
                drop(rows);
                txn.commit().map_err(store_error)?;
                Ok(after)
            }
            Home::Shared(shared) => {
                self.live.clear();
                self.due.clear();
                // Of a tick that failed: what it learned from is still needed.
                self.sweeps.clear();
                let shared = Arc::clone(shared);
                let (mut rows, locked) = shared.begin(touches)?;
                for (row, state, exact, at) in locked {
                    // Nor does it between nodes, for a model.
                    self.latest = self.latest.max(at);
                    let number = row.number;
                    self.live.insert(number, Live::new(row, state, exact));
                }
                rows.now = self.latest;
                let settle = |tx: &mut Tx<'_>| touches.models.iter().for_each(|m| tx.settle(*m));
                let after = self.run(&mut rows, settle, ops)?;
                rows.commit()?;
                if touches.settings {
                    shared.follow()?;
                }
                Ok(after)
            }
        }
    }

    /// Settles what is due, then runs these operations, in a transaction that is not committed yet.
    fn run(
        &mut self,
        rows: &mut dyn Rows,
        settle: impl FnOnce(&mut Tx<'_>),
        ops: Vec<Op>,
    ) -> Result<Vec<After>, StoreError> {
        let mut tx = Tx {
            now: self.latest,
            boot: self.boot,
            rows,
            live: &mut self.live,
            due: &mut self.due,
            sweeps: &mut self.sweeps,
            changed: Vec::new(),
            after: Vec::new(),
        };
        settle(&mut tx);
        tx.run(ops)?;
        let (after, boot) = (tx.after, tx.boot);
        self.boot = boot;
        Ok(after)
    }
}

impl Live {
    fn new(row: Arc<ModelRow>, state: State, exact: Exact) -> Self {
        Self {
            row,
            state,
            exact,
            due: None,
            is_changed: false,
        }
    }

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
    fn run(&mut self, ops: Vec<Op>) -> Result<(), StoreError> {
        for op in ops {
            let after = op(self)?;
            self.after.push(after);
        }
        self.store_states()?;
        self.sweep()
    }

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
            self.rows.tell(format!("closed {model} {batch} {at}"));
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
                self.rows.put_state(&live.row, &live.state, &live.exact)?;
            }
        }
        Ok(())
    }

    /// The rounds of a model that the operation said it touches.
    fn locked(&self, model: u64) -> Result<&Live, StoreError> {
        let unknown = || corrupted("rounds that were not locked");
        self.live.get(&model).ok_or_else(unknown)
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
        if let Some(slot) = self.rows.slot_of(model, id)? {
            if slot < self.locked(model)?.learned() {
                return Ok(Taken::Learned);
            }
            let stored = self.rows.slot(model, slot)?;
            return Ok(stored.map_or(Taken::Learned, |stored| Taken::Again(slot, stored)));
        }
        let now = self.now;
        let row = Arc::clone(&self.locked(model)?.row);
        let slot = self.change(model, |state, _| state.take(now, &row.rounds));
        let Some(slot) = slot.flatten() else {
            return Ok(Taken::Over);
        };
        self.rows.put_id(model, id, slot)?;
        Ok(Taken::New(slot))
    }

    /// The open slot of an id. Before or after is decided here, by the durable mark.
    ///
    /// # Errors
    /// Those of the store.
    pub fn reach(&mut self, model: u64, id: [u8; 16]) -> Result<Reached, StoreError> {
        let Some(slot) = self.rows.slot_of(model, id)? else {
            return Ok(Reached::Unknown);
        };
        let live = self.locked(model)?;
        if live.state.is_closed(slot, &live.row.rounds) {
            return Ok(Reached::Closed);
        }
        let stored = self.rows.slot(model, slot)?;
        Ok(stored.map_or(Reached::Closed, |stored| Reached::Open(slot, stored)))
    }

    /// Stores what is in a slot.
    ///
    /// # Errors
    /// Those of the store.
    pub fn put_slot(&mut self, model: u64, place: u64, slot: &Slot) -> Result<(), StoreError> {
        self.rows.put_slot(model, place, slot)
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
        let live = self.locked(model)?;
        let closed = live.state.closed * live.row.rounds.batch;
        let (first, mut count, mut late) = (live.learned(), 0, 0);
        for (place, mut slot) in self.rows.slots_of(model, first, person)? {
            if place < closed {
                late += 1;
                continue;
            }
            (slot.deleted, slot.filled) = (true, Filled::Null);
            self.put_slot(model, place, &slot)?;
            count += 1;
        }
        Ok((count, late))
    }

    /// Adds or changes a model.
    ///
    /// # Errors
    /// Those of the store.
    pub fn put_model(&mut self, row: ModelRow) -> Result<Arc<ModelRow>, StoreError> {
        let (number, name) = (row.number, format!("{}/{}", row.tenant, row.name));
        self.rows.put_model(&row)?;
        self.put_number(Named::Names, &name, number)?;
        let row = Arc::new(row);
        match self.live.get_mut(&number) {
            Some(live) => live.row = Arc::clone(&row),
            None => {
                let live = Live::new(Arc::clone(&row), State::default(), Exact::default());
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
        for (key, mut row) in self.rows.datasets()? {
            row.locked = true;
            self.put_dataset(&key, &row)?;
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
        let next = self.rows.number(Named::Meta, "number")?.unwrap_or(0) + 1;
        self.put_number(Named::Meta, "number", next)?;
        Ok(next)
    }

    fn put_number(&mut self, of: Named, name: &str, number: u64) -> Result<(), StoreError> {
        self.rows.put_row(of, name, &number.to_le_bytes())
    }

    /// Makes a tenant; false if it is there.
    ///
    /// # Errors
    /// Those of the store.
    pub fn put_tenant(&mut self, name: &str) -> Result<bool, StoreError> {
        if self.has_tenant(name)? {
            return Ok(false);
        }
        self.put_number(Named::Tenants, name, self.now)?;
        Ok(true)
    }

    /// Whether there is such a tenant.
    ///
    /// # Errors
    /// Those of the store.
    pub fn has_tenant(&mut self, name: &str) -> Result<bool, StoreError> {
        Ok(self.rows.row(Named::Tenants, name)?.is_some())
    }

    /// A token.
    ///
    /// # Errors
    /// Those of the store.
    pub fn token(&mut self, id: &str) -> Result<Option<TokenRow>, StoreError> {
        let row = self.rows.row(Named::Tokens, id)?;
        row.map(|row| decode(&row)).transpose()
    }

    /// Stores a token.
    ///
    /// # Errors
    /// Those of the store.
    pub fn put_token(&mut self, id: &str, row: &TokenRow) -> Result<(), StoreError> {
        self.rows.put_row(Named::Tokens, id, &encode(row))
    }

    /// A data set, by `tenant/name`.
    ///
    /// # Errors
    /// Those of the store.
    pub fn dataset(&mut self, key: &str) -> Result<Option<DatasetRow>, StoreError> {
        let row = self.rows.row(Named::Datasets, key)?;
        row.map(|row| decode(&row)).transpose()
    }

    /// Stores a data set.
    ///
    /// # Errors
    /// Those of the store.
    pub fn put_dataset(&mut self, key: &str, row: &DatasetRow) -> Result<(), StoreError> {
        self.rows.put_row(Named::Datasets, key, &encode(row))
    }

    /// Whether `tenant/name` is a model.
    ///
    /// # Errors
    /// Those of the store.
    pub fn has_model(&mut self, key: &str) -> Result<bool, StoreError> {
        Ok(self.rows.row(Named::Names, key)?.is_some())
    }

    /// Stores a sealed secret, unless there is one.
    ///
    /// # Errors
    /// Those of the store.
    pub fn put_key(&mut self, name: &str, sealed: &[u8]) -> Result<(), StoreError> {
        if self.rows.row(Named::Keys, name)?.is_none() {
            self.rows.put_row(Named::Keys, name, sealed)?;
        }
        Ok(())
    }

    /// Whether this node may publish for a data set, until the commit: nobody takes it over before.
    ///
    /// # Errors
    /// Those of the store.
    pub fn holds(&mut self, fence: Option<Fence>) -> Result<bool, StoreError> {
        fence.map_or(Ok(true), |fence| self.rows.holds(fence))
    }

    /// Stores a release, if its version is new, and has the slots of the batches that were learned
    /// from swept.
    ///
    /// # Errors
    /// Those of the store.
    pub fn publish(
        &mut self,
        model: u64,
        (version, release): (u64, Option<ReleaseRow>),
        fed: u64,
    ) -> Result<(), StoreError> {
        self.rows.count_published()?;
        if let Some(release) = release {
            self.rows.put_release(model, version, &release)?;
            self.rows.tell(format!("released {model} {version}"));
        }
        let live = self.locked(model)?;
        let (first, last) = (live.state.fed, fed.max(live.state.fed));
        let batch = live.row.rounds.batch;
        let (first, end) = (first * batch, last * batch);
        self.sweeps.push_back(Sweep { model, first, end });
        self.change(model, |state, _| state.fed = last);
        Ok(())
    }

    /// Removes rows of slots that were learned from, some in each tick.
    fn sweep(&mut self) -> Result<(), StoreError> {
        let mut left = SWEPT;
        while left > 0 {
            let Some(Sweep { model, first, end }) = self.sweeps.front_mut() else {
                return Ok(());
            };
            let (count, next) = self.rows.drop_slots(*model, *first..*end, left)?;
            (left, *first) = (left - count, next);
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
        let (seq, prev) = match self.rows.last_audit()? {
            Some((seq, row)) => (seq + 1, row.hash),
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
        self.rows.put_audit(seq, &row)
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
