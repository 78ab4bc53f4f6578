//! Where bytes come from: a file, standard input, or any reader.
//!
//! Gzip and Parquet are recognised by their first bytes where these are part of a header. Where the
//! first line is a record, one record must not decide how all others are read: there only the name
//! `.gz` tells.

use crate::error::{Fault, ReadError};
use crate::formats::Format;
use flate2::bufread::MultiGzDecoder;
use std::fs::File;
use std::io::{self, BufReader, Cursor, Read};
use std::sync::Arc;

const GZIP: &[u8] = &[0x1f, 0x8b];
const PARQUET: &[u8] = b"PAR1";
const COMPRESSED_BLOCK: usize = 1 << 16;

/// An opened source of bytes, to be decompressed on the way.
///
/// ```
/// use hushstream_read::Input;
///
/// let missing = Input::open("no/such/file.csv").err().expect("there is none");
/// assert_eq!(missing.to_string(), "no/such/file.csv: there is no such file");
/// let in_memory = Input::from_reader("rows.csv", "a,b\n1,2\n".as_bytes())?;
/// # let _ = in_memory;
/// # Ok::<(), hushstream_read::ReadError>(())
/// ```
pub struct Input {
    name: Arc<str>,
    /// As they are stored.
    bytes: Box<dyn Read + Send>,
    /// As the first bytes say.
    packing: Packing,
    multiline: bool,
}

/// Bytes of text on their way into a reader.
pub(crate) struct Unpacked {
    pub(crate) name: Arc<str>,
    pub(crate) bytes: Box<dyn Read + Send>,
    pub(crate) packing: Packing,
}

/// What bytes were packed in, for messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Packing {
    Plain,
    Gzip,
    /// The bytes are the table as CSV.
    Parquet,
}

impl Input {
    /// Opens a file, or standard input for `-`.
    ///
    /// # Errors
    /// What cannot be opened; a directory; a name in `.gz` that holds something else.
    pub fn open(path: &str) -> Result<Self, ReadError> {
        if path == "-" {
            return Self::from_reader("standard input", io::stdin());
        }
        let name: Arc<str> = path.into();
        let fault = |error: &io::Error| fault(error, Packing::Plain).in_file(&name);
        let file = File::open(path).map_err(|error| fault(&error))?;
        let about = file.metadata().map_err(|error| fault(&error))?;
        if about.is_dir() {
            return Err(Fault::IsDirectory.in_file(&name));
        }
        Self::from_reader(path, file)
    }

    /// Takes any reader; `name` stands for it in messages.
    ///
    /// # Errors
    /// What cannot be read; a name in `.gz` that holds something else.
    pub fn from_reader(
        name: &str,
        mut bytes: impl Read + Send + 'static,
    ) -> Result<Self, ReadError> {
        let name: Arc<str> = name.into();
        let mut start = Vec::new();
        (&mut bytes)
            .take(PARQUET.len() as u64)
            .read_to_end(&mut start)
            .map_err(|error| fault(&error, Packing::Plain).in_file(&name))?;
        let (gzip, parquet) = (start.starts_with(GZIP), start == PARQUET);
        if !gzip && is_named_gzip(&name) {
            return Err(Fault::NotGzip.in_file(&name));
        }
        let bytes = Box::new(Cursor::new(start).chain(bytes));
        let packing = match (gzip, parquet) {
            (true, _) => Packing::Gzip,
            (_, true) => Packing::Parquet,
            _ => Packing::Plain,
        };
        Ok(Self {
            name,
            bytes,
            packing,
            multiline: false,
        })
    }

    /// Lets quoted fields of a table hold line breaks. Then a record with quotes out of order hides
    /// where the next one begins, and reading it is an error: check the same bytes before anything
    /// is charged.
    #[must_use]
    pub fn multiline(mut self) -> Self {
        self.multiline = true;
        self
    }

    pub(crate) fn is_multiline(&self) -> bool {
        self.multiline
    }

    /// The bytes of the text. `first_is_public` says that the first bytes belong to no record.
    pub(crate) fn unpack(self, first_is_public: bool) -> Result<Unpacked, ReadError> {
        let Self { name, bytes, .. } = self;
        let packing = match self.packing {
            Packing::Gzip if first_is_public || is_named_gzip(&name) => Packing::Gzip,
            Packing::Parquet if first_is_public => Packing::Parquet,
            _ => Packing::Plain,
        };
        let bytes = match packing {
            Packing::Plain => bytes,
            Packing::Gzip => {
                let blocks = BufReader::with_capacity(COMPRESSED_BLOCK, bytes);
                Box::new(MultiGzDecoder::new(blocks))
            }
            Packing::Parquet => unpack_parquet(bytes).map_err(|fault| fault.in_file(&name))?,
        };
        Ok(Unpacked {
            name,
            bytes,
            packing,
        })
    }

