//! `hushstream learn`: from a file of records to a model that may be published.

mod ahead;
pub(crate) mod arguments;
pub(crate) mod budget;
pub(crate) mod checked;
pub(crate) mod data;
pub(crate) mod files;
mod learning;
mod memory;
mod methods;
pub(crate) mod model;
mod opening;
mod outcome;
mod passed;
mod pictures;
mod progress;
mod releases;
mod report;
mod rows;
pub(crate) mod scores;
mod session;
mod state;
pub(crate) mod target;
pub(crate) mod warnings;
mod words;

use crate::numbers::grouped;
use ahead::Next;
use anyhow::{Result, anyhow};
use arguments::Arguments;
use hushstream_read::ReadError;
use learning::{Frame, Learning};
use outcome::Outcome;
use rows::Rows;
use std::io::Write;
use std::path::Path;
use std::time::Instant;

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let outcome = learn(arguments)?;
    let text = if arguments.output.json {
        format!("{}\n", serde_json::to_string_pretty(&outcome)?)
    } else {
        words::show_figures(&outcome);
        words::promise(&outcome)
    };
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(())
}

/// Learns, and tells. Everything that can be known to fail is found out before anything is spent.
fn learn(arguments: &Arguments) -> Result<Outcome> {
    check_outputs(arguments)?;
    let schema = data::schema(
        &arguments.data,
        arguments.privacy.person.as_ref(),
        arguments.privacy.max_per_person,
    )?;
    let stored = opening::stored_rounds(arguments)?;
    let origin = data::Origin::new(&arguments.data)?;
    let checked = checked::before(arguments, &origin, &schema)?;
    let mut reader = origin.open_in_order(&schema)?;
    if reader.has_nameless_index() {
        words::say(
            arguments,
            "note: the first column has no name, as an index that was written with the table: it is not read",
        );
    }
    let layout = reader.layout().clone();
    let counted = checked.as_ref().map(|checked| checked.rows);
    let rounds = data::rounds(arguments, counted.or(reader.remaining()), stored)?;
    let situation = data::situation(arguments, &schema, &layout, rounds)?;
    let method = methods::choose(arguments, &layout, &situation)?;
    words::announce(arguments, &layout, method.as_ref());
    let warnings = words::warn_of_plan(arguments, method.as_ref());
    let opened = opening::open(
        arguments,
        method.as_ref(),
        &data::reading(arguments, &schema, &layout)?,
        &mut reader,
    )?;
    if let Some(told) = &opened.resumed {
        words::say(arguments, told);
    }
    let frame = Frame {
        arguments,
        schema: &schema,
        layout: &layout,
        method: method.as_ref(),
        length: situation.length,
        yardstick: data::yardstick(arguments, &layout, method.recipe())?,
        is_checked: checked::began_checked(arguments)?,
    };
    let is_live = data::is_stream(&arguments.data.file);
    if checked.is_none() && !arguments.output.quiet {
        reader.watched();
    }
    let mut learning = Learning::new(frame, opened, checked, is_live)?;
    let start = Instant::now();
    let (planned, learned) = (method.records().1, learning.rounds());
    let mut seen = learned;
    // Of a file one more, to know whether there are others.
    let most = planned
        .saturating_sub(learned)
        .saturating_add(u64::from(!is_live));
    let mut rows = Rows::new(reader, is_live, most);
    while seen < planned {
        // Only where a row is not at hand is there time to look at the clock.
        let patience = if rows.is_waiting() {
            learning.patience()
        } else {
            None
        };
        let next = rows.next_record(patience);
        match next.map_err(|error| mid_stream(arguments, &error))? {
            Next::Row(sealed) => {
                seen += 1;
                learning.take(sealed, rows.is_waiting())?;
            }
            // Releases do not wait for a stream that pauses.
            Next::Late => learning.sync()?,
            Next::End => break,
        }
    }
    tell_of_the_rest(arguments, &mut rows, seen, planned);
    let time = start.elapsed();
    let findings = rows.close().and_then(|reader| reader.findings());
    let mut outcome = learning.finish(seen.saturating_sub(learned), time, findings)?;
    outcome.public_warnings = warnings;
    Ok(outcome)
}

fn check_outputs(arguments: &Arguments) -> Result<()> {
    let output = &arguments.output;
    let data = Path::new(&arguments.data.file);
    let ledger = budget::path(arguments).ok();
    let files: Vec<(&str, &Path)> = [
        ("the data", Some(data)),
        ("the ledger", ledger.as_deref()),
        ("the model", output.model.as_deref()),
        ("the releases", output.releases.as_deref()),
        ("the report", output.report.as_deref()),
    ]
    .into_iter()
    .filter_map(|(what, path)| Some((what, path?)))
    .collect();
    files::check_distinct(&files)?;
    for (what, path) in &files {
        if !["the data", "the ledger"].contains(what) {
            files::check_writable(path, what)?;
        }
    }
    match &output.state {
        Some(folder) if !output.resume => state::StateFolder::check_new(folder),
        _ => Ok(()),
    }
}

/// Input that cannot be read any more, after the charge: what is lost, and how to go on. The
/// content of a row never leads here.
fn mid_stream(arguments: &Arguments, error: &ReadError) -> anyhow::Error {
    if arguments.output.state.is_some() {
        anyhow!(
            "{error}; the run is kept: mend the input, leave all rows so far as they are, and add --resume"
        )
    } else if arguments.privacy.seed_insecure.is_some() && arguments.privacy.ledger.is_none() {
        anyhow!("{error}; the run ends here: with --state FOLDER it could go on")
    } else {
        anyhow!(
            "{error}; the run ends here and its charge is spent: with --state FOLDER it could go on"
        )
    }
}

fn tell_of_the_rest(arguments: &Arguments, rows: &mut Rows, seen: u64, planned: u64) {
    let text = if seen < planned {
        // A horizon that is not known has no end to miss.
        if arguments.privacy.horizon == "unknown" {
            return;
        }
        format!(
            "the data ended after {} of {} planned records",
            grouped(seen),
            grouped(planned)
        )
    } else if !data::is_stream(&arguments.data.file)
        && !matches!(rows.next_record(None), Ok(Next::End))
    {
        format!(
            "the run was planned for {} records: the rest of the file was not read",
            grouped(planned)
        )
    } else {
        return;
    };
    words::say(arguments, &text);
}
