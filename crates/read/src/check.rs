//! A check of a whole file, before anything is charged: the same parser as for learning, so what
//! passes here is never an empty round there. It also notices columns that their schema does not
//! fit.

use crate::encode::{Builder, Missing, Step, Targets, number};
use crate::error::{ReadError, one_line};
use crate::formats::Rows;
use crate::reader::{Parsed, Reader};
use crate::schema::{Encoding, FeatureColumn, Layout, TargetKind};
use crate::source::Source;
use hushstream_mechanism::OperatorOnly;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// The result of a check.
pub struct Checked {
    /// Rows, malformed ones too: one for every line after the header. Public.
    pub rows: u64,
    /// The findings in the rows.
    pub findings: OperatorOnly<Findings>,
}

/// The findings of a check.
///
/// ```
/// use hushstream_read::{Format, Input, Reader, SchemaSpec};
///
/// let schema: SchemaSpec = "target = 'late'\nbounds = { hour = [0, 24] }".parse()?;
/// let input = Input::from_reader("flights", "hour,late\n99,1\n98,0\n".as_bytes())?;
/// let checked = Reader::open(input, Format::Csv, &schema)?.check(|_| {})?;
/// let findings = checked.findings.for_the_operator();
/// assert_eq!(findings.empty(), 0);
/// assert!(findings.columns[0].to_string().contains("no value lies within its bounds"));
/// # Ok::<(), hushstream_read::ReadError>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Findings {
    /// Malformed rows, by the kind of their fault.
    pub malformed: BTreeMap<&'static str, u64>,
    /// Rows without a usable target that the schema accepts as empty ones.
    pub without_target: u64,
    /// Targets outside their bounds, which are clipped to them.
    pub clipped_targets: u64,
    /// Columns that the schema does not seem to fit.
    pub columns: Vec<Finding>,
}

impl Findings {
    /// Rows that are rounds without a record.
    #[must_use]
    pub fn empty(&self) -> u64 {
        self.malformed.values().sum::<u64>() + self.without_target
    }
}

/// Something that the operator should know about a column. It holds names and values of the
/// schema, and counts; never a value of the data.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Finding {
    /// A stated value of the target that no row has.
    UnmatchedTarget(String),
    /// All targets are alike.
    OneLabel,
    /// Targets lie outside their bounds and are clipped to them.
    TargetOutside {
        /// How many.
        clipped: u64,
        /// Whether all do.
        all: bool,
    },
    /// Stated categories of a column that no row has.
    Unmatched {
        /// The column.
        column: Arc<str>,
        /// The first of them.
        value: String,
        /// How many there are.
        count: usize,
    },
    /// Rows with a category that is not stated.
    Unknown {
        /// The column.
        column: Arc<str>,
        /// How many rows.
        rows: u64,
    },
    /// No value lies within the bounds.
    Outside {
        /// The column.
        column: Arc<str>,
        /// Rows with a value that is clipped; the others have none.
        clipped: u64,
    },
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnmatchedTarget(value) => {
                write!(f, "no row has the target value `{}`", one_line(value))
            }
            Self::OneLabel => write!(f, "all targets are alike"),
            Self::TargetOutside { all: true, .. } => {
                write!(f, "every target lies outside its bounds, clipped to them")
            }
            Self::TargetOutside { clipped, .. } => write!(
                f,
                "targets outside their bounds: {clipped}, clipped to them; metrics are of the \
                 clipped ones"
            ),
            Self::Unmatched {
                column,
                value,
                count,
            } => {
                let (column, value) = (one_line(column), one_line(value));
                write!(
                    f,
                    "column `{column}`: no row has the stated value `{value}`"
                )?;
                match count {
                    0 | 1 => Ok(()),
                    2 => write!(f, " or one other"),
                    _ => write!(f, " or {} others", count - 1),
                }
            }
            Self::Unknown { column, rows } => write!(
                f,
                "column `{}`: {rows} {} a value that is not stated",
                one_line(column),
                if *rows == 1 { "row has" } else { "rows have" }
            ),
            Self::Outside { column, clipped: 0 } => {
                write!(f, "column `{}` is missing in every row", one_line(column))
            }
            Self::Outside { column, clipped } => write!(
                f,
                "column `{}`: no value lies within its bounds, {clipped} are clipped to them",
                one_line(column)
            ),
        }
    }
}

