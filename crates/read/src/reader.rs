//! The reader: rows of a file as sealed records, or as rows for a published model.

use crate::csv::{self, Failure};
use crate::encode::{Builder, Step, Targets};
use crate::error::{Column, Fault, ReadError};
use crate::format::Format;
use crate::input::Input;
use crate::layout::Layout;
use crate::record_end::Ends;
use crate::schema::{MissingTarget, SchemaSpec};
use crate::source::{Source, Span};
use hushstream_mechanism::losses::{Features, Record};
use hushstream_mechanism::{OperatorOnly, Raw};
use std::collections::HashMap;
use std::sync::Arc;

/// A record on its way into a mechanism, and whose it is.
pub struct Sealed {
    /// A 64-bit name of the person, where the schema tells persons apart: the first eight bytes of SHA-256 of the field. All rows without a name are
    /// one person, which limits more than it must and breaks nothing.
    pub person: Option<u64>,
    /// The record. It cannot be looked at outside the boundary.
    pub record: Raw<Record>,
}

/// A row in the open, for a *published* model on data of the user's own: what is computed from it is not private, so it must never go into a
/// model that will be published.
pub struct Row {
    /// The features, with the intercept.
    pub features: Features,
    /// The target, if the row has one.
    pub target: Option<f64>,
}

impl Default for Row {
    fn default() -> Self {
        Self {
            features: Features::Dense(Vec::new()),
            target: None,
        }
    }
}

/// Reads a file row by row; its memory does not grow with the number of rows.
///
/// ```
/// use hushstream_read::{Format, Input, Reader, Row, SchemaSpec};
///
/// let schema: SchemaSpec = "target = 'late'\nbounds = { hour = [0, 24] }".parse()?;
/// let text = "hour,late\n6,0\n24,1\n";
///
/// // Private: sealed records, for a mechanism.
/// let mut reader = Reader::open(Input::from_reader("flights", text.as_bytes())?, Format::Csv, &schema)?;
/// assert_eq!(reader.layout().dimension(), 2);
/// let mut rounds = 0;
/// while let Some(sealed) = reader.next_record()? {
///     let _ = sealed.record; // … run.learn(sealed.record)?
///     rounds += 1;
/// }
/// assert_eq!(rounds, 2);
///
/// // In the open: a published model, here with weights 1 and 0, on new data.
/// let layout = reader.layout().clone();
/// let mut reader = Reader::with_layout(Input::from_reader("new", "hour\n6\n".as_bytes())?, Format::Csv, &layout)?;
/// let mut row = Row::default();
/// assert!(reader.next_row(&mut row)?);
/// assert!(matches!(&row.features, hushstream_mechanism::losses::Features::Dense(x) if *x == [-0.5, 1.0]));
/// assert_eq!(row.target, None);
/// # Ok::<(), hushstream_read::ReadError>(())
/// ```
pub struct Reader {
    source: Source,
    rows: Rows,
    layout: Layout,
    builder: Builder,
    missing_target: MissingTarget,
    count: u64,
    nulls: u64,
}

/// How rows are parsed.
enum Rows {
    Table {
        delimiter: u8,
        steps: Vec<Step>,
        names: Vec<Arc<str>>,
    },
}

impl Reader {
    /// Opens a file by a schema.
    ///
    /// # Errors
    /// An empty file, a broken header, a schema that does not fit it.
    pub fn open(input: Input, format: Format, schema: &SchemaSpec) -> Result<Self, ReadError> {
        Self::build(
            input,
            format,
            |header| Layout::new(schema, format, header),
            schema.person.as_deref(),
            schema.missing_target.unwrap_or_default(),
        )
    }

    /// Opens new data for a published model by the model's layout. The target's column may be absent.
    ///
    /// # Errors
    /// An empty file, a broken header, a column of the layout that is not in it.
    pub fn with_layout(input: Input, format: Format, layout: &Layout) -> Result<Self, ReadError> {
        Self::build(
            input,
            format,
            |_| Ok(layout.clone()),
            None,
            MissingTarget::Error,
        )
    }

