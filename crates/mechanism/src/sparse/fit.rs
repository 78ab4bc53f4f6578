//! The plans that a sparse learner accepts: the claim is about one mechanism, and about gradients
//! no longer than planned.

use crate::durable::DiaryError;
use crate::losses::{Bounds, Link};
use crate::persons::Participation;
use crate::sums::{Geometry, Noise, PlanError, SumKind, SumPlan};

/// Why a sparse learner refuses.
#[derive(Debug, thiserror::Error)]
pub enum SparseError {
    /// The plan.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A plan of another mechanism.
    #[error(
        "a sparse learner runs on the binary tree with Gaussian noise, batches of 1 and single \
         records; this plan has {0}"
    )]
    Unfit(String),
    /// Bounds that allow longer gradients than the plan.
    #[error("gradients may have length {lipschitz}, and the plan is for at most {bound}")]
    Lipschitz {
        /// Of the loss.
        lipschitz: f64,
        /// Of the plan.
        bound: f64,
    },
    /// The journal.
    #[error(transparent)]
    Diary(#[from] DiaryError),
    /// A journal that does not fit its plan.
    #[error("the journal does not fit its plan")]
    Stored,
}

/// Whether the claim covers this plan, for gradients of this loss.
pub(super) fn check(plan: &SumPlan, link: Link, bounds: &Bounds) -> Result<(), SparseError> {
    let request = plan.request();
    let fits = request.kind == SumKind::Tree
        && request.noise == Noise::Gaussian
        && request.batch == 1
        && request.geometry == Geometry::Ball
        && request.participation == Participation::OncePerRecord;
    if !fits {
        return Err(SparseError::Unfit(format!(
            "sum {}, {} noise, batches of {}, {:?}",
            request.kind, request.noise, request.batch, request.participation
        )));
    }
    let lipschitz = bounds.features() * link.steepest(bounds);
    if lipschitz > request.bound * (1.0 + 1e-12) {
        return Err(SparseError::Lipschitz {
            lipschitz,
            bound: request.bound,
        });
    }
    plan.check_stored()?;
    Ok(())
}
