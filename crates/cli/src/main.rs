//! The `hushstream` program.

mod chart;
mod compare;
mod demo;
mod figure;
mod inspect;
mod learn;
mod names;
mod numbers;
mod plan;
mod predict;
mod recipes;
mod sets;

use clap::{Parser, Subcommand};
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
    /// A published model on new data.
    Predict(predict::Arguments),
    /// What a model, a ledger or a state folder holds.
    Inspect(inspect::Arguments),
    /// The main job on the embedded data set.
    Demo(demo::Arguments),
    /// What privacy will cost, before touching data.
    Plan(Box<plan::Arguments>),
    /// Recipes against each other on synthetic games: table and picture of regret.
    Compare(Box<compare::Arguments>),
    /// All algorithms: paper, guarantee, when to use.
    Recipes(recipes::Arguments),
}

fn main() -> ExitCode {
    let result = match Program::parse().command {
        Command::Learn(arguments) => learn::run(&arguments),
        Command::Predict(arguments) => predict::run(&arguments),
        Command::Inspect(arguments) => inspect::run(&arguments),
        Command::Demo(arguments) => demo::run(&arguments),
        Command::Plan(arguments) => plan::run(&arguments),
        Command::Compare(arguments) => compare::run(&arguments),
        Command::Recipes(arguments) => recipes::run(&arguments),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("hushstream: {error:#}");
            ExitCode::from(2)
        }
    }
}
