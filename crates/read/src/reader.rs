//! The reader: rows of a file as sealed records, or as rows for a published model.

use crate::check::{Findings, Watch};
use crate::encode::{Beside, Builder, Targets};
use crate::error::{Fault, ReadError};
use crate::formats::{Failure, Form, Format, Opened, Rows};
use crate::schema::{Layout, MissingTarget, SchemaSpec};
use crate::source::{Input, Source, Span};
use hushstream_mechanism::losses::{Features, Record, Records};
use hushstream_mechanism::{OperatorOnly, Raw, RowDigest, RowHasher};
use std::hash::{DefaultHasher, Hash, Hasher};

/// A record on its way into a mechanism, and whose it is.
pub struct Sealed {
    /// A 64-bit name of the person, if the schema tells persons apart: the first eight bytes of
    /// SHA-256 of the field. All rows without a name are one person, which limits more than it must
    /// and breaks nothing.
    pub person: Option<u64>,
    /// The time of the row in seconds since 1970, if the schema names a column of times, which are
    /// then public, and if it can be read.
    pub time: Option<i64>,
    /// The record. It cannot be looked at outside the boundary.
    pub record: Raw<Record>,
    /// Whether it was longer than the stated norm, and is scaled down to it.
    pub was_longer: OperatorOnly<bool>,
    /// The digest of the row as it stands in the file, if it was asked for: [`Reader::digested`].
    pub digest: Option<RowDigest>,
    /// Whether the row is malformed, so that its record is empty.
    pub is_malformed: OperatorOnly<bool>,
    /// Whether the target lay outside its bounds, and is clipped to them.
    pub target_was_clipped: OperatorOnly<bool>,
}

/// Records of rows that are numbers and nothing else, on their way into a mechanism together.
pub struct SealedRecords {
    /// The records. They cannot be looked at outside the boundary.
    pub records: Raw<Records>,
    /// How many were longer than the stated norm, and are scaled down to it.
    pub were_longer: OperatorOnly<u64>,
    /// How many targets lay outside their bounds, and are clipped to them.
    pub targets_were_clipped: OperatorOnly<u64>,
}

/// A row in the open, for a *published* model on data of the user's own: what is computed from it
/// is not private, so it must never go into a model that will be published.
pub struct Row {
    /// The features, with the intercept.
    pub features: Features,
    /// The target, if the row has one.
    pub target: Option<f64>,
}

/// Opens the data again, for the next pass; nothing if it cannot be opened.
type Again = Box<dyn FnMut() -> Option<Reader> + Send>;

/// Several readings of the same rows.
struct Passes {
    /// Rows of a pass.
    rows: u64,
    /// Passes after this one.
    left: u64,
    /// Rows of this pass so far, and their hash.
    so_far: u64,
    hash: DefaultHasher,
    /// The hash of the first pass.
    first: Option<u64>,
    again: Again,
}

/// A row that was parsed: where it is, or what is wrong with it.
pub(crate) type Parsed = Result<Span, Flaw>;

/// Something wrong with a row.
pub(crate) struct Flaw(Span, pub(crate) Failure);

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
/// let input = Input::from_reader("flights", text.as_bytes())?;
/// let mut reader = Reader::open(input, Format::Csv, &schema)?;
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
/// let input = Input::from_reader("new", "hour\n6\n".as_bytes())?;
/// let mut reader = Reader::with_layout(input, Format::Csv, &layout)?;
/// let mut row = Row::default();
/// assert!(reader.next_row(&mut row)?);
/// assert_eq!(row.features.dot(&[1.0, 0.0]), -0.5);
/// assert_eq!(row.target, None);
/// # Ok::<(), hushstream_read::ReadError>(())
/// ```
pub struct Reader {
    pub(crate) source: Source,
    pub(crate) rows: Box<dyn Rows>,
    pub(crate) layout: Layout,
    pub(crate) builder: Builder,
    pub(crate) missing_target: MissingTarget,
    form: Form,
    header: Vec<String>,
    person: Option<String>,
    time: Option<String>,
    has_index: bool,
    count: u64,
    /// What records show about the schema, if that is asked for.
    watch: Option<Watch>,
    /// Length of the last row.
    bytes: usize,
    hasher: Option<RowHasher>,
    /// The digest of the last row.
    digest: Option<RowDigest>,
    passes: Option<Passes>,
}

