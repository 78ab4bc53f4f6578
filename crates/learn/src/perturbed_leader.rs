//! Follow the perturbed leader, for linear losses (AS17 Algorithm 3).
//!
//! **As implemented.** The sums are of loss vectors; the noise that makes them private is the
//! perturbation.
//!
//! x_{t+1} = argmin over X of ⟨x, L̃_t⟩, an extreme point, with the ties of the set; x_1 the same
//! with L̃_0, or the centre of X if none is observed.
//!
//! **Errata.** A3: AS17's theorem claims ε-privacy, but it is (ε, δ), and its second branch of σ
//! lacks ‖Y‖₂; the privacy branch belongs to the mechanism and is not computed here. A7, A8: the
//! bound is for oblivious streams; T rounds.
//!
//! **Regret**, stated: O(N^¼·‖X‖‖Y‖√T + …). Proved here, in expectation on an oblivious stream, if
//! the noise in every L̃_t, t ≥ 0, is N(0, s²I), and r is the outer radius of X:
//!
//! regret ≤ r·(s·√N + T·‖Y‖₂²/(s·√(2π))).
//!
//! *Proof.* Only the law of each noise matters, so let it be one Z. Φ(L) = E min⟨x, L + Z⟩ is
//! concave, Φ(L) ≤ min⟨x, L⟩, and E x_t = ∇Φ(L_{t−1}). Its second derivative in the unit direction
//! u is E⟨x, u⟩⟨Z, u⟩/s², at most r·E|⟨Z, u⟩|/s² = r·√(2/π)/s in size (x may be counted from the
//! centre, as E Z = 0). So Σ⟨l_t, E x_t⟩ ≤ Φ(L_T) − Φ(0) + T·‖Y‖²·r/(s√(2π)), and −Φ(0), counted
//! from the centre, is at most r·E‖Z‖ ≤ r·s·√N. ∎ With H̄ noises of scale σ in every prefix,
//! s = σ·√H̄.
//!
//! **Cost** one linear minimisation per round; the state is the iterate.

use std::sync::Arc;

use hushstream_sets::{Capability, ConvexSet};

use crate::{LearnError, Learner, check};

/// The learner of AS17 Algorithm 3.
///
/// ```
/// use std::sync::Arc;
///
/// use hushstream_learn::{LearnError, Learner, PerturbedLeader};
/// use hushstream_sets::Simplex;
///
/// let mut learner = PerturbedLeader::new(Arc::new(Simplex::new(3)?))?;
/// learner.observe(&[5.0, 1.0, 2.0])?; // released losses: the second action leads
/// assert_eq!(learner.iterate(), [0.0, 1.0, 0.0]);
/// # Ok::<(), LearnError>(())
/// ```
#[derive(Debug, Clone)]
pub struct PerturbedLeader {
    set: Arc<dyn ConvexSet>,
    rounds: u64,
    iterate: Vec<f64>,
}

impl PerturbedLeader {
    /// A learner on any set with a linear minimiser.
    ///
    /// # Errors
    /// A set without a linear minimiser.
    pub fn new(set: Arc<dyn ConvexSet>) -> Result<Self, LearnError> {
        check::can(set.as_ref(), Capability::Minimise)?;
        let iterate = check::centre(set.as_ref())?;
        Ok(Self {
            set,
            rounds: 0,
            iterate,
        })
    }

    /// The regret bound for loss vectors of norm at most `loss_norm` and noise of standard
    /// deviation `deviation` in each coordinate of every prefix sum (proof in the source file).
    #[must_use]
    pub fn regret_bound(&self, loss_norm: f64, deviation: f64, horizon: u64) -> f64 {
        let start = deviation * (self.set.dimension() as f64).sqrt();
        let steps = horizon as f64 * loss_norm * loss_norm;
        self.set.outer_radius() * (start + steps / (deviation * std::f64::consts::TAU.sqrt()))
    }

    fn leader(&self, losses: &[f64]) -> Result<Vec<f64>, LearnError> {
        check::vector("prefix sum", losses, self.set.dimension())?;
        let mut lowest = vec![0.0; losses.len()];
        self.set.minimise(&check::direction(losses), &mut lowest)?;
        Ok(lowest)
    }
}

impl Learner for PerturbedLeader {
    fn name(&self) -> &'static str {
        "perturbed-leader"
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
        let [iterate] = check::saved(self.set.as_ref(), state)?;
        self.iterate = iterate;
        self.rounds = rounds;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hushstream_sets::{Simplex, Spectrahedron};

    #[test]
    fn the_smallest_sum_leads() {
        let mut learner = PerturbedLeader::new(Arc::new(Simplex::new(3).unwrap())).unwrap();
        assert!((learner.iterate()[2] - 1.0 / 3.0).abs() < 1e-15);
        learner.observe_initial(&[3.0, -1.0, 0.0]).unwrap();
        assert_eq!(learner.iterate(), [0.0, 1.0, 0.0]);
        learner.observe(&[1e308, -1e307, -1.1e307]).unwrap();
        assert_eq!(learner.iterate(), [0.0, 0.0, 1.0]);
        assert!(learner.observe_initial(&[3.0, -1.0, 0.0]).is_err());
        assert!(learner.observe(&[3.0, f64::NAN, 0.0]).is_err());
        assert_eq!(learner.rounds(), 1);
    }

    #[test]
    fn any_set_with_a_minimiser_is_allowed() {
        let set = Arc::new(Spectrahedron::new(2).unwrap());
        let dimension = set.dimension();
        let mut learner = PerturbedLeader::new(set.clone()).unwrap();
        learner.observe(&vec![1e307; dimension]).unwrap();
        assert!(set.contains(learner.iterate(), 1e-9));
    }
}
