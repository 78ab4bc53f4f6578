//! The reader: rows of a file as sealed records, or as rows for a published model.

use crate::check::{Findings, Watch};
use crate::csv::Table;
use crate::encode::{Builder, Targets};
use crate::encoding::Space;
use crate::error::{Fault, ReadError};
use crate::form::Form;
use crate::format::Format;
use crate::hash;
use crate::header;
use crate::input::Input;
use crate::json_lines::{self, Objects};
use crate::layout::Layout;
use crate::libsvm::Pairs;
use crate::rows::{Failure, Rows, shared, steps};
use crate::schema::{MissingTarget, SchemaSpec};
use crate::source::{Source, Span};
use crate::vw::Examples;
use hushstream_mechanism::losses::{Features, Record};
use hushstream_mechanism::{OperatorOnly, Raw, RowDigest, RowHasher};

/// A record on its way into a mechanism, and whose it is.
pub struct Sealed {
    /// A 64-bit name of the person, where the schema tells persons apart: the first eight bytes of SHA-256 of the field. All rows without a name are
    /// one person, which limits more than it must and breaks nothing.
    pub person: Option<u64>,
    /// The record. It cannot be looked at outside the boundary.
    pub record: Raw<Record>,
    /// Whether it was longer than the stated norm, and is scaled down to it.
    pub was_longer: OperatorOnly<bool>,
    /// The digest of the row as it stands in the file, if [`Reader::digested`] asked for it.
    pub digest: Option<RowDigest>,
    /// Whether the row is malformed, so that its record is empty.
    pub is_malformed: OperatorOnly<bool>,
    /// Whether the target lay outside its bounds, and is clipped to them.
    pub target_was_clipped: OperatorOnly<bool>,
}

/// A row in the open, for a *published* model on data of the user's own: what is computed from it is not private, so it must never go into a
/// model that will be published.
pub struct Row {
    /// The features, with the intercept.
    pub features: Features,
    /// The target, if the row has one.
    pub target: Option<f64>,
}

/// A row that was parsed: where it is, or what is wrong with it.
pub(crate) type Parsed = Result<Span, Flaw>;

/// Something wrong with a row.
pub(crate) struct Flaw {
    span: Span,
    pub(crate) failure: Failure,
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
/// Every line is one row, a blank one too, and the content of a row moves no other: sealed records
/// of malformed rows are empty. [`Reader::check`] finds them beforehand.
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
    pub(crate) source: Source,
    pub(crate) rows: Rows,
    pub(crate) layout: Layout,
    pub(crate) builder: Builder,
    pub(crate) missing_target: MissingTarget,
    has_index: bool,
    persons: bool,
    count: u64,
    nulls: u64,
    malformed: u64,
    clipped_targets: u64,
    /// What records show about the schema, where that is asked for.
    watch: Option<Watch>,
    /// Length of the last row.
    bytes: usize,
    hasher: Option<RowHasher>,
    /// The digest of the last row.
    digest: Option<RowDigest>,
}

impl Reader {
    /// Opens a file by a schema.
    ///
    /// # Errors
    /// An empty file, a broken header, a schema that does not fit it.
    pub fn open(input: Input, format: Format, schema: &SchemaSpec) -> Result<Self, ReadError> {
        let form = schema.form(format)?;
        let mut source = form.open(input)?;
        let header = header::read(&mut source, &form, || json_lines::columns(schema))?;
        let layout = Layout::new(schema, format, &header).map_err(|fault| {
            header::doubted(fault, &form, &header, schema.named()).in_file(source.name())
        })?;
        let missing_target = schema.missing_target.unwrap_or_default();
        Self::build(
            source,
            &form,
            &header,
            layout,
            schema.person.as_deref(),
            missing_target,
        )
    }

