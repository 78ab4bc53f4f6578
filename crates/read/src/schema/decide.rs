//! Decisions: the columns of contexts, and then the columns that tell what came of an arm.
//!
//! | stated | a row tells | columns after the context |
//! |---|---|---|
//! | `target` and `arms` | which arm is right | the target |
//! | `arm`, `arms` and `target` | which arm was played, and its reward | arm, reward, propensity |
//! | `arms` that are columns | the reward of every arm | the arms |
//! | `arms` alone | nothing: the program asks, and tells rewards later | none |
//!
//! Records are coded, one number per column; what is missing is NaN, also a reward.

use super::encoding::{Encoding, FeatureColumn, Space, TargetKind};
use super::layout::{Layout, Stated};
use super::resolve::{encoding, is_feature};
use super::{SchemaSpec, Task};
use crate::error::Fault;
use crate::formats::refuse;
use serde::{Deserialize, Serialize};

/// What rows tell about decisions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Decides {
    /// The arms, by name.
    pub arms: Vec<String>,
    /// What a row tells.
    pub told: Told,
    /// The least and the greatest reward.
    pub rewards: (f64, f64),
}

/// What a row tells about its decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Told {
    /// The right arm.
    Right,
    /// The reward of every arm.
    All,
    /// The arm that was played and its reward.
    Played {
        /// Whether its probability is told too.
        propensity: bool,
    },
    /// Its context alone.
    Asked,
}

impl Decides {
    /// Columns after the context.
    #[must_use]
    pub fn columns(&self) -> usize {
        match self.told {
            Told::Right => 1,
            Told::All => self.arms.len(),
            Told::Played { propensity } => 2 + usize::from(propensity),
            Told::Asked => 0,
        }
    }

    pub(super) fn check(&self) -> Result<(), Fault> {
        let distinct: std::collections::HashSet<&String> = self.arms.iter().collect();
        if self.arms.len() < 2 || distinct.len() < self.arms.len() {
            return Err(Fault::Arms(
                "at least two are needed, each with its own name",
            ));
        }
        Ok(())
    }
}

/// The layout of decisions.
pub(super) fn of_decisions(schema: &SchemaSpec, header: &[&str]) -> Result<Layout, Fault> {
    debug_assert!(schema.task() == Task::Decide);
    let log = "it is for a log of arms: --arm";
    refuse(
        "--propensity",
        schema.propensity.is_some() && schema.arm.is_none(),
        log,
    )?;
    let positive = "arms are named by --arms";
    refuse("--positive", schema.positive.is_some(), positive)?;
    // The classes of a target are its arms.
    let arms = schema.arms.clone().or(schema.classes.clone());
    let arms = arms.ok_or(Fault::ArmsNeeded)?;
    let is_column = |arm: &String| header.contains(&arm.as_str());
    let told = match (&schema.target, &schema.arm) {
        (Some(_), Some(_)) => Told::Played {
            propensity: schema.propensity.is_some(),
        },
        (None, Some(_)) => return Err(Fault::TargetNeeded),
        (Some(_), None) => Told::Right,
        (None, None) if arms.iter().all(is_column) => Told::All,
        (None, None) => Told::Asked,
    };
    let mut rewards = (0.0, 1.0);
    let column = |name: &String, encoding| FeatureColumn {
        name: name.clone(),
        encoding,
    };
    let mut outcomes = Vec::new();
    let values = arms.clone();
    match told {
        Told::Right => {
            let log = "the target is the right arm, which earns 1; for a log name the column of \
                       the played one: --arm";
            refuse("--target-bounds", schema.target_bounds.is_some(), log)?;
            outcomes.extend(schema.target.iter().map(|name| {
                let values = values.clone();
                column(name, Encoding::Category { values })
            }));
        }
        Told::Played { .. } => {
            rewards = schema.bounds_of_target()?;
            let (low, high) = rewards;
            let arm = schema.arm.iter().map(|name| {
                let values = values.clone();
                column(name, Encoding::Category { values })
            });
            let reward = schema.target.iter();
            let reward = reward.map(|name| column(name, Encoding::Number { low, high }));
            let chance = schema.propensity.iter();
            let chance = chance.map(|name| column(name, Encoding::Propensity));
            outcomes.extend(arm.chain(reward).chain(chance));
        }
        Told::All => {
            for arm in &arms {
                let Some(Encoding::Number { low, high }) = encoding(schema, arm)? else {
                    return Err(Fault::ExpertBounds);
                };
                if !outcomes.is_empty() && (low, high) != rewards {
                    return Err(Fault::ExpertBounds);
                }
                rewards = (low, high);
                outcomes.push(column(arm, Encoding::Number { low, high }));
            }
        }
        Told::Asked => {
            rewards = schema.target_bounds.unwrap_or(rewards);
        }
    }
    let (mut columns, mut unstated) = (Vec::new(), Vec::new());
    for &name in header {
        let is_outcome = outcomes.iter().any(|outcome| outcome.name == name);
        if is_outcome || !is_feature(schema, name)? {
            continue;
        }
        match encoding(schema, name)? {
            Some(encoding) => columns.push(FeatureColumn {
                name: name.to_owned(),
                encoding,
            }),
            None => unstated.push(name.to_owned()),
        }
    }
    if !unstated.is_empty() {
        return Err(Fault::Unstated(unstated));
    }
    if columns.is_empty() {
        return Err(Fault::NoFeatures);
    }
    columns.extend(outcomes);
    Layout::try_from(Stated {
        space: Space::Columns(columns),
        intercept: false,
        norm: None,
        target_column: None,
        target: TargetKind::None,
        missing: schema.missing.clone(),
        coded: true,
        decides: Some(Decides {
            arms,
            told,
            rewards,
        }),
    })
}

impl Layout {
    /// What rows tell about decisions, if they are about those.
    #[must_use]
    pub fn decides(&self) -> Option<&Decides> {
        self.stated().decides.as_ref()
    }

    /// The layout of contexts alone, for rows that ask for a decision; nothing if rows are not
    /// about decisions.
    #[must_use]
    pub fn contexts(&self) -> Option<Self> {
        let mut stated = self.stated().clone();
        let decides = stated.decides.as_mut()?;
        let outcomes = decides.columns();
        decides.told = Told::Asked;
        if let Space::Columns(columns) = &mut stated.space {
            columns.truncate(columns.len().saturating_sub(outcomes));
        }
        Self::try_from(stated).ok()
    }
}
