//! Rows that were never in a file: fields by name, or numbers in the order of the columns, encoded
//! by the same rules as the rows of a table.

use crate::encode::{Beside, Builder, Columns, Keyed, Step, Targets};
use crate::error::{Fault, ReadError};
use crate::formats::Format;
use crate::reader::{Row, Sealed};
use crate::schema::{Layout, MissingTarget, SchemaSpec, nearest};
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// The value of one field. It is read as the field of a table with the same text would be.
///
/// ```
/// use hushstream_read::Value;
///
/// assert_eq!(Value::from(31.0), Value::Number(31.0));
/// assert_eq!(Value::from(true), Value::Text("true"));
/// assert_eq!(Value::from(None::<&str>), Value::Missing);
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value<'a> {
    /// A number; NaN is a missing value. Whole numbers beyond 2⁵³ are exact as texts only.
    Number(f64),
    /// A text, without the white space around it.
    Text(&'a str),
    /// No value.
    Missing,
}

impl From<f64> for Value<'_> {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(text)
    }
}

impl From<bool> for Value<'_> {
    fn from(truth: bool) -> Self {
        Self::Text(if truth { "true" } else { "false" })
    }
}

impl<'a, T: Into<Value<'a>>> From<Option<T>> for Value<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Missing, Into::into)
    }
}

