//! Parquet as the table it holds: flat columns, rendered as CSV on the way, so that schema,
//! messages and shuffles are the same.
//!
//! Numbers are written so that they read back as they were. The file is held in memory as it is
//! stored; rows are unpacked one after the other. A line in a message is the row and the header
//! before it, unless a text has line breaks.
//!
//! Every row becomes one record with quotes in order, whatever its fields hold: texts that are not
//! UTF-8 are passed on as they are, for the reader to judge.

use crate::error::Fault;
use bytes::Bytes;
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::reader::RowIter;
use parquet::record::{Field, Row};
use std::io::{self, Read, Write as _};

/// Unpacks a file.
pub(crate) fn unpack(mut stored: impl Read) -> Result<Box<dyn Read + Send>, Fault> {
    let mut all = Vec::new();
    let read = stored.read_to_end(&mut all);
    read.map_err(|error| Fault::Unreadable(error.kind().to_string()))?;
    let file = SerializedFileReader::new(Bytes::from(all)).map_err(|_| Fault::BrokenParquet)?;
    let groups = file.metadata().row_groups().iter();
    for chunk in groups.flat_map(|group| group.columns()) {
        match chunk.compression() {
            Compression::BROTLI(_) => return Err(Fault::CompressedParquet("brotli")),
            Compression::LZO => return Err(Fault::CompressedParquet("lzo")),
            _ => {}
        }
    }
    let columns = file
        .metadata()
        .file_metadata()
        .schema_descr()
        .root_schema()
        .get_fields()
        .to_vec();
    let mut text = Vec::new();
    for (number, column) in columns.iter().enumerate() {
        if !column.is_primitive()
            || column.get_basic_info().repetition() == parquet::basic::Repetition::REPEATED
        {
            return Err(Fault::NestedColumn(column.name().to_owned()));
        }
        separate(&mut text, number);
        quote(&mut text, column.name().as_bytes());
    }
    text.push(b'\n');
    let rows = RowIter::from_file_into(Box::new(file));
    Ok(Box::new(Table { rows, text, at: 0 }))
}

/// Rows that become text when they are asked for.
struct Table {
    rows: RowIter<'static>,
    text: Vec<u8>,
    at: usize,
}

impl Read for Table {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.at == self.text.len() {
            let Some(row) = self.rows.next() else {
                return Ok(0);
            };
            self.at = 0;
            self.text.clear();
            render(&row.map_err(|error| broken(&error))?, &mut self.text)?;
        }
        let rest = &self.text[self.at..];
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        self.at += count;
        Ok(count)
    }
}

/// The crate's messages may quote content; what is broken has to do.
fn broken(_: &ParquetError) -> io::Error {
    io::ErrorKind::InvalidData.into()
}

fn render(row: &Row, text: &mut Vec<u8>) -> io::Result<()> {
    for (number, (_, field)) in row.get_column_iter().enumerate() {
        separate(text, number);
        match field {
            // In quotes, because a row of one column would be a blank line.
            Field::Null if row.len() == 1 => quote(text, b""),
            Field::Null => {}
            Field::Float16(value) => write!(text, "{}", value.to_f32())?,
            Field::Float(value) => write!(text, "{value}")?,
            Field::Double(value) => write!(text, "{value}")?,
            Field::Str(value) => quote(text, value.as_bytes()),
            Field::Bytes(value) => quote(text, value.data()),
            // Whole numbers, truth values, decimals, dates and times, as they are usually written.
            other => write!(text, "{other}")?,
        }
    }
    text.push(b'\n');
    Ok(())
}

fn separate(text: &mut Vec<u8>, number: usize) {
    if number > 0 {
        text.push(b',');
    }
}

fn quote(text: &mut Vec<u8>, value: &[u8]) {
    text.push(b'"');
    for &byte in value {
        if byte == b'"' {
            text.push(byte);
        }
        text.push(byte);
    }
    text.push(b'"');
}

#[cfg(test)]
mod tests {
    use crate::{Fault, Format, Input, Reader, Row, SchemaSpec};
    use hushstream_mechanism::losses::Features;
    use parquet::basic::{Compression, GzipLevel, ZstdLevel};
    use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
    use parquet::file::properties::WriterProperties;
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::parser::parse_message_type;
    use std::io::Cursor;
    use std::sync::Arc;