impl Reader {
    /// Reads all rows and tells of each that is malformed, by place and kind. Memory does not grow
    /// with the number of rows.
    ///
    /// ```
    /// use hushstream_read::{Format, Input, Reader, SchemaSpec};
    ///
    /// let schema: SchemaSpec = "target = 'late'\nbounds = { hour = [0, 24] }".parse()?;
    /// let input = Input::from_reader("flights", "hour,late\n6,0\nsix,1\n".as_bytes())?;
    /// let mut faults = Vec::new();
    /// let reader = Reader::open(input, Format::Csv, &schema)?;
    /// let checked = reader.check(|fault| faults.push(fault.to_string()))?;
    /// assert_eq!(checked.rows, 2);
    /// assert!(faults[0].starts_with("flights, line 3, column 1 (`hour`): text where a number"));
    /// # Ok::<(), hushstream_read::ReadError>(())
    /// ```
    ///
    /// # Errors
    /// Input that cannot be read; no row at all; quotes out of order where they hide line breaks
    /// ([`Input::multiline`](crate::Input::multiline)).
    pub fn check(self, fault: impl FnMut(&ReadError)) -> Result<Checked, ReadError> {
        self.check_with_times(fault, |_| {})
    }

    /// The same; every row's time goes to `time`, as [`Sealed::time`](crate::Sealed::time) does.
    ///
    /// # Errors
    /// As [`Reader::check`].
    pub fn check_with_times(
        mut self,
        mut fault: impl FnMut(&ReadError),
        mut time: impl FnMut(Option<i64>),
    ) -> Result<Checked, ReadError> {
        let mut watch = Watch::new(&self.layout, &*self.rows);
        let targets = Targets::Needed(self.missing_target);
        self.builder.only_checks = true;
        while let Some(parsed) = self.parse(targets)? {
            watch.note(&parsed, &self.builder, &*self.rows, &self.source);
            if let Err(flaw) = parsed {
                fault(&self.place(flaw));
            }
            time(self.last_time());
        }
        Ok(Checked {
            rows: self.rows(),
            findings: OperatorOnly::new(watch.findings(&self.layout, &*self.rows)),
        })
    }
}

/// What rows show about the schema. Which stated categories they name, the steps of their columns
/// know.
pub(crate) struct Watch {
    /// One per column of numbers.
    numbers: Vec<Numbers>,
    /// The place in `numbers` of a field.
    fields: Vec<Option<usize>>,
    /// Columns without a value within their bounds so far: as long as there are some, fields are
    /// looked at.
    needed: usize,
    missing: Missing,
    malformed: BTreeMap<&'static str, u64>,
    /// Rows in order.
    rows: u64,
    without_target: u64,
    clipped_targets: u64,
    /// Rows by class or label.
    labels: Vec<u64>,
}

/// A column of numbers.
struct Numbers {
    low: f64,
    high: f64,
    clipped: u64,
    /// Whether a value within the bounds was seen, after which nothing more is asked.
    is_inside: bool,
}

impl Numbers {
    fn new(encoding: &Encoding) -> Option<Self> {
        let (low, high) = match encoding {
            Encoding::Number { low, high }
            | Encoding::Loss { low, high }
            | Encoding::Reward { low, high }
            | Encoding::Outcome { low, high, .. } => (*low, *high),
            Encoding::Indicator { .. } => (0.0, 1.0),
            _ => return None,
        };
        Some(Self {
            low,
            high,
            clipped: 0,
            is_inside: false,
        })
    }
}

/// The names of the columns, if they have names.
fn names(rows: &dyn Rows) -> &[Arc<str>] {
    rows.columns().map_or(&[], |columns| &columns.names)
}

/// The field of a column, where the file has it.
fn field(rows: &dyn Rows, column: &FeatureColumn) -> Option<usize> {
    let is_named = |name: &Arc<str>| name.trim_ascii() == column.name.trim_ascii();
    names(rows).iter().position(is_named)
}

impl Watch {
    pub(crate) fn new(layout: &Layout, rows: &dyn Rows) -> Self {
        let mut numbers = Vec::new();
        let mut fields = vec![None; names(rows).len()];
        for (column, _) in layout.columns() {
            if let (Some(field), Some(new)) = (field(rows, column), Numbers::new(&column.encoding))
            {
                fields[field] = Some(numbers.len());
                numbers.push(new);
            }
        }
        let labels = match layout.target() {
            TargetKind::Sign { .. } => 2,
            TargetKind::Class { classes } => classes.len(),
            TargetKind::Number { .. } | TargetKind::None => 0,
        };
        Self {
            needed: numbers.len(),
            numbers,
            fields,
            missing: Missing::new(layout.missing()),
            malformed: BTreeMap::new(),
            rows: 0,
            without_target: 0,
            clipped_targets: 0,
            labels: vec![0; labels],
        }
    }

