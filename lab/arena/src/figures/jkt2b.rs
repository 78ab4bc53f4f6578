//! A figure of the shape of JKT12's Figure 2b: private least squares in 90 dimensions over 515,345
//! records, average regret against ε.
//!
//! With a file of Year Prediction (515,345 × 90; [`Years`]) it is the paper's figure. Without one
//! the records are synthetic, of the same number and dimension, made as those of [`super::jkt2a`]:
//! g_t standard Gaussian clipped to length R = 1.2·√d ≈ 11.4, y_t = ⟨g_t, x*⟩ + N(0, 0.01) clipped
//! to [−R, R], ‖x*‖ = 1, losses ½(y − ⟨g, x⟩)² + ½‖x‖²; δ = 10⁻⁶, replace-one. Regret is against
//! ridge regression in hindsight on the same records.
//!
//! Records are summed in items of 256, for everyone alike: second moments in 90 dimensions are
//! 4,185 numbers, and an iterate a record old would cost a factorisation a record. **As printed**
//! is the noise of PrivateSum as in [`super::jkt2a`], for T records, on the paper's tree at the
//! ends of items, in the corrected learner; it is **unsound** (errata J1, J2) and simulated on
//! public synthetic data only.

use super::regression::Regression;
use super::{Row, in_parallel, rows};
use crate::play::ArenaError;
use std::sync::Arc;

mod years;

pub use super::regression::Method;
pub use years::{Years, YearsError};

/// As many records as Year Prediction has.
pub const ROUNDS: u64 = 515_345;
/// From little to much.
pub const EPSILONS: [f64; 5] = [0.1, 0.3, 1.0, 3.0, 10.0];
/// δ.
pub const DELTA: f64 = super::regression::DELTA;
/// Methods that may be shown of any data.
pub const SOUND: &[Method] = Method::ALL.split_at(4).0;
/// Those and the noise that the paper prints.
pub const ALL: &[Method] = Method::ALL.split_at(5).0;

const D: usize = 90;

/// Plays the figure: for each ε in order, the methods in order; on records of a file, each repeat
/// in an order of its own, or on synthetic ones.
///
/// # Errors
/// Rounds or an ε that the recipe refuses.
pub fn figure(
    years: Option<Years>,
    rounds: u64,
    repeats: u64,
    epsilons: &[f64],
    methods: &[Method],
) -> Result<Vec<Row<Method>>, ArenaError> {
    let records = years.map(|years| Arc::new(years.records));
    let given = records
        .as_ref()
        .map_or(u64::MAX, |records| records.len() as u64);
    let rounds = rounds.min(given);
    let data = |seed: u64| Regression {
        records: records.clone(),
        dimension: D,
        rounds,
        batch: 256,
        seed,
        salt: 0x6a6b_7462,
    };
    // Ridge in hindsight is the leader's last word on the same records.
    let seeds: Vec<u64> = (0..repeats.max(1)).collect();
    let least = in_parallel(&seeds, |&seed| {
        let (_, best) = data(seed).simulated((0.0, 0.0))?;
        Ok::<_, ArenaError>(data(seed).loss_of(&best)? / rounds as f64)
    })?;
    rows(
        epsilons,
        methods,
        repeats,
        Method::is_private,
        |method, epsilon, seed| {
            let total = data(seed).total(method, epsilon)?;
            Ok(total / rounds as f64 - least[seed as usize])
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// At a fiftieth of the length: the leader is best, and nobody is better than the best in
    /// hindsight.
    #[test]
    fn the_shape_is_right() {
        let rows = figure(None, 10_000, 1, &[10.0], ALL).unwrap();
        let mean = |i: usize| rows[i].mean;
        assert!(rows.iter().all(|row| row.mean > 0.0), "{rows:?}");
        assert!((2..5).all(|i| mean(0) < mean(i)), "{rows:?}");
        assert!(figure(None, 1, 1, &[1.0], SOUND).is_err());
    }
}
