//! The embedded store: one file, one writer, one durable commit per tick.
//!
//! | table | key | row | private |
//! |---|---|---|---|
//! | `meta` | name | version of the format, number of starts | no |
//! | `tenants`, `tokens`, `datasets` | name | settings; of a token its hash | no |
//! | `models`, `names` | number; name | settings and status | no |
//! | `states` | model | rounds so far; exact counts for the operator | counts |
//! | `slots` | model, slot | what fills it, until it is learned from | yes |
//! | `ids` | model, keyed hash | slot, for as long as the model | no |
//! | `releases` | model, version | the model file and its time | no |
//! | `audit` | number | who did what | no |
//! | `keys` | name | secrets, sealed under the master key | yes |

use super::backend::{Fence, Named, Reads, Rows, in_places, number_of, rounds_of};
use super::{
    AuditRow, DatasetRow, Exact, ModelRow, Published, ReleaseRow, StoreError, TokenRow, VERSION,
    Witness, corrupted, decode, encode, store_error,
};
use crate::rounds::{Slot, State};
use redb::{
    Database, ReadOnlyTable, ReadTransaction, ReadableDatabase, ReadableTable, Table,
    TableDefinition, WriteTransaction,
};
use std::ops::Range;
use std::sync::Arc;

type Bytes = &'static [u8];
type Named64 = TableDefinition<'static, &'static str, u64>;
type NamedRow = TableDefinition<'static, &'static str, Bytes>;
const META: Named64 = TableDefinition::new("meta");
const TENANTS: Named64 = TableDefinition::new("tenants");
const TOKENS: NamedRow = TableDefinition::new("tokens");
const DATASETS: NamedRow = TableDefinition::new("datasets");
const MODELS: TableDefinition<'_, u64, Bytes> = TableDefinition::new("models");
const NAMES: Named64 = TableDefinition::new("names");
const STATES: TableDefinition<'_, u64, Bytes> = TableDefinition::new("states");
const SLOTS: TableDefinition<'_, (u64, u64), Bytes> = TableDefinition::new("slots");
const IDS: TableDefinition<'_, (u64, [u8; 16]), u64> = TableDefinition::new("ids");
const RELEASES: TableDefinition<'_, (u64, u64), Bytes> = TableDefinition::new("releases");
const AUDIT: TableDefinition<'_, u64, Bytes> = TableDefinition::new("audit");
const KEYS: NamedRow = TableDefinition::new("keys");

/// The tables of a transaction.
pub(crate) struct Embedded<'t> {
    meta: Table<'t, &'static str, u64>,
    tenants: Table<'t, &'static str, u64>,
    tokens: Table<'t, &'static str, Bytes>,
    datasets: Table<'t, &'static str, Bytes>,
    models: Table<'t, u64, Bytes>,
    names: Table<'t, &'static str, u64>,
    states: Table<'t, u64, Bytes>,
    slots: Table<'t, (u64, u64), Bytes>,
    ids: Table<'t, (u64, [u8; 16]), u64>,
    releases: Table<'t, (u64, u64), Bytes>,
    audit: Table<'t, u64, Bytes>,
    keys: Table<'t, &'static str, Bytes>,
}

impl<'t> Embedded<'t> {
    /// Opens all tables.
    pub(crate) fn new(txn: &'t WriteTransaction) -> Result<Self, StoreError> {
        Ok(Self {
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
        })
    }

    fn numbers(&mut self, of: Named) -> Option<&mut Table<'t, &'static str, u64>> {
        match of {
            Named::Meta => Some(&mut self.meta),
            Named::Tenants => Some(&mut self.tenants),
            Named::Names => Some(&mut self.names),
            Named::Tokens | Named::Datasets | Named::Keys => None,
        }
    }

    fn rows(&mut self, of: Named) -> &mut Table<'t, &'static str, Bytes> {
        match of {
            Named::Tokens => &mut self.tokens,
            Named::Datasets => &mut self.datasets,
            _ => &mut self.keys,
        }
    }
}