/// A row: fields with names (a list of pairs, a map, a struct of yours), or numbers in the order of
/// the columns.
///
/// ```
/// use hushstream_read::{Encoder, Fields, SchemaSpec, Value};
///
/// struct Flight {
///     hour: f64,
///     is_late: bool,
/// }
///
/// impl Fields for Flight {
///     fn each(&self, give: &mut dyn FnMut(&str, Value<'_>)) {
///         give("hour", self.hour.into());
///         give("late", self.is_late.into());
///     }
/// }
///
/// let schema: SchemaSpec = "target = 'late'\nbounds = { hour = [0, 24] }".parse()?;
/// let mut encoder = Encoder::new(&schema)?;
/// let sealed = encoder.record(&Flight { hour: 6.0, is_late: true })?;
/// # let _ = sealed.record;
/// # Ok::<(), hushstream_read::ReadError>(())
/// ```
pub trait Fields {
    /// Gives every field, in any order.
    fn each(&self, give: &mut dyn FnMut(&str, Value<'_>));

    /// The fields as numbers in the order of [`Encoder::columns`], if they have no names.
    fn numbers(&self) -> Option<&[f64]> {
        None
    }
}

impl Fields for [f64] {
    fn each(&self, _: &mut dyn FnMut(&str, Value<'_>)) {}

    fn numbers(&self) -> Option<&[f64]> {
        Some(self)
    }
}

impl<const N: usize> Fields for [f64; N] {
    fn each(&self, _: &mut dyn FnMut(&str, Value<'_>)) {}

    fn numbers(&self) -> Option<&[f64]> {
        Some(self)
    }
}

impl Fields for Vec<f64> {
    fn each(&self, _: &mut dyn FnMut(&str, Value<'_>)) {}

    fn numbers(&self) -> Option<&[f64]> {
        Some(self)
    }
}

impl<K: AsRef<str>> Fields for [(K, Value<'_>)] {
    fn each(&self, give: &mut dyn FnMut(&str, Value<'_>)) {
        self.iter()
            .for_each(|(name, value)| give(name.as_ref(), *value));
    }
}

impl<K: AsRef<str>, const N: usize> Fields for [(K, Value<'_>); N] {
    fn each(&self, give: &mut dyn FnMut(&str, Value<'_>)) {
        self.as_slice().each(give);
    }
}

impl<K: AsRef<str>> Fields for BTreeMap<K, Value<'_>> {
    fn each(&self, give: &mut dyn FnMut(&str, Value<'_>)) {
        self.iter()
            .for_each(|(name, value)| give(name.as_ref(), *value));
    }
}

impl<K: AsRef<str>, S> Fields for HashMap<K, Value<'_>, S> {
    fn each(&self, give: &mut dyn FnMut(&str, Value<'_>)) {
        self.iter()
            .for_each(|(name, value)| give(name.as_ref(), *value));
    }
}

/// Encodes rows that were never in a file.
///
/// Fields are trimmed, clipped, scaled and recognised as missing by the rules for tables. A row
/// must give every column that the schema uses, [`Value::Missing`] if it has no value, and no
/// column that the schema does not name: names are the program's, so a wrong one is an error. A
/// value that cannot be read is one person's: its record is empty, as that of a malformed row is.
///
/// ```
/// use hushstream_read::{Encoder, Row, SchemaSpec, Value};
///
/// let schema: SchemaSpec = "target = 'paid'\nbounds = { age = [0, 100] }
///     vocabulary = { job = ['clerk', 'cook'] }".parse()?;
/// let mut encoder = Encoder::new(&schema)?;
/// assert_eq!(encoder.layout().dimension(), 4);
/// let fields = [
///     ("age", Value::Number(75.0)),
///     ("job", Value::Text("clerk")),
///     ("paid", Value::Number(1.0)),
/// ];
///
/// // Private: a sealed record, for a mechanism.
/// let sealed = encoder.record(&fields)?;
/// # let _ = sealed.record;
///
/// // In the open: for a published model, here with one weight for the age.
/// let mut row = Row::default();
/// encoder.row(&fields, &mut row)?;
/// assert_eq!(row.features.dot(&[1.0, 0.0, 0.0, 0.0]), 0.5);
///
/// let mistaken = encoder.record(&[("agee", Value::Missing)]).err().expect("no such column");
/// assert!(mistaken.to_string().ends_with("is it `age`?"));
/// # Ok::<(), hushstream_read::ReadError>(())
/// ```
pub struct Encoder {
    layout: Layout,
    keyed: Keyed,
    builder: Builder,
    missing_target: MissingTarget,
    person: Option<String>,
    time: Option<String>,
}

impl Encoder {
    /// An encoder for the columns that the schema states by [`SchemaSpec::names`], or else names
    /// anywhere.
    ///
    /// # Errors
    /// A schema that does not fit these columns.
    pub fn new(schema: &SchemaSpec) -> Result<Self, ReadError> {
        let names = match &schema.names[..] {
            [] => schema.columns(),
            names => names.to_vec(),
        };
        let layout = Layout::new(schema, Format::JsonLines, &names)?;
        let missing_target = schema.missing_target.unwrap_or_default();
        Self::build(layout, &names, Beside::of(schema), missing_target)
    }

    /// An encoder of new data for a published model, by the model's layout. The columns are
    /// `names`, or, without any, the features and then the target.
    ///
    /// # Errors
    /// A layout without names of columns, as of VW text and libsvm.
    pub fn with_layout(layout: &Layout, names: &[String]) -> Result<Self, ReadError> {
        let names = match names {
            [] => layout.column_names(),
            names => names.to_vec(),
        };
        Self::build(
            layout.clone(),
            &names,
            Beside::default(),
            MissingTarget::Error,
        )
    }

    fn build(
        layout: Layout,
        names: &[String],
        beside: Beside<'_>,
        missing_target: MissingTarget,
    ) -> Result<Self, ReadError> {
        if names.is_empty() {
            return Err(Fault::NoFeatures.into());
        }
        let keyed = Keyed::new(Columns::new(&layout, names, beside)?);
        Ok(Self {
            builder: Builder::new(&layout, beside),
            missing_target,
            person: beside.person.map(str::to_owned),
            time: beside.time.map(str::to_owned),
            keyed,
            layout,
        })
    }

    /// The same encoder for coded records ([`Layout::coded`]).
    ///
    /// # Errors
    /// A layout that has none.
    pub fn coded(self) -> Result<Self, ReadError> {
        let layout = self.layout.coded().ok_or(Fault::NoCodes)?;
        let names: Vec<String> = self.columns().iter().map(|name| name.to_string()).collect();
        let beside = Beside {
            person: self.person.as_deref(),
            time: self.time.as_deref(),
        };
        Self::build(layout, &names, beside, self.missing_target)
    }

    /// What coordinates mean.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The columns, in the order of a row of numbers.
    #[must_use]
    pub fn columns(&self) -> &[Arc<str>] {
        &self.keyed.columns.names
    }

    /// A record, sealed. A row with a value that cannot be read gives an empty one.
    ///
    /// # Errors
    /// A column that there is not, that is given twice, or that is not given; another number of
    /// numbers than there are columns.
    pub fn record(&mut self, fields: &(impl Fields + ?Sized)) -> Result<Sealed, ReadError> {
        let read = self.encode(fields, Targets::Needed(self.missing_target))?;
        Ok(self.builder.seal(read.is_err(), None))
    }

    /// A row in the open, for a published model (see [`Row`]); it need not give the target.
    ///
    /// # Errors
    /// As [`Encoder::record`]; a value that cannot be read.
    pub fn row(&mut self, fields: &(impl Fields + ?Sized), row: &mut Row) -> Result<(), ReadError> {
        self.encode(fields, Targets::Welcome)??;
        row.target = self.builder.target;
        row.features = self.builder.finish();
        Ok(())
    }

    /// Reads numbers in the order of the columns; a target that is welcome may be left out.
    fn encode_numbers(
        &mut self,
        numbers: &[f64],
        targets: Targets,
    ) -> Result<Result<(), Fault>, Fault> {
        let builder = &mut self.builder;
        builder.begin();
        let steps = &self.keyed.columns.steps;
        let targets_given = numbers.len() == steps.len() || targets != Targets::Welcome;
        let given = |step: &&Step| targets_given || !matches!(step, Step::Target);
        let (expected, found) = (steps.iter().filter(given).count(), numbers.len());
        if found < expected {
            return Err(Fault::ShortRow { expected, found });
        }
        if found > expected {
            return Err(Fault::LongRow { expected });
        }
        let mut pairs = steps.iter().filter(given).zip(numbers);
        Ok(pairs.try_for_each(|(step, number)| builder.number(step, *number, targets)))
    }

    /// Reads fields. Names that are wrong are the outer error, values that cannot be read the inner
    /// one.
    fn encode(
        &mut self,
        fields: &(impl Fields + ?Sized),
        targets: Targets,
    ) -> Result<Result<(), Fault>, Fault> {
        if let Some(numbers) = fields.numbers() {
            return self.encode_numbers(numbers, targets);
        }
        let (keyed, builder) = (&mut self.keyed, &mut self.builder);
        keyed.begin();
        builder.begin();
        let (mut names, mut values) = (Ok(()), Ok(()));
        fields.each(&mut |name, value| {
            if names.is_err() {
                return;
            }
            let Some(field) = keyed.find(name) else {
                let known = keyed.columns.names.iter().map(|known| &**known);
                names = Err(Fault::NoSuchColumn {
                    what: "the row",
                    name: name.to_owned(),
                    near: nearest(name, known),
                });
                return;
            };
            if !keyed.is_first(field) {
                names = Err(Fault::DuplicateKey);
            } else if values.is_ok() {
                let step = &keyed.columns.steps[field];
                values = match value {
                    Value::Number(number) => builder.number(step, number, targets),
                    Value::Text(text) if text.contains('\0') => Err(Fault::Nul),
                    Value::Text(text) => builder.field(step, text.as_bytes(), targets),
                    Value::Missing => builder.missing(step, targets),
                };
            }
        });
        names?;
        let is_needed = |&field: &usize| match keyed.columns.steps[field] {
            Step::Skip => false,
            Step::Target => targets != Targets::Welcome,
            _ => true,
        };
        match keyed.absent().find(is_needed) {
            Some(field) => Err(Fault::NotGiven(keyed.columns.names[field].to_string())),
            None => Ok(values),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hushstream_mechanism::losses::Features;

    const SCHEMA: &str = "target = 'y'\none_hot = ['soil_*']\ndates = ['when']
        bounds = { age = [0, 100] }\nvocabulary = { job = ['clerk', 'cook'] }
        hashed = { tail = 4 }\nnames = ['age', 'job', 'soil_a', 'soil_b', 'when', 'tail', 'y']";

    fn row(encoder: &mut Encoder, fields: &[(&str, Value<'_>)]) -> Vec<f64> {
        let mut row = Row::default();
        encoder.row(fields, &mut row).unwrap();
        match row.features {
            Features::Dense(values) => values,
            Features::Sparse(_) => panic!("dense"),
        }
    }

    /// One number per axis: a group of indicators is one, a date is three.
    #[test]
    fn coded_rows_have_one_number_per_axis() {
        let schema: SchemaSpec = SCHEMA.parse().unwrap();
        let mut encoder = Encoder::new(&schema).unwrap().coded().unwrap();
        let names: Vec<String> = encoder
            .layout()
            .axes()
            .into_iter()
            .map(|axis| axis.name)
            .collect();
        let expected = [
            "age",
            "job",
            "soil",
            "when month",
            "when weekday",
            "when hour",
            "tail",
        ];
        assert_eq!(names, expected);
        let fields = [
            ("age", Value::Number(75.0)),
            ("job", Value::Text("cook")),
            ("soil_a", Value::Number(0.0)),
            ("soil_b", Value::Number(1.0)),
            ("when", Value::Text("2013-03-01 17:30")),
            ("tail", Value::Text("N1")),
        ];
        let full = row(&mut encoder, &fields);
        assert_eq!(full[..6], [0.5, 1.0, 1.0, 2.0, 4.0, 17.0]);
        assert!((0.0..16.0).contains(&full[6]) && full.len() == 7);
        // Missing, unknown and unset values are no numbers.
        let nothing = fields.map(|(name, _)| (name, Value::Missing));
        assert!(row(&mut encoder, &nothing).iter().all(|code| code.is_nan()));
        let mut other = fields;
        other[1].1 = Value::Text("king");
        other[3].1 = Value::Number(0.0);
        other[4].1 = Value::Text("2013-03-01");
        let other = row(&mut encoder, &other);
        assert!(other[1].is_nan() && other[2].is_nan() && other[5].is_nan());
        assert!((other[3] - 2.0).abs() < 1e-12);
    }

    /// The same columns for a linear model: indicators.
    #[test]
    fn dates_are_indicators_of_month_weekday_and_hour() {
        let schema: SchemaSpec = "target = 'y'\ndates = ['when']".parse().unwrap();
        let mut encoder = Encoder::new(&schema).unwrap();
        let layout = encoder.layout().clone();
        assert_eq!(layout.dimension(), 12 + 7 + 24 + 1);
        let set = row(&mut encoder, &[("when", Value::Text("2013-03-01T17:30"))]);
        let names: Vec<String> = (0..layout.dimension())
            .filter(|&i| set[i] > 0.0)
            .map(|i| layout.feature_name(i))
            .collect();
        assert_eq!(
            names,
            [
                "when month=3",
                "when weekday=Fri",
                "when hour=17",
                "(intercept)"
            ]
        );
        let wrong = [("when", Value::Text("yesterday"))];
        let refused = encoder
            .row(&wrong[..], &mut Row::default())
            .unwrap_err()
            .to_string();
        assert!(
            refused.contains("2013-01-31") && !refused.contains("yesterday"),
            "{refused}"
        );
    }
}
