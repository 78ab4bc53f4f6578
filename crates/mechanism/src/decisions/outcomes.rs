//! What a record tells about its decision: which arm was played, with which probability, and what
//! it earned.
//!
//! A record's features are the columns of its context, and then:
//!
//! | kind | after the context | arm |
//! |---|---|---|
//! | labels | the right arm | drawn from the policy; earns 1 if it is the right one, else −1 |
//! | a table | the reward of every arm | drawn; its own reward is looked at |
//! | a log | the arm, its reward, and its probability if that was logged | as logged |
//!
//! Rewards lie in [−1, 1]; they are clipped to it. Of a table only the drawn arm's reward is read:
//! the others could as well not be there. A record of the library, which asks for its decision
//! first and tells the reward later, is a row of a log.
//!
//! **A missing reward is the middle of its range**, 0: the record counts, and its arm seems neither
//! good nor bad; were it left out, an arm that hides its failures would win. A record without a
//! context, or a row of a log without its arm or its probability, is null.

use crate::losses::{Features, Record, class};
use hushstream_account::ParameterError;
use serde::{Deserialize, Serialize};

/// How records tell about their decision.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcomes {
    /// The right arm.
    Labels,
    /// The reward of every arm.
    Table,
    /// The played arm, its reward, and its probability.
    Log {
        /// Whether the probability is there; if not, all arms were equally likely.
        stated: bool,
        /// The greatest weight 1/probability; larger ones are clipped to it.
        most: f64,
    },
}

impl Outcomes {
    /// The numbers that follow the context.
    #[must_use]
    pub fn columns(self, arms: usize) -> usize {
        match self {
            Self::Labels => 1,
            Self::Table => arms,
            Self::Log { stated, .. } => 2 + usize::from(stated),
        }
    }

    /// Whether the arm is drawn from the policy.
    #[must_use]
    pub fn draws(self) -> bool {
        !matches!(self, Self::Log { .. })
    }

    pub(super) fn check(self) -> Result<(), ParameterError> {
        match self {
            Self::Log { most, .. } if !(1.0..=1e9).contains(&most) => {
                let allowed = "1 to 1e9, the inverse of the least probability";
                Err(ParameterError::new("greatest weight", most, allowed))
            }
            _ => Ok(()),
        }
    }

    /// A record's context and what follows it, if it has the right number of columns.
    pub(super) fn split(
        self,
        record: &Record,
        columns: usize,
        arms: usize,
    ) -> Option<(&[f64], &[f64])> {
        let Features::Dense(values) = &record.features else {
            return None;
        };
        (values.len() == columns + self.columns(arms)).then(|| values.split_at(columns))
    }

    /// The arm and the probability that a row of a log tells; nothing if it tells none.
    pub(super) fn logged(self, rest: &[f64], arms: usize) -> Option<(usize, f64)> {
        let Self::Log { most, .. } = self else {
            return None;
        };
        let probability = match *rest {
            [_, _, probability] => probability,
            _ => 1.0 / arms as f64,
        };
        let is_sound = probability > 0.0 && probability <= 1.0;
        let arm = class(*rest.first()?, arms).filter(|_| is_sound)?;
        Some((arm, probability.max(1.0 / most)))
    }

    /// What an arm earned, from −½ to ½; nothing if it is missing.
    pub(super) fn reward(self, rest: &[f64], arm: usize) -> Option<f64> {
        let value = match self {
            Self::Labels => {
                // No arm is right where the label is missing or unknown.
                let right = class(*rest.first()?, 1 << 16)?;
                return Some(if right == arm { 0.5 } else { -0.5 });
            }
            Self::Table => *rest.get(arm)?,
            Self::Log { .. } => *rest.get(1)?,
        };
        value.is_finite().then(|| value.clamp(-1.0, 1.0) / 2.0)
    }
}
