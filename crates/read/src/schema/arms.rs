//! Arms and experts: what is said about them, and how their losses are read.

use super::encoding::{Encoding, FeatureColumn, Space, TargetKind};
use super::layout::{Layout, Stated};
use super::{SchemaSpec, Task};
use crate::error::Fault;
use crate::formats::refuse;

/// What is said about arms must be about arms.
pub(super) fn check_feedback(schema: &SchemaSpec) -> Result<(), Fault> {
    let (task, is_log) = (schema.task(), schema.arm.is_some());
    let is_bandit = task == Task::Bandit;
    let has_arms = is_bandit && schema.target.is_some();
    let log = "it is for --task bandit, with the loss or reward as --target";
    refuse("--arm", is_log && !has_arms, log)?;
    let arms = "it is for --task bandit with a --target; the columns of a table name their arms \
                themselves";
    refuse("--arms", schema.arms.is_some() && !has_arms, arms)?;
    let propensity = schema.propensity.is_some() && !is_log;
    refuse("--propensity", propensity, "it is for a log of arms: --arm")?;
    let has_rewards = is_log || !has_arms && (is_bandit || task == Task::Experts);
    let rewards = "it is for columns of rewards, and for a log of arms";
    refuse(
        "--rewards",
        schema.rewards == Some(true) && !has_rewards,
        rewards,
    )?;
    let norm = schema.norm.is_some() && is_bandit;
    refuse("--norm", norm, "losses are bounded one by one")?;
    let features = "the arms are values of one column, and nothing else is read";
    refuse(
        "--features",
        !schema.features.is_empty() && has_arms,
        features,
    )
}

/// Arms that are values of a column: the right one, or the one that was played. Nothing else is
/// read.
pub(super) fn of_arms(schema: &SchemaSpec) -> Result<Layout, Fault> {
    let values = schema.arms.clone().ok_or(Fault::ArmsNeeded)?;
    let target = schema.target.clone().ok_or(Fault::TargetNeeded)?;
    let column = |name: &String, encoding| FeatureColumn {
        name: name.clone(),
        encoding,
    };
    let mut columns = Vec::new();
    match &schema.arm {
        None => {
            let log = "the target is the right arm; for a log name the column of the played one: \
                       --arm";
            refuse("--target-bounds", schema.target_bounds.is_some(), log)?;
            columns.push(column(&target, Encoding::Label { values }));
        }
        Some(arm) => {
            let (low, high) = schema.bounds_of_target()?;
            let rewards = schema.rewards == Some(true);
            columns.push(column(arm, Encoding::Arm { values }));
            columns.push(column(&target, Encoding::Outcome { low, high, rewards }));
            columns.extend(
                schema
                    .propensity
                    .iter()
                    .map(|name| column(name, Encoding::Propensity)),
            );
        }
    }
    Layout::try_from(Stated {
        space: Space::Columns(columns),
        intercept: false,
        norm: None,
        target_column: None,
        target: TargetKind::None,
        missing: schema.missing.clone(),
        coded: false,
        decides: None,
    })
}

/// Losses are compared with each other, so they keep their scale and share their bounds.
pub(super) fn as_losses(columns: &mut [FeatureColumn], rewards: bool) -> Result<(), Fault> {
    let mut shared = None;
    for column in columns {
        let Encoding::Number { low, high } = column.encoding else {
            return Err(Fault::ExpertBounds);
        };
        let bits = (low.to_bits(), high.to_bits());
        if *shared.get_or_insert(bits) != bits {
            return Err(Fault::ExpertBounds);
        }
        column.encoding = if rewards {
            Encoding::Reward { low, high }
        } else {
            Encoding::Loss { low, high }
        };
    }
    Ok(())
}
