//! The same learner on exact sums, beside a run: for the operator only.

use super::recipe::TablesRecipe;
use crate::error::{RecipeError, RunError};
use hushstream_learn::{CurvesAndTables, Learner};
use hushstream_mechanism::losses::Record;
use hushstream_mechanism::{ExactTables, Raw, Scoreboard, TableMap};

/// Curves and tables on exact sums.
pub struct TablesShadow {
    map: TableMap,
    learner: CurvesAndTables,
    sum: ExactTables,
    batch: u64,
    in_batch: u64,
}

impl TablesShadow {
    /// The shadow of a recipe.
    ///
    /// # Errors
    /// Those of the learner.
    pub fn new(recipe: &TablesRecipe) -> Result<Self, RecipeError> {
        let (map, response) = (recipe.map().clone(), recipe.request().response);
        Ok(Self {
            learner: recipe.quiet_learner()?,
            sum: ExactTables::new(map.clone(), response, true),
            map,
            batch: recipe.batch(),
            in_batch: 0,
        })
    }

    /// Scores a record with its weights.
    pub fn score(&self, record: &Raw<Record>, board: &mut Scoreboard) {
        board.score_tables(record, &self.map, self.learner.published());
    }

    /// Learns from a record.
    ///
    /// # Errors
    /// Those of the learner.
    pub fn learn(&mut self, record: &Raw<Record>) -> Result<(), RunError> {
        self.sum.add(self.learner.iterate(), record);
        self.in_batch += 1;
        if self.in_batch < self.batch {
            return Ok(());
        }
        self.in_batch = 0;
        let total = self.sum.total();
        Ok(self.learner.observe(total.for_the_operator())?)
    }
}
