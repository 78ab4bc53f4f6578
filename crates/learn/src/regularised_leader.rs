//! Follow the regularised leader, for linear losses (AS17 Algorithm 1).
//!
//! **As implemented.** The sums are of loss vectors l_t; L̃_t is the released one over items 1..t,
//! L̃_0 noise alone.
//!
//! x_{t+1} = argmin over X of η⟨x, L̃_t⟩ + R(x), and x_1 the same with L̃_0, or with 0 if none is
//! observed.
//!
//! R is any [`Regulariser`]; [`entropic`](RegularisedLeader::entropic) and
//! [`euclidean`](RegularisedLeader::euclidean) take the two that the paper's corollaries use.
//!
//! **Errata.** A7: the stated bound lacks a factor; it is for oblivious streams only, and the noise
//! in D_Z is that of a whole prefix sum. A8: T rounds, not T + 1.
//!
//! **Regret**, stated: √(D_R·Σ‖l_t‖*²) + D_Z, with η = √(D_R/Σ‖l_t‖*²). Proved here, in expectation
//! on an oblivious stream, if the noise Z in every L̃_t, t ≥ 0, has one law:
//!
//! regret ≤ D_R/η + (η/2)·Σ‖l_t‖*²/σ + D_Z, D_R = max R − min R, D_Z = E[max⟨Z, x⟩ − min⟨Z, x⟩],
//! for R that is σ-strongly convex in the norm whose dual is ‖·‖*.
//!
//! That is (3/2)·√(D_R·Σ) + D_Z at the stated η, and √(2·D_R·Σ) + D_Z at the best one, √(2D_R/Σ).
//!
//! *Proof.* E⟨l_t, x_t⟩ depends on the law of the noise in L̃_{t−1} only, so let it be one Z for
//! all t: the leader with regulariser R + η⟨Z, ·⟩, as strongly convex as R and of range at most
//! D_R + η·D_Z. A round costs at most (η/2)‖l_t‖*²/σ, as in the proof for the approximate leader. ∎
//!
//! **Cost** O(N), or one projection; the state is the iterate.

use std::sync::Arc;

use hushstream_sets::ConvexSet;

use crate::{Entropy, LearnError, Learner, Regulariser, Squares, check};

/// The learner of AS17 Algorithm 1.
///
/// ```
/// use hushstream_learn::{LearnError, Learner, RegularisedLeader};
///
/// // Hedge over two actions: weights proportional to e^(−η·loss).
/// let mut hedge = RegularisedLeader::entropic(2, 1.0)?;
/// hedge.observe(&[0.0, 3.0_f64.ln()])?;
/// assert!((hedge.iterate()[0] - 0.75).abs() < 1e-12);
/// # Ok::<(), LearnError>(())
/// ```
#[derive(Debug, Clone)]
pub struct RegularisedLeader {
    regulariser: Arc<dyn Regulariser>,
    rate: f64,
    rounds: u64,
    iterate: Vec<f64>,
}

impl RegularisedLeader {
    /// Hedge over `actions` actions, with learning rate η = `rate`.
    ///
    /// # Errors
    /// Fewer than 2 actions; a rate that is not positive and finite.
    pub fn entropic(actions: usize, rate: f64) -> Result<Self, LearnError> {
        Self::new(Arc::new(Entropy::new(actions)?), rate)
    }

    /// Lazily projected gradient steps on any set that projects, with learning rate η = `rate`.
    ///
    /// # Errors
    /// A set that cannot project; a rate that is not positive and finite.
    pub fn euclidean(set: Arc<dyn ConvexSet>, rate: f64) -> Result<Self, LearnError> {
        Self::new(Arc::new(Squares::new(set)?), rate)
    }

    /// The leader of any regulariser, with learning rate η = `rate`. It begins where the
    /// regulariser is least.
    ///
    /// # Errors
    /// A rate that is not positive and finite.
    pub fn new(regulariser: Arc<dyn Regulariser>, rate: f64) -> Result<Self, LearnError> {
        check::positive("learning rate η", rate)?;
        let nothing = vec![0.0; regulariser.set().dimension()];
        let iterate = regulariser.leader(rate, &nothing)?;
        Ok(Self {
            regulariser,
            rate,
            rounds: 0,
            iterate,
        })
    }

    /// √(D_R/Σ‖l_t‖*²), as AS17 states it.
    ///
    /// # Errors
    /// A range or a sum of squares that is not positive and finite.
    pub fn stated_rate(range: f64, squared_norms: f64) -> Result<f64, LearnError> {
        check::positive("range D_R", range)?;
        check::positive("sum of squared loss norms", squared_norms)?;
        let rate = (range / squared_norms).sqrt();
        check::positive("learning rate η", rate)?;
        Ok(rate)
    }

