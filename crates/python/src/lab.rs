//! Attacks and comparisons on simulated noise, and the accountant: nothing here protects anybody.

use crate::error::{raised, refused};
use crate::run::json;
use crate::settings::named;
use hushstream_account::{Budget, Charge, Epsilon, Mu, Rho, Spent};
use hushstream_arena::{Contest, Outcome};
use hushstream_audit::{AuditError, Effort, Target};
use pyo3::prelude::*;
use serde_json::{Value, json};
use std::sync::Mutex;

/// Attacks a recipe and proves how much privacy is lost at least, as JSON.
#[pyfunction]
pub(crate) fn audit(
    py: Python<'_>,
    recipe: &str,
    sum: Option<&str>,
    budget: (f64, f64),
    rounds: Option<u64>,
    effort: (u64, f64, u64),
) -> PyResult<String> {
    let (runs, confidence, seed) = effort;
    let recipe = named("recipe", Some(recipe))?;
    let sum = named("sum", sum)?;
    let budget = Budget::approx(budget.0, budget.1).map_err(raised)?;
    if !(confidence > 0.0 && confidence < 1.0) {
        return Err(refused("a confidence lies between 0 and 1"));
    }
    let told = py.detach(|| -> Result<Value, AuditError> {
        let Some(recipe) = recipe else {
            return Ok(Value::Null);
        };
        let mut target = Target::new(recipe, sum, budget)?;
        if let Some(rounds) = rounds {
            target.releases = rounds.saturating_sub(1);
        }
        let effort = Effort::runs(runs, 1.0 - confidence, seed);
        let verdict = hushstream_audit::audit(target.claim()?, &target.duels()?, effort)?;
        let (epsilon, delta) = verdict.claim.budget();
        Ok(json!({
            "recipe": target.recipe.to_string(),
            "sum": target.sum.map(|sum| sum.to_string()),
            "claimed": { "epsilon": epsilon, "delta": delta, "mu": verdict.claim.mu() },
            "lower_bound": {
                "epsilon": verdict.epsilon,
                "delta": verdict.delta,
                "mu": verdict.mu,
                "confidence": 1.0 - verdict.error,
            },
            "share": verdict.share,
            "runs": verdict.runs,
            "attack": verdict.attack,
            "violated": verdict.violated(),
        }))
    });
    json(&told.map_err(|error| refused(error.to_string()))?)
}

/// Plays a recipe on a synthetic game, as JSON.
#[pyfunction]
pub(crate) fn compare(
    py: Python<'_>,
    recipe: &str,
    sum: Option<&str>,
    game: (String, String),
    sizes: (usize, u64, u64, u64),
    budget: (f64, f64),
    adjacency: &str,
) -> PyResult<String> {
    let ((task, game), (epsilon, delta)) = (game, budget);
    let (dimension, rounds, batch, repeats) = sizes;
    let stated = |what, name| named(what, Some(name));
    let (Some(recipe), Some(task), Some(game), Some(adjacency)) = (
        stated("recipe", recipe)?,
        named("task", Some(&task))?,
        named("game", Some(&game))?,
        named("adjacency", Some(adjacency))?,
    ) else {
        return Err(refused(
            "a recipe, a task, a game and an adjacency are needed",
        ));
    };
    if repeats == 0 {
        return Err(refused("repeats=0 is not allowed; allowed: 1 or more"));
    }
    let contest = Contest {
        recipe,
        sum: named("sum", sum)?,
        noise: None,
        task,
        game,
        dimension,
        rounds,
        batch,
        restart: None,
        budget: Budget::approx(epsilon, delta).map_err(raised)?,
        adjacency,
        window: None,
        curvature: None,
        learning_rate: None,
        set: None,
        losses: None,
        tuned: false,
    };
    let told = py.detach(|| {
        let mechanism = contest.recipe()?.mechanism();
        Ok((mechanism, contest.repeat(0..repeats)?))
    });
    let (sum, outcomes) =
        told.map_err(|error: hushstream_arena::ArenaError| refused(error.to_string()))?;
    let count = outcomes.len() as f64;
    let mean = |value: &dyn Fn(&Outcome) -> f64| outcomes.iter().map(value).sum::<f64>() / count;
    json(&json!({
        "recipe": contest.recipe.to_string(),
        "sum": sum,
        "epsilon": epsilon,
        "delta": delta,
        "rounds": rounds,
        "regret": mean(&Outcome::regret),
        "regrets": outcomes.iter().map(Outcome::regret).collect::<Vec<f64>>(),
        "loss": mean(&|outcome| outcome.loss),
        "nothing": mean(&|outcome| outcome.nothing - outcome.hindsight),
    }))
}

/// What several releases cost together, rounded against ourselves.
#[pyclass(module = "hushstream._native", frozen)]
pub(crate) struct Spending(Mutex<Spent>);

#[pymethods]
impl Spending {
    #[new]
    fn new() -> Self {
        Self(Mutex::new(Spent::new()))
    }

    /// Adds a charge of a kind, so many times.
    fn add(&self, kind: &str, amount: f64, delta: f64, times: u64) -> PyResult<()> {
        let charge = match kind {
            "gaussian" => Charge::Gaussian(Mu::new(amount).map_err(raised)?),
            "zcdp" => Charge::Zcdp(Rho::new(amount).map_err(raised)?),
            "pure" => Charge::Pure(Epsilon::new(amount).map_err(raised)?),
            "approximate" => Charge::Approximate(Budget::approx(amount, delta).map_err(raised)?),
            _ => return Err(refused("a charge is gaussian, zcdp, pure or approximate")),
        };
        let mut spent = self.0.lock().map_err(crate::error::broken)?;
        (0..times)
            .try_for_each(|_| spent.add(&charge))
            .map_err(raised)
    }

    /// The least ε at this δ.
    fn epsilon(&self, delta: f64) -> PyResult<f64> {
        let spent = self.0.lock().map_err(crate::error::broken)?;
        spent.epsilon_at(delta).map_err(raised)
    }

    /// The least δ at this ε.
    fn delta(&self, epsilon: f64) -> PyResult<f64> {
        let spent = self.0.lock().map_err(crate::error::broken)?;
        spent.delta_at(epsilon).map_err(raised)
    }
}

/// μ of Gaussian noise of this deviation on values that one record moves so far.
#[pyfunction]
pub(crate) fn gaussian_mu(sensitivity: f64, sigma: f64) -> PyResult<f64> {
    Ok(Mu::of_noise(sensitivity, sigma).map_err(raised)?.get())
}
