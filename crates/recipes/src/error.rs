//! Why a recipe cannot be planned, and why a run refuses.

use crate::catalogue::RecipeName;
use crate::note::NoteError;
use hushstream_account::{GuaranteeError, ParameterError};
use hushstream_learn::LearnError;
use hushstream_mechanism::DiaryError;
use hushstream_mechanism::batch::BatchError;
use hushstream_mechanism::feedback::FeedbackError;
use hushstream_mechanism::perturb::PerturbError;
use hushstream_mechanism::select::SelectError;
use hushstream_mechanism::sparse::SparseError;
use hushstream_mechanism::sums::{PlanError, SumError};
use hushstream_noise::NoiseError;
use hushstream_sets::SetError;

/// Why a recipe cannot be planned.
#[derive(Debug, thiserror::Error)]
pub enum RecipeError {
    /// The sum.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// The learner.
    #[error(transparent)]
    Learn(#[from] LearnError),
    /// The set.
    #[error(transparent)]
    Set(#[from] SetError),
    /// Perturbed iterates.
    #[error(transparent)]
    Iterates(#[from] PerturbError),
    /// The selection.
    #[error(transparent)]
    Select(#[from] SelectError),
    /// The answers.
    #[error(transparent)]
    Feedback(#[from] FeedbackError),
    /// The solver.
    #[error(transparent)]
    Batch(#[from] BatchError),
    /// A guarantee that would promise nothing.
    #[error(transparent)]
    Guarantee(#[from] GuaranteeError),
    /// A combination that does not exist.
    #[error("{0}")]
    Unfit(String),
    /// A loss and a set that do not belong together.
    #[error("the loss has {loss} weights, the set {set} dimensions: they must be the same")]
    Dimensions {
        /// Of the loss.
        loss: usize,
        /// Of the set.
        set: usize,
    },
    /// A parameter out of range.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
    /// An objective the recipe does not serve.
    #[error("{recipe} learns from {wanted}, not from this objective")]
    Objective {
        /// The recipe.
        recipe: RecipeName,
        /// What it learns from.
        wanted: String,
    },
}

impl RecipeError {
    pub(crate) fn not_on_sums(recipe: RecipeName) -> Self {
        Self::Unfit(format!(
            "{recipe} does not learn from gradients in sums: it stands on {}",
            recipe.entry().mechanism
        ))
    }
}

/// Why a run refuses.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A sum.
    #[error(transparent)]
    Sum(#[from] SumError),
    /// Perturbed iterates.
    #[error(transparent)]
    Iterates(#[from] PerturbError),
    /// A selection.
    #[error(transparent)]
    Select(#[from] SelectError),
    /// Answers.
    #[error(transparent)]
    Feedback(#[from] FeedbackError),
    /// A solver.
    #[error(transparent)]
    Batch(#[from] BatchError),
    /// A sparse learner.
    #[error(transparent)]
    Sparse(#[from] SparseError),
    /// The learner.
    #[error(transparent)]
    Learn(#[from] LearnError),
    /// The recipe.
    #[error(transparent)]
    Recipe(#[from] RecipeError),
    /// The journal's note.
    #[error(transparent)]
    Note(#[from] NoteError),
    /// The guarantee.
    #[error(transparent)]
    Guarantee(#[from] GuaranteeError),
    /// No entropy for coins.
    #[error(transparent)]
    Noise(#[from] NoiseError),
    /// All rounds have been played.
    #[error("round {refused} is refused: the recipe was planned for {planned}")]
    Finished {
        /// T.
        planned: u64,
        /// T + 1.
        refused: u64,
    },
    /// Records that cannot be summed elsewhere.
    #[error(
        "{0} cannot learn from sums made elsewhere: every record moves a state that one process \
         holds; use a recipe on sums, or run one process for each stream, with its own ledger"
    )]
    OneProcess(RecipeName),
    /// The learner could not use a release.
    #[error("the learner failed on an earlier release and cannot go on")]
    Behind,
}

impl RunError {
    /// What recovery has to say, if the error is about the journal.
    #[must_use]
    pub fn diary(&self) -> Option<&DiaryError> {
        match self {
            Self::Sum(SumError::Diary(error))
            | Self::Iterates(PerturbError::Diary(error))
            | Self::Select(SelectError::Diary(error))
            | Self::Feedback(FeedbackError::Diary(error))
            | Self::Batch(BatchError::Diary(error))
            | Self::Sparse(SparseError::Diary(error)) => Some(error),
            _ => None,
        }
    }
}
