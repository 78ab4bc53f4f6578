//! The one trait of this crate.

use crate::LearnError;

/// A deterministic, public function of released prefix sums.
///
/// Because it sees nothing else, whatever it computes is post-processing: its privacy is that of the sums. Answers depend on
/// the arguments only, so a learner can be replayed from the releases, or continued from its [`state`](Self::state).
pub trait Learner: Send {
    /// What the learner is called in tables and files.
    fn name(&self) -> &'static str;

    /// Length of the prefix sums it consumes (for least squares larger than the iterate).
    fn sum_dimension(&self) -> usize;

    /// The current iterate x_{t+1} after t observations; x_1 at first. Always inside its set, up to the rounding the set states.
    fn iterate(&self) -> &[f64];

    /// Takes the released prefix sum over items 1..t (t = `rounds()` + 1) and moves to the next iterate.
    ///
    /// # Errors
    /// A sum of the wrong length or with a coordinate that is not finite; a set that fails. Nothing changes then.
    fn observe(&mut self, prefix: &[f64]) -> Result<(), LearnError>;

    /// Takes the sum over no items, which is noise alone, and moves x_1 to where it leads. AS17's learners want it: with
    /// it, every iterate sees noise of one law.
    ///
    /// # Errors
    /// A learner that has no use for it, or one that has already begun; otherwise as [`observe`](Self::observe).
    fn observe_initial(&mut self, prefix: &[f64]) -> Result<(), LearnError> {
        let _ = prefix;
        Err(LearnError::parameter(
            "learner with an initial sum",
            self.name(),
            "regularised-leader, perturbed-leader",
        ))
    }

    /// t, the number of prefix sums observed; an initial one does not count.
    fn rounds(&self) -> u64;

    /// Everything needed to continue bit for bit (public floats), besides what the constructor was given.
    fn state(&self) -> Vec<f64>;

    /// Goes back to a saved [`state`](Self::state) after `rounds` rounds, in a learner made with the same parameters.
    ///
    /// # Errors
    /// A state that does not fit, is not finite, or whose iterate is outside the set. Nothing changes then.
    fn restore(&mut self, rounds: u64, state: &[f64]) -> Result<(), LearnError>;
}
