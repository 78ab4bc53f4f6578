//! Implicit steps on losses with corners: x⁺ = argmin over C of f + ‖· − x‖²/(2η).
//!
//! Gradient steps on a loss with corners expand: on two sides of a corner they cross it, by 2Lη,
//! whatever the distance was. Implicit steps end in the corner.
//!
//! *Proof.* x ↦ x⁺ never expands, for any convex f: fact 1. It moves by at most Lη, against a null
//! too: fact 2. The float error of a step is proved in `perturb/implicit.rs`: fact 3. f(x⁺) + (‖x⁺
//! − x‖² + ‖x⁺ − w‖²)/(2η) ≤ f(w) + ‖x − w‖²/(2η) by strong convexity, f(x) − f(x⁺) ≤ L‖x − x⁺‖,
//! and L·s − s²/(2η) ≤ ηL²/2: the risk. Corners are rounded by less than 2⁻¹⁶, which counts at x
//! and at w. ∎ Sizes are at most D/4 over the slope, for which the error is proved.

use super::{Direction, Steps};
use crate::batch::BatchError;
use crate::lattice::Contribution;
use crate::losses::Loss;
use crate::perturb::{Curvature, ImplicitDescent};
use hushstream_sets::ConvexSet;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The steps: what one errs by, and what more for its size.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct ImplicitSteps {
    fixed: f64,
    scaled: f64,
}

impl ImplicitSteps {
    /// For a loss of a linear model without a ridge.
    pub(crate) fn new(loss: &dyn Loss, set: &Arc<dyn ConvexSet>) -> Result<Self, BatchError> {
        let (fixed, scaled) = descent(loss, set)?.step_error();
        Ok(Self { fixed, scaled })
    }
}

fn descent(loss: &dyn Loss, set: &Arc<dyn ConvexSet>) -> Result<ImplicitDescent, BatchError> {
    let explicit = loss.explicit().filter(|explicit| explicit.ridge() <= 0.0);
    let Some(explicit) = explicit else {
        return Err(BatchError::NotSmooth(loss.name().to_owned()));
    };
    let longest = set.diameter() / (4.0 * loss.lipschitz());
    Curvature::constant(1.0 / longest)
        .and_then(|curvature| ImplicitDescent::new(explicit, set.clone(), curvature))
        .map_err(|error| BatchError::Implicit(error.to_string()))
}

impl Steps for ImplicitSteps {
    fn name(&self) -> &'static str {
        "phased implicit descent in octaves"
    }

    fn assumption(&self, lipschitz: f64, _: f64) -> String {
        format!(
            "losses are convex with slope at most {lipschitz} on the set, by clipping of the data"
        )
    }

    fn longest(&self, _: f64) -> f64 {
        f64::INFINITY
    }

    fn errors(&self) -> (f64, f64) {
        (self.fixed, self.scaled)
    }

    fn corners(&self) -> f64 {
        2.0_f64.powi(-15)
    }

    fn direction(
        &self,
        loss: Arc<dyn Loss>,
        set: &Arc<dyn ConvexSet>,
    ) -> Result<Direction, BatchError> {
        let descent = descent(loss.as_ref(), set)?;
        Ok(Arc::new(move |size, at, record| match size {
            Some(size) => descent
                .gradient(size, at, &record)
                .map_or(Contribution::Null, Contribution::Dense),
            None => loss.gradient(record, at),
        }))
    }
}
