//! A log of records that distinguishes a torn end from damage in the middle.
//!
//! Format: a header of ten bytes, `HUSHLOG2`, the kind (`L` ledger, `J` journal) and the version of
//! the records; then frames: length (4 bytes), CRC-32 of number and payload (4), number (8),
//! payload; all little-endian, numbers counting from 0. Version 1 had the header `HUSHLOG1` alone.
//! Its ledgers are still read: their records are a subset of those of version 2, so opening one
//! writes the new header and keeps every frame. So are journals of version 3, whose items have no
//! number of records and no source after them. Every other version is refused with an explanation.
//! Journals are of version 4, ledgers of version 2.
//!
//! A crash can tear only unsynced bytes, which are at the end: a frame that fails its check is cut
//! off with everything after it, and nothing that depended on it has left the process. In the
//! ledger every record is synced separately, so a later frame that *passes* its check proves that a
//! synced byte has changed. That is damage, not a crash; it is reported, never repaired. In
//! journals many records are synced together, and a crash may keep later ones and lose earlier
//! ones; there the ledger's mark shows whether a published item was lost.

use super::Storage;
use std::io;

const MAGIC: &[u8; 8] = b"HUSHLOG2";
/// The whole header of version 1.
const FIRST: &[u8; 8] = b"HUSHLOG1";
const HEADER: usize = MAGIC.len() + 2;
const HEAD: usize = 16;

/// The kind of a log, and the versions of it that can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Format {
    kind: u8,
    /// The version of new logs.
    version: u8,
    /// The oldest version that can be read.
    oldest: u8,
    syncs: Syncs,
}

impl Format {
    pub(crate) const LEDGER: Self = Self {
        kind: b'L',
        version: 2,
        oldest: 1,
        syncs: Syncs::Each,
    };

    pub(crate) const JOURNAL: Self = Self {
        kind: b'J',
        version: 4,
        oldest: 3,
        syncs: Syncs::Groups,
    };

    fn header(self) -> [u8; HEADER] {
        let mut header = [0; HEADER];
        header[..MAGIC.len()].copy_from_slice(MAGIC);
        header[MAGIC.len()..].copy_from_slice(&[self.kind, self.version]);
        header
    }

    /// The name of a kind.
    fn name(kind: u8) -> &'static str {
        match kind {
            b'L' => "ledger",
            b'J' => "journal",
            _ => "log of an unknown kind",
        }
    }

    /// Length and version of a readable log's header.
    fn check(self, bytes: &[u8]) -> Result<(usize, u8), LogError> {
        let (length, kind, version) = match bytes.get(MAGIC.len()..HEADER) {
            _ if bytes.starts_with(FIRST) => (FIRST.len(), self.kind, 1),
            Some(&[kind, version]) if bytes.starts_with(MAGIC) => (HEADER, kind, version),
            _ => return Err(LogError::NotALog),
        };
        let what = Self::name(self.kind);
        if kind != self.kind {
            return Err(LogError::OtherKind {
                found: Self::name(kind),
                expected: what,
            });
        }
        let (oldest, newest) = (self.oldest, self.version);
        if version < oldest {
            return Err(LogError::Older {
                what,
                found: version,
                oldest,
            });
        }
        if version > newest {
            return Err(LogError::Newer {
                what,
                found: version,
                newest,
            });
        }
        Ok((length, version))
    }
}

/// Why a log cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The device failed. After a failed write it is unknown what is durable: open the log again.
    #[error("storage failed: {0}")]
    Storage(#[from] io::Error),
    /// The file is not a log.
    #[error("not a Hushstream log")]
    NotALog,
    /// The log is of another kind.
    #[error("the file is a {found}, and not a {expected}")]
    OtherKind {
        /// The kind that was found.
        found: &'static str,
        /// The kind that was expected.
        expected: &'static str,
    },
    /// A format that is no longer read.
    #[error(
        "the {what} was written by an earlier version of Hushstream (format {found}; this version \
         reads format {oldest} and later): finish its run with that version, or begin a new run, \
         which is charged"
    )]
    Older {
        /// The kind of log.
        what: &'static str,
        /// Its format.
        found: u8,
        /// The oldest format that is read.
        oldest: u8,
    },
    /// A format of a later version.
    #[error(
        "the {what} was written by a later version of Hushstream (format {found}; this version \
         reads up to format {newest}): use that version"
    )]
    Newer {
        /// The kind of log.
        what: &'static str,
        /// Its format.
        found: u8,
        /// The newest format that is read.
        newest: u8,
    },
    /// A synced part of the file has changed.
    #[error("the log is damaged at byte {0}: a synced record has changed")]
    Damaged(u64),
    /// An earlier write failed.
    #[error("an earlier write failed: open the log again to see what is durable")]
    Poisoned,
    /// The journal covers other rows than the run was given.
    #[error(
        "the rows are not those that the run has learned: feed the same rows in the same order, \
         from the first on"
    )]
    OtherRows,
    /// A record of 4 GiB or more.
    #[error("a record is too large: at most 4 GiB can be written at once")]
    TooLarge,
    /// A record does not decode.
    #[error("record {0} is not of this version")]
    Record(u64),
}

