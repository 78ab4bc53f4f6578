//! What must hold of every file, broken or not.
//!
//! An input is a schema and a file. Its first byte is the number of a format.

use crate::Broken;
use crate::cases::{self, Case};
use crate::mutate::{Generator, MARKER, damage};
use hushstream_mechanism::losses::Features;
use hushstream_read::{Format, Input, Layout, ReadError, Reader, Row, SchemaSpec, TargetKind};
use std::io::{Cursor, Read, Write};

/// The bits of a row in the open, or the message of its fault.
type RowRead = Result<(Vec<u64>, Option<u64>), String>;

/// Rows in the open, and what stopped the reader.
#[derive(Default, PartialEq)]
struct Outcome {
    rows: Vec<RowRead>,
    error: Option<String>,
}

impl Outcome {
    fn is_clean(&self) -> bool {
        self.error.is_none() && self.rows.iter().all(Result::is_ok)
    }
}

impl Broken for Case {
    /// Whether every row of the file was in order.
    fn check(&self) -> Result<bool, String> {
        check(self)
    }
}

pub(crate) fn check_bytes(bytes: &[u8]) -> Result<bool, String> {
    check(&cases::of(bytes))
}

/// A schema and a Parquet file.
pub(crate) fn check_parquet(bytes: &[u8]) -> Result<bool, String> {
    let mut case = cases::of(bytes);
    case.format = Format::Csv;
    // The names of its columns are in its footer.
    case.names_kept &= !case
        .bytes
        .windows(MARKER.len())
        .any(|at| at == MARKER.as_bytes());
    if !case.bytes.starts_with(PARQUET) {
        case.bytes = [PARQUET, &case.bytes].concat();
    }
    check(&case)
}

const PARQUET: &[u8] = b"PAR1";
const GZIP: &[u8] = &[0x1f, 0x8b];

fn check(case: &Case) -> Result<bool, String> {
    let mut generator = Generator(case.seed);
    let schema: SchemaSpec = match case.schema.parse() {
        Ok(schema) => schema,
        Err(error) => return speaks(case, &told(error)).map(|()| false),
    };
    let whole = read(case, &schema, input(&case.bytes))?;
    for step in [1, 1 + generator.below(9), 4096] {
        // One byte at a time only where that does not take for ever.
        let least = if case.bytes.len() > 4096 { 997 } else { 1 };
        let step = step.max(least);
        let trickle = Trickle {
            bytes: case.bytes.clone(),
            at: 0,
            step,
        };
        if read(case, &schema, Input::from_reader("t", trickle))? != whole {
            return Err(format!("read differently {step} bytes at a time"));
        }
    }
    others(case, &schema)?;
    // Lines are not records where the file is packed.
    if case.format.is_table()
        && [PARQUET, GZIP]
            .iter()
            .any(|start| case.bytes.starts_with(start))
    {
        return Ok(whole.is_clean());
    }
    if generator.below(4) == 0 {
        let packed = gzip(&case.bytes).map_err(|error| error.to_string())?;
        // Messages name the file, so only rows in order are compared.
        let input = Input::from_reader("t.gz", Cursor::new(packed));
        if whole.is_clean() && read(case, &schema, input)? != whole {
            return Err("read differently from gzip".into());
        }
    }
    if generator.below(2) == 0
        && whole.is_clean()
        && let Some(quoted) = quoted(case)
        && read(case, &schema, input(&quoted))? != whole
    {
        return Err("read differently with every field in quotes".into());
    }
    if generator.below(4) == 0 && whole.error.is_none() {
        shuffled(case, &schema, &whole, generator.word())?;
    }
    if generator.below(8) == 0 {
        stored(case, &schema, &mut generator)?;
    }
    if whole.error.is_none() {
        counted(case, &schema, &whole)?;
        alone(case, &schema, &whole, &mut generator)?;
    }
    Ok(whole.is_clean())
}

/// Other ways to read the same file: records of axes, fields of several lines, and an empty schema
/// for its columns.
fn others(case: &Case, schema: &SchemaSpec) -> Result<(), String> {
    let refused = |error: ReadError| speaks(case, &told(error));
    let mut coded = open(case, schema, input(&case.bytes)).and_then(Reader::coded);
    let mut row = Row::default();
    while let Ok(reader) = &mut coded {
        let before = reader.rows();
        match reader.next_row(&mut row) {
            Ok(true) => {}
            Ok(false) => break,
            Err(error) if reader.rows() > before => refused(error)?,
            Err(error) => coded = Err(error),
        }
    }
    coded.map(drop).or_else(refused)?;
    let lines = input(&case.bytes).map(Input::multiline);
    read(case, schema, lines)?;
    let skeleton = input(&case.bytes).and_then(|input| schema.skeleton(input, case.format));
    skeleton.map(drop).or_else(refused)
}

