//! What can go wrong: a parameter outside its range, a vector that does not fit, a set that cannot serve.

use hushstream_sets::{SetError, Unable};

/// Why a learner could not be made, could not move on, or could not be restored. The learner is then where it was before.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum LearnError {
    /// A parameter outside its range.
    #[error("{parameter} = {given} is not allowed; allowed: {allowed}")]
    Parameter {
        /// Which parameter.
        parameter: &'static str,
        /// What was given.
        given: String,
        /// What is allowed.
        allowed: &'static str,
    },
    /// A vector of the wrong length.
    #[error("{parameter} has {given} coordinates; allowed: {expected}")]
    Dimension {
        /// Which vector.
        parameter: &'static str,
        /// Its length.
        given: usize,
        /// The length it must have.
        expected: usize,
    },
    /// A coordinate that is not a finite number.
    #[error("{parameter}[{index}] = {given} is not allowed; allowed: finite numbers")]
    NotFinite {
        /// Which vector.
        parameter: &'static str,
        /// Which coordinate.
        index: usize,
        /// What stands there.
        given: f64,
    },
    /// The set refused, or failed.
    #[error(transparent)]
    Set(#[from] SetError),
}

impl From<Unable> for LearnError {
    fn from(unable: Unable) -> Self {
        Self::Set(unable.into())
    }
}

impl LearnError {
    #[expect(clippy::needless_pass_by_value, reason = "callers pass temporaries")]
    pub(crate) fn parameter(
        parameter: &'static str,
        given: impl ToString,
        allowed: &'static str,
    ) -> Self {
        Self::Parameter {
            parameter,
            given: given.to_string(),
            allowed,
        }
    }
}
