//! The trait of all learners on prefix sums.

use crate::LearnError;
use hushstream_account::ParameterError;

/// A deterministic, public function of released prefix sums.
///
/// A learner sees nothing else, so its output is post-processing: its privacy is that of the sums.
/// Iterates depend on the arguments only, so a learner can be replayed from the releases, or
/// continued from its [`state`](Self::state).
///
/// ```
/// use hushstream_learn::{LearnError, Learner, RegularisedLeader};
///
/// let mut learner = RegularisedLeader::entropic(2, 0.1)?;
/// learner.observe(&[1.0, 3.0])?;
/// // A saved state continues bit for bit.
/// let mut copy = RegularisedLeader::entropic(2, 0.1)?;
/// copy.restore(learner.rounds(), &learner.state())?;
/// learner.observe(&[4.0, 3.5])?;
/// copy.observe(&[4.0, 3.5])?;
/// assert_eq!(learner.iterate(), copy.iterate());
/// # Ok::<(), LearnError>(())
/// ```
pub trait Learner: Send {
    /// The name of the learner in tables and files.
    fn name(&self) -> &'static str;

    /// The length of the prefix sums: that of the iterate, but for least squares.
    fn sum_dimension(&self) -> usize {
        self.iterate().len()
    }

    /// The current iterate x_{t+1} after t observations; x_1 before the first. Always inside the
    /// set, up to the rounding that the set states.
    fn iterate(&self) -> &[f64];

    /// Moves to the next iterate with the released prefix sum over items 1..t, t = `rounds()` + 1.
    ///
    /// # Errors
    /// A sum of the wrong length or with a coordinate that is not finite; an error of the set. The
    /// learner is then unchanged.
    fn observe(&mut self, prefix: &[f64]) -> Result<(), LearnError>;

    /// Moves x_1 with the released sum over no items, which is noise alone. The bounds of AS17's
    /// learners need it: with it, every iterate depends on noise of the same law.
    ///
    /// # Errors
    /// A learner without an initial sum, or one that has observed a sum; otherwise as
    /// [`observe`](Self::observe).
    fn observe_initial(&mut self, prefix: &[f64]) -> Result<(), LearnError> {
        let _ = prefix;
        Err(ParameterError::new(
            "learner with an initial sum",
            self.name(),
            "regularised-leader, perturbed-leader",
        )
        .into())
    }

    /// t, the number of prefix sums observed; an initial one does not count.
    fn rounds(&self) -> u64;

    /// The state to continue from bit for bit, as public floats, without the parameters of the
    /// constructor: the iterate, if the learner keeps nothing else.
    fn state(&self) -> Vec<f64> {
        self.iterate().to_vec()
    }

    /// Restores a saved [`state`](Self::state) after `rounds` rounds, in a learner with the same
    /// parameters.
    ///
    /// # Errors
    /// A state that does not fit, is not finite, or whose iterate is outside the set. The learner
    /// is then unchanged.
    fn restore(&mut self, rounds: u64, state: &[f64]) -> Result<(), LearnError>;
}
