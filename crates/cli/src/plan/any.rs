//! Plans of recipes that do not stand on sums: experts, bandits, nets, solvers, function values and
//! iterates.

use super::Arguments;
use crate::output::tell;
use anyhow::{Result, bail};
use hushstream::warnings::{large_delta, trivial_bound};
use hushstream_account::{Budget, Guarantee};
use hushstream_mechanism::sums::SumKind;
use hushstream_pictures::numbers::{grouped, short};
use hushstream_recipes::{
    AnyRecipe, AnyRequest, ExpertsRecipe, MechanismKind, PolQuestion, RecipeName, RegretBound,
};
use serde::Serialize;

/// One plan, with the stable keys of `--json`. Losses of experts and arms lie in [0, 1].
#[derive(Serialize)]
struct Planned {
    recipe: String,
    choices: u32,
    rounds: u64,
    batch: u64,
    releases: u64,
    noise: Option<String>,
    /// Of one number of a release.
    noise_sd: Option<f64>,
    regret_bound: Option<f64>,
    /// The largest possible regret.
    trivial_regret: Option<f64>,
    /// The source of the bound and its sense, or the reason why there is none.
    regret_theorem: Option<&'static str>,
    regret_holds: Option<String>,
    regret_missing: Option<String>,
    /// For one model: the expected loss above the best, but with probability `--failing`.
    excess_risk: Option<f64>,
    guarantee: Guarantee,
}

/// Whether a recipe is planned here.
pub(crate) fn is_one(recipe: RecipeName) -> bool {
    let kind = recipe.entry().mechanism;
    recipe == RecipeName::Tables
        || !matches!(kind, MechanismKind::Sum(_) | MechanismKind::SparseTree)
}

/// Whom --gap is for.
pub(crate) const GAP: &str =
    "--gap is for limited-updates among experts: other bounds have no use for it";

/// Plans for --dim coordinates or choices and --rounds.
pub(crate) fn run(arguments: &Arguments, recipe: RecipeName) -> Result<()> {
    let Some(rounds) = arguments.rounds else {
        bail!("{recipe} plays rounds: state --rounds");
    };
    let planned = request(arguments, recipe, rounds)?.plan()?;
    if let Some(gap) = arguments.gap {
        let draws_once = |experts: &ExpertsRecipe| experts.plan().doubling_rate().is_some();
        if !matches!(&planned, AnyRecipe::Experts(experts) if draws_once(experts)) {
            bail!("{GAP}");
        }
        if !(gap > 0.0 && gap <= 1.0) {
            bail!("--gap {gap}: allowed are numbers above 0 and at most 1, the range of losses");
        }
    }
    let bound = match (&planned, arguments.failing) {
        (AnyRecipe::Iterate(iterates), Some(failing)) => iterates.certified(Some(failing)),
        (AnyRecipe::Experts(experts), _) => experts.certified_apart(arguments.gap.unwrap_or(0.0)),
        _ => planned.regret_bound(),
    };
    let shown = shown(arguments, &planned, &bound)?;
    if arguments.json {
        tell!("{}", serde_json::to_string_pretty(&shown)?);
    } else {
        print(arguments, &planned, &shown);
    }
    Ok(())
}

fn request(arguments: &Arguments, recipe: RecipeName, rounds: u64) -> Result<AnyRequest> {
    let (task, dim) = (&arguments.task, arguments.dimension()? as usize);
    let set = arguments.set_of(recipe)?;
    Ok(AnyRequest {
        recipe,
        objective: task.objective(recipe, dim)?,
        set,
        values: None,
        rounds,
        // 1 is the flag's default and counts as not stated.
        restart: arguments.restart_every,
        batch: (arguments.batch > 1).then_some(arguments.batch),
        budget: Budget::approx(arguments.epsilon, arguments.delta)?,
        adjacency: arguments.adjacency.into(),
        participation: arguments.participation(),
        sum: match arguments.sum.as_deref() {
            None => None,
            Some("best" | "all") => bail!("{recipe} has one sum: leave out --sum, or name one"),
            Some(name) => Some(name.parse::<SumKind>().map_err(anyhow::Error::msg)?),
        },
        noise: arguments.noise.map(Into::into),
        window: arguments.window,
        curvature: task.curvature,
        learning_rate: task.learning_rate,
        tuned: task.tuned,
    })
}

