//! What is kept: rounds, settings and releases, in an embedded store or in one that nodes share.

mod backend;
mod committer;
mod core;
mod disk;
mod embedded;
mod rows;
pub mod shared;
mod witness;

pub use crate::rounds::State;
pub(crate) use backend::Reads;
pub use backend::{Fence, Touches};
pub use committer::{Committer, Lane, Limits, OnAfter};
pub use core::{After, Core, Op, Reached, Taken, Tx};
pub use disk::open;
pub use embedded::batch_of;
pub use rows::{
    AuditRow, DatasetRow, Exact, ModelRow, ModelStatus, Published, ReleaseRow, Role, TokenRow,
};
pub use witness::Witness;

/// An error of the store: nothing of the tick is durable.
pub type StoreError = Box<dyn std::error::Error + Send + Sync>;

/// The format of this store.
pub const VERSION: u64 = 2;

/// Any error of redb, as one.
pub(crate) fn store_error(error: impl Into<redb::Error>) -> StoreError {
    Box::new(error.into())
}

/// A store that does not hold what it should.
pub(crate) fn corrupted(told: &str) -> StoreError {
    Box::new(redb::Error::Corrupted(told.to_owned()))
}

/// Writes a row.
pub(crate) fn encode(row: &impl serde::Serialize) -> Vec<u8> {
    // Rows are made of numbers, texts and lists, which all have a form.
    postcard::to_allocvec(row).unwrap_or_default()
}

/// Reads a row.
pub(crate) fn decode<'a, T: serde::Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, StoreError> {
    let broken = |_| corrupted("a row of the store cannot be read");
    postcard::from_bytes(bytes).map_err(broken)
}
