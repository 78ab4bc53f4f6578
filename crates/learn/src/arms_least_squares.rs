//! Least squares for every arm of a decision, each on its own block of second moments.
//!
//! **As implemented.** A release holds K blocks in the layout of [`crate::MomentsLayout`]: V̂_a and
//! û_a of the records for which arm a was played. θ̂_a = (V̂_a⁺ + λI)⁻¹·û_a, V̂⁺ with negative
//! eigenvalues set to 0 ([`crate::LeastSquares`] without its projection). A block whose arm nobody
//! has played is noise, and λ keeps its weights small.
//!
//! **The error of an estimate**, for rewards with mean ½ + ⟨θ_a, φ⟩, ‖θ_a‖ ≤ S, ‖φ‖ ≤ R: let V be
//! the matrix without noise, E = V̂ − V, ‖E‖ ≤ Γ, e = û's noise, ‖e‖ ≤ η, ξ = Σφ·(reward − mean).
//! With M = V̂⁺ + λ:
//!
//! |⟨φ, θ̂ − θ⟩| ≤ ‖φ‖_{M⁻¹}·(√f·‖ξ‖_{(V+Γ)⁻¹} + (η + (2Γ + λ)S)/√λ), M⁻¹ ⪯ f·(V + Γ)⁻¹,
//! f = max(1, 2Γ/λ).
//!
//! *Proof.* θ̂ − θ = M⁻¹(ξ + e − (V̂⁺ − V + λ)θ). ‖V̂⁺ − V‖ ≤ 2Γ: V̂ ⪰ V − Γ ⪰ −Γ, so clipping
//! moves V̂ by at most Γ. M ⪰ λ gives the second term. M ⪰ λ and M ⪰ V̂ + λ ⪰ V − Γ + λ; for
//! λ ≤ 2Γ the mixture of the two with weights 1 − λ/2Γ and λ/2Γ is λ + (λ/2Γ)(V − Γ) =
//! (λ/2Γ)(V + Γ); for λ ≥ 2Γ, M ⪰ V + Γ. ∎
//!
//! **Cost**: K times that of least squares, at the rounds that are due.

use crate::{LearnError, Learner, LeastSquares, MomentsLayout, check};
use hushstream_account::ParameterError;
use std::sync::OnceLock;

/// Least squares for every arm.
///
/// ```
/// use hushstream_learn::{ArmsLeastSquares, LearnError, Learner};
///
/// let mut learner = ArmsLeastSquares::new(2, 1, (1.0, 0.5), 1.0, 0.1)?;
/// // Arm 0 has V = 4, u = 1; arm 1 was never played. κ = R/Y = 2.
/// learner.observe(&[4.0, 2.0, 0.0, 0.0])?;
/// assert!((learner.iterate()[0] - 1.0 / 4.1).abs() < 1e-6);
/// assert_eq!(learner.iterate()[1], 0.0);
/// # Ok::<(), LearnError>(())
/// ```
#[derive(Debug, Clone)]
pub struct ArmsLeastSquares {
    arms: Vec<LeastSquares>,
    layout: MomentsLayout,
    iterate: OnceLock<Vec<f64>>,
}

/// α, as a share of R²: the projection of [`LeastSquares`] is then far out.
const ALMOST_NOTHING: f64 = 1e-12;

impl ArmsLeastSquares {
    /// A learner for so many arms, p features with ‖φ‖ ≤ R and |y| ≤ Y (`bounds`), sums whose κ is
    /// `weight`·R/Y, and a ridge λ.
    ///
    /// # Errors
    /// No arms; what [`LeastSquares`] refuses; a ridge that is not positive.
    pub fn new(
        arms: usize,
        features: usize,
        bounds: (f64, f64),
        weight: f64,
        ridge: f64,
    ) -> Result<Self, LearnError> {
        if arms == 0 {
            return Err(ParameterError::new("arms", 0, "at least 1").into());
        }
        check::positive("ridge λ", ridge)?;
        let alpha = ALMOST_NOTHING * bounds.0 * bounds.0;
        let one = LeastSquares::new(features, bounds.0, bounds.1, alpha)?;
        let one = one.ridge(ridge)?.weighted(weight)?.every(1)?;
        Ok(Self {
            layout: one.layout(),
            arms: vec![one; arms],
            iterate: OnceLock::new(),
        })
    }

    /// Recomputes the weights in every k-th round ([`LeastSquares::every`]).
    ///
    /// # Errors
    /// A k of 0.
    pub fn every(mut self, rounds: u64) -> Result<Self, LearnError> {
        for arm in &mut self.arms {
            *arm = arm.clone().every(rounds)?;
        }
        Ok(self)
    }
}