impl Rows for Embedded<'_> {
    fn row(&mut self, of: Named, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        if let Some(numbers) = self.numbers(of) {
            let number = numbers.get(name).map_err(store_error)?;
            return Ok(number.map(|number| number.value().to_le_bytes().to_vec()));
        }
        let row = self.rows(of).get(name).map_err(store_error)?;
        Ok(row.map(|row| row.value().to_vec()))
    }

    fn put_row(&mut self, of: Named, name: &str, row: &[u8]) -> Result<(), StoreError> {
        if let Some(numbers) = self.numbers(of) {
            let put = numbers.insert(name, number_of(row)?);
            return put.map(|_| ()).map_err(store_error);
        }
        let put = self.rows(of).insert(name, row);
        put.map(|_| ()).map_err(store_error)
    }

    fn datasets(&mut self) -> Result<Vec<(String, DatasetRow)>, StoreError> {
        let mut all = Vec::new();
        for entry in self.datasets.iter().map_err(store_error)? {
            let (key, row) = entry.map_err(store_error)?;
            all.push((key.value().to_owned(), decode(row.value())?));
        }
        Ok(all)
    }

    fn put_model(&mut self, row: &ModelRow) -> Result<(), StoreError> {
        let bytes = encode(row);
        let put = self.models.insert(row.number, bytes.as_slice());
        put.map(|_| ()).map_err(store_error)
    }

    fn put_state(
        &mut self,
        row: &ModelRow,
        state: &State,
        exact: &Exact,
    ) -> Result<(), StoreError> {
        let bytes = encode(&(state, exact));
        let put = self.states.insert(row.number, bytes.as_slice());
        put.map(|_| ()).map_err(store_error)
    }

    fn slot_of(&mut self, model: u64, id: [u8; 16]) -> Result<Option<u64>, StoreError> {
        let slot = self.ids.get((model, id)).map_err(store_error)?;
        Ok(slot.map(|slot| slot.value()))
    }

    fn put_id(&mut self, model: u64, id: [u8; 16], slot: u64) -> Result<(), StoreError> {
        let put = self.ids.insert((model, id), slot);
        put.map(|_| ()).map_err(store_error)
    }

    fn slot(&mut self, model: u64, slot: u64) -> Result<Option<Slot>, StoreError> {
        let row = self.slots.get((model, slot)).map_err(store_error)?;
        row.map(|row| decode(row.value())).transpose()
    }

    fn put_slot(&mut self, model: u64, slot: u64, row: &Slot) -> Result<(), StoreError> {
        let row = encode(row);
        let put = self.slots.insert((model, slot), row.as_slice());
        put.map(|_| ()).map_err(store_error)
    }

    fn slots_of(
        &mut self,
        model: u64,
        first: u64,
        person: [u8; 16],
    ) -> Result<Vec<(u64, Slot)>, StoreError> {
        let mut own = Vec::new();
        let all = self.slots.range((model, first)..=(model, u64::MAX));
        for entry in all.map_err(store_error)? {
            let (key, row) = entry.map_err(store_error)?;
            let slot: Slot = decode(row.value())?;
            if slot.person == Some(person) {
                own.push((key.value().1, slot));
            }
        }
        Ok(own)
    }

    fn drop_slots(
        &mut self,
        model: u64,
        slots: Range<u64>,
        most: usize,
    ) -> Result<(usize, u64), StoreError> {
        let all = self.slots.range((model, slots.start)..(model, slots.end));
        let (mut count, mut last) = (0, None);
        for entry in all.map_err(store_error)?.take(most) {
            last = Some(entry.map_err(store_error)?.0.value().1);
            count += 1;
        }
        let next = last.map_or(slots.end, |last| last + 1);
        let range = (model, slots.start)..(model, next);
        let swept = self.slots.retain_in(range, |_, _| false);
        swept.map_err(store_error)?;
        Ok((count, next))
    }

    fn put_release(
        &mut self,
        model: u64,
        version: u64,
        row: &ReleaseRow,
    ) -> Result<(), StoreError> {
        let there = self.releases.get((model, version)).map_err(store_error)?;
        if there.is_some() {
            return Ok(());
        }
        drop(there);
        let row = encode(row);
        let put = self.releases.insert((model, version), row.as_slice());
        put.map(|_| ()).map_err(store_error)
    }

    fn count_published(&mut self) -> Result<(), StoreError> {
        let count = self.meta.get("published").map_err(store_error)?;
        let count = count.map_or(0, |count| count.value()) + 1;
        let put = self.meta.insert("published", count);
        put.map(drop).map_err(store_error)
    }

    fn last_audit(&mut self) -> Result<Option<(u64, AuditRow)>, StoreError> {
        let last = self.audit.last().map_err(store_error)?;
        last.map(|(seq, row)| Ok((seq.value(), decode(row.value())?)))
            .transpose()
    }

    fn put_audit(&mut self, seq: u64, row: &AuditRow) -> Result<(), StoreError> {
        let row = encode(row);
        let put = self.audit.insert(seq, row.as_slice());
        put.map(|_| ()).map_err(store_error)
    }

    fn holds(&mut self, _: Fence) -> Result<bool, StoreError> {
        Ok(true)
    }

    fn tell(&mut self, _: String) {}
}

