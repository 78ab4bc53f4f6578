//! Why an audit cannot be held.

use hushstream_account::{AccountError, GuaranteeError, ParameterError};
use hushstream_arena::ArenaError;
use hushstream_learn::LearnError;
use hushstream_mechanism::batch::BatchError;
use hushstream_mechanism::feedback::FeedbackError;
use hushstream_mechanism::perturb::PerturbError;
use hushstream_mechanism::select::SelectError;
use hushstream_mechanism::sparse::SparseError;
use hushstream_mechanism::sums::{PlanError, SumError};
use hushstream_noise::NoiseError;
use hushstream_recipes::{RecipeError, RecipeName, RunError};
use hushstream_sets::SetError;

/// Why an audit cannot be held.
#[derive(Debug, thiserror::Error)]
pub enum AuditError {
    /// The accountant.
    #[error(transparent)]
    Account(#[from] AccountError),
    /// A game.
    #[error(transparent)]
    Arena(#[from] ArenaError),
    /// A guarantee that would promise nothing.
    #[error(transparent)]
    Guarantee(#[from] GuaranteeError),
    /// Perturbed iterates.
    #[error(transparent)]
    Iterates(#[from] PerturbError),
    /// The learner.
    #[error(transparent)]
    Learn(#[from] LearnError),
    /// The solver.
    #[error(transparent)]
    Batch(#[from] BatchError),
    /// The answers.
    #[error(transparent)]
    Feedback(#[from] FeedbackError),
    /// The selection.
    #[error(transparent)]
    Select(#[from] SelectError),
    /// A sampler.
    #[error(transparent)]
    Noise(#[from] NoiseError),
    /// The sum's plan.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The recipe.
    #[error(transparent)]
    Recipe(#[from] RecipeError),
    /// The run.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The set.
    #[error(transparent)]
    Set(#[from] SetError),
    /// The sparse learner.
    #[error(transparent)]
    Sparse(#[from] SparseError),
    /// The sum.
    #[error(transparent)]
    Sum(#[from] SumError),
    /// A parameter out of range.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
    /// A recipe that no attack has been written for.
    #[error("there are no attacks on {0} yet")]
    NoAttacks(RecipeName),
    /// What came back after an interruption is not what must.
    #[error("an interrupted run came back otherwise than it must: {0}")]
    Resumed(String),
}
