//! Learners that begin anew: in octaves of 1, 2, 4, … rounds for an unknown horizon, or in seasons
//! of one length for losses that drift, each with a fresh learner tuned for its length.
//!
//! A regret of c·√T on every octave adds up to at most c·√T·√2/(√2−1) ≈ 3.4·c·√T. In seasons of S
//! rounds it is at most ⌈T/S⌉ times that of S rounds, against the best choice of each season. The
//! privacy is that of the answers.

use super::{BanditLearner, Coins, Play};
use crate::LearnError;
use hushstream_account::ParameterError;

/// Creates the learner of an epoch from its length.
type Make = Box<dyn Fn(u64) -> Result<Box<dyn BanditLearner>, LearnError> + Send>;

/// A learner with a fresh inner learner for each epoch, an octave or a season.
///
/// ```
/// use hushstream_learn::bandits::{
///     BanditLearner, Coins, Epochs, Exp2, Exp2Rates, FeedbackNoiseSize,
/// };
///
/// let mut learner = Epochs::octaves(|rounds| {
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
pub struct Epochs {
    make: Make,
    inner: Box<dyn BanditLearner>,
    rounds: u64,
    /// Of seasons; octaves if none.
    season: Option<u64>,
}

impl Epochs {
    /// Octaves whose learners `make` creates.
    ///
    /// # Errors
    /// Those of `make`.
    pub fn octaves(
        make: impl Fn(u64) -> Result<Box<dyn BanditLearner>, LearnError> + Send + 'static,
    ) -> Result<Self, LearnError> {
        Self::new(None, make)
    }

    /// Seasons of so many rounds, whose learners `make` creates.
    ///
    /// # Errors
    /// No rounds; those of `make`.
    pub fn seasons(
        season: u64,
        make: impl Fn(u64) -> Result<Box<dyn BanditLearner>, LearnError> + Send + 'static,
    ) -> Result<Self, LearnError> {
        if season == 0 {
            return Err(ParameterError::new("rounds of a season", season, "at least 1").into());
        }
        Self::new(Some(season), make)
    }

    fn new(
        season: Option<u64>,
        make: impl Fn(u64) -> Result<Box<dyn BanditLearner>, LearnError> + Send + 'static,
    ) -> Result<Self, LearnError> {
        Ok(Self {
            inner: make(season.unwrap_or(1))?,
            make: Box::new(make),
            rounds: 0,
            season,
        })
    }

    /// The first round of the epoch that follows so many rounds, from 0, and its length.
    fn epoch(&self, rounds: u64) -> (u64, u64) {
        match self.season {
            Some(season) => (rounds / season * season, season),
            None => {
                let octave = 1_u64 << (rounds + 1).ilog2();
                (octave - 1, octave)
            }
        }
    }
}

impl BanditLearner for Epochs {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn play(&mut self, coins: &mut Coins<'_>) -> Result<Play, LearnError> {
        self.inner.play(coins)
    }

    fn observe(&mut self, answer: f64) -> Result<(), LearnError> {
        self.inner.observe(answer)?;
        self.rounds += 1;
        let (first, length) = self.epoch(self.rounds);
        if self.rounds == first {
            self.inner = (self.make)(length)?;
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
        let (first, length) = self.epoch(rounds);
        let mut inner = (self.make)(length)?;
        inner.restore(rounds - first, state)?;
        (self.inner, self.rounds) = (inner, rounds);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Exp2, Exp2Rates, FeedbackNoiseSize};
    use super::*;

    fn play(learner: &mut Epochs, rounds: u64) -> Vec<Vec<f64>> {
        let mut state = 3_u64;
        let mut policies = Vec::new();
        for _ in 0..rounds {
            let mut bits = || {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                state
            };
            let play = learner.play(&mut Coins::new(&mut bits)).unwrap();
            let loss = if play.action == Some(0) { 0.9 } else { 0.1 };
            policies.push(learner.policy().unwrap());
            learner.observe(loss).unwrap();
        }
        policies
    }

    /// Seasons of 5 rounds begin at rounds 1, 6, 11, …, octaves at 1, 2, 4, 8, …; what was learned
    /// before is gone, and a stored state goes on where it was.
    #[test]
    fn epochs_begin_where_they_should() {
        let make = |rounds: u64| -> Result<Box<dyn BanditLearner>, LearnError> {
            let rates = Exp2Rates::stated(2, rounds, FeedbackNoiseSize::Laplace(0.0));
            Ok(Box::new(Exp2::new(2, rates)?))
        };
        for (season, begins) in [(Some(5), vec![1, 6, 11, 16]), (None, vec![1, 2, 4, 8, 16])] {
            let epochs = || match season {
                Some(season) => Epochs::seasons(season, make).unwrap(),
                None => Epochs::octaves(make).unwrap(),
            };
            let policies = play(&mut epochs(), 17);
            let fresh = |policy: &Vec<f64>| (policy[0] - 0.5).abs() < 1e-12;
            let found = (1..).zip(&policies).filter(|(_, policy)| fresh(policy));
            assert_eq!(found.map(|(t, _)| t).collect::<Vec<i32>>(), begins);
            let mut whole = epochs();
            play(&mut whole, 13);
            let mut back = epochs();
            back.restore(13, &whole.state()).unwrap();
            assert_eq!(play(&mut whole, 4), play(&mut back, 4));
        }
        assert!(Epochs::seasons(0, make).is_err());
    }
}