    /// Opens new data for a published model by the model's layout. The target's column may be
    /// absent. A [`Format`] is a form of its own; another form says how this file differs.
    ///
    /// # Errors
    /// An empty file, a broken header, a column of the layout that is not in it.
    pub fn with_layout(
        input: Input,
        form: impl Into<Form>,
        layout: &Layout,
    ) -> Result<Self, ReadError> {
        let form = form.into();
        let mut source = form.open(input)?;
        let columns = layout
            .columns()
            .map(|(column, _)| &*column.name)
            .chain(layout.target_column());
        let header = header::read(&mut source, &form, || columns.map(str::to_owned).collect())?;
        Self::build(
            source,
            &form,
            &header,
            layout.clone(),
            None,
            MissingTarget::Error,
        )
    }

    fn build(
        source: Source,
        form: &Form,
        header: &[String],
        layout: Layout,
        person: Option<&str>,
        missing_target: MissingTarget,
    ) -> Result<Self, ReadError> {
        let in_file = |fault: Fault| {
            let columns = layout.columns().map(|(column, _)| &*column.name);
            header::doubted(fault, form, header, columns).in_file(source.name())
        };
        let has_index = header.first().is_some_and(String::is_empty);
        let rows = match (layout.space(), form.format) {
            (Space::Columns(_), Format::JsonLines) => Rows::Objects(Objects::new(
                steps(&layout, header, person).map_err(in_file)?,
                shared(header),
            )),
            (Space::Columns(_), Format::Csv | Format::Tsv) => {
                let steps = steps(&layout, header, person).map_err(in_file)?;
                Rows::Table(Table::new(form.separator, steps, shared(header)))
            }
            (Space::Hashed { bits }, Format::Vw) => Rows::Examples(Examples {
                mask: (1 << bits) - 1,
                persons: person.is_some(),
            }),
            (&Space::Indexed { dimension, base }, Format::Libsvm) => {
                Rows::Pairs(Pairs { dimension, base })
            }
            _ => {
                return Err(in_file(Fault::DoesNotFit {
                    what: "the format",
                    why: "the model was learned from another kind: columns, VW text or libsvm",
                }));
            }
        };
        Ok(Self {
            builder: Builder::new(&layout),
            source,
            rows,
            layout,
            missing_target,
            has_index,
            persons: person.is_some(),
            count: 0,
            nulls: 0,
            malformed: 0,
            clipped_targets: 0,
            watch: None,
            bytes: 0,
            hasher: None,
            digest: None,
        })
    }