/// Where the lines begin that are records.
fn first_line(case: &Case) -> usize {
    if !case.format.is_table() {
        return 0;
    }
    let end = case.bytes.iter().position(|&byte| byte == b'\n');
    end.map_or(case.bytes.len(), |end| end + 1)
}

/// Lines are records: as many in the open, sealed and checked.
fn counted(case: &Case, schema: &SchemaSpec, whole: &Outcome) -> Result<(), String> {
    let rest = &case.bytes[first_line(case)..];
    let rest = rest.strip_suffix(b"\n").unwrap_or(rest);
    let lines = 1 + rest.iter().filter(|&&byte| byte == b'\n').count();
    let mut faults = 0_u64;
    let reader = open(case, schema, input(&case.bytes)).map_err(told)?;
    let checked = reader.check(|_| faults += 1).map_err(told)?;
    let mut reader = open(case, schema, input(&case.bytes)).map_err(told)?;
    while reader.next_record().map_err(told)?.is_some() {}
    let sealed = reader.rows();
    if [whole.rows.len() as u64, checked.rows, sealed] != [lines as u64; 3] {
        return Err(format!(
            "{lines} lines are {} rows, {sealed} records and {} checked ones",
            whole.rows.len(),
            checked.rows
        ));
    }
    if *reader.malformed().for_the_operator() != faults {
        return Err("a check finds other faults than there are empty records".into());
    }
    Ok(())
}

