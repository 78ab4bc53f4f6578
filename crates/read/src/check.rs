//! A check of a whole file, before anything is charged: the same parser as for learning, so what
//! passes here is never an empty round there. It also notices columns that their schema does not
//! fit.

use crate::encode::Targets;
use crate::encoding::{Encoding, TargetKind};
use crate::error::{ReadError, one_line};
use crate::layout::Layout;
use crate::reader::Reader;
use crate::rows::Rows;
use crate::target;
use crate::value::Missing;
use hushstream_mechanism::OperatorOnly;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// The result of a check.
pub struct Checked {
    /// Rows, malformed ones too: one for every line after the header. Public.
    pub rows: u64,
    /// What the rows hold.
    pub findings: OperatorOnly<Findings>,
}

/// What a check found in the rows.
#[derive(Debug, Clone, Default)]
pub struct Findings {
    /// Malformed rows, by the kind of their fault.
    pub malformed: BTreeMap<&'static str, u64>,
    /// Rows without a usable target that the schema accepts as empty ones.
    pub without_target: u64,
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
    /// All targets lie outside their bounds.
    TargetOutside,
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
            Self::TargetOutside => write!(f, "every target lies outside its bounds"),
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
    pub fn check(mut self, mut fault: impl FnMut(&ReadError)) -> Result<Checked, ReadError> {
        let mut findings = Findings::default();
        let mut watch = Watch::new(&self.layout, &self.rows);
        let targets = Targets::Needed(self.missing_target);
        while let Some(parsed) = self.parse(targets)? {
            match parsed {
                Ok(span) => {
                    watch.target(self.builder.target);
                    if watch.is_needed() {
                        watch.row(&self.rows, self.source.bytes(&span), span.quoted);
                    }
                }
                Err(flaw) => {
                    let error = self.place(flaw);
                    *findings.malformed.entry(error.fault.kind()).or_default() += 1;
                    fault(&error);
                }
            }
        }
        let clipped = *self.clipped_targets().for_the_operator();
        findings.without_target = watch.without_target;
        findings.columns = watch.finish(&self.layout, clipped);
        Ok(Checked {
            rows: self.rows(),
            findings: OperatorOnly::new(findings),
        })
    }
}

/// What rows in order show about the schema.
struct Watch {
    /// One per column that is watched.
    columns: Vec<Column>,
    /// The place in `columns` of a field.
    fields: Vec<Option<usize>>,
    /// Columns of which every row must be looked at.
    needed: usize,
    missing: Missing,
    rows: u64,
    without_target: u64,
    /// Rows by class or label.
    labels: Vec<u64>,
}

struct Column {
    name: Arc<str>,
    field: usize,
    kind: Kind,
}

enum Kind {
    Number {
        low: f64,
        high: f64,
        clipped: u64,
        /// Whether a value within the bounds was seen, after which nothing more is asked.
        is_inside: bool,
    },
    Category {
        values: Vec<String>,
        seen: Vec<bool>,
        unknown: u64,
    },
}

impl Kind {
    fn new(encoding: &Encoding) -> Option<Self> {
        let number = |low, high| {
            Some(Self::Number {
                low,
                high,
                clipped: 0,
                is_inside: false,
            })
        };
        match encoding {
            Encoding::Number { low, high }
            | Encoding::Loss { low, high }
            | Encoding::Reward { low, high }
            | Encoding::Outcome { low, high, .. } => number(*low, *high),
            Encoding::Indicator { .. } => number(0.0, 1.0),
            Encoding::Category { values }
            | Encoding::Label { values }
            | Encoding::Arm { values } => Some(Self::Category {
                seen: vec![false; values.len()],
                values: values.clone(),
                unknown: 0,
            }),
            Encoding::Propensity | Encoding::Hashed { .. } => None,
        }
    }
}

