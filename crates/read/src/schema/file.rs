//! Schemas in files: TOML with the fields of [`SchemaSpec`] as keys.

use super::SchemaSpec;
use super::skeleton::BLANK;
use crate::error::{Column, Fault, Place, ReadError};
use crate::source::{Packing, fault};
use serde::{Deserialize, Deserializer};
use std::collections::BTreeMap;
use std::str::FromStr;
use std::sync::Arc;

impl SchemaSpec {
    /// Reads a schema file.
    ///
    /// # Errors
    /// What cannot be read; what is no TOML or no schema, with line and column.
    pub fn from_file(path: &str) -> Result<Self, ReadError> {
        let name: Arc<str> = path.into();
        let text = std::fs::read_to_string(path).map_err(|error| match error.kind() {
            std::io::ErrorKind::InvalidData => Fault::NotUtf8.in_file(&name),
            _ => fault(&error, Packing::Plain).in_file(&name),
        })?;
        parse(&text, Some(name))
    }
}

/// ```
/// use hushstream_read::SchemaSpec;
///
/// let schema: SchemaSpec = r#"
///     target = "late"
///     ignore = ["*_time"]
///     one_hot = ["origin_*"]
///     [bounds]
///     distance = [0, 5000]
///     "hour" = [0, 24]
///     [vocabulary]
///     carrier = ["AA", "DL", "UA"]
///     [hashed]
///     tailnum = 12
/// "#.parse()?;
/// assert_eq!(schema.bounds["distance"], (0.0, 5000.0));
///
/// let wrong = "target = \"late\"\nnorm = ".parse::<SchemaSpec>().unwrap_err().to_string();
/// assert!(wrong.starts_with("schema, line 2, column 8: "));
/// # Ok::<(), hushstream_read::ReadError>(())
/// ```
impl FromStr for SchemaSpec {
    type Err = ReadError;

    fn from_str(text: &str) -> Result<Self, ReadError> {
        parse(text, None)
    }
}

fn parse(text: &str, name: Option<Arc<str>>) -> Result<SchemaSpec, ReadError> {
    toml::from_str(text).map_err(|error| {
        let at = error.span().map(|span| span.start.min(text.len()));
        let before = at.and_then(|at| text.get(..at));
        ReadError {
            place: Box::new(Place {
                file: Some(name.unwrap_or_else(|| "schema".into())),
                line: before.map(|before| before.matches('\n').count() as u64 + 1),
                column: before.map(|before| {
                    let line = before.rsplit('\n').next().unwrap_or("");
                    Column::Byte(line.chars().count() as u64 + 1)
                }),
            }),
            fault: if line_at(text, at).contains(BLANK) {
                Fault::Unfilled
            } else {
                Fault::Toml(error.message().to_owned())
            },
        }
    })
}

/// The line of a text in which this byte is.
fn line_at(text: &str, at: Option<usize>) -> &str {
    let Some((before, after)) = at.and_then(|at| text.split_at_checked(at)) else {
        return "";
    };
    let begin = before.rfind('\n').map_or(0, |end| end + 1);
    let end = after
        .find('\n')
        .map_or(text.len(), |end| before.len() + end);
    &text[begin..end]
}

/// Two numbers and not more: a tuple would silently take the first two.
#[derive(Deserialize)]
#[serde(try_from = "Vec<f64>")]
struct Pair((f64, f64));

impl TryFrom<Vec<f64>> for Pair {
    type Error = &'static str;

    fn try_from(numbers: Vec<f64>) -> Result<Self, Self::Error> {
        match numbers[..] {
            [low, high] => Ok(Self((low, high))),
            _ => Err("expected two numbers, [low, high]"),
        }
    }
}

pub(crate) fn pair<'de, D: Deserializer<'de>>(from: D) -> Result<Option<(f64, f64)>, D::Error> {
    Ok(Some(Pair::deserialize(from)?.0))
}

pub(crate) fn pairs<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<BTreeMap<String, (f64, f64)>, D::Error> {
    let pairs = BTreeMap::<String, Pair>::deserialize(from)?;
    Ok(pairs
        .into_iter()
        .map(|(name, Pair(pair))| (name, pair))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::Task;

    fn refused(text: &str) -> String {
        text.parse::<SchemaSpec>().unwrap_err().to_string()
    }

    #[test]
    fn every_key_is_understood() {
        let schema: SchemaSpec = "task = 'multiclass'\ntarget = 'y'\nclasses = ['a', 'b']\n\
             missing_target = 'null'\ntarget_bounds = [0, 1.5]\nfeatures = ['x*']\n\
             hash_bits = 10\ndimension = 7\nindex_base = 0\nnorm = 2\nintercept = false\n\
             person = 'p'\npositive = '1'"
            .parse()
            .unwrap();
        assert_eq!(schema.task, Some(Task::Multiclass));
        assert_eq!(
            (schema.norm, schema.intercept, schema.target_bounds),
            (Some(2.0), Some(false), Some((0.0, 1.5)))
        );
    }

    #[test]
    fn mistakes_are_one_line_with_their_place() {
        for (text, start) in [
            ("target = \"a", "schema, line 1, column "),
            ("\n\ntargt = \"a\"", "schema, line 3, column 1: "),
            ("target = 1", "schema, line 1, column 10: "),
            ("[bounds]\nage = [0, 1, 2]", "schema, line 2, column 7: "),
            ("[bounds]\nage = [0]", "schema, line 2, column 7: "),
            ("norm = 1\nnorm = 2", "schema, line 2, column 1: "),
            ("task = \"sleep\"", "schema, line 1, column 8: "),
        ] {
            let message = refused(text);
            assert!(message.starts_with(start), "{text}: {message}");
            assert!(!message.contains('\n'), "{message}");
        }
    }
}
