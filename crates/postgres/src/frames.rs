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
    /// Number and checksum of the last frame that this holder knows; none before it has looked.
    last: Option<(i64, i64)>,
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
        let next = (last.0 + 1, checksum(last, bytes));
        self.store.wait(async {
            let mut client = self.store.client().await?;
            let transaction = client.transaction().await?;
            check_fence(&transaction, &self.lease).await?;
            let row = transaction.query_opt(LAST, &[&log]).await?;
            if end_of(row.as_ref()) != last {
                return Err(Error::Replaced);
            }
            if matches!(change, Change::Replace) {
                // Checksums of a ledger stay, for the witnesses of nodes that were not there; of
                // other logs the last one, with which the next is computed.
                if !log.starts_with(LEDGER) {
                    let sql = "DELETE FROM frames WHERE log = $1 AND seq < $2";
                    transaction.execute(sql, &[&log, &last.0]).await?;
                }
                let sql = "UPDATE frames SET bytes = NULL WHERE log = $1 AND bytes IS NOT NULL";
                transaction.execute(sql, &[&log]).await?;
            }
            let sql = "INSERT INTO frames (log, seq, crc, bytes) VALUES ($1, $2, $3, $4)";
            transaction
                .execute(sql, &[&log, &next.0, &next.1, &bytes])
                .await?;
            Ok(transaction.commit().await?)
        })?;
        (self.last, self.failed) = (Some(next), false);
        Ok(())
    }

    fn end(&self) -> Result<(i64, i64), Error> {
        self.store.wait(async {
            let client = self.store.client().await?;
            let row = client.query_opt(LAST, &[&self.log]).await?;
            Ok(end_of(row.as_ref()))
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

const LAST: &str = "SELECT seq, crc FROM frames WHERE log = $1 ORDER BY seq DESC LIMIT 1";

fn end_of(row: Option<&tokio_postgres::Row>) -> (i64, i64) {
    row.map_or((0, 0), |row| (row.get(0), row.get(1)))
}

/// The checksum of the frame after this one: of all frames up to it, so that a log which went on
/// from an old copy has another one, though its last frames may be the same.
fn checksum((seq, before): (i64, i64), bytes: &[u8]) -> i64 {
    let mut hash = crc32fast::Hasher::new();
    hash.update(&before.to_le_bytes());
    hash.update(&seq.to_le_bytes());
    hash.update(bytes);
    i64::from(hash.finalize())
}

impl Store {
    /// What a log holds now, for nodes that do not write it.
    ///
    /// # Errors
    /// A log that is damaged; those of the database.
    pub fn contents(&self, log: &str) -> Result<Vec<u8>, Error> {
        Ok(self.read(log)?.0)
    }

    /// What a log holds, and number and checksum of its last frame.
    fn read(&self, log: &str) -> Result<(Vec<u8>, (i64, i64)), Error> {
        let sql = "SELECT seq, crc, bytes FROM frames WHERE log = $1 ORDER BY seq";
        let rows = self.wait(async {
            let client = self.client().await?;
            Ok(client.query(sql, &[&log]).await?)
        })?;
        let (mut all, mut last) = (Vec::new(), (0, 0));
        for (place, row) in rows.iter().enumerate() {
            let (seq, crc): (i64, i64) = (row.get(0), row.get(1));
            let bytes: Option<&[u8]> = row.get(2);
            // Frames before the first that is left were replaced, and then so was that one.
            let is_sound = match bytes {
                Some(bytes) => (seq, crc) == (last.0 + 1, checksum(last, bytes)),
                None => place == 0 || seq == last.0 + 1,
            };
            if !is_sound {
                return Err(Error::Damaged(seq));
            }
            last = (seq, crc);
            all.extend_from_slice(bytes.unwrap_or_default());
        }
        Ok((all, last))
    }
}

impl Storage for Fenced {
    fn load(&mut self) -> io::Result<Vec<u8>> {
        self.flush()?;
        let (all, last) = self.store.read(&self.log)?;
        self.last = Some(last);
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