/// Counts this start, durably, and makes all tables.
pub(super) fn open(db: &Database) -> Result<u64, StoreError> {
    let txn = db.begin_write().map_err(store_error)?;
    let boot = {
        let mut meta = Embedded::new(&txn)?.meta;
        let version = meta.get("version").map_err(store_error)?;
        if version.is_some_and(|version| version.value() != VERSION) {
            return Err(corrupted("another version of the program wrote this store"));
        }
        let before = meta.get("boot").map_err(store_error)?;
        let boot = before.map_or(0, |boot| boot.value()) + 1;
        meta.insert("version", VERSION).map_err(store_error)?;
        meta.insert("boot", boot).map_err(store_error)?;
        boot
    };
    txn.commit().map_err(store_error)?;
    Ok(boot)
}

/// The random name of this store, and how often it has published.
pub(super) fn name(db: &Database) -> Result<(u64, u64), StoreError> {
    let txn = db.begin_write().map_err(store_error)?;
    let told = {
        let mut meta = txn.open_table(META).map_err(store_error)?;
        let known = meta.get("name").map_err(store_error)?;
        let known = known.map(|known| known.value());
        let mut bytes = [0; 8];
        if known.is_none() && getrandom::fill(&mut bytes).is_err() {
            return Err(corrupted("no random bytes"));
        }
        let name = known.unwrap_or(u64::from_le_bytes(bytes));
        meta.insert("name", name).map_err(store_error)?;
        let published = meta.get("published").map_err(store_error)?;
        (name, published.map_or(0, |published| published.value()))
    };
    txn.commit().map_err(store_error)?;
    Ok(told)
}

/// Whether there are slots before this one.
pub(super) fn has_slots(db: &Database, model: u64, end: u64) -> Result<bool, StoreError> {
    let (_txn, slots) = table(db, SLOTS)?;
    let mut range = slots.range((model, 0)..(model, end)).map_err(store_error)?;
    Ok(range.next().is_some())
}

/// A table, to be read.
fn table<K: redb::Key + 'static, V: redb::Value + 'static>(
    db: &Database,
    table: TableDefinition<'_, K, V>,
) -> Result<(ReadTransaction, ReadOnlyTable<K, V>), StoreError> {
    let txn = db.begin_read().map_err(store_error)?;
    let opened = txn.open_table(table).map_err(store_error)?;
    Ok((txn, opened))
}

/// The names that begin with a tenant's.
fn of_tenant(tenant: &str) -> (String, String) {
    (format!("{tenant}/"), format!("{tenant}0"))
}

impl Reads for Database {
    fn tokens(&self) -> Result<Vec<(String, TokenRow)>, StoreError> {
        let (_txn, tokens) = table(self, TOKENS)?;
        let mut all = Vec::new();
        for entry in tokens.iter().map_err(store_error)? {
            let (id, row) = entry.map_err(store_error)?;
            all.push((id.value().to_owned(), decode(row.value())?));
        }
        Ok(all)
    }

    fn has_tenant(&self, name: &str) -> Result<bool, StoreError> {
        let (_txn, tenants) = table(self, TENANTS)?;
        Ok(tenants.get(name).map_err(store_error)?.is_some())
    }

    fn model(&self, tenant: &str, name: &str) -> Result<Option<Arc<ModelRow>>, StoreError> {
        let (txn, names) = table(self, NAMES)?;
        let key = format!("{tenant}/{name}");
        let Some(number) = names.get(key.as_str()).map_err(store_error)? else {
            return Ok(None);
        };
        let models = txn.open_table(MODELS).map_err(store_error)?;
        let row = models.get(number.value()).map_err(store_error)?;
        row.map(|row| Ok(Arc::new(decode(row.value())?)))
            .transpose()
    }

