//! Plans of recipes for experts, who see all losses, and for bandits, who see one.

use super::Arguments;
use anyhow::{Result, bail};
use hushstream::warnings::{large_delta, trivial_bound};
use hushstream_account::{Budget, Guarantee};
use hushstream_mechanism::feedback::{FeedbackNoise, Range};
use hushstream_mechanism::sums::Noise;
use hushstream_pictures::numbers::{grouped, short};
use hushstream_recipes::{
    Actions, Advice, BanditRequest, ExpertsRequest, MechanismKind, RecipeName,
};
use serde::Serialize;
use std::io::Write;

/// One planned choice, with the stable keys of `--json`. Losses lie in [0, 1].
#[derive(Serialize)]
struct Planned {
    recipe: String,
    choices: u32,
    rounds: u64,
    batch: u64,
    releases: u64,
    noise: Option<&'static str>,
    /// Of one answer.
    noise_sd: Option<f64>,
    regret_bound: Option<f64>,
    guarantee: Guarantee,
}

/// Whether a recipe is for experts or bandits.
pub(crate) fn is_one(recipe: RecipeName) -> bool {
    use MechanismKind::{Batch, Feedback, Selection};
    matches!(recipe.entry().mechanism, Selection | Feedback | Batch) && !recipe.plays_on_points()
}

/// Plans for --dim choices and --rounds.
pub(crate) fn run(arguments: &Arguments, recipe: RecipeName) -> Result<()> {
    let Some(rounds) = arguments.rounds else {
        bail!("{recipe} plays rounds: state --rounds");
    };
    if arguments.max_per_person.is_some() {
        bail!("{recipe} protects records, not persons: leave out --max-per-person");
    }
    if arguments.sum.is_some() {
        bail!("{recipe} uses no sum: leave out --sum");
    }
    let planned = if recipe.entry().mechanism == MechanismKind::Feedback {
        bandit(arguments, recipe, rounds)?
    } else {
        experts(arguments, recipe, rounds)?
    };
    let mut out = std::io::stdout().lock();
    if arguments.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&planned)?)?;
        return Ok(());
    }
    writeln!(
        out,
        "{}: {} choices, {} rounds, a choice held for {}",
        planned.recipe,
        planned.choices,
        grouped(rounds),
        grouped(planned.batch)
    )?;
    if let (Some(noise), Some(deviation)) = (planned.noise, planned.noise_sd) {
        writeln!(
            out,
            "  noise of an answer: {noise}, standard deviation {}",
            short(deviation)
        )?;
    }
    match planned.regret_bound {
        Some(bound) => writeln!(
            out,
            "  certified regret, for losses in [0, 1]: {}, {} per round",
            short(bound),
            short(bound / rounds as f64)
        ),
        None => writeln!(out, "  no regret is certified"),
    }?;
    let trivial = planned
        .regret_bound
        .and_then(|bound| trivial_bound(bound, rounds as f64));
    for told in trivial
        .into_iter()
        .chain(large_delta(arguments.delta, rounds))
    {
        writeln!(out, "  {told}")?;
    }
    Ok(writeln!(out, "\n{}", planned.guarantee)?)
}

/// The stated batch. 1 is the flag's default and counts as not stated.
fn batch(arguments: &Arguments) -> Option<u64> {
    (arguments.batch > 1).then_some(arguments.batch)
}

fn bandit(arguments: &Arguments, recipe: RecipeName, rounds: u64) -> Result<Planned> {
    let noise = match arguments.noise.map(Noise::from) {
        None => None,
        Some(Noise::Laplace) => Some(FeedbackNoise::Laplace),
        Some(Noise::Gaussian) => Some(FeedbackNoise::Gaussian),
        Some(other) => bail!("{other} noise is for vectors: an answer is one number; use laplace"),
    };
    let planned = BanditRequest {
        recipe,
        actions: Actions::of_arms(recipe, arguments.dim as usize)?,
        range: Range::ZeroTo(1.0),
        reading: None,
        rounds: Some(rounds),
        batch: batch(arguments),
        noise,
        budget: Budget::approx(arguments.epsilon, arguments.delta)?,
        adjacency: arguments.adjacency.into(),
    }
    .plan()?;
    let entry = recipe.entry();
    let plan = planned.plan();
    Ok(Planned {
        recipe: entry.name.to_owned(),
        choices: arguments.dim,
        rounds,
        batch: planned.batch(),
        releases: rounds / planned.batch(),
        noise: Some(match plan.noise() {
            FeedbackNoise::Laplace => "laplace",
            FeedbackNoise::Gaussian => "gaussian",
        }),
        noise_sd: Some(plan.variance().sqrt()),
        regret_bound: planned.regret_bound(),
        guarantee: plan
            .guarantee(false)?
            .of_algorithm(entry.name, entry.source, entry.errata),
    })
}

fn experts(arguments: &Arguments, recipe: RecipeName, rounds: u64) -> Result<Planned> {
    if arguments.noise.is_some() {
        bail!("{recipe} draws choices and adds no noise: leave out --noise");
    }
    let planned = ExpertsRequest {
        recipe,
        advice: Advice::Experts(arguments.dim),
        rounds: Some(rounds),
        batch: batch(arguments),
        board: None,
        budget: Budget::approx(arguments.epsilon, arguments.delta)?,
        adjacency: arguments.adjacency.into(),
    }
    .plan()?;
    let entry = recipe.entry();
    let plan = planned.plan();
    Ok(Planned {
        recipe: entry.name.to_owned(),
        choices: arguments.dim,
        rounds,
        batch: plan.batch(),
        releases: plan.most_items(),
        noise: None,
        noise_sd: None,
        regret_bound: planned.regret_bound(),
        guarantee: plan
            .guarantee(false)?
            .of_algorithm(entry.name, entry.source, entry.errata),
    })
}
