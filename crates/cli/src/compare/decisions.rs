//! Decisions by a context: the regret against the best arm for every context, with privacy and
//! without.

use super::arguments::Arguments;
use super::rows::{Row, Spread, pairs};
use anyhow::{Context, Result, bail};
use hushstream_account::Budget;
use hushstream_arena::{ContextualGame, Earned, in_parallel};
use hushstream_mechanism::sums::SumKind;
use std::time::Instant;

/// Plays every recipe with every number of arms.
pub(crate) fn rows(arguments: &Arguments, sums: &[Option<SumKind>]) -> Result<Vec<Row>> {
    let columns = arguments.dim.unwrap_or(4);
    if columns == 0 {
        bail!("--dim = 0 is not allowed; allowed: 1 or more");
    }
    let mut rows = Vec::new();
    for (&recipe, &arms) in pairs(&arguments.recipes, arguments.arms()) {
        for (&sum, &epsilon) in pairs(sums, &arguments.epsilon) {
            let game = ContextualGame {
                recipe,
                arms,
                features: columns + 1,
                rounds: arguments.rounds(),
                sum,
                noise: arguments.noise.map(Into::into),
                batch: arguments.batch,
                exploration: arguments.exploration,
                budget: Budget::approx(epsilon, arguments.delta)?,
                adjacency: arguments.adjacency.into(),
            };
            let row = row(&game, arguments.repeats);
            rows.push(row.with_context(|| format!("{recipe} at epsilon = {epsilon}"))?);
        }
    }
    Ok(rows)
}

fn row(game: &ContextualGame, repeats: u64) -> Result<Row> {
    let recipe = game.recipe()?;
    let request = recipe.plan().request();
    let start = Instant::now();
    let seeds: Vec<u64> = (0..repeats).collect();
    let played = in_parallel(&seeds, |&seed| game.play(seed))?;
    let seconds = start.elapsed().as_secs_f64();
    let mean = |value: &dyn Fn(&Earned) -> f64| {
        played.iter().map(value).sum::<f64>() / played.len() as f64
    };
    let curve = |which: usize| -> Vec<(f64, f64)> {
        let at = |i: usize| {
            (
                played[0].curve[i].0 as f64,
                mean(&|one| one.curve[i].1[which]),
            )
        };
        (0..played[0].curve.len()).map(at).collect()
    };
    let regrets: Vec<f64> = played.iter().map(|one| one.regret()[0]).collect();
    let rounds = game.rounds as f64;
    Ok(Row {
        recipe: game.recipe.to_string(),
        sum: request.kind.to_string(),
        game: format!("{} arms", game.arms),
        epsilon: game.budget.epsilon(),
        delta: game.budget.delta(),
        rounds: game.rounds,
        regret: Spread::of(&regrets),
        without_privacy: Some(mean(&|one| one.regret()[1])),
        loss: mean(&|one| (1.0 - one.private[0]) * rounds),
        nothing: mean(&|one| (one.best - one.uniform) * rounds),
        certified: recipe.regret_bound(),
        trivial: Some(rounds),
        seconds,
        curve: curve(0),
        exact_curve: curve(1),
    })
}
