//! What is told from public numbers: plans, recipes and ledgers.

use crate::error::raised;
use crate::run::json;
use crate::settings::Settings;
use hushstream::ledgers::{self, Statement};
use hushstream_pictures::fragment;
use hushstream_recipes::CATALOGUE;
use pyo3::prelude::*;
use serde_json::{Value, json};
use std::path::PathBuf;

/// The plan of a run, as JSON. It spends nothing.
#[pyfunction]
pub(crate) fn plan(py: Python<'_>, settings: &str) -> PyResult<String> {
    let learner = Settings::parse(settings)?.learner()?;
    let plan = py.detach(|| learner.plan().map_err(raised))?;
    let (epsilon, delta) = plan.budget;
    json(&json!({
        "recipe": plan.recipe.to_string(),
        "headline": plan.headline,
        "size": plan.size.0,
        "things": plan.size.1,
        "records": plan.records,
        "horizon_unknown": plan.horizon_unknown,
        "epsilon": epsilon,
        "delta": delta,
        "adjacency": plan.adjacency.to_string(),
        "parameters": plan.parameters,
        "warnings": plan.warnings,
        "text": plan.to_string(),
    }))
}

/// The recipes, as JSON.
#[pyfunction]
pub(crate) fn recipes() -> PyResult<String> {
    let told = |entry: &hushstream_recipes::Entry| {
        json!({
            "recipe": entry.name,
            "source": entry.source,
            "errata": entry.errata,
            "guarantee": entry.guarantee,
            "when": entry.when,
            "mechanism": entry.mechanism.to_string(),
            "bound": { "printed": entry.printed, "holds": entry.holds },
        })
    };
    json(&CATALOGUE.iter().map(told).collect::<Vec<Value>>())
}

/// What a ledger says, as JSON. It changes nothing.
#[pyfunction]
pub(crate) fn ledger(path: PathBuf) -> PyResult<String> {
    json(&Statement::of(&ledgers::read(&path).map_err(raised)?))
}

/// Raises the budget of a ledger.
#[pyfunction]
pub(crate) fn ledger_raise(
    path: PathBuf,
    epsilon: Option<f64>,
    delta: Option<f64>,
) -> PyResult<()> {
    let reserve = hushstream::budget::RESERVE;
    ledgers::raise(&path, epsilon, delta, reserve).map_err(raised)?;
    Ok(())
}

/// A guarantee for notebooks.
#[pyfunction]
pub(crate) fn card(words: &str, is_simulated: bool, facts: Vec<(String, String)>) -> String {
    fragment::card(words, is_simulated, &facts)
}

/// A table for notebooks.
#[pyfunction]
pub(crate) fn table(
    title: &str,
    head: Vec<String>,
    rows: Vec<Vec<String>>,
    facts: Vec<(String, String)>,
) -> String {
    fragment::table(title, &head, &rows, &facts)
}
