//! The check of a file before anything is charged: malformed rows, and columns that their schema
//! does not fit.

use crate::data::{self, Origin};
use crate::error::{Result, refuse};
use crate::learner::{Data, Learner, Listener, Malformed};
use crate::state::Card;
use hushstream_pictures::numbers::grouped;
use hushstream_read::{Checked, Column, ReadError, SchemaSpec};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::Write;

/// The assumption of the guarantee for a checked file.
pub const ASSUMPTION: &str =
    "a record is replaced by any that `hushstream check` accepts or by an empty one";

/// Number of faults that a refusal lists.
const SHOWN: usize = 3;

/// What a check of a file found. Only `file` and `rows` may be published.
#[derive(Debug, Serialize)]
pub struct Report {
    /// The file.
    pub file: String,
    /// Its rows.
    pub rows: u64,
    /// Malformed rows.
    pub malformed: u64,
    /// Malformed rows of each kind.
    pub kinds: BTreeMap<&'static str, u64>,
    /// Rows without a target.
    pub without_target: u64,
    /// The first faults.
    pub faults: Vec<Listed>,
    /// Warnings for the operator.
    pub warnings: Vec<String>,
    /// The fields that must not be published.
    pub operator_only: [&'static str; 5],
}

/// A fault in the list.
#[derive(Debug, Serialize)]
pub struct Listed {
    /// Its line.
    pub line: Option<u64>,
    /// The number of the column in a table, or of the byte in a line.
    pub column: Option<u64>,
    /// The name of the column.
    pub name: Option<String>,
    /// Its kind.
    pub kind: &'static str,
    /// The message.
    pub message: String,
}

impl Listed {
    fn new(error: &ReadError) -> Self {
        let (column, name) = match &error.place.column {
            Some(Column::Field { number, name }) => {
                (Some(*number), name.as_deref().map(str::to_owned))
            }
            Some(Column::Byte(number)) => (Some(*number), None),
            None => (None, None),
        };
        Self {
            line: error.place.line,
            column,
            name,
            kind: error.fault.kind(),
            message: error.to_string(),
        }
    }
}

/// Checks a whole file, and lists at most this many faults. Spends nothing.
///
/// # Errors
/// A file or a schema that cannot be read.
pub fn check(data: &Data, limit: usize) -> Result<Report> {
    let reader = Origin::new(data)?.open(&data.schema)?;
    let mut faults = Vec::new();
    let checked = reader.check(|error| {
        if faults.len() < limit {
            faults.push(Listed::new(error));
        }
    })?;
    let findings = checked.findings.for_the_operator();
    Ok(Report {
        file: data.file.clone(),
        rows: checked.rows,
        malformed: count(&checked),
        kinds: findings.malformed.clone(),
        without_target: findings.without_target,
        faults,
        warnings: warnings(&checked),
        operator_only: ["malformed", "kinds", "without_target", "faults", "warnings"],
    })
}

/// Checks a whole file. A stream and a resumed run are not checked: their malformed rows are rounds
/// without a record.
pub fn before(
    learner: &Learner,
    origin: &Origin,
    schema: &SchemaSpec,
    listener: &mut dyn Listener,
) -> Result<Option<Checked>> {
    before_with_times(learner, origin, schema, listener, &mut |_| {})
}

/// The same; every row's time goes to `time`.
pub fn before_with_times(
    learner: &Learner,
    origin: &Origin,
    schema: &SchemaSpec,
    listener: &mut dyn Listener,
    time: &mut dyn FnMut(Option<i64>),
) -> Result<Option<Checked>> {
    let malformed = data::malformed(learner)?;
    let file = &learner.data.file;
    if data::is_stream(file) || learner.output.resume {
        return Ok(None);
    }
    let mut first = Vec::new();
    let note = |error: &ReadError| {
        if first.len() < SHOWN {
            first.push(error.clone());
        }
    };
    let checked = origin.open(schema)?.check_with_times(note, time)?;
    let faults: u64 = count(&checked);
    if faults > 0 && malformed == Malformed::Refuse {
        let mut told = listed(&first);
        if faults > first.len() as u64 {
            let _ = write!(told, "; and {} more", grouped(faults - first.len() as u64));
        }
        refuse!(
            "{told}; {} of {} rows {} malformed, and nothing is charged: mend them (`hushstream \
             check {file}` with the flags of the schema lists all), or let each be a round without \
             a record: ‹malformed empty›",
            grouped(faults),
            grouped(checked.rows),
            if faults == 1 { "is" } else { "are" },
        );
    }
    for warning in warnings(&checked) {
        listener.warn(&warning);
    }
    Ok(Some(checked))
}

/// The messages of faults, each remedy once.
fn listed(faults: &[ReadError]) -> String {
    let told = faults.iter().enumerate().map(|(number, error)| {
        let is_told = faults[..number]
            .iter()
            .any(|other| other.fault == error.fault);
        match error.place.line {
            Some(line) if is_told => format!("the same in line {line}"),
            _ => error.to_string(),
        }
    });
    told.collect::<Vec<_>>().join("; ")
}

/// Whether the run depends on a check that found no malformed row. A resumed run reads this from
/// its state folder.
pub fn began_checked(learner: &Learner) -> Result<bool> {
    match &learner.output.state {
        Some(folder) if learner.output.resume => Ok(Card::read(folder, learner.output.keeper())?
            .reading
            .contains(data::CHECKED)),
        _ => Ok(data::malformed(learner)? == Malformed::Refuse),
    }
}

/// Malformed rows.
pub fn count(checked: &Checked) -> u64 {
    let findings = checked.findings.for_the_operator();
    findings.malformed.values().sum()
}

/// Warnings for the operator about the rows of a file.
pub fn warnings(checked: &Checked) -> Vec<String> {
    let findings = checked.findings.for_the_operator();
    let empty = many_empty(findings.empty(), checked.rows);
    let columns = findings.columns.iter().map(ToString::to_string);
    empty.into_iter().chain(columns).collect()
}

/// A warning if a tenth of the rounds or more are empty.
pub fn many_empty(empty: u64, rounds: u64) -> Option<String> {
    (empty > 0 && empty >= rounds / 10).then(|| {
        format!(
            "{} of {} rounds are empty: nothing is learned from them",
            grouped(empty),
            grouped(rounds)
        )
    })
}
