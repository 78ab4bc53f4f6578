//! Which rows a run has learned: a keyed digest of each, folded into a chain in the order learned,
//! which every frame of a journal carries.
//!
//! A resume passes over as many rows as were learned. Counting them does not show that they are the
//! same rows: a file with one row fewer, shuffled again, has others in their place, and some would
//! be learned twice. So the rows that are passed over are hashed again, and a resume whose chain is
//! another is refused ([`LogError::OtherRows`]) at its first write, before journal or ledger have
//! changed.
//!
//! - dₜ = XXH3-128 of row t under one secret, cₜ = XXH3-128 of cₜ₋₁ and dₜ under another; both
//!   secrets come from the run's key ([`Key::row_secrets`]). XXH3 is fast and no cryptographic
//!   hash: the secret is there so that a chain tells nothing about rows to a reader who has not the
//!   key. Chains stand in journals, which are as private as the rows, and nowhere else.
//! - A frame carries the count and the chain of the rows that its items cover: 24 bytes at its end.
//!   Rows of a batch that is not full are in no item, are learned again after a stop, and are not
//!   covered.
//! - Rows that were never in a file need no digests: a run without a [`RowChain`] carries what it
//!   found, or zeros.

use super::{Format, Log, LogError, Storage};
use hushstream_noise::Key;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use twox_hash::XxHash3_128;
use zeroize::Zeroizing;

/// The digest of one row. It cannot be looked at, printed or stored.
pub struct RowDigest(u128);

/// Makes digests of rows, with the secrets of one run.
#[derive(Clone)]
pub struct RowHasher(Arc<[Zeroizing<[u8; 192]>; 2]>);

impl RowHasher {
    /// The hasher of the run with this key.
    #[must_use]
    pub fn new(key: &Key) -> Self {
        Self(Arc::new(key.row_secrets()))
    }

    /// The digest of a row, as it stands in its file.
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

/// How many rows there were, and their chain.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct Covered {
    count: u64,
    chain: u128,
}

/// Bytes that it takes at the end of a frame.
const TAIL: usize = 24;

impl Covered {
    fn write(self, frame: &mut Vec<u8>) {
        frame.extend_from_slice(&self.count.to_le_bytes());
        frame.extend_from_slice(&self.chain.to_le_bytes());
    }

    /// Cuts it off the end of a frame.
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

/// The rows of a run so far, in the order learned. Its clones are the same chain: one is for the
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

    /// Adds the next row: before the run learns from it, so that the item it completes covers it.
    pub fn add(&self, digest: &RowDigest) {
        let mut now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        now.chain = self.hasher.chained(now.chain, digest);
        now.count += 1;
    }

    /// Rows so far.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.now().count
    }

    fn now(&self) -> Covered {
        *self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How many rows a journal covers: as many must be in the chain of a resumed run. Changes nothing.
///
/// # Errors
/// A file that is no journal; storage.
pub fn rows_covered(journal: &mut dyn Storage) -> Result<u64, LogError> {
    let (log, _) = RowLog::open(Box::new(Copied(journal.load()?)))?;
    Ok(log.covered.count)
}

/// Storage whose journal covers the rows of a chain.
pub struct WithRows<S> {
    storage: S,
    rows: RowChain,
}

impl<S: Storage> WithRows<S> {
    /// Joins the two. A journal that covers other rows than the chain has will be refused.
    #[must_use]
    pub fn new(storage: S, rows: RowChain) -> Self {
        Self { storage, rows }
    }
}

impl<S: Storage> Storage for WithRows<S> {
    fn load(&mut self) -> io::Result<Vec<u8>> {
        self.storage.load()
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.storage.append(bytes)
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.storage.truncate(length)
    }

    fn replace(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.storage.replace(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.storage.sync()
    }

    fn is_durable(&self) -> bool {
        self.storage.is_durable()
    }

    fn is_kept(&self) -> bool {
        self.storage.is_kept()
    }

    fn load_witness(&mut self) -> io::Result<Option<Vec<u8>>> {
        self.storage.load_witness()
    }

    fn replace_witness(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.storage.replace_witness(bytes)
    }

    fn rows(&self) -> Option<RowChain> {
        Some(self.rows.clone())
    }
}

/// A journal in memory, to be read once.
struct Copied(Vec<u8>);

impl Storage for Copied {
    fn load(&mut self) -> io::Result<Vec<u8>> {
        Ok(std::mem::take(&mut self.0))
    }

    fn append(&mut self, _: &[u8]) -> io::Result<()> {
        Ok(())
    }

    fn truncate(&mut self, _: u64) -> io::Result<()> {
        Ok(())
    }

    fn replace(&mut self, _: &[u8]) -> io::Result<()> {
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The log of a journal: every frame ends with the rows that the items so far cover.
pub(crate) struct RowLog {
    log: Log,
    rows: Option<RowChain>,
    /// As of the last item.
    covered: Covered,
    /// Whether the chain had other rows than the journal covers: nothing is written then.
    is_other: bool,
}

impl RowLog {
    /// Bytes that it adds to a record.
    pub(crate) const TAIL: usize = TAIL;

    /// Opens a log and gives its records, without the rows.
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

    /// Adds a record that is no item.
    pub(crate) fn append(&mut self, mut record: Vec<u8>) -> Result<(), LogError> {
        self.check()?;
        self.covered.write(&mut record);
        self.log.append(&record)
    }

    /// Adds an item: it covers all rows that the chain has now.
    pub(crate) fn append_item(&mut self, record: Vec<u8>) -> Result<(), LogError> {
        if let Some(rows) = &self.rows {
            self.covered = rows.now();
        }
        self.append(record)
    }

    /// Makes these records the whole log. A checkpoint may be made when the chain has a row of the
    /// next item already: it covers what the last item covered.
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
