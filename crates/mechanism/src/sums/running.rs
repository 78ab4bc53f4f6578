//! A sum in progress: the common interface of trees, codes, digits, windows and filters.

use super::cover::{Cover, Draws, Walk};
use super::error::SumError;
use super::plan::SumPlan;
use super::strategy::Streams;
use super::vectors;
use crate::durable::packed;
use serde::{Deserialize, Serialize};

/// The stored state from which a sum continues bit for bit: exact accumulators, and (public) floats
/// of decoders. Never O(T).
#[derive(Clone, PartialEq, Serialize, Deserialize, Default)]
pub(crate) struct State {
    #[serde(with = "packed")]
    pub(crate) integers: Vec<i128>,
    pub(crate) floats: Vec<f64>,
}

/// A stored state that does not fit its mechanism.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the stored state does not fit this mechanism")]
pub(crate) struct StateError;

impl State {
    pub(crate) fn check(&self, integers: usize, floats: usize) -> Result<(), StateError> {
        if self.integers.len() == integers && self.floats.len() == floats {
            Ok(())
        } else {
            Err(StateError)
        }
    }
}

/// A private sum in progress.
pub(crate) trait Running: Send {
    /// Takes in item `t` (1, 2, …) and writes release `t`, decoded to the units of the data.
    fn step(&mut self, t: u64, item: &[i64], out: &mut [f64]);

    /// Repeats release `t`, for the last t; for t = 0, the release before any item.
    fn last(&mut self, t: u64, out: &mut [f64]);

    /// Draws the noise of steps `from` to `last` ahead of need, if the mechanism supports it. The
    /// noise is the same.
    fn draw_ahead(&mut self, from: u64, last: u64) {
        let _ = (from, last);
    }

    /// The state for [`Running::restore`].
    fn state(&self) -> State;

    /// Continues after item `t`.
    fn restore(&mut self, t: u64, state: &State) -> Result<(), StateError>;
}

/// Exact prefix plus the integer noise of its cover.
pub(crate) struct CoveredPrefix<C> {
    exact: Vec<i64>,
    walk: Walk<C>,
    padding: Option<Padding>,
    unit: f64,
}

/// AS17's padding: every release carries `total` noises, so that all have one law. The extra noises
/// are drawn for every release; they touch no data and cost no privacy.
pub(crate) struct Padding {
    pub(crate) total: u32,
    pub(crate) draws: Draws,
}

impl<C: Cover> CoveredPrefix<C> {
    pub(crate) fn new(cover: C, draws: Draws, padding: Option<Padding>, unit: f64) -> Self {
        Self {
            exact: vec![0; draws.dimension()],
            walk: Walk::new(cover, draws),
            padding,
            unit,
        }
    }
}

impl<C: Cover + Copy + Send + 'static> CoveredPrefix<C> {
    /// The running sum of a plan.
    pub(crate) fn boxed(
        cover: C,
        plan: &SumPlan,
        streams: Streams<'_>,
        padding: Option<Padding>,
    ) -> Result<Box<dyn Running>, SumError> {
        let draws = streams.draws(Streams::MAIN)?;
        let unit = plan.lattice(0)?.unit();
        Ok(Box::new(Self::new(cover, draws, padding, unit)))
    }
}

impl<C: Cover + Copy + Send + 'static> Running for CoveredPrefix<C> {
    fn step(&mut self, t: u64, item: &[i64], out: &mut [f64]) {
        // The plan keeps exact sums below 2⁶¹: nothing wraps.
        vectors::add(&mut self.exact, item);
        self.last(t, out);
    }

    fn last(&mut self, t: u64, out: &mut [f64]) {
        let (noise, terms) = self.walk.at(t);
        let mut padded;
        let noise = match &mut self.padding {
            None => noise,
            Some(padding) => {
                padded = noise.to_vec();
                padding.add(t, terms, &mut padded);
                &padded
            }
        };
        vectors::release(out, &self.exact, noise, self.unit);
    }

    fn draw_ahead(&mut self, from: u64, last: u64) {
        self.walk.draw_ahead(from, last);
    }

    fn state(&self) -> State {
        State {
            integers: self.exact.iter().map(|&v| i128::from(v)).collect(),
            floats: Vec::new(),
        }
    }

    fn restore(&mut self, _t: u64, state: &State) -> Result<(), StateError> {
        state.check(self.exact.len(), 0)?;
        for (exact, &stored) in self.exact.iter_mut().zip(&state.integers) {
            *exact = i64::try_from(stored).map_err(|_| StateError)?;
        }
        Ok(())
    }
}

impl Padding {
    /// Adds extra noises to release t, up to `total`.
    fn add(&mut self, t: u64, terms: usize, noise: &mut [i64]) {
        for extra in terms as u64..u64::from(self.total) {
            vectors::add(noise, self.draws.node(t << 6 | extra));
        }
    }
}
