//! The number of records that `pol` needs (JKT12 Theorem 6, with erratum J12's 1/α).

use super::Arguments;
use crate::output::tell;
use anyhow::{Result, bail};
use hushstream_account::Budget;
use hushstream_pictures::numbers::grouped;
use hushstream_recipes::{PolQuestion, RecipeName};

/// Answers `--excess-risk`.
pub(crate) fn run(arguments: &Arguments, error: f64) -> Result<()> {
    let task = &arguments.task;
    if arguments.recipe != Some(RecipeName::Pol) {
        bail!("--excess-risk is for pol: add --recipe pol");
    }
    let (lipschitz, failing) = (task.lipschitz(), arguments.failing.unwrap_or(0.05));
    let question = PolQuestion {
        error,
        failing,
        lipschitz,
        radius: task.radius.unwrap_or(1.0),
        dimension: u64::from(arguments.dim),
        budget: Budget::approx(arguments.epsilon, arguments.delta)?,
        adjacency: arguments.adjacency.into(),
    };
    let (records, curvature) = (question.records()?, question.curvature());
    if arguments.json {
        let told = serde_json::json!({
            "recipe": "pol",
            "records": records,
            "parameters": {
                "excess_risk": error,
                "failing": failing,
                "strong_convexity": curvature,
                "radius": question.radius,
                "lipschitz": lipschitz,
                "dim": arguments.dim,
            },
        });
        tell!("{}", serde_json::to_string_pretty(&told)?);
    } else {
        tell!(
            "pol needs {} records for an excess risk of at most {error}, except with probability \
             {} \
             (JKT12 Theorem 6 with erratum J12), with --strong-convexity {curvature}",
            grouped(records),
            failing
        );
    }
    Ok(())
}
