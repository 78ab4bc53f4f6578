//! The file of every release, a model or a play, one JSON object a line. After a crash it goes on where it stopped: a torn last line is cut, and a release that
//! comes again, which has the same value, is not written twice.

use super::session::{Content, Release};
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, BufWriter, Seek, SeekFrom, Write};
use std::path::Path;

#[derive(Serialize)]
struct Line<'a> {
    release: u64,
    #[serde(flatten)]
    content: &'a Content,
}

/// What is read of a line.
#[derive(Deserialize)]
struct Numbered {
    release: u64,
}

/// Bytes that are written at once: a line has hundreds of small pieces, and there may be one a round.
const ROOM: usize = 1 << 18;

/// The open file.
pub(crate) struct Releases {
    file: BufWriter<File>,
    last: u64,
}

impl Releases {
    /// A new file, or the one of a run that is resumed.
    pub(crate) fn open(path: &Path, resume: bool) -> Result<Self> {
        let said = || format!("cannot write {}", path.display());
        let mut file = OpenOptions::new()
            .create(true)
            .truncate(!resume)
            .read(true)
            .write(true)
            .open(path)
            .with_context(said)?;
        let (mut last, mut whole) = (0, 0);
        let mut reader = BufReader::new(&file);
        let mut line = Vec::new();
        while reader.read_until(b'\n', &mut line).with_context(said)? > 0 && line.ends_with(b"\n") {
            let read: Numbered = serde_json::from_slice(&line)
                .with_context(|| format!("{} is not a file of releases", path.display()))?;
            last = read.release;
            whole += line.len() as u64;
            line.clear();
        }
        file.set_len(whole).with_context(said)?;
        file.seek(SeekFrom::End(0)).with_context(said)?;
        Ok(Self {
            file: BufWriter::with_capacity(ROOM, file),
            last,
        })
    }

    /// Writes what is new.
    pub(crate) fn write(&mut self, release: &Release) -> Result<()> {
        if release.step > self.last {
            let line = Line {
                release: release.step,
                content: &release.content,
            };
            serde_json::to_writer(&mut self.file, &line)?;
            self.file.write_all(b"\n")?;
            self.last = release.step;
        }
        Ok(())
    }

    /// Makes it durable: what the journal forgets at its next checkpoint cannot be written again.
    pub(crate) fn sync(&mut self) -> Result<()> {
        self.file.flush()?;
        Ok(self.file.get_ref().sync_data()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_torn_line_is_cut_and_nothing_is_written_twice() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("releases");
        let release = |step| Release {
            step,
            content: Content::Weights {
                weights: vec![step as f64],
            },
        };
        let mut releases = Releases::open(&path, false).unwrap();
        releases.write(&release(1)).unwrap();
        releases.write(&release(2)).unwrap();
        releases.sync().unwrap();
        drop(releases);
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, &whole[..whole.len() - 3]).unwrap();
        let mut releases = Releases::open(&path, true).unwrap();
        for step in 1..=3 {
            releases.write(&release(step)).unwrap();
        }
        releases.sync().unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().count(), 3);
        assert!(text.starts_with(std::str::from_utf8(&whole).unwrap()));
    }
}
