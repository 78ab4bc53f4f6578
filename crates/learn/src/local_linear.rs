//! Conditional gradient steps with a local linear oracle, for strongly convex losses without
//! projections (WDP20 Algorithm 2, "WDP-COCOL"; Garber and Hazan 2016).
//!
//! **As stated**, with corrections ([`LocalLinear::as_stated`]). The sums are of gradients; ĝ_t is
//! the released one over items 1..t (ĝ_0 = 0), ρ the oracle's constant, D the diameter,
//! A_t = μ(t + C₀):
//!
//! - a = 1/(5ρ²), C₀ = (25ρ²)², C₁ = 26ρ²(L + μD)(1 + C_W), C_W = (2a/(1 − a))·N/(L + μD),
//!   N the norm of the noise,
//! - g = μ[(t + C₀)x̂_t − Σ_{τ≤t} x̂_τ − C₀x_1] + ĝ_t, the gradient at x̂_t of
//!   Ĵ_t(x) = ⟨ĝ_t, x⟩ + (μ/2)(Σ‖x − x̂_τ‖² + C₀‖x − x_1‖²),
//! - η_t = C₁²/A_t, r_t = min(D, √(4η_t/A_t) + (‖ĝ_t − ĝ_{t−1}‖ + μD)/A_t),
//! - p̂ the oracle's answer for (x̂_t, r_t, g), and x̂_{t+1} = (1 − a)x̂_t + a·p̂.
//!
//! **Errata.** W3: the paper gives the oracle the negative of a scaled leader instead of the
//! gradient. W8: its r_t ignores that the noise changes too; increments of public sums are public,
//! so measuring them costs no privacy.
//!
//! **Regret**, stated: as [`crate::FollowTheApproximateLeader`]'s, up to constants. Proved here, if
//! ‖ĝ_t − ĝ_{t−1}‖ ≤ 4(L + μD)(1 + C_W) in every round:
//!
//! regret ≤ (1 + ln T)·((L + μD)²/2 + L·N + 2L·C₁)/μ + C₀μD²/2.
//!
//! *Proof.* As for the tuned variant, with γ_{t−1} ≤ 2C₁²·A_{t−1}/A_t² in place of the computed γ:
//! the step keeps it so, as (1 − a)(γ_{t−1} + ‖ĝ_t − ĝ_{t−1}‖r_t) + a²ρ²A_t·r_t²/2 shows with these
//! constants. ∎ The constants are large: the iterate moves little in the first C₀ = (25ρ²)² rounds,
//! 1.8·10⁶ for ρ² = 54. The condition matters: increments can be as large as L + 2N, for which
//! the paper's C_W suffices only if ρ = 1 or if N is at most about (L + μD)·3/2;
//! C_W = N/(2(L + μD)) would always suffice. If the condition fails, the bound is not proved; no
//! violation was observed.
//!
//! **Tuned** ([`LocalLinear::tuned`]). The same privacy, since it is post-processing too, and no
//! constants: the radius is a *proved* bound on the distance to the minimiser of Ĵ_t, computed from
//! public numbers, and the step is the best one towards p̂. With e_t the bound after round t
//! ([`LocalLinear::leader_distance`]; formulas and proof in `local_steps.rs`),
//!
//! regret ≤ (1 + ln T)·((L + μD)²/2 + L·N)/μ + C₀μD²/2 + L·Σ e_t,
//!
//! where the last sum is public after the run. That it grows like ln T is measured, also by a test,
//! not proved.
//!
//! **Cost** O(d) and one oracle call per round. The state: iterate, Σ x̂_τ, ĝ_t, γ_t, Σ e_t and the
//! oracle's decomposition.

use std::sync::Arc;

use hushstream_sets::{Capability, ConvexSet, LocalOracle};

use crate::local_steps::{Steps, Walk};
use crate::{LearnError, Learner, check};

