//! File formats. A format is a file of this folder that implements [`FileFormat`], and a line in
//! [`Format`] below; the rest of the project asks the format what it needs to know.

mod csv;
mod form;
mod jsonl;
mod libsvm;
#[cfg(feature = "parquet")]
pub(crate) mod parquet;
mod plain;
mod vw;

pub use form::Form;
pub(crate) use form::first_names;

use crate::encode::{Beside, Builder, Columns, Targets};
use crate::error::{Column, Fault};
use crate::schema::{Layout, SchemaSpec, Space};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::Path;
use std::str::FromStr;

/// How a file is written.
///
/// ```
/// use hushstream_read::Format;
///
/// assert_eq!(Format::guess("flights.csv.gz"), Some(Format::Csv));
/// assert_eq!("jsonl".parse(), Ok(Format::JsonLines));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// Comma-separated values with a header, quoted as in RFC 4180.
    Csv,
    /// The same, separated by tabs.
    Tsv,
    /// One flat JSON object per line.
    #[serde(rename = "jsonl")]
    JsonLines,
    /// Vowpal Wabbit's text: `label [importance] [tag]|namespace feature:value …`.
    Vw,
    /// `label index:value …`.
    Libsvm,
}

impl Format {
    /// All formats.
    pub const ALL: [Self; 5] = [
        Self::Csv,
        Self::Tsv,
        Self::JsonLines,
        Self::Vw,
        Self::Libsvm,
    ];
    /// All names, for messages.
    pub const NAMES: &'static str = "csv, tsv, jsonl, vw, libsvm";

    pub(crate) fn entry(self) -> &'static dyn FileFormat {
        match self {
            Self::Csv => &csv::COMMAS,
            Self::Tsv => &csv::TABS,
            Self::JsonLines => &jsonl::JsonLines,
            Self::Vw => &vw::Vw,
            Self::Libsvm => &libsvm::Libsvm,
        }
    }

    /// The format from the name of a file, also before `.gz`.
    #[must_use]
    pub fn guess(name: impl AsRef<Path>) -> Option<Self> {
        let name = name.as_ref().file_name()?.to_str()?.to_ascii_lowercase();
        let name = name.strip_suffix(".gz").unwrap_or(&name);
        name.rsplit_once('.')?.1.parse().ok()
    }

    /// Whether columns have names.
    #[must_use]
    pub fn has_columns(self) -> bool {
        !matches!(self.entry().names_from(), NamesFrom::Nowhere { .. })
    }

    /// Whether it is a table of separated values.
    #[must_use]
    pub fn is_table(self) -> bool {
        matches!(self.entry().names_from(), NamesFrom::Header { .. })
    }
}

impl FromStr for Format {
    type Err = Fault;

    fn from_str(name: &str) -> Result<Self, Fault> {
        let found = Self::ALL
            .into_iter()
            .find(|format| format.entry().names().contains(&name));
        found.ok_or_else(|| Fault::NoSuchFormat(name.to_owned()))
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.entry().names()[0])
    }
}

/// Where the columns of a format get their names.
pub(crate) enum NamesFrom {
    /// From the first row of a table, unless they are stated.
    Header { separator: u8 },
    /// From the schema, because the keys of a record are private.
    Schema,
    /// Columns have no names; `state` lists the flags that describe such a file.
    Nowhere { state: &'static str },
}

/// A file format.
pub(crate) trait FileFormat: Sync {
    /// Its names, which are file endings too; the first is the one in messages.
    fn names(&self) -> &'static [&'static str];

    fn names_from(&self) -> NamesFrom;

    /// The meaning of coordinates, if columns have no names.
    fn space(&self, _: &SchemaSpec) -> Result<Space, Fault> {
        Err(OTHER_KIND)
    }

    /// The names of columns that the first line tells: a header, or keys.
    fn first_names(&self, _line: &[u8], _separator: u8) -> Result<Vec<String>, Failure> {
        Ok(Vec::new())
    }

    /// A parser for the rows of one file.
    fn rows(&self, file: &Opened<'_>) -> Result<Box<dyn Rows>, Fault>;
}

/// The properties of a file that are known before its rows are read.
pub(crate) struct Opened<'a> {
    pub(crate) layout: &'a Layout,
    pub(crate) separator: u8,
    /// The names of its columns.
    pub(crate) names: &'a [String],
    /// The columns of the person and of the time.
    pub(crate) beside: Beside<'a>,
}

/// A parser of rows: a line comes in, coordinates go to the builder, or a failure comes back.
pub(crate) trait Rows: Send {
    fn row(&mut self, line: &[u8], builder: &mut Builder, targets: Targets) -> Result<(), Failure>;

    /// The columns, if they have names.
    fn columns(&self) -> Option<&Columns> {
        None
    }

    /// Calls back for every field of a row that is in order, if columns have names.
    fn each_field(&self, _line: &[u8], _field: &mut dyn FnMut(usize, &[u8])) {}
}

/// A fault in a row, with its place.
pub(crate) struct Failure {
    /// Bytes from the beginning of the record.
    pub(crate) at: usize,
    /// The column, if it has a name; the byte otherwise.
    pub(crate) column: Option<Column>,
    pub(crate) fault: Fault,
}

impl Failure {
    pub(crate) fn new(at: usize, fault: Fault) -> Self {
        Self {
            at,
            column: None,
            fault,
        }
    }
}

/// A layout that this format cannot fill.
const OTHER_KIND: Fault = Fault::DoesNotFit {
    what: "the format",
    why: "the model was learned from another kind: columns, VW text or libsvm",
};

/// Refuses a statement that has no meaning here.
pub(crate) fn refuse(what: &'static str, is_stated: bool, why: &'static str) -> Result<(), Fault> {
    if is_stated {
        return Err(Fault::DoesNotFit { what, why });
    }
    Ok(())
}

/// A value of VW text or libsvm: a number small enough to be squared and added.
fn value(text: &[u8]) -> Option<f64> {
    crate::encode::parse_number(text).filter(|value| value.abs() < 1e100)
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_guesses_agree() {
        let names: Vec<String> = Format::ALL.iter().map(Format::to_string).collect();
        assert_eq!(names.join(", "), Format::NAMES);
        for (name, format) in names.iter().zip(Format::ALL) {
            assert_eq!(name.parse(), Ok(format));
            assert_eq!(
                Format::guess(format!("/some.dir/File.{}.GZ", name.to_uppercase())),
                Some(format)
            );
        }
        for unknown in ["-", "data", "data.gz", "data.dat", "dir.csv/data", ""] {
            assert_eq!(Format::guess(unknown), None, "{unknown}");
        }
        assert!(matches!(
            "xlsx".parse::<Format>(),
            Err(Fault::NoSuchFormat(_))
        ));
    }
}
