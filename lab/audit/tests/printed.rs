//! The papers' own constants are caught.
#![allow(clippy::unwrap_used)]

use hushstream_audit::{Effort, Printed};

/// With fixed seeds; the confidence of each row is 99.9 %.
#[test]
fn every_printed_constant_is_refuted() {
    for row in Printed::all() {
        // The smallest δ needs more runs than a quick test has.
        if row.truth().unwrap() < 0.0025 && !cfg!(feature = "long") {
            continue;
        }
        let runs = row.enough_runs().unwrap();
        let verdict = row.audit(Effort::runs(runs, 1e-3, 3)).unwrap();
        assert!(
            verdict.violated(),
            "{} {}: {verdict:?}",
            row.erratum,
            row.setting
        );
    }
}
