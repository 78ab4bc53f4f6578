//! A file as storage: locked, readable by its owner only, replaced atomically, written in large
//! chunks.

use super::Storage;
use std::fmt;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Bytes buffered in memory before a write. A journal has a few hundred bytes per round, and a
/// system call for each would cost more than the round.
const ROOM: usize = 1 << 18;

/// A file that only its owner can read, locked against other processes while it is open.
///
/// ```
/// use hushstream_mechanism::{FileStorage, Storage};
///
/// let path = std::env::temp_dir().join(format!("storage-example-{}", std::process::id()));
/// let mut storage = FileStorage::open(&path)?;
/// storage.append(b"durable after the sync")?;
/// storage.sync()?;
/// assert!(FileStorage::open(&path).is_err()); // locked
/// drop(storage);
/// assert_eq!(FileStorage::open(&path)?.load()?, b"durable after the sync");
/// # std::fs::remove_file(&path)?;
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct FileStorage {
    path: PathBuf,
    file: File,
    /// Appended, but not yet written: not durable before a sync.
    waiting: Vec<u8>,
    /// Set after a failed write, when the file's content is unknown: nothing more is written, and
    /// no sync succeeds.
    failed: bool,
    /// Only held: dropping it ends the lock. The lock is a separate file because `replace` puts a
    /// new file in place of the old one.
    _lock: File,
}

impl FileStorage {
    /// Opens the file, creating it if there is none.
    ///
    /// # Errors
    /// [`io::ErrorKind::WouldBlock`] if another process holds the lock; otherwise an error of the
    /// system.
    pub fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        let file = private(
            OpenOptions::new()
                .create(true)
                .truncate(false)
                .read(true)
                .write(true),
        )
        .open(&path)?;
        // Use the canonical path, so that a symbolic link does not get its own lock.
        let path = path.as_ref().canonicalize()?;
        let busy = |error| match error {
            TryLockError::Error(error) => error,
            TryLockError::WouldBlock => io::Error::new(
                io::ErrorKind::WouldBlock,
                format!("{} is in use", path.display()),
            ),
        };
        let lock = private(OpenOptions::new().create(true).truncate(false).write(true))
            .open(beside(&path, "lock"))?;
        lock.try_lock().map_err(busy)?;
        file.try_lock().map_err(busy)?;
        // Another process may have replaced the file between opening and locking it.
        drop(file);
        let file = private(OpenOptions::new().read(true).write(true)).open(&path)?;
        file.try_lock().map_err(busy)?;
        refuse_links(&file)?;
        restrict(&file)?;
        // The directory entry must be durable too, or a crash could lose the file.
        sync_directory(&path)?;
        Ok(Self {
            path,
            file,
            waiting: Vec::new(),
            failed: false,
            _lock: lock,
        })
    }

    /// Writes the buffered bytes, then `more`.
    fn write(&mut self, more: &[u8]) -> io::Result<()> {
        self.check()?;
        if self.waiting.is_empty() && more.is_empty() {
            return Ok(());
        }
        self.failed = true;
        self.file.seek(SeekFrom::End(0))?;
        self.file.write_all(&self.waiting)?;
        self.file.write_all(more)?;
        self.failed = false;
        self.waiting.clear();
        Ok(())
    }

    fn check(&self) -> io::Result<()> {
        if self.failed {
            Err(io::Error::other("an earlier write failed"))
        } else {
            Ok(())
        }
    }
}

/// Buffered bytes are private and not printed.
impl fmt::Debug for FileStorage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileStorage")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

/// Not required, but a run that is dropped without a sync loses less.
impl Drop for FileStorage {
    fn drop(&mut self) {
        let _ = self.write(&[]);
    }
}

/// A second hard link would keep the old content when `replace` puts a new file in place of the
/// first.
fn refuse_links(file: &File) -> io::Result<()> {
    #[cfg(unix)]
    if std::os::unix::fs::MetadataExt::nlink(&file.metadata()?) > 1 {
        return Err(io::Error::other(
            "the file has more than one name (hard links)",
        ));
    }
    let _ = file;
    Ok(())
}

/// Removes the permissions of group and others, also for an existing file.
fn restrict(file: &File) -> io::Result<()> {
    #[cfg(unix)]
    file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
    let _ = file;
    Ok(())
}

fn private(options: &mut OpenOptions) -> &mut OpenOptions {
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
    options
}

fn beside(path: &Path, extension: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(extension);
    name.into()
}

