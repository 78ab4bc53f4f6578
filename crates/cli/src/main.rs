//! The `hushstream` program.

mod audit;
mod check;
mod compare;
mod demo;
mod dumps;
mod elsewhere;
mod explain;
mod export;
mod figure;
mod inspect;
mod install;
mod learn;
mod ledger;
mod names;
mod output;
mod plan;
mod predict;
mod recipes;
mod schema;
#[cfg(feature = "serve")]
mod serve;
mod set_file;
mod sets;
mod track;

use clap::{Parser, Subcommand};
use hushstream_read::{Fault, ReadError, skeleton_of};
use std::process::ExitCode;

/// Private online learning: publish a model at every step, with a proof that it reveals almost
/// nothing about any one record.
#[derive(Parser)]
#[command(version, arg_required_else_help = true)]
struct Program {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Learn a model from a file of records, and state its privacy guarantee.
    Learn(Box<learn::arguments::Arguments>),
    /// Publish counts, sums, means and histograms of a file or a stream at every tick of a clock.
    Track(Box<track::Arguments>),
    /// Write the skeleton of a schema from the header of a file.
    Schema(schema::Arguments),
    /// Check a file of records: list malformed rows by line, column and kind, and spend nothing.
    Check(Box<check::Arguments>),
    /// Open a run whose rows are summed by workers, on this machine or others.
    Open(elsewhere::Open),
    /// Write the present question of such a run: public, for workers.
    Question(elsewhere::Question),
    /// Answer a question with the rows of files: a partial sum, as private as the rows.
    Partial(elsewhere::Partial),
    /// Take the partial sums of one batch, exactly once, and release the next model.
    Commit(elsewhere::Commit),
    /// Predict new data with a published model.
    Predict(predict::Arguments),
    /// Show the contents of a model, a ledger or a state folder.
    Inspect(inspect::Arguments),
    /// Show what a published model of curves and tables says, as text or as an HTML page.
    Explain(explain::Arguments),
    /// Write a published model as a SQL query or an ONNX file, to predict without Hushstream.
    Export(export::Arguments),
    /// Manage the budget of a data set: show, raise, merge, close or move its ledger.
    Ledger(ledger::Arguments),
    /// Learn from the embedded data set.
    Demo(demo::Arguments),
    /// Compute noise, error and regret bounds before touching data.
    Plan(Box<plan::Arguments>),
    /// Compare the regret of recipes on synthetic games, as a table and a picture.
    Compare(Box<compare::Arguments>),
    /// Attack a recipe and report the privacy loss that the attack proves.
    Audit(audit::Arguments),
    /// Serve private learning and decisions over HTTP.
    #[cfg(feature = "serve")]
    Serve(serve::Arguments),
    /// List all algorithms: paper, guarantee, when to use.
    Recipes(recipes::Arguments),
    /// Print the completion script of a shell.
    Completions(install::Completions),
    /// Write the manual pages of the program and of its commands to a folder.
    Man(install::Man),
}

fn main() -> ExitCode {
    dumps::forbid();
    let result = match Program::parse().command {
        Command::Learn(arguments) => learn::run(&arguments),
        Command::Track(arguments) => track::run(&arguments),
        Command::Schema(arguments) => schema::run(&arguments),
        Command::Check(arguments) => check::run(&arguments),
        Command::Open(arguments) => elsewhere::open(&arguments),
        Command::Question(arguments) => elsewhere::question(&arguments),
        Command::Partial(arguments) => elsewhere::partial(&arguments),
        Command::Commit(arguments) => elsewhere::commit(&arguments),
        Command::Predict(arguments) => predict::run(&arguments),
        Command::Inspect(arguments) => inspect::run(&arguments),
        Command::Explain(arguments) => explain::run(&arguments),
        Command::Export(arguments) => export::run(&arguments),
        Command::Ledger(arguments) => ledger::run(&arguments),
        Command::Demo(arguments) => demo::run(&arguments),
        Command::Plan(arguments) => plan::run(&arguments),
        Command::Compare(arguments) => compare::run(&arguments),
        Command::Audit(arguments) => audit::run(&arguments),
        #[cfg(feature = "serve")]
        Command::Serve(arguments) => serve::run(&arguments),
        Command::Recipes(arguments) => recipes::run(&arguments),
        Command::Completions(arguments) => install::completions(&arguments),
        Command::Man(arguments) => install::man(&arguments),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        // A closed pipe (`head`) is not an error.
        Err(error) if is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            show_skeleton(&error);
            eprintln!("hushstream: {}", one_line(&error));
            ExitCode::from(2)
        }
    }
}

/// Prints a schema skeleton for the columns that the schema does not describe.
fn show_skeleton(error: &anyhow::Error) {
    if let Some(ReadError {
        fault: Fault::Unstated(columns),
        ..
    }) = error.chain().find_map(|cause| cause.downcast_ref())
    {
        eprintln!(
            "# Save these lines as a file, or add them to your schema, \
             fill in every ???, and add --schema FILE.\n{}",
            skeleton_of(columns)
        );
    }
}

fn is_closed_pipe(error: &anyhow::Error) -> bool {
    let cause = error.downcast_ref::<std::io::Error>();
    cause.is_some_and(|cause| cause.kind() == std::io::ErrorKind::BrokenPipe)
}

/// Formats the error chain on one line, skipping repeats, with the settings of a run as flags.
fn one_line(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain() {
        let known = cause.downcast_ref::<hushstream::Error>();
        let told = known.map_or_else(|| cause.to_string(), |error| error.worded(flag));
        if text.is_empty() {
            text = told;
        } else if !text.contains(&told) {
            text = format!("{text}: {told}");
        }
        if known.is_some() {
            break; // it has told its causes
        }
    }
    text.replace('\n', " ")
}

fn flag(setting: &str) -> String {
    format!("--{setting}")
}
