//! Files that a run writes: whole or not at all.

use anyhow::{Context, Result};
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Writes a file so that at every moment it is the old one or the new one, whole.
pub(crate) fn write_whole(path: &Path, content: &[u8]) -> Result<()> {
    let said = || format!("cannot write {}", path.display());
    let beside = unfinished(path);
    let written = File::create(&beside).and_then(|mut file| {
        file.write_all(content)?;
        file.sync_all()
    });
    if let Err(error) = written.and_then(|()| fs::rename(&beside, path)) {
        // Nothing half-written remains.
        let _ = fs::remove_file(&beside);
        return Err(error).with_context(said);
    }
    Ok(())
}

/// Whether a file can be written there, found out before anything is spent.
pub(crate) fn check_writable(path: &Path) -> Result<()> {
    let said = || format!("cannot write {}", path.display());
    if path.is_dir() {
        anyhow::bail!("cannot write {}: it is a folder", path.display());
    }
    let beside = unfinished(path);
    File::create(&beside).with_context(said)?;
    fs::remove_file(&beside).with_context(said)
}

fn unfinished(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".unfinished");
    name.into()
}

/// A file that only its owner can read, durable when this returns.
pub(crate) fn write_secret(path: &Path, content: &[u8]) -> Result<()> {
    let said = || format!("cannot write {}", path.display());
    let mut options = OpenOptions::new();
    options.create_new(true).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path).with_context(said)?;
    file.write_all(content).with_context(said)?;
    file.sync_all().with_context(said)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_whole_and_a_failure_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model");
        write_whole(&path, b"old").unwrap();
        write_whole(&path, b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        let missing = folder.path().join("none/model");
        assert!(write_whole(&missing, b"x").is_err() && check_writable(&missing).is_err());
        assert!(check_writable(folder.path()).is_err());
        check_writable(&path).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
