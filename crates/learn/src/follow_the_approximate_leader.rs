//! Follow the approximate leader, for strongly convex losses (ST13 Algorithm 1, "PFTAL"; on window
//! sums WDP20 Algorithm 1, "WDP-COCOP").
//!
//! **As implemented.** The sums are of gradients z_t = ∇f_t(ŵ_t); v̂_t is the released one over
//! items 1..t.
//!
//! ŵ_{t+1} = Π_C( (1/t)·Σ_{τ≤t} ŵ_τ − v̂_t/(H·t) ), with ŵ_1 the centre of C, or a given point.
//!
//! This is the minimiser over C of Σ_{τ≤t} (H/2)‖w − ŵ_τ‖² + ⟨v̂_t, w⟩: the leader on quadratics
//! that lie below the losses.
//!
//! **Errata.** S7: the papers' "output ŵ_t" is ŵ_{t+1}. W2: WDP20 prints the projection without the
//! division by t; then the iterates stay at the boundary. S3: the sums hold ∇f_t alone, of norm up
//! to L; the multiples of ŵ_t are public and are added here.
//!
//! **Regret**, stated: O(p(L + H‖C‖)²·log^2.5 T/(εH)). Proved here, on every stream of H-strongly
//! convex, L-Lipschitz losses and for every noise with ‖v̂_t − Σ z_τ‖ ≤ N:
//!
//! regret ≤ (1 + ln T)·((L + H·D)²/2 + L·N)/H, D the diameter.
//!
//! *Proof.* Let f̃_t(w) = f_t(ŵ_t) + ⟨z_t, w − ŵ_t⟩ + (H/2)‖w − ŵ_t‖² ≤ f_t(w), F_t their sum and
//! w_{t+1} its minimiser over C. Then regret ≤ Σ f̃_t(ŵ_t) − min F_T. (i) F_t is tH-strongly convex
//! and w_t minimises F_{t−1}, so F_t(w_t) − F_t(w_{t+1}) ≤ ‖∇f̃_t(w_t)‖²/(2tH), and these
//! differences add up to Σ f̃_t(w_t) − min F_T. (ii) A change of b in the linear part moves the
//! minimiser by at most ‖b‖/(tH), and f̃_t(ŵ_t) − f̃_t(w_t) ≤ ⟨z_t, ŵ_t − w_t⟩ ≤ L·N/((t−1)H). ∎
//!
//! **Cost** O(d) and one projection per round; the state is Σ ŵ_τ and the iterate.

use std::sync::Arc;

use hushstream_sets::{Capability, ConvexSet};

use crate::{LearnError, Learner, check};

/// The learner of ST13 Algorithm 1 and WDP20 Algorithm 1.
///
/// ```
/// use std::sync::Arc;
///
/// use hushstream_learn::{FollowTheApproximateLeader, LearnError, Learner};
/// use hushstream_sets::Ball;
///
/// // f(w) = ½(w − 0.5)², a strongly convex loss: its gradient at the first iterate is −0.5.
/// let mut learner = FollowTheApproximateLeader::new(Arc::new(Ball::new(1, 1.0)?), 1.0)?;
/// learner.observe(&[-0.5])?;
/// assert_eq!(learner.iterate(), [0.5]);
/// assert!(learner.regret_bound(1.5, 0.0, 1000) < 50.0);
/// # Ok::<(), LearnError>(())
/// ```
#[derive(Debug, Clone)]
pub struct FollowTheApproximateLeader {
    set: Arc<dyn ConvexSet>,
    strong_convexity: f64,
    rounds: u64,
    iterate: Vec<f64>,
    /// Σ ŵ_τ over τ ≤ rounds + 1.
    total: Vec<f64>,
}

impl FollowTheApproximateLeader {
    /// A learner for `strong_convexity`-strongly convex losses (H), from the centre of the set.
    ///
    /// # Errors
    /// A set that cannot project; an H that is not positive and finite.
    pub fn new(set: Arc<dyn ConvexSet>, strong_convexity: f64) -> Result<Self, LearnError> {
        check::can(set.as_ref(), Capability::Project)?;
        check::positive("strong convexity H", strong_convexity)?;
        let iterate = check::centre(set.as_ref())?;
        Ok(Self {
            set,
            strong_convexity,
            rounds: 0,
            total: iterate.clone(),
            iterate,
        })
    }

