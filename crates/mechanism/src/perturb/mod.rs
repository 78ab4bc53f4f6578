//! Perturbed iterates: a learner runs on the private side, its iterates are released with noise
//! (JKT12's POCP).
//!
//! Sums release noisy sums of gradients and learn from them in public. Here the learner itself is
//! secret: x_t is never released, x_t plus noise is. One record moves x_{t+1} by at most s_t, a
//! public number that a [`StableLearner`] must prove. [`Timing`] and [`Weighting`] determine how a
//! budget is split over the releases (`schedule.rs`), and [`PerturbedIterates`] is a plan in
//! progress. [`Average`] with [`Timing::Last`] releases one model (POL).
//!
//! | learner | s_t, replace-one | for |
//! |---|---|---|
//! | [`ImplicitDescent`] (IGD) | 2L/A(t+1) | every explicit loss, every set with a bounded projection error |
//! | [`GradientDescent`] (GIGA) | 2L/A(t), or 4L/A(t) at the printed step | smooth losses |
//! | [`Leader`] (FTL, FTRL) | 2L/(t + ρ) | squared distances |
//! | [`QuadraticLeader`] (QFTL) | 2R(Rρ + Y)/(αt) | least squares |
//! | yours | what you prove | anything |
//!
//! Each is plus the floating-point and solver error of both worlds, rounded outward (erratum J11);
//! each file has its proof. **Data is clipped, never gradients, and a null record is a step on the
//! null loss, never a skip**: both would lose the contraction that s_t rests on.

mod average;
mod curvature;
mod error;
mod gradient;
mod ground;
mod implicit;
mod leader;
mod learner;
mod perturbed;
mod plan;
mod quadratic;
mod schedule;

pub use average::Average;
pub use curvature::Curvature;
pub use error::PerturbError;
pub use gradient::{GradientDescent, StepSize};
pub use implicit::ImplicitDescent;
pub use leader::Leader;
pub use learner::{Fate, StableLearner};
pub use perturbed::{Perturbed, PerturbedIterates};
pub use plan::{PerturbPlan, PerturbRequest};
pub use quadratic::QuadraticLeader;
pub use schedule::{Timing, Weighting, optimal_noise};

use crate::losses::Explicit;
use hushstream_account::ParameterError;

/// The regulariser includes the loss's ridge: it must not be smaller.
fn check_curvature(loss: &Explicit, curvature: &Curvature) -> Result<(), PerturbError> {
    let enough = loss.ridge() <= 0.0 || curvature.is_constant() && curvature.at(1) >= loss.ridge();
    if enough {
        Ok(())
    } else {
        Err(ParameterError::new(
            "curvature",
            curvature.at(1),
            "constant, and at least the loss's own",
        )
        .into())
    }
}

/// Refuses numbers near the limits of floats, so that no proof needs to consider underflow.
fn check_size(parameter: &'static str, given: f64) -> Result<(), PerturbError> {
    if (1e-60..=1e60).contains(&given) {
        Ok(())
    } else {
        Err(ParameterError::new(parameter, given, "1e-60 to 1e60").into())
    }
}
