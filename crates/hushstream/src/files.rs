//! Files that a run writes: whole or not at all.

use crate::error::{Context, Result, refuse};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// An unfinished file. [`WholeFile::finish`] puts it in place atomically; dropping it earlier
/// leaves nothing.
pub struct WholeFile {
    path: PathBuf,
    file: Option<File>,
}

impl WholeFile {
    /// Creates the unfinished file beside its final place.
    pub fn create(path: &Path) -> Result<Self> {
        Self::create_with(path, &mut OpenOptions::new())
    }

    fn create_with(path: &Path, options: &mut OpenOptions) -> Result<Self> {
        if is_special(path) {
            refuse!(
                "{}: it is a device or a pipe, not a file",
                cannot_write(path)
            );
        }
        // Write the target of a link and keep the link.
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        let file = fresh(&unfinished(&path), options).with_context(|| cannot_write(&path))?;
        Ok(Self {
            path,
            file: Some(file),
        })
    }

    /// Syncs the file and renames it to its final name.
    pub fn finish(mut self) -> Result<()> {
        let Some(file) = self.file.take() else {
            return Ok(());
        };
        let beside = unfinished(&self.path);
        let placed = file
            .sync_all()
            .and_then(|()| fs::rename(&beside, &self.path))
            .and_then(|()| sync_folder(&self.path));
        if placed.is_err() {
            let _ = fs::remove_file(&beside);
        }
        placed.with_context(|| cannot_write(&self.path))
    }
}

impl Write for WholeFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.file {
            Some(file) => file.write(bytes),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for WholeFile {
    fn drop(&mut self) {
        if self.file.take().is_some() {
            let _ = fs::remove_file(unfinished(&self.path));
        }
    }
}

/// Whether the path is a device or a pipe, which a file must not replace.
pub fn is_special(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir())
}

/// Writes a file atomically: at every moment it is the old one or the new one. A device or a pipe
/// is written to directly.
pub fn write_whole(path: &Path, content: &[u8]) -> Result<()> {
    if is_special(path) {
        return fs::write(path, content).with_context(|| cannot_write(path));
    }
    let mut file = WholeFile::create(path)?;
    file.write_all(content)
        .with_context(|| cannot_write(path))?;
    file.finish()
}

/// The same for a file that only its owner can read.
pub fn write_whole_secret(path: &Path, content: &[u8]) -> Result<()> {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = WholeFile::create_with(path, &mut options)?;
    file.write_all(content)
        .with_context(|| cannot_write(path))?;
    file.finish()
}

/// Checks that a file can be written, before anything is spent.
pub fn check_writable(path: &Path, what: &str) -> Result<()> {
    if path.is_dir() {
        refuse!("cannot write {what} to {}: it is a folder", path.display());
    }
    if is_special(path) {
        return Ok(());
    }
    let beside = unfinished(path);
    let said = || format!("cannot write {what} to {}", path.display());
    fresh(&beside, &mut OpenOptions::new()).with_context(said)?;
    fs::remove_file(&beside).with_context(said)
}

/// A new file in place of what a crash left behind. In a folder where others may write, a link of
/// that name could lead to a file of ours: it is removed, and never written through.
fn fresh(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    options.write(true).create_new(true).open(path)
}

/// Refuses two files of the run with the same path.
pub fn check_distinct(files: &[(&str, &Path)]) -> Result<()> {
    for (place, (what, path)) in files.iter().enumerate() {
        let same = |(_, other): &&(&str, &Path)| real(other) == real(path);
        if let Some((first, _)) = files[..place].iter().find(same) {
            refuse!(
                "{what} and {first} are the same file, {}: name another",
                path.display()
            );
        }
    }
    Ok(())
}

/// The path without links, also for a file that does not exist yet.
fn real(path: &Path) -> PathBuf {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    path.canonicalize().unwrap_or_else(|_| {
        let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        folder.join(path.file_name().unwrap_or_default())
    })
}

/// Bytes per write: a line has hundreds of small pieces, and there may be one line per round.
const ROOM: usize = 1 << 18;

/// A file of lines. A resumed run goes on after the last whole entry: a torn one is cut.
pub(crate) struct LineFile {
    path: PathBuf,
    file: BufWriter<File>,
}

impl LineFile {
    /// A new file, or the one of a run that is resumed. `ends` reads every line, and tells whether
    /// an entry ends with it. If it refuses one, the file stays as it was.
    pub(crate) fn open(
        path: &Path,
        resume: bool,
        mut ends: impl FnMut(&[u8]) -> Result<bool>,
    ) -> Result<Self> {
        let said = || cannot_write(path);
        let mut file = OpenOptions::new()
            .create(true)
            .truncate(!resume)
            .read(true)
            .write(true)
            .open(path)
            .with_context(said)?;
        let (mut length, mut whole) = (0, 0);
        let mut reader = BufReader::new(&file);
        let mut line = Vec::new();
        while reader.read_until(b'\n', &mut line).with_context(said)? > 0 && line.ends_with(b"\n") {
            length += line.len() as u64;
            if ends(&line)? {
                whole = length;
            }
            line.clear();
        }
        file.set_len(whole).with_context(said)?;
        file.seek(SeekFrom::End(0)).with_context(said)?;
        Ok(Self {
            path: path.to_owned(),
            file: BufWriter::with_capacity(ROOM, file),
        })
    }

    /// Writes some lines.
    pub(crate) fn write(
        &mut self,
        lines: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
    ) -> Result<()> {
        lines(&mut self.file).with_context(|| cannot_write(&self.path))
    }

    /// Makes all lines durable.
    pub(crate) fn sync(&mut self) -> Result<()> {
        self.file
            .flush()
            .and_then(|()| self.file.get_ref().sync_data())
            .with_context(|| cannot_write(&self.path))
    }
}

pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
}

pub(crate) fn cannot_write(path: &Path) -> String {
    format!("cannot write {}", path.display())
}

fn unfinished(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".unfinished");
    name.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_whole_and_a_failure_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model");
        write_whole(&path, b"old").unwrap();
        write_whole_secret(&path, b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        let mut given_up = WholeFile::create(&path).unwrap();
        given_up.write_all(b"half").unwrap();
        drop(given_up);
        assert_eq!(fs::read(&path).unwrap(), b"new");
        let missing = folder.path().join("none/model");
        assert!(write_whole(&missing, b"x").is_err());
        assert!(check_writable(&missing, "x").is_err());
        assert!(check_writable(folder.path(), "x").is_err());
        check_writable(&path, "x").unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn the_same_file_by_two_names_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let (a, b) = (folder.path().join("a"), folder.path().join("x/../a"));
        fs::create_dir(folder.path().join("x")).unwrap();
        let error = check_distinct(&[("the model", &a), ("the report", &b)]).unwrap_err();
        assert!(error.to_string().contains("the report and the model"));
        let other = folder.path().join("b");
        check_distinct(&[("the model", &a), ("the report", &other)]).unwrap();
    }
}
