//! The errors of this crate: no entropy, a damaged key, a parameter out of range.

use hushstream_account::ParameterError;

/// Why a key, an instance or a sampler could not be created.
///
/// ```
/// use hushstream_noise::{DiscreteLaplace, Key, NoiseError};
///
/// let error = DiscreteLaplace::new(0).unwrap_err();
/// assert_eq!(error.to_string(), "scale = 0 is not allowed; allowed: 1 to 2^40");
/// assert_eq!(Key::import(&[7; 33]).unwrap_err(), NoiseError::StoredKey);
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoiseError {
    /// The operating system's entropy source failed; nothing may be drawn without it.
    #[error("the operating system gave no entropy ({0}); noise cannot be drawn safely")]
    NoEntropy(String),
    /// The bytes of a stored key do not come from [`crate::Key::export`].
    #[error("stored key is not valid: expected 33 bytes with a known first byte")]
    StoredKey,
    /// A parameter out of range.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
}
