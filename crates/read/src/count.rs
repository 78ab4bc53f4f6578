//! How many records a file holds, without reading what is in them: only their ends are looked for, so this costs about as much as reading the bytes.
//!
//! The number is public, and a run must know it before its first record.

use crate::error::{Fault, ReadError};
use crate::form::{Form, Header};
use crate::input::Input;
use crate::source::Source;

/// Counts the records that a [`Reader`](crate::Reader) of the same input would give.
///
/// ```
/// use hushstream_read::{Format, Input, count_records};
///
/// let text = "name,late\n\"two\nlines\",0\n\nanother,1";
/// let input = Input::from_reader("flights", text.as_bytes())?;
/// assert_eq!(count_records(input, Format::Csv)?, 2);
/// # Ok::<(), hushstream_read::ReadError>(())
/// ```
///
/// # Errors
/// What cannot be read; quotes out of order; a file without records. Faults inside records are not looked for.
pub fn count_records(input: Input, form: impl Into<Form>) -> Result<u64, ReadError> {
    let form = form.into();
    let mut source = Source::new(input, form.ends())?;
    let has_header = form.is_table() && form.header == Header::FirstRow;
    if has_header {
        source.next()?;
    }
    match source.count()? {
        0 if has_header => Err(Fault::HeaderOnly.in_file(source.name())),
        0 => Err(Fault::Empty("one line").in_file(source.name())),
        count => Ok(count),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Format, Reader, SchemaSpec};

    fn count(text: &str, format: Format) -> Result<u64, ReadError> {
        count_records(
            Input::from_reader("t", std::io::Cursor::new(text.to_owned())).unwrap(),
            format,
        )
    }

    #[test]
    fn it_agrees_with_the_reader() {
        let schema: SchemaSpec = "target = 'y'\nhash_bits = 4\nnorm = 1".parse().unwrap();
        for text in [
            "x,y\n1,0\n2,1",
            "x,y\r\n1,0\r\n\r\n2,1\r\n",
            "\u{feff}x,y\n\n\"a\n\n,b\",0\n\"\"\"\",1\n\n",
            "x,y\n\"\",0\n",
        ] {
            let input = Input::from_reader("t", std::io::Cursor::new(text.to_owned())).unwrap();
            let mut reader = Reader::open(input, Format::Csv, &schema).unwrap();
            let mut rows = 0;
            while reader.next_record().unwrap().is_some() {
                rows += 1;
            }
            assert_eq!(count(text, Format::Csv).unwrap(), rows, "{text:?}");
        }
        let bare = Form::new(Format::Csv, Some(";"), true, &[]).unwrap();
        let input = Input::from_reader("t", &b"1;0\n2;1"[..]).unwrap();
        assert_eq!(count_records(input, bare).unwrap(), 2);
        assert_eq!(count("1 | a\n\n-1 | \"b\n", Format::Vw).unwrap(), 2);
    }

    #[test]
    fn what_has_no_records_or_open_quotes_is_refused() {
        assert_eq!(
            count("x,y\n\n", Format::Csv).unwrap_err().fault,
            Fault::HeaderOnly
        );
        assert!(count("", Format::Libsvm).is_err());
        let open = count("x,y\n1,\"2\n3,4\n", Format::Csv).unwrap_err();
        assert_eq!((open.fault, open.place.line), (Fault::OpenQuote, Some(2)));
    }
}
