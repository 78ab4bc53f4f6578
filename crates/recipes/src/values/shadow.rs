//! The same learner on exact values, beside a run: for the operator only.
//!
//! It plays around its own iterates, with coins of a fixed seed, which protect nothing, and is told
//! the exact value at its own play. The difference to the run is what privacy costs.

use super::player::{OnePointValue, around};
use super::recipe::ValuesRecipe;
use crate::baseline::Baseline;
use crate::error::{RecipeError, RunError};
use hushstream_learn::Learner;
use hushstream_mechanism::losses::Record;
use hushstream_mechanism::{ExactSum, Raw, Scoreboard};
use hushstream_noise::{Instance, Key, Source};

/// A learner on exact values.
pub struct ValuesShadow {
    recipe: ValuesRecipe,
    learner: Box<dyn Learner>,
    sum: ExactSum,
    coins: Source,
    direction: Vec<f64>,
    play: Vec<f64>,
}

impl ValuesShadow {
    /// The shadow of a recipe.
    ///
    /// # Errors
    /// Those of the learner.
    pub fn new(recipe: &ValuesRecipe) -> Result<Self, RecipeError> {
        let learner = recipe.learner()?;
        let key = Key::insecure_from_seed(0);
        let coins = Source::open(&key, Instance::from_bytes([0; 16]), 0);
        let (direction, play) = around(recipe, learner.as_ref(), &coins);
        Ok(Self {
            sum: ExactSum::new(learner.sum_dimension()),
            recipe: recipe.clone(),
            learner,
            coins,
            direction,
            play,
        })
    }

    /// Its play: computed from private data.
    #[must_use]
    pub fn weights(&self) -> &[f64] {
        &self.play
    }
}

impl Baseline for ValuesShadow {
    fn score(&self, record: &Raw<Record>, board: &mut Scoreboard) {
        board.score(record, self.weights());
    }

    fn learn(&mut self, record: &Raw<Record>) -> Result<(), RunError> {
        let ask = OnePointValue::new(&self.recipe, &self.direction);
        self.sum.add_gradient(&ask, &self.play, record);
        self.learner.observe(self.sum.total().for_the_operator())?;
        (self.direction, self.play) = around(&self.recipe, self.learner.as_ref(), &self.coins);
        Ok(())
    }
}
