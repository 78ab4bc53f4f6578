//! The state folder, from which a run resumes after a stop.
//!
//! | file | holds | written |
//! |---|---|---|
//! | `key` | the key of the noise | before the card |
//! | `run.json` | the card: number of records and of the charge | whole, before the charge |
//! | `journal` | the items taken in | after the charge |
//!
//! After a crash without a card, nothing was spent. With a card the run can continue, whether or
//! not its charge is in the ledger yet.

use crate::error::{Context, Result, refuse};
use crate::files::{check_writable, write_whole_secret};
use hushstream_mechanism::{FileStorage, RowChain, Storage, WithRows, rows_covered};
use hushstream_noise::Key;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::{fs, io};
use zeroize::Zeroizing;

const FORMAT: &str = "hushstream state";
const VERSION: u32 = 1;

const CARD: &str = "run.json";
const JOURNAL: &str = "journal";
const KEY: &str = "key";

/// The card of the run in a folder.
#[derive(Serialize, Deserialize)]
pub(crate) struct Card {
    format: String,
    version: u32,
    /// The planned number of records.
    pub(crate) rounds: u64,
    /// The number of its charge in the ledger, made or not.
    pub(crate) charge: u64,
    /// The order and the meaning of rows. The journal identifies the rows themselves.
    pub(crate) reading: String,
    /// The flags of privacy and method that it was begun with. Earlier versions did not write them.
    #[serde(default)]
    pub(crate) flags: Vec<String>,
    /// For ticks of a clock: the first, counted from 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) first: Option<i64>,
}

impl Card {
    pub(crate) fn new(rounds: u64, charge: u64, reading: String, flags: Vec<String>) -> Self {
        Self {
            format: FORMAT.to_owned(),
            version: VERSION,
            rounds,
            charge,
            reading,
            flags,
            first: None,
        }
    }

    /// The same, with the first tick of a clock.
    pub(crate) fn beginning(mut self, first: Option<i64>) -> Self {
        self.first = first;
        self
    }

    /// Describes how the flags differ from those of the run in this folder.
    pub(crate) fn other_flags(&self, folder: &Path, flags: &[String]) -> Option<String> {
        let gone = without(&self.flags, flags);
        let new = without(flags, &self.flags);
        let differs = match (gone.is_empty(), new.is_empty()) {
            _ if self.flags.is_empty() => return None,
            (true, true) => return None,
            (true, false) => format!("without {new}"),
            (false, true) => format!("with {gone}"),
            (false, false) => format!("with {gone}, not with {new}"),
        };
        Some(format!(
            "the run in {} was begun {differs}: leave the settings of privacy and method as they \
             were",
            folder.display()
        ))
    }

    /// Reads the card of a run to resume.
    pub(crate) fn read(folder: &Path, keeper: Option<&dyn Keeper>) -> Result<Self> {
        let path = folder.join(CARD);
        let text = content(folder, keeper, CARD)
            .with_context(|| format!("no run to resume: cannot read {}", path.display()))?;
        let card: Self = serde_json::from_slice(&text)
            .with_context(|| format!("{} does not describe a run", path.display()))?;
        if card.format != FORMAT || card.version != VERSION {
            refuse!(
                "{} has version {}, and this program reads version {VERSION}: finish the run with \
                 the program that began it, or begin a new run, which is charged",
                path.display(),
                card.version
            );
        }
        Ok(card)
    }
}

/// The flags that are not among the others, as settings.
fn without(flags: &[String], others: &[String]) -> String {
    let left = flags.iter().filter(|flag| !others.contains(flag));
    let setting = |flag: &String| {
        let (name, value) = flag.split_once(' ').unwrap_or((flag, ""));
        format!("‹{}› {value}", name.trim_start_matches('-'))
    };
    left.map(setting).collect::<Vec<_>>().join(" ")
}

