//! A log of records that tells a torn end from a rotten middle.
//!
//! Format: the eight bytes `HUSHLOG1`, then frames: length (4 bytes), CRC-32 of number and payload (4), number (8), payload; all
//! little-endian, numbers counting from 0. A crash can tear only what was not synced, that is the end: a frame that
//! does not check out and everything after it is cut off, and nothing that depended on it has left the process. Where
//! every record is synced by itself (the ledger), a later frame that *does* check out proves that a synced byte has changed: that is
//! damage, not a crash, and it is reported, never repaired. Where many are synced together (journals) a crash may keep later
//! ones and lose earlier ones; there the ledger's mark tells whether anything was lost that had been published.

use super::Storage;
use std::io;

const MAGIC: &[u8; 8] = b"HUSHLOG1";
const HEAD: usize = 16;

/// Why a log cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The device failed. After a failed write nothing is known about what is durable: open the log again.
    #[error("storage failed: {0}")]
    Storage(#[from] io::Error),
    /// The file is something else.
    #[error("not a Hushstream log")]
    NotALog,
    /// A synced part of the file has changed.
    #[error("the log is damaged at byte {0}: a synced record has changed")]
    Damaged(u64),
    /// An earlier write failed.
    #[error("an earlier write failed: open the log again to see what is durable")]
    Poisoned,
    /// A record of 4 GiB or more.
    #[error("a record is too large: at most 4 GiB can be written at once")]
    TooLarge,
    /// A record does not decode.
    #[error("record {0} is not of this version")]
    Record(u64),
}

/// How records are synced, and so what a broken one means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Syncs {
    /// One by one: intact records after a broken one prove damage.
    Each,
    /// In groups: the end may be torn anywhere.
    Groups,
}

/// The log.
pub(crate) struct Log {
    storage: Box<dyn Storage>,
    /// Asked once: a round that asked again would ask through two pointers.
    is_kept: bool,
    records: u64,
    bytes: u64,
    poisoned: bool,
}

impl Log {
    /// Opens a log and gives all its records.
    pub(crate) fn open(
        mut storage: Box<dyn Storage>,
        syncs: Syncs,
    ) -> Result<(Self, Vec<Vec<u8>>), LogError> {
        let bytes = storage.load()?;
        let torn_magic = bytes.len() < MAGIC.len() && MAGIC.starts_with(&bytes);
        if torn_magic {
            storage.replace(MAGIC)?;
        } else if !bytes.starts_with(MAGIC) {
            return Err(LogError::NotALog);
        }
        let mut records = Vec::new();
        let mut place = MAGIC.len().min(bytes.len());
        while let Some(payload) = frame(&bytes[place..], records.len() as u64) {
            place += HEAD + payload.len();
            records.push(payload.to_vec());
        }
        let rest = &bytes[place..];
        // Any intact frame, whatever its number: a second writer would have repeated numbers.
        let intact = |at: usize| {
            let number = rest
                .get(at + 8..at + HEAD)
                .and_then(|bytes| bytes.try_into().ok());
            number.is_some_and(|number| frame(&rest[at..], u64::from_le_bytes(number)).is_some())
        };
        if syncs == Syncs::Each && (0..rest.len()).any(intact) {
            return Err(LogError::Damaged(place as u64));
        }
        if !rest.is_empty() {
            storage.truncate(place as u64)?;
            storage.sync()?;
        }
        let log = Self {
            is_kept: storage.is_kept(),
            storage,
            records: records.len() as u64,
            bytes: place.max(MAGIC.len()) as u64,
            poisoned: false,
        };
        Ok((log, records))
    }

    /// Adds a record; it is durable after the next sync.
    pub(crate) fn append(&mut self, payload: &[u8]) -> Result<(), LogError> {
        if u32::try_from(payload.len()).is_err() {
            return Err(LogError::TooLarge);
        }
        let head = head(self.records, payload);
        self.guard(|storage| {
            storage.append(&head)?;
            storage.append(payload)
        })?;
        self.records += 1;
        self.bytes += (HEAD + payload.len()) as u64;
        Ok(())
    }

    pub(crate) fn sync(&mut self) -> Result<(), LogError> {
        self.guard(|storage| storage.sync())
    }

    /// Makes these records the whole log, atomically and durably.
    pub(crate) fn replace(&mut self, payloads: &[Vec<u8>]) -> Result<(), LogError> {
        if payloads
            .iter()
            .any(|payload| u32::try_from(payload.len()).is_err())
        {
            return Err(LogError::TooLarge);
        }
        let mut bytes = MAGIC.to_vec();
        for (number, payload) in (0..).zip(payloads) {
            bytes.extend(head(number, payload));
            bytes.extend_from_slice(payload);
        }
        self.guard(|storage| storage.replace(&bytes))?;
        self.records = payloads.len() as u64;
        self.bytes = bytes.len() as u64;
        Ok(())
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

    /// After a failure nobody knows what is on the device, so nothing more is written.
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

/// What stands before a payload.
fn head(number: u64, payload: &[u8]) -> [u8; HEAD] {
    let mut head = [0; HEAD];
    head[..4].copy_from_slice(&(payload.len() as u32).to_le_bytes());
    head[4..8].copy_from_slice(&checksum(number, payload).to_le_bytes());
    head[8..].copy_from_slice(&number.to_le_bytes());
    head
}

fn checksum(number: u64, payload: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&number.to_le_bytes());
    hasher.update(payload);
    hasher.finalize()
}

/// The payload at the start of `bytes` if a whole, intact frame with this number is there.
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
        let (mut log, _) = Log::open(with_bytes(&[]), Syncs::Each).unwrap();
        for payload in [&b"one"[..], b"", b"three"] {
            log.append(payload).unwrap();
        }
        log.storage.load().unwrap()
    }

    #[test]
    fn every_torn_end_keeps_the_whole_records_before_it() {
        let bytes = three_records();
        for length in 0..=bytes.len() {
            let (mut log, records) = Log::open(with_bytes(&bytes[..length]), Syncs::Each).unwrap();
            let whole = [8 + 19, 8 + 19 + 16, 8 + 19 + 16 + 21];
            let expected = whole.iter().filter(|&&end| end <= length).count();
            assert_eq!(records.len(), expected, "length {length}");
            // And it can go on from there.
            log.append(b"more").unwrap();
            let (_, records) =
                Log::open(with_bytes(&log.storage.load().unwrap()), Syncs::Each).unwrap();
            assert_eq!(records.len(), expected + 1);
        }
    }

    #[test]
    fn a_changed_byte_before_the_last_record_is_reported() {
        let bytes = three_records();
        for place in 8..bytes.len() - 21 {
            let mut bytes = bytes.clone();
            bytes[place] ^= 4;
            assert!(
                matches!(
                    Log::open(with_bytes(&bytes), Syncs::Each),
                    Err(LogError::Damaged(_))
                ),
                "{place}"
            );
        }
    }

    #[test]
    fn other_files_are_refused() {
        assert!(matches!(
            Log::open(with_bytes(b"something else"), Syncs::Each),
            Err(LogError::NotALog)
        ));
    }
}
