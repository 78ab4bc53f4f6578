//! `hushstream export`: a published model in the language of another system.

use crate::output::tell;
use anyhow::{Result, bail};
use clap::Args;
use hushstream::files::{check_distinct, write_whole};
use hushstream::model::Model;
use std::path::PathBuf;

/// Arguments of `export`.
#[derive(Args)]
pub(crate) struct Arguments {
    /// A model.
    file: PathBuf,
    /// Print a SQL query that predicts the rows of this table (SQLite, DuckDB, PostgreSQL).
    #[arg(long, value_name = "TABLE")]
    sql: Option<String>,
    /// Columns that the query shows beside its predictions; by default all that the model reads.
    #[arg(long, value_delimiter = ',', requires = "sql")]
    key: Vec<String>,
    /// Write an ONNX file here.
    #[arg(long, value_name = "FILE", conflicts_with = "sql")]
    onnx: Option<PathBuf>,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let (model, notes) = Model::read(&arguments.file)?;
    notes.iter().for_each(|note| eprintln!("{note}"));
    match (&arguments.sql, &arguments.onnx) {
        (Some(table), _) => {
            let key: Vec<&str> = arguments.key.iter().map(String::as_str).collect();
            tell!("{}", model.to_sql(table, &key)?.trim_end());
        }
        (None, Some(path)) => {
            check_distinct(&[("the model", &*arguments.file), ("the ONNX file", path)])?;
            write_whole(path, &model.to_onnx()?)?;
            tell!("{}", path.display());
        }
        (None, None) => bail!("say what to export to: --sql TABLE or --onnx FILE"),
    }
    Ok(())
}
