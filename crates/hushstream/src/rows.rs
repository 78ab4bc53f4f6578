//! The source of rows: a thread that reads ahead, or the reader itself on a single core, where
//! hand-offs between threads would only cost time.

use crate::ahead::{Ahead, Next};
use hushstream_read::{ReadError, Reader};
use std::thread;
use std::time::Duration;

/// Rows in the order of their file, by either way.
pub(crate) enum Rows {
    Here(Box<Reader>),
    Ahead(Box<Ahead>),
}

impl Rows {
    /// By the way that fits the machine. No more than `most` rows are read ahead.
    pub(crate) fn new(reader: Reader, is_live: bool, most: u64) -> Self {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        if cores == 1 && !is_live {
            return Self::Here(Box::new(reader));
        }
        // Where no thread can be had, the rows are the same; releases of a live stream then wait
        // for the next row.
        match Ahead::new(reader, is_live, most) {
            Ok(ahead) => Self::Ahead(Box::new(ahead)),
            Err(reader) => Self::Here(reader),
        }
    }

    /// The next row; of a live stream, if it comes within this time.
    pub(crate) fn next_record(&mut self, patience: Option<Duration>) -> Result<Next, ReadError> {
        match self {
            Self::Here(reader) => Ok(reader.next_record()?.map_or(Next::End, Next::Row)),
            Self::Ahead(ahead) => ahead.next_record(patience),
        }
    }

    /// The reader, after the last row that is asked for; of a live stream all rows must have been.
    pub(crate) fn close(self) -> Option<Reader> {
        match self {
            Self::Here(reader) => Some(*reader),
            Self::Ahead(ahead) => ahead.close(),
        }
    }

    /// Whether the next row may have to be waited for.
    pub(crate) fn is_waiting(&self) -> bool {
        match self {
            Self::Here(_) => false,
            Self::Ahead(ahead) => ahead.is_waiting(),
        }
    }
}
