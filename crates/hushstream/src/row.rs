//! Rows of a program, which were never in a file.

use anyhow::{Result, anyhow, bail};
use hushstream_mechanism::losses::{Features, Record};
use hushstream_mechanism::{OperatorOnly, Raw};
use hushstream_read::{Encoding, Format, Layout, SchemaSpec, Sealed, Space, TargetKind};
use std::collections::{BTreeMap, HashMap};

/// The value of one column of a row.
///
/// ```
/// use hushstream::prelude::*;
///
/// assert_eq!(Value::from(31.0), Value::Number(31.0));
/// assert_eq!(Value::from(true), Value::Number(1.0));
/// assert_eq!(Value::from("cook"), Value::Text("cook"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value<'a> {
    /// A number.
    Number(f64),
    /// A text.
    Text(&'a str),
    /// No value.
    Missing,
}

impl From<f64> for Value<'_> {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

impl From<bool> for Value<'_> {
    fn from(truth: bool) -> Self {
        Self::Number(f64::from(u8::from(truth)))
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(text)
    }
}

/// A row: the value of every column, by its name or by its place.
///
/// Numbers in the order of [`Run::columns`](crate::Run::columns) are a row, and so are maps of names
/// to values. A struct becomes one by naming its fields:
///
/// ```
/// use hushstream::prelude::*;
///
/// struct Flight {
///     hour: f64,
///     is_late: bool,
/// }
///
/// impl Row for Flight {
///     fn value(&self, column: &str, _: usize) -> Option<Value<'_>> {
///         match column {
///             "hour" => Some(self.hour.into()),
///             "late" => Some(self.is_late.into()),
///             _ => None,
///         }
///     }
/// }
///
/// let flight = Flight { hour: 6.0, is_late: true };
/// assert_eq!(flight.value("hour", 0), Some(Value::Number(6.0)));
/// ```
pub trait Row {
    /// The value of a column; nothing if the row has no such column.
    fn value(&self, column: &str, place: usize) -> Option<Value<'_>>;
}

impl Row for [f64] {
    fn value(&self, _: &str, place: usize) -> Option<Value<'_>> {
        self.get(place).copied().map(Value::Number)
    }
}

impl<const N: usize> Row for [f64; N] {
    fn value(&self, column: &str, place: usize) -> Option<Value<'_>> {
        self.as_slice().value(column, place)
    }
}

impl Row for Vec<f64> {
    fn value(&self, column: &str, place: usize) -> Option<Value<'_>> {
        self.as_slice().value(column, place)
    }
}

impl Row for BTreeMap<&str, Value<'_>> {
    fn value(&self, column: &str, _: usize) -> Option<Value<'_>> {
        self.get(column).copied()
    }
}

impl Row for HashMap<&str, Value<'_>> {
    fn value(&self, column: &str, _: usize) -> Option<Value<'_>> {
        self.get(column).copied()
    }
}

impl<const N: usize> Row for [(&str, Value<'_>); N] {
    fn value(&self, column: &str, _: usize) -> Option<Value<'_>> {
        let found = self.iter().find(|(name, _)| *name == column);
        found.map(|(_, value)| *value)
    }
}

/// Turns rows into records, by the rules of a layout.
pub(crate) struct Encoder {
    layout: Layout,
    /// The columns of a row, in its order.
    columns: Vec<String>,
    /// Where in a row each feature column of the layout and the target are.
    places: Vec<usize>,
    target: Option<usize>,
}

impl Encoder {
    /// For the columns that a schema names.
    pub(crate) fn new(schema: &SchemaSpec) -> Result<Self> {
        if schema.names.is_empty() {
            bail!(
                "rows of a program need the names of their columns, in order: `names` of the schema"
            );
        }
        if schema.person.is_some() {
            bail!("persons are told apart in files only: leave out the column of persons");
        }
        let layout = Layout::new(schema, Format::JsonLines, &schema.names)
            .map_err(hushstream_read::ReadError::from)?;
        Self::of(layout, schema.names.clone())
    }

    /// For new data of a published model, whose row need not have a target.
    pub(crate) fn with_layout(layout: &Layout, names: &[String]) -> Result<Self> {
        let names = if names.is_empty() {
            let Space::Columns(columns) = layout.space() else {
                bail!("features of this model have no columns: use a file");
            };
            let target = layout.target_column().map(str::to_owned);
            let columns = columns.iter().map(|column| column.name.clone());
            columns.chain(target).collect()
        } else {
            names.to_vec()
        };
        Self::of(layout.clone(), names)
    }

    fn of(layout: Layout, columns: Vec<String>) -> Result<Self> {
        let Space::Columns(features) = layout.space() else {
            bail!("features without columns are read from files only");
        };
        let place = |name: &str| {
            let found = columns.iter().position(|column| column == name);
            found.ok_or_else(|| anyhow!("the rows have no column {name}"))
        };
        for feature in features {
            if !matches!(
                feature.encoding,
                Encoding::Number { .. }
                    | Encoding::Loss { .. }
                    | Encoding::Reward { .. }
                    | Encoding::Indicator { .. }
                    | Encoding::Category { .. }
            ) {
                bail!(
                    "{}: hashed texts, labels and logs of arms are read from files only",
                    feature.name
                );
            }
        }
        let places = features.iter().map(|column| place(&column.name));
        let places = places.collect::<Result<Vec<_>>>()?;
        let target = layout.target_column().map(place).transpose()?;
        Ok(Self {
            layout,
            places,
            target,
            columns,
        })
    }

    pub(crate) fn layout(&self) -> &Layout {
        &self.layout
    }

    pub(crate) fn columns(&self) -> &[String] {
        &self.columns
    }

