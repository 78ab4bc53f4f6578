//! A disk in memory, which can be looked at from outside.

use hushstream::Keeper;
use hushstream::mechanism::Storage;
use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// One file and its witness; clones are the same file.
#[derive(Clone, Default)]
pub(crate) struct File(Arc<Mutex<Contents>>);

/// What a file and its witness hold.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct Contents {
    pub(crate) bytes: Vec<u8>,
    pub(crate) witness: Option<Vec<u8>>,
}

impl File {
    pub(crate) fn of(bytes: &[u8], witness: Option<&[u8]>) -> Self {
        Self(Arc::new(Mutex::new(Contents {
            bytes: bytes.to_vec(),
            witness: witness.map(<[u8]>::to_vec),
        })))
    }

    fn lock(&self) -> MutexGuard<'_, Contents> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What it holds now.
    pub(crate) fn contents(&self) -> Contents {
        self.lock().clone()
    }
}

impl Storage for File {
    fn load(&mut self) -> io::Result<Vec<u8>> {
        Ok(self.lock().bytes.clone())
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.lock().bytes.extend_from_slice(bytes);
        Ok(())
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        self.lock().bytes.truncate(length);
        Ok(())
    }

    fn replace(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.lock().bytes = bytes.to_vec();
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn load_witness(&mut self) -> io::Result<Option<Vec<u8>>> {
        Ok(self.lock().witness.clone())
    }

    fn replace_witness(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.lock().witness = Some(bytes.to_vec());
        Ok(())
    }
}

/// Files by their names, in the place of a state folder.
#[derive(Clone, Default)]
pub(crate) struct Folder(Arc<Mutex<BTreeMap<String, File>>>);

impl Folder {
    pub(crate) fn put(&self, name: &str, file: File) {
        let mut files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        files.insert(name.to_owned(), file);
    }

    /// The file of this name, empty if there was none.
    pub(crate) fn file(&self, name: &str) -> File {
        let mut files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        files.entry(name.to_owned()).or_default().clone()
    }
}

impl Keeper for Folder {
    fn open(&self, name: &str) -> io::Result<Box<dyn Storage>> {
        Ok(Box::new(self.file(name)))
    }
}
