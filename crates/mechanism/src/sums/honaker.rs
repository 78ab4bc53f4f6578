//! Honaker's estimate from below: the binary tree with noise on every node, where children improve
//! the estimates of their parents.
//!
//! **Claim.** For n releases the depth is h = bit_length(n), as for the tree, with less error for
//! the same noise.
//!
//! **Proof for this code path.** Every node of 2ʲ items that is complete by n gets noise of its
//! own; an item lies in one node of each level 0…h−1: depth h, reached by item 1. What is published
//! is the sequence of noisy nodes in completion order, as integers; the estimates below are
//! computed from those integers in floating point, after the release, and are post-processing.
//! (Weighting the noise alone and adding it to the exact sum would give the same numbers on paper,
//! and a float that depends on the data in its last bit.) ∎
//!
//! **Estimate** (Honaker 2015). With noise variance 1 the best unbiased estimate of a node from its
//! subtree has variance v₀ = 1, v_j = 2v_{j−1}/(1 + 2v_{j−1}) = 1/(2(1 − 2^{−(j+1)})): the node's
//! own value gets weight v_j, its children's estimates 1 − v_j.
//!
//! **State.** The exact sums and the estimates of the open nodes, one pair per level.

use super::SumKind;
use super::cover::{Draws, Noise};
use super::error::SumError;
use super::plan::SumPlan;
use super::running::{Running, State, StateError};
use super::strategy::{About, Streams, SumStrategy};
use super::tree::{BinaryTree, dyadic_node};
use serde::{Deserialize, Serialize};

/// The binary tree with Honaker's estimate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct HonakerTree;

pub(crate) const ABOUT: About = About::any_noise("honaker");

impl SumStrategy for HonakerTree {
    fn name(&self) -> String {
        "binary tree, Honaker estimate".to_owned()
    }

    fn citation(&self, _: Noise) -> (&'static str, &'static [&'static str]) {
        ("Honaker 2015, tree as in JKT12 Theorem 11", &["J1", "S2"])
    }

    fn fits(&self, kind: SumKind, _: u64) -> bool {
        kind == SumKind::Honaker
    }

    fn levels(&self, releases: u64, _: u32) -> Option<u32> {
        Some(BinaryTree::depth(releases))
    }

    fn has_leaves(&self) -> bool {
        true
    }

    fn variance(&self, t: u64, _: u64) -> f64 {
        prefix_variance(t)
    }

    fn worst_variance(&self, releases: u64) -> f64 {
        worst_variance(releases)
    }

    fn vectors(&self, releases: u64) -> u64 {
        3 * u64::from(BinaryTree::depth(releases)) + 2
    }

    fn build(&self, plan: &SumPlan, streams: Streams<'_>) -> Result<Box<dyn Running>, SumError> {
        let (draws, unit) = (streams.draws(Streams::MAIN)?, plan.lattice(0)?.unit());
        Ok(Box::new(Honaker::new(draws, unit)))
    }
}

/// Variance of the estimate of a node of the given level, in units of a noise's variance.
fn node_variance(level: u32) -> f64 {
    0.5 / (1.0 - 0.5_f64.powi(level as i32 + 1))
}

/// Variance of release t.
fn prefix_variance(t: u64) -> f64 {
    (0..64)
        .filter(|level| t >> level & 1 == 1)
        .map(node_variance)
        .sum()
}

/// The largest variance among releases 1…n: that of n, or of n cut to all ones below one of its
/// digits.
fn worst_variance(releases: u64) -> f64 {
    let cut = (0..64)
        .filter(|level| releases >> level & 1 == 1)
        .map(|level| {
            let above = releases >> level >> 1 << level << 1;
            above | ((1 << level) - 1)
        });
    cut.chain([releases])
        .map(prefix_variance)
        .fold(0.0, f64::max)
}

struct Open {
    level: u32,
    exact: Vec<i64>,
    estimate: Vec<f64>,
    /// The sum of this estimate and all before it.
    prefix: Vec<f64>,
}

/// The running mechanism.
pub(crate) struct Honaker {
    draws: Draws,
    unit: f64,
    /// Complete nodes without a complete parent, the largest first.
    open: Vec<Open>,
}

impl Honaker {
    pub(crate) fn new(draws: Draws, unit: f64) -> Self {
        Self {
            draws,
            unit,
            open: Vec::new(),
        }
    }