    /// A record, sealed. A value that cannot be read makes it empty, as a malformed row of a file
    /// is: what one person states must not stop a run.
    pub(crate) fn seal(&self, row: &(impl Row + ?Sized)) -> Result<Sealed> {
        let features = self.features(row)?;
        let target = match self.target {
            Some(place) => self.target_of(self.ask(row, place)?),
            None => Some((0.0, false)),
        };
        let (record, was_longer, clipped) = match (features, target) {
            (Some((features, was_longer)), Some((target, clipped))) => {
                let features = Features::Dense(features);
                (Some(Record { features, target }), was_longer, clipped)
            }
            _ => (None, false, false),
        };
        let is_malformed = record.is_none();
        // No loss takes it for a record, so the round passes with nothing added.
        let record = record.unwrap_or(Record {
            features: Features::Dense(Vec::new()),
            target: f64::NAN,
        });
        Ok(Sealed {
            person: None,
            record: Raw::seal(record),
            was_longer: OperatorOnly::new(was_longer),
            digest: None,
            is_malformed: OperatorOnly::new(is_malformed),
            target_was_clipped: OperatorOnly::new(clipped),
        })
    }

    /// Features in the open, for a published model.
    pub(crate) fn open(&self, row: &(impl Row + ?Sized)) -> Result<Features> {
        let read = self.features(row)?;
        let (features, _) = read.ok_or_else(|| anyhow!("a value of the row cannot be read"))?;
        Ok(Features::Dense(features))
    }

    fn ask<'a>(&self, row: &'a (impl Row + ?Sized), place: usize) -> Result<Value<'a>> {
        let name = &self.columns[place];
        row.value(name, place)
            .ok_or_else(|| anyhow!("the row has no value for {name}"))
    }

    /// Features with the intercept, and whether they were longer than the stated norm; nothing if a
    /// value cannot be read.
    fn features(&self, row: &(impl Row + ?Sized)) -> Result<Option<(Vec<f64>, bool)>> {
        let mut features = Vec::with_capacity(self.layout.dimension());
        let Space::Columns(columns) = self.layout.space() else {
            return Ok(None);
        };
        for (column, &place) in columns.iter().zip(&self.places) {
            let value = self.ask(row, place)?;
            if encode(&column.encoding, value, &mut features).is_none() {
                return Ok(None);
            }
        }
        let norm = self.layout.features_norm();
        let length = features
            .iter()
            .map(|value| value * value)
            .sum::<f64>()
            .sqrt();
        // Losses of experts are bounded each by itself.
        let is_longer = length > norm && self.layout.arms().is_none();
        if is_longer {
            features
                .iter_mut()
                .for_each(|value| *value *= norm / length);
        }
        features.extend(self.layout.intercept().map(|_| 1.0));
        Ok(Some((features, is_longer)))
    }

    /// The target as records carry it, and whether it was clipped; nothing if it cannot be read.
    fn target_of(&self, value: Value<'_>) -> Option<(f64, bool)> {
        let kind = self.layout.target();
        match (kind, value) {
            (TargetKind::Sign { positive: None }, Value::Number(number)) => match number {
                1.0 => Some((1.0, false)),
                0.0 | -1.0 => Some((-1.0, false)),
                _ => None,
            },
            (TargetKind::Sign { positive: None }, Value::Text(text)) => match text {
                "1" | "true" => Some((1.0, false)),
                "0" | "-1" | "false" => Some((-1.0, false)),
                _ => None,
            },
            (
                TargetKind::Sign {
                    positive: Some(positive),
                },
                Value::Text(text),
            ) => Some((if text == positive { 1.0 } else { -1.0 }, false)),
            (TargetKind::Class { classes }, Value::Text(text)) => {
                let class = classes.iter().position(|class| class == text)?;
                Some((class as f64, false))
            }
            (TargetKind::Number { low, high }, Value::Number(number)) if number.is_finite() => {
                let clipped = number.clamp(*low, *high);
                let is_outside = number < *low || number > *high;
                Some((clipped - kind.midpoint(), is_outside))
            }
            (
                TargetKind::Sign { positive: Some(_) } | TargetKind::Class { .. },
                Value::Number(number),
            ) => self.target_of(Value::Text(&number.to_string())),
            _ => None,
        }
    }
}

/// Adds the coordinates of a value; nothing if it cannot be read.
fn encode(encoding: &Encoding, value: Value<'_>, features: &mut Vec<f64>) -> Option<()> {
    let number = match value {
        Value::Number(number) if number.is_nan() => None,
        Value::Number(number) if number.is_infinite() => return None,
        Value::Number(number) => Some(number),
        Value::Text(_) | Value::Missing => None,
    };
    match (encoding, value) {
        (Encoding::Category { values }, value) => {
            let text = match value {
                Value::Text(text) => text.to_owned(),
                Value::Number(number) => number.to_string(),
                Value::Missing => String::new(),
            };
            features.extend(
                values
                    .iter()
                    .map(|known| f64::from(u8::from(*known == text))),
            );
            return Some(());
        }
        (_, Value::Text(_)) => return None,
        _ => {}
    }
    features.push(match (encoding, number) {
        (Encoding::Number { low, high }, Some(number)) => {
            (2.0 * (number.clamp(*low, *high) - low) / (high - low) - 1.0).clamp(-1.0, 1.0)
        }
        (Encoding::Loss { low, high }, Some(number)) => number.clamp(*low, *high),
        (Encoding::Reward { low, high }, Some(number)) => low + high - number.clamp(*low, *high),
        (Encoding::Indicator { .. }, Some(number)) => number.clamp(0.0, 1.0),
        (Encoding::Number { .. } | Encoding::Indicator { .. }, None) => 0.0,
        _ => return None,
    });
    Some(())
}
