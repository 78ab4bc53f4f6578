//! What can go wrong: a set that cannot do what is asked, a parameter outside its range, too many points.

use crate::{Capability, ConvexSet};

/// A capability that a set does not have, and what the set is good for instead.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{set} cannot {capability}; recipes it serves: {}", listed(.serves))]
pub struct Unable {
    /// Which set.
    pub set: &'static str,
    /// What it was asked for.
    pub capability: Capability,
    /// The recipes that need only what the set can do.
    pub serves: Vec<&'static str>,
}

impl Unable {
    /// The error for `set` and `capability`, with the recipes that `set` does serve.
    pub fn new<S: ConvexSet + ?Sized>(set: &S, capability: Capability) -> Self {
        let able = Capability::ALL
            .into_iter()
            .filter(|&other| other != capability && set.can(other));
        let mut serves = Vec::new();
        for recipe in able.flat_map(|other| other.recipes()) {
            // More than one capability may be enough.
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

/// Why a set could not be made or could not answer.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SetError {
    /// The set does not have the capability, whatever the arguments.
    #[error(transparent)]
    Unable(#[from] Unable),
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
    /// A slice of the wrong length.
    #[error("{parameter} has {given} coordinates; allowed: {expected}")]
    Dimension {
        /// Which slice.
        parameter: &'static str,
        /// Its length.
        given: usize,
        /// The length it must have.
        expected: usize,
    },
    /// A coordinate that is not a finite number.
    #[error("{parameter}[{index}] = {given} is not allowed; allowed: finite numbers")]
    NotFinite {
        /// Which slice.
        parameter: &'static str,
        /// Which coordinate.
        index: usize,
        /// What stands there.
        given: f64,
    },
    /// The set has the capability, but at this size the answer would be too large.
    #[error("{what}: about {count:.3e} needed; allowed: {cap}")]
    TooMany {
        /// What there would be too many of, and what to do instead.
        what: &'static str,
        /// How many there would be.
        count: f64,
        /// How many are allowed.
        cap: usize,
    },
    /// A point that has to be in the set, or in its interior, and is not.
    #[error("{parameter} is outside {set}: off by {distance:.3e}, allowed: {allowed:.3e}")]
    Outside {
        /// Which point.
        parameter: &'static str,
        /// Which set.
        set: &'static str,
        /// How far outside, in the measure the method documents.
        distance: f64,
        /// How far is allowed.
        allowed: f64,
    },
    /// An iteration ended before its optimality gap was small enough to be vouched for.
    #[error("{method} stopped with an optimality gap of {gap:.3e}; allowed: {allowed:.3e}")]
    NotConverged {
        /// Which method.
        method: &'static str,
        /// The gap reached.
        gap: f64,
        /// The gap that would have been accepted.
        allowed: f64,
    },
}

impl SetError {
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
