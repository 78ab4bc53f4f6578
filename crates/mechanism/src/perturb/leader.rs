//! Follow the leader, plain or regularised, on squared distances: two examples of a learner with a
//! proved sensitivity.
//!
//! The leader after t rounds minimises Σ ½‖x − v_τ‖² + (ρ/2)‖x‖² over C: it is Π_C(Σv/(t + ρ)). A
//! null round contributes ½‖x‖², the point 0, and counts: every round must contribute its
//! curvature.
//!
//! **Sensitivity.** κV/(t + ρ): one of the points, each of length at most V, is another one (κ = 2)
//! or 0 (κ = 1), and the projection does not expand. With ρ = 0 this is the 2L/(αt) of
//! follow-the-leader on any α-strongly convex losses, for α = 1 and L = V.
//!
//! **Error.** t additions of points to a sum of length at most tV: u·t²V, divided by t + ρ, with
//! one rounding of the quotient, then the projection: u·(t+2)·V + e_Π a world; nothing accumulates
//! beyond the sum itself.

use super::ground::outward;
use super::learner::ProvedHere;
use super::{Fate, PerturbError, StableLearner, check_size};
use crate::losses::{Distance, Loss, Record, UNIT};
use hushstream_account::{Adjacency, ParameterError};
use hushstream_sets::{Capability, ConvexSet};
use std::sync::Arc;

/// The leader on squared distances.
#[derive(Clone)]
pub struct Leader {
    loss: Distance,
    set: Arc<dyn ConvexSet>,
    regularisation: f64,
    length: f64,
    projection: f64,
}

impl Leader {
    /// Follow the leader for `regularisation` = 0, the regularised leader for ρ > 0.
    ///
    /// # Errors
    /// A set of another dimension, or that cannot bound the error of its projection beforehand; a
    /// radius, a length or a ρ out of range.
    pub fn new(
        loss: Distance,
        set: Arc<dyn ConvexSet>,
        regularisation: f64,
    ) -> Result<Self, PerturbError> {
        if loss.dimension() != set.dimension() {
            return Err(PerturbError::Dimensions {
                loss: loss.dimension(),
                set: set.dimension(),
            });
        }
        if !(0.0..=1e60).contains(&regularisation) {
            return Err(ParameterError::new("regularisation", regularisation, "0 to 1e60").into());
        }
        let explicit = loss.explicit();
        let length = explicit.map_or(f64::NAN, |explicit| explicit.features());
        check_size("radius of the set", set.largest_norm())?;
        check_size("length of points", length)?;
        let projection = set
            .projection_error(length)
            .filter(|_| set.can(Capability::Project))
            .ok_or(PerturbError::Projection(set.name()))?;
        Ok(Self {
            loss,
            set,
            regularisation,
            length,
            projection,
        })
    }
}

impl StableLearner for Leader {
    fn describe(&self) -> String {
        let (loss, rho) = (self.loss.describe(), self.regularisation);
        format!(
            "leader on {loss} over {:?}, regularised by {rho:e}",
            self.set
        )
    }

    fn assumption(&self) -> String {
        let explicit = self.loss.explicit();
        explicit.map_or(String::new(), |explicit| explicit.assumption())
    }

    fn dimension(&self) -> usize {
        self.loss.dimension()
    }

    fn reach(&self) -> f64 {
        self.set.largest_norm() * (1.0 + 1e-9) + self.projection
    }

    /// Σv.
    fn start(&self) -> Vec<f64> {
        vec![0.0; self.dimension()]
    }

    fn step(&self, _t: u64, state: &mut [f64], record: Option<&Record>) -> Fate {
        let explicit = self.loss.explicit();
        let datum = record.and_then(|record| explicit.and_then(|loss| loss.read(record)));
        let Some(datum) = datum else {
            return Fate::Null;
        };
        for (sum, v) in state.iter_mut().zip(&datum.v) {
            *sum += v;
        }
        if datum.clipped {
            Fate::Clipped
        } else {
            Fate::Kept
        }
    }

    fn iterate(&self, t: u64, state: &[f64], out: &mut [f64]) {
        let weight = t.max(1) as f64 + self.regularisation;
        for (out, sum) in out.iter_mut().zip(state) {
            *out = sum / weight;
        }
        let projected = self.set.project(out);
        projected.expect("a finite point of the set's length can be projected");
    }

    fn sensitivity(&self, t: u64, adjacency: Adjacency) -> f64 {
        let weight = t as f64 + self.regularisation;
        let error = UNIT * (t as f64 + 4.0) * self.length + self.projection;
        outward(adjacency.kappa() * self.length / weight + 2.0 * error, 1)
    }

    fn proof(&self) -> Option<ProvedHere> {
        Some(ProvedHere(()))
    }
}
