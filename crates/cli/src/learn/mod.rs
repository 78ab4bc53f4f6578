//! `hushstream learn`: from a file of records to a model that may be published.

pub(crate) mod arguments;
mod words;

use anyhow::Result;
use arguments::Arguments;
use std::io::Write;

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let mut teller = words::Teller::new(&arguments.output);
    let outcome = arguments.learner()?.learn_heard(&mut teller)?;
    let text = if arguments.output.json {
        format!("{}\n", serde_json::to_string_pretty(&outcome)?)
    } else {
        words::show_figures(&outcome);
        words::promise(&outcome)
    };
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(())
}
