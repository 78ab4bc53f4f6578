//! The settings of a model, as a client states them, and the run that they describe.

use crate::clock::Millis;
use crate::problem::Problem;
use crate::rounds::{Aggregation, Cell, Settings};
use crate::store::DatasetRow;
use hushstream::decisions::Judge;
use hushstream::read::{Encoder, MissingTarget};
use hushstream::{Adjacency, Budget, Learner, Row, Schema, Value};
use serde::{Deserialize, Serialize};

/// The longest name of an arm, and the most arms.
const ARM_BYTES: usize = 256;
const MOST_ARMS: usize = 1000;
/// The column of persons, which a schema cannot have as a feature.
pub(crate) const PERSON: &str = "person";

/// What a model does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Task {
    /// Decides among actions by a context.
    Decide,
    /// Predicts one of two classes.
    Classify,
    /// Predicts one of several classes.
    Classes,
    /// Predicts a number.
    Regress,
}

/// What decides.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// The policy.
    #[default]
    Online,
    /// The first action is answered, and the policy learns as usual.
    Shadow,
}

/// What is evaluated.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EvaluationSpec {
    /// The share of the budget, of μ².
    #[serde(default)]
    pub share: Option<f64>,
    /// `current`, `uniform` or `arm:NAME`.
    #[serde(default)]
    pub policies: Vec<String>,
}

/// Limits of persons.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PersonSpec {
    /// Slots that one person may fill.
    pub most: u64,
    /// Batches between two of them.
    #[serde(default)]
    pub separation: Option<u64>,
}

/// The settings of a model.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelSpec {
    /// The data set: the people.
    pub dataset: String,
    /// What it does.
    pub task: Task,
    /// The columns, as a schema file states them.
    pub schema: serde_json::Value,
    /// What it decides among.
    #[serde(default)]
    pub actions: Option<Vec<String>>,
    /// Slots of a batch.
    #[serde(default)]
    pub batch: Option<u64>,
    /// Batches that are planned.
    #[serde(default)]
    pub batches: Option<u64>,
    /// Slots that are planned, in place of `batches`.
    #[serde(default)]
    pub records: Option<u64>,
    /// Seconds from the first slot of a batch until it is full at the latest.
    #[serde(default)]
    pub close_after: Option<f64>,
    /// Seconds from a full batch until it is closed.
    #[serde(default)]
    pub reward_wait: Option<f64>,
    /// Bounds of rewards.
    #[serde(default)]
    pub reward_bounds: Option<(f64, f64)>,
    /// The reward of a decision that nobody told one for.
    #[serde(default)]
    pub default_reward: Option<f64>,
    /// How several rewards become one.
    #[serde(default)]
    pub aggregation: Option<Aggregation>,
    /// What γ is multiplied by.
    #[serde(default)]
    pub exploration: Option<f64>,
    /// What decides.
    #[serde(default)]
    pub mode: Option<Mode>,
    /// What is evaluated.
    #[serde(default)]
    pub evaluation: Option<EvaluationSpec>,
    /// ε of the model.
    pub epsilon: f64,
    /// δ of the model.
    pub delta: f64,
    /// Limits of persons.
    #[serde(default)]
    pub per_person: Option<PersonSpec>,
    /// The seed of noise that protects nobody.
    #[serde(default)]
    pub simulated: Option<u64>,
    /// Whether workers elsewhere sum its records, and a batch comes as these sums.
    #[serde(default)]
    pub elsewhere: bool,
}

fn wrong(place: &str, detail: impl Into<String>) -> Problem {
    Problem::unprocessable(detail).at(place)
}

fn millis(place: &str, seconds: f64) -> Result<Millis, Problem> {
    if !(0.0..=31_536_000.0).contains(&seconds) {
        return Err(wrong(place, "allowed: seconds, from 0 to a year"));
    }
    Ok((seconds * 1000.0).round() as Millis)
}

impl ModelSpec {
    /// The schema of its rows.
    ///
    /// # Errors
    /// What a schema does not have.
    pub fn schema(&self) -> Result<Schema, Problem> {
        let mut schema: Schema = serde_json::from_value(self.schema.clone())
            .map_err(|error| wrong("schema", error.to_string()))?;
        let other = [
            schema.task.is_some(),
            schema.arms.is_some() || schema.arm.is_some() || schema.propensity.is_some(),
            schema.person.is_some() || schema.time.is_some(),
        ];
        if other.contains(&true) {
            let told = "task, actions and persons are stated beside the schema, and no times";
            return Err(wrong("schema", told));
        }
        schema.missing_target = Some(MissingTarget::Null);
        if self.per_person.is_some() {
            schema.person = Some(PERSON.to_owned());
        }
        Ok(schema)
    }

