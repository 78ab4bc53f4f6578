//! State that must survive a crash: the ledger of charges, and the journal of items.

mod diary;
mod file_storage;
mod ledger;
mod log;
pub(crate) mod packed;
mod records;
mod rows;
mod storage;
mod witness;

#[cfg(test)]
pub(crate) use diary::ITEM;
pub use diary::{CameBack, DiaryError};
pub(crate) use diary::{Diary, Found, append, decode, decode_first, encode};
pub use file_storage::FileStorage;
pub use ledger::{Ledger, LedgerError};
pub use log::LogError;
pub(crate) use log::{Format, Log, checksum};
pub(crate) use rows::RowLog;
pub use rows::{RowChain, RowDigest, RowHasher, WithRows, rows_covered};
pub use storage::{MemoryStorage, NoStorage, Storage};
