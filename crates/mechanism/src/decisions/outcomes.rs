//! What a record tells about its decision: which arm was played, with which probability, and what
//! it earned.
//!
//! A record is the columns of its context, and then:
//!
//! | kind | after the context | target | arm |
//! |---|---|---|---|
//! | labels | nothing | the right arm | drawn from the policy; earns 1 if it is the right one |
//! | a table | the reward of every arm | unused | drawn; its own reward is looked at |
//! | a log | the arm, its probability | its reward, without the middle | as logged |
//!
//! Of a table only the drawn arm's reward is read: the others could as well not be there. A record
//! of the library, which asks for its decision first and tells the reward later, is a row of a log.
//!
//! **Rewards are scaled to [−½, ½]**, the middle of their range to 0. A missing reward is the
//! middle: the record counts, and its arm seems neither good nor bad; were it left out, an arm that
//! hides its failures would win. A record without a context, or a row of a log without its arm, is
//! null.

use crate::losses::{Features, Record, class};
use hushstream_account::ParameterError;
use serde::{Deserialize, Serialize};

/// How records tell about their decision.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcomes {
    /// The target is the right arm, which earns 1; every other earns 0.
    Labels,
    /// The reward of every arm follows the context, between two bounds.
    Table {
        /// The least reward.
        low: f64,
        /// The greatest reward.
        high: f64,
    },
    /// The played arm and its probability follow the context; the target is its reward, as a
    /// distance from the middle of its range.
    Log {
        /// Half of the range of rewards.
        half: f64,
        /// The greatest weight 1/probability; larger ones are clipped to it.
        most: f64,
    },
}

impl Outcomes {
    /// The numbers that follow the context.
    #[must_use]
    pub fn columns(self, arms: usize) -> usize {
        match self {
            Self::Labels => 0,
            Self::Table { .. } => arms,
            Self::Log { .. } => 2,
        }
    }

    /// Whether the arm is drawn from the policy.
    #[must_use]
    pub fn draws(self) -> bool {
        !matches!(self, Self::Log { .. })
    }

    pub(super) fn check(self) -> Result<(), ParameterError> {
        let sound = |parameter, value: f64, is_sound: bool, allowed| {
            let error = ParameterError::new(parameter, value, allowed);
            if is_sound { Ok(()) } else { Err(error) }
        };
        match self {
            Self::Labels => Ok(()),
            Self::Table { low, high } => {
                let width = high - low;
                let is_sound = width > 0.0 && width.is_finite();
                sound(
                    "width of rewards",
                    width,
                    is_sound,
                    "a positive finite number",
                )
            }
            Self::Log { half, most } => {
                let is_sound = half > 0.0 && half.is_finite();
                sound(
                    "half of the rewards' range",
                    half,
                    is_sound,
                    "a positive finite number",
                )?;
                let allowed = "1 to 1e9, the inverse of the least probability";
                sound(
                    "greatest weight",
                    most,
                    (1.0..=1e9).contains(&most),
                    allowed,
                )
            }
        }
    }

    /// A record's context, if it has the right number of columns.
    pub(super) fn context(self, record: &Record, columns: usize, arms: usize) -> Option<&[f64]> {
        let Features::Dense(values) = &record.features else {
            return None;
        };
        (values.len() == columns + self.columns(arms)).then(|| &values[..columns])
    }

    /// The arm and the probability that a row of a log tells; nothing if it tells none.
    pub(super) fn logged(self, rest: &[f64], arms: usize) -> Option<(usize, f64)> {
        let (Self::Log { most, .. }, &[arm, probability]) = (self, rest) else {
            return None;
        };
        let sound = probability > 0.0 && probability <= 1.0;
        let arm = class(arm, arms).filter(|_| sound)?;
        Some((arm, probability.max(1.0 / most)))
    }

    /// A scaled reward as a loss in the units of rewards: low + high − reward.
    pub(super) fn loss(self, reward: f64) -> f64 {
        match self {
            Self::Table { low, high } => f64::midpoint(low, high) - (high - low) * reward,
            Self::Labels | Self::Log { .. } => 0.5 - reward,
        }
    }

    /// What an arm earned, from −½ to ½; nothing if it is missing.
    pub(super) fn reward(self, record: &Record, rest: &[f64], arm: usize) -> Option<f64> {
        match self {
            Self::Labels => record.target.is_finite().then(|| {
                if record.target == arm as f64 {
                    0.5
                } else {
                    -0.5
                }
            }),
            Self::Table { low, high } => {
                let reward = *rest.get(arm)?;
                let scaled = (reward.clamp(low, high) - low) / (high - low) - 0.5;
                reward.is_finite().then_some(scaled)
            }
            Self::Log { half, .. } => {
                let scaled = (record.target / half).clamp(-1.0, 1.0) / 2.0;
                record.target.is_finite().then_some(scaled)
            }
        }
    }
}
