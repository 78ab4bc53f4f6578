//! The check of a file before anything is charged: malformed rows, and columns that their schema
//! does not fit.

use super::arguments::{Arguments, Malformed};
use super::data::{self, Origin};
use super::state::Card;
use super::words;
use crate::numbers::grouped;
use anyhow::{Result, bail};
use hushstream_read::{Checked, ReadError, SchemaSpec};
use std::fmt::Write;

/// What the guarantee of a checked file supposes.
pub(crate) const ASSUMPTION: &str =
    "a record is replaced by any that `hushstream check` accepts or by an empty one";

/// Faults that a refusal shows.
const SHOWN: usize = 3;

/// Checks a file in full; a stream cannot be, and what a run has begun goes on: its malformed rows
/// are rounds without a record.
pub(crate) fn before(
    arguments: &Arguments,
    origin: &Origin<'_>,
    schema: &SchemaSpec,
) -> Result<Option<Checked>> {
    let malformed = data::malformed(arguments)?;
    let file = &arguments.data.file;
    if data::is_stream(file) || arguments.output.resume {
        return Ok(None);
    }
    let mut first = Vec::new();
    let checked = origin.open(schema)?.check(|error| {
        if first.len() < SHOWN {
            first.push(error.clone());
        }
    })?;
    let faults: u64 = count(&checked);
    if faults > 0 && malformed == Malformed::Refuse {
        let mut told = listed(&first);
        if faults > first.len() as u64 {
            let _ = write!(told, "; and {} more", grouped(faults - first.len() as u64));
        }
        bail!(
            "{told}; {} of {} rows {} malformed, and nothing is charged: mend them (`hushstream check {file}` with the flags of the schema lists all), or let each be a round without a record: --malformed empty",
            grouped(faults),
            grouped(checked.rows),
            if faults == 1 { "is" } else { "are" },
        );
    }
    for warning in warnings(&checked) {
        words::warn(arguments, &warning);
    }
    Ok(Some(checked))
}

/// Faults in words, each remedy once.
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

/// Whether a run began only because a check found no malformed row: of a resumed one, its state
/// folder knows.
pub(crate) fn began_checked(arguments: &Arguments) -> Result<bool> {
    match &arguments.output.state {
        Some(folder) if arguments.output.resume => {
            Ok(Card::read(folder)?.reading.contains(data::CHECKED))
        }
        _ => Ok(data::malformed(arguments)? == Malformed::Refuse),
    }
}

/// Malformed rows.
pub(crate) fn count(checked: &Checked) -> u64 {
    let findings = checked.findings.for_the_operator();
    findings.malformed.values().sum()
}

/// What the operator should know about the rows of a file.
pub(crate) fn warnings(checked: &Checked) -> Vec<String> {
    let findings = checked.findings.for_the_operator();
    let empty = many_empty(findings.empty(), checked.rows);
    let columns = findings.columns.iter().map(ToString::to_string);
    empty.into_iter().chain(columns).collect()
}

/// A warning if a tenth of the rounds or more are empty.
pub(crate) fn many_empty(empty: u64, rounds: u64) -> Option<String> {
    (empty > 0 && empty >= rounds / 10).then(|| {
        format!(
            "{} of {} rounds are empty: nothing is learned from them",
            grouped(empty),
            grouped(rounds)
        )
    })
}
