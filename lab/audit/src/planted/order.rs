//! Floats added up before they become integers: the result, and with it the sensitivity, depends on
//! the order.
//!
//! A sensitivity proof moves one record and keeps the rest. With floats the rest is not kept: one
//! record changes how all later ones are rounded, by as much as one likes for cleverly chosen
//! values (Casacuberta et al. 2022). No duel is needed to see it: a sum that is exact does not
//! depend on the order of its records.

use super::{Finding, Planted};
use crate::AuditError;
use crate::procedure::Effort;
use hushstream_arena::Dice;

/// Whether a sum of records gives different results for different orders of them; `tries` random
/// orders are compared with the given one.
pub fn order_matters<T: PartialEq>(
    records: &[f64],
    tries: u64,
    seed: u64,
    mut sum: impl FnMut(&[f64]) -> T,
) -> bool {
    let first = sum(records);
    let mut dice = Dice::new(seed);
    (0..tries).any(|_| {
        let mut shuffled = records.to_vec();
        for i in (1..shuffled.len()).rev() {
            let j = dice.bits() % (i as u64 + 1);
            shuffled.swap(i, usize::try_from(j).unwrap_or(0));
        }
        sum(&shuffled) != first
    })
}

pub(super) struct FloatSum;

impl Planted for FloatSum {
    fn name(&self) -> &'static str {
        "float sum before the lattice"
    }

    fn what(&self) -> &'static str {
        "records are added as floats, and only the sum is truncated to integers"
    }

    fn examine(&self, faulty: bool, effort: Effort) -> Result<Finding, AuditError> {
        const SCALE: f64 = (1_u64 << 40) as f64;
        let mut dice = Dice::new(effort.seed);
        let records: Vec<f64> = (0..1000).map(|_| 2.0 * dice.uniform() - 1.0).collect();
        Ok(Finding::OrderMatters(order_matters(
            &records,
            20,
            effort.seed,
            |records| {
                if faulty {
                    (records.iter().sum::<f64>() * SCALE).trunc() as i64
                } else {
                    records.iter().map(|x| (x * SCALE).trunc() as i64).sum()
                }
            },
        )))
    }
}
