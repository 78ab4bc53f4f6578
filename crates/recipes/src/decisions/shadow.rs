//! The same learner on exact sums, beside a run: for the operator only.

use super::player::{policy_of, shapes_of};
use super::recipe::DecisionsRecipe;
use crate::baseline::Baseline;
use crate::error::RunError;
use hushstream_learn::{ArmsLeastSquares, Learner};
use hushstream_mechanism::decisions::{ExactDecisions, Policy};
use hushstream_mechanism::losses::Record;
use hushstream_mechanism::{Raw, Scoreboard};
use hushstream_noise::{Instance, Key, Source};
use std::cell::RefCell;

/// Decisions on exact sums, with coins of their own.
pub struct DecisionsShadow {
    recipe: DecisionsRecipe,
    learner: ArmsLeastSquares,
    policy: Policy,
    sums: RefCell<ExactDecisions>,
    coins: Source,
    records: u64,
}

impl DecisionsShadow {
    /// The shadow of a recipe.
    ///
    /// # Errors
    /// Those of the learner.
    pub fn new(recipe: &DecisionsRecipe) -> Result<Self, RunError> {
        let learner = recipe.learner_with(Self::ridge(recipe))?;
        let key = Key::insecure_from_seed(0);
        Ok(Self {
            policy: policy_of(recipe, &learner, 0.0, &shapes_of(recipe, &learner)?)?,
            learner,
            sums: ExactDecisions::new(recipe.map().clone()).into(),
            coins: Source::open(&key, Instance::from_bytes([0; 16]), 1),
            records: 0,
            recipe: recipe.clone(),
        })
    }

    /// Enough to invert the matrix: one record's worth.
    fn ridge(recipe: &DecisionsRecipe) -> f64 {
        let moments = recipe.map().moments();
        moments.bounds().features().powi(2)
    }
}

impl Baseline for DecisionsShadow {
    /// Scores the decision for the record that is learned from next.
    fn score(&self, record: &Raw<Record>, board: &mut Scoreboard) {
        let mut sums = self.sums.borrow_mut();
        if self.recipe.map().outcomes().draws() {
            sums.score_drawn(&self.policy, (&self.coins, self.records), record, board);
        } else {
            sums.score(&self.policy, record, board);
        }
    }

    fn learn(&mut self, record: &Raw<Record>) -> Result<(), RunError> {
        let sums = self.sums.get_mut();
        sums.add(&self.policy, (&self.coins, self.records), record, None);
        self.records += 1;
        if !self.records.is_multiple_of(self.recipe.batch()) {
            return Ok(());
        }
        self.learner.observe(sums.total().for_the_operator())?;
        let release = self.records / self.recipe.batch();
        let gamma = self
            .recipe
            .gamma_with(release, 0.0, Self::ridge(&self.recipe));
        let shapes = shapes_of(&self.recipe, &self.learner)?;
        self.policy = policy_of(&self.recipe, &self.learner, gamma, &shapes)?;
        Ok(())
    }
}
