//! The rows of `plan`, one for each sum, with the stable keys of `--json`.

use super::arguments::Arguments;
use super::kinds::kinds;
use super::sparse;
use super::time::{of_recipe, of_sum};
use anyhow::{Result, bail};
use hushstream_account::{Budget, Charge, Guarantee};
use hushstream_mechanism::sums::{
    Geometry, Noise, PlanError, SumKind, SumPlan, SumRequest, Workload,
};
use hushstream_recipes::{Recipe, RecipeError, RecipeName, RecipeRequest, SparseRecipe};
use serde::Serialize;

/// One planned sum, and the recipe on it if one was named.
#[derive(Serialize)]
pub(crate) struct Row {
    pub(crate) recipe: Option<String>,
    pub(crate) sum: String,
    pub(crate) noise: Noise,
    pub(crate) mu: Option<f64>,
    pub(crate) releases: u64,
    pub(crate) levels: Option<u32>,
    pub(crate) node_sigma: f64,
    pub(crate) prefix_sd_max: f64,
    /// What a stated workload counts; left out if that is the worst release.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) workload_sd: Option<f64>,
    pub(crate) state_vectors: u64,
    pub(crate) memory_bytes: u64,
    pub(crate) ns_per_round: f64,
    pub(crate) regret_bound: Option<f64>,
    /// The largest possible regret.
    pub(crate) trivial_regret: Option<f64>,
    pub(crate) parameters: Parameters,
    pub(crate) guarantee: Guarantee,
    #[serde(skip)]
    pub(crate) plan: SumPlan,
}

#[derive(Serialize)]
pub(crate) struct Parameters {
    pub(crate) name: String,
    pub(crate) dim: u32,
    pub(crate) bound: f64,
    pub(crate) batch: u64,
    pub(crate) radius: i64,
    pub(crate) sensitivity: f64,
    pub(crate) noise_scale: u64,
    #[serde(flatten)]
    pub(crate) calibration: Calibration,
}

/// The calibration of a recipe and its regret bound; all null without a recipe.
#[derive(Serialize, Default)]
pub(crate) struct Calibration {
    pub(crate) learner: Option<&'static str>,
    pub(crate) set: Option<&'static str>,
    pub(crate) diameter: Option<f64>,
    pub(crate) rounds: Option<u64>,
    /// H, or α.
    pub(crate) curvature: Option<f64>,
    /// η.
    pub(crate) learning_rate: Option<f64>,
    /// For hashed features: records with one feature after which it stands out from the noise.
    pub(crate) rows_until_signal: Option<f64>,
    /// The noise length N of the constants, and the probability that it is exceeded, unless N is
    /// the mean.
    pub(crate) noise_length: Option<f64>,
    pub(crate) noise_beta: Option<f64>,
    /// The source of the bound and its sense, or the reason why there is none.
    pub(crate) regret_theorem: Option<&'static str>,
    pub(crate) regret_holds: Option<String>,
    pub(crate) regret_missing: Option<String>,
}

/// The rows that the flags ask for.
pub(crate) fn rows(arguments: &Arguments) -> Result<Vec<Row>> {
    let kinds = kinds(arguments)?;
    let mut planned = Vec::new();
    for kind in &kinds {
        match plan(arguments, *kind) {
            Ok(plan) => planned.push(plan),
            // In a comparison, sums that do not fit are left out; alone, that is an error.
            Err(error) if kinds.len() == 1 => return Err(error),
            Err(error) => eprintln!(
                "{}: {error}",
                kind.map_or_else(String::new, |k| k.to_string())
            ),
        }
    }
    let best = arguments.wants("best") || (arguments.sum.is_none() && arguments.recipe.is_none());
    if best {
        let error = |planned: &Planned| planned.sum().workload_sd(arguments.workload);
        planned.sort_by(|a, b| error(a).total_cmp(&error(b)));
        planned.truncate(1);
    }
    if planned.is_empty() {
        bail!("no sum fits this request");
    }
    planned
        .iter()
        .map(|planned| row(arguments, planned))
        .collect()
}

enum Planned {
    Sum(Box<SumPlan>),
    Recipe(Box<Recipe>),
    Sparse(Box<SparseRecipe>),
}

impl Planned {
    fn sum(&self) -> &SumPlan {
        match self {
            Self::Sum(plan) => plan,
            Self::Recipe(recipe) => recipe.plan(),
            Self::Sparse(recipe) => recipe.plan(),
        }
    }
}

fn plan(arguments: &Arguments, kind: Option<SumKind>) -> Result<Planned> {
    match (arguments.recipe, kind) {
        (Some(RecipeName::SparseFtrl), kind) => {
            let recipe = sparse::recipe(arguments, kind)?;
            Ok(Planned::Sparse(Box::new(recipe)))
        }
        (Some(recipe), kind) => {
            let recipe = recipe_request(arguments, recipe, kind)?.plan()?;
            Ok(Planned::Recipe(Box::new(recipe)))
        }
        (None, Some(kind)) => Ok(Planned::Sum(Box::new(
            sum_request(arguments, kind)?.plan()?,
        ))),
        (None, None) => bail!("no sum fits this request"),
    }
}