fn shown(
    arguments: &Arguments,
    planned: &AnyRecipe,
    bound: &Result<RegretBound, String>,
) -> Result<Planned> {
    let recipe = planned.recipe();
    let question = PolQuestion {
        error: 1.0,
        failing: arguments.failing.unwrap_or(0.05),
        lipschitz: arguments.task.lipschitz(),
        radius: arguments.task.radius.unwrap_or(1.0),
        dimension: u64::from(arguments.dim),
        budget: Budget::approx(arguments.epsilon, arguments.delta)?,
        adjacency: arguments.adjacency.into(),
    };
    let noise = planned.noise();
    Ok(Planned {
        recipe: recipe.to_string(),
        choices: arguments.dimension()?,
        rounds: planned.rounds(),
        batch: planned.batch(),
        releases: planned.releases(),
        noise_sd: noise.as_ref().map(|(_, deviation)| *deviation),
        noise: noise.map(|(law, _)| law),
        trivial_regret: planned.trivial_regret(),
        regret_bound: bound.as_ref().ok().map(|bound| bound.value),
        regret_theorem: bound.as_ref().ok().map(|bound| bound.theorem),
        regret_holds: bound.as_ref().ok().map(|bound| bound.holds.to_string()),
        regret_missing: bound.as_ref().err().cloned(),
        excess_risk: (recipe == RecipeName::Pol)
            .then(|| question.least_error(planned.rounds()).ok())
            .flatten(),
        guarantee: planned.guarantee(false)?,
    })
}

fn print(arguments: &Arguments, planned: &AnyRecipe, shown: &Planned) {
    let of = match planned {
        AnyRecipe::Experts(recipe) if recipe.points().is_empty() => "choices".to_owned(),
        AnyRecipe::Experts(recipe) => {
            format!(
                "coordinates, a net of {}",
                grouped(recipe.points().len() as u64)
            )
        }
        AnyRecipe::Bandit(_) => "choices".to_owned(),
        _ => "coordinates".to_owned(),
    };
    tell!(
        "{}: {} {of}, {} rounds, {} releases, a play held for {}",
        shown.recipe,
        grouped(u64::from(shown.choices)),
        grouped(shown.rounds),
        grouped(shown.releases),
        grouped(shown.batch)
    );
    if let (Some(noise), Some(deviation)) = (&shown.noise, shown.noise_sd) {
        tell!(
            "  noise of one number: {noise}, standard deviation {}",
            short(deviation)
        );
    }
    match (shown.regret_bound, &shown.regret_missing) {
        (Some(bound), _) => tell!(
            "  certified regret: {}, {} per round, {}\n    {}",
            short(bound),
            short(bound / shown.rounds as f64),
            shown.regret_holds.as_deref().unwrap_or_default(),
            shown.regret_theorem.unwrap_or_default()
        ),
        (None, reason) => tell!(
            "  no regret is certified: {}",
            reason.as_deref().unwrap_or("none is known")
        ),
    }
    if let Some(risk) = shown.excess_risk {
        tell!(
            "  expected loss within {} of the best, except with probability {}, with \
             --strong-convexity {} (JKT12 Theorem 6 with erratum J12)",
            short(risk),
            arguments.failing.unwrap_or(0.05),
            short(risk / arguments.task.radius.unwrap_or(1.0).powi(2))
        );
    }
    let trivial = shown.regret_bound.zip(shown.trivial_regret);
    let trivial = trivial.and_then(|(bound, most)| trivial_bound(bound, most));
    for told in trivial
        .into_iter()
        .chain(large_delta(arguments.delta, shown.rounds))
    {
        tell!("  {told}");
    }
    tell!("\n{}", shown.guarantee);
}
