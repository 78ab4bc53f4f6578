//! A run on a file or a stream, from its description to what it has to tell.

use crate::ahead::Next;
use crate::learner::{Learner, Listener};
use crate::learning::{Frame, Learning};
use crate::outcome::Outcome;
use crate::plan::Plan;
use crate::rows::Rows;
use crate::{budget, checked, data, files, methods, opening, state};
use anyhow::{Result, anyhow, bail};
use hushstream_pictures::numbers::grouped;
use hushstream_read::ReadError;
use std::path::Path;
use std::time::Instant;

/// Learns from the whole file. Everything that can be known to fail is found out before anything is
/// spent.
pub fn learn(learner: &Learner, listener: &mut dyn Listener) -> Result<Outcome> {
    check_outputs(learner)?;
    let schema = &learner.data.schema;
    if schema.person.is_some() && learner.privacy.max_per_person.is_none() {
        bail!(
            "persons are told apart, so state how many records each may contribute: --max-per-person"
        );
    }
    let stored = opening::stored_rounds(learner)?;
    let origin = data::Origin::new(&learner.data)?;
    let checked = checked::before(learner, &origin, schema, listener)?;
    let mut reader = origin.open_in_order(schema)?;
    if reader.has_nameless_index() {
        listener.say(
            "note: the first column has no name, as an index that was written with the table: it is not read",
        );
    }
    let layout = reader.layout().clone();
    let counted = checked.as_ref().map(|checked| checked.rows);
    let rounds = data::rounds(learner, counted.or(reader.remaining()), stored)?;
    let situation = data::situation(learner, schema, &layout, rounds)?;
    let method = methods::choose(learner, &layout, &situation)?;
    let plan = Plan::new(learner, &layout, method.as_ref());
    listener.say(&plan.to_string());
    for warning in &plan.warnings {
        listener.say(warning);
    }
    let reading = data::reading(learner, schema, &layout)?;
    let opened = opening::open(learner, method.as_ref(), &reading, &mut reader, listener)?;
    if let Some(told) = &opened.resumed {
        listener.say(told);
    }
    let frame = Frame {
        learner,
        layout: &layout,
        method: method.as_ref(),
        listener,
        length: situation.length,
        yardstick: data::yardstick(learner, &layout, method.recipe())?,
        is_checked: checked::began_checked(learner)?,
    };
    let is_live = data::is_stream(&learner.data.file);
    if checked.is_none() && !learner.output.quiet {
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
        // Check the clock only when we would block anyway.
        let patience = if rows.is_waiting() {
            learning.patience()
        } else {
            None
        };
        let next = rows.next_record(patience);
        match next.map_err(|error| mid_stream(learner, &error))? {
            Next::Row(sealed) => {
                seen += 1;
                learning.take(sealed, rows.is_waiting())?;
            }
            // Releases do not wait for a stream that pauses.
            Next::Late => learning.sync()?,
            Next::End => break,
        }
    }
    if let Some(told) = rest(learner, &mut rows, seen, planned) {
        learning.say(&told);
    }
    let time = start.elapsed();
    let findings = rows.close().and_then(|reader| reader.findings());
    let mut outcome = learning.finish(seen.saturating_sub(learned), time, findings)?;
    outcome.public_warnings = plan.warnings;
    Ok(outcome)
}

fn check_outputs(learner: &Learner) -> Result<()> {
    let output = &learner.output;
    let data = Path::new(&learner.data.file);
    let ledger = budget::path(learner).ok();
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
fn mid_stream(learner: &Learner, error: &ReadError) -> anyhow::Error {
    if learner.output.state.is_some() {
        anyhow!(
            "{error}; the run is kept: mend the input, leave all rows so far as they are, and add --resume"
        )
    } else if learner.privacy.seed_insecure.is_some() && learner.privacy.ledger.is_none() {
        anyhow!("{error}; the run ends here: with --state FOLDER it could go on")
    } else {
        anyhow!(
            "{error}; the run ends here and its charge is spent: with --state FOLDER it could go on"
        )
    }
}

/// What to tell where the data and the plan do not have the same number of records.
fn rest(learner: &Learner, rows: &mut Rows, seen: u64, planned: u64) -> Option<String> {
    if seen < planned {
        // A horizon that is not known has no end to miss.
        return (!learner.privacy.horizon_unknown).then(|| {
            format!(
                "the data ended after {} of {} planned records",
                grouped(seen),
                grouped(planned)
            )
        });
    }
    let is_file = !data::is_stream(&learner.data.file);
    (is_file && !matches!(rows.next_record(None), Ok(Next::End))).then(|| {
        format!(
            "the run was planned for {} records: the rest of the file was not read",
            grouped(planned)
        )
    })
}
