//! The same learner without privacy, beside a run: for the operator only.
//!
//! It is fed the exact sums of the same records, asked at its *own* iterates, so the difference
//! between the two is what privacy costs. Nothing of it may be published.

use super::recipe::{Ask, Recipe};
use crate::baseline::Baseline;
use crate::error::{RecipeError, RunError};
use hushstream_learn::Learner;
use hushstream_mechanism::losses::Record;
use hushstream_mechanism::{ExactSum, OperatorOnly, Raw, Scoreboard};

/// A learner on exact sums.
pub struct Shadow {
    recipe: Recipe,
    learner: Box<dyn Learner>,
    sum: ExactSum,
    in_batch: u64,
}

impl Shadow {
    /// The shadow of a recipe; its ridge, which is for noise, is left out.
    ///
    /// # Errors
    /// Those of the learner.
    pub fn new(recipe: &Recipe) -> Result<Self, RecipeError> {
        let mut recipe = recipe.clone();
        recipe.ridge = 0.0;
        let learner = recipe.learner()?;
        let sum = ExactSum::new(learner.sum_dimension());
        Ok(Self {
            recipe,
            learner,
            sum,
            in_batch: 0,
        })
    }

    /// Its weights: computed from private data.
    #[must_use]
    pub fn weights(&self) -> &[f64] {
        self.learner.iterate()
    }
}

impl Baseline for Shadow {
    fn score(&self, record: &Raw<Record>, board: &mut Scoreboard) {
        board.score(record, self.weights());
    }

    fn learn(&mut self, record: &Raw<Record>) -> Result<(), RunError> {
        match self.recipe.ask() {
            Ask::Gradient(loss) => {
                let weights = self.learner.iterate();
                self.sum.add_gradient(loss.as_ref(), weights, record);
            }
            Ask::Moments(moments) => self.sum.add_moments(moments, record),
        }
        self.in_batch += 1;
        if self.in_batch < self.recipe.request().batch {
            return Ok(());
        }
        self.in_batch = 0;
        let offset = (self.learner.rounds() + 1) as f64 * self.recipe.offset();
        let total: OperatorOnly<&[f64]> = self.sum.total();
        let total: Vec<f64> = total
            .for_the_operator()
            .iter()
            .map(|sum| sum + offset)
            .collect();
        Ok(self.learner.observe(&total)?)
    }
}