    fn build(
        input: Input,
        format: Format,
        layout: impl FnOnce(&[String]) -> Result<Layout, Fault>,
        person: Option<&str>,
        missing_target: MissingTarget,
    ) -> Result<Self, ReadError> {
        let delimiter = if format == Format::Tsv { b'\t' } else { b',' };
        let mut source = Source::new(input, Ends::Quoted { delimiter })?;
        let Some(first) = source.next()? else {
            return Err(Fault::Empty("a header and one row").in_file(source.name()));
        };
        let names = csv::header(source.bytes(&first), delimiter)
            .map_err(|failure| locate(&source, &first, &[], failure))?;
        if names
            .iter()
            .all(|name| crate::number::parse(name.as_bytes()).is_some())
        {
            return Err(source.error(&first, 0, None, Fault::NoHeader));
        }
        let in_file = |fault: Fault| fault.in_file(source.name());
        let layout = layout(&names).map_err(in_file)?;
        let steps = steps(&layout, &names, person).map_err(in_file)?;
        let names = names.into_iter().map(Arc::from).collect();
        Ok(Self {
            builder: Builder::new(&layout),
            source,
            rows: Rows::Table {
                delimiter,
                steps,
                names,
            },
            layout,
            missing_target,
            count: 0,
            nulls: 0,
        })
    }

    /// What coordinates mean.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Deals out the remaining rows in another order: a function of their number and this public seed, the same on every platform. Reads the rest of
    /// the file into memory, uncompressed, with eight bytes a row.
    ///
    /// # Errors
    /// What cannot be read.
    pub fn shuffled(mut self, seed: u64) -> Result<Self, ReadError> {
        self.source.shuffle(seed)?;
        Ok(self)
    }

    /// The next record, sealed; nothing at the end.
    ///
    /// # Errors
    /// A row that cannot be read. The reader stands behind it.
    pub fn next_record(&mut self) -> Result<Option<Sealed>, ReadError> {
        if !self.parse(Targets::Needed(self.missing_target))? {
            return Ok(None);
        }
        let record = match self.builder.target {
            Some(target) => Record {
                features: self.builder.finish(),
                target,
            },
            // No loss takes it for a record, so the round passes with nothing added.
            None => {
                self.nulls += 1;
                Record {
                    features: Features::Dense(Vec::new()),
                    target: f64::NAN,
                }
            }
        };
        Ok(Some(Sealed {
            person: self.builder.person,
            record: Raw::seal(record),
        }))
    }

    /// The next row in the open, for a published model (see [`Row`]); false at the end.
    ///
    /// # Errors
    /// A row that cannot be read.
    pub fn next_row(&mut self, row: &mut Row) -> Result<bool, ReadError> {
        if !self.parse(Targets::Welcome)? {
            return Ok(false);
        }
        row.target = self.builder.target;
        row.features = self.builder.finish();
        Ok(true)
    }

    fn parse(&mut self, targets: Targets) -> Result<bool, ReadError> {
        let Some(span) = self.source.next()? else {
            if self.count == 0 {
                return Err(Fault::HeaderOnly.in_file(self.source.name()));
            }
            return Ok(false);
        };
        self.builder.begin();
        let line = self.source.bytes(&span);
        let Rows::Table {
            delimiter,
            steps,
            names,
        } = &self.rows;
        let row = if span.quoted {
            csv::quoted_row
        } else {
            csv::plain_row
        };
        row(line, *delimiter, steps, &mut self.builder, targets)
            .map_err(|failure| locate(&self.source, &span, names, failure))?;
        self.count += 1;
        Ok(true)
    }

    /// Rows so far. Their number is public.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.count
    }

    /// Records so far that were null for want of a target.
    #[must_use]
    pub fn nulls(&self) -> OperatorOnly<u64> {
        OperatorOnly::new(self.nulls)
    }

    /// Regression targets so far that were clipped to their bounds.
    #[must_use]
    pub fn clipped_targets(&self) -> OperatorOnly<u64> {
        OperatorOnly::new(self.builder.clipped_targets)
    }
}

fn locate(source: &Source, span: &Span, names: &[Arc<str>], failure: Failure) -> ReadError {
    let column = failure.field.map(|field| Column::Field {
        number: field as u64 + 1,
        name: names.get(field).cloned(),
    });
    source.error(span, failure.at, column, failure.fault)
}

/// What to do with every column of a file.
fn steps(layout: &Layout, names: &[String], person: Option<&str>) -> Result<Vec<Step>, Fault> {
    let mut columns: HashMap<&str, Step> = layout
        .columns()
        .map(|(column, first)| (&*column.name, Step::new(&column.encoding, first)))
        .collect();
    columns.extend(layout.target_column().map(|name| (name, Step::Target)));
    columns.extend(person.map(|name| (name, Step::Person)));
    let steps = names
        .iter()
        .map(|name| columns.remove(&**name).unwrap_or(Step::Skip))
        .collect();
    columns.remove(layout.target_column().unwrap_or(""));
    match columns.keys().min() {
        Some(absent) => Err(Fault::NoSuchColumn {
            what: "the model's layout",
            name: (*absent).to_owned(),
            near: None,
        }),
        None => Ok(steps),
    }
}
