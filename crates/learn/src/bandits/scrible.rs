//! SCRiBLE: linear bandits on a convex set with a self-concordant barrier (AS17 Theorem 4.5, card
//! C13; erratum A6).
//!
//! x_t = argmin η⟨L̂, x⟩ + R(x); of the eigenpairs (λ_i, e_i) of ∇²R(x_t) one is drawn, and a sign
//! s; the play is x_t + s·λ_i^{−1/2}·e_i, which lies in the set because Dikin's ellipsoid does;
//! l̂ = n·ŷ·s·λ_i^{1/2}·e_i, n the number of free coordinates.
//!
//! **Unbiased** for the loss on the set's directions: averaging over s leaves
//! n·λ^{1/2}·λ^{−1/2}⟨l, e_i⟩·e_i, averaging over i gives l. A constant part of the loss, or of the
//! noise, drops out with the sign.
//!
//! **Regret**, for losses |⟨l, x⟩| ≤ 1 on the set, noise of variance v, ηn·Ȳ ≤ ¼:
//! 2ηn²T(1 + v) + ν ln T/η + 4 + clipping. *Proof.* In the dual of the local norm ‖l̂‖* = n|ŷ|, and
//! follow-the-regularised-leader on a barrier has regret 2ηΣ‖l̂‖*² + (R(u) − R(x_1))/η as long as
//! η‖l̂‖* ≤ ¼ (Abernethy, Hazan and Rakhlin 2008); for u at relative distance 1/T from the boundary
//! R(u) − R(x_1) ≤ ν ln T. ∎
//!
//! **Cost** a few Newton steps and one eigendecomposition, O(n³), per round.

use super::exp2::answered;
use super::{BanditLearner, Coins, FeedbackNoiseSize, Play};
use crate::{LearnError, check};
use hushstream_account::ParameterError;
use hushstream_sets::{Barrier, ConvexSet};
use nalgebra::{DMatrix, DVector};

/// SCRiBLE.
///
/// ```
/// use hushstream_learn::bandits::{BanditLearner, Coins, Scrible};
/// use hushstream_sets::{Ball, ConvexSet};
///
/// let set = Ball::new(2, 1.0)?;
/// let mut learner = Scrible::new(&set, 0.01, 3.0)?;
/// let mut bits = || 1;
/// let play = learner.play(&mut Coins::new(&mut bits))?;
/// assert!(set.contains(&play.point, 1e-9));
/// learner.observe(0.3)?;
/// assert_eq!(learner.rounds(), 1);
/// # Ok::<(), hushstream_learn::LearnError>(())
/// ```
pub struct Scrible {
    barrier: Box<dyn Barrier>,
    rate: f64,
    reach: f64,
    /// Σ l̂ in free coordinates.
    total: DVector<f64>,
    /// x_t in free coordinates.
    centre: DVector<f64>,
    /// The direction s·λ^{1/2}·e of the last play.
    played: Option<DVector<f64>>,
    rounds: u64,
}

impl Scrible {
    /// A learner on `set` with rate η that clips answers to ±`reach`.
    ///
    /// # Errors
    /// A set without a barrier; numbers that are not positive.
    pub fn new(set: &dyn ConvexSet, rate: f64, reach: f64) -> Result<Self, LearnError> {
        check::positive("learning rate", rate)?;
        check::positive("reach of answers", reach)?;
        let barrier = set.barrier()?;
        let size = barrier.free_dimension();
        let start = barrier.start();
        let mut learner = Self {
            barrier,
            rate,
            reach,
            total: DVector::zeros(size),
            centre: DVector::from_vec(start),
            played: None,
            rounds: 0,
        };
        learner.centre = learner.minimiser(&learner.total, &learner.centre)?;
        Ok(learner)
    }

    /// A learner with η and Ȳ for T rounds, ηnȲ ≤ ¼.
    ///
    /// # Errors
    /// A set without a barrier.
    pub fn stated(
        set: &dyn ConvexSet,
        rounds: u64,
        noise: FeedbackNoiseSize,
    ) -> Result<(f64, f64), LearnError> {
        let barrier = set.barrier()?;
        let (n, t) = (barrier.free_dimension() as f64, rounds.max(2) as f64);
        let reach = noise.reach(rounds);
        let wanted = barrier.parameter() * libm::log(t) / (2.0 * t * (1.0 + noise.variance()));
        Ok(((wanted.sqrt() / n).min(0.25 / (n * reach)), reach))
    }

    /// The regret bound (proof in the source file).
    #[must_use]
    pub fn regret_bound(&self, rounds: u64, noise: FeedbackNoiseSize) -> f64 {
        let (n, t) = (self.barrier.free_dimension() as f64, rounds.max(2) as f64);
        2.0 * self.rate * n * n * t * (1.0 + noise.variance())
            + self.barrier.parameter() * libm::log(t) / self.rate
            + 4.0 * (1.0 + noise.variance().sqrt())
    }