fn recipe_request(
    arguments: &Arguments,
    recipe: RecipeName,
    sum: Option<SumKind>,
) -> Result<RecipeRequest> {
    let task = &arguments.task;
    let dim = arguments.dimension()? as usize;
    Ok(RecipeRequest {
        recipe,
        objective: task.objective(recipe, dim)?,
        set: arguments.set_of(recipe)?,
        rounds: arguments.rounds.unwrap_or(0),
        batch: arguments.batch,
        budget: Budget::approx(arguments.epsilon, arguments.delta)?,
        adjacency: arguments.adjacency.into(),
        participation: arguments.participation(),
        sum,
        noise: arguments.noise.map(Into::into),
        window: arguments.window.or(arguments.rounds),
        curvature: task.curvature(recipe),
        learning_rate: task.learning_rate,
        tuned: task.tuned,
    })
}

fn sum_request(arguments: &Arguments, kind: SumKind) -> Result<SumRequest> {
    let releases = match (arguments.releases, arguments.rounds) {
        (Some(releases), _) => releases,
        (None, Some(rounds)) if rounds >= 2 => rounds - 1,
        _ => bail!(
            "--rounds must be at least 2: a learner releases one sum fewer than it has rounds"
        ),
    };
    Ok(SumRequest {
        kind,
        noise: arguments.noise_of_sum(),
        releases,
        dimension: arguments.dim,
        bound: arguments.bound,
        geometry: Geometry::Ball,
        least_sigma: 0.0,
        batch: arguments.batch,
        adjacency: arguments.adjacency.into(),
        participation: arguments.participation(),
        budget: Budget::approx(arguments.epsilon, arguments.delta)?,
    })
}

fn row(arguments: &Arguments, planned: &Planned) -> Result<Row> {
    let plan = planned.sum();
    let request = plan.request();
    let (ns_per_round, guarantee, calibration, regret_bound, recipe) = match planned {
        Planned::Sum(plan) => {
            let guarantee = plan.guarantee(false)?;
            (of_sum(plan)?, guarantee, Calibration::default(), None, None)
        }
        Planned::Recipe(recipe) => {
            let (calibration, bound) = calibration(recipe)?;
            let name = recipe.request().recipe.to_string();
            let guarantee = recipe.guarantee(false).map_err(PlanError::from)?;
            (
                of_recipe(recipe)?,
                guarantee,
                calibration,
                bound,
                Some(name),
            )
        }
        Planned::Sparse(recipe) => (
            sparse::time(recipe)?,
            recipe.guarantee(false)?,
            sparse::calibration(recipe),
            Some(recipe.regret_bound().value),
            Some(RecipeName::SparseFtrl.to_string()),
        ),
    };
    let (state_vectors, memory_bytes) = match planned {
        Planned::Sparse(recipe) => (1, recipe.memory_bytes()),
        _ => (plan.state_vectors(), plan.memory_bytes()),
    };
    Ok(Row {
        recipe,
        sum: request.kind.to_string(),
        noise: request.noise,
        mu: match plan.charge()?.charge {
            Charge::Gaussian(mu) => Some(mu.get()),
            _ => None,
        },
        releases: request.releases,
        levels: plan.levels(),
        node_sigma: plan.node_sigma(),
        prefix_sd_max: plan.prefix_sd_max(),
        workload_sd: (arguments.workload != Workload::Max)
            .then(|| plan.workload_sd(arguments.workload)),
        state_vectors,
        memory_bytes,
        ns_per_round,
        regret_bound,
        trivial_regret: match planned {
            Planned::Recipe(recipe) => recipe.trivial_regret(),
            Planned::Sparse(recipe) => Some(recipe.trivial_regret()),
            Planned::Sum(_) => None,
        },
        parameters: Parameters {
            name: plan.name(),
            dim: request.dimension,
            bound: request.bound,
            batch: request.batch,
            radius: plan.radius(),
            sensitivity: plan.sensitivity(),
            noise_scale: 1 << 30,
            calibration,
        },
        guarantee,
        plan: plan.clone(),
    })
}

fn calibration(recipe: &Recipe) -> Result<(Calibration, Option<f64>), RecipeError> {
    let positive = |value: f64| (value > 0.0).then_some(value);
    let bound = recipe.regret_bound();
    let set = &recipe.request().set;
    let calibration = Calibration {
        learner: Some(recipe.learner()?.name()),
        set: Some(set.name()),
        diameter: Some(set.diameter()),
        rounds: Some(recipe.request().rounds),
        curvature: positive(recipe.curvature()),
        learning_rate: positive(recipe.learning_rate()),
        rows_until_signal: None,
        noise_length: recipe.noise_length(),
        noise_beta: recipe.noise_beta(),
        regret_theorem: bound.as_ref().ok().map(|bound| bound.theorem),
        regret_holds: bound.as_ref().ok().map(|bound| bound.holds.to_string()),
        regret_missing: bound.as_ref().err().cloned(),
    };
    Ok((calibration, bound.ok().map(|bound| bound.value)))
}
