//! What can be wrong with a file or a schema: one line that names the file, the line, the column
//! and what is allowed, and never a value.
//!
//! A message travels: into terminals, logs and tickets. So a [`Fault`] has no place for the text of
//! a field; it holds what the schema says, column names of the header, and counts.

use crate::formats::{Format, NamesFrom};
use crate::schema::listed;
use std::fmt;
use std::sync::Arc;

/// Why something could not be read, and where.
///
/// ```
/// use hushstream_read::{Fault, Format, Input, Reader, Row, SchemaSpec};
///
/// let schema: SchemaSpec = "target = 'late'\nbounds = { hour = [0, 24] }".parse()?;
/// let input = Input::from_reader("flights", "hour,late\n6,perhaps\n".as_bytes())?;
/// let mut reader = Reader::open(input, Format::Csv, &schema)?;
/// let error = reader.next_row(&mut Row::default()).unwrap_err();
/// assert_eq!(error.fault, Fault::NotALabel);
/// assert!(error.to_string().starts_with("flights, line 2, column 2 (`late`): not a label"));
/// # Ok::<(), hushstream_read::ReadError>(())
/// ```
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{place}{fault}")]
pub struct ReadError {
    /// Where.
    pub place: Box<Place>,
    /// What.
    pub fault: Fault,
}

/// A place in a file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Place {
    /// The file; nothing for what was stated in the program or by flags.
    pub file: Option<Arc<str>>,
    /// The line, from 1.
    pub line: Option<u64>,
    /// The column.
    pub column: Option<Column>,
}

/// A column: of a table, or of a line of text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Column {
    /// A column of a table.
    Field {
        /// From 1.
        number: u64,
        /// Its name in the header.
        name: Option<Arc<str>>,
    },
    /// A byte of the line, from 1.
    Byte(u64),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        parts.extend(self.file.as_ref().map(|file| one_line(file)));
        parts.extend(self.line.map(|line| format!("line {line}")));
        parts.extend(self.column.as_ref().map(ToString::to_string));
        if parts.is_empty() {
            return Ok(());
        }
        write!(f, "{}: ", parts.join(", "))
    }
}

impl fmt::Display for Column {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field {
                number,
                name: Some(name),
            } => write!(f, "column {number} (`{}`)", one_line(name)),
            Self::Field { number, name: None } => write!(f, "column {number}"),
            Self::Byte(number) => write!(f, "column {number}"),
        }
    }
}

/// Names may hold line breaks; messages may not.
pub(crate) fn one_line(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect()
}

