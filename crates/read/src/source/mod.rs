//! Records as stretches of bytes: a window over the input that moves in large blocks, so that
//! memory does not grow with the number of rows.

mod input;
mod lines;
mod shuffle;

pub use input::Input;
pub(crate) use input::{Packing, fault};
pub(crate) use lines::Ends;

use crate::error::{Column, Fault, Place, ReadError};
use crate::formats::Failure;
use input::Unpacked;
use lines::Found;
use memchr::{memchr, memchr_iter, memrchr};
use std::io::Read;
use std::ops::Range;
use std::sync::Arc;

const BLOCK: usize = 1 << 17;
/// The longest line that is parsed. A row of Parquet is no line, and may be longer.
const LONGEST: usize = 16 << 20;
const BOM: [u8; 3] = [0xef, 0xbb, 0xbf];

/// One record: its bytes in the window without the line break.
pub(crate) struct Span {
    pub(crate) bytes: Range<usize>,
    /// Where and why it cannot be parsed at all, whatever its format. The bytes of a line that is
    /// too long are not held.
    pub(crate) broken: Option<(usize, Fault)>,
}

/// A window over the input.
pub(crate) struct Source {
    name: Arc<str>,
    input: Box<dyn Read + Send>,
    packing: Packing,
    ends: Ends,
    /// The longest record that is parsed.
    longest: usize,
    /// The window; only `start..end` of it is unread input.
    window: Vec<u8>,
    start: usize,
    end: usize,
    /// Bytes of the window that are known to be ASCII without NUL.
    plain: Range<usize>,
    finished: bool,
    /// Line on which the record that was read last begins, and the one after it.
    line: u64,
    next_line: u64,
    shuffled: Option<Shuffled>,
}

/// Records in another order than the file's.
struct Shuffled {
    /// Offsets of those that remain, last first.
    remaining: Vec<u64>,
    /// Where the first record of the file begins, and on which line.
    first: usize,
    first_line: u64,
}

impl Source {
    pub(crate) fn new(input: Unpacked, ends: Ends) -> Result<Self, ReadError> {
        let mut source = Self {
            longest: match input.packing {
                Packing::Parquet => usize::MAX,
                Packing::Plain | Packing::Gzip => LONGEST,
            },
            name: input.name,
            input: input.bytes,
            packing: input.packing,
            ends,
            window: Vec::new(),
            start: 0,
            end: 0,
            plain: 0..0,
            finished: false,
            line: 1,
            next_line: 1,
            shuffled: None,
        };
        while source.end < BOM.len() && source.more()? {}
        if source.window[..source.end].starts_with(&BOM) {
            source.start = BOM.len();
        }
        Ok(source)
    }

    pub(crate) fn name(&self) -> &Arc<str> {
        &self.name
    }

    pub(crate) fn bytes(&self, span: &Span) -> &[u8] {
        &self.window[span.bytes.clone()]
    }

    /// The next record: one for every line, whatever the line holds.
    ///
    /// An error is never about the content of a line, unless quotes hide line breaks: there the
    /// end of a record with quotes out of order cannot be told.
    pub(crate) fn next(&mut self) -> Result<Option<Span>, ReadError> {
        if let Some(shuffled) = &mut self.shuffled {
            match shuffled.remaining.pop() {
                Some(offset) => self.start = offset as usize,
                None => return Ok(None),
            }
        }
        let Some(mut span) = self.take()? else {
            return Ok(None);
        };
        if span.bytes.is_empty() {
            span.broken = span.broken.or(Some((0, Fault::Blank)));
        } else if span.bytes.start < self.plain.start || self.plain.end < span.bytes.end {
            span.broken = check(self.bytes(&span)).or(span.broken);
        }
        Ok(Some(span))
    }

