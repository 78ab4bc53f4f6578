//! The names of a file's columns: its header, what is stated, or what the schema names.

use crate::csv::Quoted;
use crate::error::{Column, Fault, ReadError};
use crate::form::{Form, Header};
use crate::format::Format;
use crate::json_scan::Scan;
use crate::number;
use crate::rows::Failure;
use crate::source::{Source, Span};
use std::collections::{BTreeSet, HashSet};

/// Names without the spaces around them. The first is empty if it is an index without a name;
/// formats without columns have none.
pub(crate) fn read(
    source: &mut Source,
    form: &Form,
    of_objects: impl FnOnce() -> Vec<String>,
) -> Result<Vec<String>, ReadError> {
    if source.is_at_end()? {
        let least = if form.first_is_header() {
            "a header and one row"
        } else {
            "one line"
        };
        return Err(Fault::Empty(least).in_file(source.name()));
    }
    // A record decides nothing, except how many columns there are where nothing else tells.
    match (form.format, &form.header) {
        (Format::Csv | Format::Tsv, Header::FirstRow) => {
            first(source, |line| first_row(line, form.separator)).map(|(names, _)| names)
        }
        (Format::Csv | Format::Tsv, Header::Numbered) => {
            let (width, line) = first(source, |line| width(line, form.separator))?;
            source.put_back(&line);
            Ok((1..=width).map(|number| format!("c{number}")).collect())
        }
        (Format::Csv | Format::Tsv, Header::Stated(names)) => Ok(names.clone()),
        (Format::JsonLines, _) => Ok(of_objects()),
        (Format::Vw | Format::Libsvm, _) => Ok(Vec::new()),
    }
}

/// Takes the first line and looks at it.
fn first<T>(
    source: &mut Source,
    look: impl FnOnce(&[u8]) -> Result<T, Failure>,
) -> Result<(T, Span), ReadError> {
    let Some(first) = source.next()? else {
        return Err(Fault::Empty("one line").in_file(source.name()));
    };
    let looked = match first.broken {
        Some((at, broken)) => Err(fail(at, None, broken.into())),
        None => look(source.bytes(&first)),
    };
    match looked {
        Ok(found) => Ok((found, first)),
        Err(failure) => {
            let column = failure.field.map(|field| Column::Field {
                number: field as u64 + 1,
                name: None,
            });
            Err(source.error(&first, failure.at, column, failure.fault))
        }
    }
}

/// The keys of the first object of JSON lines, sorted: the draft of a schema, which a person
/// completes.
pub(crate) fn first_keys(source: &mut Source) -> Result<Vec<String>, ReadError> {
    let (keys, _) = first(source, |line| {
        let mut keys = BTreeSet::new();
        Scan::new(line).members(|_, key, _| {
            keys.extend(std::str::from_utf8(key).ok().map(str::to_owned));
            Ok(())
        })?;
        Ok(keys)
    })?;
    Ok(keys.into_iter().collect())
}

fn fail(at: usize, field: Option<usize>, fault: Fault) -> Failure {
    Failure { at, field, fault }
}

/// How many fields a row has.
fn width(line: &[u8], separator: u8) -> Result<usize, Failure> {
    let width = Quoted::new(line, separator).count();
    match other_separator(line, separator) {
        Some(fault) if width == 1 => Err(fail(0, None, fault)),
        _ => Ok(width),
    }
}

/// The names in the first row.
fn first_row(line: &[u8], separator: u8) -> Result<Vec<String>, Failure> {
    let mut names: Vec<String> = Vec::new();
    let (mut seen, mut twice) = (HashSet::new(), None);
    for (at, text) in Quoted::new(line, separator) {
        let field = Some(names.len());
        let name = std::str::from_utf8(text.trim_ascii())
            .map_err(|_| fail(at, field, Fault::NotUtf8))?
            .to_owned();
        if name.is_empty() && !names.is_empty() {
            return Err(fail(at, field, Fault::NamelessColumn));
        }
        if !seen.insert(name.clone()) {
            twice = twice.or(Some((at, field, name.clone())));
        }
        names.push(name);
    }
    if names.len() == 1
        && let Some(fault) = other_separator(line, separator)
    {
        return Err(fail(0, None, fault));
    }
    let numbers = names.iter().filter(|name| is_number(name)).count();
    let named = names.iter().filter(|name| !name.is_empty()).count();
    match twice {
        _ if numbers == named => Err(fail(0, None, Fault::NoHeader)),
        // A name that may be a value of a record is not told.
        Some(_) if numbers > 0 => Err(fail(0, None, doubt(numbers, names.len()))),
        Some((at, field, name)) => Err(fail(at, field, Fault::DuplicateColumn(name))),
        None => Ok(names),
    }
}

fn is_number(name: &str) -> bool {
    number::parse(name.as_bytes()).is_some()
}

fn doubt(numbers: usize, columns: usize) -> Fault {
    Fault::RecordForHeader { numbers, columns }
}

/// Which fault to tell, when a schema or a model does not fit the names: if some of them are
/// numbers and none is expected, the first row may be a record, whose values are not for
/// messages.
pub(crate) fn doubted<'a>(
    fault: Fault,
    form: &Form,
    names: &[String],
    mut expected: impl Iterator<Item = &'a str>,
) -> Fault {
    let numbers = names.iter().filter(|name| is_number(name)).count();
    let is_first_row = form.is_table() && form.header == Header::FirstRow;
    if !is_first_row || numbers == 0 || expected.any(|name| names.iter().any(|n| n == name)) {
        return fault;
    }
    match fault {
        Fault::NoSuchColumn { .. } | Fault::Unstated(_) => doubt(numbers, names.len()),
        other => other,
    }
}

/// What separates the fields of a row that looks like one field, probably.
fn other_separator(line: &[u8], separator: u8) -> Option<Fault> {
    let others = [b';', b'\t', b'|', b','];
    let found = others
        .into_iter()
        .find(|&other| other != separator && line.contains(&other))?;
    Some(Fault::Separator(match found {
        b'\t' => "a tab; state it: --format tsv, or --separator tab",
        b';' => "a semicolon; state it: --separator ';'",
        b'|' => "a bar; state it: --separator '|'",
        _ => "a comma; state it: --format csv, or --separator ','",
    }))
}
