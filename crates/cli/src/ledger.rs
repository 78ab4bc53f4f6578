//! `hushstream ledger`: shows and manages the budget of a data set.

use crate::output::tell;
use anyhow::Result;
use clap::{Args, Subcommand};
use hushstream::budget::{self, RESERVE};
use hushstream::ledgers::{self, Statement};
use hushstream_mechanism::Ledger;
use hushstream_pictures::numbers::{delta, finite, percent};
use std::path::PathBuf;

/// Arguments of `ledger`.
#[derive(Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Show the promise, the (ε, δ) of each run, and the share that is used.
    Show {
        /// The ledger.
        ledger: PathBuf,
        /// Print one JSON object.
        #[arg(long)]
        json: bool,
    },
    /// Raise the budget: a decision about the people in the data. It cannot be lowered again.
    Raise {
        /// The ledger.
        ledger: PathBuf,
        /// The new ε over all runs; by default unchanged.
        #[arg(long, value_parser = finite)]
        total_epsilon: Option<f64>,
        /// The new δ over all runs; by default unchanged.
        #[arg(long, value_parser = finite)]
        total_delta: Option<f64>,
        /// The fraction of δ to set aside for runs of other kinds than the first, if the charges so
        /// far leave room for it.
        #[arg(long, value_parser = finite, default_value_t = RESERVE)]
        reserve: f64,
    },
    /// Add the charges of another ledger about the same people, and close that one.
    Merge {
        /// The ledger to keep.
        ledger: PathBuf,
        /// The ledger to close.
        from: PathBuf,
    },
    /// Allow no more charges. Runs that were paid for can continue.
    Close {
        /// The ledger.
        ledger: PathBuf,
    },
    /// Rename a ledger and its witness, for example after the data file was renamed.
    Move {
        /// The ledger.
        ledger: PathBuf,
        /// Its new name.
        to: PathBuf,
    },
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    match &arguments.command {
        Command::Show { ledger, json } => {
            let ledger = ledgers::read(ledger)?;
            let told = Statement::of(&ledger);
            if *json {
                tell!("{}", serde_json::to_string_pretty(&told)?);
            } else {
                show(&ledger, &told);
            }
        }
        Command::Raise {
            ledger,
            total_epsilon,
            total_delta,
            reserve,
        } => {
            let raised = ledgers::raise(ledger, *total_epsilon, *total_delta, *reserve)?;
            let (epsilon, bound) = raised.filter().promise();
            tell!(
                "The budget of {} is now (ε, δ) = ({epsilon}, {}). Used so far: {} %",
                ledger.display(),
                delta(bound),
                percent(raised.filter().used())
            );
        }
        Command::Merge { ledger, from } => {
            let (kept, runs) = ledgers::merge(ledger, from)?;
            tell!(
                "The {runs} charge{} of {} {} in {} now, and {} is closed. Runs that were paid \
                 from it go on with it. Used so far: {} %",
                if runs == 1 { "" } else { "s" },
                from.display(),
                if runs == 1 { "is" } else { "are" },
                ledger.display(),
                from.display(),
                percent(kept.filter().used())
            );
        }
        Command::Close { ledger } => {
            ledgers::open(ledger)?.close()?;
            tell!(
                "{} is closed: no run can be charged to it. Runs that were paid for can continue.",
                ledger.display()
            );
        }
        Command::Move { ledger, to } => {
            let was = ledgers::move_to(ledger, to)?;
            tell!("The ledger {} is {} now.", was.display(), to.display());
        }
    }
    Ok(())
}

/// Shows a ledger in words.
pub(crate) fn show(ledger: &Ledger, told: &Statement) {
    tell!(
        "A ledger: the budget of one data set over all runs. \
         Keep it with the data, and never restore an old copy."
    );
    tell!(
        "Promise: (ε, δ) = ({}, {}), {}, for {}{}, however the runs were chosen{}",
        told.epsilon,
        delta(told.delta),
        told.adjacency,
        if told.per_person {
            "persons"
        } else {
            "records"
        },
        if told.windowed { ", over a window" } else { "" },
        match budget::supposes(ledger) {
            "" => String::new(),
            supposed => format!(", {supposed}"),
        },
    );
    match told.currency {
        "approximate" => tell!(
            "Used so far: {} % of ε, {} % of δ",
            percent(told.used),
            percent(if told.reserved_delta > 0.0 {
                told.used_delta / told.reserved_delta
            } else {
                0.0
            }),
        ),
        _ => tell!("Used so far: {} %", percent(told.used)),
    }
    if matches!(told.currency, "gaussian" | "zcdp") {
        tell!(
            "Set aside for runs with a δ of their own and for the precision of draws: \
             δ = {:.2e}, of which {:.2e} is used",
            told.reserved_delta,
            told.used_delta,
        );
    }
    match &told.merged_into {
        Some(into) => tell!("Closed: its charges were merged into the ledger {into}"),
        None if told.closed => tell!("Closed: no run can be charged to it"),
        None => {}
    }
    if !told.witnessed {
        tell!("It has no witness file, so an old copy would go unnoticed");
    }
    let runs = told.runs.len();
    tell!("{runs} run{}:", if runs == 1 { "" } else { "s" });
    for run in &told.runs {
        let mut notes = String::new();
        if run.merged {
            notes.push_str(", merged from another ledger");
        } else if !run.begun {
            notes.push_str(", not begun");
        }
        if run.simulated {
            notes.push_str(", with simulated noise, which protects nobody");
        }
        tell!(
            "  {}: (ε, δ) = ({}, {}), {}{notes}",
            run.number,
            run.epsilon,
            delta(run.delta),
            run.kind
        );
    }
}
