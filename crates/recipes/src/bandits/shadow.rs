//! A bandit without privacy beside a run: for the operator only.
//!
//! The same learner with the rates for no noise, playing every round and told the exact answer to
//! its own play. The difference to the run is what privacy costs. Its coins come from a fixed seed:
//! they protect nothing.

use super::player::choose;
use super::recipe::BanditRecipe;
use crate::baseline::Baseline;
use crate::error::{RecipeError, RunError};
use hushstream_learn::bandits::{BanditLearner, Play};
use hushstream_mechanism::feedback::{Ask, Reading};
use hushstream_mechanism::losses::Record;
use hushstream_mechanism::{Raw, Scoreboard};
use hushstream_noise::{Instance, Key, Source};

/// A bandit on exact answers.
pub struct BanditShadow {
    reading: Reading,
    learner: Box<dyn BanditLearner>,
    coins: Source,
    play: Play,
    policy: Option<Vec<f64>>,
    rounds: u64,
}

impl BanditShadow {
    /// The shadow of a recipe that reads records.
    ///
    /// # Errors
    /// A recipe that does not; those of the learner.
    pub fn new(recipe: &BanditRecipe) -> Result<Self, RunError> {
        let Some(reading) = recipe.request.reading else {
            return Err(RecipeError::Unfit("no reading was planned for".into()).into());
        };
        let mut learner = recipe.exact_learner()?;
        let coins = Source::open(
            &Key::insecure_from_seed(0),
            Instance::from_bytes([0; 16]),
            0,
        );
        let policy = learner.policy();
        let play = choose(learner.as_mut(), &coins, 0)?;
        Ok(Self {
            reading,
            learner,
            coins,
            play,
            policy,
            rounds: 0,
        })
    }

    /// Its play: computed from private data.
    #[must_use]
    pub fn weights(&self) -> &[f64] {
        match &self.policy {
            Some(policy) if self.reading.is_log() => policy,
            _ => &self.play.point,
        }
    }
}

impl Baseline for BanditShadow {
    fn score(&self, record: &Raw<Record>, board: &mut Scoreboard) {
        board.score(record, self.weights());
    }

    fn learn(&mut self, record: &Raw<Record>) -> Result<(), RunError> {
        let ask = match self.play.action {
            Some(arm) => Ask::Arm(arm),
            None => Ask::Mixture(&self.play.point),
        };
        let answer = self.reading.exact(record, ask);
        let answer = *answer.for_the_operator() / self.reading.range().bound();
        self.learner.observe(answer)?;
        self.rounds += 1;
        self.policy = self.learner.policy();
        self.play = choose(self.learner.as_mut(), &self.coins, self.rounds)?;
        Ok(())
    }
}
