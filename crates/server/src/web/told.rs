//! The bodies of the API that pages are made from.

use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Problem {
    pub(super) detail: String,
}

#[derive(Clone, Deserialize)]
pub(super) struct Whoami {
    pub(super) tenant: Option<String>,
    pub(super) role: String,
    pub(super) token: String,
}

#[derive(Deserialize)]
pub(super) struct Datasets {
    pub(super) datasets: Vec<Dataset>,
}

#[derive(Deserialize)]
pub(super) struct Dataset {
    pub(super) dataset: String,
    pub(super) epsilon: f64,
    pub(super) delta: f64,
    pub(super) adjacency: String,
    pub(super) persons: bool,
    pub(super) used: f64,
    pub(super) left: f64,
    pub(super) raised: bool,
    pub(super) simulated: bool,
    #[serde(default)]
    pub(super) runs: Vec<Run>,
}

#[derive(Deserialize)]
pub(super) struct Run {
    pub(super) number: u64,
    #[serde(default)]
    pub(super) model: Option<String>,
    pub(super) epsilon: f64,
    pub(super) delta: f64,
    pub(super) kind: String,
    pub(super) begun: bool,
    pub(super) simulated: bool,
}

#[derive(Deserialize)]
pub(super) struct Models {
    pub(super) models: Vec<Model>,
}

#[derive(Deserialize)]
pub(super) struct Model {
    pub(super) model: String,
    pub(super) dataset: String,
    pub(super) task: String,
    pub(super) status: String,
    #[serde(default)]
    pub(super) actions: Option<Vec<String>>,
    #[serde(default)]
    pub(super) columns: Vec<String>,
    pub(super) batch: u64,
    pub(super) batches: u64,
    pub(super) slots: u64,
    pub(super) open_batch: u64,
    pub(super) closed_batches: u64,
    pub(super) released: u64,
    pub(super) policy: u64,
    #[serde(default)]
    pub(super) closes_at: Option<String>,
    #[serde(default)]
    pub(super) created: Option<String>,
    pub(super) recipe: String,
    pub(super) simulated: bool,
    #[serde(default)]
    pub(super) guarantee: Option<Guarantee>,
    #[serde(default)]
    pub(super) settings: Option<Value>,
}

impl Model {
    /// Slots that the open batch has given out.
    pub(super) fn in_batch(&self) -> u64 {
        let first = self.open_batch.saturating_mul(self.batch);
        self.slots.saturating_sub(first).min(self.batch)
    }

    pub(super) fn decides(&self) -> bool {
        self.task == "decide"
    }
}

#[derive(Deserialize)]
pub(super) struct Guarantee {
    pub(super) sentence: String,
    pub(super) epsilon: f64,
    pub(super) delta: f64,
    pub(super) adjacency: String,
    #[serde(default)]
    pub(super) joint: bool,
}

#[derive(Deserialize)]
pub(super) struct Release {
    pub(super) version: u64,
    pub(super) at: String,
    #[serde(default)]
    pub(super) evaluation: Option<Vec<Estimate>>,
}

#[derive(Deserialize)]
pub(super) struct Evaluated {
    pub(super) version: u64,
    pub(super) evaluation: Vec<Estimate>,
}

#[derive(Clone, Deserialize)]
pub(super) struct Estimate {
    pub(super) policy: String,
    pub(super) estimate: String,
    pub(super) reward: f64,
    pub(super) low: f64,
    pub(super) high: f64,
}

/// Exact numbers.
#[derive(Deserialize)]
pub(super) struct Operator {
    #[serde(default)]
    pub(super) plays: BTreeMap<String, u64>,
    #[serde(flatten)]
    pub(super) others: BTreeMap<String, Value>,
}

#[derive(Deserialize)]
pub(super) struct Audit {
    pub(super) seq: u64,
    pub(super) at: String,
    pub(super) who: String,
    pub(super) what: String,
    #[serde(default)]
    pub(super) subject: Option<String>,
    pub(super) prev: String,
    pub(super) hash: String,
}
