//! What this node has seen of the database, on its own disk.

use crate::frames::ledger_log;
use crate::store::number;
use crate::{Error, Store};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// How a node without a witness meets a database that has ledgers.
#[derive(Debug, Clone, Copy)]
pub enum Join<'a> {
    /// It is refused.
    Refused,
    /// An operator says that this database is the newest, and why; the reason is stored.
    Because(&'a str),
}

/// The folder of what was seen: the name of the store, and a file for each ledger.
pub struct Witness {
    folder: PathBuf,
    store: Arc<Store>,
    /// One at a time notes: what was seen never goes back.
    noting: Mutex<()>,
}

const CARD: &str = "store";

impl Witness {
    /// Opens the folder, and checks the database against it.
    ///
    /// # Errors
    /// Another database; an old one; a node that never saw this one and may not join.
    pub fn open(folder: &Path, store: &Arc<Store>, join: Join<'_>) -> Result<Self, Error> {
        let witness = Self {
            folder: folder.to_owned(),
            store: Arc::clone(store),
            noting: Mutex::default(),
        };
        let made = fs::create_dir_all(folder);
        made.map_err(|error| Error::Io(format!("cannot make {}", folder.display()), error))?;
        match witness.read(CARD)? {
            Some(name) if name == store.name() => witness.check()?,
            Some(_) => {
                let told = format!("{} is the witness of another database", folder.display());
                return Err(Error::Refused(told));
            }
            None => witness.join(join)?,
        }
        Ok(witness)
    }

    fn join(&self, join: Join<'_>) -> Result<(), Error> {
        let store = &self.store;
        let sql = "SELECT DISTINCT log FROM frames WHERE log LIKE 'ledger/%'";
        let logs = store.wait(async {
            let client = store.client().await?;
            Ok(client.query(sql, &[]).await?)
        })?;
        let reason = match join {
            Join::Because(reason) if !reason.trim().is_empty() => Some(reason),
            _ if logs.is_empty() => None,
            _ => {
                let told = format!(
                    "this node has no witness in {}: whether the database is the newest, or one \
                     that was restored or failed over, is not known. If it is the newest, join \
                     and say why: the reason is stored",
                    self.folder.display()
                );
                return Err(Error::Refused(told));
            }
        };
        for row in &logs {
            let dataset = row.get::<_, String>(0);
            let dataset = dataset
                .rsplit('/')
                .next()
                .and_then(|text| text.parse().ok());
            if let Some(dataset) = dataset {
                self.note(dataset)?;
            }
        }
        let sql = "INSERT INTO nodes (node, reason) VALUES ($1, $2)";
        store.wait(async {
            let client = store.client().await?;
            Ok(client.execute(sql, &[&store.holder, &reason]).await?)
        })?;
        // Last: a node that crashes before joins again.
        self.write(CARD, store.name())
    }

    /// Checks that the database has every frame that this node has seen: at the start, and after a
    /// connection was lost.
    ///
    /// # Errors
    /// A database that was restored or failed over.
    pub fn check(&self) -> Result<(), Error> {
        let said = |error| Error::Io(format!("cannot read {}", self.folder.display()), error);
        for entry in fs::read_dir(&self.folder).map_err(said)? {
            let name = entry.map_err(said)?.file_name();
            let Some(dataset) = name.to_str().and_then(|name| name.parse::<u64>().ok()) else {
                continue;
            };
            let noted = self.read(&dataset.to_string())?.unwrap_or_default();
            self.check_noted(dataset, &noted)?;
        }
        Ok(())
    }

    /// Checks that the database has the frame that was noted.
    fn check_noted(&self, dataset: u64, noted: &str) -> Result<(), Error> {
        let mut words = noted.split_whitespace().map(str::parse::<i64>);
        let (Some(Ok(seq)), Some(Ok(crc))) = (words.next(), words.next()) else {
            let told = format!("{} has a file that is no witness", self.folder.display());
            return Err(Error::Refused(told));
        };
        if self.crc(dataset, Some(seq))?.map(|(_, crc)| crc) == Some(crc) {
            return Ok(());
        }
        let told = format!(
            "the database is an old copy: this node has seen {seq} frames of the ledger of data \
             set {dataset}, and they are not there. It was restored, or it failed over to a \
             replica that lagged: charges are forgotten, and noise would be drawn twice. Put the \
             newest database back"
        );
        Err(Error::Refused(told))
    }

    /// Notes the last frame of a ledger, durably: before anything is answered with that was
    /// published under it. What was noted before must be there: a witness never goes back.
    ///
    /// # Errors
    /// An old database; those of the database; a disk that fails.
    pub fn note(&self, dataset: u64) -> Result<(), Error> {
        let _one = self.noting.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((seq, crc)) = self.crc(dataset, None)? else {
            return Ok(());
        };
        let (name, line) = (dataset.to_string(), format!("{seq} {crc}"));
        match self.read(&name)? {
            Some(noted) if noted == line => return Ok(()),
            Some(noted) => self.check_noted(dataset, &noted)?,
            None => {}
        }
        self.write(&name, &line)
    }

    /// Number and checksum of a frame of a ledger; the last without a number.
    fn crc(&self, dataset: u64, seq: Option<i64>) -> Result<Option<(i64, i64)>, Error> {
        number(dataset)?;
        let log = ledger_log(dataset);
        let sql = "SELECT seq, crc FROM frames WHERE log = $1 AND seq = coalesce($2, seq)
            ORDER BY seq DESC LIMIT 1";
        let row = self.store.wait(async {
            let client = self.store.client().await?;
            Ok(client.query_opt(sql, &[&log, &seq]).await?)
        })?;
        Ok(row.map(|row| (row.get(0), row.get(1))))
    }

    fn read(&self, name: &str) -> Result<Option<String>, Error> {
        let path = self.folder.join(name);
        match fs::read_to_string(&path) {
            Ok(text) => Ok(Some(text.trim_end().to_owned())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Error::Io(format!("cannot read {}", path.display()), error)),
        }
    }

    fn write(&self, name: &str, line: &str) -> Result<(), Error> {
        let (path, fresh) = (
            self.folder.join(name),
            self.folder.join(format!("{name}.new")),
        );
        let write = || {
            let mut file = File::create(&fresh)?;
            writeln!(file, "{line}")?;
            file.sync_all()?;
            fs::rename(&fresh, &path)?;
            File::open(&self.folder)?.sync_all()
        };
        write().map_err(|error| Error::Io(format!("cannot write {}", path.display()), error))
    }
}
