//! Rows of an array, which the library learns beside the Python package: `python.py` writes the
//! array and takes turns.

use crate::timing::Measured;
use hushstream::prelude::*;
use std::path::Path;

/// Features of a row; the target comes after them.
const FEATURES: usize = 54;
const COLUMNS: usize = FEATURES + 1;

/// How the rows are learned.
#[derive(Clone, Copy)]
pub(crate) struct How {
    /// Records per release of a first-order run; nothing for the default recipe.
    pub(crate) batch: Option<u64>,
    /// Whether no figures are computed for the operator.
    pub(crate) is_quiet: bool,
}

/// Learns from all rows of a file of float64, to the model.
pub(crate) fn learn(file: &Path, how: How) -> Measured {
    let bytes = std::fs::read(file).expect("the array");
    let (numbers, _) = bytes.as_chunks();
    let numbers: Vec<f64> = numbers.iter().map(|n| f64::from_le_bytes(*n)).collect();
    drop(bytes);
    let rows = numbers.as_chunks::<COLUMNS>().0;
    let count = rows.len() as u64;
    let mut learner = Learner::classify()
        .features(FEATURES)
        .records(count)
        .budget(Budget::approx(1.0, 1e-6).expect("a budget"))
        .adjacency(ReplaceOne)
        .simulated(1);
    if let Some(batch) = how.batch {
        let recipe = "pftal-convex".parse().expect("a recipe");
        learner = learner.norm(1.0).recipe(recipe).batch(batch);
    }
    if how.is_quiet {
        learner = learner.quiet();
    }
    let start = processor_seconds();
    let mut run = learner.start().expect("a run");
    run.learn_all(rows).expect("planned rows");
    let model = run.model().expect("a model");
    let seconds = processor_seconds() - start;
    drop(model);
    Measured::once(seconds, count)
}

/// What this process has had of its processor so far; on one core it has one thread.
fn processor_seconds() -> f64 {
    let told = std::fs::read_to_string("/proc/self/schedstat").expect("Linux tells it");
    let nanoseconds = told
        .split(' ')
        .next()
        .and_then(|number| number.parse().ok());
    let nanoseconds: u64 = nanoseconds.expect("nanoseconds");
    nanoseconds as f64 / 1e9
}
