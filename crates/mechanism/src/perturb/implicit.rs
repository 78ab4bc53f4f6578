//! Implicit gradient steps (IGD, JKT12 Appendix B): x⁺ = argmin over C of ½‖x − x_t‖² +
//! f_t(x)/A(t).
//!
//! f_t = ℓ_t + (α_t/2)‖x‖² with an explicit loss ℓ_t(x) = φ(⟨v, x⟩) + offset·Σx, and A(t) the
//! curvature so far: α·t for strongly convex losses, slower with decreasing regularisation.
//!
//! **Sensitivity.** κL/A(t+1) with L = R·G and κ = 2 (replace-one) or 1 (zero-out: the null loss is
//! the regulariser alone). *Proof.* With λ = 1/A(t), β = α_t·λ the step is a (1+β)-strongly convex
//! minimisation. On one record two starting points come closer by the factor 1/(1+β) =
//! A(t)/(A(t)+α_t) ≤ A(t)/A(t+1). From one starting point, two losses lead at most λ·κL/(1+β) ≤
//! κL/A(t+1) apart, because the gradients of the two objectives differ by λ·κL at the most. So
//! A(t+1)·‖x_{t+1} − x'_{t+1}‖ never grows after the record in which the streams differ. ∎ It is
//! attained (JKT12's Lemma 4 has 2L/(αt); erratum J11).
//!
//! **How a step is computed, for every set that can project.** The minimiser is x(g) = Π_C((x_t −
//! λ(g·v + offset))/(1+β)) for the one number g ∈ ∂φ(⟨v, x(g)⟩). The score ⟨v, x(g)⟩ falls as g
//! rises, so ψ(g) = g − φ'(⟨v, x(g)⟩) rises strictly, with slope 1 to M = 1 + κ_φ·λR²: one root,
//! found by bracketing, whatever the set.
//!
//! **Error of a step**, rounded outward. Let e_w = 8u(D + λ(GR + offset)) + e_Π bound the float
//! error of x(g) for a given g (six roundings a coordinate, then the projection, which does not
//! expand). A float ψ is off by at most e_ψ = κ_φ(R·e_w + e_z) + e_s. The search ends with lo < hi
//! ≤ lo + tol and float ψ(lo) ≤ 0 ≤ ψ(hi), so |ψ(hi)| ≤ e_ψ + M·tol =: r. The exact x(hi) minimises
//! the step's objective with λ·r·⟨v, x⟩ added, so it is within λR·r of the true minimiser. Hence
//! τ_t ≤ e_w + λR(e_ψ + M·tol). In J11's notation the two worlds' errors add 2Σ_j τ_j·A(j+1)/A(t+1)
//! to s_t. ∎
//!
//! **Cost.** O(d) for each evaluation of ψ: three where no constraint binds, a dozen otherwise.
//! State: x.

use super::ground::{Ground, StepError, outward};
use super::learner::ProvedHere;
use super::{Curvature, Fate, PerturbError, StableLearner};
use crate::losses::{Datum, Explicit, Record, UNIT};
use hushstream_account::Adjacency;
use hushstream_sets::ConvexSet;
use std::sync::Arc;

/// The learner.
#[derive(Clone)]
pub struct ImplicitDescent {
    ground: Ground,
    curvature: Curvature,
    error: StepError,
    tolerance: f64,
}

impl ImplicitDescent {
    /// Implicit steps on a loss over a set.
    ///
    /// # Errors
    /// A set that cannot bound the error of its projection beforehand; curvature that is less than
    /// the loss's own; numbers out of range.
    pub fn new(
        loss: Explicit,
        set: Arc<dyn ConvexSet>,
        curvature: Curvature,
    ) -> Result<Self, PerturbError> {
        super::check_curvature(&loss, &curvature)?;
        let first = 1.0 / curvature.total(1);
        let ground = Ground::new(loss, set, first)?;
        // A few units in the last place of the largest slope: a middle of two floats further apart
        // lies strictly between them.
        let tolerance = 4.0 * f64::EPSILON * ground.steepest;
        let pull = ground.features * ground.steepest + ground.offset;
        let fixed = 8.0 * UNIT * ground.reach + ground.projection;
        let at_once = 8.0 * UNIT * pull;
        let of_score = ground.features * (fixed + first * at_once) + ground.score_error();
        let of_psi = ground.curvature * of_score + ground.slope_error();
        let steepness = 1.0 + ground.curvature * first * ground.features.powi(2);
        let error = StepError {
            fixed,
            scaled: at_once + ground.features * (of_psi + steepness * tolerance),
        };
        Ok(Self {
            ground,
            curvature,
            error,
            tolerance,
        })
    }

    /// The ideal part of s_t: κL/A(t+1), before the precision that floats cost.
    #[must_use]
    pub fn ideal_sensitivity(&self, t: u64, adjacency: Adjacency) -> f64 {
        let lipschitz = self.ground.features * self.ground.steepest;
        adjacency.kappa() * lipschitz / self.curvature.total(t + 1)
    }

    /// x(g), into `out`.
    fn point(&self, step: &Step, g: f64, x: &[f64], v: &[f64], out: &mut [f64]) {
        for ((out, x), v) in out.iter_mut().zip(x).zip(v) {
            *out = (x - step.size * (g * v + self.ground.loss.offset())) * step.inverse;
        }
        self.ground.project(out);
    }