impl ArmsLeastSquares {
    /// (V̂_a⁺ + λI)⁻¹ of every arm at the last due round, each as a lower triangle, row by row.
    ///
    /// # Errors
    /// A matrix whose eigenvalues are not found.
    pub fn inverses(&self) -> Result<Vec<f64>, LearnError> {
        let each = self.arms.iter().map(LeastSquares::inverse);
        Ok(each.collect::<Result<Vec<_>, _>>()?.concat())
    }
}

impl Learner for ArmsLeastSquares {
    fn name(&self) -> &'static str {
        "least-squares-of-arms"
    }

    fn sum_dimension(&self) -> usize {
        self.arms.len() * self.layout.len()
    }

    fn iterate(&self) -> &[f64] {
        self.iterate.get_or_init(|| {
            let weights = self.arms.iter().map(|arm| arm.iterate().to_vec());
            weights.collect::<Vec<_>>().concat()
        })
    }

    fn observe(&mut self, prefix: &[f64]) -> Result<(), LearnError> {
        check::vector("prefix sum", prefix, self.sum_dimension())?;
        for (arm, block) in self.arms.iter_mut().zip(prefix.chunks(self.layout.len())) {
            arm.observe(block)?;
        }
        self.iterate = OnceLock::new();
        Ok(())
    }

    fn rounds(&self) -> u64 {
        self.arms.first().map_or(0, Learner::rounds)
    }

    fn restore(&mut self, rounds: u64, state: &[f64]) -> Result<(), LearnError> {
        let p = self.layout.dimension();
        check::vector("saved weights", state, self.arms.len() * p)?;
        for (arm, own) in self.arms.iter_mut().zip(state.chunks(p)) {
            arm.restore(rounds, own)?;
        }
        self.iterate = OnceLock::new();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Restored weights are those that were saved, and blocks do not touch each other.
    #[test]
    fn blocks_are_apart_and_a_state_comes_back() {
        let new = || ArmsLeastSquares::new(3, 2, (1.0, 0.5), 0.5_f64.sqrt(), 2.0).unwrap();
        let mut learner = new();
        let size = learner.layout.len();
        let mut sum = vec![0.0; 3 * size];
        sum[size..2 * size].copy_from_slice(&[9.0, 5.0, 1.0, 3.0, -2.0]);
        learner.observe(&sum).unwrap();
        let weights = learner.iterate().to_vec();
        assert!(weights[..2] == [0.0; 2] && weights[4..] == [0.0; 2] && weights[2] > 0.0);
        let mut copy = new();
        copy.restore(learner.rounds(), &learner.state()).unwrap();
        assert_eq!(copy.iterate(), weights);
        assert!(copy.restore(1, &[0.0]).is_err() && copy.observe(&[0.0]).is_err());
    }

    /// With noise of any sign the error stays within the bound of the proof, in two dimensions and
    /// without chance in the rewards.
    #[test]
    fn estimates_are_as_close_as_proved() {
        let (ridge, gamma, theta) = (0.7, 1.5, [0.3, -0.2]);
        for step in 0..200 {
            let turn = f64::from(step) * 0.37;
            let (a, b) = (4.0 + 3.0 * turn.sin(), 2.0 * turn.cos());
            let exact = [a.abs() + b.abs(), b.abs() + 0.3, b * 0.3];
            // A symmetric matrix of norm at most Γ: eigenvalues ±Γ, turned.
            let noise = [gamma * turn.cos(), -gamma * turn.cos(), gamma * turn.sin()];
            let u = [
                exact[0] * theta[0] + exact[2] * theta[1],
                exact[2] * theta[0] + exact[1] * theta[1],
            ];
            let mut learner = ArmsLeastSquares::new(1, 2, (1.0, 1.0), 1.0, ridge).unwrap();
            let root = std::f64::consts::SQRT_2;
            let sum = [
                exact[0] + noise[0],
                exact[1] + noise[1],
                root * (exact[2] + noise[2]),
                u[0],
                u[1],
            ];
            learner.observe(&sum).unwrap();
            let found = learner.iterate();
            let error = (found[0] - theta[0]).hypot(found[1] - theta[1]);
            let size = theta[0].hypot(theta[1]);
            // ‖θ̂ − θ‖ ≤ ‖M⁻¹‖·(2Γ + λ)S.
            assert!(
                error <= (2.0 * gamma + ridge) * size / ridge,
                "{step}: {error}"
            );
        }
    }
}
