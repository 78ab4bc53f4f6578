//! The contests of `compare` and their results.

use super::arguments::Arguments;
use anyhow::{Context, Result, bail};
use hushstream_account::Budget;
use hushstream_arena::{Contest, Outcome};
use hushstream_mechanism::sums::SumKind;
use serde::Serialize;
use std::time::Instant;

/// One line of the table, with the stable keys of `--json`.
#[derive(Serialize)]
pub(crate) struct Row {
    pub(crate) recipe: String,
    pub(crate) sum: String,
    pub(crate) epsilon: f64,
    pub(crate) delta: f64,
    pub(crate) rounds: u64,
    pub(crate) regret: Spread,
    pub(crate) loss: f64,
    pub(crate) nothing: f64,
    pub(crate) seconds: f64,
    #[serde(skip)]
    pub(crate) curve: Vec<(f64, f64)>,
}

/// Mean, smallest and largest over the repeats.
#[derive(Serialize)]
pub(crate) struct Spread {
    pub(crate) mean: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

/// Plays all contests.
pub(crate) fn rows(arguments: &Arguments) -> Result<Vec<Row>> {
    if arguments.repeats == 0 {
        bail!("--repeats = 0 is not allowed; allowed: 1 or more");
    }
    let own = [None];
    let named: Vec<Option<SumKind>> = arguments.sum.iter().copied().map(Some).collect();
    let sums = if named.is_empty() {
        &own[..]
    } else {
        &named[..]
    };
    let set = arguments
        .set
        .map(|set| set.build(arguments.dim, arguments.radius))
        .transpose()?;
    let mut rows = Vec::new();
    for &recipe in &arguments.recipes {
        for &sum in sums {
            for &epsilon in &arguments.epsilon {
                let contest = Contest {
                    recipe,
                    sum,
                    noise: arguments.noise.map(Into::into),
                    task: arguments.task,
                    game: arguments.game,
                    dimension: arguments.dim,
                    rounds: arguments.rounds(),
                    batch: arguments.batch,
                    budget: Budget::approx(epsilon, arguments.delta)?,
                    adjacency: arguments.adjacency.into(),
                    window: arguments.window,
                    curvature: arguments.curvature,
                    learning_rate: arguments.learning_rate,
                    set: set.clone(),
                    tuned: arguments.tuned,
                };
                rows.push(
                    row(&contest, arguments.repeats)
                        .with_context(|| format!("{recipe} at epsilon = {epsilon}"))?,
                );
            }
        }
    }
    Ok(rows)
}

fn row(contest: &Contest, repeats: u64) -> Result<Row> {
    let sum = contest.mechanism()?;
    let start = Instant::now();
    let outcomes = contest.repeat(0..repeats)?;
    let seconds = start.elapsed().as_secs_f64();
    let mean = |value: &dyn Fn(&Outcome) -> f64| {
        outcomes.iter().map(value).sum::<f64>() / outcomes.len() as f64
    };
    let regrets = || outcomes.iter().map(Outcome::regret);
    let curve = (0..outcomes[0].curve.len())
        .map(|i| {
            (
                outcomes[0].curve[i].0 as f64,
                mean(&|outcome| outcome.curve[i].1),
            )
        })
        .collect();
    Ok(Row {
        recipe: contest.recipe.to_string(),
        sum,
        epsilon: contest.budget.epsilon(),
        delta: contest.budget.delta(),
        rounds: contest.rounds,
        regret: Spread {
            mean: mean(&Outcome::regret),
            low: regrets().fold(f64::INFINITY, f64::min),
            high: regrets().fold(f64::NEG_INFINITY, f64::max),
        },
        loss: mean(&|outcome| outcome.loss),
        nothing: mean(&|outcome| outcome.nothing - outcome.hindsight),
        seconds,
        curve,
    })
}
