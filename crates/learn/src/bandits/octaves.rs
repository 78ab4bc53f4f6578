//! An unknown horizon: octaves of 1, 2, 4, … rounds, each played by a fresh learner tuned for its own length.
//!
//! A regret of c·√T on every octave adds up to at most c·√T·√2/(√2−1) ≈ 3.4·c·√T. Privacy is that of the answers, whoever reads them.

use super::{BanditLearner, Coins, Play};
use crate::LearnError;

/// Makes the learner of an octave from its length.
type Make = Box<dyn Fn(u64) -> Result<Box<dyn BanditLearner>, LearnError> + Send>;

/// A learner for each octave.
pub struct Octaves {
    make: Make,
    inner: Box<dyn BanditLearner>,
    rounds: u64,
}

impl Octaves {
    /// Octaves of learners that `make` makes.
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
