//! Errors of a running sum.

use super::elsewhere::{DeliveryError, PartialSumError, QuestionError};
use super::plan::PlanError;
use crate::durable::DiaryError;
use hushstream_noise::NoiseError;

/// Why a sum refuses.
#[derive(Debug, thiserror::Error)]
pub enum SumError {
    /// A window plan where a transcript is promised, or the reverse.
    #[error("a {0} plan cannot make releases of the other guarantee")]
    WrongGuarantee(&'static str),
    /// A contribution without its person, or with a person where the plan has none.
    #[error("this plan limits contributions {0}: use {1}")]
    Participation(&'static str, &'static str),
    /// Moments where the plan is for a ball, or the reverse.
    #[error(
        "this plan is for contributions of another geometry: second moments go through \
         add_moments, statistics through add_statistics, everything else through add"
    )]
    Geometry,
    /// More records than the batch has room for.
    #[error("the batch has room for {room} records, not {given}")]
    BatchFull {
        /// Records that still fit.
        room: u64,
        /// Records that were given.
        given: u64,
    },
    /// Records one by one and batches of a source in one run.
    #[error("{0}")]
    Mixed(&'static str),
    /// Persons whose limits slots do not keep.
    #[error(
        "sums made elsewhere limit persons by slots: with a distance of {separation} items, a \
         person contributes up to {needed} times, and this plan allows {most}; plan for {needed} \
         contributions, or a larger distance"
    )]
    Slots {
        /// b.
        separation: u64,
        /// The contributions that slots allow.
        needed: u64,
        /// k.
        most: u64,
    },
    /// A question.
    #[error(transparent)]
    Question(#[from] QuestionError),
    /// A partial sum.
    #[error(transparent)]
    Partial(#[from] PartialSumError),
    /// A batch of a source.
    #[error(transparent)]
    Delivery(#[from] DeliveryError),
    /// The plan.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// Grant, ledger or journal.
    #[error(transparent)]
    Diary(#[from] DiaryError),
    /// The noise.
    #[error(transparent)]
    Noise(#[from] NoiseError),
}
