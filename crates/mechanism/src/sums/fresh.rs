//! Fresh noise for every item, added up as items come.
//!
//! **As implemented.** Release t is Σ_{s ≤ t} (x_s + ξ_s): the strategy matrix is the identity, and
//! the prefix is post-processing of noisy items. Its noise grows with √t, more than any other
//! sum's, and it pays where everybody is in every item: a person's k items have k nodes, each its
//! own, so the sensitivity is √k (L2) or k (L1), where sums that save noise along the stream have
//! up to k times that of one item.

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

    fn response(&self, _: u32) -> Option<Box<dyn Fn(u64) -> f64 + Send>> {
        Some(Box::new(|_| 1.0))
    }

    /// The noise of item s is in release s and all that follow.
    fn combined_variance(&self, weights: &[f64]) -> Option<f64> {
        let mut following = 0.0;
        let squares = weights.iter().rev().map(|weight| {
            following += weight;
            following * following
        });
        Some(squares.sum())
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

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "releases are compared to the last bit")]
mod tests {
    use super::*;
    use hushstream_noise::{Instance, Key, Source};

    fn draws(noise: Noise) -> Draws {
        let key = Key::insecure_from_seed(5);
        let source = Source::open(&key, Instance::from_bytes([3; 16]), 7);
        Draws::new(noise, 3, source).unwrap()
    }

    /// Every release is the sum of all items and of one whole noise for each; one that was stopped
    /// is the same bit for bit.
    #[test]
    fn releases_are_sums_of_noisy_items() {
        for noise in [Noise::Gaussian, Noise::Laplace, Noise::L2Laplace] {
            let (mut again, mut total) = (draws(noise), [0_i128; 3]);
            let mut sum = Fresh::new(draws(noise), 0.25);
            let mut out = [0.0; 3];
            sum.last(0, &mut out);
            assert_eq!(out, [0.0; 3]);
            for t in 1..=20_u64 {
                let item = [t as i64, -7, 1 << 60];
                sum.step(t, &item, &mut out);
                for ((total, item), noise) in total.iter_mut().zip(item).zip(again.node(t)) {
                    *total += i128::from(item) + i128::from(*noise);
                }
                assert_eq!(out, total.map(|total| total as f64 * 0.25), "{noise} {t}");
                let mut restored = Fresh::new(draws(noise), 0.25);
                restored.restore(t, &sum.state()).unwrap();
                let mut repeated = [0.0; 3];
                restored.last(t, &mut repeated);
                assert_eq!(out, repeated, "{noise} {t}");
                sum = restored;
            }
        }
        let mut other = Fresh::new(draws(Noise::Gaussian), 1.0);
        assert!(other.restore(1, &State::default()).is_err());
    }
}