/// Seals the key of a run before it is stored in its state folder: for programs that keep keys
/// under a master key. What it opens must be what it sealed.
///
/// ```
/// use hushstream::{KeySeal, Result, prelude::*};
/// use std::sync::Arc;
///
/// /// A real program encrypts with a master key, and authenticates.
/// struct Flipped;
///
/// impl KeySeal for Flipped {
///     fn seal(&self, key: &[u8]) -> Result<Vec<u8>> {
///         Ok(key.iter().map(|byte| !byte).collect())
///     }
///
///     fn open(&self, sealed: &[u8]) -> Result<Vec<u8>> {
///         self.seal(sealed)
///     }
/// }
///
/// # let folder = std::env::temp_dir().join(format!("key-seal-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// let learner = Learner::classify()
///     .features(2)
///     .records(100)
///     .budget(Budget::approx(1.0, 1e-6)?)
///     .adjacency(ReplaceOne)
///     .simulated(7)
///     .ledger(folder.join("ledger"))
///     .state(folder.join("run"))
///     .seal(Arc::new(Flipped));
/// learner.clone().start()?.learn(&[0.1, 0.2, 1.0])?;
/// assert!(learner.resume()?.resumed().is_some());
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait KeySeal: Send + Sync {
    /// Seals a key.
    ///
    /// # Errors
    /// A master key that is not there.
    fn seal(&self, key: &[u8]) -> Result<Vec<u8>>;

    /// Opens a sealed key.
    ///
    /// # Errors
    /// Another master key; bytes that were changed.
    fn open(&self, sealed: &[u8]) -> Result<Vec<u8>>;
}

/// Keeps the state of a run in the place of a folder, as contents with names: for programs whose
/// state is in a database. It must let one run at a time write, as the lock of a folder does.
///
/// ```
/// use hushstream::mechanism::{FileStorage, Storage};
/// use hushstream::{Keeper, prelude::*};
/// use std::path::PathBuf;
/// use std::sync::Arc;
///
/// /// Files whose names begin with the name of the run. Each is locked while it is open.
/// struct Prefixed(PathBuf);
///
/// impl Keeper for Prefixed {
///     fn open(&self, name: &str) -> std::io::Result<Box<dyn Storage>> {
///         Ok(Box::new(FileStorage::open(self.0.with_extension(name))?))
///     }
/// }
///
/// # let folder = std::env::temp_dir().join(format!("keeper-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// let learner = Learner::classify()
///     .features(2)
///     .records(100)
///     .budget(Budget::approx(1.0, 1e-6)?)
///     .adjacency(ReplaceOne)
///     .simulated(7)
///     .ledger(folder.join("ledger"))
///     .kept("flights", Arc::new(Prefixed(folder.join("flights"))));
/// learner.clone().start()?.learn(&[0.1, 0.2, 1.0])?;
/// assert!(learner.resume()?.resumed().is_some());
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Keeper: Send + Sync {
    /// The content of this name, empty if there is none.
    ///
    /// # Errors
    /// An error of the device; a run that does not hold its state any more.
    fn open(&self, name: &str) -> io::Result<Box<dyn Storage>>;
}

/// One content of a state folder, whole.
fn content(folder: &Path, keeper: Option<&dyn Keeper>, name: &str) -> io::Result<Vec<u8>> {
    let Some(keeper) = keeper else {
        return fs::read(folder.join(name));
    };
    let bytes = keeper.open(name)?.load()?;
    if bytes.is_empty() {
        return Err(io::ErrorKind::NotFound.into());
    }
    Ok(bytes)
}

/// Removes the permissions of group and others from a folder, and from the files in it that a copy
/// may have left open to them.
fn restrict(folder: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        if folder.is_dir() {
            fs::set_permissions(folder, PermissionsExt::from_mode(0o700))?;
        }
        for name in [KEY, CARD] {
            let path = folder.join(name);
            // A link leads to a file of somebody else's choice.
            if fs::symlink_metadata(&path).is_ok_and(|found| found.is_file()) {
                fs::set_permissions(&path, PermissionsExt::from_mode(0o600))?;
            }
        }
    }
    let _ = folder;
    Ok(())
}

