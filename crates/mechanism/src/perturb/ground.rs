//! The common ground of all steps on an explicit loss: the set, the public bounds, and the
//! floating-point error of one step.
//!
//! **Rounding.** u = 2⁻⁵³; a float operation errs by at most u of its result; d is the dimension.
//! Everything is far from the ends of the floats (parameters outside 10^±60 are refused), so
//! underflow adds nothing that the margins below do not hold.
//!
//! - *Projection*: the set states an error e_Π for points as long as a step can make them
//!   ([`ConvexSet::projection_error`]); a set that cannot state it in advance is refused. Iterates
//!   are at most D = 1.001·(largest norm) long: e_Π is checked to be a thousandth of that.
//! - *Score*: ⟨v, x⟩ of d products errs by at most 1.01·(d+2)·u·R·D, where ‖v‖ ≤ R.
//! - *Slope*: evaluated at a given score it errs by at most e_s = 8u·(κ·(RD + Y + 1) + G): κ bounds
//!   the curvature of φ and so what a rounded argument does, G the slopes.

use super::{PerturbError, check_size};
use crate::losses::{Explicit, UNIT};
use hushstream_account::ParameterError;
use hushstream_sets::{Capability, ConvexSet};
use std::sync::Arc;

/// Loss, set and their public numbers.
#[derive(Clone)]
pub(super) struct Ground {
    pub(super) loss: Explicit,
    pub(super) set: Arc<dyn ConvexSet>,
    /// D.
    pub(super) reach: f64,
    /// R.
    pub(super) features: f64,
    /// The least and the largest slope.
    pub(super) slopes: (f64, f64),
    /// G.
    pub(super) steepest: f64,
    /// κ.
    pub(super) curvature: f64,
    /// The length of the constant that is added to every gradient.
    pub(super) offset: f64,
    /// e_Π.
    pub(super) projection: f64,
}

impl Ground {
    /// For steps of size at most `step`.
    pub(super) fn new(
        loss: Explicit,
        set: Arc<dyn ConvexSet>,
        step: f64,
    ) -> Result<Self, PerturbError> {
        if loss.dimension() != set.dimension() {
            return Err(PerturbError::Dimensions {
                loss: loss.dimension(),
                set: set.dimension(),
            });
        }
        let reach = 1.001 * set.largest_norm();
        let slopes = loss.slopes(reach);
        let steepest = slopes.0.abs().max(slopes.1.abs());
        let features = loss.features();
        let offset = (loss.dimension() as f64).sqrt() * loss.offset().abs() * (1.0 + 1e-9);
        check_size("radius of the set", reach)?;
        check_size("bound on features", features)?;
        check_size("bound on slopes", steepest)?;
        if loss.target() > 0.0 {
            check_size("bound on targets", loss.target())?;
        }
        if slopes.0 > slopes.1 {
            return Err(
                ParameterError::new("least slope", slopes.0, "at most the largest slope").into(),
            );
        }
        let longest = 2.0 * reach + step * (features * steepest + offset);
        let projection = set
            .projection_error(longest)
            .filter(|_| set.can(Capability::Project))
            .ok_or(PerturbError::Projection(set.name()))?;
        if projection > 1e-3 * set.largest_norm() {
            return Err(PerturbError::Projection(set.name()));
        }
        Ok(Self {
            reach,
            features,
            slopes,
            steepest,
            curvature: loss.curvature(),
            offset,
            projection,
            loss,
            set,
        })
    }

    /// Error of a float score.
    pub(super) fn score_error(&self) -> f64 {
        let d = self.loss.dimension() as f64;
        1.01 * (d + 2.0) * UNIT * self.features * self.reach
    }

    /// Error of a float slope at a given float score.
    pub(super) fn slope_error(&self) -> f64 {
        let argument = self.features * self.reach + self.loss.target() + 1.0;
        8.0 * UNIT * (self.curvature * argument + self.steepest)
    }

    /// The start of iterates: the centre, public.
    pub(super) fn start(&self) -> Vec<f64> {
        let mut start = vec![0.0; self.loss.dimension()];
        // The length is that of the set.
        let _ = self.set.centre(&mut start);
        start
    }

    /// Replaces a finite point by its projection.
    pub(super) fn project(&self, point: &mut [f64]) {
        let projected = self.set.project(point);
        projected.expect("a finite point of the set's length can be projected");
    }

    /// A description: equal for runs on the same ground.
    pub(super) fn describe(&self) -> String {
        format!("{:?} on {:?}", self.loss, self.set)
    }
}

/// τ_t ≤ fixed + scaled/A(t), for every step.
#[derive(Debug, Clone, Copy)]
pub(super) struct StepError {
    pub(super) fixed: f64,
    pub(super) scaled: f64,
}

impl StepError {
    /// What t steps in two worlds add to their distance, where all that a step errs is contracted
    /// by at most A(j+1)/A(t+1) afterwards and A(j+1) ≤ 2A(j): 2Σ_j (A(j+1)/A(t+1))·(fixed +
    /// scaled/A(j)) ≤ 2t·(fixed + 2·scaled/A), where A = A(t+1) for implicit steps; A(t) serves for
    /// both.
    pub(super) fn accumulated(self, t: u64, total: f64) -> f64 {
        2.0 * t as f64 * (self.fixed + 2.0 * self.scaled / total)
    }
}

/// Raises a sensitivity by what the schedule's own rounding may do in t steps (the contraction of a
/// step is off by at most 32 units in the last place) and by that of evaluating it.
pub(super) fn outward(sensitivity: f64, t: u64) -> f64 {
    sensitivity * (1.0 + 64.0 * UNIT * (t as f64 + 4.0))
}