/// Replaces the file by a new one with this content, atomically and durably. Returns the new file,
/// locked.
fn replace_file(path: &Path, bytes: &[u8]) -> io::Result<File> {
    let fresh = beside(path, "new");
    // Remove a leftover of an earlier crash; never write into a file that somebody else made.
    match std::fs::remove_file(&fresh) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file =
        private(OpenOptions::new().create_new(true).read(true).write(true)).open(&fresh)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    file.lock()?;
    std::fs::rename(&fresh, path)?;
    sync_directory(path)?;
    Ok(file)
}

fn sync_directory(path: &Path) -> io::Result<()> {
    let parent = path
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    File::open(parent.unwrap_or(Path::new(".")))?.sync_all()
}

impl Storage for FileStorage {
    fn load(&mut self) -> io::Result<Vec<u8>> {
        self.write(&[])?;
        let mut bytes = Vec::new();
        self.file.seek(SeekFrom::Start(0))?;
        self.file.read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.waiting.len() + bytes.len() > ROOM {
            return self.write(bytes);
        }
        self.check()?;
        self.waiting.extend_from_slice(bytes);
        Ok(())
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.write(&[])?;
        self.file.set_len(length)
    }

    fn replace(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.failed = true;
        self.file = replace_file(&self.path, bytes)?;
        self.waiting.clear();
        self.failed = false;
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        self.write(&[])?;
        self.failed = true;
        self.file.sync_data()?;
        self.failed = false;
        Ok(())
    }

    fn load_witness(&mut self) -> io::Result<Option<Vec<u8>>> {
        match std::fs::read(beside(&self.path, "witness")) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn replace_witness(&mut self, bytes: &[u8]) -> io::Result<()> {
        replace_file(&beside(&self.path, "witness"), bytes).map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_holder_is_refused_until_the_first_is_gone() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("ledger");
        let first = FileStorage::open(&path).unwrap();
        let error = FileStorage::open(&path).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
        #[cfg(unix)]
        {
            let link = directory.path().join("link");
            std::os::unix::fs::symlink(&path, &link).unwrap();
            let error = FileStorage::open(link).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
        }
        drop(first);
        drop(FileStorage::open(&path).unwrap());
        let hard = directory.path().join("hard");
        std::fs::hard_link(&path, &hard).unwrap();
        assert!(FileStorage::open(&path).is_err() && FileStorage::open(&hard).is_err());
    }

    #[test]
    fn small_pieces_wait_for_a_sync_and_keep_their_order() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        let there = || std::fs::read(&path).unwrap();
        let mut storage = FileStorage::open(&path).unwrap();
        storage.append(b"one ").unwrap();
        assert_eq!(there(), b"");
        storage.sync().unwrap();
        assert_eq!(there(), b"one ");
        let large = vec![b'2'; ROOM + 1];
        storage.append(b"two ").unwrap();
        storage.append(&large).unwrap();
        let mut expected = [b"one two ", &large[..]].concat();
        assert!(there() == expected);
        for _ in 0..=ROOM / 4 {
            storage.append(b"many").unwrap();
            expected.extend(b"many");
        }
        assert!(there() == expected);
        storage.truncate(3).unwrap();
        storage.append(b" lost").unwrap();
        storage.replace(b"new").unwrap();
        storage.append(b"er").unwrap();
        drop(storage);
        assert_eq!(there(), b"newer");
    }

    #[test]
    fn after_a_failed_write_no_sync_succeeds() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        let mut storage = FileStorage::open(&path).unwrap();
        storage.append(b"one").unwrap();
        storage.file = File::open(&path).unwrap(); // for reading only
        assert!(storage.sync().is_err());
        assert!(storage.sync().is_err() && storage.append(b"two").is_err());
        assert!(storage.load().is_err() && storage.truncate(0).is_err());
        assert!(!format!("{storage:?}").contains("[111"), "bytes that wait");
        // A replaced content is fully known again.
        storage.replace(b"new").unwrap();
        storage.append(b"er").unwrap();
        storage.sync().unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"newer");
    }

    #[test]
    fn append_truncate_and_replace() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        let mut storage = FileStorage::open(&path).unwrap();
        storage.append(b"one two").unwrap();
        storage.truncate(3).unwrap();
        storage.append(b"!").unwrap();
        assert_eq!(storage.load().unwrap(), b"one!");
        storage.replace(b"new").unwrap();
        storage.append(b"er").unwrap();
        storage.sync().unwrap();
        drop(storage);
        assert_eq!(std::fs::read(&path).unwrap(), b"newer");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let mode = std::fs::metadata(&path).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
    }
}