    /// Restarts the learner from another ŵ_1.
    ///
    /// # Errors
    /// A point outside the set.
    pub fn starting_at(mut self, point: &[f64]) -> Result<Self, LearnError> {
        check::inside("first iterate", self.set.as_ref(), point)?;
        self.rounds = 0;
        self.iterate = point.to_vec();
        self.total = point.to_vec();
        Ok(self)
    }

    /// The regret bound for noise of norm at most `noise` in every prefix sum (proof in the source
    /// file).
    #[must_use]
    pub fn regret_bound(&self, lipschitz: f64, noise: f64, horizon: u64) -> f64 {
        let slope = lipschitz + self.strong_convexity * self.set.diameter();
        check::harmonic(horizon) * (slope * slope / 2.0 + lipschitz * noise) / self.strong_convexity
    }
}

impl Learner for FollowTheApproximateLeader {
    fn name(&self) -> &'static str {
        "follow-the-approximate-leader"
    }

    fn iterate(&self) -> &[f64] {
        &self.iterate
    }

    fn observe(&mut self, prefix: &[f64]) -> Result<(), LearnError> {
        check::vector("prefix sum", prefix, self.set.dimension())?;
        let t = (self.rounds + 1) as f64;
        let sums = self.total.iter().zip(prefix);
        let target = sums.map(|(total, sum)| total / t - sum / t / self.strong_convexity);
        self.iterate = check::project(self.set.as_ref(), target.collect())?;
        for (total, value) in self.total.iter_mut().zip(&self.iterate) {
            *total += value;
        }
        self.rounds += 1;
        Ok(())
    }

    fn rounds(&self) -> u64 {
        self.rounds
    }

    fn state(&self) -> Vec<f64> {
        [self.iterate.as_slice(), &self.total].concat()
    }

    fn restore(&mut self, rounds: u64, state: &[f64]) -> Result<(), LearnError> {
        let [iterate, total] = check::saved(self.set.as_ref(), state)?;
        (self.iterate, self.total) = (iterate, total);
        self.rounds = rounds;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hushstream_sets::{Ball, BoxSet};

    /// With quadratics (H/2)‖w − θ‖² and exact sums the leader is θ from the second round on.
    #[test]
    fn one_quadratic_is_solved_at_once() {
        let set = Arc::new(Ball::new(2, 1.0).unwrap());
        let mut learner = FollowTheApproximateLeader::new(set, 0.5).unwrap();
        let mut sum = [0.0; 2];
        for _ in 0..50 {
            for (sum, (value, target)) in sum
                .iter_mut()
                .zip(learner.iterate().iter().zip([0.3, -0.4]))
            {
                *sum += 0.5 * (value - target);
            }
            learner.observe(&sum).unwrap();
            assert!((learner.iterate()[0] - 0.3).abs() < 1e-14);
            assert!((learner.iterate()[1] + 0.4).abs() < 1e-14);
        }
    }

    #[test]
    fn refusals_change_nothing() {
        let set = Arc::new(BoxSet::cube(2, 1.0).unwrap());
        assert!(FollowTheApproximateLeader::new(set.clone(), 0.0).is_err());
        let learner = FollowTheApproximateLeader::new(set, 1.0).unwrap();
        assert!(learner.clone().starting_at(&[2.0, 0.0]).is_err());
        let mut learner = learner.starting_at(&[1.0, 0.0]).unwrap();
        assert!(learner.observe(&[1.0]).is_err());
        assert!(learner.observe(&[1.0, f64::INFINITY]).is_err());
        assert!(learner.observe_initial(&[0.0, 0.0]).is_err());
        assert!(learner.restore(3, &[2.0, 0.0, 0.0, 0.0]).is_err());
        assert_eq!((learner.rounds(), learner.iterate()), (0, &[1.0, 0.0][..]));
    }
}