    /// Whether nothing is left to read. Waits for the first byte.
    pub(crate) fn is_at_end(&mut self) -> Result<bool, ReadError> {
        while self.start == self.end {
            if !self.more()? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether the next record can be had without waiting for more input.
    pub(crate) fn holds_record(&self) -> bool {
        let unread = &self.window[self.start..self.end];
        self.finished || matches!(self.ends.find(unread, &mut 0), Found::End { .. })
    }

    /// Undoes the last `next`, for a record that tells about the file and is a row too.
    pub(crate) fn put_back(&mut self, span: &Span) {
        self.start = span.bytes.start;
        self.next_line = self.line;
    }

    /// Reads all that remains and gives its records in an order that depends only on their number
    /// and the seed. Needs memory for the whole remaining input and eight bytes per record.
    pub(crate) fn shuffle(&mut self, seed: u64) -> Result<(), ReadError> {
        while self.more()? {}
        let (first, first_line) = (self.start, self.next_line);
        let mut remaining = Vec::new();
        loop {
            let offset = self.start as u64;
            match self.take()? {
                Some(_) => remaining.push(offset),
                None => break,
            }
        }
        shuffle::shuffle(&mut remaining, seed);
        remaining.reverse();
        self.shuffled = Some(Shuffled {
            remaining,
            first,
            first_line,
        });
        Ok(())
    }

    /// Records in another order that have not been taken yet.
    pub(crate) fn remaining(&self) -> Option<u64> {
        let shuffled = self.shuffled.as_ref()?;
        Some(shuffled.remaining.len() as u64)
    }

    /// The error that a failure of the record that was read last is.
    pub(crate) fn error(&self, span: &Span, failure: Failure) -> ReadError {
        let begin = span.bytes.start;
        let before = &self.window[begin..(begin + failure.at).min(span.bytes.end)];
        let first_line = match &self.shuffled {
            Some(shuffled) => {
                let rows = &self.window[shuffled.first..begin];
                shuffled.first_line + memchr_iter(b'\n', rows).count() as u64
            }
            None => self.line,
        };
        let byte = before.len() - memrchr(b'\n', before).map_or(0, |at| at + 1);
        ReadError {
            place: Box::new(Place {
                file: Some(Arc::clone(&self.name)),
                line: Some(first_line + memchr_iter(b'\n', before).count() as u64),
                column: Some(failure.column.unwrap_or(Column::Byte(byte as u64 + 1))),
            }),
            fault: failure.fault,
        }
    }

    /// Takes the next record out of the window, reading as much as it needs.
    fn take(&mut self) -> Result<Option<Span>, ReadError> {
        let mut searched = 0;
        loop {
            // Bytes beyond the limit are not looked at, so that the result does not depend on how
            // input arrives.
            let limit = self.start.saturating_add(self.longest).saturating_add(1);
            let unread = &self.window[self.start..self.end.min(limit)];
            match self.ends.find(unread, &mut searched) {
                Found::End { length, broken } => return Ok(Some(self.cut(length, 1, broken))),
                Found::Lost(at, fault) => return Err(self.fail(at, fault)),
                Found::Beyond if unread.len() > self.longest => {
                    if matches!(self.ends, Ends::Multiline { .. }) {
                        return Err(self.fail(0, Fault::LineTooLong));
                    }
                    return self.skip().map(Some);
                }
                Found::Beyond => {
                    if self.more()? {
                        continue;
                    }
                    let rest = &self.window[self.start..self.end];
                    if rest.is_empty() {
                        return Ok(None);
                    }
                    return match (rest.len(), self.ends.last(rest), self.ends) {
                        (_, Some((at, fault)), Ends::Multiline { .. }) => Err(self.fail(at, fault)),
                        (length, broken, _) => Ok(Some(self.cut(length, 0, broken))),
                    };
                }
            }
        }
    }

    /// Passes over a line that is too long, without holding it.
    fn skip(&mut self) -> Result<Span, ReadError> {
        let mut begin = self.start;
        self.line = self.next_line;
        loop {
            if let Some(at) = memchr(b'\n', &self.window[self.start..self.end]) {
                self.start += at + 1;
                self.next_line += 1;
                break;
            }
            self.start = self.end;
            if !self.more()? {
                break;
            }
            begin = 0;
        }
        Ok(Span {
            bytes: begin..begin,
            broken: Some((0, Fault::LineTooLong)),
        })
    }

    fn cut(&mut self, length: usize, line_break: usize, broken: Option<(usize, Fault)>) -> Span {
        let (begin, mut end) = (self.start, self.start + length);
        self.start = end + line_break;
        self.line = self.next_line;
        self.next_line += line_break as u64;
        if matches!(self.ends, Ends::Multiline { .. }) {
            self.next_line += memchr_iter(b'\n', &self.window[begin..end]).count() as u64;
        }
        if self.window[begin..end].last() == Some(&b'\r') {
            end -= 1;
        }
        Span {
            bytes: begin..end,
            broken,
        }
    }

    /// An error in the record that is being taken.
    fn fail(&mut self, at: usize, fault: Fault) -> ReadError {
        self.line = self.next_line;
        let span = Span {
            bytes: self.start..self.end,
            broken: None,
        };
        self.error(&span, Failure::new(at, fault))
    }

    /// Reads more behind the unread bytes; false at the end of the input.
    fn more(&mut self) -> Result<bool, ReadError> {
        if self.finished {
            return Ok(false);
        }
        self.window.copy_within(self.start..self.end, 0);
        let moved = [self.plain.start, self.plain.end].map(|at| at.saturating_sub(self.start));
        self.plain = moved[0]..moved[1];
        (self.start, self.end) = (0, self.end - self.start);
        // At least as much as there is, so that a long record is not searched over and over.
        let room = self.end + BLOCK.max(self.end);
        if self.window.len() < room {
            self.window.resize(room, 0);
        }
        loop {
            match self.input.read(&mut self.window[self.end..room]) {
                Ok(count) => {
                    let new = self.end..self.end + count;
                    // A block costs less than its lines one by one.
                    if is_plain(&self.window[new.clone()]) {
                        let joins = self.plain.end == new.start;
                        let begin = if joins { self.plain.start } else { new.start };
                        self.plain = begin..new.end;
                    }
                    self.end += count;
                    self.finished = count == 0;
                    return Ok(count > 0);
                }
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(fault(&error, self.packing).in_file(&self.name)),
            }
        }
    }
}

/// Text is UTF-8 without NUL.
fn check(bytes: &[u8]) -> Option<(usize, Fault)> {
    if is_plain(bytes) {
        return None;
    }
    if let Some(at) = memchr(0, bytes) {
        return Some((at, Fault::Nul));
    }
    let error = std::str::from_utf8(bytes).err()?;
    Some((error.valid_up_to(), Fault::NotUtf8))
}

/// Whether bytes are ASCII without NUL, as those of most files are: a sum of all bytes is done
/// sooner than a search.
fn is_plain(bytes: &[u8]) -> bool {
    let high = |bits: u8, byte: &u8| bits | byte | byte.wrapping_sub(1);
    pulp::Arch::new().dispatch(|| bytes.iter().fold(0, high)) < 0x80
}

#[cfg(test)]
mod tests;
