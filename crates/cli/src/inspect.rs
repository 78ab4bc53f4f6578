//! `hushstream inspect`: the contents of a model, a ledger or a state folder.

use crate::output::tell;
use crate::{explain, ledger};
use anyhow::{Context, Result, bail};
use clap::Args;
use hushstream::data::is_rewards;
use hushstream::model::Model;
use hushstream_pictures::numbers::grouped;
use hushstream_read::TargetKind;
use std::path::{Path, PathBuf};

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
    let path = &arguments.file;
    if path.is_dir() {
        return state(path);
    }
    let start = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    if start.first() == Some(&b'{') {
        let (read, notes) = Model::read(path)?;
        notes.iter().for_each(|note| eprintln!("{note}"));
        return model(&read, arguments.weights);
    }
    let unknown = || format!("{} is neither a model nor a ledger", path.display());
    ledger::show(path, false).with_context(unknown)
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
    let dimension = model.layout.dimension();
    // A thresholded model is mostly zeros.
    let mut order: Vec<usize> = (0..model.weights.len())
        .filter(|&index| model.weights[index].abs() > 0.0)
        .collect();
    order.sort_by(|a, b| model.weights[*b].abs().total_cmp(&model.weights[*a].abs()));
    tell!(
        "Weights, the largest of {}:",
        grouped(model.weights.len() as u64)
    );
    for index in order.into_iter().take(most) {
        let name = model.layout.feature_name(index % dimension);
        let class = match model.layout.target() {
            TargetKind::Class { classes } => {
                format!(
                    " [{}]",
                    classes.get(index / dimension).map_or("", String::as_str)
                )
            }
            _ => String::new(),
        };
        tell!("  {:>14.6}  {name}{class}", model.weights[index]);
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

fn state(path: &Path) -> Result<()> {
    let card = path.join("run.json");
    let Ok(text) = std::fs::read_to_string(&card) else {
        bail!("{} holds no run", path.display());
    };
    tell!("The state of a run: SECRET, it holds private data and the key of its noise.\n{text}");
    Ok(())
}
