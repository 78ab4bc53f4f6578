//! Where a record ends: at every line break. Only where it is asked for, quotes hide line breaks
//! (RFC 4180).

use memchr::{memchr, memchr2, memchr3};

/// What ends a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ends {
    /// Every line break.
    Line,
    /// Every line break; quotes are judged within their line.
    Table {
        /// What separates fields.
        delimiter: u8,
    },
    /// Line breaks outside quotes; quotes open only where a field begins.
    Multiline {
        /// What separates fields.
        delimiter: u8,
    },
}

/// The quotes of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Quotes {
    /// There are none.
    Absent,
    InOrder,
    /// A quote where none may be.
    Stray(usize),
    /// A quote that is not closed.
    Open(usize),
}

/// The result of a search for the end.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// The line break that ends the record.
    End { length: usize, quotes: Quotes },
    /// It ends beyond these bytes.
    Beyond,
    /// Quotes are out of order, so its end cannot be told.
    Lost(Quotes),
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
            (Some(_), Self::Table { delimiter }) if is_quote => {
                match memchr(b'\n', &bytes[*searched..]) {
                    None => Found::Beyond,
                    Some(at) => Found::End {
                        length: *searched + at,
                        quotes: judge(&bytes[..*searched + at], delimiter),
                    },
                }
            }
            (Some(_), Self::Multiline { delimiter }) if is_quote => multiline(bytes, delimiter),
            (Some(_), _) => Found::End {
                length: *searched,
                quotes: Quotes::Absent,
            },
        }
    }

    /// The quotes of the last record of a file, if no line break ends it.
    pub(crate) fn last(self, bytes: &[u8]) -> Quotes {
        match self {
            Self::Table { delimiter } | Self::Multiline { delimiter }
                if memchr(b'"', bytes).is_some() =>
            {
                judge(bytes, delimiter)
            }
            _ => Quotes::Absent,
        }
    }
}

/// The quotes of a line, which may end with the first half of CRLF.
fn judge(line: &[u8], delimiter: u8) -> Quotes {
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    match walk(line, delimiter) {
        Walked::Stray(at) | Walked::Half(at) => Quotes::Stray(at),
        Walked::Beyond(Some(open)) => Quotes::Open(open),
        Walked::Beyond(None) | Walked::End(_) => Quotes::InOrder,
    }
}

/// The end of a record whose quotes hide line breaks.
fn multiline(bytes: &[u8], delimiter: u8) -> Found {
    match walk(bytes, delimiter) {
        Walked::End(length) => Found::End {
            length,
            quotes: Quotes::InOrder,
        },
        Walked::Beyond(_) | Walked::Half(_) => Found::Beyond,
        Walked::Stray(at) => Found::Lost(Quotes::Stray(at)),
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

fn walk(bytes: &[u8], delimiter: u8) -> Walked {
    let mut at = 0;
    // One turn per field.
    loop {
        if bytes.get(at) != Some(&b'"') {
            match memchr3(delimiter, b'\n', b'"', &bytes[at..]) {
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
            (Some(&byte), _) if byte == delimiter => at += 1,
            _ => return Walked::Stray(at),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(length: usize, quotes: Quotes) -> Found {
        Found::End { length, quotes }
    }

    #[test]
    fn every_line_break_ends_a_line_of_a_table() {
        let find = |text: &str| Ends::Table { delimiter: b',' }.find(text.as_bytes(), &mut 0);
        assert_eq!(find("a,b\nc"), end(3, Quotes::Absent));
        assert_eq!(find("a,\"\n\"\r\nc"), end(3, Quotes::Open(2)));
        assert_eq!(find("\"a\"\"b\"\r\n"), end(7, Quotes::InOrder));
        assert_eq!(find("a\"b\n\""), end(3, Quotes::Stray(1)));
        assert_eq!(find("\"a\"b\n"), end(4, Quotes::Stray(3)));
        assert_eq!(find("x,\"a\""), Found::Beyond);
        assert_eq!(Ends::Line.find(b"a\"b\n", &mut 0), end(3, Quotes::Absent));
        let last = |text: &str| Ends::Table { delimiter: b',' }.last(text.as_bytes());
        assert_eq!(last("x,\"a\"\r"), Quotes::InOrder);
        assert_eq!(last("x,\"a\"\r\r"), Quotes::Stray(5));
        assert_eq!(last("x,\"a"), Quotes::Open(2));
        assert_eq!(last("xyz"), Quotes::Absent);
    }

    #[test]
    fn quotes_hide_line_breaks_only_where_that_is_asked_for() {
        let find = |text: &str| Ends::Multiline { delimiter: b',' }.find(text.as_bytes(), &mut 0);
        assert_eq!(find("a,b\nc"), end(3, Quotes::Absent));
        assert_eq!(find("a,\"\n\"\r\nc"), end(6, Quotes::InOrder));
        assert_eq!(find("\"\"\"\n\",x\n"), end(7, Quotes::InOrder));
        assert_eq!(find("\"a\"\"b\"\n"), end(6, Quotes::InOrder));
        assert_eq!(find("a\"b\n"), Found::Lost(Quotes::Stray(1)));
        assert_eq!(find("\"a\"b\n"), Found::Lost(Quotes::Stray(3)));
        assert_eq!(find("x,\"a\n"), Found::Beyond);
        assert_eq!(find("x,\"a\""), Found::Beyond);
        assert_eq!(find("xyz"), Found::Beyond);
    }
}