    /// What the name says about the format; Parquet is read as CSV, whatever its name.
    ///
    /// # Errors
    /// A name that says nothing.
    pub fn guess_format(&self) -> Result<Format, ReadError> {
        if self.packing == Packing::Parquet {
            return Ok(Format::Csv);
        }
        let unknown = || {
            let name = self.name.to_ascii_lowercase();
            let ending = OTHERWISE.iter().find(|ending| name.ends_with(**ending));
            let fault = ending.map_or(Fault::UnknownFormat, |end| Fault::PackedOtherwise(end));
            fault.in_file(&self.name)
        };
        Format::guess(&*self.name).ok_or_else(unknown)
    }

    /// Whether the bytes are those of a Parquet file.
    #[must_use]
    pub fn is_parquet(&self) -> bool {
        self.packing == Packing::Parquet
    }

    /// The name in messages.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

#[cfg(feature = "parquet")]
use crate::formats::parquet::unpack as unpack_parquet;

#[cfg(not(feature = "parquet"))]
fn unpack_parquet(_: impl Read) -> Result<Box<dyn Read + Send>, Fault> {
    Err(Fault::NoParquet)
}

/// Endings of files that people have, and that are not read.
const OTHERWISE: [&str; 8] = [
    ".bz2", ".xz", ".zst", ".zip", ".7z", ".xlsx", ".xls", ".feather",
];

fn is_named_gzip(name: &str) -> bool {
    name.to_ascii_lowercase().ends_with(".gz")
}

/// An error of the operating system or of decompression, in words that name no content.
pub(crate) fn fault(error: &io::Error, packing: Packing) -> Fault {
    let gzip = packing == Packing::Gzip;
    match error.kind() {
        io::ErrorKind::NotFound => Fault::NotFound,
        io::ErrorKind::IsADirectory => Fault::IsDirectory,
        io::ErrorKind::UnexpectedEof if gzip => Fault::BrokenGzip("it ends too early"),
        io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData if gzip => {
            Fault::BrokenGzip("its checksum or its structure is wrong")
        }
        io::ErrorKind::InvalidData if packing == Packing::Parquet => Fault::BrokenParquet,
        kind => Fault::Unreadable(kind.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::io::Write;

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn read(name: &str, bytes: Vec<u8>) -> io::Result<Vec<u8>> {
        let mut all = Vec::new();
        let input = Input::from_reader(name, Cursor::new(bytes)).unwrap();
        let mut text = input.unpack(true).unwrap();
        text.bytes.read_to_end(&mut all)?;
        Ok(all)
    }

    #[test]
    fn gzip_is_recognised_by_content_also_in_several_members() {
        let members = [gzip(b"one,"), gzip(b"two")].concat();
        assert_eq!(read("a.csv", members).unwrap(), b"one,two");
        assert_eq!(read("a.csv", b"plain".to_vec()).unwrap(), b"plain");
        for short in [&b""[..], b"x"] {
            assert_eq!(read("a.csv", short.to_vec()).unwrap(), short);
        }
    }

    #[test]
    fn broken_gzip_says_what_is_broken() {
        let whole = gzip(&[7; 10_000]);
        let cut = read("a.gz", whole[..whole.len() - 9].to_vec()).unwrap_err();
        assert_eq!(
            fault(&cut, Packing::Gzip),
            Fault::BrokenGzip("it ends too early")
        );
        let mut flipped = whole;
        let crc = flipped.len() - 8;
        flipped[crc] ^= 1;
        let bad = read("a.gz", flipped).unwrap_err();
        assert_eq!(
            fault(&bad, Packing::Gzip),
            Fault::BrokenGzip("its checksum or its structure is wrong")
        );
        let named = Input::from_reader("b.csv.gz", &b"a,b\n"[..]).err().unwrap();
        assert_eq!(
            named.to_string(),
            "b.csv.gz: the name ends in .gz, but this is not gzip; rename it or compress it"
        );
    }

    /// A first record that looks packed is a record, and decides nothing about the others.
    #[test]
    fn a_record_is_never_taken_for_a_packed_file() {
        for start in [&b"\x1f\x8b\x08rest"[..], b"PAR1rest"] {
            let input = Input::from_reader("t", start).unwrap();
            let mut text = Vec::new();
            let mut unpacked = input.unpack(false).unwrap();
            unpacked.bytes.read_to_end(&mut text).unwrap();
            assert_eq!(text, start);
        }
        let packed = Input::from_reader("t.gz", Cursor::new(gzip(b"text"))).unwrap();
        assert_eq!(packed.unpack(false).unwrap().packing, Packing::Gzip);
    }

    #[cfg(not(feature = "parquet"))]
    #[test]
    fn parquet_says_what_to_do() {
        let parquet = Input::from_reader("a.csv", &b"PAR1..."[..]).unwrap();
        let parquet = parquet.unpack(true).err().unwrap();
        assert_eq!(parquet.fault, Fault::NoParquet);
    }

    #[test]
    fn files_that_cannot_be_opened_say_why() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().to_str().unwrap();
        assert_eq!(Input::open(path).err().unwrap().fault, Fault::IsDirectory);
        assert_eq!(
            Input::open(&format!("{path}/x.csv")).err().unwrap().fault,
            Fault::NotFound
        );
        let denied = io::Error::from(io::ErrorKind::PermissionDenied);
        assert_eq!(
            fault(&denied, Packing::Plain).to_string(),
            "cannot be read (permission denied)"
        );
    }
}
