//! Tables of separated values: RFC 4180, with line breaks of either kind, and with line breaks
//! within quotes only if the input allows them.

use super::marks::Fields;
use super::{Failure, FileFormat, NamesFrom, OTHER_KIND, Opened, Rows};
use crate::encode::{Builder, Columns, Targets, is_number};
use crate::error::Fault;
use crate::schema::Space;
use memchr::memchr;
use std::borrow::Cow;
use std::collections::HashSet;

/// A table of separated values.
pub(super) struct Separated {
    names: &'static [&'static str],
    separator: u8,
}

pub(super) const COMMAS: Separated = Separated {
    names: &["csv"],
    separator: b',',
};
pub(super) const TABS: Separated = Separated {
    names: &["tsv", "tab"],
    separator: b'\t',
};

impl FileFormat for Separated {
    fn names(&self) -> &'static [&'static str] {
        self.names
    }

    fn names_from(&self) -> NamesFrom {
        NamesFrom::Header {
            separator: self.separator,
        }
    }

    /// The names in a header.
    fn first_names(&self, line: &[u8], separator: u8) -> Result<Vec<String>, Failure> {
        let mut names: Vec<String> = Vec::new();
        let (mut seen, mut twice) = (HashSet::new(), None);
        for (at, text) in fields(line, separator) {
            let fail = |fault| Failure {
                at,
                column: Some(Columns::numbered(names.len())),
                fault,
            };
            let name = std::str::from_utf8(text.trim_ascii()).map_err(|_| fail(Fault::NotUtf8))?;
            if name.is_empty() && !names.is_empty() {
                return Err(fail(Fault::NamelessColumn));
            }
            if !seen.insert(name.to_owned()) {
                twice = twice.or_else(|| Some(fail(Fault::DuplicateColumn(name.to_owned()))));
            }
            names.push(name.to_owned());
        }
        check_separator(line, separator, names.len())?;
        let numbers = names.iter().filter(|name| is_number(name)).count();
        let named = names.iter().filter(|name| !name.is_empty()).count();
        let columns = names.len();
        match twice {
            _ if numbers == named => Err(Failure::new(0, Fault::NoHeader)),
            // A name that may be a value of a record is not told.
            Some(_) if numbers > 0 => {
                Err(Failure::new(0, Fault::RecordForHeader { numbers, columns }))
            }
            Some(failure) => Err(failure),
            None => Ok(names),
        }
    }

    fn rows(&self, file: &Opened<'_>) -> Result<Box<dyn Rows>, Fault> {
        let Space::Columns(_) = file.layout.space() else {
            return Err(OTHER_KIND);
        };
        Ok(Box::new(Table {
            separator: file.separator,
            columns: Columns::new(file.layout, file.names, file.beside)?,
        }))
    }
}

/// The number of fields in a row.
pub(super) fn width(line: &[u8], separator: u8) -> Result<usize, Failure> {
    let width = fields(line, separator).count();
    check_separator(line, separator, width)?;
    Ok(width)
}

/// Refuses a row that looks like one field and probably has another separator.
fn check_separator(line: &[u8], separator: u8, width: usize) -> Result<(), Failure> {
    let others = [b';', b'\t', b'|', b','];
    let is_other = |other: &u8| *other != separator && line.contains(other);
    let Some(found) = others.into_iter().find(is_other).filter(|_| width == 1) else {
        return Ok(());
    };
    let message = match found {
        b'\t' => "a tab; state it: --format tsv, or --separator tab",
        b';' => "a semicolon; state it: --separator ';'",
        b'|' => "a bar; state it: --separator '|'",
        _ => "a comma; state it: --format csv, or --separator ','",
    };
    Err(Failure::new(0, Fault::Separator(message)))
}

/// The rows of a table.
struct Table {
    separator: u8,
    columns: Columns,
}

