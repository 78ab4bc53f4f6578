//! `hushstream check`: all malformed rows of a file, before anything is spent.

use crate::learn::arguments::Data;
use anyhow::{Result, bail};
use clap::Args;
use hushstream::checked;
use hushstream::data::Origin;
use hushstream_pictures::numbers::grouped;
use hushstream_read::{Column, ReadError};
use serde::Serialize;
use std::collections::BTreeMap;
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

/// The object of `--json`. Only `file` and `rows` may be published.
#[derive(Serialize)]
struct Told<'a> {
    file: &'a str,
    rows: u64,
    malformed: u64,
    kinds: &'a BTreeMap<&'static str, u64>,
    without_target: u64,
    faults: Vec<Listed>,
    warnings: Vec<String>,
    operator_only: [&'static str; 5],
}

/// A fault in the list.
#[derive(Serialize)]
struct Listed {
    line: Option<u64>,
    /// The number of the column in a table, or of the byte in a line.
    column: Option<u64>,
    name: Option<String>,
    kind: &'static str,
    message: String,
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

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let data = arguments.data.described(arguments.person.as_ref())?;
    let reader = Origin::new(&data)?.open(&data.schema)?;
    let mut faults = Vec::new();
    let checked = reader.check(|error| {
        if faults.len() < arguments.limit {
            faults.push(Listed::new(error));
        }
    })?;
    let findings = checked.findings.for_the_operator();
    let told = Told {
        file: &arguments.data.file,
        rows: checked.rows,
        malformed: checked::count(&checked),
        kinds: &findings.malformed,
        without_target: findings.without_target,
        faults,
        warnings: checked::warnings(&checked),
        operator_only: ["malformed", "kinds", "without_target", "faults", "warnings"],
    };
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

fn words(told: &Told<'_>) -> String {
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
    for (kind, count) in told.kinds {
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