    /// √(2·D_R/Σ‖l_t‖*²), the minimiser of the proved bound.
    ///
    /// # Errors
    /// As [`stated_rate`](Self::stated_rate).
    pub fn best_rate(range: f64, squared_norms: f64) -> Result<f64, LearnError> {
        Ok(std::f64::consts::SQRT_2 * Self::stated_rate(range, squared_norms)?)
    }

    /// D_R.
    #[must_use]
    pub fn range(&self) -> f64 {
        self.regulariser.range()
    }

    /// The regret bound for Σ‖l_t‖*²/σ = `squares` ([`Regulariser::squared_length`]) and D_Z =
    /// `noise_range` (proof in the source file).
    #[must_use]
    pub fn regret_bound(&self, squares: f64, noise_range: f64) -> f64 {
        self.range() / self.rate + self.rate / 2.0 * squares + noise_range
    }

    fn leader(&self, losses: &[f64]) -> Result<Vec<f64>, LearnError> {
        check::vector("prefix sum", losses, self.regulariser.set().dimension())?;
        self.regulariser.leader(self.rate, losses)
    }
}

impl Learner for RegularisedLeader {
    fn name(&self) -> &'static str {
        "regularised-leader"
    }

    fn iterate(&self) -> &[f64] {
        &self.iterate
    }

    fn observe(&mut self, prefix: &[f64]) -> Result<(), LearnError> {
        self.iterate = self.leader(prefix)?;
        self.rounds += 1;
        Ok(())
    }

    fn observe_initial(&mut self, prefix: &[f64]) -> Result<(), LearnError> {
        check::not_begun(self.rounds)?;
        self.iterate = self.leader(prefix)?;
        Ok(())
    }

    fn rounds(&self) -> u64 {
        self.rounds
    }

    fn restore(&mut self, rounds: u64, state: &[f64]) -> Result<(), LearnError> {
        let [iterate] = check::saved(self.regulariser.set(), state)?;
        self.iterate = iterate;
        self.rounds = rounds;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hushstream_sets::Ball;

    #[test]
    fn weights_by_hand() {
        let mut learner = RegularisedLeader::entropic(3, std::f64::consts::LN_2).unwrap();
        assert!((learner.iterate()[0] - 1.0 / 3.0).abs() < 1e-15);
        learner.observe(&[1000.0, 1001.0, 1002.0]).unwrap();
        for (weight, expected) in learner.iterate().iter().zip([4.0, 2.0, 1.0]) {
            assert!((weight - expected / 7.0).abs() < 1e-15);
        }
        learner.observe(&[-1e308, 1e308, 0.0]).unwrap();
        assert_eq!(learner.iterate(), [1.0, 0.0, 0.0]);
    }

    #[test]
    fn an_initial_sum_moves_the_first_iterate_only() {
        let ball = Arc::new(Ball::new(2, 1.0).unwrap());
        let mut learner = RegularisedLeader::euclidean(ball, 0.5).unwrap();
        learner.observe_initial(&[1.0, 0.0]).unwrap();
        assert_eq!((learner.rounds(), learner.iterate()), (0, &[-0.5, 0.0][..]));
        learner.observe(&[0.0, 1.0]).unwrap();
        assert_eq!(learner.iterate(), [0.0, -0.5]);
        let message = learner.observe_initial(&[1.0, 0.0]).unwrap_err();
        assert!(
            message.to_string().contains("allowed: before the first"),
            "{message}"
        );
    }

    #[test]
    fn rates_and_bounds_are_the_formulas() {
        let stated = RegularisedLeader::stated_rate(4.0, 100.0).unwrap();
        assert!((stated - 0.2).abs() < 1e-15);
        let ball = Arc::new(Ball::new(2, 8.0_f64.sqrt()).unwrap());
        let learner = RegularisedLeader::euclidean(ball.clone(), stated).unwrap();
        assert!((learner.regret_bound(100.0, 7.0) - (1.5 * 20.0 + 7.0)).abs() < 1e-12);
        let best = RegularisedLeader::best_rate(4.0, 100.0).unwrap();
        let learner = RegularisedLeader::euclidean(ball, best).unwrap();
        assert!((learner.regret_bound(100.0, 7.0) - (800.0_f64.sqrt() + 7.0)).abs() < 1e-12);
        assert!(RegularisedLeader::stated_rate(0.0, 1.0).is_err());
        assert!(RegularisedLeader::entropic(1, 1.0).is_err());
        assert!(RegularisedLeader::entropic(3, f64::NAN).is_err());
    }
}
