//! What tells the recipes on perturbed iterates apart.

use hushstream_mechanism::perturb::Timing;

/// The steps that a recipe takes on a loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TakenSteps {
    /// Minimisations only.
    Minimisations,
    /// Gradients only.
    Gradients,
    /// Either, or any learner with a proof of its own.
    Any,
}

/// The curvature of a recipe on a loss, where none is stated.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Calibration {
    /// The loss's own; a loss without any is refused.
    Own,
    /// Balanced, A(t) = a·t^power; a loss with curvature of its own is refused.
    Balanced(f64),
    /// The loss's own, or balanced for a loss without any.
    OwnOrBalanced,
}

/// The rules of one recipe.
#[derive(Debug, Clone, Copy)]
pub(crate) struct IterateRules {
    /// Its steps.
    pub(crate) steps: TakenSteps,
    /// When it releases, for this many releases.
    pub(crate) timing: fn(u64) -> Timing,
    /// Its curvature.
    pub(crate) curvature: Calibration,
}
