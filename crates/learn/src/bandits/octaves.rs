//! An unknown horizon: octaves of 1, 2, 4, … rounds, each with a fresh learner tuned for its
//! length.
//!
//! A regret of c·√T on every octave adds up to at most c·√T·√2/(√2−1) ≈ 3.4·c·√T. The privacy is
//! that of the answers.

use super::{BanditLearner, Coins, Play};
use crate::LearnError;

/// Creates the learner of an octave from its length.
type Make = Box<dyn Fn(u64) -> Result<Box<dyn BanditLearner>, LearnError> + Send>;

/// A learner for an unknown horizon, with a fresh inner learner for each octave.
///
/// ```
/// use hushstream_learn::bandits::{
///     BanditLearner, Coins, Exp2, Exp2Rates, FeedbackNoiseSize, Octaves,
/// };
///
/// let mut learner = Octaves::new(|rounds| {
///     let rates = Exp2Rates::stated(2, rounds, FeedbackNoiseSize::Laplace(0.1));
///     Ok(Box::new(Exp2::new(2, rates)?))
/// })?;
/// let mut bits = || u64::MAX;
/// for _ in 0..10 {
///     learner.play(&mut Coins::new(&mut bits))?;
///     learner.observe(0.5)?;
/// }
/// assert_eq!(learner.rounds(), 10);
/// # Ok::<(), hushstream_learn::LearnError>(())
/// ```
pub struct Octaves {
    make: Make,
    inner: Box<dyn BanditLearner>,
    rounds: u64,
}

impl Octaves {
    /// Octaves whose learners `make` creates.
    ///
    /// # Errors
    /// Those of `make`.
    pub fn new(
        make: impl Fn(u64) -> Result<Box<dyn BanditLearner>, LearnError> + Send + 'static,
    ) -> Result<Self, LearnError> {
        Ok(Self {
            inner: make(1)?,
            make: Box::new(make),
            rounds: 0,
        })
    }
}

impl BanditLearner for Octaves {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn play(&mut self, coins: &mut Coins<'_>) -> Result<Play, LearnError> {
        self.inner.play(coins)
    }

    fn observe(&mut self, answer: f64) -> Result<(), LearnError> {
        self.inner.observe(answer)?;
        self.rounds += 1;
        if (self.rounds + 1).is_power_of_two() {
            self.inner = (self.make)(self.rounds + 1)?;
        }
        Ok(())
    }

    fn policy(&self) -> Option<Vec<f64>> {
        self.inner.policy()
    }

    fn rounds(&self) -> u64 {
        self.rounds
    }

    fn state(&self) -> Vec<f64> {
        self.inner.state()
    }

    fn restore(&mut self, rounds: u64, state: &[f64]) -> Result<(), LearnError> {
        let octave = 1_u64 << (rounds + 1).ilog2();
        let mut inner = (self.make)(octave)?;
        inner.restore(rounds + 1 - octave, state)?;
        (self.inner, self.rounds) = (inner, rounds);
        Ok(())
    }
}
