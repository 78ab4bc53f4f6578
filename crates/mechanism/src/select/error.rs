//! Errors of a selection.

use crate::durable::DiaryError;
use crate::persons::PersonError;
use hushstream_account::{AccountError, GuaranteeError, ParameterError};
use hushstream_noise::NoiseError;

/// Why a selection refuses.
#[derive(Debug, thiserror::Error)]
pub enum SelectError {
    /// A number out of range.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
    /// The budget.
    #[error(transparent)]
    Account(#[from] AccountError),
    /// A guarantee that would promise nothing.
    #[error(transparent)]
    Guarantee(#[from] GuaranteeError),
    /// The journal or the ledger.
    #[error(transparent)]
    Diary(#[from] DiaryError),
    /// The draws.
    #[error(transparent)]
    Noise(#[from] NoiseError),
    /// A stored plan that no request produces.
    #[error("the stored plan is not one that this program makes")]
    Stored,
    /// A record without its person, or with a person where the plan has none.
    #[error(transparent)]
    Person(#[from] PersonError),
    /// A list of points that does not belong to the plan.
    #[error("{given} points were given for {experts} experts")]
    Points {
        /// The number of experts in the plan.
        experts: u64,
        /// The number of points given.
        given: u64,
    },
}
