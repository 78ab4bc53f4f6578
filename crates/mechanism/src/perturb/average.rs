//! The average of all iterates, for one release at the end (POL, JKT12 Section 5).
//!
//! **Sensitivity** of x̃ = (x_1 + … + x_{t+1})/(t+1), the first of them public: (s_1 + … + s_t)/(t+1). For implicit steps that is 2L(H_T − 1)/(αT) at T = t+1: the 1/α that JKT12's (37) lacks is erratum J12.
//!
//! **Error.** Each of t additions errs by at most u of a partial sum, whose length is at most (t+1)·D; the quotient errs by one rounding more: u·(t+2)·D in each world.

use super::learner::ProvedHere;
use super::{Fate, StableLearner};
use crate::losses::{Record, UNIT};
use hushstream_account::Adjacency;
use std::sync::Arc;

/// The average of another learner's iterates.
#[derive(Clone)]
pub struct Average {
    inner: Arc<dyn StableLearner>,
}

impl Average {
    /// The average of this learner's iterates.
    #[must_use]
    pub fn of(inner: Arc<dyn StableLearner>) -> Self {
        Self { inner }
    }
}

impl StableLearner for Average {
    fn describe(&self) -> String {
        format!("average of {}", self.inner.describe())
    }

    fn assumption(&self) -> String {
        self.inner.assumption()
    }

    fn dimension(&self) -> usize {
        self.inner.dimension()
    }

    fn reach(&self) -> f64 {
        self.inner.reach() * (1.0 + 1e-9)
    }

    /// The sum of iterates, then the inner state.
    fn start(&self) -> Vec<f64> {
        let state = self.inner.start();
        let mut both = vec![0.0; self.dimension()];
        self.inner.iterate(0, &state, &mut both);
        both.extend(state);
        both
    }

    fn step(&self, t: u64, state: &mut [f64], record: Option<&Record>) -> Fate {
        let (sum, inner) = state.split_at_mut(self.dimension());
        let fate = self.inner.step(t, inner, record);
        let mut here = vec![0.0; sum.len()];
        self.inner.iterate(t, inner, &mut here);
        for (sum, here) in sum.iter_mut().zip(here) {
            *sum += here;
        }
        fate
    }

    fn iterate(&self, t: u64, state: &[f64], out: &mut [f64]) {
        for (out, sum) in out.iter_mut().zip(state) {
            *out = sum / (t + 1) as f64;
        }
    }

    /// O(t).
    fn sensitivity(&self, t: u64, adjacency: Adjacency) -> f64 {
        let total: f64 = (1..=t).map(|j| self.inner.sensitivity(j, adjacency)).sum();
        let count = (t + 1) as f64;
        // A sum of t positive floats is within t roundings of the truth.
        let mean = total / count * (1.0 + UNIT * (count + 8.0));
        mean + 2.0 * UNIT * (count + 4.0) * self.inner.reach()
    }

    fn proof(&self) -> Option<ProvedHere> {
        self.inner.proof()
    }
}
