//! Every planted bug is flagged, and its correct twin is not.
#![allow(clippy::unwrap_used)]

use hushstream_audit::{Effort, planted};

/// The chance that a correct twin is flagged is below 10⁻⁷ for each; seeds are fixed besides.
const EFFORT: (u64, f64, u64) = (6000, 1e-7, 20);

/// What must be in the list, whatever else is.
const NAMES: [&str; 48] = [
    "sensitivity halved",
    "kappa forgotten",
    "column norm forgotten",
    "participations forgotten",
    "one level too few",
    "R for R²",
    "noise redrawn",
    "one release too many",
    "overlapping batches",
    "address reused",
    "exponential radius",
    "zero where untouched",
    "clipping after noise",
    "draws beyond the last",
    "overlapping batches of losses",
    "2Δ forgotten",
    "net not scaled",
    "vector noise",
    "answered twice",
    "divided by the batch twice",
    "product not clipped",
    "p/β forgotten",
    "gradients clipped, not data",
    "start not projected",
    "secret start",
    "float sum before the lattice",
    "null record skipped",
    "gradients clipped",
    "inexact step not charged",
    "average without 1/alpha",
    "printed gradient step",
    "octaves for free",
    "noise rescaled",
    "noise since first touch",
    "sparse noise redrawn",
    "questions from exact sums",
    "counts not priced",
    "negative feature",
    "a pass counted as one",
    "a cell that two tables share",
    "an arm on its own clock",
    "no noise where nobody played",
    "reward not clipped",
    "policy before its sync",
    "coin from the noise",
    "batch counted twice",
    "two queries on one run",
    "stale question",
];

#[test]
fn every_bug_is_flagged_and_no_twin_is() {
    let (runs, error, seed) = EFFORT;
    let effort = Effort::runs(runs, error, seed);
    let bugs = planted::all();
    let names: Vec<&str> = bugs.iter().map(|bug| bug.name()).collect();
    for name in NAMES {
        assert!(names.contains(&name), "{name} is missing from {names:?}");
    }
    for bug in bugs {
        let found = bug.examine(true, effort).unwrap();
        assert!(
            found.is_flagged(),
            "{} was not flagged: {found:?}",
            bug.name()
        );
        let twin = bug.examine(false, effort).unwrap();
        assert!(
            !twin.is_flagged(),
            "the twin of {} was flagged: {twin:?}",
            bug.name()
        );
    }
}
