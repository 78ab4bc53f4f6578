//! The weights of blocks at which the statistics together have the least error.
//!
//! A block of weight w has noise of variance (distance/w)² in each of its coordinates, up to a
//! factor that is the same for all blocks. With an importance k of every block we minimise
//! distance²·Σ k/w². In L2 the squared distance is the largest of a few linear functions of y = w²;
//! in L1 the distance is the largest of a few linear functions of y = w. With the largest of them
//! fixed at 1 this is a convex problem, Σ k/yᵐ with m = 1 or 2, and at its optimum
//! y = (k/Σ λ·c)^(1/(m+1)) for multipliers λ of the cases. They are found by raising the λ of a
//! case that is too large and lowering the others, some hundred times. Weights cost accuracy if
//! they are off, never privacy: the distance is computed from the weights as they are.

use super::{Block, Case, GroupColumn, Statistic, Statistics, StatisticsShape, UNIT};
use crate::persons::Participation;
use hushstream_account::{Adjacency, ParameterError};

impl Statistics {
    /// The statistics with the weights of least total error. Each has an importance, by which its
    /// variance counts: for example the number of its coordinates that are of interest.
    ///
    /// # Errors
    /// As [`Statistics::new`]; an importance that is not positive.
    pub fn balanced(
        groups: Vec<GroupColumn>,
        wanted: &[(Statistic, bool, f64)],
        adjacency: Adjacency,
        participation: Participation,
        l1: bool,
    ) -> Result<Self, ParameterError> {
        if let Some((.., given)) = wanted.iter().find(|(.., k)| !(*k > 0.0 && k.is_finite())) {
            let allowed = "a positive number";
            return Err(ParameterError::new(
                "importance of a statistic",
                given,
                allowed,
            ));
        }
        let blocks = |weights: &[u16]| {
            let all = wanted.iter().zip(weights);
            all.map(|(&(statistic, by_group, _), &weight)| Block {
                statistic,
                by_group,
                weight,
            })
            .collect()
        };
        let equal = Self::new(StatisticsShape {
            groups,
            blocks: blocks(&vec![UNIT; wanted.len()]),
        })?;
        let cases = Case::priced(adjacency, participation, equal.groups);
        let weights = weights(wanted, &cases, l1);
        Self::new(StatisticsShape {
            groups: equal.shape.groups,
            blocks: blocks(&weights),
        })
    }
}

fn weights(wanted: &[(Statistic, bool, f64)], cases: &[Case], l1: bool) -> Vec<u16> {
    let power = if l1 { 1.0 / 3.0 } else { 0.5 };
    let times = |case: &Case, block: usize| {
        let (statistic, by_group, _) = wanted[block];
        case.times(statistic, by_group, l1) as f64
    };
    let mut multipliers = vec![1.0 / cases.len() as f64; cases.len()];
    let mut sizes = vec![0.0; wanted.len()];
    for _ in 0..400 {
        for (block, size) in sizes.iter_mut().enumerate() {
            let all = cases.iter().zip(&multipliers);
            let price: f64 = all.map(|(case, by)| by * times(case, block)).sum();
            *size = (wanted[block].2 / price.max(1e-12)).powf(power);
        }
        let lengths: Vec<f64> = cases
            .iter()
            .map(|case| {
                (0..)
                    .zip(&sizes)
                    .map(|(b, size)| times(case, b) * size)
                    .sum()
            })
            .collect();
        for (multiplier, length) in multipliers.iter_mut().zip(&lengths) {
            *multiplier *= f64::sqrt(*length);
        }
        let total: f64 = multipliers.iter().sum();
        multipliers.iter_mut().for_each(|by| *by /= total);
    }
    let weight = |size: &f64| if l1 { *size } else { size.sqrt() };
    let largest = sizes.iter().map(weight).fold(f64::MIN_POSITIVE, f64::max);
    let share = |size| (f64::from(UNIT) * weight(size) / largest).round();
    sizes
        .iter()
        .map(|size| share(size).clamp(1.0, f64::from(UNIT)) as u16)
        .collect()
}
