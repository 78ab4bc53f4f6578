//! `hushstream inspect`: the contents of a model, a ledger or a state folder.

use crate::output::tell;
use crate::{explain, ledger};
use anyhow::Result;
use clap::Args;
use hushstream::data::is_rewards;
use hushstream::inspect::{Inspected, inspect};
use hushstream::ledgers::Statement;
use hushstream::model::Model;
use hushstream_pictures::numbers::grouped;
use hushstream_read::TargetKind;
use std::path::PathBuf;

/// Arguments of `inspect`.
#[derive(Args)]
pub(crate) struct Arguments {
    /// A model, a ledger, or a state folder.
    file: PathBuf,
    /// Number of weights or columns to show, largest first.
    #[arg(long, default_value_t = 20)]
    weights: usize,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    match inspect(&arguments.file)? {
        Inspected::Model(read, notes) => {
            notes.iter().for_each(|note| eprintln!("{note}"));
            model(&read, arguments.weights)?;
        }
        Inspected::Ledger(read) => ledger::show(&read, &Statement::of(&read)),
        Inspected::State(card) => tell!(
            "The state of a run: SECRET, it holds private data and the key of its noise.\n{card}"
        ),
    }
    Ok(())
}

fn model(model: &Model, most: usize) -> Result<()> {
    let may = if model.guarantee.is_simulated() {
        "A model with simulated noise, which protects nobody"
    } else if model.guarantee.window().is_some() {
        "A model that protects a record for a while only"
    } else {
        "A model that may be published"
    };
    tell!(
        "{may}, release {} of {}.",
        grouped(model.release),
        model.recipe
    );
    let offset = match model.layout.target() {
        TargetKind::Number { .. } => format!(", as {} plus the score", model.offset),
        _ => String::new(),
    };
    tell!("It predicts {}{offset}.\n", model.predicts());
    tell!("{}\n", model.guarantee);
    if model.tables.is_some() {
        tell!("{}", explain::text(&model.explain()?, most));
        return Ok(());
    }
    tell!(
        "Weights, the largest of {}:",
        grouped(model.weights.len() as u64)
    );
    for (name, weight) in model.largest(most) {
        tell!("  {weight:>14.6}  {name}");
    }
    if let Some(arms) = &model.arms {
        let number = if is_rewards(&model.layout) {
            "reward of each arm, where more is better"
        } else {
            "loss of each arm, where less is better"
        };
        tell!("\nWhat its releases tell about the average {number}, by inverse propensities:");
        for arm in arms.iter().take(most) {
            tell!(
                "  {:>14.6} ± {:.6}  {}, played in {} batches",
                arm.ips,
                arm.standard_error,
                arm.arm,
                grouped(arm.plays)
            );
        }
    }
    Ok(())
}