/// The kind of error. Its names come from the schema or the header.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)] // the messages are the documentation
pub enum Fault {
    // Rows of a program.
    #[error("coordinates with indices are for an encoder of indices, and this one has columns")]
    NotIndexed,
    // The file.
    #[error("there is no such file")]
    NotFound,
    #[error("this is a directory; give a file, or `-` for standard input")]
    IsDirectory,
    #[error("cannot be read ({0})")]
    Unreadable(String),
    #[error("the name ends in .gz, but this is not gzip; rename it or compress it")]
    NotGzip,
    #[error("broken gzip: {0}; fetch or compress the file again")]
    BrokenGzip(&'static str),
    #[error("broken Parquet; fetch or write the file again")]
    BrokenParquet,
    #[error(
        "this Parquet is compressed with {0}, which is not read; write it with zstd, snappy, gzip, \
         lz4 or not at all"
    )]
    CompressedParquet(&'static str),
    #[error(
        "this is Parquet, which this program was built without; convert it to CSV, or build with \
         --features parquet"
    )]
    NoParquet,
    #[error("column `{}` is nested; only flat columns are read", one_line(.0))]
    NestedColumn(String),
    #[error(
        "the name does not tell the format; state it: --format {formats}",
        formats = Format::NAMES
    )]
    UnknownFormat,
    #[error(
        "files that end in {0} are not read; unpack it or write it as CSV first, which may be packed \
         with gzip"
    )]
    PackedOtherwise(&'static str),
    #[error("`{}` is no format; allowed: {formats}", one_line(.0), formats = Format::NAMES)]
    NoSuchFormat(String),
    #[error("the file is empty; there must be at least {0}")]
    Empty(&'static str),
    #[error("there is a header and nothing after it; at least one row is needed")]
    HeaderOnly,
    #[error("a blank line; every line is a record: remove it")]
    Blank,
    #[error("the line is longer than 16 MiB, the most that is read as one line")]
    LineTooLong,
    #[error("not UTF-8; convert the file to UTF-8")]
    NotUtf8,
    #[error("a NUL byte; text has none")]
    Nul,

    // The header.
    #[error("the header has two columns named `{}`; names must differ", one_line(.0))]
    DuplicateColumn(String),
    #[error(
        "the header has a column without a name; give it one in the file, or remove a separator \
         at the end of the header; only the first may be without, as an index is"
    )]
    NamelessColumn,
    #[error(
        "the first row holds only numbers, so it is no header; if the file has none: --no-header \
         names its columns c1, c2, …, and --names A,B,C as you say"
    )]
    NoHeader,
    #[error(
        "{numbers} of the {columns} fields of the first row are numbers, so it may be a record; \
         if the file has no header: --no-header names its columns c1, c2, …, and --names A,B,C as \
         you say; if it has, name a column as the header writes it"
    )]
    RecordForHeader { numbers: usize, columns: usize },
    #[error("the first row is one field; its separator seems to be {0}")]
    Separator(&'static str),

    // Rows of a table.
    #[error("the row ends after {found} of {expected} columns")]
    ShortRow { expected: usize, found: usize },
    #[error("the row goes on after its {expected} columns")]
    LongRow { expected: usize },
    #[error(
        "a quote is opened and not closed on the line; if quoted fields of this file hold line \
         breaks, state --multiline"
    )]
    OpenQuote,
    #[error("a quote inside a field; write it twice and put the field in quotes")]
    StrayQuote,
    #[error(
        "text where a number is needed; allowed: a decimal number, true, false, or nothing, NA, \
         NaN, null for a missing value; other texts for it are stated: --missing TEXT"
    )]
    NotANumber,
    #[error(
        "not a date; allowed: year, month and day as in 2013-01-31, and after a T or a space the \
         time of day as in 14:05"
    )]
    NotADate,
    #[error(
        "not a time; allowed: a date as in 2013-01-31, with or without the time of day as in \
         2013-01-31T14:05, or seconds since 1970"
    )]
    NotATime,
    #[error("an infinite number; allowed: finite numbers up to 1.7e308")]
    NotFinite,
    #[error(
        "a person with a number of 2^53 or more, which floating-point numbers do not tell apart: \
         give persons as texts"
    )]
    InexactPerson,

    // Targets.
    #[error(
        "the target is missing; fill it in, or count the row as a round without a record: \
         --missing-target null"
    )]
    MissingTarget,
    #[error(
        "not a label; allowed: 0 and 1, -1 and 1, false and true, or say which value is the \
         positive one: --positive VALUE"
    )]
    NotALabel,
    #[error("not one of the stated classes; state all of them: --classes A,B,C")]
    UnknownClass,
    #[error("not one of the stated arms; state all of them: --arms A,B,C")]
    UnknownArm,
    #[error("not a propensity; allowed: a number above 0 and at most 1")]
    NotAPropensity,

    // VW text.
    #[error(
        "no `|` on the line; an example is: label [importance] [tag]|namespace feature:value …"
    )]
    NoBar,
    #[error("not a label of VW text; before the `|` stand: label [importance] [tag]")]
    VwLabel,
    #[error(
        "an importance other than 1; records count alike here, so that none weighs more than its \
         noise"
    )]
    Importance,
    #[error("not a namespace; allowed: |name or |name:scale with a finite number")]
    Namespace,
    #[error("not a value; allowed after the colon: a finite decimal number")]
    VwValue,
    #[error("a feature without a name; allowed: name or name:value")]
    NamelessFeature,

    // libsvm.
    #[error("not a pair; allowed: index:value with a whole number and a finite decimal number")]
    Pair,
    #[error("indices must increase along the line")]
    IndexOrder,
    #[error("the index is outside {first}..={last}, which is what --dim and --index-base allow")]
    IndexRange { first: u64, last: u64 },

    // JSON lines.
    #[error("not a JSON object; every line is one: {{\"name\": value, …}}")]
    NotAnObject,
    #[error("not JSON: {0}")]
    Json(String),
    #[error("a nested value; allowed: numbers, strings, true, false, null")]
    Nested,
    #[error("a key that the object already has; keys must differ")]
    DuplicateKey,

    // Rows that were never in a file.
    #[error(
        "the row does not give `{}`; give every column, and `Value::Missing` for no value",
        one_line(.0)
    )]
    NotGiven(String),

    // What was stated.
    #[error("no column is named `{}`, which {what} names{}", one_line(.name), suggestion(.near))]
    NoSuchColumn {
        what: &'static str,
        name: String,
        near: Option<String>,
    },
    #[error("{}", unstated(.0))]
    Unstated(Vec<String>),
    #[error(
        "columns have no names in {0}, so there is nothing to describe; state {flags}",
        flags = to_state(*.0)
    )]
    NothingToDescribe(Format),
    #[error(
        "column `{column}` is stated twice: by {first} and by {second}; one is needed",
        column = one_line(.column)
    )]
    StatedTwice {
        column: String,
        first: &'static str,
        second: &'static str,
    },
    #[error("column `{}` cannot be a feature: it is the {role}", one_line(.column))]
    Role { column: String, role: &'static str },
    #[error("bounds of `{}`: allowed: two finite numbers, the smaller first", one_line(.0))]
    Bounds(String),
    #[error("vocabulary of `{}`: {why}", one_line(.column))]
    Vocabulary { column: String, why: &'static str },
    #[error("classes: {0}")]
    Classes(&'static str),
    #[error("arms: {0}")]
    Arms(&'static str),
    #[error("no arms are stated; they are part of what is published: --arms A,B,C")]
    ArmsNeeded,
    #[error("bits of `{}`: allowed: 1 to 28", one_line(.0))]
    Bits(String),
    #[error("norm: allowed: a positive finite number")]
    Norm,
    #[error(
        "{0} says nothing about the size of values; state the greatest length of a feature \
         vector: --norm 1"
    )]
    NormNeeded(Format),
    #[error("libsvm does not tell how many features there are; state it: --dim N")]
    DimensionNeeded,
    #[error("the dimension: allowed: 1 to {most} features", most = 1_u32 << 31)]
    Dimension,
    #[error("index base: allowed: 0 or 1")]
    IndexBase,
    #[error(
        "no target is stated, and this task needs one: --target COLUMN, or target = 'COLUMN' in \
         a schema"
    )]
    TargetNeeded,
    #[error("no target bounds are stated; regression needs them: --target-bounds LOW:HIGH")]
    TargetBoundsNeeded,
    #[error("no classes are stated; they are part of what is published: --classes A,B,C")]
    ClassesNeeded,
    #[error("the records have no columns of numbers and categories, which curves and tables need")]
    NoCodes,
    #[error(
        "the file has changed since the run began: every pass must read the same rows in the same \
         order"
    )]
    Changed,
    #[error(
        "the file ends before row {0}: several passes need every planned row; state --rounds with \
         the number of rows, or --passes 1"
    )]
    FewRows(u64),
    #[error("no feature is left: every column is the target, the person or ignored")]
    NoFeatures,
    #[error(
        "the losses of experts are compared, so all columns need the same bounds: --bounds \
         '*=LOW:HIGH'"
    )]
    ExpertBounds,
    #[error("{what} does not fit here: {why}")]
    DoesNotFit {
        what: &'static str,
        why: &'static str,
    },
    #[error("{flag}: allowed: {allowed}")]
    Flag {
        flag: &'static str,
        allowed: &'static str,
    },
    #[error("??? is left in this line; fill in what is known")]
    Unfilled,
    #[error("schema: {}", one_line(.0))]
    Toml(String),
}

