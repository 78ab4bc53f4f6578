//! The witness: a file outside of the data folder that says how much the store has published.
//!
//! Everything in the folder can be restored together from a copy, and would then be consistent and
//! old: charges since then forgotten, noise drawn again for other people. A store that has
//! published less than its witness says is refused.

use std::fs::{File, rename};
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// The file, if there is one.
pub struct Witness {
    path: Option<PathBuf>,
    store: u64,
    /// The last that was noted: data sets publish at the same time.
    noted: Mutex<u64>,
}

impl Witness {
    /// The witness of this store.
    #[must_use]
    pub fn new(path: Option<PathBuf>, store: u64) -> Self {
        let noted = Mutex::new(0);
        Self { path, store, noted }
    }

    /// Checks that the store has published what the witness says; whether there is a witness.
    ///
    /// # Errors
    /// An old copy; the witness of another store.
    pub fn check(&self, published: u64) -> Result<bool, String> {
        let Some(path) = &self.path else {
            return Ok(false);
        };
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(format!("cannot read {}: {error}", path.display())),
        };
        let mut words = text.split_whitespace().skip(2).map(str::parse::<u64>);
        let (Some(Ok(store)), Some(Ok(noted))) = (words.next(), words.next()) else {
            return Err(format!("{} is no witness", path.display()));
        };
        if store != self.store {
            return Err(format!(
                "{} is the witness of another store",
                path.display()
            ));
        }
        if published < noted {
            return Err(format!(
                "this folder is an old copy: it has published {published} times, and its witness \
                 {} has seen {noted}. Charges since then are forgotten, and noise would be drawn \
                 twice. Put the newest folder back, or answer from the copy without learning: \
                 --restored",
                path.display()
            ));
        }
        Ok(true)
    }

    /// Notes a publication, durably.
    ///
    /// # Errors
    /// A disk that fails.
    pub fn note(&self, published: u64) -> io::Result<()> {
        let Some(path) = &self.path else {
            return Ok(());
        };
        let mut noted = self.noted.lock().unwrap_or_else(PoisonError::into_inner);
        if published <= *noted {
            return Ok(());
        }
        let mut fresh = path.clone().into_os_string();
        fresh.push(".new");
        let mut file = File::create(&fresh)?;
        writeln!(file, "hushstream witness {} {published}", self.store)?;
        file.sync_all()?;
        rename(&fresh, path)?;
        let folder = path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty());
        File::open(folder.unwrap_or(std::path::Path::new(".")))?.sync_all()?;
        *noted = published;
        Ok(())
    }
}
