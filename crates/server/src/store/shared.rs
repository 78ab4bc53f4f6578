//! The store that several nodes share, in PostgreSQL.
//!
//! A tick of a node is one transaction, for all requests that wait there. It begins with the locks
//! that its operations need, in one order for all nodes, so that no two wait for each other: first
//! settings (all ticks share this lock, and one that changes settings has it alone), then the
//! rounds of its models by their numbers. Under these locks it reads what it works on, and at its
//! end it writes what changed. Then the rounds in `core.rs` mean what they mean in the embedded
//! store:
//!
//! 1. **Slots are gapless, and an id never gets a second one.** The counter of a model is read and
//!    written under the lock of its rounds, which is held until the commit. Ids are looked up under
//!    the same lock, and (model, id) and (model, slot) are primary keys: were a lock forgotten, the
//!    second commit would fail. A slot is taken before its content is looked at, as operations are
//!    the same code for both stores.
//! 2. **An answer means committed.** Callers are answered after the commit is acknowledged. If it
//!    is not, they are told to ask again with the same id, and get the first answer if it was
//!    durable.
//! 3. **A batch closes once, and alike for all.** Whoever locks rounds first does what is due, then
//!    the operations. Whether a reward is late is decided under this lock against the durable mark.
//!    The time of a model's rounds never goes back, whichever clocks nodes have.
//! 4. **One node learns, under the fence of its lease.** Ledger, journals and releases are written
//!    by transactions that hold the lease's row with the writer's fence (`hushstream_postgres` says
//!    why a holder that was paused writes nothing). A release, the mark of what was learned from
//!    and the end of the slots are one such transaction; so is what becomes of a model that failed.
//! 5. **What is answered with was stored and witnessed.** A release is read back after its commit,
//!    and the node notes in its own witness the last frame of the ledger, before it answers with it
//!    or tells of it.
//!
//! Settings are in the memory of each node. A tick that changes them reads what is new under its
//! lock; other nodes are told at the commit, and look at the latest after a second.

use super::backend::{Fence, Named, Reads, Rows, Touches, in_places, number_of, rounds_of};
use super::{
    AuditRow, DatasetRow, Exact, ModelRow, Published, ReleaseRow, StoreError, TokenRow, corrupted,
    decode, encode,
};
use crate::auth::Tokens;
use crate::clock::Millis;
use crate::rounds::{Slot, State};
use hushstream::mechanism::{MemoryStorage, Storage};
use hushstream_postgres::tokio_postgres::types::ToSql;
use hushstream_postgres::tokio_postgres::{self, Row};
use hushstream_postgres::{Error, Lease, Object, SAY, Store, Witness, number};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

/// Any number, the same for all nodes.
const SETTINGS: i64 = 0x6875_7369;
/// The kind of the rows of models among the settings.
const MODEL: i16 = 6;

/// Settings as this node knows them.
#[derive(Default)]
struct Known {
    changed: i64,
    tenants: BTreeSet<String>,
    datasets: BTreeMap<String, DatasetRow>,
    names: BTreeMap<String, u64>,
    models: HashMap<u64, Arc<ModelRow>>,
    keys: BTreeMap<String, Vec<u8>>,
    tokens: BTreeMap<String, TokenRow>,
}

/// The store of one node.
pub struct Shared {
    pub(crate) store: Arc<Store>,
    pub(crate) witness: Witness,
    tokens: Arc<Tokens>,
    known: RwLock<Known>,
    /// One at a time reads what is new.
    following: Mutex<()>,
    leases: Mutex<HashMap<u64, Lease>>,
}

/// What waits to be done.
pub(crate) struct Waiting {
    /// Models whose rounds are due.
    pub(crate) due: Vec<u64>,
    /// Models that have closed batches to learn from, which nobody else holds.
    pub(crate) behind: Vec<u64>,
}

/// Rounds that a tick has locked, and the time of their last change.
type Locked = (Arc<ModelRow>, State, Exact, Millis);

