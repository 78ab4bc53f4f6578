//! The contests of `compare` and their results.

use super::arguments::{Arguments, TaskName};
use super::decisions;
use crate::sets::LossesName;
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
    pub(crate) game: String,
    pub(crate) epsilon: f64,
    pub(crate) delta: f64,
    pub(crate) rounds: u64,
    pub(crate) regret: Spread,
    /// The regret of the same recipe on exact sums, where it is played too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) without_privacy: Option<f64>,
    pub(crate) loss: f64,
    pub(crate) nothing: f64,
    /// What is certified before any data, where a theorem covers the game; above `trivial` it says
    /// nothing.
    pub(crate) certified: Option<f64>,
    pub(crate) trivial: Option<f64>,
    pub(crate) seconds: f64,
    #[serde(skip)]
    pub(crate) curve: Vec<(f64, f64)>,
    #[serde(skip)]
    pub(crate) exact_curve: Vec<(f64, f64)>,
}

/// Mean, smallest and largest over the repeats.
#[derive(Serialize)]
pub(crate) struct Spread {
    pub(crate) mean: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl Spread {
    pub(crate) fn of(values: &[f64]) -> Self {
        Self {
            mean: values.iter().sum::<f64>() / values.len() as f64,
            low: values.iter().copied().fold(f64::INFINITY, f64::min),
            high: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        }
    }
}

/// Plays all contests.
pub(crate) fn rows(arguments: &Arguments) -> Result<Vec<Row>> {
    if arguments.repeats == 0 {
        bail!("--repeats = 0 is not allowed; allowed: 1 or more");
    }
    arguments.check()?;
    let own = [None];
    let named: Vec<Option<SumKind>> = arguments.sum.iter().copied().map(Some).collect();
    let sums = if named.is_empty() {
        &own[..]
    } else {
        &named[..]
    };
    let TaskName::Losses(task) = arguments.task else {
        return decisions::rows(arguments, sums);
    };
    let mut rows = Vec::new();
    for (&recipe, &game) in pairs(&arguments.recipes, arguments.games()) {
        let dimension = arguments.dim(game)?;
        let set = arguments.set.as_ref();
        let set = set.map(|set| set.build(dimension, arguments.radius));
        let set = set.transpose()?;
        for (&sum, &epsilon) in pairs(sums, &arguments.epsilon) {
            let contest = Contest {
                recipe,
                sum,
                noise: arguments.noise.map(Into::into),
                task,
                game,
                dimension,
                rounds: arguments.rounds(),
                batch: arguments.batch.unwrap_or(1),
                restart: arguments.restart_every,
                budget: Budget::approx(epsilon, arguments.delta)?,
                adjacency: arguments.adjacency.into(),
                window: arguments.window,
                curvature: arguments.curvature,
                learning_rate: arguments.learning_rate,
                set: set.clone(),
                losses: arguments.losses.map(LossesName::unit),
                tuned: arguments.tuned,
            };
            rows.push(
                row(&contest, arguments.repeats)
                    .with_context(|| format!("{recipe} at epsilon = {epsilon}"))?,
            );
        }
    }
    Ok(rows)
}

/// Every one of the first with every one of the second.
pub(crate) fn pairs<'a, A, B>(
    first: &'a [A],
    second: &'a [B],
) -> impl Iterator<Item = (&'a A, &'a B)> {
    let with = move |a| second.iter().map(move |b| (a, b));
    first.iter().flat_map(with)
}

fn row(contest: &Contest, repeats: u64) -> Result<Row> {
    let recipe = contest.recipe()?;
    let start = Instant::now();
    let outcomes = contest.repeat(0..repeats)?;
    let seconds = start.elapsed().as_secs_f64();
    let mean = |value: &dyn Fn(&Outcome) -> f64| {
        outcomes.iter().map(value).sum::<f64>() / outcomes.len() as f64
    };
    let regrets: Vec<f64> = outcomes.iter().map(Outcome::regret).collect();
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
        sum: recipe.mechanism(),
        game: contest.game.to_string(),
        epsilon: contest.budget.epsilon(),
        delta: contest.budget.delta(),
        rounds: contest.rounds,
        regret: Spread::of(&regrets),
        without_privacy: None,
        loss: mean(&|outcome| outcome.loss),
        nothing: mean(&|outcome| outcome.nothing - outcome.hindsight),
        certified: contest.certified()?.map(|bound| bound.value),
        trivial: recipe.trivial_regret(),
        seconds,
        curve,
        exact_curve: Vec::new(),
    })
}
