//! JSON lines: one flat object per line.
//!
//! Columns are those that the schema names, in its order, because the keys of a record are private;
//! a key that a row does not have is a missing value, and a key that is no column is passed over. A
//! nested value is an error wherever it stands, because half of a structure is easily taken for all
//! of it. Numbers are read as they are written.

use super::{Failure, FileFormat, NamesFrom, OTHER_KIND, Opened, Rows};
use crate::encode::{Builder, Columns, Keyed, Targets};
use crate::error::Fault;
use crate::schema::Space;
use serde::Deserialize;
use serde::de::{Deserializer, Error as _, MapAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;

/// The format.
pub(super) struct JsonLines;

impl FileFormat for JsonLines {
    fn names(&self) -> &'static [&'static str] {
        &["jsonl", "ndjson", "json-lines"]
    }

    fn names_from(&self) -> NamesFrom {
        NamesFrom::Schema
    }

    /// The keys of an object, sorted.
    fn first_names(&self, line: &[u8], _: u8) -> Result<Vec<String>, Failure> {
        let mut keys = BTreeSet::new();
        members(line, |_, key, _| {
            keys.insert(key.to_owned());
            Ok(())
        })?;
        Ok(keys.into_iter().collect())
    }

    fn rows(&self, file: &Opened<'_>) -> Result<Box<dyn Rows>, Fault> {
        let Space::Columns(_) = file.layout.space() else {
            return Err(OTHER_KIND);
        };
        let columns = Columns::new(file.layout, file.names, file.beside)?;
        Ok(Box::new(Objects(Keyed::new(columns))))
    }
}

/// Rows that are objects with known keys.
struct Objects(Keyed);

impl Rows for Objects {
    fn row(&mut self, line: &[u8], builder: &mut Builder, targets: Targets) -> Result<(), Failure> {
        let keyed = &mut self.0;
        keyed.begin();
        members(line, |at, key, value| {
            let field = keyed.find(key);
            let fail = |keyed: &Keyed, fault| Failure {
                at,
                column: field.map(|field| keyed.columns.named(at, field)),
                fault,
            };
            let text = match value {
                Value::Nested => return Err(fail(keyed, Fault::Nested)),
                Value::Null => None,
                Value::Text(text) => Some(text),
            };
            let Some(field) = field else {
                return Ok(());
            };
            if !keyed.is_first(field) {
                return Err(fail(keyed, Fault::DuplicateKey));
            }
            let step = &keyed.columns.steps[field];
            match text {
                Some(text) => builder.field(step, text.as_bytes(), targets),
                None => builder.missing(step, targets),
            }
            .map_err(|fault| fail(keyed, fault))
        })?;
        for field in keyed.absent() {
            let step = &keyed.columns.steps[field];
            builder.missing(step, targets).map_err(|fault| Failure {
                at: line.len(),
                column: Some(keyed.columns.named(line.len(), field)),
                fault,
            })?;
        }
        Ok(())
    }

    fn columns(&self) -> Option<&Columns> {
        Some(&self.0.columns)
    }

    fn each_field(&self, line: &[u8], field: &mut dyn FnMut(usize, &[u8])) {
        let _ = members(line, |_, key, value| {
            if let (Some(known), Value::Text(text)) = (self.0.find(key), value) {
                field(known, text.as_bytes());
            }
            Ok(())
        });
    }
}

/// The value of a member.
enum Value<'a> {
    /// A string without quotes and escapes; a number or a truth value as it is written.
    Text(Cow<'a, str>),
    Null,
    /// An object or a list.
    Nested,
}

/// A string of JSON.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// Calls back for every member of an object, with the place of its value in the line.
fn members<'a>(
    line: &'a [u8],
    member: impl FnMut(usize, &str, Value<'a>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let space = line
        .iter()
        .take_while(|byte| matches!(byte, b' ' | b'\t' | b'\r'));
    let begin = space.count();
    if line.get(begin) != Some(&b'{') {
        return Err(Failure::new(begin, Fault::NotAnObject));
    }
    let mut failure = None;
    let mut json = serde_json::Deserializer::from_slice(line);
    let object = Object {
        line,
        member,
        failure: &mut failure,
    };
    let read = json.deserialize_map(object).and_then(|()| json.end());
    match (failure, read) {
        (Some(failure), _) => Err(failure),
        (None, Ok(())) => Ok(()),
        (None, Err(error)) => Err(broken(0, &error)),
    }
}

