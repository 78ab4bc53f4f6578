//! Curves and tables on a private sum.

use super::recipe::TablesRecipe;
use crate::catalogue::RecipeName;
use crate::error::RunError;
use crate::run::{Beginning, Player, Run};
use hushstream_learn::{CurvesAndTables, Learner};
use hushstream_mechanism::losses::Record;
use hushstream_mechanism::sums::{Ask, Committed, Delivery, PartialSum, Question, Sum, SumPlan};
use hushstream_mechanism::{PendingOf, Private, Raw, Scoreboard, TableMap, Transcript};
use hushstream_noise::Key;

/// Asks records for their residuals at the iterate, and publishes the average of iterates.
pub struct TablesPlayer {
    learner: CurvesAndTables,
    map: TableMap,
    /// How many instances came before.
    instances: u32,
    /// Memory of the last release.
    room: Vec<f64>,
}

/// Curves and tables in progress.
pub type TablesRun = Run<TablesPlayer>;

impl Player for TablesPlayer {
    type Recipe = TablesRecipe;
    type Mechanism = Sum<Transcript>;
    type Output = Vec<f64>;

    fn name(_: &TablesRecipe) -> RecipeName {
        RecipeName::Tables
    }

    fn description(recipe: &TablesRecipe) -> String {
        recipe.description()
    }

    fn plan(recipe: &TablesRecipe) -> Result<SumPlan, RunError> {
        Ok(recipe.plan().clone())
    }

    fn given(_: &TablesRecipe) -> Result<(), RunError> {
        Ok(())
    }

    fn rounds(recipe: &TablesRecipe) -> u64 {
        recipe.rounds()
    }

    fn stated(recipe: &TablesRecipe) -> Option<u64> {
        Some(recipe.request().rounds)
    }

    fn batch(recipe: &TablesRecipe) -> u64 {
        recipe.batch()
    }

    fn most_items(recipe: &TablesRecipe) -> u64 {
        recipe.plan().most_releases()
    }

    fn begin(
        recipe: &TablesRecipe,
        sum: &mut Private<Sum<Transcript>>,
        _: &Key,
        from: Beginning<'_>,
    ) -> Result<Self, RunError> {
        let mut learner = recipe.learner()?;
        if let Some(note) = from.note {
            learner.restore(note.rounds, &note.state)?;
        }
        Ok(Self {
            learner,
            map: recipe.map().clone(),
            instances: sum.instances_before().0,
            room: Vec::new(),
        })
    }

    fn state(&self) -> (u64, Vec<f64>, [u8; 16]) {
        (self.learner.rounds(), self.learner.state(), [0; 16])
    }

    fn weights(&self) -> &[f64] {
        self.learner.published()
    }

    fn score(
        &self,
        _: &mut Private<Sum<Transcript>>,
        record: &Raw<Record>,
        board: &mut Scoreboard,
    ) {
        board.score_tables(record, &self.map, self.weights());
    }

    fn spare(sum: &mut Private<Sum<Transcript>>) -> Vec<f64> {
        sum.spare()
    }

    fn ask(
        &mut self,
        recipe: &TablesRecipe,
        sum: &mut Private<Sum<Transcript>>,
        person: Option<u64>,
        record: Raw<Record>,
        board: Option<&mut Scoreboard>,
    ) -> Result<Option<PendingOf<Sum<Transcript>>>, RunError> {
        if !self.room.is_empty() {
            sum.reuse(std::mem::take(&mut self.room));
        }
        let (response, question) = (recipe.request().response, self.learner.iterate());
        let board = board.map(|board| (board, self.learner.published()));
        Ok(sum.add_table(person, &self.map, response, question, record, board)?)
    }

    fn question(
        &self,
        recipe: &TablesRecipe,
        sum: &Private<Sum<Transcript>>,
        note: Vec<u8>,
    ) -> Result<Question, RunError> {
        let ask = Ask::Tables(&self.map, recipe.request().response, self.learner.iterate());
        Ok(sum.question(ask, note)?)
    }

    fn delivered(sum: &Private<Sum<Transcript>>) -> Option<(String, u64)> {
        let (source, batch) = sum.delivered()?;
        Some((source.to_owned(), batch))
    }

    fn would_take(
        _: &TablesRecipe,
        sum: &Private<Sum<Transcript>>,
        delivery: &Delivery,
    ) -> Result<bool, RunError> {
        Ok(sum.would_take(delivery)?)
    }

    fn commit(
        _: &TablesRecipe,
        sum: &mut Private<Sum<Transcript>>,
        question: &Question,
        delivery: &Delivery,
        partial: PartialSum,
    ) -> Result<Option<PendingOf<Sum<Transcript>>>, RunError> {
        Ok(match sum.commit(question, delivery, partial)? {
            Committed::Taken(release) => Some(release),
            Committed::Again(_) | Committed::Old => None,
        })
    }

    fn falls_short(&mut self, records: u64) {
        self.learner.falls_short(records as f64);
    }

    fn observe(&mut self, _: &TablesRecipe, prefix: Vec<f64>) -> Result<(), RunError> {
        self.learner.observe(&prefix)?;
        self.room = prefix;
        Ok(())
    }

    /// The learner's bound is for releases that share their noise; what is exact for coordinates
    /// that are always damped alike, and about right elsewhere, is smaller by one factor for all.
    /// What later records correct is not counted. Releases of a new instance also have the noise of
    /// those before. A row's hats have length 1 where there is an offset: so its variance, added to
    /// that of every coordinate, is that of every row.
    fn deviations(&self, recipe: &TablesRecipe) -> Vec<f64> {
        let (plan, shares) = (recipe.plan(), self.learner.shares());
        let deviations = (1..)
            .zip(&shares)
            .map(|(t, share)| share * plan.prefix_sd(t));
        let bound: f64 = deviations.sum();
        let factor = if bound > 0.0 {
            (plan.combined_sd(&shares) / bound).min(1.0)
        } else {
            0.0
        };
        let factor = factor * f64::from(self.instances + 1).sqrt();
        let deviations = self.learner.deviations().iter();
        let offset = self.learner.offset_noise().powi(2);
        let with_offset = |own: &f64| ((factor * own).powi(2) + offset).sqrt();
        deviations.map(with_offset).collect()
    }

    fn output(&self) -> Vec<f64> {
        self.learner.published().to_vec()
    }
}

impl TablesRun {
    /// Draws noise ahead of need.
    pub fn draw_ahead(&mut self) {
        self.mechanism.draw_ahead();
    }
}
