//! Rows that were never in a file: fields by name, or numbers in the order of the columns, encoded
//! by the same rules as the rows of a table.

use crate::encode::{Beside, Builder, Columns, Keyed, Scales, Step, Targets};
use crate::error::{Fault, Place, ReadError};
use crate::formats::Format;
use crate::reader::{Row, Sealed, SealedRecords};
use crate::schema::{Layout, MissingTarget, SchemaSpec, Space, nearest};
use hushstream_mechanism::losses::Records;
use hushstream_mechanism::{OperatorOnly, Raw};
use std::collections::{BTreeMap, HashMap};
use std::iter::Peekable;
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

    /// The fields without names, if they have none.
    fn nameless(&self) -> Option<Nameless<'_>> {
        None
    }
}

/// The fields of a row without names.
#[derive(Debug, Clone, Copy)]
pub enum Nameless<'a> {
    /// Numbers in the order of [`Encoder::columns`].
    Numbers(&'a [f64]),
    /// Values in the order of [`Encoder::columns`].
    Values(&'a [Value<'a>]),
    /// The target, and the coordinates that are not 0, counted from 0, in increasing order: of a
    /// row for [`Encoder::indexed`].
    Indexed(Value<'a>, &'a [(u32, f64)]),
}

impl Fields for [f64] {
    fn each(&self, _: &mut dyn FnMut(&str, Value<'_>)) {}

    fn nameless(&self) -> Option<Nameless<'_>> {
        Some(Nameless::Numbers(self))
    }
}

impl<const N: usize> Fields for [f64; N] {
    fn each(&self, _: &mut dyn FnMut(&str, Value<'_>)) {}

    fn nameless(&self) -> Option<Nameless<'_>> {
        Some(Nameless::Numbers(self))
    }
}

impl Fields for Vec<f64> {
    fn each(&self, _: &mut dyn FnMut(&str, Value<'_>)) {}

    fn nameless(&self) -> Option<Nameless<'_>> {
        Some(Nameless::Numbers(self))
    }
}

impl<F: Fields + ?Sized> Fields for &F {
    fn each(&self, give: &mut dyn FnMut(&str, Value<'_>)) {
        (**self).each(give);
    }

    fn nameless(&self) -> Option<Nameless<'_>> {
        (**self).nameless()
    }
}

impl Fields for Nameless<'_> {
    fn each(&self, _: &mut dyn FnMut(&str, Value<'_>)) {}

    fn nameless(&self) -> Option<Nameless<'_>> {
        Some(*self)
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
    /// How rows are read that are numbers and nothing else.
    scales: Option<Scales>,
    /// Memory for such records.
    records: Option<Records>,
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

    /// An encoder for rows of coordinates, most of which are 0 ([`Nameless::Indexed`]): the schema
    /// states their number ([`SchemaSpec::dimension`]) and [`SchemaSpec::norm`].
    ///
    /// # Errors
    /// A schema of columns.
    pub fn indexed(schema: &SchemaSpec) -> Result<Self, ReadError> {
        let layout = Layout::new(schema, Format::Libsvm, &[""; 0])?;
        let missing_target = schema.missing_target.unwrap_or_default();
        Self::build(layout, &[], Beside::default(), missing_target)
    }

    /// An encoder of new data for a published model, by the model's layout. The columns are
    /// `names`, or, without any, the features and then the target.
    ///
    /// # Errors
    /// A layout of hashed names, as of VW text.
    pub fn with_layout(layout: &Layout, names: &[String]) -> Result<Self, ReadError> {
        Self::of_layout(layout, names, None, MissingTarget::Error)
    }

    /// The same for records that are learned, with the column of persons if there is one.
    ///
    /// # Errors
    /// As [`Encoder::with_layout`].
    pub fn of_layout(
        layout: &Layout,
        names: &[String],
        person: Option<&str>,
        missing_target: MissingTarget,
    ) -> Result<Self, ReadError> {
        let mut names = match names {
            [] => layout.column_names(),
            names => names.to_vec(),
        };
        if let Some(person) = person.filter(|person| names.iter().all(|name| name != person)) {
            names.push(person.to_owned());
        }
        let beside = Beside { person, time: None };
        Self::build(layout.clone(), &names, beside, missing_target)
    }

    fn build(
        layout: Layout,
        names: &[String],
        beside: Beside<'_>,
        missing_target: MissingTarget,
    ) -> Result<Self, ReadError> {
        let is_indexed = matches!(layout.space(), Space::Indexed { .. });
        if names.is_empty() && !is_indexed {
            return Err(Fault::NoFeatures.into());
        }
        let keyed = Keyed::new(if is_indexed {
            Columns::none()
        } else {
            Columns::new(&layout, names, beside)?
        });
        let builder = Builder::new(&layout, beside);
        Ok(Self {
            scales: builder.scales(&keyed.columns.steps),
            records: None,
            builder,
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

    /// The records of the next rows, sealed: of `most` at most, and not of so many that they fill
    /// a processor's nearest cache; nothing if the next one is not numbers alone, all of them
    /// finite, with a target that can be read.
    pub fn records<R: Fields>(
        &mut self,
        rows: &mut Peekable<impl Iterator<Item = R>>,
        most: u64,
    ) -> Option<SealedRecords> {
        let scales = self.scales.as_ref()?;
        let most =
            usize::try_from(most).map_or(scales.together(), |most| most.min(scales.together()));
        let mut records = self.records.take().unwrap_or_else(|| scales.no_records());
        let mut were_clipped = 0;
        while records.count() < most {
            let read = rows.next_if(|row| match row.nameless() {
                Some(Nameless::Numbers(numbers)) => {
                    let added = self.builder.push(scales, numbers, &mut records);
                    added.is_some_and(|was_clipped| {
                        were_clipped += u64::from(was_clipped);
                        true
                    })
                }
                _ => false,
            });
            if read.is_none() {
                break;
            }
        }
        if records.count() == 0 {
            self.records = Some(records);
            return None;
        }
        let were_longer = scales.finish_all(&mut records);
        Some(SealedRecords {
            records: Raw::seal(records),
            were_longer: OperatorOnly::new(were_longer),
            targets_were_clipped: OperatorOnly::new(were_clipped),
        })
    }

    /// Takes back the memory of records, for those to come. The records are gone.
    pub fn reuse_all(&mut self, sealed: SealedRecords) {
        self.records = Some(sealed.records.cleared());
    }

    /// Gives the encoder memory for a record to come. What was in it is gone: it is empty.
    pub fn reuse(&mut self, spare: Vec<f64>) {
        self.builder.reuse(spare);
    }

    /// Checks a row as [`Encoder::record`] would read it, values and target included. The error has
    /// the column of the fault, and never a value.
    ///
    /// # Errors
    /// As [`Encoder::record`]; a value that cannot be read; a target that is missing.
    pub fn check(&mut self, fields: &(impl Fields + ?Sized)) -> Result<(), ReadError> {
        let targets = Targets::Needed(self.missing_target);
        let read = match fields.nameless() {
            Some(Nameless::Numbers(numbers)) => {
                self.encode_in_order(numbers, targets, Builder::number)?
            }
            Some(Nameless::Values(values)) => self.encode_in_order(values, targets, value)?,
            _ => self.encode(fields, targets)?,
        };
        read.map_err(|unread| self.placed(unread))
    }

    /// An error with the column of its field.
    fn placed(&self, (field, fault): Unread) -> ReadError {
        let column = field.map(|field| self.keyed.columns.column(field));
        let place = Place {
            column,
            ..Place::default()
        };
        ReadError {
            place: Box::new(place),
            fault,
        }
    }

    /// A row in the open, for a published model (see [`Row`]); it need not give the target.
    ///
    /// # Errors
    /// As [`Encoder::record`]; a value that cannot be read, with its column.
    pub fn row(&mut self, fields: &(impl Fields + ?Sized), row: &mut Row) -> Result<(), ReadError> {
        let read = self.encode(fields, Targets::Welcome)?;
        read.map_err(|unread| self.placed(unread))?;
        row.target = self.builder.target;
        row.features = self.builder.finish();
        Ok(())
    }

    /// Reads fields in the order of the columns; a target that is welcome may be left out. The
    /// inner error has the place of its field.
    fn encode_in_order<T: Copy>(
        &mut self,
        fields: &[T],
        targets: Targets,
        read: impl Fn(&mut Builder, &Step, T, Targets) -> Result<(), Fault>,
    ) -> Result<Result<(), Unread>, Fault> {
        let builder = &mut self.builder;
        builder.begin();
        let steps = &self.keyed.columns.steps;
        let targets_given = fields.len() == steps.len() || targets != Targets::Welcome;
        let given = |(_, step): &(usize, &Step)| targets_given || !matches!(step, Step::Target);
        let steps = steps.iter().enumerate().filter(given);
        let (expected, found) = (steps.clone().count(), fields.len());
        if found < expected {
            return Err(Fault::ShortRow { expected, found });
        }
        if found > expected {
            return Err(Fault::LongRow { expected });
        }
        for ((field, step), given) in steps.zip(fields) {
            if let Err(fault) = read(builder, step, *given, targets) {
                return Ok(Err((Some(field), fault)));
            }
        }
        Ok(Ok(()))
    }

    /// Reads coordinates that are not 0.
    fn encode_indexed(
        &mut self,
        target: Value<'_>,
        entries: &[(u32, f64)],
        targets: Targets,
    ) -> Result<Result<(), Fault>, Fault> {
        let &Space::Indexed { dimension, base } = self.layout.space() else {
            return Err(Fault::NotIndexed);
        };
        let builder = &mut self.builder;
        builder.begin();
        let mut read = value(builder, &Step::Target, target, targets);
        let (first, mut least) = (u64::from(base), 0);
        for &(index, number) in entries {
            if index >= dimension {
                let last = first + u64::from(dimension) - 1;
                return Err(Fault::IndexRange { first, last });
            }
            if index < least {
                return Err(Fault::IndexOrder);
            }
            least = index + 1;
            if number.is_finite() {
                builder.put(index, number);
            } else {
                read = read.and(Err(Fault::NotFinite));
            }
        }
        Ok(read)
    }

    /// Reads fields. Names that are wrong are the outer error, values that cannot be read the inner
    /// one, with the place of their field.
    fn encode(
        &mut self,
        fields: &(impl Fields + ?Sized),
        targets: Targets,
    ) -> Result<Result<(), Unread>, Fault> {
        let unplaced = |read: Result<(), Fault>| read.map_err(|fault| (None, fault));
        match fields.nameless() {
            None => {}
            Some(Nameless::Numbers(numbers)) => {
                if let Some(scales) = &self.scales
                    && let Some(read) = self.builder.scaled(scales, numbers, targets)
                {
                    return Ok(unplaced(read));
                }
                return self.encode_in_order(numbers, targets, Builder::number);
            }
            Some(Nameless::Values(values)) => {
                return self.encode_in_order(values, targets, value);
            }
            Some(Nameless::Indexed(target, entries)) => {
                return self.encode_indexed(target, entries, targets).map(unplaced);
            }
        }
        let (keyed, builder) = (&mut self.keyed, &mut self.builder);
        keyed.begin();
        builder.begin();
        let (mut names, mut values) = (Ok(()), Ok(()));
        fields.each(&mut |name, given| {
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
                values = value(builder, step, given, targets).map_err(|fault| (Some(field), fault));
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

/// The place of a field that cannot be read, where it has one among the columns, and why.
type Unread = (Option<usize>, Fault);

/// Reads one value.
fn value(
    builder: &mut Builder,
    step: &Step,
    value: Value<'_>,
    targets: Targets,
) -> Result<(), Fault> {
    match value {
        Value::Number(number) => builder.number(step, number, targets),
        Value::Text(text) if text.contains('\0') => Err(Fault::Nul),
        Value::Text(text) => builder.field(step, text.as_bytes(), targets),
        Value::Missing => builder.missing(step, targets),
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

    #[test]
    fn rows_without_names_give_the_same_features_as_rows_with_names() {
        let schema: SchemaSpec = SCHEMA.parse().unwrap();
        let mut encoder = Encoder::new(&schema).unwrap().coded().unwrap();
        let names: Vec<String> = encoder.columns().iter().map(|n| n.to_string()).collect();
        let values = [
            Value::Number(75.0),
            Value::Text("cook"),
            Value::Number(0.0),
            Value::Number(1.0),
            Value::Text("2013-03-01"),
            Value::Missing,
            Value::Number(1.0),
        ];
        let named: Vec<(&str, Value<'_>)> = names.iter().map(String::as_str).zip(values).collect();
        let by_name = row(&mut encoder, &named);
        let mut read = Row::default();
        encoder.row(&Nameless::Values(&values), &mut read).unwrap();
        let Features::Dense(in_order) = &read.features else {
            panic!("dense")
        };
        let bits = |values: &[f64]| values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(in_order), bits(&by_name));
        assert_eq!(read.target, Some(1.0));
        // The target may be left out of new data, and never of a record.
        encoder
            .row(&Nameless::Values(&values[..6]), &mut read)
            .unwrap();
        assert!(encoder.check(&Nameless::Values(&values[..6])).is_err());
        encoder.check(&Nameless::Values(&values)).unwrap();
        let mut wrong = values;
        wrong[0] = Value::Text("seventy-five");
        let told = encoder
            .check(&Nameless::Values(&wrong))
            .unwrap_err()
            .to_string();
        assert!(
            told.starts_with("column 1 (`age`)") && !told.contains("seventy"),
            "{told}"
        );
        wrong = values;
        wrong[6] = Value::Missing;
        assert!(encoder.check(&Nameless::Values(&wrong)).is_err());
    }

    /// The features that a libsvm file of the same pairs has.
    #[test]
    fn rows_of_coordinates_are_checked_and_clipped() {
        let schema: SchemaSpec = "dimension = 5\nnorm = 1".parse().unwrap();
        let mut encoder = Encoder::indexed(&schema).unwrap();
        let mut read = Row::default();
        let entries = [(0, 3.0), (4, 4.0)];
        encoder
            .row(&Nameless::Indexed(Value::Number(1.0), &entries), &mut read)
            .unwrap();
        let score = read.features.dot(&[1.0, 0.0, 0.0, 0.0, 1.0, 10.0]);
        assert!((score - (0.6 + 0.8 + 10.0)).abs() < 1e-12);
        for wrong in [
            [(0, 1.0), (5, 1.0)],
            [(1, 1.0), (1, 1.0)],
            [(0, f64::INFINITY), (1, 1.0)],
        ] {
            assert!(
                encoder
                    .check(&Nameless::Indexed(Value::Number(1.0), &wrong))
                    .is_err()
            );
        }
        let mut columns = Encoder::new(&SCHEMA.parse().unwrap()).unwrap();
        assert!(
            columns
                .check(&Nameless::Indexed(Value::Number(1.0), &[]))
                .is_err()
        );
    }

    /// Rows of numbers are scaled at once: the same bits as number by number.
    #[test]
    fn rows_of_numbers_give_the_same_bits_as_their_values() {
        let schemas = [
            "target = 'y'\nnames = ['a', 'b', 'y']\nbounds = { a = [-1, 1], b = [0, 3e-5] }",
            "target = 'y'\nnames = ['a', 'b', 'y']\nbounds = { '*' = [-1, 7] }\nnorm = 0.7",
            "target = 'y'\nnames = ['y', 'a', 'b']\nbounds = { '*' = [-1, 7] }",
            "target = 'y'\nnames = ['a', 'b', 'y']\nbounds = { '*' = [-1, 7] }\nmissing = ['0.5']",
        ];
        let numbers = [
            0.0,
            -0.0,
            1.0,
            0.5,
            -3.0,
            1e300,
            f64::MIN_POSITIVE,
            f64::NAN,
            f64::INFINITY,
        ];
        for (schema, coded) in schemas.iter().flat_map(|s| [(s, false), (s, true)]) {
            let mut encoder = Encoder::new(&schema.parse().unwrap()).unwrap();
            if coded && schema.contains("norm") {
                continue;
            }
            if coded {
                encoder = encoder.coded().unwrap();
            }
            for a in numbers {
                for b in numbers {
                    let values = [a, b, 1.0].map(Value::Number);
                    let (mut fast, mut slow) = (Row::default(), Row::default());
                    let read = encoder.row(&[a, b, 1.0], &mut fast).map_err(|e| e.fault);
                    let other = encoder.row(&Nameless::Values(&values), &mut slow);
                    assert_eq!(read, other.map_err(|e| e.fault));
                    assert_eq!(fast.target, slow.target);
                    if let (Features::Dense(fast), Features::Dense(slow)) =
                        (&fast.features, &slow.features)
                    {
                        let bits =
                            |values: &[f64]| values.iter().map(|v| v.to_bits()).collect::<Vec<_>>();
                        assert_eq!(bits(fast), bits(slow), "{schema} {a} {b}");
                    }
                }
            }
        }
    }

    /// Of any width: rows end within lines and between them.
    #[test]
    fn wide_rows_of_numbers_give_the_same_bits_as_their_values() {
        for width in 1..=26 {
            for norm in ["", "norm = 0.7"] {
                let names: Vec<String> = (0..width).map(|i| format!("'x{i}'")).collect();
                let schema = format!(
                    "target = 'y'\nnames = [{}, 'y']\nbounds = {{ '*' = [-1, 7], x0 = [0, 3] }}\n{norm}",
                    names.join(", ")
                );
                let mut encoder = Encoder::new(&schema.parse().unwrap()).unwrap();
                for row in 0..20 {
                    let mut numbers: Vec<f64> = (0..=width)
                        .map(|i| f64::from((row * 31 + i * 17) % 97) / 12.0 - 1.5)
                        .collect();
                    numbers[width as usize] = 1.0;
                    let values: Vec<Value<'_>> = numbers.iter().copied().map(Value::from).collect();
                    let (mut fast, mut slow) = (Row::default(), Row::default());
                    encoder.row(&numbers, &mut fast).unwrap();
                    encoder.row(&Nameless::Values(&values), &mut slow).unwrap();
                    let bits = |row: &Row| match &row.features {
                        Features::Dense(values) => {
                            values.iter().map(|v| v.to_bits()).collect::<Vec<_>>()
                        }
                        Features::Sparse(_) => panic!("dense rows"),
                    };
                    assert_eq!(bits(&fast), bits(&slow), "{schema}");
                    for strange in [f64::NAN, f64::INFINITY] {
                        let mut broken = numbers.clone();
                        broken[(row % width) as usize] = strange;
                        let sealed = encoder.records(&mut [broken].iter().peekable(), 9);
                        assert!(sealed.is_none(), "{schema}");
                    }
                }
            }
        }
    }

    /// Targets that are numbers, against the same numbers as texts.
    #[test]
    fn a_target_is_the_same_as_number_and_as_text() {
        let schemas = [
            "target = 'y'\nnames = ['x', 'y']\nbounds = { x = [0, 1] }",
            "target = 'y'\nnames = ['x', 'y']\nbounds = { x = [0, 1] }\npositive = '2'",
            "target = 'y'\nnames = ['x', 'y']\nbounds = { x = [0, 1] }\ntask = 'multiclass'
                classes = ['0', '2', 'many']",
            "target = 'y'\nnames = ['x', 'y']\nbounds = { x = [0, 1] }\ntask = 'regress'
                target_bounds = [-1, 1.5]",
            "target = 'y'\nnames = ['x', 'y']\nbounds = { x = [0, 1] }\ntask = 'regress'
                target_bounds = [-1, 1.5]\nmissing = ['-1']",
        ];
        for schema in schemas {
            let mut encoder = Encoder::new(&schema.parse().unwrap()).unwrap();
            for number in [
                0.0,
                -0.0,
                1.0,
                -1.0,
                2.0,
                0.5,
                f64::NAN,
                f64::INFINITY,
                1e300,
            ] {
                let text = number.to_string();
                let mut read = |value| {
                    let mut row = Row::default();
                    let values = [Value::Number(0.0), value];
                    let told = encoder
                        .check(&Nameless::Values(&values))
                        .map_err(|e| e.fault);
                    encoder.row(&Nameless::Values(&values), &mut row).ok();
                    (told, row.target.map(f64::to_bits))
                };
                let (as_number, as_text) = (read(Value::Number(number)), read(Value::Text(&text)));
                assert_eq!(as_number, as_text, "{number} {schema}");
            }
        }
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
