//! The steps of a phase: what makes one solver of AFKT22's Algorithm 2 another.
//!
//! The algorithm takes any private optimiser. Ours keep O(d) memory and no record: an epoch is cut
//! into phases, each record takes one step, and a phase leaves its average with noise. So a solver
//! is its steps, and its price follows from three facts, which its file must prove for every size η
//! up to `longest`:
//!
//! 1. two points, moved by one record, end no further apart than they began;
//! 2. one point, moved by two records, ends within 2Lη; by a record and by nothing, within Lη;
//! 3. floats differ from that by at most `errors`.
//!
//! And for its risk: x, moved to x⁺ by a loss f, has f(x) − f(w) ≤ (‖x − w‖² − ‖x⁺ − w‖²)/(2η) +
//! ηL²/2 + `corners`, for every w of the set.
//!
//! **A new solver** is a file with these proofs and a line in each match of [`Solver`], which a
//! plan stores: new ones go last. Every other file asks the trait.

mod gradient;
mod implicit;

pub(crate) use gradient::GradientSteps;
pub(crate) use implicit::ImplicitSteps;

use super::plan::BatchError;
use crate::lattice::Contribution;
use crate::losses::{Loss, Record};
use hushstream_sets::ConvexSet;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Where a record moves a point: along the negative of this, times the size, and then into the set.
/// `None` for a record that is not used.
pub(crate) type Direction = Arc<dyn Fn(Option<f64>, &[f64], Record) -> Contribution + Send + Sync>;

/// Steps with their proof. Only this crate has any.
pub(crate) trait Steps {
    /// The mechanism's name in a guarantee.
    fn name(&self) -> &'static str;

    /// What must hold of losses with this slope and this curvature.
    fn assumption(&self, lipschitz: f64, smoothness: f64) -> String;

    /// The longest steps that do not expand, on losses of this curvature.
    fn longest(&self, smoothness: f64) -> f64;

    /// What floats add to a step besides update, gradient and projection: the first number, and the
    /// second times its size.
    fn errors(&self) -> (f64, f64);

    /// What a loss on which steps are taken is off the true one.
    fn corners(&self) -> f64;

    /// The code that looks at records.
    fn direction(
        &self,
        loss: Arc<dyn Loss>,
        set: &Arc<dyn ConvexSet>,
    ) -> Result<Direction, BatchError>;
}

/// All solvers, as plans store them.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) enum Solver {
    /// Gradient steps: smooth losses.
    Gradient(GradientSteps),
    /// Implicit steps: losses of linear models with corners.
    Implicit(ImplicitSteps),
}

impl Solver {
    /// The solver for a loss on a set.
    pub(crate) fn of(loss: &dyn Loss, set: &Arc<dyn ConvexSet>) -> Result<Self, BatchError> {
        if loss.smoothness().is_some() {
            return Ok(Self::Gradient(GradientSteps));
        }
        ImplicitSteps::new(loss, set).map(Self::Implicit)
    }

    pub(crate) fn steps(&self) -> &dyn Steps {
        match self {
            Self::Gradient(steps) => steps,
            Self::Implicit(steps) => steps,
        }
    }
}
