//! A parameter outside its range: one error type for the whole workspace.

use std::fmt;

use thiserror::Error;

/// A parameter outside its range. The message says what was given and what is allowed.
///
/// ```
/// use hushstream_account::ParameterError;
///
/// let error = ParameterError::new("batch", 0, "at least 1");
/// assert_eq!(error.to_string(), "batch = 0 is not allowed; allowed: at least 1");
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{parameter} = {given} is not allowed; allowed: {allowed}")]
pub struct ParameterError {
    /// The parameter's name in the documentation.
    pub parameter: &'static str,
    /// The value that was given.
    pub given: String,
    /// The allowed values, in words.
    pub allowed: &'static str,
}

impl ParameterError {
    /// The error for a parameter that was given as `given`.
    pub fn new(parameter: &'static str, given: impl fmt::Display, allowed: &'static str) -> Self {
        Self {
            parameter,
            given: given.to_string(),
            allowed,
        }
    }
}
