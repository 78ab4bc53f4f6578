//! Reading ahead: one thread parses rows while another learns from them. The rows and their order
//! are the same; only the time differs.

use hushstream_read::{ReadError, Reader, Sealed};
use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SendError, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Rows handed over at a time, and blocks that may wait: a few thousand rows in memory, however
/// long the file is. Waking a thread takes as long as parsing ten rows, so blocks are large.
const BLOCK: usize = 1024;
const WAITING: usize = 3;
/// Approximate bytes of text in a block, if rows are long.
const TEXT: usize = 1 << 19;

type Block = Result<Vec<Sealed>, ReadError>;

/// The next row, if there is one.
pub(crate) enum Next {
    /// A row.
    Row(Sealed),
    /// Nothing yet.
    Late,
    /// No more rows.
    End,
}

/// The rows of a reader, parsed in a thread of its own. The thread ends with the rows, at the first
/// one that cannot be read, or when this value is dropped.
pub(crate) struct Ahead {
    blocks: Receiver<Block>,
    block: std::vec::IntoIter<Sealed>,
    /// Present until the last row.
    thread: Option<JoinHandle<Option<Reader>>>,
    /// The reader, once all rows have been read.
    reader: Option<Reader>,
}

impl Ahead {
    /// Starts reading, or gives the reader back where the system has no room for a thread. Rows of
    /// a live stream are handed over before the next one has to be waited for. No more than `most`
    /// rows are read.
    pub(crate) fn new(reader: Reader, is_live: bool, most: u64) -> Result<Self, Box<Reader>> {
        let (sender, blocks) = sync_channel::<Block>(WAITING);
        let (give, take) = sync_channel::<Reader>(1);
        let thread = thread::Builder::new().spawn(move || {
            let mut reader = take.recv().ok()?;
            let mut left = most;
            loop {
                let (mut block, mut text) = (Vec::<Sealed>::with_capacity(BLOCK), 0);
                let end = loop {
                    if left == 0 {
                        break Some(None);
                    }
                    left -= 1;
                    match reader.next_record() {
                        Ok(Some(row)) => block.push(row),
                        Ok(None) => break Some(None),
                        Err(error) => break Some(Some(error)),
                    }
                    text += *reader.last_length().for_the_operator();
                    let is_full = block.len() == BLOCK || text >= TEXT;
                    if is_full || is_live && !reader.holds_record() {
                        break None;
                    }
                };
                // Rows before a bad one are learned first, as if they had been read one by one.
                let gone = sender.send(Ok(block)).is_err();
                match end {
                    Some(Some(error)) => {
                        let _ = sender.send(Err(error));
                        return Some(reader);
                    }
                    Some(None) => return Some(reader),
                    None if gone => return Some(reader),
                    None => {}
                }
            }
        });
        let Ok(thread) = thread else {
            return Err(Box::new(reader));
        };
        give.send(reader)
            .map_err(|SendError(reader)| Box::new(reader))?;
        Ok(Self {
            blocks,
            block: Vec::new().into_iter(),
            thread: Some(thread),
            reader: None,
        })
    }

    /// The reader, after the last row that is asked for; of a live stream all rows must have been.
    pub(crate) fn close(self) -> Option<Reader> {
        // A thread that waits to hand over rows then ends.
        drop(self.blocks);
        match (self.reader, self.thread) {
            (None, Some(thread)) => joined(thread),
            (reader, _) => reader,
        }
    }

    /// Whether the next row may have to be waited for.
    pub(crate) fn is_waiting(&self) -> bool {
        self.block.len() == 0
    }

    /// The next row, if it comes within this time.
    pub(crate) fn next_record(&mut self, patience: Option<Duration>) -> Result<Next, ReadError> {
        loop {
            if let Some(row) = self.block.next() {
                return Ok(Next::Row(row));
            }
            if self.thread.is_none() {
                return Ok(Next::End);
            }
            let received = match patience {
                Some(patience) => self.blocks.recv_timeout(patience),
                None => self
                    .blocks
                    .recv()
                    .map_err(|_| RecvTimeoutError::Disconnected),
            };
            match received {
                Ok(Ok(block)) => self.block = block.into_iter(),
                Ok(Err(error)) => {
                    self.thread = None;
                    return Err(error);
                }
                Err(RecvTimeoutError::Timeout) => return Ok(Next::Late),
                Err(RecvTimeoutError::Disconnected) => {
                    self.reader = self.thread.take().and_then(joined);
                }
            }
        }
    }
}

/// A thread that panicked has not read to the end.
fn joined(thread: JoinHandle<Option<Reader>>) -> Option<Reader> {
    thread.join().unwrap_or_else(|panic| resume_unwind(panic))
}
