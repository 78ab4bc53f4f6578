//! How a file is laid out: its format, what separates the fields of a table, and where the names of
//! its columns come from.

use super::csv::width;
use super::{Failure, Format, NamesFrom};
use crate::encode::is_number;
use crate::error::{Fault, ReadError};
use crate::schema::SchemaSpec;
use crate::source::{Ends, Input, Packing, Source, Span};

/// A format with what may be stated about the text of a table. Public, and no part of a model: new
/// data may be laid out otherwise.
///
/// ```
/// use hushstream_read::{Form, Format};
///
/// let plain: Form = Format::Csv.into();
/// let other = Form::new(Format::Csv, Some(";"), true, &[])?;
/// assert_ne!(plain, other);
/// assert!(Form::new(Format::Csv, Some("ab"), false, &[]).is_err());
/// # Ok::<(), hushstream_read::ReadError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Form {
    pub(crate) format: Format,
    pub(crate) separator: u8,
    header: Header,
}

/// Where the names of a table's columns come from.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Header {
    FirstRow,
    /// There are none: c1, c2, …
    Numbered,
    /// They are stated, and the first row is a record.
    Stated(Vec<String>),
}

impl From<Format> for Form {
    fn from(format: Format) -> Self {
        Self {
            format,
            separator: match format.entry().names_from() {
                NamesFrom::Header { separator } => separator,
                _ => b',',
            },
            header: Header::FirstRow,
        }
    }
}

impl Form {
    /// A form by what is stated; empty lists and `None` are "not stated".
    ///
    /// # Errors
    /// A separator that is none, names that do not differ, or what does not fit the format.
    pub fn new(
        format: Format,
        separator: Option<&str>,
        no_header: bool,
        names: &[String],
    ) -> Result<Self, Fault> {
        let mut form = Self::from(format);
        if let Some(text) = separator {
            form.separator = parse_separator(text).ok_or(Fault::Flag {
                flag: "--separator",
                allowed: "one sign such as ; or |, or tab",
            })?;
        }
        if !names.is_empty() {
            let names: Vec<String> = names.iter().map(|name| name.trim().to_owned()).collect();
            for (place, name) in names.iter().enumerate() {
                if name.is_empty() {
                    return Err(Fault::Flag {
                        flag: "--names",
                        allowed: "one name for every column",
                    });
                }
                if names[..place].contains(name) {
                    return Err(Fault::DuplicateColumn(name.clone()));
                }
            }
            form.header = Header::Stated(names);
        } else if no_header {
            form.header = Header::Numbered;
        }
        if !form.format.is_table() {
            form.plain("it is for csv and tsv")?;
        }
        Ok(form)
    }

    /// Refuses what is stated about a table if the file is none, or brings its own names.
    fn plain(&self, why: &'static str) -> Result<(), Fault> {
        let what = match &self.header {
            Header::Numbered => "--no-header",
            Header::Stated(_) => "--names",
            Header::FirstRow if self.separator != Self::from(self.format).separator => {
                "--separator"
            }
            Header::FirstRow => return Ok(()),
        };
        Err(Fault::DoesNotFit { what, why })
    }

    /// Whether the first line is no record, so that it is public.
    fn first_is_header(&self) -> bool {
        self.format.is_table() && self.header == Header::FirstRow
    }

    /// The records of a file.
    pub(crate) fn open(&self, input: Input) -> Result<Source, ReadError> {
        let multiline = input.is_multiline();
        let input = input.unpack(self.first_is_header())?;
        let is_parquet = input.packing == Packing::Parquet;
        if is_parquet {
            let fits = self.plain("Parquet tells its columns itself");
            fits.map_err(|fault| fault.in_file(&input.name))?;
        }
        let separator = self.separator;
        let ends = match self.format.is_table() {
            // A row of Parquet is no line, and its quotes are always in order.
            true if multiline || is_parquet => Ends::Multiline { separator },
            true => Ends::Table { separator },
            false => Ends::Line,
        };
        Source::new(input, ends)
    }

