//! Online Frank–Wolfe, for strongly convex losses on sets that have only a linear minimiser. It
//! replaces WDP20 Algorithm 2 if a set has no local oracle.
//!
//! **As implemented.** The sums are of gradients; ĝ_t is the released one over items 1..t
//! (ĝ_0 = 0). One linear minimisation per round:
//!
//! - Ĵ_t(x) = ⟨ĝ_t, x⟩ + (μ/2)Σ_{τ≤t}‖x − x̂_τ‖², A_t = μt,
//!   g = ∇Ĵ_t(x̂_t) = μ(t·x̂_t − Σ_{τ≤t} x̂_τ) + ĝ_t,
//! - p = argmin over C of ⟨g, p⟩, and x̂_{t+1} = x̂_t + a(p − x̂_t),
//!   a = min(1, ⟨g, x̂_t − p⟩/(A_t·‖x̂_t − p‖²)), the best step towards p; x̂_1 the centre of C.
//!
//! There are no constants to choose, and the noise need not be known. Hazan and Kale (2012) have
//! T^(3/4) for convex losses; that strong convexity gives T^(2/3) is known without privacy (Garber
//! and Kretzu 2021, Wan and Zhang 2021).
//!
//! **Regret**, proved here, on every stream of μ-strongly convex, L-Lipschitz losses, for every
//! noise of norm at most N in every prefix, D the diameter, M = L + 2N:
//!
//! regret ≤ (1 + ln T)·((L + μD)²/2 + L·N)/μ + (3/2)·L·E·T^(2/3), where
//! E = (M + √(2M² + κ³μ²D²))/(μκ) for any κ ≥ 1. We take κ = max(1, 2(M/(μD))^(2/3)): for
//! M ≥ μD/√8, E ≤ 2.09·(M/μ)^(1/3)·D^(2/3).
//!
//! *Proof.* Let x*_t minimise Ĵ_t over C, h_t = Ĵ_t(x̂_{t+1}) − Ĵ_t(x*_t), h_0 = 0. The x*_t follow
//! the leader with noise, which costs the first term (see the approximate leader); the iterate
//! played after round t is within e_t = √(2h_t/A_t) of x*_t, which costs L·e_t. Now
//! h′ = Ĵ_t(x̂_t) − Ĵ_t(x*_t) ≤ h_{t−1} + ⟨ĝ_t − ĝ_{t−1}, x̂_t − x*_t⟩, as the new quadratic is 0
//! at x̂_t, so h′ ≤ h_{t−1} + b√h′ with b = M√(2/A_t), hence h′ ≤ h_{t−1} + b√h_{t−1} + b². Ĵ_t is
//! a quadratic of curvature A_t and ⟨g, x̂_t − p⟩ ≥ h′: the best step gives
//! h_t ≤ (1 − a)h′ + a²A_tD²/2 for every a in [0, 1]. Claim: h_t ≤ K·t^(1/3) with K = μE²/2. If
//! t ≤ κ^(3/2), take a = 1: h_t ≤ μtD²/2 ≤ κμD²/2·t^(1/3), and K ≥ κμD²/2. Otherwise
//! a = κ·t^(−2/3), and the claim for t − 1 gives h_t ≤ K·t^(1/3) − t^(−1/3)·(κK − M√(2K/μ) −
//! M²/(2μκ) − κ²μD²/2), where (1 − κs)s ≤ 1/(4κ) was used for s = t^(−2/3). The bracket vanishes at
//! K = μE²/2. So e_t ≤ E·t^(−1/3), and Σ t^(−1/3) ≤ (3/2)T^(2/3). ∎
//!
//! As for the tuned [`crate::LocalLinear`], a bound on e_t is also *computed* during the run
//! ([`FrankWolfe::leader_distance`]; the proof in `local_steps.rs` needs only that the oracle
//! reaches as far as x*_t), and L·Σe_t in place of the last term is public after the run.
//!
//! **Cost** O(d) and one linear minimisation per round. The state: iterate, Σ x̂_τ, ĝ_t, γ_t,
//! Σ e_t.