fn unstated(names: &[String]) -> String {
    let (head, name, them) = match names {
        [name] => (
            format!(
                "column `{}` has no public bounds or categories",
                one_line(name)
            ),
            one_line(name),
            "it",
        ),
        _ => (
            format!(
                "{} columns have no public bounds or categories: {}",
                names.len(),
                listed(names)
            ),
            "NAME".to_owned(),
            "them",
        ),
    };
    format!(
        "{head}; state them: --bounds '{name}=LOW:HIGH', --vocabulary '{name}=A|B|C', --hashed \
         '{name}=BITS' or --one-hot '{name}', or leave {them} out: --ignore '{name}'"
    )
}

/// The flags that describe a file whose columns have no names.
fn to_state(format: Format) -> &'static str {
    match format.entry().names_from() {
        NamesFrom::Nowhere { state } => state,
        _ => "--bounds",
    }
}

fn suggestion(near: &Option<String>) -> String {
    match near {
        Some(name) => format!("; is it `{}`?", one_line(name)),
        None => String::new(),
    }
}

impl Fault {
    /// The kind of a fault of a row, in a word or two: never a value, nor a place.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Blank => "blank line",
            Self::LineTooLong => "line too long",
            Self::NotUtf8 => "not UTF-8",
            Self::Nul => "NUL byte",
            Self::ShortRow { .. } | Self::LongRow { .. } => "wrong number of fields",
            Self::OpenQuote => "open quote",
            Self::StrayQuote => "stray quote",
            Self::NotANumber => "not a number",
            Self::NotFinite => "infinite number",
            Self::NotADate => "not a date",
            Self::NotATime => "not a time",
            Self::InexactPerson => "inexact person",
            Self::MissingTarget => "missing target",
            Self::NotALabel => "not a label",
            Self::UnknownClass => "unknown class",
            Self::UnknownArm => "unknown arm",
            Self::NotAPropensity => "not a propensity",
            Self::NoBar
            | Self::VwLabel
            | Self::Importance
            | Self::Namespace
            | Self::VwValue
            | Self::NamelessFeature => "not VW text",
            Self::Pair | Self::IndexOrder | Self::IndexRange { .. } => "not a libsvm pair",
            Self::NotAnObject | Self::Json(_) | Self::Nested | Self::DuplicateKey => {
                "not a flat JSON object"
            }
            _ => "other",
        }
    }

    /// In a file as a whole.
    pub(crate) fn in_file(self, file: &Arc<str>) -> ReadError {
        ReadError {
            place: Box::new(Place {
                file: Some(Arc::clone(file)),
                ..Place::default()
            }),
            fault: self,
        }
    }
}

/// In no file: in what was stated.
impl From<Fault> for ReadError {
    fn from(fault: Fault) -> Self {
        Self {
            place: Box::default(),
            fault,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_one_line_with_place_and_remedy() {
        let error = ReadError {
            place: Box::new(Place {
                file: Some("a\nb.csv".into()),
                line: Some(3),
                column: Some(Column::Field {
                    number: 2,
                    name: Some("age\r".into()),
                }),
            }),
            fault: Fault::StrayQuote,
        };
        assert_eq!(
            error.to_string(),
            "a\u{fffd}b.csv, line 3, column 2 (`age\u{fffd}`): a quote inside a field; write it \
             twice and put the field in quotes"
        );
        let stated = ReadError::from(Fault::Unstated(vec!["age".into()])).to_string();
        assert!(
            stated.starts_with("column `age` has no public bounds")
                && stated.contains("--bounds 'age=LOW:HIGH'")
        );
    }
}
