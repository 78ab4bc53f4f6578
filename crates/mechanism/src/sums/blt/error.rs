//! Why a BLT strategy is refused: every message says what was given, what is allowed, and holds no
//! data.

use super::parameters::{MAX_BUFFERS, MAX_RELEASES};

/// Why parameters are refused.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum BltError {
    /// A number of buffers outside 1..=8.
    #[error(
        "a BLT has 1 to {MAX_BUFFERS} buffers, not {given}; four or five are enough for a million \
         releases"
    )]
    Buffers {
        /// The number of decays given.
        given: usize,
    },
    /// Not as many weights as decays.
    #[error("{decays} decays but {weights} weights; every buffer has one of each")]
    Lengths {
        /// The number of decays given.
        decays: usize,
        /// The number of weights given.
        weights: usize,
    },
    /// A decay that is not strictly between its predecessor (or 0) and 1.
    #[error("decay {index} is {given}; the decays 1 − θ must ascend strictly within (0, 1]")]
    Decay {
        /// Its position.
        index: usize,
        /// Its value.
        given: f64,
    },
    /// A weight that is not positive and finite, or that vanishes when rounded.
    #[error(
        "weight {index} is {given}; weights must be positive (and at least 2⁻⁴⁰ to be encoded)"
    )]
    Weight {
        /// Its position.
        index: usize,
        /// Its value.
        given: f64,
    },
    /// Weights that sum to more than one, so that the matrix is not non-increasing.
    #[error(
        "the weights sum to {given}; at most 1 is allowed, since the sensitivity is proved for \
         non-increasing coefficients"
    )]
    TotalWeight {
        /// The sum.
        given: f64,
    },
    /// A number of releases outside 1..=2⁴⁰.
    #[error("{given} releases; between 1 and 2⁴⁰ are allowed")]
    Releases {
        /// The number given.
        given: u64,
    },
}

impl BltError {
    pub(super) fn check_releases(given: u64) -> Result<(), Self> {
        if (1..=MAX_RELEASES).contains(&given) {
            Ok(())
        } else {
            Err(Self::Releases { given })
        }
    }
}
