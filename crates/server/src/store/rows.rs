//! Rows of the store.

use crate::clock::Millis;
use crate::rounds::{Aggregation, Settings};
use crate::spec::ModelSpec;
use hushstream::{Model, Released};
use serde::{Deserialize, Serialize};

/// What a token may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Makes tenants and tokens.
    Admin,
    /// Makes data sets and models, and sees exact numbers.
    Operator,
    /// Asks and tells.
    Client,
    /// Sees what is released.
    Reader,
}

/// A token: its secret is not here.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TokenRow {
    /// SHA-256 of the secret.
    pub hash: [u8; 32],
    /// What it may do.
    pub role: Role,
    /// Whose it is; none is the node's.
    pub tenant: Option<String>,
    /// The only models that it is for.
    pub models: Option<Vec<String>>,
    /// When it ends.
    pub expires: Option<Millis>,
    /// When it was made.
    pub created: Millis,
    /// Whether it was ended: its row stays, because events belong to it.
    pub ended: bool,
    /// The first of the tokens that replaced each other: events belong to it.
    pub family: String,
}

/// A data set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DatasetRow {
    /// Its number: the name of its folder.
    pub number: u64,
    /// ε over all models, as it was first stated.
    pub epsilon: f64,
    /// δ over all models.
    pub delta: f64,
    /// Whether null replaces a record, and not another record.
    pub zero_out: bool,
    /// Whether persons are protected.
    pub persons: bool,
    /// When it was made.
    pub created: Millis,
    /// Whether it was restored from a copy: nothing more is charged.
    pub locked: bool,
}

/// Where a model is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ModelStatus {
    /// Its settings are stored, and its run is not begun for sure.
    Beginning,
    /// It learns, unless its rounds are over.
    Open,
    /// Its run failed: decisions are answered from the last policy.
    Failed,
}

/// A model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelRow {
    /// Its number: the name of its folder.
    pub number: u64,
    /// Whose it is.
    pub tenant: String,
    /// Its name.
    pub name: String,
    /// The name of its data set.
    pub dataset: String,
    /// The settings, as JSON.
    pub spec: String,
    /// Its rounds.
    pub rounds: Settings,
    /// How rewards are added up.
    pub aggregation: Aggregation,
    /// The columns of features or contexts, in their order.
    pub columns: Vec<String>,
    /// The column of the target, if it predicts.
    pub target: Option<String>,
    /// What it decides among.
    pub actions: Vec<String>,
    /// Bounds of rewards.
    pub reward_bounds: (f64, f64),
    /// Whether persons are limited.
    pub persons: bool,
    /// When it was made.
    pub created: Millis,
    /// Where it is.
    pub status: ModelStatus,
    /// The number of its charge.
    pub charge: Option<u64>,
    /// The name of the recipe.
    pub recipe: String,
    /// Whether its noise protects nobody.
    pub simulated: bool,
}

impl ModelRow {
    /// Whether its batches come as sums that workers made elsewhere.
    #[must_use]
    pub fn elsewhere(&self) -> bool {
        let spec = serde_json::from_str::<ModelSpec>(&self.spec);
        spec.is_ok_and(|spec| spec.elsewhere)
    }
}

/// Exact counts, for the operator only.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Exact {
    /// Slots with a reward.
    pub rewards: u64,
    /// Rewards after the first of a slot.
    pub repeated: u64,
    /// Rewards that came too late.
    pub late: u64,
    /// Slots that were learned from with the default reward.
    pub default: u64,
    /// Slots that were null.
    pub null: u64,
    /// Rewards outside of their bounds.
    pub clipped: u64,
    /// Contents that the schema refused.
    pub refused: u64,
    /// The sum of rewards that were learned from.
    pub sum: f64,
    /// Slots that were learned from with a reward.
    pub counted: u64,
    /// Plays of every arm that were learned from.
    pub plays: Vec<u64>,
}

/// A release in the store.
#[derive(Serialize, Deserialize)]
pub struct ReleaseRow {
    /// When it was stored.
    pub at: Millis,
    /// The model file.
    pub file: Vec<u8>,
}

/// A release that was stored and read back: public. Only a run's [`Released`] gets there.
#[derive(Clone)]
pub struct Published {
    /// Its version, from 1; 0 before the first.
    pub version: u64,
    /// When it was stored.
    pub at: Millis,
    /// The model file.
    pub file: std::sync::Arc<[u8]>,
}

impl Published {
    /// A stored release.
    pub(crate) fn new(version: u64, row: ReleaseRow) -> Self {
        let (at, file) = (row.at, row.file.into());
        Self { version, at, file }
    }
}

impl ReleaseRow {
    /// The row of a released model.
    pub(crate) fn new(released: &Released<Model>, at: Millis) -> Result<Self, hushstream::Error> {
        Ok(Self {
            at,
            file: released.value().to_bytes()?,
        })
    }
}

/// A line of the audit log.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct AuditRow {
    /// When.
    pub at: Millis,
    /// Whose; none is the node's.
    pub tenant: Option<String>,
    /// The token that did it, or `node`.
    pub who: String,
    /// What was done.
    pub what: String,
    /// To which thing.
    pub subject: String,
    /// SHA-256 of the line before.
    pub prev: [u8; 32],
    /// SHA-256 of this line with `prev`.
    pub hash: [u8; 32],
}

impl Exact {
    /// Adds the counts of a batch.
    pub fn add(&mut self, other: &Self) {
        self.default += other.default;
        self.null += other.null;
        self.sum += other.sum;
        self.counted += other.counted;
        if self.plays.len() < other.plays.len() {
            self.plays.resize(other.plays.len(), 0);
        }
        for (own, other) in self.plays.iter_mut().zip(&other.plays) {
            *own += other;
        }
    }
}