impl Reader {
    /// Opens a file by a schema.
    ///
    /// # Errors
    /// An empty file, a broken header, a schema that does not fit it.
    pub fn open(input: Input, format: Format, schema: &SchemaSpec) -> Result<Self, ReadError> {
        let form = schema.form(format)?;
        let mut source = form.open(input)?;
        let header = form.names(&mut source, || schema.columns())?;
        let layout = Layout::new(schema, format, &header).map_err(|fault| {
            let fault = form.doubted(fault, &header, schema.named());
            fault.in_file(source.name())
        })?;
        let missing_target = schema.missing_target.unwrap_or_default();
        Self::build(
            source,
            &form,
            &header,
            layout,
            Beside::of(schema),
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
        Self::of_layout(input, form, layout, None, MissingTarget::Error)
    }

    /// The same for records that are learned, with the column of persons if there is one.
    ///
    /// # Errors
    /// As [`Reader::with_layout`].
    pub fn of_layout(
        input: Input,
        form: impl Into<Form>,
        layout: &Layout,
        person: Option<&str>,
        missing_target: MissingTarget,
    ) -> Result<Self, ReadError> {
        let form = form.into();
        let mut source = form.open(input)?;
        let header = form.names(&mut source, || layout.column_names())?;
        Self::build(
            source,
            &form,
            &header,
            layout.clone(),
            Beside { person, time: None },
            missing_target,
        )
    }

    fn build(
        source: Source,
        form: &Form,
        header: &[String],
        layout: Layout,
        beside: Beside<'_>,
        missing_target: MissingTarget,
    ) -> Result<Self, ReadError> {
        let opened = Opened {
            layout: &layout,
            separator: form.separator,
            names: header,
            beside,
        };
        let rows = form.format.entry().rows(&opened).map_err(|fault| {
            let columns = layout.columns().map(|(column, _)| &*column.name);
            form.doubted(fault, header, columns).in_file(source.name())
        })?;
        Ok(Self {
            builder: Builder::new(&layout, beside),
            form: form.clone(),
            header: header.to_vec(),
            person: beside.person.map(str::to_owned),
            time: beside.time.map(str::to_owned),
            has_index: header.first().is_some_and(String::is_empty),
            source,
            rows,
            layout,
            missing_target,
            count: 0,
            watch: None,
            bytes: 0,
            hasher: None,
            digest: None,
            passes: None,
        })
    }

    /// The same reader for coded records ([`Layout::coded`]), before its first row.
    ///
    /// # Errors
    /// A layout that has none.
    pub fn coded(self) -> Result<Self, ReadError> {
        let layout = self.layout.coded().ok_or(Fault::NoCodes)?;
        let beside = Beside {
            person: self.person.as_deref(),
            time: self.time.as_deref(),
        };
        let opened = Opened {
            layout: &layout,
            separator: self.form.separator,
            names: &self.header,
            beside,
        };
        Ok(Self {
            rows: self.form.format.entry().rows(&opened)?,
            builder: Builder::new(&layout, beside),
            layout,
            ..self
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

    /// Gives the remaining rows in another order: a function of their number and this public seed,
    /// the same on every platform. Reads the rest of the file into memory, uncompressed, with eight
    /// bytes per row.
    ///
    /// # Errors
    /// What cannot be read.
    pub fn shuffled(mut self, seed: u64) -> Result<Self, ReadError> {
        self.source.shuffle(seed)?;
        Ok(self)
    }

    /// Reads the first `rows` rows `passes` times, and no others; `again` opens the same data anew.
    /// That the rows are the same in every pass is checked: the guarantee rests on it.
    #[must_use]
    pub fn repeated(
        mut self,
        rows: u64,
        passes: u64,
        again: impl FnMut() -> Option<Self> + Send + 'static,
    ) -> Self {
        self.passes = Some(Passes {
            rows,
            left: passes.saturating_sub(1),
            so_far: 0,
            hash: DefaultHasher::new(),
            first: None,
            again: Box::new(again),
        });
        self
    }

    /// The next row of this pass, or the first of the next; nothing at the end.
    fn next_span(&mut self) -> Result<Option<Span>, ReadError> {
        let Some(passes) = &mut self.passes else {
            return self.source.next();
        };
        let changed = |source: &Source| Fault::Changed.in_file(source.name());
        if passes.so_far == passes.rows {
            if passes.left == 0 {
                return Ok(None);
            }
            let next = (passes.again)().ok_or_else(|| changed(&self.source))?;
            self.source = next.source;
            (passes.left, passes.so_far) = (passes.left - 1, 0);
        }
        let Some(span) = self.source.next()? else {
            return Err(match passes.first {
                Some(_) => changed(&self.source),
                None => Fault::FewRows(passes.rows).in_file(self.source.name()),
            });
        };
        passes.so_far += 1;
        self.source.bytes(&span).hash(&mut passes.hash);
        // Before the last row is given away: no pass over other rows is ever complete.
        if passes.so_far == passes.rows {
            let hash = std::mem::take(&mut passes.hash).finish();
            if *passes.first.get_or_insert(hash) != hash {
                return Err(changed(&self.source));
            }
        }
        Ok(Some(span))
    }

    /// From now on records come with the digests of their rows, for a run that can be resumed.
    pub fn digested(&mut self, hasher: RowHasher) {
        self.hasher = Some(hasher);
    }

    /// From now on [`Reader::next_record`] notices what [`Reader::check`] would: for a stream,
    /// which cannot be checked before. It costs next to nothing once every column of numbers has
    /// shown a value within its bounds.
    pub fn watched(&mut self) {
        self.watch = Some(Watch::new(&self.layout, &*self.rows));
    }

    /// The findings in the records since [`Reader::watched`].
    #[must_use]
    pub fn findings(&self) -> Option<OperatorOnly<Findings>> {
        let watch = self.watch.as_ref()?;
        let findings = watch.findings(&self.layout, &*self.rows);
        Some(OperatorOnly::new(findings))
    }

    /// Passes over the next row, without parsing it, and gives its digest; nothing at the end.
    ///
    /// # Errors
    /// Input that cannot be read.
    pub fn pass_over(&mut self, hasher: &RowHasher) -> Result<Option<RowDigest>, ReadError> {
        let Some(span) = self.next_span()? else {
            return Ok(None);
        };
        self.count += 1;
        Ok(Some(hasher.digest(self.source.bytes(&span))))
    }

    /// The number of remaining rows, if they are in memory: after [`Reader::shuffled`].
    #[must_use]
    pub fn remaining(&self) -> Option<u64> {
        self.source.remaining()
    }

    /// Whether the next record has been read in already, so that [`Reader::next_record`] does not
    /// wait for a slow stream.
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
            watch.note(&parsed, &self.builder, &*self.rows, &self.source);
        }
        Ok(Some(self.builder.seal(parsed.is_err(), self.digest.take())))
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
        row.features = self.builder.finish();
        Ok(true)
    }

    /// Parses the next row; nothing at the end.
    pub(crate) fn parse(&mut self, targets: Targets) -> Result<Option<Parsed>, ReadError> {
        let Some(mut span) = self.next_span()? else {
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
        let parsed = match span.broken.take() {
            Some((at, fault)) => Err(Failure::new(at, fault)),
            None => {
                let line = self.source.bytes(&span);
                self.rows.row(line, &mut self.builder, targets)
            }
        };
        Ok(Some(match parsed {
            Ok(()) => {
                self.builder.clipped_targets += u64::from(self.builder.target_was_clipped);
                Ok(span)
            }
            Err(failure) => {
                self.read_time(&span, targets);
                Err(Flaw(span, failure))
            }
        }))
    }

    /// Reads the time of a malformed row, whatever else is wrong with it: which tick a row is in
    /// must not depend on its other fields.
    fn read_time(&mut self, span: &Span, targets: Targets) {
        if self.builder.has_times && self.builder.time.is_none() {
            self.builder.only_times = true;
            let line = self.source.bytes(span);
            // What else is wrong is told already.
            let _ = self.rows.row(line, &mut self.builder, targets);
            self.builder.only_times = false;
        }
    }

    /// The time of the last row, as [`Sealed::time`].
    pub(crate) fn last_time(&self) -> Option<i64> {
        self.builder.time
    }

    /// The error that a flaw of the last row is.
    pub(crate) fn place(&self, Flaw(span, failure): Flaw) -> ReadError {
        self.source.error(&span, failure)
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
        OperatorOnly::new(self.builder.nulls)
    }

    /// Rows so far that were malformed.
    #[must_use]
    pub fn malformed(&self) -> OperatorOnly<u64> {
        OperatorOnly::new(self.builder.malformed)
    }

    /// Regression targets so far that were clipped to their bounds.
    #[must_use]
    pub fn clipped_targets(&self) -> OperatorOnly<u64> {
        OperatorOnly::new(self.builder.clipped_targets)
    }
}
