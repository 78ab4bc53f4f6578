//! The `hushstream` program.

mod audit;
mod check;
mod compare;
mod demo;
mod figure;
mod inspect;
mod learn;
mod ledger;
mod names;
mod output;
mod plan;
mod predict;
mod recipes;
mod schema;
mod sets;

use clap::{Parser, Subcommand};
use hushstream_read::{Fault, ReadError, skeleton_of};
use std::process::ExitCode;

/// Private online learning: publish every step of what is learned, with a proof that no one's record can be told from it.
#[derive(Parser)]
#[command(version, arg_required_else_help = true)]
struct Program {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Learn from a file of records: a model that may be published, and what is promised about it.
    Learn(Box<learn::arguments::Arguments>),
    /// The skeleton of a schema from the header of a file, to be filled in.
    Schema(schema::Arguments),
    /// Check a file of records: lists malformed rows by line, column and kind, and spends nothing.
    Check(Box<check::Arguments>),
    /// A published model on new data.
    Predict(predict::Arguments),
    /// What a model, a ledger or a state folder holds.
    Inspect(inspect::Arguments),
    /// Look after the budget of a data set: show, raise, merge, close or move its ledger.
    Ledger(ledger::Arguments),
    /// The main job on the embedded data set.
    Demo(demo::Arguments),
    /// What privacy will cost, before touching data.
    Plan(Box<plan::Arguments>),
    /// Recipes against each other on synthetic games: table and picture of regret.
    Compare(Box<compare::Arguments>),
    /// Attack a recipe from outside and report the privacy loss that is proved.
    Audit(audit::Arguments),
    /// All algorithms: paper, guarantee, when to use.
    Recipes(recipes::Arguments),
}

fn main() -> ExitCode {
    let result = match Program::parse().command {
        Command::Learn(arguments) => learn::run(&arguments),
        Command::Schema(arguments) => schema::run(&arguments),
        Command::Check(arguments) => check::run(&arguments),
        Command::Predict(arguments) => predict::run(&arguments),
        Command::Inspect(arguments) => inspect::run(&arguments),
        Command::Ledger(arguments) => ledger::run(&arguments),
        Command::Demo(arguments) => demo::run(&arguments),
        Command::Plan(arguments) => plan::run(&arguments),
        Command::Compare(arguments) => compare::run(&arguments),
        Command::Audit(arguments) => audit::run(&arguments),
        Command::Recipes(arguments) => recipes::run(&arguments),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever reads the output has enough of it, as `head` does.
        Err(error) if is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            show_skeleton(&error);
            eprintln!("hushstream: {}", one_line(&error));
            ExitCode::from(2)
        }
    }
}

/// Lines of a schema, ready to be filled in, for columns that nothing describes.
fn show_skeleton(error: &anyhow::Error) {
    if let Some(ReadError {
        fault: Fault::Unstated(columns),
        ..
    }) = error.chain().find_map(|cause| cause.downcast_ref())
    {
        eprintln!(
            "# Save these lines as a file, or add them to your schema, fill in every ???, and add --schema FILE.\n{}",
            skeleton_of(columns)
        );
    }
}

fn is_closed_pipe(error: &anyhow::Error) -> bool {
    let cause = error.downcast_ref::<std::io::Error>();
    cause.is_some_and(|cause| cause.kind() == std::io::ErrorKind::BrokenPipe)
}

/// An error and its causes in one line; a cause that is told already is not told again.
fn one_line(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain().map(|cause| cause.to_string()) {
        if text.is_empty() {
            text = cause;
        } else if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text.replace('\n', " ")
}
