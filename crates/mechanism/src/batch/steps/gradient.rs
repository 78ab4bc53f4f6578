//! Gradient steps on smooth losses: x⁺ = Π(x − η∇f(x)).
//!
//! *Proof.* For convex β-smooth f and η ≤ 2/β, x ↦ x − η∇f(x) does not expand (its gradient is
//! co-coercive), nor does the projection: fact 1. Two gradients at one point are at most 2L apart,
//! and a null's is the public part alone: fact 2. ‖x⁺ − w‖² ≤ ‖x − w‖² − 2η⟨∇f(x), x − w⟩ + η²L²,
//! and f is convex: the risk. Losses have slope L and curvature β by clipping of the data: clipped
//! gradients would expand. What floats err by is that of any step ([`super::super::SolverPlan`]). ∎

use super::{Direction, Steps};
use crate::batch::BatchError;
use crate::losses::Loss;
use hushstream_sets::ConvexSet;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The steps.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct GradientSteps;

impl Steps for GradientSteps {
    fn name(&self) -> &'static str {
        "phased gradient descent in octaves"
    }

    fn assumption(&self, lipschitz: f64, smoothness: f64) -> String {
        format!(
            "losses have slope at most {lipschitz} and curvature at most {smoothness} on the set, \
             by clipping of the data"
        )
    }

    fn longest(&self, smoothness: f64) -> f64 {
        2.0 * (1.0 - 1e-9) / smoothness
    }

    fn errors(&self) -> (f64, f64) {
        (0.0, 0.0)
    }

    fn corners(&self) -> f64 {
        0.0
    }

    fn direction(
        &self,
        loss: Arc<dyn Loss>,
        _: &Arc<dyn ConvexSet>,
    ) -> Result<Direction, BatchError> {
        Ok(Arc::new(move |_, at, record| loss.gradient(record, at)))
    }
}
