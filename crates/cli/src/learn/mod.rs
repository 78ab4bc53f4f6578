//! `hushstream learn`: from a file of records to a model that may be published.

pub(crate) mod arguments;
pub(crate) mod words;

use anyhow::Result;
use arguments::Arguments;
use hushstream::outcome::Outcome;
use std::io::Write;

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    run_as(arguments, &std::env::args().skip(2).collect::<Vec<_>>())?;
    Ok(())
}

/// Runs the command that these flags describe.
pub(crate) fn run_as(arguments: &Arguments, flags: &[String]) -> Result<Outcome> {
    let mut teller = words::Teller::new(arguments.output.json, arguments.output.quiet);
    let mut learner = arguments.learner()?;
    learner.output.command = Some(format!("hushstream learn {}", quoted(flags)));
    let outcome = learner.learn_heard(&mut teller)?;
    let text = if arguments.output.json {
        format!("{}\n", serde_json::to_string_pretty(&outcome)?)
    } else {
        words::show_figures(&outcome);
        words::evaluated(&outcome) + &words::promise(&outcome.guarantee, &outcome.ledger)
    };
    std::io::stdout().write_all(text.as_bytes())?;
    Ok(outcome)
}

/// Flags as they can be typed.
pub(crate) fn quoted(flags: &[String]) -> String {
    let word = |flag: &String| {
        if flag.contains(['|', '*', ' ', '<', '>', '?', '$', '&', ';']) {
            format!("'{flag}'")
        } else {
            flag.clone()
        }
    };
    flags.iter().map(word).collect::<Vec<_>>().join(" ")
}