use std::sync::Arc;

use hushstream_sets::{Capability, ConvexSet};

use crate::local_steps::{Steps, Walk};
use crate::{LearnError, Learner, check};

/// Conditional gradient steps on released sums.
///
/// ```
/// use std::sync::Arc;
///
/// use hushstream_learn::{FrankWolfe, LearnError, Learner};
/// use hushstream_sets::{ConvexSet, Spectrahedron};
///
/// // A spectrahedron has no local oracle, but a linear minimiser.
/// let set = Arc::new(Spectrahedron::new(2)?);
/// let mut learner = FrankWolfe::new(set.clone(), 1.0)?;
/// learner.observe(&set.to_vector(&[1.0, 0.0, 0.0, -1.0])?)?;
/// assert!(set.contains(learner.iterate(), 1e-9));
/// assert!(learner.iterate()[2] > 0.5);
/// # Ok::<(), LearnError>(())
/// ```
#[derive(Debug, Clone)]
pub struct FrankWolfe {
    walk: Walk,
}

impl FrankWolfe {
    /// A learner for `strong_convexity`-strongly convex losses (μ), from the centre of the set.
    ///
    /// # Errors
    /// A set without a linear minimiser; a μ that is not positive and finite.
    pub fn new(set: Arc<dyn ConvexSet>, strong_convexity: f64) -> Result<Self, LearnError> {
        check::can(set.as_ref(), Capability::Minimise)?;
        let steps = Steps::tuned(strong_convexity, 0.0, set.diameter())?;
        let centre = check::centre(set.as_ref())?;
        Ok(Self {
            walk: Walk::new(set, steps, centre),
        })
    }

    /// A proved bound on the distance of the iterate from the minimiser of Ĵ_t.
    #[must_use]
    pub fn leader_distance(&self) -> f64 {
        self.walk.steps.distance(self.walk.rounds)
    }

    /// The regret bound for noise of norm at most `noise` in every prefix sum (proof in the source
    /// file).
    #[must_use]
    pub fn regret_bound(&self, lipschitz: f64, noise: f64, horizon: u64) -> f64 {
        // The bound before the first round, without computed distances.
        let mut fresh = self.walk.steps;
        fresh.forget();
        let leader = fresh.regret_bound(horizon, lipschitz, noise);
        let most = lipschitz + 2.0 * noise;
        let lag = 1.5 * self.lag_constant(most) * (horizon as f64).powf(2.0 / 3.0);
        leader + lipschitz * lag.min(self.walk.set.diameter() * horizon as f64)
    }

    /// E, for sums that move by at most `moved` in a round.
    fn lag_constant(&self, moved: f64) -> f64 {
        let mu = self.walk.steps.strong_convexity;
        let flat = mu * self.walk.set.diameter();
        let kappa = (2.0 * (moved / flat).powf(2.0 / 3.0)).max(1.0);
        let root = (2.0 * moved * moved + kappa.powi(3) * flat * flat).sqrt();
        (moved + root) / (mu * kappa)
    }

    /// The regret bound of the rounds so far and the next one with the computed distances in place
    /// of the a-priori term.
    #[must_use]
    pub fn computed_bound(&self, lipschitz: f64, noise: f64) -> f64 {
        self.walk
            .steps
            .regret_bound(self.walk.rounds + 1, lipschitz, noise)
    }
}

