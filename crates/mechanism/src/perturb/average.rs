//! An average of iterates, for one release at the end (POL, JKT12 Section 5): of all of them as in
//! the paper, or of the later ones.
//!
//! **Sensitivity** of x̃ = (x_{m+1} + … + x_{t+1})/n, n = t − m + 1, where x_{j+1} is the iterate
//! after j steps: (s_m + … + s_t)/n with s_0 = 0, for the first iterate is public. *Proof.* The
//! averages of two neighbouring streams differ by the average of the differences of their iterates,
//! and the one after j steps is at most s_j, wherever in the stream the changed record stands. ∎
//! Both are attained at once, so the bound is tight where the s_j are.
//!
//! For implicit steps s_j = 2L/(α(j+1)). All iterates, m = 0: 2L(H_T − 1)/(αT) at T = t+1: the 1/α
//! that JKT12's (37) lacks is erratum J12. The later half, m = ⌊T/2⌋: 2L(H_T − H_m)/(α(T − m)),
//! about 2L·2 ln 2/(αT): less by (ln T − 0.42)/1.39, which is 4.3 at a thousand records and 9.6 at
//! a million, because the first iterates, which one record moves furthest, are left out. They are
//! also the worst ones: what is left out is not missed.
//!
//! **Error.** Each of n − 1 additions errs by at most u of a partial sum, whose length is at most
//! n·D; the quotient errs by one rounding more: u·(n+1)·D in each world.

use super::learner::ProvedHere;
use super::{Fate, StableLearner};
use crate::losses::{Record, UNIT};
use hushstream_account::Adjacency;
use std::sync::Arc;

/// The average of another learner's iterates.
#[derive(Clone)]
pub struct Average {
    inner: Arc<dyn StableLearner>,
    /// m: the steps before the first averaged iterate.
    first: u64,
}

impl Average {
    /// The average of this learner's iterates.
    #[must_use]
    pub fn of(inner: Arc<dyn StableLearner>) -> Self {
        Self { inner, first: 0 }
    }

    /// The average of this learner's iterates from the one after m steps on; before that, the
    /// current iterate.
    #[must_use]
    pub fn of_later(inner: Arc<dyn StableLearner>, m: u64) -> Self {
        Self { inner, first: m }
    }

    /// n after t steps.
    fn count(&self, t: u64) -> f64 {
        (t.saturating_sub(self.first) + 1) as f64
    }
}

impl StableLearner for Average {
    fn describe(&self) -> String {
        match self.first {
            0 => format!("average of {}", self.inner.describe()),
            m => format!("average after {m} steps of {}", self.inner.describe()),
        }
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
            *sum = if t > self.first { *sum + here } else { here };
        }
        fate
    }

    fn iterate(&self, t: u64, state: &[f64], out: &mut [f64]) {
        for (out, sum) in out.iter_mut().zip(state) {
            *out = sum / self.count(t);
        }
    }

    /// O(t).
    fn sensitivity(&self, t: u64, adjacency: Adjacency) -> f64 {
        let counted = self.first.min(t).max(1)..=t;
        let total: f64 = counted.map(|j| self.inner.sensitivity(j, adjacency)).sum();
        let count = self.count(t);
        // A sum of t positive floats is within t roundings of the truth.
        let mean = total / count * (1.0 + UNIT * (count + 8.0));
        mean + 2.0 * UNIT * (count + 4.0) * self.inner.reach()
    }

    fn proof(&self) -> Option<ProvedHere> {
        self.inner.proof()
    }
}
