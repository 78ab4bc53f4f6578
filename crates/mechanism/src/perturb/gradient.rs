//! Explicit gradient steps (GIGA, JKT12 Appendix C): x⁺ = Π_C(x_t − η_t·∇f_t(x_t)), for smooth
//! losses.
//!
//! f_t = ℓ_t + (α_t/2)‖x‖² as for implicit steps; ℓ_t is convex with gradients that are
//! Λ-Lipschitz, Λ = κ_φ·R².
//!
//! **Sensitivity.** With η = 1/A(t): κL/A(t). With the step size that JKT12's Algorithm 3 prints, η
//! = 2/A(t): twice that. The paper's 2G/(αt) at *that* step size is half of what can happen
//! (erratum J6). *Proof.* x − η∇f is x·(1 − ηα) − η∇ℓ. By co-coercivity of ∇ℓ it brings two points
//! closer by the factor 1 − ηα as soon as η(Λ + 2α) ≤ 2; the projection does not expand. With η =
//! 1/A(t) the factor is A(t−1)/A(t); from one point two losses lead η·κL apart. So A(t)·‖x_{t+1} −
//! x'_{t+1}‖ never grows after the record in which the streams differ. With η = 2/A(t) the factor 1
//! − 2α/A(t) is smaller still, and what is fresh is 2κL/A(t). ∎ Until the first t with η(Λ + 2α) ≤
//! 2 (t_q; for η = 1/(αt) the ⌈(α+L_G)/(2α)⌉ of the paper's C6; for the printed step its own
//! ⌈2L_G²/α²⌉) nothing is learned: the iterate stays at its public start and costs nothing.
//!
//! **Error of a step.** Score and slope as in `ground.rs`, then η times the gradient and seven
//! roundings of numbers up to D + η(GR + offset + α_tD), then the projection; ηα_t ≤ 2: τ_t ≤
//! 24u·D + e_Π + η(8u(GR + offset) + R(κ_φ·e_z + e_s)). ∎
//!
//! **Cost.** O(d). State: x.

use super::ground::{Ground, StepError, outward};
use super::learner::ProvedHere;
use super::{Curvature, Fate, PerturbError, StableLearner};
use crate::losses::{Explicit, Record, UNIT};
use hushstream_account::Adjacency;
use hushstream_sets::ConvexSet;
use std::sync::Arc;

/// The size of a gradient step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepSize {
    /// 1/A(t).
    Corrected,
    /// 2/A(t), as JKT12's Algorithm 3 prints it: twice the sensitivity.
    Legacy,
}

impl StepSize {
    fn factor(self) -> f64 {
        match self {
            Self::Corrected => 1.0,
            Self::Legacy => 2.0,
        }
    }
}

/// The learner.
#[derive(Clone)]
pub struct GradientDescent {
    ground: Ground,
    curvature: Curvature,
    step_size: StepSize,
    first: u64,
    error: StepError,
}

impl GradientDescent {
    /// Gradient steps on a loss over a set.
    ///
    /// # Errors
    /// A loss with corners; a set that cannot bound the error of its projection beforehand;
    /// curvature that is less than the loss's own; numbers out of range.
    pub fn new(
        loss: Explicit,
        set: Arc<dyn ConvexSet>,
        curvature: Curvature,
        step_size: StepSize,
    ) -> Result<Self, PerturbError> {
        if !loss.is_smooth() {
            return Err(PerturbError::Corners);
        }
        super::check_curvature(&loss, &curvature)?;
        let longest = step_size.factor() / curvature.total(1);
        let ground = Ground::new(loss, set, longest)?;
        let first = first_step(&ground, &curvature, step_size)?;
        let pull = ground.features * ground.steepest + ground.offset;
        let of_slope = ground.curvature * ground.score_error() + ground.slope_error();
        let error = StepError {
            fixed: 24.0 * UNIT * ground.reach + ground.projection,
            scaled: 8.0 * UNIT * pull + ground.features * of_slope,
        };
        Ok(Self {
            ground,
            curvature,
            step_size,
            first,
            error,
        })
    }

    /// The ideal part of s_t, before the precision that floats cost; 0 before the first step that
    /// learns.
    #[must_use]
    pub fn ideal_sensitivity(&self, t: u64, adjacency: Adjacency) -> f64 {
        if t < self.first {
            return 0.0;
        }
        let lipschitz = self.ground.features * self.ground.steepest;
        self.step_size.factor() * adjacency.kappa() * lipschitz / self.curvature.total(t)
    }

    /// t_q: the first step that learns.
    #[must_use]
    pub fn first(&self) -> u64 {
        self.first
    }
}

/// The first t from which on steps contract.
fn first_step(
    ground: &Ground,
    curvature: &Curvature,
    step_size: StepSize,
) -> Result<u64, PerturbError> {
    const MOST: u64 = 1 << 40;
    let smoothness = ground.curvature * ground.features.powi(2);
    let printed = match step_size {
        StepSize::Legacy => {
            let alpha = curvature.at(1);
            2.0 * ((smoothness + alpha) / alpha).powi(2)
        }
        StepSize::Corrected => 1.0,
    };
    let contracts = |t: u64| {
        step_size.factor() * (smoothness + 2.0 * curvature.at(t)) <= 2.0 * curvature.total(t)
    };
    if !(contracts(MOST) && printed < MOST as f64) {
        return Err(PerturbError::NeverContracts { smoothness });
    }
    // Curvature grows and its steps shrink: once the condition holds, it always holds.
    let (mut no, mut yes) = (0, MOST);
    while yes - no > 1 {
        let middle = u64::midpoint(no, yes);
        if contracts(middle) {
            yes = middle;
        } else {
            no = middle;
        }
    }
    Ok(yes.max(printed.ceil() as u64))
}

impl StableLearner for GradientDescent {
    fn describe(&self) -> String {
        let ground = self.ground.describe();
        let (curvature, size) = (self.curvature, self.step_size);
        format!("gradient descent on {ground}, {curvature:?}, {size:?}")
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
        let loss = &self.ground.loss;
        let datum = record.and_then(|record| loss.read(record));
        let fate = match &datum {
            None => Fate::Null,
            Some(datum) if datum.clipped => Fate::Clipped,
            Some(_) => Fate::Kept,
        };
        if t < self.first {
            return fate;
        }
        let size = self.step_size.factor() / self.curvature.total(t);
        let alpha = self.curvature.at(t);
        let (slope, v) = match &datum {
            Some(datum) => {
                let score = datum.v.iter().zip(&*state).map(|(v, x)| v * x).sum();
                let (low, high) = self.ground.slopes;
                (loss.slope(score, datum.y).clamp(low, high), &datum.v[..])
            }
            // The step of the regulariser alone: it contracts like any other.
            None => (0.0, &[][..]),
        };
        let mut v = v.iter();
        for x in state.iter_mut() {
            let pull = slope * v.next().copied().unwrap_or(0.0) + loss.offset();
            *x -= size * (pull + alpha * *x);
        }
        self.ground.project(state);
        fate
    }

    fn iterate(&self, _t: u64, state: &[f64], out: &mut [f64]) {
        out.copy_from_slice(state);
    }

    fn sensitivity(&self, t: u64, adjacency: Adjacency) -> f64 {
        if t < self.first {
            return 0.0;
        }
        let ideal = self.ideal_sensitivity(t, adjacency);
        let total = self.curvature.total(t);
        outward(ideal + self.error.accumulated(t, total), t)
    }

    fn proof(&self) -> Option<ProvedHere> {
        Some(ProvedHere(()))
    }
}
