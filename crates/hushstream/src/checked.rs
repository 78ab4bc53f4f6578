//! The check of a file before anything is charged: malformed rows, and columns that their schema
//! does not fit.

use crate::data::{self, Origin};
use crate::error::{Result, refuse};
use crate::learner::{Learner, Listener, Malformed};
use crate::state::Card;
use hushstream_pictures::numbers::grouped;
use hushstream_read::{Checked, ReadError, SchemaSpec};
use std::fmt::Write;

/// The assumption of the guarantee for a checked file.
pub const ASSUMPTION: &str =
    "a record is replaced by any that `hushstream check` accepts or by an empty one";

/// Number of faults that a refusal lists.
const SHOWN: usize = 3;

/// Checks a whole file. A stream and a resumed run are not checked: their malformed rows are rounds
/// without a record.
pub fn before(
    learner: &Learner,
    origin: &Origin,
    schema: &SchemaSpec,
    listener: &mut dyn Listener,
) -> Result<Option<Checked>> {
    let malformed = data::malformed(learner)?;
    let file = &learner.data.file;
    if data::is_stream(file) || learner.output.resume {
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
        Some(folder) if learner.output.resume => {
            Ok(Card::read(folder)?.reading.contains(data::CHECKED))
        }
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
