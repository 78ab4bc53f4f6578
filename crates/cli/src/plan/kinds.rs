//! The sums that `--sum` names.

use super::arguments::Arguments;
use anyhow::{Result, bail};
use hushstream_mechanism::sums::SumKind;
use hushstream_recipes::RecipeName;

/// The sums to plan; `None` is the recipe's own.
pub(crate) fn kinds(arguments: &Arguments) -> Result<Vec<Option<SumKind>>> {
    let name = match (&arguments.sum, arguments.recipe) {
        // This recipe has only one sum.
        (Some(name), Some(RecipeName::SparseFtrl)) if matches!(name.as_str(), "all" | "best") => {
            return Ok(vec![None]);
        }
        (Some(name), _) => name.as_str(),
        (None, Some(_)) => return Ok(vec![None]),
        (None, None) => "best",
    };
    let chosen = match name {
        "all" | "best" => fitting(arguments, name == "all"),
        "window" => match arguments.window {
            Some(width) => vec![SumKind::Window(width)],
            None => bail!(
                "--sum window needs --window, the number of items for which a record is protected"
            ),
        },
        name => vec![name.parse().map_err(anyhow::Error::msg)?],
    };
    let parameters = |kind| match kind {
        SumKind::BLT => arguments.buffers.map_or(kind, SumKind::Blt),
        SumKind::NORMALISED => arguments.buffers.map_or(kind, SumKind::NormalisedBlt),
        SumKind::DENSE => SumKind::Dense(arguments.workload),
        kind => kind,
    };
    Ok(chosen.into_iter().map(parameters).map(Some).collect())
}

/// All sums that fit the noise and, if one is named, the recipe.
fn fitting(arguments: &Arguments, all: bool) -> Vec<SumKind> {
    let noise = arguments.noise_of_sum();
    let windows = arguments.window.map(SumKind::Window);
    let fits = |kind: SumKind| match arguments.recipe {
        Some(recipe) => recipe.accepts(kind, noise).is_ok(),
        // `best` is for a known horizon, where padding never improves a sum.
        None => {
            kind.accepts(noise).is_ok()
                && (all || !(kind.needs_no_horizon() || kind == SumKind::PaddedTree))
        }
    };
    let windows = windows.filter(|_| arguments.recipe.is_some());
    let every = SumKind::ALL.into_iter().chain(windows);
    every.filter(|&kind| fits(kind)).collect()
}
