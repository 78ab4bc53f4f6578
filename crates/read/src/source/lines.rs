//! Where a record ends: at every line break. Quotes hide line breaks (RFC 4180) only if the input
//! allows it.

use crate::error::Fault;
use memchr::{memchr, memchr2, memchr3};

/// What ends a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ends {
    /// Every line break.
    Line,
    /// Every line break; quotes are judged within their line.
    Table {
        /// What separates fields.
        separator: u8,
    },
    /// Line breaks outside quotes; quotes open only where a field begins.
    Multiline {
        /// What separates fields.
        separator: u8,
    },
}

/// The result of a search for the end.
#[derive(Debug, PartialEq)]
pub(crate) enum Found {
    /// The line break that ends the record, and where and why its quotes are out of order.
    End {
        length: usize,
        broken: Option<(usize, Fault)>,
    },
    /// It ends beyond these bytes.
    Beyond,
    /// Quotes are out of order, so its end cannot be told.
    Lost(usize, Fault),
}

impl Ends {
    /// Searches for the end of the record that begins with these bytes. `searched` says how many
    /// of them are known to hold neither line break nor quote.
    #[inline]
    pub(crate) fn find(self, bytes: &[u8], searched: &mut usize) -> Found {
        let hit = match self {
            Self::Line => memchr(b'\n', &bytes[*searched..]),
            Self::Table { .. } | Self::Multiline { .. } => {
                memchr2(b'\n', b'"', &bytes[*searched..])
            }
        };
        *searched = hit.map_or(bytes.len(), |at| *searched + at);
        let is_quote = bytes.get(*searched) == Some(&b'"');
        match (hit, self) {
            (None, _) => Found::Beyond,
            (Some(_), Self::Table { separator }) if is_quote => {
                match memchr(b'\n', &bytes[*searched..]) {
                    None => Found::Beyond,
                    Some(at) => Found::End {
                        length: *searched + at,
                        broken: judge(&bytes[..*searched + at], separator),
                    },
                }
            }
            (Some(_), Self::Multiline { separator }) if is_quote => multiline(bytes, separator),
            (Some(_), _) => Found::End {
                length: *searched,
                broken: None,
            },
        }
    }

    /// Where and why quotes are out of order in the last record, if no line break ends it.
    pub(crate) fn last(self, bytes: &[u8]) -> Option<(usize, Fault)> {
        match self {
            Self::Table { separator } | Self::Multiline { separator } => judge(bytes, separator),
            Self::Line => None,
        }
    }
}

/// Where and why the quotes of a line, which may end with the first half of CRLF, are out of order.
fn judge(line: &[u8], separator: u8) -> Option<(usize, Fault)> {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    match walk(line, separator) {
        Walked::Stray(at) | Walked::Half(at) => Some((at, Fault::StrayQuote)),
        Walked::Beyond(Some(open)) => Some((open, Fault::OpenQuote)),
        Walked::Beyond(None) | Walked::End(_) => None,
    }
}

/// The end of a record whose quotes hide line breaks.
fn multiline(bytes: &[u8], separator: u8) -> Found {
    match walk(bytes, separator) {
        Walked::End(length) => Found::End {
            length,
            broken: None,
        },
        Walked::Beyond(_) | Walked::Half(_) => Found::Beyond,
        Walked::Stray(at) => Found::Lost(at, Fault::StrayQuote),
    }
}

/// A walk over the fields of a record.
enum Walked {
    /// To the line break outside quotes.
    End(usize),
    /// To the end of the bytes, maybe behind a quote that is not closed.
    Beyond(Option<usize>),
    /// To the end of the bytes, behind what may be half of CRLF.
    Half(usize),
    /// To a quote where none may be.
    Stray(usize),
}

fn walk(bytes: &[u8], separator: u8) -> Walked {
    let mut at = 0;
    // One turn per field.
    loop {
        if bytes.get(at) != Some(&b'"') {
            match memchr3(separator, b'\n', b'"', &bytes[at..]) {
                None => return Walked::Beyond(None),
                Some(length) => at += length,
            }
            match bytes[at] {
                b'\n' => return Walked::End(at),
                b'"' => return Walked::Stray(at),
                _ => at += 1,
            }
            continue;
        }
        let open = at;
        at += 1;
        loop {
            match memchr(b'"', &bytes[at..]) {
                None => return Walked::Beyond(Some(open)),
                Some(length) => at += length + 1,
            }
            match bytes.get(at) {
                Some(b'"') => at += 1,
                _ => break,
            }
        }
        match (bytes.get(at), bytes.get(at + 1)) {
            (None, _) => return Walked::Beyond(None),
            (Some(b'\r'), None) => return Walked::Half(at),
            (Some(b'\n'), _) => return Walked::End(at),
            (Some(b'\r'), Some(b'\n')) => return Walked::End(at + 1),
            (Some(&byte), _) if byte == separator => at += 1,
            _ => return Walked::Stray(at),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(length: usize, broken: Option<(usize, Fault)>) -> Found {
        Found::End { length, broken }
    }

    fn stray(at: usize) -> Option<(usize, Fault)> {
        Some((at, Fault::StrayQuote))
    }

    fn open(at: usize) -> Option<(usize, Fault)> {
        Some((at, Fault::OpenQuote))
    }

    #[test]
    fn every_line_break_ends_a_line_of_a_table() {
        let find = |text: &str| Ends::Table { separator: b',' }.find(text.as_bytes(), &mut 0);
        assert_eq!(find("a,b\nc"), end(3, None));
        assert_eq!(find("a,\"\n\"\r\nc"), end(3, open(2)));
        assert_eq!(find("\"a\"\"b\"\r\n"), end(7, None));
        assert_eq!(find("a\"b\n\""), end(3, stray(1)));
        assert_eq!(find("\"a\"b\n"), end(4, stray(3)));
        assert_eq!(find("x,\"a\""), Found::Beyond);
        assert_eq!(Ends::Line.find(b"a\"b\n", &mut 0), end(3, None));
        let last = |text: &str| Ends::Table { separator: b',' }.last(text.as_bytes());
        assert_eq!(last("x,\"a\"\r"), None);
        assert_eq!(last("x,\"a\"\r\r"), stray(5));
        assert_eq!(last("x,\"a"), open(2));
        assert_eq!(last("xyz"), None);
    }

    #[test]
    fn quotes_hide_line_breaks_only_where_that_is_asked_for() {
        let find = |text: &str| Ends::Multiline { separator: b',' }.find(text.as_bytes(), &mut 0);
        assert_eq!(find("a,b\nc"), end(3, None));
        assert_eq!(find("a,\"\n\"\r\nc"), end(6, None));
        assert_eq!(find("\"\"\"\n\",x\n"), end(7, None));
        assert_eq!(find("\"a\"\"b\"\n"), end(6, None));
        assert_eq!(find("a\"b\n"), Found::Lost(1, Fault::StrayQuote));
        assert_eq!(find("\"a\"b\n"), Found::Lost(3, Fault::StrayQuote));
        assert_eq!(find("x,\"a\n"), Found::Beyond);
        assert_eq!(find("x,\"a\""), Found::Beyond);
        assert_eq!(find("xyz"), Found::Beyond);
    }
}