/// A fault of the grammar, `from` bytes behind the beginning of the line. The parser's own words
/// name what it expected and never a value.
fn broken(from: usize, error: &serde_json::Error) -> Failure {
    let message = error.to_string();
    let expected = match message.split_once(" at line ") {
        Some((expected, _)) if !error.is_data() => expected.to_owned(),
        _ => "another value is needed".to_owned(),
    };
    let at = from + error.column().saturating_sub(1);
    Failure::new(at, Fault::Json(expected))
}

/// The members of an object, on their way to `member`.
struct Object<'a, 'f, F> {
    line: &'a [u8],
    member: F,
    failure: &'f mut Option<Failure>,
}

impl<'a, F: FnMut(usize, &str, Value<'a>) -> Result<(), Failure>> Visitor<'a>
    for Object<'a, '_, F>
{
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<M: MapAccess<'a>>(mut self, mut map: M) -> Result<(), M::Error> {
        while let Some((Text(key), value)) = map.next_entry::<Text<'a>, &'a RawValue>()? {
            let text = value.get();
            // Both are parts of the same line.
            let at = text.as_ptr().addr() - self.line.as_ptr().addr();
            let value = match text.as_bytes()[0] {
                b'"' => serde_json::from_str::<Text<'a>>(text)
                    .map(|Text(text)| Value::Text(text))
                    .map_err(|error| broken(at, &error)),
                b'{' | b'[' => Ok(Value::Nested),
                b'n' => Ok(Value::Null),
                _ => Ok(Value::Text(Cow::Borrowed(text))),
            };
            let given = value.and_then(|value| (self.member)(at, &key, value));
            given.map_err(|failure| {
                *self.failure = Some(failure);
                M::Error::custom("stopped")
            })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(line: &str) -> Result<Vec<(String, String)>, (usize, Fault)> {
        let mut found = Vec::new();
        let read = members(line.as_bytes(), |_, key, value| {
            let value = match value {
                Value::Text(text) => text.into_owned(),
                Value::Null => "<null>".into(),
                Value::Nested => "<nested>".into(),
            };
            found.push((key.to_owned(), value));
            Ok(())
        });
        read.map(|()| found)
            .map_err(|failure| (failure.at, failure.fault))
    }

    #[test]
    fn texts_are_as_they_are_written() {
        for (line, value) in [
            ("{\"a\": -0.50e+3}", "-0.50e+3"),
            ("{\"a\":9007199254740993}", "9007199254740993"),
            ("{\"\\u0061\":\"\\u00e4\\ud83d\\ude00\\n\\\"\"}", "ä😀\n\""),
            (" {\"a\" : true } ", "true"),
            ("{\"a\":null}", "<null>"),
            ("{\"a\":{\"b\":[1]}}", "<nested>"),
        ] {
            assert_eq!(found(line), Ok(vec![("a".into(), value.into())]), "{line}");
        }
        assert_eq!(found("{}"), Ok(Vec::new()));
    }

    #[test]
    fn faults_tell_their_place() {
        assert_eq!(found("[]"), Err((0, Fault::NotAnObject)));
        for (line, at) in [
            ("{\"a\":\"b\\q\"}", 8),
            ("{\"a\" 1}", 5),
            ("{\"a\":01}", 6),
            ("{\"a\":\"\\ud800\"}", 12),
            ("{\"a\":1} x", 8),
            ("{\"a\":NaN}", 5),
            ("{\"a\":\"\t\"}", 5),
        ] {
            let (place, fault) = found(line).unwrap_err();
            assert!(matches!(fault, Fault::Json(_)), "{line}");
            assert_eq!(place, at, "{line}");
        }
    }
}