/// A folder whose journal is locked against other processes.
pub(crate) struct StateFolder<'a> {
    path: PathBuf,
    keeper: Option<&'a dyn Keeper>,
    /// The lock is the journal's own.
    journal: Box<dyn Storage>,
}

impl<'a> StateFolder<'a> {
    /// Checks, without changes, that a new run can use the folder.
    pub(crate) fn check_new(path: &Path, keeper: Option<&dyn Keeper>) -> Result<()> {
        let is_there = match keeper {
            Some(keeper) => !keeper.open(CARD)?.load()?.is_empty(),
            None => path.join(CARD).exists(),
        };
        if is_there {
            refuse!(
                "{} holds a run already: add ‹resume› to go on with it, or name another folder",
                path.display()
            );
        }
        if keeper.is_some() {
            return Ok(());
        }
        // The nearest existing part of the path must be a writable folder.
        let there = path.ancestors().find(|part| part.exists());
        let there = there.unwrap_or(Path::new("."));
        if !there.is_dir() {
            refuse!(
                "cannot keep the state in {}: {} is not a folder",
                path.display(),
                there.display()
            );
        }
        check_writable(&there.join(".hushstream"), "the state")
    }

    /// Creates and locks an empty folder for a new run.
    pub(crate) fn create(path: &Path, keeper: Option<&'a dyn Keeper>) -> Result<Self> {
        if keeper.is_none() {
            let said = || format!("cannot create {}", path.display());
            fs::create_dir_all(path).with_context(said)?;
        }
        let folder = Self::open(path, keeper)?;
        // Check again under the lock: another process may have come first.
        Self::check_new(path, keeper)?;
        Ok(folder)
    }

    /// The folder of a run, locked.
    pub(crate) fn open(path: &Path, keeper: Option<&'a dyn Keeper>) -> Result<Self> {
        let journal = path.join(JOURNAL);
        if keeper.is_none() {
            restrict(path).with_context(|| format!("cannot restrict {}", path.display()))?;
        }
        let storage = match keeper {
            Some(keeper) => keeper.open(JOURNAL),
            None => FileStorage::open(&journal).map(|file| Box::new(file) as Box<dyn Storage>),
        };
        Ok(Self {
            path: path.to_owned(),
            keeper,
            journal: storage.with_context(|| format!("cannot open {}", journal.display()))?,
        })
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<()> {
        match self.keeper {
            Some(keeper) => Ok(keeper.open(name)?.replace(bytes)?),
            None => write_whole_secret(&self.path.join(name), bytes),
        }
    }

    /// Writes everything that a resume needs, durably, before anything is spent.
    pub(crate) fn begin(&self, key: &Key, card: &Card, seal: Option<&dyn KeySeal>) -> Result<()> {
        // An existing key is from a crash before the card was written: it has drawn nothing.
        match seal {
            Some(seal) => self.write(KEY, &seal.seal(key.export().as_slice())?)?,
            None => self.write(KEY, key.export().as_slice())?,
        }
        self.write(CARD, &serde_json::to_vec_pretty(card)?)
    }

    pub(crate) fn key(&self, seal: Option<&dyn KeySeal>) -> Result<Key> {
        let path = self.path.join(KEY);
        let bytes = content(&self.path, self.keeper, KEY);
        let bytes =
            Zeroizing::new(bytes.with_context(|| format!("cannot read {}", path.display()))?);
        let bytes = match seal {
            Some(seal) => Zeroizing::new(seal.open(&bytes)?),
            None => bytes,
        };
        Key::import(&bytes).with_context(|| format!("{} is damaged", path.display()))
    }

    /// The journal and its chain of rows.
    pub(crate) fn into_journal(self, rows: Option<RowChain>) -> Box<dyn Storage> {
        match rows {
            Some(rows) => Box::new(WithRows::new(self.journal, rows)),
            None => self.journal,
        }
    }

    /// The number of rows that the journal covers.
    pub(crate) fn rows(&mut self) -> Result<u64> {
        let path = self.path.join(JOURNAL);
        rows_covered(&mut self.journal).with_context(|| format!("cannot read {}", path.display()))
    }
}
