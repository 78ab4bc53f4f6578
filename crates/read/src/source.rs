//! Records as stretches of bytes: a window over the input that moves in large blocks, so that memory does not grow with the number of rows.

use crate::csv::Line;
use crate::error::{Column, Fault, Place, ReadError};
use crate::input::{Input, Packing, fault};
use crate::record_end::{Ends, Found};
use crate::shuffle;
use memchr::{memchr, memchr_iter, memrchr};
use pulp::{Arch, Simd, WithSimd};
use std::io::Read;
use std::ops::Range;
use std::sync::Arc;

const BLOCK: usize = 1 << 17;
/// The most that one record may take.
const LONGEST: usize = 16 << 20;
const BOM: [u8; 3] = [0xef, 0xbb, 0xbf];

/// One record: its bytes in the window without the line break.
pub(crate) struct Span {
    pub(crate) bytes: Range<usize>,
    /// Whether any field is quoted.
    pub(crate) quoted: bool,
}

/// A window over the input.
pub(crate) struct Source {
    name: Arc<str>,
    input: Box<dyn Read + Send>,
    packing: Packing,
    ends: Ends,
    /// The window; only `start..end` of it is unread input.
    window: Vec<u8>,
    start: usize,
    end: usize,
    /// Whether all of it is known to be plain text; if not, records are looked at one by one.
    is_plain: bool,
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
    pub(crate) fn new(input: Input, ends: Ends) -> Result<Self, ReadError> {
        let mut source = Self {
            name: input.name,
            input: input.bytes,
            packing: input.packing,
            ends,
            window: Vec::new(),
            start: 0,
            end: 0,
            is_plain: true,
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

    /// The same, with what lies behind it in the window.
    pub(crate) fn line(&self, span: &Span) -> Line<'_> {
        Line {
            row: self.bytes(span),
            room: &self.window[span.bytes.start..],
        }
    }

    /// The next record that is not a blank line.
    pub(crate) fn next(&mut self) -> Result<Option<Span>, ReadError> {
        loop {
            if let Some(shuffled) = &mut self.shuffled {
                match shuffled.remaining.pop() {
                    Some(offset) => self.start = offset as usize,
                    None => return Ok(None),
                }
            }
            let Some(span) = self.take()? else {
                return Ok(None);
            };
            if !span.bytes.is_empty() {
                if !self.is_plain {
                    self.check(&span)?;
                }
                return Ok(Some(span));
            }
        }
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

    /// Reads all that remains and deals out its records in an order that depends only on their number and the seed. Needs memory for the whole
    /// remaining input and eight bytes a record.
    pub(crate) fn shuffle(&mut self, seed: u64) -> Result<(), ReadError> {
        while self.more()? {}
        let (first, first_line) = (self.start, self.next_line);
        let mut remaining = Vec::new();
        loop {
            let offset = self.start as u64;
            match self.take()? {
                Some(span) if span.bytes.is_empty() => {}
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

    /// Takes all that remains and tells how many records it was, unlooked at.
    pub(crate) fn count(&mut self) -> Result<u64, ReadError> {
        let mut count = 0;
        while let Some(span) = self.take()? {
            count += u64::from(!span.bytes.is_empty());
        }
        Ok(count)
    }

    /// Records that have been dealt out in another order and not been taken yet.
    pub(crate) fn remaining(&self) -> Option<u64> {
        let shuffled = self.shuffled.as_ref()?;
        Some(shuffled.remaining.len() as u64)
    }

    /// An error `at` bytes after the beginning of the record that was read last; in that field of a table, or else in that byte of the line.
    pub(crate) fn error(
        &self,
        span: &Span,
        at: usize,
        field: Option<Column>,
        fault: Fault,
    ) -> ReadError {
        let begin = span.bytes.start;
        let before = &self.window[begin..(begin + at).min(span.bytes.end)];
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
                column: Some(field.unwrap_or(Column::Byte(byte as u64 + 1))),
            }),
            fault,
        }
    }

    /// Text is UTF-8 without NUL.
    fn check(&self, span: &Span) -> Result<(), ReadError> {
        let bytes = self.bytes(span);
        if is_plain(bytes) {
            return Ok(());
        }
        if let Some(at) = memchr(0, bytes) {
            return Err(self.error(span, at, None, Fault::Nul));
        }
        std::str::from_utf8(bytes)
            .map(|_| ())
            .map_err(|error| self.error(span, error.valid_up_to(), None, Fault::NotUtf8))
    }

    /// Takes the next record out of the window, reading as much as it needs.
    fn take(&mut self) -> Result<Option<Span>, ReadError> {
        let mut searched = 0;
        loop {
            // What lies beyond the limit has no say, so that messages do not depend on how input arrives.
            let limit = self.end.min(self.start + LONGEST + 1);
            let unread = &self.window[self.start..limit];
            match self.ends.find(unread, &mut searched) {
                Found::End { length, quoted } => {
                    return Ok(Some(self.cut(length, 1, quoted)));
                }
                Found::Stray(at) => return Err(self.fail(at, Fault::StrayQuote)),
                _ if unread.len() > LONGEST => return Err(self.fail(0, Fault::LineTooLong)),
                Found::Beyond { quoted, open } => {
                    if !self.more()? {
                        return match (self.end - self.start, open) {
                            (0, _) => Ok(None),
                            (_, Some(at)) => Err(self.fail(at, Fault::OpenQuote)),
                            (length, None) => Ok(Some(self.cut(length, 0, quoted))),
                        };
                    }
                }
            }
        }
    }

    fn cut(&mut self, length: usize, line_break: usize, quoted: bool) -> Span {
        let (begin, mut end) = (self.start, self.start + length);
        self.start = end + line_break;
        self.line = self.next_line;
        self.next_line += line_break as u64;
        if quoted {
            self.next_line += memchr_iter(b'\n', &self.window[begin..end]).count() as u64;
        }
        if self.window[begin..end].last() == Some(&b'\r') {
            end -= 1;
        }
        Span {
            bytes: begin..end,
            quoted,
        }
    }

    /// An error in the record that is being taken.
    fn fail(&mut self, at: usize, fault: Fault) -> ReadError {
        self.line = self.next_line;
        let span = Span {
            bytes: self.start..self.end,
            quoted: true,
        };
        self.error(&span, at, None, fault)
    }

    /// Reads more behind the unread bytes; false at the end of the input.
    fn more(&mut self) -> Result<bool, ReadError> {
        if self.finished {
            return Ok(false);
        }
        // Where something was taken since, what is left may be plain again.
        if self.start > 0 && !self.is_plain {
            self.is_plain = is_plain(&self.window[self.start..self.end]);
        }
        self.window.copy_within(self.start..self.end, 0);
        (self.start, self.end) = (0, self.end - self.start);
        // At least as much as there is already, so that a long record is not searched over and over.
        let room = self.end + BLOCK.max(self.end);
        if self.window.len() < room {
            self.window.resize(room, 0);
        }
        loop {
            match self.input.read(&mut self.window[self.end..room]) {
                Ok(count) => {
                    self.is_plain &= is_plain(&self.window[self.end..self.end + count]);
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

/// Whether all bytes are ASCII and none is NUL, as in most files: one pass in vectors, which may not stop early.
fn is_plain(bytes: &[u8]) -> bool {
    Arch::new().dispatch(IsPlain(bytes))
}

struct IsPlain<'a>(&'a [u8]);

impl WithSimd for IsPlain<'_> {
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> bool {
        let plain = |plain, byte: &u8| plain & (byte.wrapping_sub(1) < 127);
        self.0.iter().fold(true, plain)
    }
}

#[cfg(test)]
mod tests;
