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

mod committer;
mod core;
mod disk;
mod rows;
mod witness;

pub use crate::rounds::State;
pub use committer::{Committer, Lane, Limits, OnAfter};
pub use core::batch_of;
pub use core::{After, Core, Op, Reached, Taken, Tx};
pub(crate) use core::{counts_of, published, state_of};
pub use disk::open;
pub use rows::{
    AuditRow, DatasetRow, Exact, ModelRow, ModelStatus, Published, ReleaseRow, Role, TokenRow,
};

pub use witness::Witness;

use redb::TableDefinition;

/// An error of the store: nothing of the tick is durable.
pub type StoreError = Box<redb::Error>;

/// The format of this store.
pub const VERSION: u64 = 2;

type Bytes = &'static [u8];
pub(crate) const META: TableDefinition<'_, &str, u64> = TableDefinition::new("meta");
pub(crate) const TENANTS: TableDefinition<'_, &str, u64> = TableDefinition::new("tenants");
pub(crate) const TOKENS: TableDefinition<'_, &str, Bytes> = TableDefinition::new("tokens");
pub(crate) const DATASETS: TableDefinition<'_, &str, Bytes> = TableDefinition::new("datasets");
pub(crate) const MODELS: TableDefinition<'_, u64, Bytes> = TableDefinition::new("models");
pub(crate) const NAMES: TableDefinition<'_, &str, u64> = TableDefinition::new("names");
pub(crate) const STATES: TableDefinition<'_, u64, Bytes> = TableDefinition::new("states");
pub(crate) const SLOTS: TableDefinition<'_, (u64, u64), Bytes> = TableDefinition::new("slots");
pub(crate) const IDS: TableDefinition<'_, (u64, [u8; 16]), u64> = TableDefinition::new("ids");
pub(crate) const RELEASES: TableDefinition<'_, (u64, u64), Bytes> =
    TableDefinition::new("releases");
pub(crate) const AUDIT: TableDefinition<'_, u64, Bytes> = TableDefinition::new("audit");
pub(crate) const KEYS: TableDefinition<'_, &str, Bytes> = TableDefinition::new("keys");

/// Any error of redb, as one.
pub(crate) fn store_error(error: impl Into<redb::Error>) -> StoreError {
    Box::new(error.into())
}

/// Writes a row.
pub(crate) fn encode(row: &impl serde::Serialize) -> Vec<u8> {
    // Rows are made of numbers, texts and lists, which all have a form.
    postcard::to_allocvec(row).unwrap_or_default()
}

/// Reads a row.
pub(crate) fn decode<'a, T: serde::Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, StoreError> {
    let broken = || redb::Error::Corrupted("a row of the store cannot be read".to_owned());
    postcard::from_bytes(bytes).map_err(|_| Box::new(broken()))
}