/// The number of rounds after which the iterate of an oracle without a decomposition is projected,
/// to remove rounding errors.
const TIDY: u64 = 1024;

/// The learner of WDP20 Algorithm 2, as stated or tuned.
///
/// ```
/// use std::sync::Arc;
///
/// use hushstream_learn::{LearnError, Learner, LocalLinear};
/// use hushstream_sets::{ConvexSet, Simplex};
///
/// let set = Arc::new(Simplex::new(3)?);
/// let mut learner = LocalLinear::tuned(set.clone(), 1.0, 0.0)?;
/// learner.observe(&[1.0, 0.0, 0.0])?; // the released sum of gradients
/// assert!(set.contains(learner.iterate(), 1e-9));
/// assert!(learner.iterate()[0] < 1.0 / 3.0);
/// # Ok::<(), LearnError>(())
/// ```
#[derive(Debug)]
pub struct LocalLinear {
    walk: Walk,
    oracle: Box<dyn LocalOracle>,
    /// Whether the oracle answers from the point alone.
    direct: bool,
}

impl LocalLinear {
    /// WDP20's constants for μ = `strong_convexity`, L = `lipschitz` and a noise norm N = `noise`
    /// that prefix sums exceed rarely.
    ///
    /// # Errors
    /// A set without a local oracle; a μ or L that is not positive, a negative N.
    pub fn as_stated(
        set: Arc<dyn ConvexSet>,
        strong_convexity: f64,
        lipschitz: f64,
        noise: f64,
    ) -> Result<Self, LearnError> {
        let mut learner = Self::tuned(set, strong_convexity, 0.0)?;
        let rho = learner.oracle.rho();
        learner.walk.steps = learner.walk.steps.stated(rho, lipschitz, noise)?;
        Ok(learner)
    }

    /// The tuned variant for μ = `strong_convexity` and C₀ = `anchor`, the weight of staying at
    /// x_1; 0 is a good choice.
    ///
    /// # Errors
    /// A set without a local oracle; a μ that is not positive, a negative anchor.
    pub fn tuned(
        set: Arc<dyn ConvexSet>,
        strong_convexity: f64,
        anchor: f64,
    ) -> Result<Self, LearnError> {
        check::can(set.as_ref(), Capability::LocalOracle)?;
        let first = check::centre(set.as_ref())?;
        let steps = Steps::tuned(strong_convexity, anchor, set.diameter())?;
        let learner = Self {
            oracle: set.local_oracle()?,
            direct: false,
            walk: Walk::new(set, steps, first.clone()),
        };
        learner.starting_at(&first)
    }

    /// Restarts the learner from another x_1 than the centre.
    ///
    /// # Errors
    /// A point outside the set.
    pub fn starting_at(mut self, point: &[f64]) -> Result<Self, LearnError> {
        check::vector("first iterate", point, self.walk.set.dimension())?;
        self.oracle.start(point)?;
        self.direct = self.oracle.decomposition().is_empty();
        let Walk { set, mut steps, .. } = self.walk;
        steps.forget();
        self.walk = Walk::new(set, steps, point.to_vec());
        Ok(self)
    }

    /// For the tuned variant, a proved bound on the distance of the iterate from the minimiser of
    /// Ĵ_t; `None` for the stated one.
    #[must_use]
    pub fn leader_distance(&self) -> Option<f64> {
        let steps = &self.walk.steps;
        steps.is_tuned().then(|| steps.distance(self.walk.rounds))
    }

    /// The bound on the regret of the rounds so far and the next one, for noise of norm at most
    /// `noise` in every prefix sum (proof in the source file).
    #[must_use]
    pub fn regret_bound(&self, lipschitz: f64, noise: f64) -> f64 {
        self.walk
            .steps
            .regret_bound(self.walk.rounds + 1, lipschitz, noise)
    }

