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
        // Runs for a proof that a δ is not 10⁻⁶ grow as it falls; an ε is seen at once.
        let runs = match row.truth().unwrap() {
            truth if truth < 0.0025 => 1_500_000,
            truth if truth < 0.01 => 400_000,
            _ => 20_000,
        };
        let verdict = row.audit(Effort::runs(runs, 1e-3, 3)).unwrap();
        assert!(
            verdict.violated(),
            "{} {}: {verdict:?}",
            row.erratum,
            row.setting
        );
    }
}