    /// g·v of the implicit step of this size on a loss alone, without a regulariser: subtracting
    /// it, times the size, and projecting is that step, float by float. `None` for a malformed
    /// record. Sizes are at most 1/A(1).
    pub(crate) fn gradient(&self, size: f64, x: &[f64], record: &Record) -> Option<Vec<f64>> {
        let datum = self.ground.loss.read(record)?;
        let step = Step { size, inverse: 1.0 };
        let g = self.slope(&step, x, &datum, &mut vec![0.0; x.len()]);
        Some(datum.v.iter().map(|v| g * v).collect())
    }

    /// What such a step errs by: the first number, and the second times its size.
    pub(crate) fn step_error(&self) -> (f64, f64) {
        (self.error.fixed, self.error.scaled)
    }

    fn solve(&self, step: &Step, x: &mut [f64], datum: &Datum) {
        let mut next = vec![0.0; x.len()];
        let g = self.slope(step, x, datum, &mut next);
        self.point(step, g, x, &datum.v, &mut next);
        x.copy_from_slice(&next);
    }

    /// The one number g.
    fn slope(&self, step: &Step, x: &[f64], datum: &Datum, next: &mut [f64]) -> f64 {
        let (loss, (low, high)) = (&self.ground.loss, self.ground.slopes);
        if low < high {
            // If no constraint binds, the score is linear in g, and the root is a scalar
            // computation.
            let square = dot(&datum.v, &datum.v);
            let pulled = dot(&datum.v, x) - step.size * loss.offset() * datum.v.iter().sum::<f64>();
            let free = |g: f64| {
                let score = (pulled - step.size * g * square) * step.inverse;
                g - loss.slope(score, datum.y)
            };
            let guess = root(low, high, f64::midpoint(low, high), self.tolerance, free);
            root(low, high, guess, self.tolerance, |g| {
                self.point(step, g, x, &datum.v, next);
                g - loss.slope(dot(&datum.v, next), datum.y).clamp(low, high)
            })
        } else {
            low
        }
    }
}

/// The numbers of one step: λ and 1/(1+β).
struct Step {
    size: f64,
    inverse: f64,
}

impl StableLearner for ImplicitDescent {
    fn describe(&self) -> String {
        let ground = self.ground.describe();
        format!("implicit descent on {ground}, {:?}", self.curvature)
    }

    fn assumption(&self) -> String {
        self.ground.loss.assumption()
    }

    fn dimension(&self) -> usize {
        self.ground.loss.dimension()
    }

    fn reach(&self) -> f64 {
        self.ground.reach
    }

    fn start(&self) -> Vec<f64> {
        self.ground.start()
    }

    fn step(&self, t: u64, state: &mut [f64], record: Option<&Record>) -> Fate {
        let size = 1.0 / self.curvature.total(t);
        let step = Step {
            size,
            inverse: 1.0 / (1.0 + self.curvature.at(t) * size),
        };
        let datum = record.and_then(|record| self.ground.loss.read(record));
        let Some(datum) = datum else {
            // The step of the regulariser alone: it contracts like any other.
            let (here, nothing) = (state.to_vec(), vec![0.0; state.len()]);
            self.point(&step, 0.0, &here, &nothing, state);
            return Fate::Null;
        };
        self.solve(&step, state, &datum);
        if datum.clipped {
            Fate::Clipped
        } else {
            Fate::Kept
        }
    }

    fn iterate(&self, _t: u64, state: &[f64], out: &mut [f64]) {
        out.copy_from_slice(state);
    }

    fn sensitivity(&self, t: u64, adjacency: Adjacency) -> f64 {
        let ideal = self.ideal_sensitivity(t, adjacency);
        let total = self.curvature.total(t + 1);
        outward(ideal + self.error.accumulated(t, total), t)
    }

    fn proof(&self) -> Option<ProvedHere> {
        Some(ProvedHere(()))
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// The upper end of an interval no wider than `tolerance` over which an increasing function changes
/// from ≤ 0 to ≥ 0. It must be ≤ 0 at `low` and ≥ 0 at `high`, and is not evaluated there.
fn root(
    mut low: f64,
    mut high: f64,
    guess: f64,
    tolerance: f64,
    mut rising: impl FnMut(f64) -> f64,
) -> f64 {
    // Try around the guess first, where the root usually is.
    let (mut below, mut above) = (None, None);
    for probe in [guess - 0.4 * tolerance, guess + 0.4 * tolerance] {
        if low < probe && probe < high {
            let value = rising(probe);
            if value > 0.0 {
                (high, above) = (probe, Some(value));
            } else {
                (low, below) = (probe, Some(value));
            }
        }
    }
    let mut turn = 0_u32;
    while high - low > tolerance {
        turn += 1;
        // Every third point is the midpoint, which guarantees termination; the others follow the
        // chord, a tolerance off towards the longer side, so that the interval closes from both
        // sides.
        let chord = match (below, above) {
            (Some(b), Some(a)) if !turn.is_multiple_of(3) && a > b => {
                low + (high - low) * (-b / (a - b))
            }
            _ => f64::midpoint(low, high),
        };
        let nudge = if chord - low < high - chord {
            0.4
        } else {
            -0.4
        } * tolerance;
        let mut probe = chord + nudge;
        if !(low < probe && probe < high) {
            probe = f64::midpoint(low, high);
        }
        let value = rising(probe);
        if value > 0.0 {
            (high, above) = (probe, Some(value));
        } else {
            (low, below) = (probe, Some(value));
        }
    }
    high
}
