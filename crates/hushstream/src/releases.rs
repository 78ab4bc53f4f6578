//! The file of all releases, models or plays, one JSON object per line. After a crash it continues
//! where it stopped: a torn last line is cut, and a repeated release, which has the same value, is
//! not written twice. Every line carries the version of the format.

use crate::error::{Context, Result, refuse};
use crate::files::LineFile;
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::path::Path;

#[derive(Serialize)]
struct Line<'a, C> {
    version: u32,
    release: u64,
    #[serde(flatten)]
    content: &'a C,
}

/// The part of a line that is read back.
#[derive(Deserialize)]
struct Numbered {
    version: Option<u32>,
    release: u64,
}

/// Lines before version 1 had no version.
const VERSION: u32 = 1;

/// The open file.
pub(crate) struct Releases {
    file: LineFile,
    last: u64,
}

impl Releases {
    /// A new file, or the one of a run that is resumed.
    pub(crate) fn open(path: &Path, resume: bool) -> Result<Self> {
        let mut last = 0;
        let file = LineFile::open(path, resume, |line| {
            let read: Numbered = serde_json::from_slice(line)
                .with_context(|| format!("{} is not a file of releases", path.display()))?;
            match read.version {
                Some(VERSION) => {}
                None => refuse!(
                    "{} was written by an earlier version of this program, whose releases have no \
                     version: keep it, and name another file with ‹releases›",
                    path.display()
                ),
                Some(version) => refuse!(
                    "{} has releases of version {version}, and this program writes version \
                     {VERSION}: finish the run with the program that began it, or name another \
                     file with ‹releases›",
                    path.display()
                ),
            }
            last = read.release;
            Ok(true)
        })?;
        Ok(Self { file, last })
    }

    /// Writes a release, if it is new.
    pub(crate) fn write(&mut self, step: u64, content: &impl Serialize) -> Result<()> {
        if step > self.last {
            let line = Line {
                version: VERSION,
                release: step,
                content,
            };
            self.file.write(|file| {
                serde_json::to_writer(&mut *file, &line)?;
                file.write_all(b"\n")
            })?;
            self.last = step;
        }
        Ok(())
    }

    /// Syncs the file: releases that the journal drops at its next checkpoint cannot be written
    /// again.
    pub(crate) fn sync(&mut self) -> Result<()> {
        self.file.sync()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::methods::session::Content;

    #[test]
    fn a_torn_line_is_cut_and_nothing_is_written_twice() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("releases");
        let content = |step| Content::Weights {
            weights: vec![step as f64],
        };
        let mut releases = Releases::open(&path, false).unwrap();
        releases.write(1, &content(1)).unwrap();
        releases.write(2, &content(2)).unwrap();
        releases.sync().unwrap();
        drop(releases);
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, &whole[..whole.len() - 3]).unwrap();
        let mut releases = Releases::open(&path, true).unwrap();
        for step in 1..=3 {
            releases.write(step, &content(step)).unwrap();
        }
        releases.sync().unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().count(), 3);
        assert!(text.starts_with(std::str::from_utf8(&whole).unwrap()));
    }

    /// Files as every version wrote them.
    #[test]
    fn other_versions_are_refused_in_words_and_stay_as_they_were() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("releases");
        let first = include_bytes!("../tests/golden/releases-v1.jsonl");
        std::fs::write(&path, first).unwrap();
        assert_eq!(Releases::open(&path, true).unwrap().last, 2);
        let later = String::from_utf8_lossy(first).replace("\"version\":1", "\"version\":2");
        let none = include_bytes!("../tests/golden/releases-without-version.jsonl");
        for (file, told) in [
            (&none[..], "have no version"),
            (later.as_bytes(), "version 2"),
        ] {
            std::fs::write(&path, file).unwrap();
            let message = Releases::open(&path, true).err().unwrap().to_string();
            assert!(message.contains(told), "{message}");
            assert_eq!(std::fs::read(&path).unwrap(), file);
        }
    }
}