    /// argmin η⟨total, x⟩ + R(x), by damped Newton steps from a nearby point: with decrement δ a
    /// step of 1/(1+δ) stays inside and lowers the value.
    fn minimiser(
        &self,
        total: &DVector<f64>,
        from: &DVector<f64>,
    ) -> Result<DVector<f64>, LearnError> {
        let size = from.len();
        let mut at = from.clone();
        for _ in 0..200 {
            let gradient = self.barrier.gradient(at.as_slice())?;
            let hessian = self.barrier.hessian(at.as_slice())?;
            let slope = DVector::from_vec(gradient) + total * self.rate;
            let curvature = DMatrix::from_row_slice(size, size, &hessian);
            let Some(root) = curvature.cholesky() else {
                break;
            };
            let step = root.solve(&slope);
            let decrement = slope.dot(&step).max(0.0).sqrt();
            if !decrement.is_finite() || decrement < 1e-10 {
                break;
            }
            let factor = if decrement < 0.25 {
                1.0
            } else {
                1.0 / (1.0 + decrement)
            };
            let next = &at - step * factor;
            if !self.barrier.value(next.as_slice()).is_finite() {
                break; // rounding at the boundary
            }
            at = next;
        }
        Ok(at)
    }

    /// Eigenpairs of the Hessian at x_t.
    fn axes(&self) -> Result<(DVector<f64>, DMatrix<f64>), LearnError> {
        let size = self.centre.len();
        let hessian = self.barrier.hessian(self.centre.as_slice())?;
        let mut eigen = DMatrix::from_row_slice(size, size, &hessian).symmetric_eigen();
        // Fix the sign, so that a replay does not depend on the solver.
        for mut column in eigen.eigenvectors.column_iter_mut() {
            let largest = column.iamax();
            if column[largest] < 0.0 {
                column.neg_mut();
            }
        }
        Ok((eigen.eigenvalues, eigen.eigenvectors))
    }

    /// The play for axis i and sign s, and its l̂ for the answer 1.
    fn at_axis(&self, axis: usize, sign: f64) -> Result<(Vec<f64>, DVector<f64>), LearnError> {
        let (values, vectors) = self.axes()?;
        let size = self.centre.len() as f64;
        let root = values[axis].max(1e-300).sqrt();
        let free = &self.centre + vectors.column(axis) * (sign / root);
        let point = self.barrier.lift(free.as_slice())?;
        Ok((point, vectors.column(axis) * (size * sign * root)))
    }

    /// Every possible play, all equally likely, and l̂ for the answer 1 to it, in free coordinates.
    /// For tests of the estimate's mean.
    ///
    /// # Errors
    /// A barrier that fails.
    pub fn possibilities(&self) -> Result<Vec<[Vec<f64>; 2]>, LearnError> {
        let mut all = Vec::new();
        for axis in 0..self.centre.len() {
            for sign in [-1.0, 1.0] {
                let (point, estimate) = self.at_axis(axis, sign)?;
                all.push([point, estimate.as_slice().to_vec()]);
            }
        }
        Ok(all)
    }
}

impl BanditLearner for Scrible {
    fn name(&self) -> &'static str {
        "scrible"
    }

    fn play(&mut self, coins: &mut Coins<'_>) -> Result<Play, LearnError> {
        let axis = coins.below(self.centre.len());
        let sign = coins.sign();
        let (point, direction) = self.at_axis(axis, sign)?;
        self.played = Some(direction);
        Ok(Play {
            action: None,
            point,
            propensity: 0.5 / self.centre.len() as f64,
        })
    }

    fn observe(&mut self, answer: f64) -> Result<(), LearnError> {
        answered(self.played.as_ref().map(|_| ()), answer)?;
        let Some(direction) = self.played.take() else {
            return Ok(());
        };
        let total = &self.total + direction * answer.clamp(-self.reach, self.reach);
        self.centre = self.minimiser(&total, &self.centre)?;
        self.total = total;
        self.rounds += 1;
        Ok(())
    }

    fn rounds(&self) -> u64 {
        self.rounds
    }

    fn state(&self) -> Vec<f64> {
        [self.total.as_slice(), self.centre.as_slice()].concat()
    }

    fn restore(&mut self, rounds: u64, state: &[f64]) -> Result<(), LearnError> {
        let size = self.centre.len();
        check::vector("saved state", state, 2 * size)?;
        let (total, centre) = state.split_at(size);
        if !self.barrier.value(centre).is_finite() {
            return Err(ParameterError::new("saved centre", "a point", "inside the set").into());
        }
        self.total = DVector::from_column_slice(total);
        self.centre = DVector::from_column_slice(centre);
        (self.rounds, self.played) = (rounds, None);
        Ok(())
    }
}