/// How records are synced, which decides the meaning of a broken one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Syncs {
    /// One by one: intact records after a broken one prove damage.
    Each,
    /// In groups: the end may be torn anywhere.
    Groups,
}

/// The log.
pub(crate) struct Log {
    storage: Box<dyn Storage>,
    format: Format,
    /// Cached: asking the storage again would cost two pointer lookups per round.
    is_kept: bool,
    records: u64,
    /// CRC of the last record.
    last: u32,
    bytes: u64,
    poisoned: bool,
}

impl Log {
    /// Opens a log and returns all its records.
    pub(crate) fn open(
        storage: Box<dyn Storage>,
        format: Format,
    ) -> Result<(Self, Vec<Vec<u8>>), LogError> {
        Self::open_checked(storage, format, |_, _| Ok(()))
    }

    /// As [`Log::open`], if `check` accepts the records. Nothing is cut off before the check.
    pub(crate) fn open_checked<E: From<LogError>>(
        mut storage: Box<dyn Storage>,
        format: Format,
        check: impl FnOnce(&mut dyn Storage, &[Vec<u8>]) -> Result<(), E>,
    ) -> Result<(Self, Vec<Vec<u8>>), E> {
        let mut bytes = storage.load().map_err(LogError::from)?;
        let header = format.header();
        // Empty, a header torn by a crash, or an old header with nothing after it: start a new log.
        let is_new = header.starts_with(&bytes) || bytes == FIRST;
        let is_written = bytes == header;
        if is_new {
            bytes = header.to_vec();
        }
        let (mut place, version) = format.check(&bytes)?;
        let is_old = version < format.version;
        if is_old {
            bytes.splice(..place, header);
            place = HEADER;
        }
        let mut records = Vec::new();
        while let Some(payload) = frame(&bytes[place..], records.len() as u64) {
            place += HEAD + payload.len();
            records.push(payload.to_vec());
        }
        let rest = &bytes[place..];
        // Any intact frame, with any number: a second writer would have repeated numbers.
        let intact = |at: usize| {
            let number = rest
                .get(at + 8..at + HEAD)
                .and_then(|bytes| bytes.try_into().ok());
            number.is_some_and(|number| frame(&rest[at..], u64::from_le_bytes(number)).is_some())
        };
        if format.syncs == Syncs::Each && (0..rest.len()).any(intact) {
            return Err(LogError::Damaged(place as u64).into());
        }
        check(storage.as_mut(), &records)?;
        let settled = if is_old || is_new && !is_written {
            storage.replace(&bytes[..place])
        } else if !rest.is_empty() {
            storage.truncate(place as u64).and_then(|()| storage.sync())
        } else {
            Ok(())
        };
        settled.map_err(LogError::from)?;
        let log = Self {
            is_kept: storage.is_kept(),
            storage,
            format,
            records: records.len() as u64,
            last: (0..)
                .zip(&records)
                .last()
                .map_or(0, |(number, payload)| checksum(number, payload)),
            bytes: place as u64,
            poisoned: false,
        };
        Ok((log, records))
    }

    /// Appends a record; it is durable after the next sync.
    pub(crate) fn append(&mut self, payload: &[u8]) -> Result<(), LogError> {
        if u32::try_from(payload.len()).is_err() {
            return Err(LogError::TooLarge);
        }
        let head = head(self.records, payload);
        self.guard(|storage| {
            storage.append(&head)?;
            storage.append(payload)
        })?;
        self.last = checksum(self.records, payload);
        self.records += 1;
        self.bytes += (HEAD + payload.len()) as u64;
        Ok(())
    }

    pub(crate) fn sync(&mut self) -> Result<(), LogError> {
        self.guard(|storage| storage.sync())
    }

    /// Replaces the whole log by these records, atomically and durably.
    pub(crate) fn replace(&mut self, payloads: &[Vec<u8>]) -> Result<(), LogError> {
        if payloads
            .iter()
            .any(|payload| u32::try_from(payload.len()).is_err())
        {
            return Err(LogError::TooLarge);
        }
        let mut bytes = self.format.header().to_vec();
        for (number, payload) in (0..).zip(payloads) {
            bytes.extend(head(number, payload));
            bytes.extend_from_slice(payload);
        }
        self.guard(|storage| storage.replace(&bytes))?;
        self.records = payloads.len() as u64;
        self.last = (0..)
            .zip(payloads)
            .last()
            .map_or(0, |(number, payload)| checksum(number, payload));
        self.bytes = bytes.len() as u64;
        Ok(())
    }

    /// Number of records, and the CRC of the last.
    pub(crate) fn end(&self) -> (u64, u32) {
        (self.records, self.last)
    }

    /// Replaces the witness beside the log.
    pub(crate) fn replace_witness(&mut self, bytes: &[u8]) -> Result<(), LogError> {
        self.guard(|storage| storage.replace_witness(bytes))
    }

