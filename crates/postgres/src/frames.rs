//! Logs of the mechanism as rows, written under a fence.

use crate::store::check_fence;
use crate::{Error, Lease, Store};
use hushstream::Keeper;
use hushstream::mechanism::Storage;
use std::io;
use std::sync::Arc;

/// Bytes that wait for a sync before they are written anyway.
const ROOM: usize = 4 << 20;

/// The log of the ledger of a data set.
#[must_use]
pub fn ledger_log(dataset: u64) -> String {
    format!("{LEDGER}{dataset}")
}

const LEDGER: &str = "ledger/";

/// One log in the database. Appended bytes wait here, and a sync writes them as one frame.
pub struct Fenced {
    store: Arc<Store>,
    lease: Lease,
    log: String,
    /// The number of the last frame that this holder knows; none before it has loaded.
    last: Option<i64>,
    waiting: Vec<u8>,
    failed: bool,
}

/// What is written.
enum Change {
    Append,
    Replace,
}

impl Fenced {
    /// The log of this name, written under this lease.
    #[must_use]
    pub fn new(store: &Arc<Store>, lease: &Lease, log: impl Into<String>) -> Self {
        Self {
            store: Arc::clone(store),
            lease: lease.clone(),
            log: log.into(),
            last: None,
            waiting: Vec::new(),
            failed: false,
        }
    }

    /// Writes a frame, in one transaction that checks the fence and the frame before it.
    fn write(&mut self, change: &Change, bytes: &[u8]) -> Result<(), Error> {
        let last = match self.last {
            Some(last) => last,
            None => self.end()?,
        };
        if std::mem::replace(&mut self.failed, true) {
            let told = "an earlier write failed: open the log again".to_owned();
            return Err(Error::Refused(told));
        }
        let log = self.log.as_str();
        self.store.wait(async {
            let mut client = self.store.client().await?;
            let transaction = client.transaction().await?;
            check_fence(&transaction, &self.lease).await?;
            let sql = "SELECT coalesce(max(seq), 0) FROM frames WHERE log = $1";
            let found: i64 = transaction.query_one(sql, &[&log]).await?.get(0);
            if found != last {
                return Err(Error::Replaced);
            }
            // The checksums of a ledger stay, for the witnesses of nodes that were not there.
            let sql = match change {
                Change::Append => None,
                Change::Replace if log.starts_with(LEDGER) => {
                    Some("UPDATE frames SET bytes = NULL WHERE log = $1 AND bytes IS NOT NULL")
                }
                Change::Replace => Some("DELETE FROM frames WHERE log = $1"),
            };
            if let Some(sql) = sql {
                transaction.execute(sql, &[&log]).await?;
            }
            let sql = "INSERT INTO frames (log, seq, crc, bytes) VALUES ($1, $2, $3, $4)";
            let (seq, crc) = (last + 1, checksum(last + 1, bytes));
            transaction
                .execute(sql, &[&log, &seq, &crc, &bytes])
                .await?;
            Ok(transaction.commit().await?)
        })?;
        (self.last, self.failed) = (Some(last + 1), false);
        Ok(())
    }

    fn end(&self) -> Result<i64, Error> {
        let sql = "SELECT coalesce(max(seq), 0) FROM frames WHERE log = $1";
        self.store.wait(async {
            let client = self.store.client().await?;
            Ok(client.query_one(sql, &[&self.log]).await?.get(0))
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        let waiting = std::mem::take(&mut self.waiting);
        Ok(self.write(&Change::Append, &waiting)?)
    }
}

/// The checksum of a frame, with its number.
pub(crate) fn checksum(seq: i64, bytes: &[u8]) -> i64 {
    let mut hash = crc32fast::Hasher::new();
    hash.update(&seq.to_le_bytes());
    hash.update(bytes);
    i64::from(hash.finalize())
}

impl Storage for Fenced {
    fn load(&mut self) -> io::Result<Vec<u8>> {
        self.flush()?;
        let sql = "SELECT seq, crc, bytes FROM frames
            WHERE log = $1 AND bytes IS NOT NULL ORDER BY seq";
        let rows = self.store.wait(async {
            let client = self.store.client().await?;
            Ok(client.query(sql, &[&self.log]).await?)
        })?;
        let (mut all, mut last) = (Vec::new(), None);
        for row in &rows {
            let (seq, crc, bytes): (i64, i64, &[u8]) = (row.get(0), row.get(1), row.get(2));
            let follows = last.is_none_or(|last: i64| last + 1 == seq);
            if !follows || crc != checksum(seq, bytes) {
                return Err(Error::Damaged(seq).into());
            }
            last = Some(seq);
            all.extend_from_slice(bytes);
        }
        self.last = Some(last.unwrap_or(0));
        Ok(all)
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.waiting.extend_from_slice(bytes);
        if self.waiting.len() > ROOM {
            self.flush()?;
        }
        Ok(())
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        let mut bytes = self.load()?;
        bytes.truncate(usize::try_from(length).unwrap_or(usize::MAX));
        self.replace(&bytes)
    }

    fn replace(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.waiting.clear();
        Ok(self.write(&Change::Replace, bytes)?)
    }

    fn sync(&mut self) -> io::Result<()> {
        if self.failed {
            return Err(io::Error::other("an earlier write failed"));
        }
        self.flush()
    }
}

/// The state of one run in the database, in the place of a folder.
pub struct KeptRun {
    store: Arc<Store>,
    lease: Lease,
    name: String,
}

impl KeptRun {
    /// The state of the run of this name, which must begin with no other run's name and a slash.
    #[must_use]
    pub fn new(store: &Arc<Store>, lease: &Lease, name: impl Into<String>) -> Self {
        Self {
            store: Arc::clone(store),
            lease: lease.clone(),
            name: name.into(),
        }
    }

    /// Whether a run was begun there.
    ///
    /// # Errors
    /// Those of the database.
    pub fn is_begun(&self) -> io::Result<bool> {
        Ok(!self.open("run.json")?.load()?.is_empty())
    }
}

impl Keeper for KeptRun {
    fn open(&self, name: &str) -> io::Result<Box<dyn Storage>> {
        let log = format!("run/{}/{name}", self.name);
        Ok(Box::new(Fenced::new(&self.store, &self.lease, log)))
    }
}