    fn file(compression: Compression) -> Vec<u8> {
        let schema = "message t { REQUIRED DOUBLE x; OPTIONAL INT64 n; \
                      REQUIRED BINARY kind (UTF8); REQUIRED INT64 y; }";
        let schema = Arc::new(parse_message_type(schema).unwrap());
        let mut bytes = Vec::new();
        let properties = WriterProperties::builder().set_compression(compression);
        let mut writer =
            SerializedFileWriter::new(&mut bytes, schema, Arc::new(properties.build())).unwrap();
        let mut group = writer.next_row_group().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        column
            .typed::<DoubleType>()
            .write_batch(&[0.1 + 0.2, -1.0], None, None)
            .unwrap();
        column.close().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        column
            .typed::<Int64Type>()
            .write_batch(&[5], Some(&[1, 0]), None)
            .unwrap();
        column.close().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        let kinds = ["a,\"b\"", "c\nd"].map(ByteArray::from);
        column
            .typed::<ByteArrayType>()
            .write_batch(&kinds, None, None)
            .unwrap();
        column.close().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        column
            .typed::<Int64Type>()
            .write_batch(&[1, 0], None, None)
            .unwrap();
        column.close().unwrap();
        group.close().unwrap();
        writer.close().unwrap();
        bytes
    }

    const SCHEMA: &str = "target = 'y'\nbounds = { x = [-1, 1], n = [0, 10] }\n\
                          vocabulary = { kind = ['a,\"b\"', \"c\\nd\"] }";

    /// As pandas, R and Polars write it.
    #[test]
    fn a_table_is_read_as_it_was_written() {
        for compression in [
            Compression::UNCOMPRESSED,
            Compression::SNAPPY,
            Compression::GZIP(GzipLevel::default()),
            Compression::LZ4_RAW,
            Compression::ZSTD(ZstdLevel::default()),
        ] {
            let input = Input::from_reader("t.parquet", Cursor::new(file(compression))).unwrap();
            assert_eq!(input.guess_format().unwrap(), Format::Csv);
            let schema = SCHEMA.parse::<SchemaSpec>().unwrap();
            let mut reader = Reader::open(input, Format::Csv, &schema).unwrap();
            let mut row = Row::default();
            let mut expect = |values: [f64; 5], target| {
                assert!(reader.next_row(&mut row).unwrap());
                assert!(matches!(&row.features, Features::Dense(found) if *found == values));
                assert_eq!(row.target, Some(target));
            };
            expect([0.1 + 0.2, 0.0, 1.0, 0.0, 1.0], 1.0);
            expect([-1.0, 0.0, 0.0, 1.0, 1.0], -1.0);
            assert!(!reader.next_row(&mut row).unwrap());
        }
    }

    #[test]
    fn another_compression_is_named() {
        let brotli = include_bytes!("../../tests/brotli.parquet");
        let input = Input::from_reader("t", Cursor::new(brotli)).unwrap();
        let read = Reader::open(input, Format::Csv, &"target = 'y'".parse().unwrap());
        assert_eq!(
            read.err().unwrap().to_string(),
            "t: this Parquet is compressed with brotli, which is not read; write it with zstd, \
             snappy, gzip, lz4 or not at all"
        );
    }

    #[test]
    fn what_is_broken_is_refused() {
        let mut bytes = file(Compression::UNCOMPRESSED);
        let end = bytes.len() - 20;
        let open = |bytes| {
            let input = Input::from_reader("t", Cursor::new(bytes))?;
            Reader::open(input, Format::Csv, &SCHEMA.parse()?)
        };
        let cut = open(bytes[..end].to_vec()).err().unwrap();
        assert_eq!(cut.fault, Fault::BrokenParquet);
        bytes[8..40].fill(0xff);
        let read = open(bytes).and_then(|reader| reader.check(|_| {}));
        assert_eq!(read.err().unwrap().fault, Fault::BrokenParquet);
    }
}
