//! Where a record ends: at a line break, for tables at one outside quotes (RFC 4180).

use memchr::{memchr, memchr2, memchr3};

/// What ends a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ends {
    /// Every line break.
    Line,
    /// Line breaks outside quotes; quotes open only where a field begins.
    Quoted {
        /// What separates fields.
        delimiter: u8,
    },
}

/// What a search for the end found.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// The line break that ends the record.
    End { length: usize, quoted: bool },
    /// It ends beyond these bytes; `open` is the quote that is not closed in them.
    Beyond { quoted: bool, open: Option<usize> },
    /// A quote where none may be.
    Stray(usize),
}

impl Ends {
    /// Searches for the end of the record that begins with these bytes. `searched` says how many of them are known to hold neither line break nor quote.
    #[inline]
    pub(crate) fn find(self, bytes: &[u8], searched: &mut usize) -> Found {
        let hit = match self {
            Self::Line => memchr(b'\n', &bytes[*searched..]),
            Self::Quoted { .. } => memchr2(b'\n', b'"', &bytes[*searched..]),
        };
        *searched = hit.map_or(bytes.len(), |at| *searched + at);
        match (hit, self) {
            (None, _) => Found::Beyond {
                quoted: false,
                open: None,
            },
            (Some(_), Self::Quoted { delimiter }) if bytes[*searched] == b'"' => {
                quoted(bytes, delimiter)
            }
            (Some(_), _) => Found::End {
                length: *searched,
                quoted: false,
            },
        }
    }
}

/// The end of a record that has quotes, walked from its beginning.
fn quoted(bytes: &[u8], delimiter: u8) -> Found {
    let beyond = |open| Found::Beyond { quoted: true, open };
    let end = |length| Found::End {
        length,
        quoted: true,
    };
    let mut at = 0;
    // One turn a field.
    loop {
        if bytes.get(at) != Some(&b'"') {
            match memchr3(delimiter, b'\n', b'"', &bytes[at..]) {
                None => return beyond(None),
                Some(length) => at += length,
            }
            match bytes[at] {
                b'\n' => return end(at),
                b'"' => return Found::Stray(at),
                _ => at += 1,
            }
            continue;
        }
        let open = at;
        at += 1;
        loop {
            match memchr(b'"', &bytes[at..]) {
                None => return beyond(Some(open)),
                Some(length) => at += length + 1,
            }
            match bytes.get(at) {
                Some(b'"') => at += 1,
                _ => break,
            }
        }
        match (bytes.get(at), bytes.get(at + 1)) {
            (None, _) | (Some(b'\r'), None) => return beyond(None),
            (Some(b'\n'), _) => return end(at),
            (Some(b'\r'), Some(b'\n')) => return end(at + 1),
            (Some(&byte), _) if byte == delimiter => at += 1,
            _ => return Found::Stray(at),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_hide_line_breaks() {
        let find = |text: &str| Ends::Quoted { delimiter: b',' }.find(text.as_bytes(), &mut 0);
        let end = |length, quoted| Found::End { length, quoted };
        assert_eq!(find("a,b\nc"), end(3, false));
        assert_eq!(find("a,\"\n\"\r\nc"), end(6, true));
        assert_eq!(find("\"\"\"\n\",x\n"), end(7, true));
        assert_eq!(find("\"a\"\"b\"\n"), end(6, true));
        assert_eq!(find("a\"b\n"), Found::Stray(1));
        assert_eq!(find("\"a\"b\n"), Found::Stray(3));
        assert_eq!(
            find("x,\"a\n"),
            Found::Beyond {
                quoted: true,
                open: Some(2)
            }
        );
        assert_eq!(
            find("x,\"a\""),
            Found::Beyond {
                quoted: true,
                open: None
            }
        );
        assert_eq!(
            find("xyz"),
            Found::Beyond {
                quoted: false,
                open: None
            }
        );
        assert_eq!(Ends::Line.find(b"a\"b\n", &mut 0), end(3, false));
    }
}
