//! The store's file, with the time of its syncs.

use super::{StoreError, store_error};
use prometheus_client::metrics::histogram::Histogram;
use redb::backends::FileBackend;
use redb::{Database, StorageBackend};
use std::io::Result as IoResult;
use std::path::Path;
use std::time::Instant;

/// A file whose syncs are timed.
#[derive(Debug)]
struct Timed {
    file: FileBackend,
    syncs: Histogram,
}

/// Opens the store's file, or makes it; how long its syncs take is noted.
///
/// # Errors
/// A file that is in use or no store.
pub fn open(path: &Path, syncs: Histogram) -> Result<Database, StoreError> {
    let mut options = std::fs::OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    let file = options.open(path).map_err(store_error)?;
    let file = FileBackend::new(file).map_err(store_error)?;
    let opened = Database::builder().create_with_backend(Timed { file, syncs });
    opened.map_err(store_error)
}

impl StorageBackend for Timed {
    fn len(&self) -> IoResult<u64> {
        self.file.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> IoResult<()> {
        self.file.read(offset, out)
    }

    fn set_len(&self, len: u64) -> IoResult<()> {
        self.file.set_len(len)
    }

    fn sync_data(&self) -> IoResult<()> {
        let start = Instant::now();
        let synced = self.file.sync_data();
        self.syncs.observe(start.elapsed().as_secs_f64());
        synced
    }

    fn write(&self, offset: u64, data: &[u8]) -> IoResult<()> {
        self.file.write(offset, data)
    }

    fn close(&self) -> IoResult<()> {
        self.file.close()
    }
}
