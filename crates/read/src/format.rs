//! File formats, guessed from a name or stated.

use crate::error::Fault;
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
    /// One flat JSON object a line.
    #[serde(rename = "jsonl")]
    JsonLines,
    /// Vowpal Wabbit's text: `label [importance] [tag]|namespace feature:value …`.
    Vw,
    /// `label index:value …`.
    Libsvm,
}

impl Format {
    /// All names, for messages.
    pub const NAMES: &'static str = "csv, tsv, jsonl, vw, libsvm";

    /// What the name of a file says, also in front of `.gz`.
    #[must_use]
    pub fn guess(name: impl AsRef<Path>) -> Option<Self> {
        let name = name.as_ref().file_name()?.to_str()?.to_ascii_lowercase();
        let name = name.strip_suffix(".gz").unwrap_or(&name);
        name.rsplit_once('.')?.1.parse().ok()
    }

    /// Whether columns have names.
    #[must_use]
    pub fn has_columns(self) -> bool {
        matches!(self, Self::Csv | Self::Tsv | Self::JsonLines)
    }
}

impl FromStr for Format {
    type Err = Fault;

    fn from_str(name: &str) -> Result<Self, Fault> {
        Ok(match name {
            "csv" => Self::Csv,
            "tsv" | "tab" => Self::Tsv,
            "jsonl" | "ndjson" | "json-lines" => Self::JsonLines,
            "vw" => Self::Vw,
            "libsvm" | "svmlight" | "svm" => Self::Libsvm,
            _ => return Err(Fault::NoSuchFormat(name.to_owned())),
        })
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Csv => "csv",
            Self::Tsv => "tsv",
            Self::JsonLines => "jsonl",
            Self::Vw => "vw",
            Self::Libsvm => "libsvm",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_guesses_agree() {
        for name in Format::NAMES.split(", ") {
            let format: Format = name.parse().unwrap();
            assert_eq!(format.to_string(), name);
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