    /// The regret bound for `horizon` rounds, before the first. `None` for the tuned variant, whose
    /// bound is known only after the run, and if increments of up to L + 2N exceed the condition of
    /// the proof.
    #[must_use]
    pub fn stated_bound(&self, lipschitz: f64, noise: f64, horizon: u64) -> Option<f64> {
        let proved = self.walk.steps.largest_increment()? >= lipschitz + 2.0 * noise;
        proved.then(|| self.walk.steps.regret_bound(horizon, lipschitz, noise))
    }
}

impl Learner for LocalLinear {
    fn name(&self) -> &'static str {
        if self.walk.steps.is_tuned() {
            "local-linear-tuned"
        } else {
            "local-linear"
        }
    }

    fn iterate(&self) -> &[f64] {
        &self.walk.iterate
    }

    fn observe(&mut self, prefix: &[f64]) -> Result<(), LearnError> {
        let walk = &mut self.walk;
        let (moved, gradient) = walk.gradient(prefix)?;
        let t = walk.rounds + 1;
        let radius = walk.steps.radius(t, moved);
        let downhill = check::direction(&gradient);
        let answer = self.oracle.step(&walk.iterate, radius, &downhill)?;
        let way = check::difference(&walk.iterate, &answer);
        let (fraction, steps) = walk.steps.step(t, moved, &gradient, &way);
        let mut next = self.oracle.advance(fraction)?;
        if self.direct && t.is_multiple_of(TIDY) {
            walk.set.project(&mut next)?;
        }
        walk.arrive(next, prefix, steps);
        Ok(())
    }

    fn rounds(&self) -> u64 {
        self.walk.rounds
    }

    fn state(&self) -> Vec<f64> {
        let mut state = self.walk.state();
        for (weight, vertex) in self.oracle.decomposition() {
            state.push(weight);
            state.extend(vertex);
        }
        state
    }

    fn restore(&mut self, rounds: u64, state: &[f64]) -> Result<(), LearnError> {
        let entry = self.walk.set.dimension() + 1;
        let fixed = self.walk.size();
        let rest = state.len().saturating_sub(fixed) % entry;
        let expected = fixed.max(state.len() - rest.min(state.len()));
        check::vector("saved state", state, expected)?;
        let (fixed, decomposition) = state.split_at(fixed);
        let walk = self.walk.restored(rounds, fixed)?;
        let weighted: Vec<(f64, Vec<f64>)> = decomposition
            .chunks_exact(entry)
            .map(|entry| (entry[0], entry[1..].to_vec()))
            .collect();
        self.oracle.restore(&weighted)?;
        self.walk = walk;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hushstream_sets::{Simplex, Spectrahedron};

    #[test]
    fn refusals_change_nothing() {
        let set: Arc<dyn ConvexSet> = Arc::new(Simplex::new(3).unwrap());
        assert!(LocalLinear::tuned(set.clone(), 0.0, 0.0).is_err());
        assert!(LocalLinear::tuned(set.clone(), 1.0, -1.0).is_err());
        assert!(LocalLinear::as_stated(set.clone(), 1.0, 1.0, f64::NAN).is_err());
        let message = LocalLinear::tuned(Arc::new(Spectrahedron::new(2).unwrap()), 1.0, 0.0);
        assert!(
            message
                .unwrap_err()
                .to_string()
                .contains("recipes it serves")
        );

        let mut learner = LocalLinear::tuned(set, 1.0, 0.0).unwrap();
        learner.observe(&[1.0, 0.0, 0.0]).unwrap();
        let state = learner.state();
        assert!(learner.observe(&[1.0, 0.0]).is_err());
        assert!(learner.observe(&[1.0, 0.0, f64::NAN]).is_err());
        for length in 0..state.len() {
            assert!(learner.restore(1, &state[..length]).is_err());
        }
        assert!(learner.restore(1, &[1.0; 11]).is_err());
        assert!(learner.starting_at(&[1.0, 1.0, 1.0]).is_err());
    }
}
