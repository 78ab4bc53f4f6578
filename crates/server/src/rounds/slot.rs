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
    /// They are added up, each id once.
    Sum,
}

/// The most rewards with an id that one slot takes.
pub const MOST_REWARDS: usize = 64;

/// The rewards of a slot.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Told {
    value: Option<f64>,
    count: u32,
    /// Keyed hashes of the ids of those that counted: one that is told again does not.
    ids: Vec<[u8; 16]>,
}

/// What became of a reward.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Added {
    /// It was taken.
    New,
    /// Its id was told before: nothing is changed.
    Again,
    /// The slot has no room for another id: nothing is changed.
    Full,
}

impl Told {
    /// Takes one more, unless its id was told before.
    pub fn add(&mut self, value: f64, id: Option<[u8; 16]>, aggregation: Aggregation) -> Added {
        // The first stays the first, however often it is told.
        if let (Some(id), false) = (id, aggregation == Aggregation::Earliest) {
            if self.ids.contains(&id) {
                return Added::Again;
            }
            if self.ids.len() == MOST_REWARDS {
                return Added::Full;
            }
            self.ids.push(id);
        }
        self.count = self.count.saturating_add(1);
        self.value = Some(match (self.value, aggregation) {
            (Some(first), Aggregation::Earliest) => first,
            (Some(sum), Aggregation::Sum) => (sum + value).clamp(f64::MIN, f64::MAX),
            _ => value,
        });
        Added::New
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
    /// A slot that holds nothing yet.
    #[must_use]
    pub fn null(id: [u8; 16], body: [u8; 16]) -> Self {
        Self {
            id,
            body,
            filled: Filled::Null,
            told: Told::default(),
            deferred: false,
            activated: false,
            deleted: false,
            person: None,
        }
    }

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reward_that_is_told_again_counts_once() {
        let id = |number: u8| Some([number; 16]);
        let value = |aggregation, told: &[(f64, Option<[u8; 16]>)]| {
            let mut all = Told::default();
            for (value, id) in told {
                all.add(*value, *id, aggregation);
            }
            all.value()
        };
        let told = [(1.0, id(1)), (2.0, id(2)), (1.0, id(1)), (4.0, id(3))];
        assert_eq!(value(Aggregation::Sum, &told), Some(7.0));
        // One that was sent before another, and comes again after it.
        assert_eq!(value(Aggregation::Last, &told[..3]), Some(2.0));
        assert_eq!(value(Aggregation::Earliest, &told), Some(1.0));
        assert_eq!(
            value(Aggregation::Last, &[(1.0, None), (2.0, None)]),
            Some(2.0)
        );
    }

    #[test]
    fn ids_of_rewards_have_a_limit() {
        let mut told = Told::default();
        for number in 0..MOST_REWARDS {
            let added = told.add(1.0, Some([number as u8; 16]), Aggregation::Sum);
            assert_eq!(added, Added::New);
        }
        let mut add = |id| told.add(1.0, Some([id; 16]), Aggregation::Sum);
        assert_eq!((add(3), add(200)), (Added::Again, Added::Full));
        assert_eq!(told.value(), Some(MOST_REWARDS as f64));
    }
}
