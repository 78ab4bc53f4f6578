//! Errors of a running sum.

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
    /// A partial sum with more records than the batch has room for.
    #[error("the batch has room for {room} records, not {given}")]
    BatchFull {
        /// Records that still fit.
        room: u64,
        /// Records in the partial sum.
        given: u64,
    },
    /// A partial sum of another sum, or of another batch.
    #[error("the partial sum belongs to another sum, or to another moment of this one")]
    OtherMoment,
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