    fn noisy(&mut self, level: u32, end: u64, exact: &[i64]) -> Vec<f64> {
        let noise = self.draws.node(dyadic_node(level, end));
        // The sum is an integer below 2⁶³; only the published integer is rounded to a float.
        exact
            .iter()
            .zip(noise)
            .map(|(exact, noise)| (exact + noise) as f64)
            .collect()
    }

    fn push(&mut self, level: u32, exact: Vec<i64>, estimate: Vec<f64>) {
        let mut prefix = estimate.clone();
        if let Some(before) = self.open.last() {
            for (prefix, before) in prefix.iter_mut().zip(&before.prefix) {
                *prefix += before;
            }
        }
        self.open.push(Open {
            level,
            exact,
            estimate,
            prefix,
        });
    }
}

impl Running for Honaker {
    fn step(&mut self, t: u64, item: &[i64], out: &mut [f64]) {
        let mut exact = item.to_vec();
        let mut estimate = self.noisy(0, t, &exact);
        for level in 1..=t.trailing_zeros() {
            let Some(left) = self.open.pop() else { break };
            debug_assert_eq!(left.level, level - 1);
            for (exact, left) in exact.iter_mut().zip(&left.exact) {
                *exact += left;
            }
            let own = self.noisy(level, t, &exact);
            let weight = node_variance(level);
            for ((estimate, left), own) in estimate.iter_mut().zip(&left.estimate).zip(own) {
                *estimate = weight * own + (1.0 - weight) * (left + *estimate);
            }
        }
        self.push(t.trailing_zeros(), exact, estimate);
        self.last(t, out);
    }

    fn last(&mut self, _t: u64, out: &mut [f64]) {
        out.fill(0.0);
        if let Some(last) = self.open.last() {
            for (out, prefix) in out.iter_mut().zip(&last.prefix) {
                *out = prefix * self.unit;
            }
        }
    }

    fn state(&self) -> State {
        State {
            integers: self
                .open
                .iter()
                .flat_map(|node| &node.exact)
                .map(|&v| i128::from(v))
                .collect(),
            floats: self
                .open
                .iter()
                .flat_map(|node| &node.estimate)
                .copied()
                .collect(),
        }
    }

    fn restore(&mut self, t: u64, state: &State) -> Result<(), StateError> {
        let dimension = self.draws.dimension();
        let levels: Vec<u32> = (0..64).rev().filter(|level| t >> level & 1 == 1).collect();
        state.check(levels.len() * dimension, levels.len() * dimension)?;
        self.open.clear();
        let integers = state.integers.chunks(dimension);
        for ((level, exact), estimate) in levels
            .into_iter()
            .zip(integers)
            .zip(state.floats.chunks(dimension))
        {
            let exact = exact
                .iter()
                .map(|&v| i64::try_from(v))
                .collect::<Result<_, _>>();
            self.push(level, exact.map_err(|_| StateError)?, estimate.to_vec());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closed_form_of_the_variance() {
        let mut v = 1.0_f64;
        for level in 1..30 {
            v = 2.0 * v / (1.0 + 2.0 * v);
            assert!((v - node_variance(level)).abs() < 1e-15);
        }
    }

    #[test]
    fn worst_variance_by_search() {
        let mut worst = 0.0_f64;
        for n in 1..4000 {
            worst = worst.max(prefix_variance(n));
            assert!((worst_variance(n) - worst).abs() < 1e-12, "n = {n}");
        }
    }
}
