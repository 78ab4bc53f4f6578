//! Where bytes become durable. Files in production; tests bring disks that die.

use super::RowChain;
use std::io;

/// An appendable store. Contract: after [`Storage::sync`] returns, everything appended before
/// survives a crash; [`Storage::replace`] is atomic and durable when it returns. Bytes not yet
/// synced may survive in part, or not at all.
pub trait Storage: Send {
    /// All bytes.
    ///
    /// # Errors
    /// What the device says.
    fn load(&mut self) -> io::Result<Vec<u8>>;

    /// Adds bytes at the end.
    ///
    /// # Errors
    /// What the device says.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Cuts everything after `length` bytes.
    ///
    /// # Errors
    /// What the device says.
    fn truncate(&mut self, length: u64) -> io::Result<()>;

    /// Makes `bytes` the whole content: all of it or, after a crash, all of the old.
    ///
    /// # Errors
    /// What the device says.
    fn replace(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Returns when everything is durable.
    ///
    /// # Errors
    /// What the device says.
    fn sync(&mut self) -> io::Result<()>;

    /// The witness: a few bytes beside the content, by which a ledger knows whether it is the
    /// newest. `None` if there is none, or if this storage keeps none.
    ///
    /// # Errors
    /// What the device says.
    fn load_witness(&mut self) -> io::Result<Option<Vec<u8>>> {
        Ok(None)
    }

    /// Replaces the witness, atomically and durably.
    ///
    /// # Errors
    /// What the device says.
    fn replace_witness(&mut self, _bytes: &[u8]) -> io::Result<()> {
        Ok(())
    }

    /// Whether the content outlives the process. A ledger that does not is marked simulated.
    fn is_durable(&self) -> bool {
        true
    }

    /// Whether the content can be read again at all. A journal that cannot is not written.
    fn is_kept(&self) -> bool {
        true
    }

    /// The rows that a journal kept here covers, where somebody keeps account of them:
    /// [`WithRows`](crate::WithRows).
    fn rows(&self) -> Option<RowChain> {
        None
    }
}

impl Storage for Box<dyn Storage> {
    fn load(&mut self) -> io::Result<Vec<u8>> {
        (**self).load()
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        (**self).append(bytes)
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        (**self).truncate(length)
    }

    fn replace(&mut self, bytes: &[u8]) -> io::Result<()> {
        (**self).replace(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        (**self).sync()
    }

    fn load_witness(&mut self) -> io::Result<Option<Vec<u8>>> {
        (**self).load_witness()
    }

    fn replace_witness(&mut self, bytes: &[u8]) -> io::Result<()> {
        (**self).replace_witness(bytes)
    }

    fn is_durable(&self) -> bool {
        (**self).is_durable()
    }

    fn is_kept(&self) -> bool {
        (**self).is_kept()
    }

    fn rows(&self) -> Option<RowChain> {
        (**self).rows()
    }
}

/// Bytes in memory, for simulations: gone with the process.
#[derive(Default)]
pub struct MemoryStorage {
    bytes: Vec<u8>,
}

/// Nowhere: for the journal of a run that will never be resumed. Its key must not be kept either;
/// then no noise can ever be drawn again.
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
