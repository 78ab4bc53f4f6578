//! Durable bytes: files in production; in tests, devices that fail.

use super::RowChain;
use std::io;

/// An appendable store. Contract: after [`Storage::sync`] returns, everything appended before
/// survives a crash; [`Storage::replace`] is atomic and durable when it returns. Bytes not yet
/// synced may survive in part, or not at all.
///
/// ```
/// use hushstream_mechanism::{MemoryStorage, Storage};
///
/// let mut storage = MemoryStorage::default();
/// storage.append(b"one two")?;
/// storage.truncate(3)?;
/// storage.sync()?;
/// assert_eq!(storage.load()?, b"one");
/// assert!(!storage.is_durable()); // gone with the process
/// # Ok::<(), std::io::Error>(())
/// ```
pub trait Storage: Send {
    /// Returns the whole content.
    ///
    /// # Errors
    /// An error of the device.
    fn load(&mut self) -> io::Result<Vec<u8>>;

    /// Appends bytes.
    ///
    /// # Errors
    /// An error of the device.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Removes everything after the first `length` bytes.
    ///
    /// # Errors
    /// An error of the device.
    fn truncate(&mut self, length: u64) -> io::Result<()>;

    /// Replaces the whole content. After a crash it is either all old or all new.
    ///
    /// # Errors
    /// An error of the device.
    fn replace(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Returns once everything is durable.
    ///
    /// # Errors
    /// An error of the device.
    fn sync(&mut self) -> io::Result<()>;

    /// The witness: a few bytes beside the content that show whether a ledger is the newest copy.
    /// `None` if there is none, or if this storage keeps none.
    ///
    /// # Errors
    /// An error of the device.
    fn load_witness(&mut self) -> io::Result<Option<Vec<u8>>> {
        Ok(None)
    }

    /// Replaces the witness, atomically and durably.
    ///
    /// # Errors
    /// An error of the device.
    fn replace_witness(&mut self, _bytes: &[u8]) -> io::Result<()> {
        Ok(())
    }

    /// Whether the content outlives the process. A ledger on storage that is not durable is marked
    /// simulated.
    fn is_durable(&self) -> bool {
        true
    }

    /// Whether the content can be read again at all. If not, no journal is written.
    fn is_kept(&self) -> bool {
        true
    }

    /// The rows that a journal in this storage covers, for callers that track them:
    /// [`WithRows`](crate::WithRows).
    fn rows(&self) -> Option<RowChain> {
        None
    }
}

/// The methods of a storage that another one holds, at `$inner`, except for its rows.
macro_rules! forward {
    ($self:ident, $inner:expr) => {
        fn load(&mut $self) -> io::Result<Vec<u8>> {
            $inner.load()
        }

        fn append(&mut $self, bytes: &[u8]) -> io::Result<()> {
            $inner.append(bytes)
        }

        fn truncate(&mut $self, length: u64) -> io::Result<()> {
            $inner.truncate(length)
        }

        fn replace(&mut $self, bytes: &[u8]) -> io::Result<()> {
            $inner.replace(bytes)
        }

        fn sync(&mut $self) -> io::Result<()> {
            $inner.sync()
        }

        fn load_witness(&mut $self) -> io::Result<Option<Vec<u8>>> {
            $inner.load_witness()
        }

        fn replace_witness(&mut $self, bytes: &[u8]) -> io::Result<()> {
            $inner.replace_witness(bytes)
        }

        fn is_durable(&$self) -> bool {
            $inner.is_durable()
        }

        fn is_kept(&$self) -> bool {
            $inner.is_kept()
        }
    };
}

pub(super) use forward;

impl Storage for Box<dyn Storage> {
    forward!(self, (**self));

    fn rows(&self) -> Option<RowChain> {
        (**self).rows()
    }
}

/// Bytes in memory, for simulations: lost with the process.
#[derive(Default)]
pub struct MemoryStorage {
    pub(super) bytes: Vec<u8>,
}

/// Storage that discards everything: for the journal of a run that will never be resumed. Its key
/// must not be stored either; then its noise can never be drawn again.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoStorage;

impl Storage for NoStorage {
    fn load(&mut self) -> io::Result<Vec<u8>> {
        Ok(Vec::new())
    }

    fn append(&mut self, _: &[u8]) -> io::Result<()> {
        Ok(())
    }

    fn truncate(&mut self, _: u64) -> io::Result<()> {
        Ok(())
    }

    fn replace(&mut self, _: &[u8]) -> io::Result<()> {
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn is_durable(&self) -> bool {
        false
    }

    fn is_kept(&self) -> bool {
        false
    }
}

impl Storage for MemoryStorage {
    fn load(&mut self) -> io::Result<Vec<u8>> {
        Ok(self.bytes.clone())
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        self.bytes
            .truncate(usize::try_from(length).unwrap_or(usize::MAX));
        Ok(())
    }

    fn replace(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.bytes = bytes.to_vec();
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn is_durable(&self) -> bool {
        false
    }
}