impl Learner for FrankWolfe {
    fn name(&self) -> &'static str {
        "frank-wolfe"
    }

    fn iterate(&self) -> &[f64] {
        &self.walk.iterate
    }

    fn observe(&mut self, prefix: &[f64]) -> Result<(), LearnError> {
        let walk = &mut self.walk;
        let (moved, gradient) = walk.gradient(prefix)?;
        let mut next = vec![0.0; gradient.len()];
        walk.set.minimise(&check::direction(&gradient), &mut next)?;
        let way = check::difference(&walk.iterate, &next);
        let (fraction, steps) = walk.steps.step(walk.rounds + 1, moved, &gradient, &way);
        for (lowest, value) in next.iter_mut().zip(&walk.iterate) {
            *lowest = (1.0 - fraction) * value + fraction * *lowest;
        }
        walk.arrive(next, prefix, steps);
        Ok(())
    }

    fn rounds(&self) -> u64 {
        self.walk.rounds
    }

    fn state(&self) -> Vec<f64> {
        self.walk.state()
    }

    fn restore(&mut self, rounds: u64, state: &[f64]) -> Result<(), LearnError> {
        self.walk = self.walk.restored(rounds, state)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hushstream_sets::{Simplex, Spectrahedron};

    /// From (½, ½) with ĝ = (1, 0): g = ĝ, p = e₂, ⟨g, x − p⟩ = ½, A·‖x − p‖² = 2·½: a step of ½.
    #[test]
    fn first_step_by_hand() {
        let mut learner = FrankWolfe::new(Arc::new(Simplex::new(2).unwrap()), 2.0).unwrap();
        learner.observe(&[1.0, 0.0]).unwrap();
        assert!((learner.iterate()[0] - 0.25).abs() < 1e-15);
        assert!((learner.iterate()[1] - 0.75).abs() < 1e-15);
        // γ = min(½, ‖ĝ‖·r) − ½·½ + ¼·1/2 with r = ‖ĝ‖/A = ½, and e = √(2γ/A).
        assert!((learner.leader_distance() - 0.375_f64.sqrt()).abs() < 1e-8);
    }

    #[test]
    fn the_bound_is_the_formula() {
        let set = Arc::new(Spectrahedron::new(2).unwrap());
        let diameter = set.diameter();
        let learner = FrankWolfe::new(set, 2.0).unwrap();
        // M = 1 + 2·3 = 7, μD = 2√2: κ = 2·(7/√8)^(2/3), κ³μ²D² = 8M².
        let kappa = 2.0 * (7.0 / 8.0_f64.sqrt()).powf(2.0 / 3.0);
        let e = 7.0 * (1.0 + 10.0_f64.sqrt()) / (2.0 * kappa);
        assert!((learner.lag_constant(7.0) - e).abs() < 1e-12);
        assert!(e <= 2.09 * (7.0_f64 / 2.0).cbrt() * diameter.powf(2.0 / 3.0));
        let slope = 1.0 + 2.0 * diameter;
        let leader = (1.0 + 1e6_f64.ln()) * (slope * slope / 2.0 + 3.0) / 2.0;
        let expected = leader + 1.5 * e * 1e4;
        assert!((learner.regret_bound(1.0, 3.0, 1_000_000) / expected - 1.0).abs() < 1e-12);
        // κ = 1 for small steps.
        let small = (0.1 + (2.0 * 0.01 + 8.0_f64).sqrt()) / 2.0;
        assert!((learner.lag_constant(0.1) - small).abs() < 1e-12);
    }

    #[test]
    fn refusals_change_nothing() {
        let set: Arc<dyn ConvexSet> = Arc::new(Spectrahedron::new(2).unwrap());
        assert!(FrankWolfe::new(set.clone(), 0.0).is_err());
        let mut learner = FrankWolfe::new(set.clone(), 1.0).unwrap();
        learner.observe(&[1.0, -1e307, 1e307]).unwrap();
        assert!(set.contains(learner.iterate(), 1e-9));
        let state = learner.state();
        assert!(learner.observe(&[1.0, 0.0]).is_err());
        assert!(learner.observe(&[1.0, 0.0, f64::NAN]).is_err());
        for length in 0..state.len() {
            assert!(learner.restore(9, &state[..length]).is_err());
        }
        let mut negative = state.clone();
        *negative.last_mut().unwrap() = -1.0;
        assert!(learner.restore(9, &negative).is_err());
        assert_eq!((learner.rounds(), learner.state()), (1, state));
    }
}
