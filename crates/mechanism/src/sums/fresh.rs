//! Fresh noise for every item, added up as items come.
//!
//! **As implemented.** Release t is Σ_{s ≤ t} (x_s + ξ_s): the strategy matrix is the identity, and
//! the prefix is post-processing of noisy items. Its noise grows with √t, more than any other sum's,
//! and it pays where everybody is in every item: a person's k items have k nodes, each its own, so
//! the sensitivity is √k (L2) or k (L1), where sums that save noise along the stream have up to k
//! times that of one item.

use super::SumKind;
use super::cover::{Draws, Noise};
use super::error::SumError;
use super::plan::SumPlan;
use super::running::{Running, State, StateError};
use super::strategy::{About, Streams, SumStrategy};
use serde::{Deserialize, Serialize};

/// A node for every item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FreshNoise;

pub(crate) const ABOUT: About = About::any_noise("fresh");

impl SumStrategy for FreshNoise {
    fn name(&self) -> String {
        "fresh noise for every item".to_owned()
    }

    fn citation(&self, _: Noise) -> (&'static str, &'static [&'static str]) {
        (
            "Dwork, Rothblum and Vadhan 2010; Dong, Roth and Su 2022",
            &[],
        )
    }

    fn fits(&self, kind: SumKind, _: u64) -> bool {
        kind == SumKind::Fresh
    }

    fn levels(&self, _: u64, _: u32) -> Option<u32> {
        Some(1)
    }

    /// Depth 1, and no two items share a node.
    fn has_leaves(&self) -> bool {
        true
    }

    fn variance(&self, t: u64, _: u64) -> f64 {
        t as f64
    }

    fn worst_variance(&self, releases: u64) -> f64 {
        releases as f64
    }

    fn vectors(&self, _: u64) -> u64 {
        5
    }

    fn build(&self, plan: &SumPlan, streams: Streams<'_>) -> Result<Box<dyn Running>, SumError> {
        let (draws, unit) = (streams.draws(Streams::MAIN)?, plan.lattice(0)?.unit());
        Ok(Box::new(Fresh::new(draws, unit)))
    }
}

/// Noisy items, summed: integers, which no number of releases can make overflow.
pub(crate) struct Fresh {
    noisy: Vec<i128>,
    draws: Draws,
    unit: f64,
}

impl Fresh {
    pub(crate) fn new(draws: Draws, unit: f64) -> Self {
        Self {
            noisy: vec![0; draws.dimension()],
            draws,
            unit,
        }
    }
}

impl Running for Fresh {
    fn step(&mut self, t: u64, item: &[i64], out: &mut [f64]) {
        let noise = self.draws.node(t);
        for ((total, item), noise) in self.noisy.iter_mut().zip(item).zip(noise) {
            *total += i128::from(*item) + i128::from(*noise);
        }
        self.last(t, out);
    }

    fn last(&mut self, _: u64, out: &mut [f64]) {
        for (out, total) in out.iter_mut().zip(&self.noisy) {
            *out = *total as f64 * self.unit;
        }
    }

    fn state(&self) -> State {
        State {
            integers: self.noisy.clone(),
            floats: Vec::new(),
        }
    }

    fn restore(&mut self, _: u64, state: &State) -> Result<(), StateError> {
        state.check(self.noisy.len(), 0)?;
        self.noisy.copy_from_slice(&state.integers);
        Ok(())
    }
}
