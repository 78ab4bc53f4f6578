//! Errors of perturbed iterates.

use crate::durable::DiaryError;
use crate::persons::PersonError;
use hushstream_account::{AccountError, GuaranteeError, ParameterError};
use hushstream_noise::NoiseError;

/// Why perturbed iterates cannot be planned or continued.
#[derive(Debug, thiserror::Error)]
pub enum PerturbError {
    /// A number out of range.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
    /// Loss and set have different dimensions.
    #[error("the loss has {loss} weights, the set {set} dimensions: they must be the same")]
    Dimensions {
        /// Of the loss.
        loss: usize,
        /// Of the set.
        set: usize,
    },
    /// The error of the set's projection is not known in advance, so it cannot enter the
    /// sensitivity.
    #[error(
        "the error of projecting onto the set {0} is not known beforehand, so no \
         sensitivity can be proved; allowed sets: ball, box, simplex, L1 ball, scaled or shifted"
    )]
    Projection(&'static str),
    /// Explicit gradient steps on a loss with corners.
    #[error(
        "gradient steps on a loss with corners do not contract: use implicit steps (pigd), or the \
         smoothed hinge or Huber loss"
    )]
    Corners,
    /// Steps that would always be too long.
    #[error(
        "with smoothness {smoothness:e} and so little curvature gradient steps would not contract \
         within 2^40 rounds"
    )]
    NeverContracts {
        /// Of the losses.
        smoothness: f64,
    },
    /// A loss without a closed form.
    #[error(
        "steps on the loss {0} have no proved error: it must be a linear model, a squared distance \
         or linear, or come as a StableLearner with its own proof"
    )]
    Loss(String),
    /// A bound on sensitivity that is not a positive number.
    #[error("a sensitivity of {0} is not allowed; allowed: 0, or a positive finite number")]
    Sensitivity(f64),
    /// All sensitivities are 0.
    #[error(
        "within so few rounds nothing would be learned: the iterate would stay at its public start"
    )]
    NothingLearned,
    /// Noise without a proof for L2.
    #[error("perturbed iterates are close in L2: use Gaussian or L2-Laplace noise")]
    Noise,
    /// So little budget that rounding to the lattice would use it up.
    #[error("the budget is too small for so many releases: rounding alone would use it up")]
    BudgetTooSmall,
    /// So large an ε that the samplers' slack uses up δ.
    #[error(
        "epsilon = {epsilon} is not allowed at delta = {delta}: the samplers' \
         precision slack, {slack:.1e}, would use delta up; allowed: a smaller epsilon"
    )]
    Slack {
        /// ε.
        epsilon: f64,
        /// δ.
        delta: f64,
        /// (1 + e^ε)·τ.
        slack: f64,
    },
    /// A record without its person, or with a person where the plan has none.
    #[error(transparent)]
    Person(#[from] PersonError),
    /// Window plans: iterates are released without end.
    #[error("perturbed iterates promise privacy of the transcript, not of a window")]
    Windowed,
    /// A stored state that does not fit the learner.
    #[error("the stored state does not fit this learner")]
    State,
    /// The budget.
    #[error(transparent)]
    Account(#[from] AccountError),
    /// A guarantee that would promise nothing.
    #[error(transparent)]
    Guarantee(#[from] GuaranteeError),
    /// The noise.
    #[error(transparent)]
    Sampler(#[from] NoiseError),
    /// Grant, ledger or journal.
    #[error(transparent)]
    Diary(#[from] DiaryError),
}
