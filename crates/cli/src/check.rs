//! `hushstream check`: all malformed rows of a file, before anything is spent.

use crate::learn::arguments::Data;
use anyhow::{Result, bail};
use clap::Args;
use hushstream::checked::{self, Report};
use hushstream_pictures::numbers::grouped;
use std::io::Write;

/// Arguments of `check`.
#[derive(Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    data: Data,
    /// The column of person identifiers, as for `learn`.
    #[arg(long)]
    person: Option<String>,
    /// Largest number of faults to list; all are counted.
    #[arg(long, default_value_t = 1000)]
    limit: usize,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let data = arguments.data.described(arguments.person.as_ref())?;
    let told = checked::check(&data, arguments.limit)?;
    let text = if arguments.json {
        format!("{}\n", serde_json::to_string_pretty(&told)?)
    } else {
        words(&told)
    };
    std::io::stdout().write_all(text.as_bytes())?;
    if told.malformed > 0 {
        bail!(
            "{}: {} of {} rows malformed; nothing was spent",
            told.file,
            grouped(told.malformed),
            grouped(told.rows)
        );
    }
    Ok(())
}

fn words(told: &Report) -> String {
    let mut lines: Vec<String> = told
        .faults
        .iter()
        .map(|fault| fault.message.clone())
        .collect();
    let unlisted = told.malformed - told.faults.len() as u64;
    if unlisted > 0 {
        lines.push(format!(
            "and {} more; raise --limit to list them",
            grouped(unlisted)
        ));
    }
    for (kind, count) in &told.kinds {
        lines.push(format!("  {kind:<24} {}", grouped(*count)));
    }
    for warning in &told.warnings {
        lines.push(format!("warning: {warning}"));
    }
    lines.push(format!(
        "{} rows, {} malformed. For the operator only: this is computed from private data.",
        grouped(told.rows),
        grouped(told.malformed)
    ));
    lines.join("\n") + "\n"
}
