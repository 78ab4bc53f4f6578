//! What a store must do: the embedded one and the shared one do the same.
//!
//! Slots, batches and what closes them are above this seam, in `core.rs`: one piece of code for
//! both. All errors are those of the store.

use super::{
    AuditRow, DatasetRow, Exact, ModelRow, Published, ReleaseRow, StoreError, TokenRow, Witness,
    decode,
};
use crate::rounds::{Slot, State};
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

type Stored<T> = Result<T, StoreError>;

/// Small tables that are read by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Named {
    /// Counters.
    Meta,
    /// Tenants, and when they were made.
    Tenants,
    /// Tokens.
    Tokens,
    /// Data sets, as `tenant/name`.
    Datasets,
    /// Numbers of models, as `tenant/name`.
    Names,
    /// Sealed secrets.
    Keys,
}

/// What an operation reads and changes, for a store whose rows others change too: it locks them
/// before the operation runs. The embedded store has one writer, and ignores it.
#[derive(Debug, Clone, Default)]
pub struct Touches {
    /// Whether settings: tenants, tokens, data sets, models, the audit log. One node at a time.
    pub settings: bool,
    /// The models whose rounds it looks at or changes.
    pub models: BTreeSet<u64>,
    /// Ids that are looked up.
    pub ids: Vec<(u64, [u8; 16])>,
}

impl Touches {
    /// Settings.
    #[must_use]
    pub fn settings() -> Self {
        let settings = true;
        Self {
            settings,
            ..Self::default()
        }
    }

    /// The rounds of a model.
    #[must_use]
    pub fn model(number: u64) -> Self {
        Self::default().and(number)
    }

    /// The slot of an id, or its next one.
    #[must_use]
    pub fn event(model: u64, id: [u8; 16]) -> Self {
        Self::model(model).with(&[id], model)
    }

    /// And a model.
    #[must_use]
    pub fn and(mut self, number: u64) -> Self {
        self.models.insert(number);
        self
    }

    /// And ids of a model.
    #[must_use]
    pub fn with(mut self, ids: &[[u8; 16]], model: u64) -> Self {
        self.models.insert(model);
        self.ids.extend(ids.iter().map(|id| (model, *id)));
        self
    }

    /// Both.
    pub(crate) fn merge(&mut self, other: Self) {
        self.settings |= other.settings;
        self.models.extend(other.models);
        self.ids.extend(other.ids);
    }
}

/// The right to publish for a data set: its number, and the counter of its lease.
pub type Fence = (u64, i64);

/// The rows of a transaction in progress.
pub(crate) trait Rows {
    /// A row; a number is 8 bytes, the lowest first.
    fn row(&mut self, of: Named, name: &str) -> Stored<Option<Vec<u8>>>;
    /// Stores a row.
    fn put_row(&mut self, of: Named, name: &str, row: &[u8]) -> Stored<()>;
    /// All data sets.
    fn datasets(&mut self) -> Stored<Vec<(String, DatasetRow)>>;
    /// Stores the settings of a model.
    fn put_model(&mut self, row: &ModelRow) -> Stored<()>;
    /// Stores the rounds of a model.
    fn put_state(&mut self, row: &ModelRow, state: &State, exact: &Exact) -> Stored<()>;
    /// The slot of an id.
    fn slot_of(&mut self, model: u64, id: [u8; 16]) -> Stored<Option<u64>>;
    /// Gives an id its slot: a new one, for as long as the model.
    fn put_id(&mut self, model: u64, id: [u8; 16], slot: u64) -> Stored<()>;
    /// What is in a slot.
    fn slot(&mut self, model: u64, slot: u64) -> Stored<Option<Slot>>;
    /// Stores what is in a slot.
    fn put_slot(&mut self, model: u64, slot: u64, row: &Slot) -> Stored<()>;
    /// All slots of a person from this one on.
    fn slots_of(&mut self, model: u64, first: u64, person: [u8; 16]) -> Stored<Vec<(u64, Slot)>>;
    /// Forgets about so many of these slots: how many, and the first that is left.
    fn drop_slots(&mut self, model: u64, slots: Range<u64>, most: usize) -> Stored<(usize, u64)>;
    /// Stores a release, if its version is new.
    fn put_release(&mut self, model: u64, version: u64, row: &ReleaseRow) -> Stored<()>;
    /// Counts a publication, where the store's witness needs the number.
    fn count_published(&mut self) -> Stored<()>;
    /// The last line of the audit log.
    fn last_audit(&mut self) -> Stored<Option<(u64, AuditRow)>>;
    /// Adds a line to the audit log.
    fn put_audit(&mut self, seq: u64, row: &AuditRow) -> Stored<()>;
    /// Whether this node may publish for a data set, until the commit.
    fn holds(&mut self, fence: Fence) -> Stored<bool>;
    /// Tells other nodes, at the commit.
    fn tell(&mut self, what: String);

