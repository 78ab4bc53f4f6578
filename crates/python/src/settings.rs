//! The description of a run, as the package writes it: one JSON object.

use crate::error::{raised, refused};
use hushstream::learner::{Data, Output, Privacy};
use hushstream::{Adjacency, Learner, Schema};
use hushstream_recipes::Wishes;
use pyo3::PyResult;
use serde::Deserialize;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

/// Parameters of a run; those that are null are chosen, or have the program's default.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
#[derive(Default)]
pub(crate) struct Settings {
    schema: Schema,
    epsilon: Option<f64>,
    delta: f64,
    adjacency: Option<Adjacency>,
    rounds: Option<u64>,
    horizon_unknown: bool,
    max_per_person: Option<u64>,
    min_separation: Option<u64>,
    window: Option<u64>,
    ledger: Option<PathBuf>,
    total_epsilon: Option<f64>,
    total_delta: Option<f64>,
    seed_insecure: Option<u64>,
    recipe: Option<String>,
    sum: Option<String>,
    noise: Option<hushstream_mechanism::sums::Noise>,
    batch: Option<u64>,
    loss: Option<String>,
    radius: Option<f64>,
    learning_rate: Option<f64>,
    ridge: Option<f64>,
    tables: Option<u32>,
    passes: Option<u64>,
    least_propensity: Option<f64>,
    at_rest: bool,
    state: Option<PathBuf>,
    resume: bool,
    every: bool,
    quiet: bool,
    without_privacy: bool,
    report: Option<PathBuf>,
}

impl Settings {
    pub(crate) fn parse(text: &str) -> PyResult<Self> {
        serde_json::from_str(text).map_err(|error| refused(format!("the description: {error}")))
    }

    pub(crate) fn learner(self) -> PyResult<Learner> {
        let Some(epsilon) = self.epsilon else {
            return Err(refused(
                "state the privacy loss that people are promised: `epsilon=`, and `delta=` where \
                 it is not 0",
            ));
        };
        Ok(Learner {
            data: Data {
                schema: self.schema,
                passes: self.passes,
                least_propensity: self.least_propensity,
                at_rest: self.at_rest,
                ..Data::default()
            },
            privacy: Privacy {
                epsilon,
                delta: self.delta,
                adjacency: self.adjacency.or(Some(Adjacency::ReplaceOne)),
                rounds: self.rounds,
                horizon_unknown: self.horizon_unknown,
                max_per_person: self.max_per_person,
                min_separation: self.min_separation.unwrap_or(1),
                ledger: self.ledger,
                total_epsilon: self.total_epsilon,
                total_delta: self.total_delta,
                seed_insecure: self.seed_insecure,
                ..Privacy::default()
            },
            wishes: Wishes {
                recipe: named("recipe", self.recipe.as_deref())?,
                sum: named("sum", self.sum.as_deref())?,
                noise: self.noise,
                link: named("loss", self.loss.as_deref())?,
                batch: self.batch,
                radius: self.radius,
                learning_rate: self.learning_rate,
                ridge: self.ridge,
                window: self.window,
                tables: self.tables,
                ..Wishes::default()
            },
            decisions: hushstream::decisions::DecisionWishes::default(),
            output: Output {
                state: self.state,
                resume: self.resume,
                every: self.every,
                quiet: self.quiet,
                without_privacy: self.without_privacy,
                report: self.report,
                sync: Duration::from_millis(500),
                ..Output::default()
            },
        })
    }

    /// Whether the run in the state folder is to go on.
    pub(crate) fn resumes(&self) -> bool {
        self.resume
    }
}

/// A value by its name.
pub(crate) fn named<T: FromStr>(what: &str, name: Option<&str>) -> PyResult<Option<T>>
where
    T::Err: std::fmt::Display,
{
    name.map(|name| {
        name.parse()
            .map_err(|error: T::Err| refused(format!("`{what}=`: {error}")))
    })
    .transpose()
}

/// The plan of a run.
pub(crate) fn opened(text: &str) -> PyResult<hushstream::Run> {
    let settings = Settings::parse(text)?;
    let resumes = settings.resumes();
    let learner = settings.learner()?;
    let run = if resumes {
        learner.resume()
    } else {
        learner.start()
    };
    run.map_err(raised)
}
