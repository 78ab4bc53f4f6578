//! One slot: what fills it, what was told about it, and what it contributes when it is closed.

use serde::{Deserialize, Serialize};

/// A value of a column: private.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub enum Cell {
    /// Nothing.
    Missing,
    /// A number.
    Number(f64),
    /// A text.
    Text(String),
}

/// How several rewards of one decision become one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Aggregation {
    /// The first counts.
    #[default]
    Earliest,
    /// The last before the batch is closed counts.
    Last,
    /// They are added up.
    Sum,
}

/// The rewards of a slot: of one size, however many there are.
#[derive(Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Told {
    value: Option<f64>,
    count: u32,
}

impl Told {
    /// Takes one more.
    pub fn add(&mut self, value: f64, aggregation: Aggregation) {
        self.count = self.count.saturating_add(1);
        self.value = Some(match (self.value, aggregation) {
            (Some(first), Aggregation::Earliest) => first,
            (Some(sum), Aggregation::Sum) => (sum + value).clamp(f64::MIN, f64::MAX),
            _ => value,
        });
    }

    /// What they are together.
    #[must_use]
    pub fn value(&self) -> Option<f64> {
        self.value
    }

    /// How many there were.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.count
    }
}

/// What fills a slot.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub enum Filled {
    /// Nothing, or what the schema refuses.
    Null,
    /// A decision.
    Decided {
        /// The context, in the order of the columns.
        context: Vec<Cell>,
        /// The arm that was answered.
        arm: u32,
        /// Its probability.
        probability: f64,
        /// The version of the policy.
        policy: u64,
        /// The arms that were allowed, if not all.
        among: Option<Vec<bool>>,
        /// The start of the server whose coins were used.
        boot: [u8; 16],
    },
    /// A record of a supervised task.
    Record {
        /// Its features, in the order of the columns.
        features: Vec<Cell>,
        /// The target, once it is told.
        target: Option<Cell>,
    },
}

/// A slot that was given out: private.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
pub struct Slot {
    /// A keyed hash of its id.
    pub id: [u8; 16],
    /// A keyed hash of the request that took it.
    pub body: [u8; 16],
    /// What fills it.
    pub filled: Filled,
    /// Rewards.
    pub told: Told,
    /// Whether it counts only after it was activated.
    pub deferred: bool,
    /// Whether it was activated.
    pub activated: bool,
    /// Whether it was deleted.
    pub deleted: bool,
    /// A keyed hash of the person.
    pub person: Option<[u8; 16]>,
}

/// What a slot adds to its batch.
pub enum Contribution<'a> {
    /// Nothing.
    Null,
    /// A decision and its reward; nothing is the default one.
    Decided {
        /// The context.
        context: &'a [Cell],
        /// The arm.
        arm: u32,
        /// Its probability.
        probability: f64,
        /// Its reward.
        reward: Option<f64>,
    },
    /// A record with its target.
    Record {
        /// The features.
        features: &'a [Cell],
        /// The target.
        target: &'a Cell,
    },
}

impl Slot {
    /// What it adds when its batch is closed: a function of this slot alone.
    #[must_use]
    pub fn contribution(&self) -> Contribution<'_> {
        if self.deleted || self.deferred && !self.activated {
            return Contribution::Null;
        }
        match &self.filled {
            Filled::Decided {
                context,
                arm,
                probability,
                ..
            } => Contribution::Decided {
                context,
                arm: *arm,
                probability: *probability,
                reward: self.told.value(),
            },
            Filled::Record {
                features,
                target: Some(target),
            } => Contribution::Record { features, target },
            _ => Contribution::Null,
        }
    }
}