    /// Refuses if an earlier write failed.
    pub(crate) fn check(&self) -> Result<(), LogError> {
        if self.poisoned {
            Err(LogError::Poisoned)
        } else {
            Ok(())
        }
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn is_kept(&self) -> bool {
        self.is_kept
    }

    pub(crate) fn is_durable(&self) -> bool {
        self.storage.is_durable()
    }

    /// After a failure the device's content is unknown, so nothing more is written.
    fn guard(
        &mut self,
        write: impl FnOnce(&mut dyn Storage) -> io::Result<()>,
    ) -> Result<(), LogError> {
        self.check()?;
        self.poisoned = true;
        write(self.storage.as_mut())?;
        self.poisoned = false;
        Ok(())
    }
}

/// The header of a frame.
fn head(number: u64, payload: &[u8]) -> [u8; HEAD] {
    let mut head = [0; HEAD];
    head[..4].copy_from_slice(&(payload.len() as u32).to_le_bytes());
    head[4..8].copy_from_slice(&checksum(number, payload).to_le_bytes());
    head[8..].copy_from_slice(&number.to_le_bytes());
    head
}

/// CRC-32 of a record with its number.
pub(crate) fn checksum(number: u64, payload: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&number.to_le_bytes());
    hasher.update(payload);
    hasher.finalize()
}

/// The payload at the start of `bytes`, if a complete, intact frame with this number begins there.
fn frame(bytes: &[u8], number: u64) -> Option<&[u8]> {
    let word = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let length = word(0)? as usize;
    let stored = u64::from_le_bytes(bytes.get(8..HEAD)?.try_into().ok()?);
    let payload = bytes.get(HEAD..HEAD.checked_add(length)?)?;
    (stored == number && word(4)? == checksum(number, payload)).then_some(payload)
}

#[cfg(test)]
mod tests {
    use super::super::MemoryStorage;
    use super::*;

    fn with_bytes(bytes: &[u8]) -> Box<dyn Storage> {
        let mut storage = MemoryStorage::default();
        storage.append(bytes).unwrap();
        Box::new(storage)
    }

    fn three_records() -> Vec<u8> {
        let (mut log, _) = Log::open(with_bytes(&[]), Format::LEDGER).unwrap();
        for payload in [&b"one"[..], b"", b"three"] {
            log.append(payload).unwrap();
        }
        log.storage.load().unwrap()
    }

    #[test]
    fn every_torn_end_keeps_the_whole_records_before_it() {
        let bytes = three_records();
        for length in 0..=bytes.len() {
            let (mut log, records) =
                Log::open(with_bytes(&bytes[..length]), Format::LEDGER).unwrap();
            let whole = [10 + 19, 10 + 19 + 16, 10 + 19 + 16 + 21];
            let expected = whole.iter().filter(|&&end| end <= length).count();
            assert_eq!(records.len(), expected, "length {length}");
            // The log continues from there.
            log.append(b"more").unwrap();
            let (_, records) =
                Log::open(with_bytes(&log.storage.load().unwrap()), Format::LEDGER).unwrap();
            assert_eq!(records.len(), expected + 1);
        }
    }

    #[test]
    fn a_changed_byte_before_the_last_record_is_reported() {
        let bytes = three_records();
        for place in HEADER..bytes.len() - 21 {
            let mut bytes = bytes.clone();
            bytes[place] ^= 4;
            assert!(
                matches!(
                    Log::open(with_bytes(&bytes), Format::LEDGER),
                    Err(LogError::Damaged(_))
                ),
                "{place}"
            );
        }
    }

    #[test]
    fn other_files_are_refused() {
        assert!(matches!(
            Log::open(with_bytes(b"something else"), Format::LEDGER),
            Err(LogError::NotALog)
        ));
    }
    fn error(bytes: &[u8], format: Format) -> String {
        Log::open(with_bytes(bytes), format)
            .err()
            .unwrap()
            .to_string()
    }

    #[test]
    fn the_first_version_of_a_ledger_goes_on_and_other_versions_are_refused_in_words() {
        let bytes = three_records();
        let first = [&FIRST[..], &bytes[HEADER..]].concat();
        let (mut log, records) = Log::open(with_bytes(&first), Format::LEDGER).unwrap();
        assert_eq!(records.len(), 3);
        log.append(b"more").unwrap();
        let now = log.storage.load().unwrap();
        assert!(now.starts_with(&bytes));
        assert_eq!(
            Log::open(with_bytes(&now), Format::LEDGER).unwrap().1.len(),
            4
        );
        // Damage is damage in every version.
        let mut rotten = first.clone();
        rotten[FIRST.len() + HEAD] ^= 1;
        assert!(error(&rotten, Format::LEDGER).contains("damaged"));

        let old = error(&first, Format::JOURNAL);
        assert!(
            old.contains("the journal was written by an earlier version"),
            "{old}"
        );
        assert!(old.contains("begin a new run"), "{old}");
        let other = error(&bytes, Format::JOURNAL);
        assert!(other.contains("is a ledger, and not a journal"), "{other}");
        for (version, told) in [
            (3, "a later version"),
            (255, "a later version"),
            (0, "an earlier version"),
        ] {
            let mut bytes = bytes.clone();
            bytes[HEADER - 1] = version;
            let message = error(&bytes, Format::LEDGER);
            assert!(message.contains(told), "{message}");
        }
    }
}
