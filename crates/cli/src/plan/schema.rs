//! `plan --schema`: what `learn` would choose for a table, and why.

use super::Arguments;
use crate::output::tell;
use anyhow::Result;
use hushstream::prelude::*;
use std::path::Path;

pub(super) fn run(arguments: &Arguments, path: &Path) -> Result<()> {
    let mut schema = Schema::from_file(&path.to_string_lossy())?;
    schema.task = Some(schema.task());
    let mut learner = Learner::classify()
        .schema(schema)
        .budget(Budget::approx(arguments.epsilon, arguments.delta)?)
        .adjacency(arguments.adjacency.into());
    learner.data.file = arguments.header.clone().unwrap_or_default();
    learner.privacy.rounds = arguments.rounds;
    learner.privacy.max_per_person = arguments.max_per_person;
    learner.privacy.min_separation = arguments.min_separation;
    let plan = learner.plan()?;
    if arguments.json {
        tell!("{}", serde_json::to_string_pretty(&plan.parameters)?);
        return Ok(());
    }
    tell!("{plan}");
    for warning in &plan.warnings {
        tell!("{warning}");
    }
    Ok(())
}
