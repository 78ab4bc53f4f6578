//! The target: what it is, by the task and what is stated about it.

use crate::encoding::TargetKind;
use crate::error::Fault;
use crate::schema::{SchemaSpec, Task};

pub(super) fn target(schema: &SchemaSpec) -> Result<TargetKind, Fault> {
    let task = schema.task();
    for (what, stated, fitting, why) in [
        (
            "--positive",
            schema.positive.is_some(),
            Task::Classify,
            "it is for classification",
        ),
        (
            "--classes",
            schema.classes.is_some(),
            Task::Multiclass,
            "it is for --task multiclass",
        ),
        (
            "--target-bounds",
            schema.target_bounds.is_some(),
            Task::Regress,
            "it is for --task regress",
        ),
    ] {
        if stated && task != fitting {
            return Err(Fault::DoesNotFit { what, why });
        }
    }
    Ok(match task {
        Task::Classify => TargetKind::Sign {
            positive: schema.positive.clone(),
        },
        Task::Multiclass => TargetKind::Class {
            classes: schema.classes.clone().ok_or(Fault::ClassesNeeded)?,
        },
        Task::Regress => {
            let own = schema
                .target
                .as_ref()
                .and_then(|name| schema.bounds.get(name));
            let (low, high) = schema
                .target_bounds
                .or(own.copied())
                .ok_or(Fault::TargetBoundsNeeded)?;
            TargetKind::Number { low, high }
        }
        Task::Experts if schema.target.is_some() => {
            return Err(Fault::DoesNotFit {
                what: "--target",
                why: "experts have losses and no target",
            });
        }
        Task::Experts | Task::Bandit => TargetKind::None,
    })
}
