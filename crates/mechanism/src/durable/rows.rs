//! The rows that a run has learned: a keyed digest of each, folded into a chain in the order
//! learned. Every frame of a journal carries the chain.
//!
//! A resume skips as many rows as were learned. Counting them does not show that they are the same
//! rows: a file with one row fewer, shuffled again, has others in their place, and some would be
//! learned twice. So a resume hashes the skipped rows again. If its chain differs, it is refused
//! ([`LogError::OtherRows`]) at its first write, before journal or ledger change.
//!
//! - dₜ = XXH3-128 of row t under one secret, cₜ = XXH3-128 of cₜ₋₁ and dₜ under another; both
//!   secrets are derived from the run's key ([`Key::row_secrets`]). XXH3 is fast and not a
//!   cryptographic hash: the secret ensures that a chain reveals nothing about rows to a reader
//!   without the key. Chains are stored in journals, which are as private as the rows, and nowhere
//!   else.
//! - A frame ends with the count and the chain of the rows that its items cover: 24 bytes. Rows of
//!   an incomplete batch are in no item, are learned again after a stop, and are not covered.
//! - Rows that were never in a file need no digests: a run without a [`RowChain`] carries the chain
//!   that it found, or zeros.

use super::storage::forward;
use super::{Format, Log, LogError, MemoryStorage, Storage};
use hushstream_noise::Key;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use twox_hash::XxHash3_128;
use zeroize::Zeroizing;

/// The digest of one row. It cannot be read, printed or stored.
pub struct RowDigest(u128);

/// Computes digests of rows, with the secrets of one run.
#[derive(Clone)]
pub struct RowHasher(Arc<[Zeroizing<[u8; 192]>; 2]>);

impl RowHasher {
    /// The hasher of the run with this key.
    #[must_use]
    pub fn new(key: &Key) -> Self {
        Self(Arc::new(key.row_secrets()))
    }

    /// The digest of a row, as the bytes in its file.
    #[must_use]
    pub fn digest(&self, row: &[u8]) -> RowDigest {
        RowDigest(hash(&self.0[0], row))
    }

    fn chained(&self, before: u128, digest: &RowDigest) -> u128 {
        let mut both = [0; 32];
        both[..16].copy_from_slice(&before.to_le_bytes());
        both[16..].copy_from_slice(&digest.0.to_le_bytes());
        hash(&self.0[1], &both)
    }
}

fn hash(secret: &[u8; 192], bytes: &[u8]) -> u128 {
    XxHash3_128::oneshot_with_secret(secret, bytes)
        .expect("XXH3 takes secrets of 136 bytes or more")
}

/// Number of covered rows, and their chain.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Covered {
    count: u64,
    chain: u128,
}

/// Its bytes at the end of a frame.
const TAIL: usize = 24;

impl Covered {
    fn write(self, frame: &mut Vec<u8>) {
        frame.extend_from_slice(&self.count.to_le_bytes());
        frame.extend_from_slice(&self.chain.to_le_bytes());
    }

    /// Removes it from the end of a frame.
    fn cut(frame: &mut Vec<u8>) -> Option<Self> {
        let record = frame.len().checked_sub(TAIL)?;
        let (count, chain) = frame[record..].split_first_chunk()?;
        let covered = Self {
            count: u64::from_le_bytes(*count),
            chain: u128::from_le_bytes(chain.try_into().ok()?),
        };
        frame.truncate(record);
        Some(covered)
    }
}

/// The rows of a run so far, in the order learned. Clones share one chain: one clone is for the
/// loop that feeds rows, one for the journal.
#[derive(Clone)]
pub struct RowChain {
    hasher: RowHasher,
    now: Arc<Mutex<Covered>>,
}

impl RowChain {
    /// A chain without rows.
    #[must_use]
    pub fn new(hasher: RowHasher) -> Self {
        Self {
            hasher,
            now: Arc::default(),
        }
    }

    /// Adds the next row. Call it before the run learns from the row, so that the item it completes
    /// covers it.
    pub fn add(&self, digest: &RowDigest) {
        let mut now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        now.chain = self.hasher.chained(now.chain, digest);
        now.count += 1;
    }

    /// Number of rows so far.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.now().count
    }

    fn now(&self) -> Covered {
        *self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The number of rows that a journal covers: the chain of a resumed run must have as many. Changes
/// nothing.
///
/// # Errors
/// A file that is not a journal; storage.
pub fn rows_covered(journal: &mut dyn Storage) -> Result<u64, LogError> {
    let bytes = journal.load()?;
    let (log, _) = RowLog::open(Box::new(MemoryStorage { bytes }))?;
    Ok(log.covered.count)
}

/// Storage whose journal covers the rows of a chain.
pub struct WithRows<S> {
    storage: S,
    rows: RowChain,
}

impl<S: Storage> WithRows<S> {
    /// Attaches a chain to a storage. A journal that covers other rows than the chain will be
    /// refused.
    #[must_use]
    pub fn new(storage: S, rows: RowChain) -> Self {
        Self { storage, rows }
    }
}

impl<S: Storage> Storage for WithRows<S> {
    forward!(self, self.storage);

    fn rows(&self) -> Option<RowChain> {
        Some(self.rows.clone())
    }
}

/// The log of a journal: every frame ends with the rows that the items so far cover.
pub(crate) struct RowLog {
    log: Log,
    rows: Option<RowChain>,
    /// The rows covered by the last item.
    covered: Covered,
    /// Whether the chain differs from the rows that the journal covers: then nothing is written.
    is_other: bool,
}

impl RowLog {
    /// Bytes that it adds to a record.
    pub(crate) const TAIL: usize = TAIL;

    /// Opens a log and returns its records, without the rows.
    pub(crate) fn open(storage: Box<dyn Storage>) -> Result<(Self, Vec<Vec<u8>>), LogError> {
        let rows = storage.rows();
        let (log, mut records) = Log::open(storage, Format::JOURNAL)?;
        let mut covered = Covered::default();
        for (place, record) in (0..).zip(&mut records) {
            covered = Covered::cut(record).ok_or(LogError::Record(place))?;
        }
        let is_other = rows.as_ref().is_some_and(|rows| rows.now() != covered);
        let log = Self {
            log,
            rows,
            covered,
            is_other,
        };
        Ok((log, records))
    }

    fn check(&self) -> Result<(), LogError> {
        if self.is_other {
            return Err(LogError::OtherRows);
        }
        Ok(())
    }

    /// Appends a record that is not an item.
    pub(crate) fn append(&mut self, mut record: Vec<u8>) -> Result<(), LogError> {
        self.check()?;
        self.covered.write(&mut record);
        self.log.append(&record)
    }

    /// Appends an item, which covers all rows that are in the chain now.
    pub(crate) fn append_item(&mut self, record: Vec<u8>) -> Result<(), LogError> {
        if let Some(rows) = &self.rows {
            self.covered = rows.now();
        }
        self.append(record)
    }

    /// Replaces the whole log by these records. The chain may already have a row of the next item:
    /// a checkpoint covers what the last item covered.
    pub(crate) fn replace(&mut self, mut records: Vec<Vec<u8>>) -> Result<(), LogError> {
        self.check()?;
        for record in &mut records {
            self.covered.write(record);
        }
        self.log.replace(&records)
    }

    pub(crate) fn sync(&mut self) -> Result<(), LogError> {
        self.log.sync()
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.log.bytes()
    }

    pub(crate) fn is_kept(&self) -> bool {
        self.log.is_kept()
    }
}

#[cfg(test)]
mod tests;
