//! The neighbouring relation: which pairs of data sets a privacy claim compares.
//!
//! The number and the timing of records are public under both relations; only contents change. A
//! contribution clipped to a centred ball of radius L moves a sum by up to κ·L, where κ is the
//! largest distance between two neighbouring contributions over L: the diameter 2L when any record
//! may become any other, the radius L when a record may only become the null at the centre.
//! Forgetting κ = 2 turns (1, 1e-6) into (1, 4.8e-3), so there is no default: every caller
//! states the relation.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::ParameterError;

/// The neighbouring relation between data sets. Deliberately without a default.
///
/// ```
/// use hushstream_account::{Adjacency, ParameterError};
///
/// let adjacency: Adjacency = "replace-one".parse()?;
/// assert_eq!(adjacency, Adjacency::ReplaceOne);
/// // A contribution of length at most L moves a sum by up to 2L.
/// assert_eq!(adjacency.kappa(), 2.0);
/// # Ok::<(), ParameterError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Adjacency {
    /// One record is replaced by any other record.
    ReplaceOne,
    /// One record is replaced by the public null contribution, or the reverse.
    ZeroOut,
}

impl Adjacency {
    /// κ: the largest change of one contribution over the radius of its centred ball.
    #[must_use]
    pub fn kappa(self) -> f64 {
        match self {
            Self::ReplaceOne => 2.0,
            Self::ZeroOut => 1.0,
        }
    }
}

impl fmt::Display for Adjacency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::ReplaceOne => "replace-one",
            Self::ZeroOut => "zero-out",
        })
    }
}

impl FromStr for Adjacency {
    type Err = ParameterError;

    fn from_str(name: &str) -> Result<Self, ParameterError> {
        match name {
            "replace-one" => Ok(Self::ReplaceOne),
            "zero-out" => Ok(Self::ZeroOut),
            other => Err(ParameterError::new(
                "adjacency",
                other,
                "replace-one or zero-out",
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for adjacency in [Adjacency::ReplaceOne, Adjacency::ZeroOut] {
            assert_eq!(adjacency.to_string().parse(), Ok(adjacency));
            let json = serde_json::to_string(&adjacency).unwrap();
            assert_eq!(json, format!("\"{adjacency}\""));
        }
        let error = "replace".parse::<Adjacency>().unwrap_err().to_string();
        assert!(error.contains("replace-one or zero-out"), "{error}");
    }

    #[test]
    fn kappa_is_diameter_over_radius() {
        assert!((Adjacency::ReplaceOne.kappa() - 2.0).abs() < f64::EPSILON);
        assert!((Adjacency::ZeroOut.kappa() - 1.0).abs() < f64::EPSILON);
    }
}