/// Another line in the place of one changes no other record.
fn alone(
    case: &Case,
    schema: &SchemaSpec,
    whole: &Outcome,
    generator: &mut Generator,
) -> Result<(), String> {
    let (header, rest) = case.bytes.split_at(first_line(case));
    let mut lines: Vec<Vec<u8>> = rest.split(|&byte| byte == b'\n').map(Vec::from).collect();
    if lines.last().is_some_and(Vec::is_empty) {
        lines.pop();
    }
    let at = generator.below(lines.len());
    damage(&mut lines[at], generator);
    lines[at].retain(|&byte| byte != b'\n');
    let bytes = [header, &lines.join(&b'\n'), b"\n"].concat();
    let other = rows(&mut open(case, schema, input(&bytes)).map_err(told)?)?;
    if let Some(error) = other.error {
        return Err(format!("one line stops the reader: {error}"));
    }
    let pairs = whole.rows.iter().zip(&other.rows).enumerate();
    if whole.rows.len() != other.rows.len()
        || pairs
            .into_iter()
            .any(|(number, (one, two))| number != at && one != two)
    {
        return Err(format!("line {at} of the records changes others"));
    }
    Ok(())
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn told(error: ReadError) -> String {
    error.to_string()
}

fn input(bytes: &[u8]) -> Result<Input, ReadError> {
    Input::from_reader("t", Cursor::new(bytes.to_vec()))
}

/// A message is one line, and names no content.
fn speaks(case: &Case, message: &str) -> Result<(), String> {
    if message.contains(['\n', '\r']) {
        return Err(format!("a message of several lines: {message:?}"));
    }
    if case.names_kept && message.contains(MARKER) {
        return Err(format!("a message with content: {message}"));
    }
    Ok(())
}

fn open(
    case: &Case,
    schema: &SchemaSpec,
    input: Result<Input, ReadError>,
) -> Result<Reader, ReadError> {
    Reader::open(input?, case.format, schema)
}

fn read(
    case: &Case,
    schema: &SchemaSpec,
    input: Result<Input, ReadError>,
) -> Result<Outcome, String> {
    let outcome = match open(case, schema, input) {
        Ok(mut reader) => rows(&mut reader)?,
        Err(error) => Outcome {
            error: Some(told(error)),
            ..Outcome::default()
        },
    };
    let faults = outcome.rows.iter().filter_map(|row| row.as_ref().err());
    for message in faults.chain(&outcome.error) {
        speaks(case, message)?;
    }
    Ok(outcome)
}

/// Reads rows in the open and checks each.
fn rows(reader: &mut Reader) -> Result<Outcome, String> {
    let (mut row, layout) = (Row::default(), reader.layout().clone());
    let mut outcome = Outcome::default();
    loop {
        let before = reader.rows();
        match reader.next_row(&mut row) {
            Ok(true) => outcome.rows.push(Ok(sound(&row, &layout)?)),
            Ok(false) => return Ok(outcome),
            Err(error) if reader.rows() > before => outcome.rows.push(Err(told(error))),
            Err(error) => {
                outcome.error = Some(told(error));
                return Ok(outcome);
            }
        }
    }
}

/// A row is as its layout says: finite, within the norm and the dimension, with a target of the
/// right kind.
fn sound(row: &Row, layout: &Layout) -> Result<(Vec<u64>, Option<u64>), String> {
    let dimension = layout.dimension();
    let (values, bits): (Vec<f64>, Vec<u64>) = match &row.features {
        Features::Dense(values) => {
            if values.len() != dimension {
                return Err("a row of another dimension".into());
            }
            (values.clone(), Vec::new())
        }
        Features::Sparse(entries) => {
            let beyond = |&(slot, _): &(u32, f64)| slot as usize >= dimension;
            if !entries.is_sorted_by(|a, b| a.0 < b.0) || entries.last().is_some_and(beyond) {
                return Err("entries out of order".into());
            }
            entries
                .iter()
                .map(|&(slot, value)| (value, u64::from(slot)))
                .unzip()
        }
    };
    let squares: f64 = values.iter().map(|value| value * value).sum();
    let bits = bits
        .into_iter()
        .chain(values.iter().map(|value| value.to_bits()))
        .collect();
    let bound = layout.norm() * (1.0 + 1e-12);
    if squares.is_nan() || squares.sqrt() > bound {
        return Err(format!(
            "a row of length {} where {bound} is the bound",
            squares.sqrt()
        ));
    }
    let fits = row.target.is_none_or(|target| match layout.target() {
        TargetKind::Sign { .. } => [-1.0, 1.0].contains(&target),
        TargetKind::Class { classes } => {
            (0..classes.len()).any(|class| [class as f64].contains(&target))
        }
        TargetKind::Number { low, high } => {
            let midpoint = layout.target().midpoint();
            (low - midpoint..=high - midpoint).contains(&target)
        }
        TargetKind::None => [0.0].contains(&target),
    });
    if !fits {
        return Err("a target of another kind".into());
    }
    Ok((bits, row.target.map(f64::to_bits)))
}

/// The same table with every field in quotes, which takes another way through the reader.
fn quoted(case: &Case) -> Option<Vec<u8>> {
    let delimiter = match case.format {
        Format::Csv => b',',
        Format::Tsv => b'\t',
        _ => return None,
    };
    if case.bytes.contains(&b'"') {
        return None;
    }
    let start = case.bytes.strip_prefix("\u{feff}".as_bytes());
    let text = start.unwrap_or(&case.bytes);
    let mut all = Vec::new();
    // A line break ends a line: none follows the last one.
    let text = text.strip_suffix(b"\n").unwrap_or(text);
    for line in text.split(|&byte| byte == b'\n') {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if !line.is_empty() {
            let fields: Vec<Vec<u8>> = line
                .split(|&byte| byte == delimiter)
                .map(|field| [b"\"", field, b"\""].concat())
                .collect();
            all.extend(fields.join(&delimiter));
        }
        all.push(b'\n');
    }
    Some(all)
}

/// A shuffle keeps every row.
fn shuffled(case: &Case, schema: &SchemaSpec, whole: &Outcome, seed: u64) -> Result<(), String> {
    let reader = open(case, schema, input(&case.bytes));
    let reader = reader.and_then(|reader| reader.shuffled(seed));
    let mut other = rows(&mut reader.map_err(told)?)?;
    if other.error.is_some() {
        return Err("refused when shuffled".into());
    }
    let mut expected = whole.rows.clone();
    expected.sort_unstable();
    other.rows.sort_unstable();
    let same = expected == other.rows;
    same.then_some(()).ok_or("other rows when shuffled".into())
}

/// A stored layout comes back the same, and a damaged one is refused or works.
fn stored(case: &Case, schema: &SchemaSpec, generator: &mut Generator) -> Result<(), String> {
    let Ok(reader) = open(case, schema, input(&case.bytes)) else {
        return Ok(());
    };
    let text = serde_json::to_string(reader.layout()).map_err(|error| error.to_string())?;
    let back: Layout = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    if back != *reader.layout() {
        return Err("a layout that comes back as another".into());
    }
    let mut bytes = text.into_bytes();
    damage(&mut bytes, generator);
    let Ok(layout) = serde_json::from_slice::<Layout>(&bytes) else {
        return Ok(());
    };
    for format in [case.format, Format::Csv, Format::Vw] {
        let input = input(&case.bytes).map_err(told)?;
        if let Ok(mut reader) = Reader::with_layout(input, format, &layout) {
            rows(&mut reader)?;
        }
    }
    Ok(())
}

/// Gives a few bytes at a time, as a slow pipe does.
struct Trickle {
    bytes: Vec<u8>,
    at: usize,
    step: usize,
}

impl Read for Trickle {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let rest = &self.bytes[self.at..];
        let count = self.step.min(rest.len()).min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        self.at += count;
        Ok(count)
    }
}

fn gzip(bytes: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes)?;
    encoder.finish()
}
