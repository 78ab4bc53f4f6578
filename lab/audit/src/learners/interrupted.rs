//! Runs that stop in the middle: the journal is kept, or an older copy of it comes back.

use crate::AuditError;
use hushstream_mechanism::{CameBack, Storage};
use std::sync::{Arc, Mutex, MutexGuard};
use std::{fmt, io};

/// Where and how a run is interrupted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Interruption {
    /// Not at all.
    Never,
    /// After this round; the journal is as it was left.
    Stopped(u64),
    /// After this round; the journal is replaced by its copy from before the round, whose release
    /// was published.
    Restored(u64),
}

impl Interruption {
    pub(crate) fn is_after(self, round: u64) -> bool {
        matches!(self, Self::Stopped(at) | Self::Restored(at) if at == round)
    }

    /// Puts the old copy back, if that is what happens; says how many items are lost.
    pub(crate) fn restore(self, shelf: &Shelf, old: &[u8]) -> u64 {
        if matches!(self, Self::Restored(_)) {
            *shelf.bytes() = old.to_vec();
            1
        } else {
            0
        }
    }

    /// A kept journal is continued; a lost item makes a new instance.
    pub(crate) fn check(self, outcome: CameBack, lost: u64) -> Result<(), AuditError> {
        let expected = match lost {
            0 => CameBack::Continued,
            lost => CameBack::NewInstance { lost },
        };
        if outcome == expected {
            Ok(())
        } else {
            Err(AuditError::Resumed(format!("{outcome:?} after {self:?}")))
        }
    }

    /// What is published again after a journal that was kept must be what was published last, bit
    /// for bit: other noise on the same record would be paid for by nobody.
    pub(crate) fn check_again(self, published: &[f64], again: &[f64]) -> Result<(), AuditError> {
        let tail = published.len().saturating_sub(again.len());
        let bits = |values: &[f64]| values.iter().map(|v| v.to_bits()).collect::<Vec<u64>>();
        if matches!(self, Self::Stopped(_)) && bits(&published[tail..]) != bits(again) {
            let what = format!("{self:?}: a release came again with another value");
            return Err(AuditError::Resumed(what));
        }
        Ok(())
    }
}

impl fmt::Display for Interruption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Never => Ok(()),
            Self::Stopped(at) => write!(f, ", stopped after {at}"),
            Self::Restored(at) => write!(f, ", old journal after {at}"),
        }
    }
}

/// Bytes that outlive the process that wrote them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Shelf(Arc<Mutex<Vec<u8>>>);

impl Shelf {
    pub(crate) fn open(&self) -> Self {
        self.clone()
    }

    pub(crate) fn copy(&self) -> Vec<u8> {
        self.bytes().clone()
    }

    fn bytes(&self) -> MutexGuard<'_, Vec<u8>> {
        self.0
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl Storage for Shelf {
    fn load(&mut self) -> io::Result<Vec<u8>> {
        Ok(self.copy())
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.bytes().extend_from_slice(bytes);
        Ok(())
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.bytes()
            .truncate(usize::try_from(length).unwrap_or(usize::MAX));
        Ok(())
    }

    fn replace(&mut self, bytes: &[u8]) -> io::Result<()> {
        *self.bytes() = bytes.to_vec();
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}