    /// What coordinates mean.
    #[must_use]
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// Whether the first column has no name, as an index that was written with a table: it is not
    /// read.
    #[must_use]
    pub fn has_nameless_index(&self) -> bool {
        self.has_index
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

    /// From now on records come with the digests of their rows, for a run that can be resumed.
    pub fn digested(&mut self, hasher: RowHasher) {
        self.hasher = Some(hasher);
    }

    /// From now on [`Reader::next_record`] notices what [`Reader::check`] would: for a stream, which
    /// cannot be checked before. It costs next to nothing once every column of numbers has shown a
    /// value within its bounds.
    pub fn watched(&mut self) {
        self.watch = Some(Watch::new(&self.layout, &self.rows));
    }

    /// What the records since [`Reader::watched`] show.
    #[must_use]
    pub fn findings(&self) -> Option<OperatorOnly<Findings>> {
        let watch = self.watch.as_ref()?;
        Some(OperatorOnly::new(watch.findings(&self.layout, &self.rows)))
    }

    /// Passes over the next row, without parsing it, and gives its digest; nothing at the end.
    ///
    /// # Errors
    /// Input that cannot be read.
    pub fn pass_over(&mut self, hasher: &RowHasher) -> Result<Option<RowDigest>, ReadError> {
        let Some(span) = self.source.next()? else {
            return Ok(None);
        };
        self.count += 1;
        Ok(Some(hasher.digest(self.source.bytes(&span))))
    }

    /// How many rows remain, where they have been read already: after [`Reader::shuffled`].
    #[must_use]
    pub fn remaining(&self) -> Option<u64> {
        self.source.remaining()
    }

    /// Whether the next record has been read in already, so that [`Reader::next_record`] does not wait for a slow stream.
    #[must_use]
    pub fn holds_record(&self) -> bool {
        self.source.holds_record()
    }

    /// The next record, sealed; nothing at the end. A malformed row gives an empty record, which
    /// no loss learns from: the round passes with nothing added.
    ///
    /// # Errors
    /// Input that cannot be read; no row at all. The content of a row is never an error, except for
    /// quotes out of order where they hide line breaks ([`Input::multiline`]).
    pub fn next_record(&mut self) -> Result<Option<Sealed>, ReadError> {
        let Some(parsed) = self.parse(Targets::Needed(self.missing_target))? else {
            return Ok(None);
        };
        if let Some(watch) = &mut self.watch {
            watch.note(&parsed, &self.builder, &self.rows, &self.source);
        }
        let is_malformed = parsed.is_err();
        if is_malformed {
            self.malformed += 1;
            self.builder.target = None;
            // An empty record belongs to nobody: it must not use up what a person may contribute.
            self.builder.person = self.persons.then(hash::nobody);
        }
        let record = match self.builder.target {
            Some(target) => {
                let mut features = Features::Dense(Vec::new());
                self.builder.finish(&mut features);
                Record { features, target }
            }
            // No loss takes it for a record, so the round passes with nothing added.
            None => {
                self.nulls += u64::from(!is_malformed);
                Record {
                    features: Features::Dense(Vec::new()),
                    target: f64::NAN,
                }
            }
        };
        let was_longer = self.builder.target.is_some() && self.builder.was_longer;
        Ok(Some(Sealed {
            person: self.builder.person,
            record: Raw::seal(record),
            was_longer: OperatorOnly::new(was_longer),
            digest: self.digest.take(),
            is_malformed: OperatorOnly::new(is_malformed),
            target_was_clipped: OperatorOnly::new(!is_malformed && self.builder.target_was_clipped),
        }))
    }

    /// The next row in the open, for a published model (see [`Row`]); false at the end.
    ///
    /// # Errors
    /// A malformed row; the reader stands behind it. Input that cannot be read.
    pub fn next_row(&mut self, row: &mut Row) -> Result<bool, ReadError> {
        match self.parse(Targets::Welcome)? {
            None => return Ok(false),
            Some(Err(flaw)) => return Err(self.place(flaw)),
            Some(Ok(_)) => {}
        }
        row.target = self.builder.target;
        self.builder.finish(&mut row.features);
        Ok(true)
    }

    /// Parses the next row; nothing at the end.
    pub(crate) fn parse(&mut self, targets: Targets) -> Result<Option<Parsed>, ReadError> {
        let Some(span) = self.source.next()? else {
            if self.count == 0 {
                return Err(Fault::HeaderOnly.in_file(self.source.name()));
            }
            return Ok(None);
        };
        self.count += 1;
        self.bytes = span.bytes.len();
        let hasher = self.hasher.as_ref();
        self.digest = hasher.map(|hasher| hasher.digest(self.source.bytes(&span)));
        self.builder.begin();
        let parsed = match span.broken {
            Some((at, broken)) => Err(Failure {
                at,
                field: None,
                fault: broken.into(),
            }),
            None => {
                let line = self.source.line(&span);
                let builder = &mut self.builder;
                self.rows.parse(line, span.quoted, builder, targets)
            }
        };
        Ok(Some(match parsed {
            Ok(()) => {
                self.clipped_targets += u64::from(self.builder.target_was_clipped);
                Ok(span)
            }
            Err(failure) => Err(Flaw { span, failure }),
        }))
    }

    /// The error that a flaw of the last row is.
    pub(crate) fn place(&self, Flaw { span, failure }: Flaw) -> ReadError {
        let column = self.rows.column(&failure);
        self.source.error(&span, failure.at, column, failure.fault)
    }

    /// How long the last row is, in bytes of text: what its memory grows with.
    #[must_use]
    pub fn last_length(&self) -> OperatorOnly<usize> {
        OperatorOnly::new(self.bytes)
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

    /// Rows so far that were malformed.
    #[must_use]
    pub fn malformed(&self) -> OperatorOnly<u64> {
        OperatorOnly::new(self.malformed)
    }

    /// Regression targets so far that were clipped to their bounds.
    #[must_use]
    pub fn clipped_targets(&self) -> OperatorOnly<u64> {
        OperatorOnly::new(self.clipped_targets)
    }
}
