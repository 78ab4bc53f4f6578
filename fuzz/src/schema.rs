//! Schemas, stored layouts, and times.
//!
//! An input is a schema and the names of columns, with commas between them. The first byte says
//! what the schema is: 0 TOML, 1 JSON, 2 the JSON of a layout; and 4 times the number of a format.

use crate::input;
use hushstream_read::{Encoder, Format, Layout, Row, SchemaSpec, parse_time, written_time};

const FORMATS: [Format; 5] = [
    Format::Csv,
    Format::Tsv,
    Format::JsonLines,
    Format::Vw,
    Format::Libsvm,
];
/// The most coordinates whose names are asked for.
const MOST: usize = 64;

pub(crate) fn check(bytes: &[u8]) -> Result<bool, String> {
    let (flags, [schema, columns]) = input::parts(bytes);
    let text = String::from_utf8_lossy(schema);
    let columns = String::from_utf8_lossy(columns);
    let format = FORMATS[usize::from(flags / 4) % FORMATS.len()];
    time(&columns)?;
    let layout = match flags % 4 {
        2 => match serde_json::from_str(&text) {
            Ok(layout) => layout,
            Err(_) => return Ok(false),
        },
        kind => {
            let spec: SchemaSpec = match kind {
                1 => match serde_json::from_str(&text) {
                    Ok(spec) => spec,
                    Err(_) => return Ok(false),
                },
                _ => match text.parse() {
                    Ok(spec) => spec,
                    Err(error) => {
                        let error: hushstream_read::ReadError = error;
                        return input::speaks(&error.to_string()).map(|()| false);
                    }
                },
            };
            let _ = Encoder::new(&spec).map(drop);
            let _ = Encoder::indexed(&spec).map(drop);
            let columns: Vec<&str> = columns.split(',').collect();
            match Layout::new(&spec, format, &columns) {
                Ok(layout) => layout,
                Err(error) => return input::speaks(&error.to_string()).map(|()| false),
            }
        }
    };
    used(&layout)?;
    if let Some(coded) = layout.coded() {
        used(&coded)?;
    }
    if let Some(contexts) = layout.contexts() {
        used(&contexts)?;
    }
    Ok(true)
}

/// A layout comes back as it was, and whatever can be asked of it can be answered.
fn used(layout: &Layout) -> Result<(), String> {
    let text = serde_json::to_string(layout).map_err(|error| error.to_string())?;
    let back: Layout = serde_json::from_str(&text).map_err(|error| error.to_string())?;
    if back != *layout {
        return Err(format!("a layout that comes back as another: {text}"));
    }
    let dimension = layout.dimension();
    let _ = (layout.axes(), layout.norm(), layout.is_sparse());
    let names = (0..dimension.min(MOST)).chain(dimension.saturating_sub(MOST)..dimension);
    names.for_each(|coordinate| drop(layout.feature_name(coordinate)));
    let arms = layout.arms().unwrap_or(0);
    (0..arms.min(MOST)).for_each(|arm| drop(layout.arm_name(arm)));
    let columns = layout.column_names();
    let Ok(mut encoder) = Encoder::with_layout(layout, &columns) else {
        return Ok(());
    };
    let count = encoder.columns().len();
    for value in [0.0, 1.0, -7.5, f64::NAN, f64::INFINITY] {
        let (row, mut read) = (vec![value; count], Row::default());
        if encoder.row(&row[..], &mut read).is_ok() {
            let length = read.features.norm();
            // The numbers of axes have bounds of their own.
            let is_long = length.is_nan() || length > layout.norm() * (1.0 + 1e-12);
            if is_long && !layout.is_coded() {
                return Err(format!("a row of length {length}: {text}"));
            }
        }
        let _ = encoder.record(&row[..]).map(drop);
    }
    Ok(())
}

/// A time is written as it was read.
fn time(text: &str) -> Result<(), String> {
    if let Some(seconds) = parse_time(text) {
        let written = written_time(seconds);
        if parse_time(&written) != Some(seconds) {
            return Err(format!("{text} is {seconds}, which is written {written}"));
        }
    }
    Ok(())
}

pub(crate) fn seeds() -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for (format, schema, names, _) in crate::cases::SEEDS {
        let kind = FORMATS.iter().position(|known| *known == format);
        let flags = 4 * kind.unwrap_or(0) as u8;
        let columns = names.trim_end().replace('\t', ",");
        all.push(input::joined(
            flags,
            &[schema.as_bytes(), columns.as_bytes()],
        ));
        let columns: Vec<&str> = columns.split(',').collect();
        let layout = schema
            .parse()
            .map(|spec| Layout::new(&spec, format, &columns));
        if let Ok(Ok(layout)) = layout
            && let Ok(text) = serde_json::to_string(&layout)
        {
            all.push(input::joined(2, &[text.as_bytes()]));
        }
    }
    for (schema, columns) in [
        ("task = 'bandit'\ntarget = 'a'\nclasses = ['x', 'y']", "a,b"),
        (
            "task = 'decide'\ntarget = 'a'\nclasses = ['x', 'y']\nbounds = { b = [0, 1] }",
            "a,b,2013-01-31T14:05",
        ),
        (
            "task = 'track'\ndates = ['d']\nbounds = { b = [0, 1] }\nvocabulary = { c = ['p'] }",
            "b,c,d",
        ),
        (
            "target = 'y'\ndates = ['d']\nbounds = {b = [1, 2]}",
            "2013-01-31 14:05:59",
        ),
    ] {
        all.push(input::joined(0, &[schema.as_bytes(), columns.as_bytes()]));
    }
    let json = "{\"target\":\"y\",\"bounds\":{\"x\":[0,1]},\"vocabulary\":{\"k\":[\"a\",\"b\"]},\
                \"hash_bits\":3,\"missing_target\":\"null\",\"hashed\":{\"t\":4}}";
    all.push(input::joined(1, &[json.as_bytes(), b"x,k,t,y"]));
    all
}
