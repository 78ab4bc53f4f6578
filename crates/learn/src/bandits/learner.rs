//! What a bandit learner is.

use super::Coins;
use crate::LearnError;

/// One play: released, with what is needed to evaluate other policies on the log.
#[derive(Debug, Clone, PartialEq)]
pub struct Play {
    /// Which action, where there are finitely many.
    pub action: Option<usize>,
    /// The point that is played.
    pub point: Vec<f64>,
    /// The probability (given the past) with which this play was chosen; for continuous plays that of the choice among finitely many.
    pub propensity: f64,
}

/// A deterministic function of its own plays, its coins and the noisy answers. It sees nothing else, so its privacy is that of the answers.
pub trait BanditLearner: Send {
    /// What it is called in tables and files.
    fn name(&self) -> &'static str;

    /// Chooses the next play. The same state and coins give the same play.
    ///
    /// # Errors
    /// A set that fails.
    fn play(&mut self, coins: &mut Coins<'_>) -> Result<Play, LearnError>;

    /// Takes the noisy answer to the last play.
    ///
    /// # Errors
    /// No play before, or an answer that is not finite; nothing changes then.
    fn observe(&mut self, answer: f64) -> Result<(), LearnError>;

    /// The probabilities of its next play, where there are finitely many actions.
    fn policy(&self) -> Option<Vec<f64>> {
        None
    }

    /// Answers observed.
    fn rounds(&self) -> u64;

    /// Everything needed to continue bit for bit after an observed answer, besides what the constructor was given.
    fn state(&self) -> Vec<f64>;

    /// Goes back to a saved state.
    ///
    /// # Errors
    /// A state that does not fit or is not finite. Nothing changes then.
    fn restore(&mut self, rounds: u64, state: &[f64]) -> Result<(), LearnError>;
}
