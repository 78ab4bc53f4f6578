//! What the tests share.
#![allow(dead_code)] // not every test file needs everything

use hushstream_mechanism::losses::Features;
use hushstream_read::{Format, Input, ReadError, Reader, Row, SchemaSpec};

/// A schema from TOML.
pub(crate) fn schema(text: &str) -> SchemaSpec {
    text.parse().unwrap()
}

/// A reader over text.
pub(crate) fn open(format: Format, stated: &str, text: &[u8]) -> Result<Reader, ReadError> {
    let input = Input::from_reader("t", std::io::Cursor::new(text.to_vec()))?;
    Reader::open(input, format, &schema(stated))
}

/// Every coordinate of a row.
pub(crate) fn dense(features: &Features, dimension: usize) -> Vec<f64> {
    match features {
        Features::Dense(values) => values.clone(),
        Features::Sparse(entries) => {
            let mut values = vec![0.0; dimension];
            for &(slot, value) in entries {
                values[slot as usize] = value;
            }
            values
        }
    }
}

/// Coordinates and target.
pub(crate) type Open = (Vec<f64>, Option<f64>);

/// All rows in the open.
pub(crate) fn rows(mut reader: Reader) -> Result<Vec<Open>, ReadError> {
    let dimension = reader.layout().dimension();
    let (mut all, mut row) = (Vec::new(), Row::default());
    while reader.next_row(&mut row)? {
        all.push((dense(&row.features, dimension), row.target));
    }
    Ok(all)
}

/// The first fault that a check finds, or what it stops at.
pub(crate) fn refused(format: Format, stated: &str, text: &[u8]) -> ReadError {
    let mut first = None;
    let checked = open(format, stated, text).and_then(|reader| {
        reader.check(|fault| {
            first.get_or_insert_with(|| fault.clone());
        })
    });
    match (first, checked) {
        (Some(fault), _) | (None, Err(fault)) => fault,
        (None, Ok(_)) => panic!("accepted: {stated}"),
    }
}