impl Watch {
    fn new(layout: &Layout, rows: &Rows) -> Self {
        let mut columns = Vec::new();
        let mut fields = vec![None; rows.names().len()];
        for (column, _) in layout.columns() {
            let is_named = |name: &Arc<str>| name.trim_ascii() == column.name.trim_ascii();
            let place = rows.names().iter().position(is_named);
            if let (Some(field), Some(kind)) = (place, Kind::new(&column.encoding)) {
                fields[field] = Some(columns.len());
                columns.push(Column {
                    name: Arc::clone(&rows.names()[field]),
                    field,
                    kind,
                });
            }
        }
        let labels = match layout.target() {
            TargetKind::Sign { .. } => 2,
            TargetKind::Class { classes } => classes.len(),
            TargetKind::Number { .. } | TargetKind::None => 0,
        };
        Self {
            needed: columns.len(),
            columns,
            fields,
            missing: Missing::new(layout.missing()),
            rows: 0,
            without_target: 0,
            labels: vec![0; labels],
        }
    }

    fn is_needed(&self) -> bool {
        self.needed > 0
    }

    /// The encoded target of a row in order.
    fn target(&mut self, target: Option<f64>) {
        self.rows += 1;
        match target {
            None => self.without_target += 1,
            // −1 is the first of two labels.
            Some(target) => {
                if let Some(count) = self.labels.get_mut(target.max(0.0) as usize) {
                    *count += 1;
                }
            }
        }
    }

    fn row(&mut self, rows: &Rows, row: &[u8], quoted: bool) {
        let Self {
            columns,
            fields,
            needed,
            missing,
            ..
        } = self;
        rows.each_field(row, quoted, |field, text| {
            let Some(place) = fields.get(field).copied().flatten() else {
                return;
            };
            // As it is read for a record: white space around it is no part of it.
            let text = text.trim_ascii();
            match &mut columns[place].kind {
                Kind::Number {
                    low,
                    high,
                    clipped,
                    is_inside,
                } => {
                    if *is_inside {
                        return;
                    }
                    match target::number(text, missing) {
                        Ok(Some(value)) if (*low..=*high).contains(&value) => {
                            *is_inside = true;
                            *needed -= 1;
                        }
                        Ok(Some(_)) => *clipped += 1,
                        _ => {}
                    }
                }
                Kind::Category { seen, unknown, .. } => {
                    match rows.step(field).and_then(|step| step.category(text)) {
                        Some(value) => seen[value as usize] = true,
                        None => *unknown += u64::from(!missing.is(text)),
                    }
                }
            }
        });
    }

    fn finish(self, layout: &Layout, clipped_targets: u64) -> Vec<Finding> {
        let mut findings = Vec::new();
        let labelled = self.rows - self.without_target;
        if labelled > 0 {
            match layout.target() {
                TargetKind::Sign {
                    positive: Some(value),
                } if self.labels[1] == 0 => {
                    findings.push(Finding::UnmatchedTarget(value.clone()));
                }
                TargetKind::Sign { .. } if self.labels.contains(&0) => {
                    findings.push(Finding::OneLabel);
                }
                TargetKind::Class { classes } => {
                    let unmatched = classes.iter().zip(&self.labels).filter(|(_, n)| **n == 0);
                    findings.extend(
                        unmatched.map(|(class, _)| Finding::UnmatchedTarget(class.clone())),
                    );
                }
                TargetKind::Number { .. } if clipped_targets >= labelled => {
                    findings.push(Finding::TargetOutside);
                }
                _ => {}
            }
        }
        if self.rows == 0 {
            return findings;
        }
        let mut columns = self.columns;
        columns.sort_by_key(|column| column.field);
        for Column { name, kind, .. } in columns {
            match kind {
                Kind::Number {
                    clipped,
                    is_inside: false,
                    ..
                } => findings.push(Finding::Outside {
                    column: name,
                    clipped,
                }),
                Kind::Number { .. } => {}
                Kind::Category {
                    values,
                    seen,
                    unknown,
                } => {
                    let mut unmatched = values.iter().zip(&seen).filter(|(_, seen)| !**seen);
                    if let Some((value, _)) = unmatched.next() {
                        findings.push(Finding::Unmatched {
                            column: Arc::clone(&name),
                            value: value.clone(),
                            count: 1 + unmatched.count(),
                        });
                    }
                    if unknown > 0 {
                        findings.push(Finding::Unknown {
                            column: name,
                            rows: unknown,
                        });
                    }
                }
            }
        }
        findings
    }
}