    /// The last row, which the builder holds encoded.
    #[inline]
    pub(crate) fn note(
        &mut self,
        parsed: &Parsed,
        builder: &Builder,
        rows: &dyn Rows,
        source: &Source,
    ) {
        match parsed {
            Ok(span) => {
                self.rows += 1;
                self.target(builder);
                if self.needed > 0 {
                    self.fields(rows, source.bytes(span));
                }
            }
            Err(flaw) => *self.malformed.entry(flaw.1.fault.kind()).or_default() += 1,
        }
    }

    fn target(&mut self, builder: &Builder) {
        match builder.target {
            None => self.without_target += 1,
            // −1 is the first of two labels.
            Some(target) => {
                self.clipped_targets += u64::from(builder.target_was_clipped);
                if let Some(count) = self.labels.get_mut(target.max(0.0) as usize) {
                    *count += 1;
                }
            }
        }
    }

    fn fields(&mut self, rows: &dyn Rows, row: &[u8]) {
        let Self {
            numbers,
            fields,
            needed,
            missing,
            ..
        } = self;
        rows.each_field(row, &mut |field, text| {
            let Some(place) = fields.get(field).copied().flatten() else {
                return;
            };
            let column = &mut numbers[place];
            if column.is_inside {
                return;
            }
            // As it is read for a record: white space around it is no part of it.
            match number(text.trim_ascii(), missing) {
                Ok(Some(value)) if (column.low..=column.high).contains(&value) => {
                    column.is_inside = true;
                    *needed -= 1;
                }
                Ok(Some(_)) => column.clipped += 1,
                _ => {}
            }
        });
    }

    pub(crate) fn findings(&self, layout: &Layout, rows: &dyn Rows) -> Findings {
        let mut columns = self.of_target(layout);
        if self.rows > 0 {
            columns.extend(self.of_columns(layout, rows));
        }
        Findings {
            malformed: self.malformed.clone(),
            without_target: self.without_target,
            clipped_targets: self.clipped_targets,
            columns,
        }
    }

    fn of_target(&self, layout: &Layout) -> Vec<Finding> {
        let labelled = self.rows - self.without_target;
        if labelled == 0 {
            return Vec::new();
        }
        match layout.target() {
            TargetKind::Sign {
                positive: Some(value),
            } if self.labels[1] == 0 => vec![Finding::UnmatchedTarget(value.clone())],
            TargetKind::Sign { .. } if self.labels.contains(&0) => vec![Finding::OneLabel],
            TargetKind::Class { classes } => {
                let unmatched = classes.iter().zip(&self.labels).filter(|(_, n)| **n == 0);
                unmatched
                    .map(|(class, _)| Finding::UnmatchedTarget(class.clone()))
                    .collect()
            }
            TargetKind::Number { .. } if self.clipped_targets > 0 => {
                vec![Finding::TargetOutside {
                    clipped: self.clipped_targets,
                    all: self.clipped_targets >= labelled,
                }]
            }
            _ => Vec::new(),
        }
    }

    /// In the order of the file.
    fn of_columns(&self, layout: &Layout, rows: &dyn Rows) -> Vec<Finding> {
        let mut findings = Vec::new();
        for (column, _) in layout.columns() {
            let Some(place) = field(rows, column) else {
                continue;
            };
            let name = &names(rows)[place];
            if let Some(numbers) = self.fields[place].map(|place| &self.numbers[place])
                && !numbers.is_inside
            {
                let finding = Finding::Outside {
                    column: Arc::clone(name),
                    clipped: numbers.clipped,
                };
                findings.push((place, finding));
            }
            let (Encoding::Category { values }
            | Encoding::Label { values }
            | Encoding::Arm { values }) = &column.encoding
            else {
                continue;
            };
            let Some(tally) = rows
                .columns()
                .and_then(|columns| Step::tally(&columns.steps[place]))
            else {
                continue;
            };
            let mut unmatched = tally.unmatched();
            if let Some(first) = unmatched.next() {
                let finding = Finding::Unmatched {
                    column: Arc::clone(name),
                    value: values[first].clone(),
                    count: 1 + unmatched.count(),
                };
                findings.push((place, finding));
            }
            if tally.unknown() > 0 {
                let finding = Finding::Unknown {
                    column: Arc::clone(name),
                    rows: tally.unknown(),
                };
                findings.push((place, finding));
            }
        }
        findings.sort_by_key(|(place, _)| *place);
        findings.into_iter().map(|(_, finding)| finding).collect()
    }
}
