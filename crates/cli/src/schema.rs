//! `hushstream schema`: the skeleton of a schema from the header of a file.

use crate::learn::arguments::TableText;
use anyhow::Result;
use clap::Args;
use hushstream_read::{Input, SchemaSpec};
use std::io::Write;

/// Arguments of `schema`.
#[derive(Args)]
pub(crate) struct Arguments {
    /// The file of records, or - for standard input. Only the column names are read.
    file: String,
    /// csv, tsv or jsonl; by default from the file's name. Parquet is detected.
    #[arg(long)]
    format: Option<String>,
    #[command(flatten)]
    table: TableText,
    /// Texts that mean a missing value, separated by commas, besides the empty text, NA, N/A, NaN
    /// and null.
    #[arg(long, value_delimiter = ',', allow_hyphen_values = true)]
    missing: Vec<String>,
    /// The column to predict.
    #[arg(long)]
    target: Option<String>,
    /// The column of person identifiers.
    #[arg(long)]
    person: Option<String>,
    /// Columns to leave out, separated by commas; * matches any text.
    #[arg(long, value_delimiter = ',')]
    ignore: Vec<String>,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let mut schema = SchemaSpec {
        target: arguments.target.clone(),
        person: arguments.person.clone(),
        ignore: arguments.ignore.clone(),
        missing: arguments.missing.clone(),
        ..SchemaSpec::default()
    };
    arguments.table.add_to(&mut schema);
    let input = Input::open(&arguments.file)?;
    let format = match &arguments.format {
        Some(name) => name.parse()?,
        None => input.guess_format()?,
    };
    let text = schema.skeleton(input, format)?;
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(())
}
