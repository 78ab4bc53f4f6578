//! Records as stretches of bytes: a window over the input that moves in large blocks, so that memory does not grow with the number of rows.

use crate::csv::Line;
use crate::error::{Column, Fault, Place, ReadError};
use crate::input::{Packing, Unpacked, fault};
use crate::record_end::{Ends, Found, Quotes};
use crate::shuffle;
use memchr::{memchr, memchr_iter, memrchr};
use pulp::{Arch, Simd, WithSimd};
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
    /// Whether any field is quoted.
    pub(crate) quoted: bool,
    /// Where and why it cannot be parsed at all.
    pub(crate) broken: Option<(usize, Broken)>,
}

/// Why a line cannot be parsed, whatever its format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Broken {
    Blank,
    /// Its bytes are not held.
    TooLong,
    Nul,
    NotUtf8,
    StrayQuote,
    OpenQuote,
}

impl From<Broken> for Fault {
    fn from(broken: Broken) -> Self {
        match broken {
            Broken::Blank => Self::Blank,
            Broken::TooLong => Self::LineTooLong,
            Broken::Nul => Self::Nul,
            Broken::NotUtf8 => Self::NotUtf8,
            Broken::StrayQuote => Self::StrayQuote,
            Broken::OpenQuote => Self::OpenQuote,
        }
    }
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
            span.broken = span.broken.or(Some((0, Broken::Blank)));
        } else if !self.is_plain {
            span.broken = self.check(&span).or(span.broken);
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

    /// Reads all that remains and deals out its records in an order that depends only on their number and the seed. Needs memory for the whole
    /// remaining input and eight bytes a record.
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
    fn check(&self, span: &Span) -> Option<(usize, Broken)> {
        let bytes = self.bytes(span);
        if is_plain(bytes) {
            return None;
        }
        if let Some(at) = memchr(0, bytes) {
            return Some((at, Broken::Nul));
        }
        match std::str::from_utf8(bytes) {
            Ok(_) => None,
            Err(error) => Some((error.valid_up_to(), Broken::NotUtf8)),
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
                Found::End { length, quotes } => return Ok(Some(self.cut(length, 1, quotes))),
                Found::Lost(quotes) => return Err(self.lost(quotes)),
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
                    let (length, quotes) = (rest.len(), self.ends.last(rest));
                    let is_lost = matches!(quotes, Quotes::Open(_) | Quotes::Stray(_));
                    if is_lost && matches!(self.ends, Ends::Multiline { .. }) {
                        return Err(self.lost(quotes));
                    }
                    return Ok(Some(self.cut(length, 0, quotes)));
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
            quoted: false,
            broken: Some((0, Broken::TooLong)),
        })
    }

    fn cut(&mut self, length: usize, line_break: usize, quotes: Quotes) -> Span {
        let (begin, mut end) = (self.start, self.start + length);
        self.start = end + line_break;
        self.line = self.next_line;
        self.next_line += line_break as u64;
        if quotes != Quotes::Absent && matches!(self.ends, Ends::Multiline { .. }) {
            self.next_line += memchr_iter(b'\n', &self.window[begin..end]).count() as u64;
        }
        if self.window[begin..end].last() == Some(&b'\r') {
            end -= 1;
        }
        Span {
            bytes: begin..end,
            quoted: quotes != Quotes::Absent,
            broken: match quotes {
                Quotes::Absent | Quotes::InOrder => None,
                Quotes::Stray(at) => Some((at, Broken::StrayQuote)),
                Quotes::Open(at) => Some((at, Broken::OpenQuote)),
            },
        }
    }

    /// An error of a record whose end cannot be told.
    fn lost(&mut self, quotes: Quotes) -> ReadError {
        match quotes {
            Quotes::Open(at) => self.fail(at, Fault::OpenQuote),
            Quotes::Stray(at) => self.fail(at, Fault::StrayQuote),
            Quotes::Absent | Quotes::InOrder => self.fail(0, Fault::LineTooLong),
        }
    }

    /// An error in the record that is being taken.
    fn fail(&mut self, at: usize, fault: Fault) -> ReadError {
        self.line = self.next_line;
        let span = Span {
            bytes: self.start..self.end,
            quoted: true,
            broken: None,
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
