//! The errors of this crate: a parameter out of range, a vector that does not fit, a set without
//! the needed capability.

use hushstream_account::ParameterError;
use hushstream_sets::{SetError, Unable};

/// Why a learner could not be created, could not observe a sum, or could not be restored. The
/// learner is then unchanged.
///
/// ```
/// use std::sync::Arc;
///
/// use hushstream_learn::{DualAveraging, LearnError, Learner};
/// use hushstream_sets::{Ball, SetError};
///
/// let mut learner = DualAveraging::new(Arc::new(Ball::new(2, 1.0)?), 0.5)?;
/// let error = learner.observe(&[1.0, f64::NAN]).unwrap_err();
/// assert!(matches!(error, LearnError::Set(SetError::NotFinite { index: 1, .. })));
/// assert_eq!(learner.rounds(), 0);
/// # Ok::<(), LearnError>(())
/// ```
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum LearnError {
    /// A parameter out of range.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
    /// An error of the set, or a vector that is no point of its space.
    #[error(transparent)]
    Set(#[from] SetError),
}

impl From<Unable> for LearnError {
    fn from(unable: Unable) -> Self {
        Self::Set(unable.into())
    }
}