fn kind(of: Named) -> i16 {
    match of {
        Named::Meta => 0,
        Named::Tenants => 1,
        Named::Tokens => 2,
        Named::Datasets => 3,
        Named::Names => 4,
        Named::Keys => 5,
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A number of the database, which holds none below 0.
fn back(number: i64) -> u64 {
    number.cast_unsigned()
}

impl Known {
    fn take(&mut self, kind: i16, name: String, row: &[u8]) -> Result<(), StoreError> {
        match kind {
            1 => drop(self.tenants.insert(name)),
            2 => drop(self.tokens.insert(name, decode(row)?)),
            3 => drop(self.datasets.insert(name, decode(row)?)),
            4 => drop(self.names.insert(name, number_of(row)?)),
            5 => drop(self.keys.insert(name, row.to_vec())),
            MODEL => {
                let row: ModelRow = decode(row)?;
                self.models.insert(row.number, Arc::new(row));
            }
            _ => {}
        }
        Ok(())
    }
}

impl Shared {
    /// The store behind this connection, whose witness was checked.
    ///
    /// # Errors
    /// Those of the database.
    pub(crate) fn new(
        store: Arc<Store>,
        witness: Witness,
        tokens: Arc<Tokens>,
    ) -> Result<Self, StoreError> {
        let shared = Self {
            store,
            witness,
            tokens,
            known: RwLock::default(),
            following: Mutex::default(),
            leases: Mutex::default(),
        };
        shared.follow()?;
        Ok(shared)
    }

    fn known(&self) -> std::sync::RwLockReadGuard<'_, Known> {
        self.known.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the settings that are new.
    ///
    /// # Errors
    /// Those of the database.
    pub(crate) fn follow(&self) -> Result<(), StoreError> {
        let client = self.store.wait(self.store.client())?;
        self.follow_with(&client)
    }

    fn follow_with(&self, client: &Object) -> Result<(), StoreError> {
        let _one = lock(&self.following);
        let changed = self.known().changed;
        let sql = "SELECT kind, name, row, changed FROM settings WHERE changed > $1";
        let rows = self.ask(client, sql, &[&changed])?;
        if rows.is_empty() {
            return Ok(());
        }
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        for row in &rows {
            let (kind, name): (i16, String) = (row.get(0), row.get(1));
            known.take(kind, name.clone(), row.get(2))?;
            known.changed = known.changed.max(row.get(3));
            match known.tokens.get(&name) {
                Some(token) if kind == 2 && !token.ended => self.tokens.add(name, token.clone()),
                Some(_) if kind == 2 => self.tokens.remove(&name),
                _ => {}
            }
        }
        Ok(())
    }

    fn ask(
        &self,
        client: &Object,
        sql: &str,
        with: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<Row>, Error> {
        self.store.wait(async {
            let statement = client.prepare_cached(sql).await?;
            Ok(client.query(&statement, with).await?)
        })
    }

    /// A query outside of a transaction.
    fn look(&self, sql: &str, with: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>, Error> {
        let client = self.store.wait(self.store.client())?;
        self.ask(&client, sql, with)
    }

    /// A model by its number.
    pub(crate) fn numbered(&self, model: u64) -> Option<Arc<ModelRow>> {
        self.known().models.get(&model).cloned()
    }

    /// The data set of a model.
    pub(crate) fn dataset_of(&self, row: &ModelRow) -> Option<DatasetRow> {
        let key = format!("{}/{}", row.tenant, row.dataset);
        self.known().datasets.get(&key).cloned()
    }

    /// Begins a transaction, with the locks that a tick needs; and what is locked.
    ///
    /// # Errors
    /// Those of the database.
    pub(crate) fn begin(
        self: &Arc<Self>,
        touches: &Touches,
    ) -> Result<(SharedRows, Vec<Locked>), StoreError> {
        let client = self.store.wait(self.store.client())?;
        let mut rows = SharedRows::new(self, client);
        let share = if touches.settings { "" } else { "_shared" };
        let begin = format!(
            "BEGIN ISOLATION LEVEL READ COMMITTED; SELECT pg_advisory_xact_lock{share}({SETTINGS})"
        );
        let client = rows.client()?;
        self.store
            .wait(async { Ok(client.batch_execute(&begin).await?) })?;
        if touches.settings {
            self.follow_with(client)?;
        }
        let models: Vec<i64> = touches
            .models
            .iter()
            .map(|model| number(*model))
            .collect::<Result<_, _>>()?;
        let (of, ids): (Vec<i64>, Vec<&[u8]>) = {
            let of = touches.ids.iter().map(|(model, _)| number(*model));
            let ids = touches.ids.iter().map(|(_, id)| id.as_slice());
            (of.collect::<Result<_, _>>()?, ids.collect())
        };
        let (rounds, known) = self.store.wait(async {
            let rounds = async {
                let sql = "SELECT model, at, row FROM rounds WHERE model = ANY($1)
                    ORDER BY model FOR UPDATE";
                let statement = client.prepare_cached(sql).await?;
                Ok::<_, Error>(client.query(&statement, &[&models]).await?)
            };
            // A statement of its own, which sees what was committed before the lock was given.
            let rounds = rounds.await?;
            let ids = if ids.is_empty() {
                Vec::new()
            } else {
                let sql = "SELECT i.model, i.id, i.slot, s.row
                    FROM unnest($1::bigint[], $2::bytea[]) AS w (model, id)
                    JOIN ids i ON i.model = w.model AND i.id = w.id
                    LEFT JOIN slots s ON s.model = i.model AND s.slot = i.slot";
                let statement = client.prepare_cached(sql).await?;
                client.query(&statement, &[&of, &ids]).await?
            };
            Ok((rounds, ids))
        })?;
        let (mut slot_of, mut slots) = (HashMap::new(), HashMap::new());
        for (model, id) in &touches.ids {
            slot_of.insert((*model, *id), None);
        }
        for row in &known {
            let (model, slot) = (back(row.get(0)), back(row.get(2)));
            let id: &[u8] = row.get(1);
            let id: [u8; 16] = id.try_into().map_err(|_| corrupted("an id"))?;
            slot_of.insert((model, id), Some(slot));
            let bytes: Option<&[u8]> = row.get(3);
            slots.insert((model, slot), bytes.map(decode).transpose()?);
        }
        let mut locked = Vec::with_capacity(rounds.len());
        for row in &rounds {
            let number = back(row.get(0));
            let model = match self.numbered(number) {
                Some(model) => model,
                None => {
                    self.follow_with(client)?;
                    let unknown = || corrupted("rounds without their model");
                    self.numbered(number).ok_or_else(unknown)?
                }
            };
            let (state, exact) = rounds_of(Some(row.get(2)))?;
            locked.push((model, state, exact, back(row.get(1))));
        }
        (rows.slot_of, rows.slots) = (slot_of, slots);
        Ok((rows, locked))
    }

    /// What waits: for this clock, and for this node.
    ///
    /// # Errors
    /// Those of the database.
    pub(crate) fn waiting(&self, now: Millis) -> Result<Waiting, StoreError> {
        let sql = "SELECT r.model, coalesce(r.due <= $1, false), r.behind AND
                (l.dataset IS NULL OR l.holder = $2 OR l.until < clock_timestamp())
            FROM rounds r LEFT JOIN leases l ON l.dataset = r.dataset
            WHERE r.due <= $1 OR r.behind LIMIT 1000";
        let rows = self.look(sql, &[&number(now)?, &self.store.holder()])?;
        let those = |place: usize| {
            let of = rows.iter().filter(|row| row.get(place));
            of.map(|row| back(row.get(0))).collect()
        };
        Ok(Waiting {
            due: those(1),
            behind: those(2),
        })
    }

    /// The database's time.
    ///
    /// # Errors
    /// Those of the database.
    pub(crate) fn time(&self) -> Result<Millis, StoreError> {
        let sql = "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint";
        let rows = self.look(sql, &[])?;
        Ok(rows.first().map_or(0, |row| back(row.get(0))))
    }

    /// Takes the lease of a data set, unless another node holds it.
    ///
    /// # Errors
    /// Those of the database.
    pub(crate) fn take(&self, dataset: u64) -> Result<Option<Lease>, Error> {
        let lease = self.store.take_lease(dataset)?;
        if let Some(lease) = &lease {
            lock(&self.leases).insert(dataset, lease.clone());
        }
        Ok(lease)
    }

    /// Asks the holder of a data set to let go.
    ///
    /// # Errors
    /// Those of the database.
    pub(crate) fn want(&self, dataset: u64) -> Result<(), Error> {
        let (from, what) = (self.store.holder(), format!("wanted {dataset}"));
        self.look(SAY, &[&from, &what]).map(|_| ())
    }

    /// What a log holds now, in memory.
    ///
    /// # Errors
    /// A log that is damaged; those of the database.
    pub(crate) fn copy_of(&self, log: &str) -> std::io::Result<MemoryStorage> {
        let mut copy = MemoryStorage::default();
        copy.append(&self.store.contents(log)?)?;
        Ok(copy)
    }

    /// Whether this lease is still held, as far as this node knows. Only the database knows.
    pub(crate) fn seems_held(&self, dataset: u64, lease: &Lease) -> bool {
        let held = lock(&self.leases);
        let held = held.get(&dataset);
        held.is_some_and(|held| held.fence() == lease.fence())
    }

    /// Ends a lease. What writes under it must be closed.
    pub(crate) fn let_go(&self, dataset: u64, lease: &Lease) {
        lock(&self.leases).remove(&dataset);
        if let Err(error) = self.store.end_lease(lease) {
            // It ends by itself.
            tracing::warn!(%error, dataset, "a lease was not ended");
        }
    }

    /// Lengthens all leases; forgets those that another node has.
    pub(crate) fn renew(&self) {
        let held: Vec<(u64, Lease)> = {
            let held = lock(&self.leases);
            held.iter()
                .map(|(set, lease)| (*set, lease.clone()))
                .collect()
        };
        for (dataset, lease) in held {
            if matches!(self.store.renew_lease(&lease), Ok(false)) {
                tracing::warn!(dataset, "another node has taken this data set over");
                let mut held = lock(&self.leases);
                if held
                    .get(&dataset)
                    .is_some_and(|now| now.fence() == lease.fence())
                {
                    held.remove(&dataset);
                }
            }
        }
    }

    fn lease_of(&self, (dataset, fence): Fence) -> Option<Lease> {
        let held = lock(&self.leases);
        let lease = held.get(&dataset)?;
        (lease.fence() == fence).then(|| lease.clone())
    }

    fn published(
        &self,
        model: u64,
        (first, last): (u64, u64),
        order: &str,
        most: usize,
    ) -> Result<Vec<Published>, StoreError> {
        let sql = format!(
            "SELECT version, bytes FROM releases WHERE run = $1 AND version BETWEEN $2 AND $3
             ORDER BY version {order} LIMIT $4"
        );
        let (first, last) = (bounded(first), bounded(last));
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let rows = self.look(&sql, &[&model.to_string(), &first, &last, &most])?;
        let rows = rows.iter();
        rows.map(|row| Ok(Published::new(back(row.get(0)), decode(row.get(1))?)))
            .collect()
    }
}

/// A bound that a caller states.
fn bounded(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// The rows of a transaction: read ahead, and written together at its end.
pub(crate) struct SharedRows {
    shared: Arc<Shared>,
    /// None once it is over. Dropped before, its connection ends, and with it the transaction.
    client: Option<Object>,
    /// The time of the tick.
    pub(crate) now: Millis,
    fence: i64,
    settings: BTreeMap<(i16, String), Vec<u8>>,
    rounds: BTreeMap<u64, (i64, Option<i64>, bool, Vec<u8>)>,
    slot_of: HashMap<(u64, [u8; 16]), Option<u64>>,
    new_ids: Vec<(i64, Vec<u8>, i64)>,
    slots: HashMap<(u64, u64), Option<Slot>>,
    new_slots: BTreeSet<(u64, u64)>,
    old_slots: BTreeSet<(u64, u64)>,
    said: Vec<String>,
}

impl Drop for SharedRows {
    fn drop(&mut self) {
        if let Some(client) = self.client.take() {
            drop(Object::take(client));
        }
    }
}

impl SharedRows {
    fn new(shared: &Arc<Shared>, client: Object) -> Self {
        Self {
            shared: Arc::clone(shared),
            client: Some(client),
            now: 0,
            fence: 0,
            settings: BTreeMap::new(),
            rounds: BTreeMap::new(),
            slot_of: HashMap::new(),
            new_ids: Vec::new(),
            slots: HashMap::new(),
            new_slots: BTreeSet::new(),
            old_slots: BTreeSet::new(),
            said: Vec::new(),
        }
    }

    fn client(&self) -> Result<&Object, Error> {
        let over = || Error::Connection("the transaction is over".to_owned());
        self.client.as_ref().ok_or_else(over)
    }

    fn ask(&self, sql: &str, with: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>, Error> {
        self.shared.ask(self.client()?, sql, with)
    }

    /// Writes everything, and commits.
    ///
    /// # Errors
    /// Those of the database. Then it is not known whether the transaction is durable.
    pub(crate) fn commit(mut self) -> Result<(), StoreError> {
        if !self.settings.is_empty() {
            self.said.push("settings".to_owned());
        }
        let (mut new, mut old) = (Slots::default(), Slots::default());
        for (keys, columns) in [(&self.new_slots, &mut new), (&self.old_slots, &mut old)] {
            for key in keys {
                if let Some(Some(slot)) = self.slots.get(key) {
                    columns.add(*key, slot)?;
                }
            }
        }
        let client = self.client()?;
        self.shared.store.wait(async {
            let run = async |sql: &str, with: &[&(dyn ToSql + Sync)]| {
                let statement = client.prepare_cached(sql).await?;
                Ok::<u64, Error>(client.execute(&statement, with).await?)
            };
            if !self.settings.is_empty() {
                let (mut kinds, mut names, mut rows) = (Vec::new(), Vec::new(), Vec::new());
                for ((kind, name), row) in &self.settings {
                    kinds.push(*kind);
                    names.push(name.as_str());
                    rows.push(row.as_slice());
                }
                let sql = "INSERT INTO settings AS s (kind, name, row, changed)
                    SELECT kind, name, row, (SELECT coalesce(max(changed), 0) + 1 FROM settings)
                    FROM unnest($1::smallint[], $2::text[], $3::bytea[]) AS w (kind, name, row)
                    ON CONFLICT (kind, name) DO UPDATE
                    SET row = excluded.row, changed = excluded.changed";
                run(sql, &[&kinds, &names, &rows]).await?;
            }
            if !self.new_ids.is_empty() {
                let (mut models, mut ids, mut slots) = (Vec::new(), Vec::new(), Vec::new());
                for (model, id, slot) in &self.new_ids {
                    models.push(*model);
                    ids.push(id.as_slice());
                    slots.push(*slot);
                }
                let sql = "INSERT INTO ids (model, id, slot)
                    SELECT * FROM unnest($1::bigint[], $2::bytea[], $3::bigint[])";
                run(sql, &[&models, &ids, &slots]).await?;
            }
            if !new.models.is_empty() {
                let sql = "INSERT INTO slots (model, slot, row)
                    SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::bytea[])";
                run(sql, &[&new.models, &new.slots, &new.rows]).await?;
            }
            if !old.models.is_empty() {
                let sql = "UPDATE slots s SET row = w.row
                    FROM unnest($1::bigint[], $2::bigint[], $3::bytea[]) AS w (model, slot, row)
                    WHERE s.model = w.model AND s.slot = w.slot";
                let count = run(sql, &[&old.models, &old.slots, &old.rows]).await?;
                if count != old.models.len() as u64 {
                    return Err(Error::Refused("a slot is gone under its lock".to_owned()));
                }
            }
            for (model, (dataset, due, behind, row)) in &self.rounds {
                let sql = "INSERT INTO rounds (model, dataset, at, due, behind, row)
                    VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (model) DO UPDATE
                    SET at = excluded.at, due = excluded.due, behind = excluded.behind,
                        row = excluded.row";
                let (model, at) = (number(*model)?, number(self.now)?);
                run(sql, &[&model, dataset, &at, due, behind, row]).await?;
            }
            for what in &self.said {
                run(SAY, &[&self.shared.store.holder(), what]).await?;
            }
            Ok(client.batch_execute("COMMIT").await?)
        })?;
        // The connection may be used again.
        drop(self.client.take());
        Ok(())
    }
}

/// Slots as columns.
#[derive(Default)]
struct Slots {
    models: Vec<i64>,
    slots: Vec<i64>,
    rows: Vec<Vec<u8>>,
}

impl Slots {
    fn add(&mut self, (model, slot): (u64, u64), row: &Slot) -> Result<(), Error> {
        self.models.push(number(model)?);
        self.slots.push(number(slot)?);
        self.rows.push(encode(row));
        Ok(())
    }
}

impl Rows for SharedRows {
    fn row(&mut self, of: Named, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        if let Some(row) = self.settings.get(&(kind(of), name.to_owned())) {
            return Ok(Some(row.clone()));
        }
        let sql = "SELECT row FROM settings WHERE kind = $1 AND name = $2";
        let rows = self.ask(sql, &[&kind(of), &name])?;
        Ok(rows.first().map(|row| row.get(0)))
    }

    fn put_row(&mut self, of: Named, name: &str, row: &[u8]) -> Result<(), StoreError> {
        let key = (kind(of), name.to_owned());
        self.settings.insert(key, row.to_vec());
        Ok(())
    }

    fn datasets(&mut self) -> Result<Vec<(String, DatasetRow)>, StoreError> {
        let known = self.shared.known();
        let all = known.datasets.iter();
        Ok(all.map(|(key, row)| (key.clone(), row.clone())).collect())
    }

    fn put_model(&mut self, row: &ModelRow) -> Result<(), StoreError> {
        let key = (MODEL, row.number.to_string());
        self.settings.insert(key, encode(row));
        Ok(())
    }

    fn put_state(
        &mut self,
        row: &ModelRow,
        state: &State,
        exact: &Exact,
    ) -> Result<(), StoreError> {
        let dataset = self.shared.dataset_of(row);
        let dataset = dataset.ok_or_else(|| corrupted("a model without its data set"))?;
        let due = state.next_due(&row.rounds).map(bounded);
        let is_behind = state.fed < state.closed;
        let bytes = encode(&(state, exact));
        let dataset = number(dataset.number)?;
        self.rounds
            .insert(row.number, (dataset, due, is_behind, bytes));
        Ok(())
    }

    fn slot_of(&mut self, model: u64, id: [u8; 16]) -> Result<Option<u64>, StoreError> {
        if let Some(known) = self.slot_of.get(&(model, id)) {
            return Ok(*known);
        }
        let sql = "SELECT slot FROM ids WHERE model = $1 AND id = $2";
        let rows = self.ask(sql, &[&number(model)?, &id.as_slice()])?;
        let slot = rows.first().map(|row| back(row.get(0)));
        self.slot_of.insert((model, id), slot);
        Ok(slot)
    }

    fn put_id(&mut self, model: u64, id: [u8; 16], slot: u64) -> Result<(), StoreError> {
        self.slot_of.insert((model, id), Some(slot));
        self.new_ids
            .push((number(model)?, id.to_vec(), number(slot)?));
        self.new_slots.insert((model, slot));
        self.slots.insert((model, slot), None);
        Ok(())
    }

    fn slot(&mut self, model: u64, slot: u64) -> Result<Option<Slot>, StoreError> {
        if let Some(known) = self.slots.get(&(model, slot)) {
            return Ok(known.clone());
        }
        let sql = "SELECT row FROM slots WHERE model = $1 AND slot = $2";
        let rows = self.ask(sql, &[&number(model)?, &number(slot)?])?;
        let row = rows.first().map(|row| decode(row.get(0))).transpose()?;
        self.slots.insert((model, slot), row.clone());
        Ok(row)
    }

    fn put_slot(&mut self, model: u64, slot: u64, row: &Slot) -> Result<(), StoreError> {
        self.slots.insert((model, slot), Some(row.clone()));
        if !self.new_slots.contains(&(model, slot)) {
            self.old_slots.insert((model, slot));
        }
        Ok(())
    }

    fn slots_of(
        &mut self,
        model: u64,
        first: u64,
        person: [u8; 16],
    ) -> Result<Vec<(u64, Slot)>, StoreError> {
        let sql = "SELECT slot FROM slots WHERE model = $1 AND slot >= $2";
        let rows = self.ask(sql, &[&number(model)?, &number(first)?])?;
        let mut all: BTreeSet<u64> = rows.iter().map(|row| back(row.get(0))).collect();
        let own = self.slots.keys();
        let own = own.filter(|(of, slot)| *of == model && *slot >= first);
        all.extend(own.map(|(_, slot)| *slot));
        let mut own = Vec::new();
        for place in all {
            if let Some(slot) = self.slot(model, place)?
                && slot.person == Some(person)
            {
                own.push((place, slot));
            }
        }
        Ok(own)
    }

    fn drop_slots(
        &mut self,
        model: u64,
        slots: Range<u64>,
        _: usize,
    ) -> Result<(usize, u64), StoreError> {
        // In the transaction of their release: another node may publish the next.
        let sql = "DELETE FROM slots WHERE model = $1 AND slot >= $2 AND slot < $3";
        let (first, last) = (number(slots.start)?, number(slots.end)?);
        self.ask(sql, &[&number(model)?, &first, &last])?;
        let is_there = |key: &(u64, u64)| key.0 != model || !slots.contains(&key.1);
        self.new_slots.retain(is_there);
        self.old_slots.retain(is_there);
        for (_, slot) in self.slots.iter_mut().filter(|(key, _)| !is_there(key)) {
            *slot = None;
        }
        Ok((0, slots.end))
    }

    fn put_release(
        &mut self,
        model: u64,
        version: u64,
        row: &ReleaseRow,
    ) -> Result<(), StoreError> {
        let sql = "INSERT INTO releases (run, version, fence, bytes) VALUES ($1, $2, $3, $4)
            ON CONFLICT DO NOTHING";
        let (run, version, bytes) = (model.to_string(), number(version)?, encode(row));
        self.ask(sql, &[&run, &version, &self.fence, &bytes])?;
        Ok(())
    }

    fn count_published(&mut self) -> Result<(), StoreError> {
        // The witness of this store is about frames of ledgers.
        Ok(())
    }

    fn last_audit(&mut self) -> Result<Option<(u64, AuditRow)>, StoreError> {
        let rows = self.ask("SELECT seq, row FROM audit ORDER BY seq DESC LIMIT 1", &[])?;
        let last = rows.first();
        last.map(|row| Ok((back(row.get(0)), decode(row.get(1))?)))
            .transpose()
    }

    fn put_audit(&mut self, seq: u64, row: &AuditRow) -> Result<(), StoreError> {
        let sql = "INSERT INTO audit (seq, tenant, row) VALUES ($1, $2, $3)";
        self.ask(sql, &[&number(seq)?, &row.tenant, &encode(row)])?;
        Ok(())
    }

    fn holds(&mut self, fence: Fence) -> Result<bool, StoreError> {
        let Some(lease) = self.shared.lease_of(fence) else {
            return Ok(false);
        };
        let client: &tokio_postgres::Client = self.client()?;
        let is_held = self.shared.store.wait(lease.is_held(client))?;
        self.fence = fence.1;
        Ok(is_held)
    }

    fn tell(&mut self, what: String) {
        self.said.push(what);
    }
}

impl Reads for Shared {
    fn tokens(&self) -> Result<Vec<(String, TokenRow)>, StoreError> {
        let known = self.known();
        let all = known.tokens.iter();
        Ok(all.map(|(id, row)| (id.clone(), row.clone())).collect())
    }

    fn has_tenant(&self, name: &str) -> Result<bool, StoreError> {
        Ok(self.known().tenants.contains(name))
    }

    fn model(&self, tenant: &str, name: &str) -> Result<Option<Arc<ModelRow>>, StoreError> {
        let known = self.known();
        let number = known.names.get(&format!("{tenant}/{name}"));
        Ok(number.and_then(|number| known.models.get(number)).cloned())
    }

    fn models(&self, tenant: Option<&str>) -> Result<Vec<ModelRow>, StoreError> {
        let known = self.known();
        let Some(tenant) = tenant else {
            return Ok(known.models.values().map(|row| (**row).clone()).collect());
        };
        let own = known
            .names
            .range(format!("{tenant}/")..format!("{tenant}0"));
        let rows = own.filter_map(|(_, number)| known.models.get(number));
        Ok(rows.map(|row| (**row).clone()).collect())
    }

    fn dataset(&self, tenant: &str, name: &str) -> Result<Option<DatasetRow>, StoreError> {
        let key = format!("{tenant}/{name}");
        Ok(self.known().datasets.get(&key).cloned())
    }

    fn datasets(&self, tenant: &str) -> Result<Vec<(String, DatasetRow)>, StoreError> {
        let first = format!("{tenant}/");
        let known = self.known();
        let own = known.datasets.range(first.clone()..format!("{tenant}0"));
        let named = own.map(|(key, row)| (key[first.len()..].to_owned(), row.clone()));
        Ok(named.collect())
    }

    fn key(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(self.known().keys.get(name).cloned())
    }

    fn release(&self, model: u64, version: Option<u64>) -> Result<Option<Published>, StoreError> {
        let range = version.map_or((0, u64::MAX), |version| (version, version));
        Ok(self.published(model, range, "DESC", 1)?.pop())
    }

    fn releases(&self, model: u64, first: u64, most: usize) -> Result<Vec<Published>, StoreError> {
        self.published(model, (first, u64::MAX), "ASC", most)
    }

    fn audit(
        &self,
        first: u64,
        tenant: Option<&str>,
        most: usize,
    ) -> Result<Vec<(u64, AuditRow)>, StoreError> {
        let sql = "SELECT seq, row FROM audit
            WHERE seq >= $1 AND tenant IS NOT DISTINCT FROM coalesce($2, tenant)
            ORDER BY seq LIMIT $3";
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let rows = self.look(sql, &[&bounded(first), &tenant, &most])?;
        let rows = rows.iter();
        rows.map(|row| Ok((back(row.get(0)), decode(row.get(1))?)))
            .collect()
    }

    fn attest(&self, row: &ModelRow, _: &super::Witness) -> Result<(), StoreError> {
        let dataset = self.dataset_of(row);
        let dataset = dataset.ok_or_else(|| corrupted("a model without its data set"))?;
        Ok(self.witness.note(dataset.number)?)
    }

    fn counts(&self, model: u64) -> Result<(State, Exact), StoreError> {
        let rows = self.look(
            "SELECT row FROM rounds WHERE model = $1",
            &[&number(model)?],
        )?;
        rounds_of(rows.first().map(|row| row.get(0)))
    }

    fn batch(&self, row: &ModelRow, batch: u64) -> Result<Vec<Option<Slot>>, StoreError> {
        let (size, first) = (row.rounds.batch, batch * row.rounds.batch);
        let sql = "SELECT slot, row FROM slots WHERE model = $1 AND slot >= $2 AND slot < $3";
        let range = (number(first)?, number(first + size)?);
        let rows = self.look(sql, &[&number(row.number)?, &range.0, &range.1])?;
        let slots = rows
            .iter()
            .map(|row| Ok((back(row.get(0)), decode(row.get(1))?)));
        in_places(size, first, slots)
    }
}