    /// How many slots are planned.
    fn records(&self) -> Result<u64, Problem> {
        let most = 1_000_000_000_000;
        let records = match (self.batch, self.batches, self.records) {
            (Some(batch), Some(batches), None) => batch.checked_mul(batches),
            (_, None, Some(records)) => Some(records),
            _ => {
                let told = "state `batch` and `batches`, or `records`";
                return Err(wrong("batches", told));
            }
        };
        let is_sound = |records: &u64| (2..=most).contains(records);
        records
            .filter(is_sound)
            .ok_or_else(|| wrong("batches", "allowed: 2 to 10¹² slots in all"))
    }

    /// The run that it describes.
    ///
    /// # Errors
    /// A setting that is missing or not allowed.
    pub fn learner(&self, dataset: &DatasetRow) -> Result<Learner, Problem> {
        let mut learner = match (self.task, &self.actions) {
            (Task::Decide, Some(actions)) => {
                let is_sound = |name: &String| (1..=ARM_BYTES).contains(&name.len());
                if !(2..=MOST_ARMS).contains(&actions.len()) || !actions.iter().all(is_sound) {
                    return Err(wrong(
                        "actions",
                        "allowed: 2 to 1000 names of 1 to 256 bytes",
                    ));
                }
                Learner::decide(actions.iter().cloned())
            }
            (Task::Decide, None) => return Err(wrong("actions", "name at least two actions")),
            (_, Some(_)) => return Err(wrong("actions", "only decisions have actions")),
            (Task::Classify, _) => Learner::classify(),
            (Task::Classes, _) => Learner::classes(Vec::<String>::new()),
            (Task::Regress, _) => Learner::regress(0.0..1.0),
        };
        let mut schema = self.schema()?;
        if self.task == Task::Decide {
            let (low, high) = self.reward_bounds.unwrap_or((0.0, 1.0));
            if !(low < high && low.is_finite() && high.is_finite()) {
                return Err(wrong(
                    "reward_bounds",
                    "allowed: two numbers, the lower first",
                ));
            }
            schema.target_bounds = Some((low, high));
            let default = self.default_reward.unwrap_or(low);
            if !default.is_finite() {
                return Err(wrong("default_reward", "allowed: a number"));
            }
            learner.decisions.default_reward = Some(default);
        } else if self.reward_bounds.is_some() || self.default_reward.is_some() {
            return Err(wrong("reward_bounds", "only decisions have rewards"));
        }
        match self.task {
            Task::Classes => learner.data.schema.classes = schema.classes.clone(),
            Task::Regress => learner.data.schema.target_bounds = schema.target_bounds,
            _ => {}
        }
        // A run of T rounds releases a model before each of them: one more, and the last batch
        // counts.
        let records = self.records()? + u64::from(self.elsewhere);
        learner = learner.schema(schema).records(records);
        self.check_elsewhere()?;
        if let Some(batch) = self.batch {
            if batch == 0 {
                return Err(wrong("batch", "allowed: at least 1"));
            }
            learner = learner.batch(batch);
        }
        learner.decisions.exploration = self.exploration;
        learner.decisions.first_arm = self.mode == Some(Mode::Shadow);
        if let Some(evaluation) = &self.evaluation {
            let judges = evaluation.policies.iter().map(|name| match name.as_str() {
                "current" => Ok(Judge::Current),
                "uniform" => Ok(Judge::Uniform),
                other => match other.strip_prefix("arm:") {
                    Some(arm) => Ok(Judge::Arm(arm.to_owned())),
                    None => Err(wrong(
                        "evaluation.policies",
                        "allowed: current, uniform, arm:NAME",
                    )),
                },
            });
            learner.decisions.evaluate = Some(judges.collect::<Result<_, _>>()?);
            learner.decisions.evaluation_share = evaluation.share;
        }
        if dataset.persons != self.per_person.is_some() {
            let told = if dataset.persons {
                "the data set protects persons: state how many slots one may fill"
            } else {
                "the data set protects single records, and not persons"
            };
            return Err(wrong("per_person", told));
        }
        if let Some(limits) = &self.per_person {
            learner.privacy.max_per_person = Some(limits.most);
            learner.privacy.min_separation = limits.separation.unwrap_or(1);
        }
        let budget = Budget::approx(self.epsilon, self.delta);
        let budget = budget.map_err(|error| wrong("epsilon", error.to_string()))?;
        let adjacency = if dataset.zero_out {
            Adjacency::ZeroOut
        } else {
            Adjacency::ReplaceOne
        };
        learner = learner.budget(budget).adjacency(adjacency).quiet();
        if let Some(seed) = self.simulated {
            learner = learner.simulated(seed);
        }
        Ok(learner)
    }

