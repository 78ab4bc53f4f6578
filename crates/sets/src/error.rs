//! The errors of this crate: a missing capability, a parameter out of range, too many points.

use hushstream_account::ParameterError;

use crate::{Capability, ConvexSet};

/// The error for a capability that a set does not have. It names the recipes that the set serves.
///
/// ```
/// use hushstream_sets::{ConvexSet, SetError, Spectrahedron};
///
/// let Err(SetError::Unable(error)) = Spectrahedron::new(2)?.barrier() else { unreachable!() };
/// assert!(error.to_string().starts_with("spectrahedron cannot give a barrier; recipes"));
/// assert!(error.serves.contains(&"pftal"));
/// # Ok::<(), SetError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{set} cannot {capability}; recipes it serves: {}", listed(.serves))]
pub struct Unable {
    /// The name of the set.
    pub set: &'static str,
    /// The missing capability.
    pub capability: Capability,
    /// The recipes that need only capabilities of this set.
    pub serves: Vec<&'static str>,
}

impl Unable {
    /// The error for `set` and `capability`, with the recipes that `set` serves.
    pub fn new<S: ConvexSet + ?Sized>(set: &S, capability: Capability) -> Self {
        let able = Capability::ALL
            .into_iter()
            .filter(|&other| other != capability && set.can(other));
        let mut serves = Vec::new();
        for recipe in able.flat_map(|other| other.recipes()) {
            // A recipe may be listed under several capabilities.
            if !serves.contains(recipe) {
                serves.push(*recipe);
            }
        }
        Self {
            set: set.name(),
            capability,
            serves,
        }
    }
}

fn listed(recipes: &[&'static str]) -> String {
    if recipes.is_empty() {
        "none".to_owned()
    } else {
        recipes.join(", ")
    }
}

/// Why a set could not be created or could not answer.
///
/// ```
/// use hushstream_sets::{Ball, ConvexSet, SetError};
///
/// let error = Ball::new(2, -1.0).unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "radius = -1 is not allowed; allowed: a finite number above 0"
/// );
/// let ball = Ball::new(2, 1.0)?;
/// let error = ball.project(&mut [1.0; 3]).unwrap_err();
/// assert_eq!(error.to_string(), "point has 3 coordinates; allowed: 2");
/// # Ok::<(), SetError>(())
/// ```
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SetError {
    /// The set does not have the capability, for any arguments.
    #[error(transparent)]
    Unable(#[from] Unable),
    /// A parameter out of range.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
    /// A slice of the wrong length.
    #[error("{parameter} has {given} coordinates; allowed: {expected}")]
    Dimension {
        /// The slice.
        parameter: &'static str,
        /// Its length.
        given: usize,
        /// The length it must have.
        expected: usize,
    },
    /// A coordinate that is not a finite number.
    #[error("{parameter}[{index}] = {given} is not allowed; allowed: finite numbers")]
    NotFinite {
        /// The slice.
        parameter: &'static str,
        /// The index of the coordinate.
        index: usize,
        /// The coordinate.
        given: f64,
    },
    /// The set has the capability, but at this size the answer would be too large.
    #[error("{what}: about {count:.3e} needed; allowed: {cap}")]
    TooMany {
        /// The objects of which there are too many, and an alternative.
        what: &'static str,
        /// Their number.
        count: f64,
        /// The allowed number.
        cap: usize,
    },
    /// A point that must be in the set, or in its interior, and is not.
    #[error("{parameter} is outside {set}: off by {distance:.3e}, allowed: {allowed:.3e}")]
    Outside {
        /// The point.
        parameter: &'static str,
        /// The name of the set.
        set: &'static str,
        /// Its distance from the set, in the measure that the method documents.
        distance: f64,
        /// The allowed distance.
        allowed: f64,
    },
    /// An iteration ended with an optimality gap above the allowed one.
    #[error("{method} stopped with an optimality gap of {gap:.3e}; allowed: {allowed:.3e}")]
    NotConverged {
        /// The method.
        method: &'static str,
        /// The gap reached.
        gap: f64,
        /// The allowed gap.
        allowed: f64,
    },
}
