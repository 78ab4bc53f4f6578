//! Tables of separated values: RFC 4180, with line breaks of either kind, and with line breaks
//! within quotes only if the input allows them.

use super::plain::{Fields, Kind};
use super::{Failure, FileFormat, NamesFrom, OTHER_KIND, Opened, Rows};
use crate::encode::{Builder, ByKind, Columns, Shorts, Targets, is_number};
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
        let columns = Columns::new(file.layout, file.names, file.beside)?;
        Ok(Box::new(Table {
            separator: file.separator,
            fields: Fields::new(columns.steps.len(), file.separator),
            shorts: Shorts::new(columns.steps.len()),
            kinds: ByKind::new(&columns.steps),
            columns,
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
    /// The columns by kind, and the last row's fields, if it has no quotes.
    kinds: ByKind,
    fields: Fields,
    shorts: Shorts,
}

impl Table {
    fn fail(&self, at: usize, field: usize, fault: Fault) -> Failure {
        Failure {
            at,
            column: Some(self.columns.column(field)),
            fault,
        }
    }

    /// Reads the fields whose text decides, of a row whose other fields are read.
    fn texts(&self, line: &[u8], builder: &mut Builder, targets: Targets) -> Result<(), Failure> {
        for &field in self.kinds.texts() {
            let (step, place) = (&self.columns.steps[field], self.fields.place(field));
            let read = builder.field(step, &line[place.clone()], targets);
            read.map_err(|fault| self.fail(place.start, field, fault))?;
        }
        Ok(())
    }

    /// Reads a row without quotes field by field: the first fault counts.
    fn one_by_one(
        &self,
        line: &[u8],
        builder: &mut Builder,
        targets: Targets,
    ) -> Result<usize, Failure> {
        let found = self.fields.ends().len();
        for (field, step) in self.columns.steps[..found].iter().enumerate() {
            let place = self.fields.place(field);
            let text = &line[place.clone()];
            let read = builder.plain_field(step, self.shorts.get(field), text, targets);
            read.map_err(|fault| self.fail(place.start, field, fault))?;
        }
        Ok(found)
    }

    /// Reads a row with quotes: how many fields it has, and where one too many begins.
    fn quoted(
        &self,
        line: &[u8],
        builder: &mut Builder,
        targets: Targets,
    ) -> Result<(usize, Option<usize>), Failure> {
        let mut fields = fields(line, self.separator);
        let mut found = 0;
        for (step, (begin, text)) in self.columns.steps.iter().zip(fields.by_ref()) {
            let read = builder.field(step, &text, targets);
            read.map_err(|fault| self.fail(begin, found, fault))?;
            found += 1;
        }
        Ok((found, fields.next().map(|(begin, _)| begin)))
    }
}

impl Rows for Table {
    fn row(&mut self, line: &[u8], builder: &mut Builder, targets: Targets) -> Result<(), Failure> {
        let expected = self.columns.steps.len();
        let kind = if builder.only_checks {
            self.fields.check(line)
        } else {
            self.fields.cut(line)
        };
        let is_whole = self.fields.ends().len() == expected;
        let (found, one_more) = match kind {
            Kind::Decimals if is_whole && builder.reads_decimals() => {
                return self.texts(line, builder, targets);
            }
            Kind::Quoted => self.quoted(line, builder, targets)?,
            Kind::Fields | Kind::Decimals | Kind::Long(_) => {
                self.shorts.read(line, self.fields.ends());
                let (kinds, steps) = (&mut self.kinds, &self.columns.steps);
                let is_fields = is_whole && !matches!(kind, Kind::Long(_));
                if is_fields && builder.short_fields(kinds, steps, &self.shorts) {
                    return self.texts(line, builder, targets);
                }
                let found = self.one_by_one(line, builder, targets)?;
                match kind {
                    Kind::Long(at) => (found, Some(at)),
                    _ => (found, None),
                }
            }
        };
        if let Some(at) = one_more {
            return Err(self.fail(at, found, Fault::LongRow { expected }));
        }
        if found < expected {
            return Err(self.fail(line.len(), found, Fault::ShortRow { expected, found }));
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