    /// What has a meaning for sums that are made elsewhere.
    fn check_elsewhere(&self) -> Result<(), Problem> {
        let stated = self.close_after.is_some() || self.reward_wait.is_some();
        match self.elsewhere {
            true if self.batch.is_none() => {
                Err(wrong("batch", "state the most records of a batch of sums"))
            }
            true if stated => {
                let told = "a batch of sums is closed when it comes: state no times";
                Err(wrong("close_after", told))
            }
            _ => Ok(()),
        }
    }

    /// Its rounds, for batches of this size.
    ///
    /// # Errors
    /// Times that are none.
    pub fn rounds(&self, batch: u64) -> Result<Settings, Problem> {
        let batches = self.records()? / batch.max(1);
        if batches == 0 {
            return Err(wrong("batch", "more slots than are planned in all"));
        }
        let close_after = match self.close_after {
            Some(seconds) => Some(millis("close_after", seconds)?),
            None => None,
        };
        Ok(Settings {
            batch,
            batches,
            close_after,
            reward_wait: millis("reward_wait", self.reward_wait.unwrap_or(600.0))?,
            boundary: 3_600_000,
        })
    }

    /// The columns of features or contexts in order, and the target's.
    ///
    /// # Errors
    /// A schema that does not fit.
    pub fn columns(&self, learner: &Learner) -> Result<(Vec<String>, Option<String>), Problem> {
        let encoder = Encoder::new(&learner.data.schema);
        let encoder = encoder.map_err(|error| Problem::from(hushstream::Error::from(error)));
        let encoder = encoder.map_err(|problem| problem.at("schema"))?;
        let target = learner.data.schema.target.clone();
        let mut columns = encoder.layout().column_names();
        columns.retain(|name| Some(name) != target.as_ref() && name != PERSON);
        if columns.is_empty() {
            return Err(wrong("schema", "describe at least one column"));
        }
        match (self.task, target) {
            (Task::Decide, Some(_)) => Err(wrong("schema.target", "a decision has no target")),
            (Task::Decide, None) => Ok((columns, None)),
            (_, None) => Err(wrong("schema.target", "name the column of the target")),
            (_, target) => Ok((columns, target)),
        }
    }
}

/// Cells of named columns, as a row of the library.
pub(crate) struct Cells<'a> {
    pub(crate) columns: &'a [String],
    pub(crate) cells: &'a [Cell],
    /// Further fields: a target, a person.
    pub(crate) more: &'a [(&'a str, Value<'a>)],
}

pub(crate) fn value(cell: &Cell) -> Value<'_> {
    match cell {
        Cell::Missing => Value::Missing,
        Cell::Number(number) => Value::Number(*number),
        Cell::Text(text) => Value::Text(text),
    }
}

impl Row for Cells<'_> {
    fn each(&self, give: &mut dyn FnMut(&str, Value<'_>)) {
        for (name, cell) in self.columns.iter().zip(self.cells) {
            give(name, value(cell));
        }
        for (name, value) in self.more {
            give(name, *value);
        }
    }
}

/// Reads the fields of these columns from a JSON object. Every column is given, and no other.
///
/// # Errors
/// Another form; the place is below `place`.
pub(crate) fn cells(
    object: &serde_json::Value,
    columns: &[String],
    place: &str,
) -> Result<Vec<Cell>, Problem> {
    let Some(object) = object.as_object() else {
        return Err(wrong(
            place,
            "allowed: an object with a value for every column",
        ));
    };
    let mut cells = Vec::with_capacity(columns.len());
    for column in columns {
        let at = || format!("{place}.{column}");
        cells.push(match object.get(column) {
            Some(value) => {
                let refused = || wrong(&at(), "allowed: a number, a text, a truth value or null");
                cell(value).ok_or_else(refused)?
            }
            None => {
                let told = "this column is not given; a missing value is null";
                return Err(wrong(&at(), told));
            }
        });
    }
    if object.len() > columns.len() {
        let told = format!("a key is no column; columns are: {}", columns.join(", "));
        return Err(wrong(place, told));
    }
    Ok(cells)
}

/// A JSON value as a cell.
pub(crate) fn cell(value: &serde_json::Value) -> Option<Cell> {
    Some(match value {
        serde_json::Value::Null => Cell::Missing,
        serde_json::Value::Bool(truth) => Cell::Text(truth.to_string()),
        serde_json::Value::Number(number) => Cell::Number(number.as_f64()?),
        serde_json::Value::String(text) => Cell::Text(text.clone()),
        _ => return None,
    })
}
