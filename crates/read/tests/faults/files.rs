//! Files that are missing, damaged, packed or unreadable.

use crate::{MARKER, XY};
use hushstream_read::{Format, Input, Reader, SchemaSpec};

#[test]
fn files() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    let read = |name: &str, bytes: &[u8]| {
        std::fs::write(path(name), bytes).unwrap();
        let input = Input::open(&path(name))?;
        let format = input.guess_format()?;
        let reader = Reader::open(input, format, &XY.parse::<SchemaSpec>()?)?;
        Ok::<u64, hushstream_read::ReadError>(reader.check(|_| {})?.rows)
    };
    let text: String = std::iter::once("x,y\n".to_owned())
        .chain((0..5000).map(|n| format!("0.{n},1\n")))
        .collect();
    let whole = gzip(text.as_bytes());
    assert_eq!(
        read("a.csv.bz2", b"BZh91AY&SY").unwrap_err().to_string(),
        path("a.csv.bz2")
            + ": files that end in .bz2 are not read; unpack it or write it as CSV first, which may \
               be packed with gzip"
    );
    assert_eq!(read("a.csv", text.as_bytes()), Ok(5000));
    assert_eq!(read("a.csv.gz", &whole), Ok(5000));
    assert_eq!(read("gzip_without_its_name.csv", &whole), Ok(5000));
    let fault = |name, bytes: &[u8]| {
        read(name, bytes)
            .unwrap_err()
            .to_string()
            .replace(&path(name), "F")
    };
    assert_eq!(
        fault("b.csv.gz", &whole[..whole.len() / 2]),
        "F: broken gzip: it ends too early; fetch or compress the file again"
    );
    let mut flipped = whole.clone();
    flipped[whole.len() - 6] ^= 1;
    assert_eq!(
        fault("c.csv.gz", &flipped),
        "F: broken gzip: its checksum or its structure is wrong; fetch or compress the file again"
    );
    assert!(
        fault("d.csv.gz", text.as_bytes())
            .starts_with("F: the name ends in .gz, but this is not gzip")
    );
    assert!(
        fault("e.dat", text.as_bytes())
            .starts_with("F: the name does not tell the format; state it: --format csv, tsv")
    );
    assert!(
        Input::open(&path("none.csv"))
            .err()
            .unwrap()
            .to_string()
            .ends_with("none.csv: there is no such file")
    );
    assert!(
        Input::open(&path(""))
            .err()
            .unwrap()
            .to_string()
            .contains(": this is a directory")
    );
    assert!(
        SchemaSpec::from_file(&path("none.toml"))
            .unwrap_err()
            .to_string()
            .ends_with("there is no such file")
    );
    std::fs::write(path("s.toml"), "target = 'y'\nbounds = {").unwrap();
    let toml = SchemaSpec::from_file(&path("s.toml"))
        .unwrap_err()
        .to_string();
    assert!(toml.contains("s.toml, line 2, column 1"), "{toml}");
}

/// Input that fails in the middle.
struct Failing(bool);

impl std::io::Read for Failing {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if std::mem::replace(&mut self.0, false) {
            buffer[..2].copy_from_slice(b"x,");
            return Ok(2);
        }
        Err(std::io::Error::new(
            std::io::ErrorKind::PermissionDenied,
            MARKER,
        ))
    }
}

#[test]
fn input_that_fails_says_so_without_details() {
    let unreadable = Input::from_reader("t", Failing(false)).err().unwrap();
    assert_eq!(
        unreadable.to_string(),
        "t: cannot be read (permission denied)"
    );
    let later = Input::from_reader("t", Failing(true))
        .and_then(|input| Reader::open(input, Format::Csv, &XY.parse()?));
    assert_eq!(
        later.err().unwrap().to_string(),
        "t: cannot be read (permission denied)"
    );
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}
