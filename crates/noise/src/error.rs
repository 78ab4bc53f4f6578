//! What can go wrong: no entropy, or a parameter outside its range.

/// Why a key, an instance or a sampler could not be made.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoiseError {
    /// The operating system's entropy source failed; nothing may be drawn without it.
    #[error("the operating system gave no entropy ({0}); noise cannot be drawn safely")]
    NoEntropy(String),
    /// A stored key is not one that [`crate::Key::export`] wrote.
    #[error("stored key is not valid: expected 33 bytes with a known first byte")]
    StoredKey,
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
}

impl NoiseError {
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