    /// A number.
    fn number(&mut self, of: Named, name: &str) -> Stored<Option<u64>> {
        let row = self.row(of, name)?;
        row.map(|row| number_of(&row)).transpose()
    }
}

/// A number in a row.
pub(crate) fn number_of(row: &[u8]) -> Stored<u64> {
    let bytes = row.try_into();
    let broken = |_| super::corrupted("a number of the store cannot be read");
    Ok(u64::from_le_bytes(bytes.map_err(broken)?))
}

/// The store, to be read.
pub(crate) trait Reads: Send + Sync {
    /// All tokens.
    fn tokens(&self) -> Stored<Vec<(String, TokenRow)>>;
    /// Whether there is such a tenant.
    fn has_tenant(&self, name: &str) -> Stored<bool>;
    /// A model of a tenant.
    fn model(&self, tenant: &str, name: &str) -> Stored<Option<Arc<ModelRow>>>;
    /// The models of a tenant by name, or all.
    fn models(&self, tenant: Option<&str>) -> Stored<Vec<ModelRow>>;
    /// A data set of a tenant.
    fn dataset(&self, tenant: &str, name: &str) -> Stored<Option<DatasetRow>>;
    /// The data sets of a tenant, by name.
    fn datasets(&self, tenant: &str) -> Stored<Vec<(String, DatasetRow)>>;
    /// A sealed secret.
    fn key(&self, name: &str) -> Stored<Option<Vec<u8>>>;
    /// A release; the newest without a version.
    fn release(&self, model: u64, version: Option<u64>) -> Stored<Option<Published>>;
    /// Releases from this version on.
    fn releases(&self, model: u64, first: u64, most: usize) -> Stored<Vec<Published>>;
    /// Lines of the audit log from this one on; of a tenant, or all.
    fn audit(&self, first: u64, tenant: Option<&str>, most: usize) -> Stored<Vec<(u64, AuditRow)>>;
    /// The rounds of a model, and its exact counts.
    fn counts(&self, model: u64) -> Stored<(State, Exact)>;
    /// The slots of a closed batch, in their order; nothing for one that is null.
    fn batch(&self, row: &ModelRow, batch: u64) -> Stored<Vec<Option<Slot>>>;

    /// Notes outside of the store how far it is, after a release of a model was read, and before it
    /// is answered with: the embedded store in this witness, and one that nodes share in its own.
    fn attest(&self, row: &ModelRow, witness: &Witness) -> Stored<()>;

    /// The rounds of a model.
    fn state(&self, model: u64) -> Stored<State> {
        Ok(self.counts(model)?.0)
    }
}

/// The rounds in a row.
pub(crate) fn rounds_of(row: Option<&[u8]>) -> Stored<(State, Exact)> {
    row.map_or_else(|| Ok((State::default(), Exact::default())), decode)
}

/// Puts slots into their places of a batch.
pub(crate) fn in_places(
    size: u64,
    first: u64,
    slots: impl Iterator<Item = Stored<(u64, Slot)>>,
) -> Stored<Vec<Option<Slot>>> {
    let mut all: Vec<Option<Slot>> = (0..size).map(|_| None).collect();
    for entry in slots {
        let (slot, row) = entry?;
        if let Some(place) = all.get_mut((slot - first) as usize) {
            *place = Some(row);
        }
    }
    Ok(all)
}