    /// The names of the columns, without the spaces around them; `of_schema` gives those of formats
    /// that take them from the schema. The first name is empty if it is an index without a name;
    /// formats without columns have none.
    pub(crate) fn names(
        &self,
        source: &mut Source,
        of_schema: impl FnOnce() -> Vec<String>,
    ) -> Result<Vec<String>, ReadError> {
        if source.is_at_end()? {
            let least = if self.first_is_header() {
                "a header and one row"
            } else {
                "one line"
            };
            return Err(Fault::Empty(least).in_file(source.name()));
        }
        // A record decides nothing, except how many columns there are if nothing else tells.
        match (self.format.entry().names_from(), &self.header) {
            (NamesFrom::Header { .. }, Header::FirstRow) => first_names(source, self),
            (NamesFrom::Header { .. }, Header::Numbered) => {
                let (width, line) = first(source, |line| width(line, self.separator))?;
                source.put_back(&line);
                Ok((1..=width).map(|number| format!("c{number}")).collect())
            }
            (NamesFrom::Header { .. }, Header::Stated(names)) => Ok(names.clone()),
            (NamesFrom::Schema, _) => Ok(of_schema()),
            (NamesFrom::Nowhere { .. }, _) => Ok(Vec::new()),
        }
    }

    /// Which fault to tell, if a schema or a model does not fit the names: if some of them are
    /// numbers and none is expected, the first row may be a record, whose values are not for
    /// messages.
    pub(crate) fn doubted<'a>(
        &self,
        fault: Fault,
        names: &[String],
        mut expected: impl Iterator<Item = &'a str>,
    ) -> Fault {
        let numbers = names.iter().filter(|name| is_number(name)).count();
        let is_known = numbers == 0 || expected.any(|name| names.iter().any(|n| n == name));
        match fault {
            Fault::NoSuchColumn { .. } | Fault::Unstated(_)
                if self.first_is_header() && !is_known =>
            {
                Fault::RecordForHeader {
                    numbers,
                    columns: names.len(),
                }
            }
            other => other,
        }
    }
}

/// The names that the first line tells.
pub(crate) fn first_names(source: &mut Source, form: &Form) -> Result<Vec<String>, ReadError> {
    let format = form.format.entry();
    let (names, _) = first(source, |line| format.first_names(line, form.separator))?;
    Ok(names)
}

/// Takes the first line and looks at it.
fn first<T>(
    source: &mut Source,
    look: impl FnOnce(&[u8]) -> Result<T, Failure>,
) -> Result<(T, Span), ReadError> {
    let Some(mut first) = source.next()? else {
        return Err(Fault::Empty("one line").in_file(source.name()));
    };
    let looked = match first.broken.take() {
        Some((at, fault)) => Err(Failure::new(at, fault)),
        None => look(source.bytes(&first)),
    };
    match looked {
        Ok(found) => Ok((found, first)),
        Err(failure) => Err(source.error(&first, failure)),
    }
}

impl SchemaSpec {
    /// The form of a file in this format, by what is stated about its table.
    ///
    /// # Errors
    /// As [`Form::new`].
    pub fn form(&self, format: Format) -> Result<Form, Fault> {
        Form::new(
            format,
            self.separator.as_deref(),
            self.no_header == Some(true),
            &self.names,
        )
    }
}

/// One sign that no number, name or quote is written with.
fn parse_separator(text: &str) -> Option<u8> {
    let byte = match text {
        "tab" | "\\t" => b'\t',
        _ => match text.as_bytes() {
            [byte] => *byte,
            _ => return None,
        },
    };
    let is_sign = byte.is_ascii_punctuation() && !b"\"'.+-_*".contains(&byte);
    (is_sign || byte == b'\t' || byte == b' ').then_some(byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separators_are_single_signs() {
        for (text, byte) in [
            (";", b';'),
            ("|", b'|'),
            ("tab", b'\t'),
            ("\\t", b'\t'),
            ("\t", b'\t'),
            (" ", b' '),
        ] {
            assert_eq!(parse_separator(text), Some(byte), "{text}");
        }
        for text in ["", ";;", "a", "0", ".", "-", "\"", "\n", "é"] {
            assert_eq!(parse_separator(text), None, "{text}");
        }
    }

    #[test]
    fn what_is_about_tables_fits_tables_alone() {
        let names = ["a".to_owned(), "b".to_owned()];
        for format in [Format::JsonLines, Format::Vw, Format::Libsvm] {
            assert!(Form::new(format, None, true, &[]).is_err());
            assert!(Form::new(format, None, false, &names).is_err());
            assert!(Form::new(format, Some(";"), false, &[]).is_err());
            assert!(Form::new(format, None, false, &[]).is_ok());
        }
        let twice = ["a".to_owned(), " a".to_owned()];
        assert!(Form::new(Format::Csv, None, false, &twice).is_err());
        assert!(Form::new(Format::Csv, None, false, &["a".into(), String::new()]).is_err());
    }
}