impl Rows for Table {
    fn row(&mut self, line: &[u8], builder: &mut Builder, targets: Targets) -> Result<(), Failure> {
        let expected = self.columns.steps.len();
        let fail = |at, field, fault| Failure {
            at,
            column: Some(self.columns.column(field)),
            fault,
        };
        let (mut steps, mut found, mut at) = (self.columns.steps.iter(), 0, 0);
        let is_long = if memchr(b'"', line).is_some() {
            let mut fields = fields(line, self.separator);
            for (step, (begin, text)) in steps.by_ref().zip(fields.by_ref()) {
                let read = builder.field(step, &text, targets);
                read.map_err(|fault| fail(begin, found, fault))?;
                found += 1;
            }
            fields.next().inspect(|&(begin, _)| at = begin).is_some()
        } else {
            let mut fields = Fields::new(line, self.separator);
            for (step, field) in steps.by_ref().zip(fields.by_ref()) {
                let read = builder.plain_field(step, line, &field, targets);
                read.map_err(|fault| fail(field.place.start, found, fault))?;
                found += 1;
            }
            fields
                .next()
                .inspect(|field| at = field.place.start)
                .is_some()
        };
        if is_long {
            return Err(fail(at, found, Fault::LongRow { expected }));
        }
        if found < expected {
            return Err(fail(line.len(), found, Fault::ShortRow { expected, found }));
        }
        Ok(())
    }

    fn columns(&self) -> Option<&Columns> {
        Some(&self.columns)
    }

    fn each_field(&self, line: &[u8], field: &mut dyn FnMut(usize, &[u8])) {
        for (number, (_, text)) in fields(line, self.separator).enumerate() {
            field(number, &text);
        }
    }
}

/// The fields of a row whose quotes are in order: where each begins, and its text without quotes.
fn fields(line: &[u8], separator: u8) -> impl Iterator<Item = (usize, Cow<'_, [u8]>)> {
    let mut next = Some(0);
    std::iter::from_fn(move || {
        let begin = next?;
        let rest = &line[begin..];
        let (text, length) = field(rest, separator);
        next = (length < rest.len()).then_some(begin + length + 1);
        Some((begin, text))
    })
}

/// The first field of what is left of a row: its text without quotes, and its length with them.
fn field(rest: &[u8], separator: u8) -> (Cow<'_, [u8]>, usize) {
    if let Some(rest) = rest.strip_prefix(b"\"") {
        return unquoted(rest);
    }
    let length = memchr(separator, rest).unwrap_or(rest.len());
    (Cow::Borrowed(&rest[..length]), length)
}

/// The text behind an opening quote, and the length of the field with its quotes.
fn unquoted(rest: &[u8]) -> (Cow<'_, [u8]>, usize) {
    let mut text = Cow::Borrowed(&rest[..0]);
    let mut at = 0;
    while let Some(part) = memchr(b'"', &rest[at..]) {
        let end = at + part;
        if text.is_empty() && at == 0 {
            text = Cow::Borrowed(&rest[..end]);
        } else {
            text.to_mut().extend_from_slice(&rest[at..end]);
        }
        if rest.get(end + 1) != Some(&b'"') {
            return (text, end + 2);
        }
        text.to_mut().push(b'"');
        at = end + 2;
    }
    (text, rest.len() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_are_no_part_of_a_field() {
        for (line, expected) in [
            ("a,b", vec!["a", "b"]),
            ("", vec![""]),
            (",", vec!["", ""]),
            ("\"a,\"\"b\"\"\",\"\",c", vec!["a,\"b\"", "", "c"]),
            ("\"\"\"\",\"x\"\"\"", vec!["\"", "x\""]),
        ] {
            let found: Vec<String> = fields(line.as_bytes(), b',')
                .map(|(_, text)| String::from_utf8(text.into_owned()).unwrap())
                .collect();
            assert_eq!(found, expected, "{line}");
        }
        let begins: Vec<usize> = fields(b"\"a\",b,\"\"", b',').map(|(at, _)| at).collect();
        assert_eq!(begins, [0, 4, 6]);
    }
}
