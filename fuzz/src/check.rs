//! What must hold of every file, broken or not.

use crate::cases::Case;
use crate::mutate::{Generator, MARKER, damage};
use hushstream_mechanism::losses::Features;
use hushstream_read::{Format, Input, Layout, ReadError, Reader, Row, SchemaSpec, TargetKind};
use std::io::{Cursor, Read, Write};

/// Rows by their bits, in the open; whether the sealed way found as many, and what stopped them.
#[derive(PartialEq)]
struct Outcome {
    rows: Vec<(Vec<u64>, Option<u64>)>,
    error: Option<String>,
}

/// Checks a case; says whether the file was read to its end.
pub(crate) fn check(case: &Case) -> Result<bool, String> {
    let mut generator = Generator(case.seed);
    let schema: SchemaSpec = match case.schema.parse() {
        Ok(schema) => schema,
        Err(error) => return says(case, &error).map(|()| false),
    };
    let whole = read(
        case,
        &schema,
        Input::from_reader("t", Cursor::new(case.bytes.clone())),
    )?;
    for step in [1, 1 + generator.below(9), 4096] {
        // One byte at a time only where that does not take for ever.
        let step = if case.bytes.len() > 4096 {
            step.max(997)
        } else {
            step
        };
        let trickled = read(
            case,
            &schema,
            Input::from_reader(
                "t",
                Trickle {
                    bytes: case.bytes.clone(),
                    at: 0,
                    step,
                },
            ),
        )?;
        if trickled != whole {
            return Err(format!("read differently {step} bytes at a time"));
        }
    }
    if generator.below(4) == 0 {
        let packed = gzip(&case.bytes).map_err(|error| error.to_string())?;
        if read(case, &schema, Input::from_reader("t", Cursor::new(packed)))? != whole {
            return Err("read differently from gzip".into());
        }
    }
    if generator.below(2) == 0
        && whole.error.is_none()
        && let Some(quoted) = quoted(case)
        && read(case, &schema, Input::from_reader("t", Cursor::new(quoted)))? != whole
    {
        return Err("read differently with every field in quotes".into());
    }
    if generator.below(4) == 0 && whole.error.is_none() {
        shuffled(case, &schema, &whole, generator.next())?;
    }
    if generator.below(8) == 0 {
        stored(case, &schema, &mut generator)?;
    }
    Ok(whole.error.is_none())
}

/// A message is one line, and names no content.
fn says(case: &Case, error: &ReadError) -> Result<(), String> {
    let message = error.to_string();
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
    let mut outcome = Outcome {
        rows: Vec::new(),
        error: None,
    };
    let stopped = match open(case, schema, input) {
        Ok(mut reader) => rows(&mut reader, &mut outcome)?,
        Err(error) => Some(error),
    };
    if let Some(error) = stopped {
        says(case, &error)?;
        outcome.error = Some(error.to_string());
    }
    let sealed = sealed(case, schema)?;
    // Without targets the open way reads on where the sealed way stops.
    if sealed > outcome.rows.len() as u64 && outcome.error.is_none() {
        return Err("more sealed records than rows".into());
    }
    Ok(outcome)
}

/// Reads sealed records, which cannot be looked at.
fn sealed(case: &Case, schema: &SchemaSpec) -> Result<u64, String> {
    let input = Input::from_reader("t", Cursor::new(case.bytes.clone()));
    let count = open(case, schema, input).and_then(|mut reader| {
        while reader.next_record()?.is_some() {}
        Ok(reader.rows())
    });
    match count {
        Ok(count) => Ok(count),
        Err(error) => says(case, &error).map(|()| 0),
    }
}

/// Reads rows in the open and checks each.
fn rows(reader: &mut Reader, outcome: &mut Outcome) -> Result<Option<ReadError>, String> {
    let (mut row, layout) = (Row::default(), reader.layout().clone());
    loop {
        match reader.next_row(&mut row) {
            Ok(true) => outcome.rows.push(sound(&row, &layout)?),
            Ok(false) => return Ok(None),
            Err(error) => return Ok(Some(error)),
        }
    }
}

/// A row is as its layout says: finite, within the norm and the dimension, with a target of the right kind.
fn sound(row: &Row, layout: &Layout) -> Result<(Vec<u64>, Option<u64>), String> {
    let (mut squares, mut bits) = (0.0, Vec::new());
    match &row.features {
        Features::Dense(values) => {
            if values.len() != layout.dimension() {
                return Err("a row of another dimension".into());
            }
            for value in values {
                squares += value * value;
                bits.push(value.to_bits());
            }
        }
        Features::Sparse(entries) => {
            if !entries.is_sorted_by(|a, b| a.0 < b.0)
                || entries
                    .last()
                    .is_some_and(|last| last.0 as usize >= layout.dimension())
            {
                return Err("entries out of order".into());
            }
            for &(slot, value) in entries {
                squares += value * value;
                bits.extend([u64::from(slot), value.to_bits()]);
            }
        }
    }
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
    let mut all = Vec::new();
    for line in start.unwrap_or(&case.bytes).split(|&byte| byte == b'\n') {
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
    let input = Input::from_reader("t", Cursor::new(case.bytes.clone()));
    let mut reader = open(case, schema, input)
        .and_then(|reader| reader.shuffled(seed))
        .map_err(|error| error.to_string())?;
    let mut other = Outcome {
        rows: Vec::new(),
        error: None,
    };
    if rows(&mut reader, &mut other)?.is_some() {
        return Err("refused when shuffled".into());
    }
    let mut expected = whole.rows.clone();
    expected.sort_unstable();
    other.rows.sort_unstable();
    if expected == other.rows {
        Ok(())
    } else {
        Err("other rows when shuffled".into())
    }
}

/// A stored layout comes back the same, and a damaged one is refused or works.
fn stored(case: &Case, schema: &SchemaSpec, generator: &mut Generator) -> Result<(), String> {
    let input = Input::from_reader("t", Cursor::new(case.bytes.clone()));
    let Ok(reader) = open(case, schema, input) else {
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
        let input = Input::from_reader("t", Cursor::new(case.bytes.clone()))
            .map_err(|error| error.to_string())?;
        if let Ok(mut reader) = Reader::with_layout(input, format, &layout) {
            rows(
                &mut reader,
                &mut Outcome {
                    rows: Vec::new(),
                    error: None,
                },
            )?;
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
