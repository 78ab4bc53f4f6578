//! The trait of all bandit learners, its plays and its coins.

use crate::LearnError;

/// A play. It is released, with its propensity for evaluating other policies on the log.
///
/// ```
/// use hushstream_learn::bandits::Play;
///
/// // The second of two arms, played with probability 0.9.
/// let play = Play { action: Some(1), point: vec![0.0, 1.0], propensity: 0.9 };
/// let loss = 0.45;
/// // An unbiased estimate of the second arm's loss.
/// assert!((loss / play.propensity - 0.5).abs() < 1e-12);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Play {
    /// The index of the action, if there are finitely many.
    pub action: Option<usize>,
    /// The played point.
    pub point: Vec<f64>,
    /// The probability of this play, given the past; for continuous plays the probability of the
    /// choice among finitely many.
    pub propensity: f64,
}

/// A deterministic function of its own plays, its coins and the noisy answers. It sees nothing
/// else, so its privacy is that of the answers.
///
/// ```
/// use hushstream_learn::bandits::{BanditLearner, Coins, Exp2, Exp2Rates, FeedbackNoiseSize};
///
/// let rates = Exp2Rates::stated(2, 1000, FeedbackNoiseSize::Laplace(0.1));
/// let mut learner = Exp2::new(2, rates)?;
/// let mut bits = || 0;
/// let play = learner.play(&mut Coins::new(&mut bits))?;
/// learner.observe(0.7)?; // the noisy loss of the play
/// assert_eq!(play.action, Some(0));
/// // A loss makes an arm less likely.
/// assert!(learner.policy().unwrap()[0] < play.propensity);
/// # Ok::<(), hushstream_learn::LearnError>(())
/// ```
pub trait BanditLearner: Send {
    /// The name of the learner in tables and files.
    fn name(&self) -> &'static str;

    /// Chooses the next play. The same state and coins give the same play.
    ///
    /// # Errors
    /// An error of the set.
    fn play(&mut self, coins: &mut Coins<'_>) -> Result<Play, LearnError>;

    /// Learns from the noisy answer to the last play.
    ///
    /// # Errors
    /// No play before, or an answer that is not finite; the learner is then unchanged.
    fn observe(&mut self, answer: f64) -> Result<(), LearnError>;

    /// The probabilities of the next play, if there are finitely many actions.
    fn policy(&self) -> Option<Vec<f64>> {
        None
    }

    /// The number of observed answers.
    fn rounds(&self) -> u64;

    /// The state to continue from bit for bit after an observed answer, without the parameters of
    /// the constructor.
    fn state(&self) -> Vec<f64>;

    /// Restores a saved state.
    ///
    /// # Errors
    /// A state that does not fit or is not finite. The learner is then unchanged.
    fn restore(&mut self, rounds: u64, state: &[f64]) -> Result<(), LearnError>;
}

/// A learner's own randomness, supplied by the caller so that a replay repeats it. Plays are
/// post-processing for any coins, so floats are good enough.
///
/// ```
/// use hushstream_learn::bandits::Coins;
///
/// let mut state = 1_u64;
/// let mut bits = || {
///     state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
///     state
/// };
/// let mut coins = Coins::new(&mut bits);
/// assert!((0.0..1.0).contains(&coins.uniform()));
/// assert_eq!(coins.choose(&[0.0, 1.0, 0.0]), 1);
/// ```
pub struct Coins<'a> {
    next: &'a mut dyn FnMut() -> u64,
}

impl<'a> Coins<'a> {
    /// Coins that read 64 fair bits at a time.
    pub fn new(next: &'a mut dyn FnMut() -> u64) -> Self {
        Self { next }
    }

    /// Uniform on [0, 1).
    pub fn uniform(&mut self) -> f64 {
        ((self.next)() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Uniform on 0 … bound − 1, up to one part in 2⁵³.
    pub fn below(&mut self, bound: usize) -> usize {
        ((self.uniform() * bound as f64) as usize).min(bound.saturating_sub(1))
    }

    /// ±1 with equal probability.
    pub fn sign(&mut self) -> f64 {
        if (self.next)() & 1 == 1 { 1.0 } else { -1.0 }
    }

    /// Standard normal (Marsaglia's polar method).
    pub fn normal(&mut self) -> f64 {
        loop {
            let (x, y) = (2.0 * self.uniform() - 1.0, 2.0 * self.uniform() - 1.0);
            let square = x * x + y * y;
            if square > 0.0 && square < 1.0 {
                return x * (-2.0 * libm::log(square) / square).sqrt();
            }
        }
    }

    /// An index with these probabilities.
    pub fn choose(&mut self, probabilities: &[f64]) -> usize {
        let mut place = self.uniform() * probabilities.iter().sum::<f64>();
        for (index, probability) in probabilities.iter().enumerate() {
            if place < *probability {
                return index;
            }
            place -= probability;
        }
        // Rounding may skip all of them: take the last possible index.
        let possible = probabilities.iter().rposition(|p| *p > 0.0);
        possible.unwrap_or(0)
    }
}