    fn models(&self, tenant: Option<&str>) -> Result<Vec<ModelRow>, StoreError> {
        let (txn, models) = table(self, MODELS)?;
        let mut all = Vec::new();
        let Some(tenant) = tenant else {
            for entry in models.iter().map_err(store_error)? {
                all.push(decode(entry.map_err(store_error)?.1.value())?);
            }
            return Ok(all);
        };
        let names = txn.open_table(NAMES).map_err(store_error)?;
        let (first, last) = of_tenant(tenant);
        let range = names.range(first.as_str()..last.as_str());
        for entry in range.map_err(store_error)? {
            let number = entry.map_err(store_error)?.1.value();
            if let Some(row) = models.get(number).map_err(store_error)? {
                all.push(decode(row.value())?);
            }
        }
        Ok(all)
    }

    fn dataset(&self, tenant: &str, name: &str) -> Result<Option<DatasetRow>, StoreError> {
        let (_txn, datasets) = table(self, DATASETS)?;
        let key = format!("{tenant}/{name}");
        let row = datasets.get(key.as_str()).map_err(store_error)?;
        row.map(|row| decode(row.value())).transpose()
    }

    fn datasets(&self, tenant: &str) -> Result<Vec<(String, DatasetRow)>, StoreError> {
        let (_txn, datasets) = table(self, DATASETS)?;
        let (first, last) = of_tenant(tenant);
        let mut all = Vec::new();
        let range = datasets.range(first.as_str()..last.as_str());
        for entry in range.map_err(store_error)? {
            let (key, row) = entry.map_err(store_error)?;
            let name = key.value()[first.len()..].to_owned();
            all.push((name, decode(row.value())?));
        }
        Ok(all)
    }

    fn key(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        let (_txn, keys) = table(self, KEYS)?;
        let row = keys.get(name).map_err(store_error)?;
        Ok(row.map(|row| row.value().to_vec()))
    }

    fn release(&self, model: u64, version: Option<u64>) -> Result<Option<Published>, StoreError> {
        let (_txn, releases) = table(self, RELEASES)?;
        let (first, last) = (version.unwrap_or(0), version.unwrap_or(u64::MAX));
        let mut range = releases
            .range((model, first)..=(model, last))
            .map_err(store_error)?;
        let Some(entry) = range.next_back() else {
            return Ok(None);
        };
        let (key, row) = entry.map_err(store_error)?;
        Ok(Some(Published::new(key.value().1, decode(row.value())?)))
    }

    fn releases(&self, model: u64, first: u64, most: usize) -> Result<Vec<Published>, StoreError> {
        let (_txn, releases) = table(self, RELEASES)?;
        let range = releases.range((model, first)..=(model, u64::MAX));
        let mut all = Vec::new();
        for entry in range.map_err(store_error)?.take(most) {
            let (key, row) = entry.map_err(store_error)?;
            all.push(Published::new(key.value().1, decode(row.value())?));
        }
        Ok(all)
    }

    fn audit(
        &self,
        first: u64,
        tenant: Option<&str>,
        most: usize,
    ) -> Result<Vec<(u64, AuditRow)>, StoreError> {
        let (_txn, audit) = table(self, AUDIT)?;
        let mut all = Vec::new();
        for entry in audit.range(first..).map_err(store_error)? {
            let (seq, row) = entry.map_err(store_error)?;
            let row: AuditRow = decode(row.value())?;
            if tenant.is_none() || row.tenant.as_deref() == tenant {
                all.push((seq.value(), row));
            }
            if all.len() == most {
                break;
            }
        }
        Ok(all)
    }

    fn attest(&self, _: &ModelRow, witness: &Witness) -> Result<(), StoreError> {
        let (_txn, meta) = table(self, META)?;
        let published = meta.get("published").map_err(store_error)?;
        Ok(witness.note(published.map_or(0, |published| published.value()))?)
    }

    fn counts(&self, model: u64) -> Result<(State, Exact), StoreError> {
        let (_txn, states) = table(self, STATES)?;
        let row = states.get(model).map_err(store_error)?;
        rounds_of(row.as_ref().map(|row| row.value()))
    }

    fn batch(&self, row: &ModelRow, batch: u64) -> Result<Vec<Option<Slot>>, StoreError> {
        let (_txn, slots) = table(self, SLOTS)?;
        let (size, model) = (row.rounds.batch, row.number);
        let first = batch * size;
        let range = slots.range((model, first)..(model, first + size));
        let entries = range.map_err(store_error)?.map(|entry| {
            let (key, row) = entry.map_err(store_error)?;
            Ok((key.value().1, decode(row.value())?))
        });
        in_places(size, first, entries)
    }
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
    db.batch(model, batch)
}
