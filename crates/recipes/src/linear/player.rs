//! A learner on a private sum.

use super::recipe::{Ask, Recipe};
use crate::catalogue::RecipeName;
use crate::error::RunError;
use crate::run::{Asked, Beginning, Player, Run};
use hushstream_learn::Learner;
use hushstream_mechanism::losses::{Record, Records, evaluate};
use hushstream_mechanism::sums::{self, Committed, Delivery, PartialSum, Question, Sum, SumPlan};
use hushstream_mechanism::{GuaranteeKind, OperatorOnly, PendingOf, Private, Raw, Scoreboard};
use hushstream_noise::Key;
use std::marker::PhantomData;
use std::ops::Range;

/// Asks records at the learner's iterate, and publishes iterates.
pub struct SumPlayer<G> {
    learner: Box<dyn Learner>,
    /// Records that items lack, against full ones.
    shortfall: u64,
    kind: PhantomData<fn() -> G>,
}

/// A recipe on a sum in progress.
pub type SumRun<G> = Run<SumPlayer<G>>;

impl<G: GuaranteeKind> Player for SumPlayer<G> {
    type Recipe = Recipe;
    type Mechanism = Sum<G>;
    type Output = Vec<f64>;

    fn name(recipe: &Recipe) -> RecipeName {
        recipe.request().recipe
    }

    fn description(recipe: &Recipe) -> String {
        recipe.description()
    }

    fn plan(recipe: &Recipe) -> Result<SumPlan, RunError> {
        Ok(recipe.plan().clone())
    }

    fn given(_: &Recipe) -> Result<(), RunError> {
        Ok(())
    }

    fn rounds(recipe: &Recipe) -> u64 {
        recipe.rounds()
    }

    fn stated(recipe: &Recipe) -> Option<u64> {
        Some(recipe.request().rounds)
    }

    fn batch(recipe: &Recipe) -> u64 {
        recipe.request().batch
    }

    fn most_items(recipe: &Recipe) -> u64 {
        recipe.plan().most_releases()
    }

    fn begin(
        recipe: &Recipe,
        sum: &mut Private<Sum<G>>,
        _: &Key,
        from: Beginning<'_>,
    ) -> Result<Self, RunError> {
        let mut learner = recipe.learner()?;
        match from.note {
            Some(note) => learner.restore(note.rounds, &note.state)?,
            None if recipe.rules.starts_from_noise() => {
                if let Some(noise) = sum.before_the_first() {
                    learner.observe_initial(noise.value())?;
                }
            }
            None => {}
        }
        Ok(Self {
            learner,
            shortfall: 0,
            kind: PhantomData,
        })
    }

    fn state(&self) -> (u64, Vec<f64>, [u8; 16]) {
        (self.learner.rounds(), self.learner.state(), [0; 16])
    }

    fn weights(&self) -> &[f64] {
        self.learner.iterate()
    }

    fn spare(sum: &mut Private<Sum<G>>) -> Vec<f64> {
        sum.spare()
    }

    fn ask(
        &mut self,
        recipe: &Recipe,
        sum: &mut Private<Sum<G>>,
        person: Option<u64>,
        record: Raw<Record>,
        board: Option<&mut Scoreboard>,
    ) -> Result<Option<PendingOf<Sum<G>>>, RunError> {
        Ok(match recipe.ask() {
            Ask::Gradient(loss) => {
                let weights = self.weights();
                sum.add_scored_gradient(person, loss.as_ref(), weights, record, board)?
            }
            Ask::Moments(moments) => {
                if let Some(board) = board {
                    board.score(&record, self.weights());
                }
                sum.add_moments(person, moments, record)?
            }
        })
    }

    fn ask_some(
        &mut self,
        recipe: &Recipe,
        sum: &mut Private<Sum<G>>,
        (records, range): (&Raw<Records>, Range<usize>),
        board: Option<&mut Scoreboard>,
    ) -> Result<Asked<Sum<G>>, RunError> {
        if let Ask::Gradient(loss) = recipe.ask()
            && let Some(model) = loss.model()
            && board.as_ref().is_none_or(|board| board.is_of_scores())
        {
            let weights = self.weights();
            return Ok(sum.add_scored_gradients(model, weights, (records, range), board)?);
        }
        let record = records.record(range.start, Self::spare(sum));
        Ok((1, self.ask(recipe, sum, None, record, board)?))
    }

    fn question(
        &self,
        recipe: &Recipe,
        sum: &Private<Sum<G>>,
        note: Vec<u8>,
    ) -> Result<Question, RunError> {
        let ask = match recipe.ask() {
            Ask::Gradient(loss) => sums::Ask::Gradient(loss.as_ref(), self.weights()),
            Ask::Moments(moments) => sums::Ask::Moments(moments),
        };
        Ok(sum.question(ask, note)?)
    }

    fn delivered(sum: &Private<Sum<G>>) -> Option<(String, u64)> {
        let (source, batch) = sum.delivered()?;
        Some((source.to_owned(), batch))
    }

    fn would_take(
        _: &Recipe,
        sum: &Private<Sum<G>>,
        delivery: &Delivery,
    ) -> Result<bool, RunError> {
        Ok(sum.would_take(delivery)?)
    }

    fn commit(
        _: &Recipe,
        sum: &mut Private<Sum<G>>,
        question: &Question,
        delivery: &Delivery,
        partial: PartialSum,
    ) -> Result<Option<PendingOf<Sum<G>>>, RunError> {
        Ok(match sum.commit(question, delivery, partial)? {
            Committed::Taken(release) => Some(release),
            Committed::Again(_) | Committed::Old => None,
        })
    }

    fn falls_short(&mut self, records: u64) {
        self.shortfall = records;
    }

    fn observe(&mut self, recipe: &Recipe, mut prefix: Vec<f64>) -> Result<(), RunError> {
        // Items that a new instance has lost are in no sum: what counts is what the learner has
        // seen. An item that a clock has closed counts for the records it has.
        let items = (self.learner.rounds() + 1) as f64;
        let missing = self.shortfall as f64 / recipe.request().batch as f64;
        let offset = (items - missing) * recipe.offset();
        if offset.abs() > 0.0 {
            prefix.iter_mut().for_each(|sum| *sum += offset);
        }
        Ok(self.learner.observe(&prefix)?)
    }

    fn output(&self) -> Vec<f64> {
        self.learner.iterate().to_vec()
    }
}

impl<G: GuaranteeKind> SumRun<G> {
    /// From now on a batch closes by [`SumRun::close_item`] alone; its planned size is the most
    /// records that it may hold.
    pub fn close_by_clock(&mut self) {
        self.mechanism.close_by_clock();
    }

    /// Closes the batch with the records it has, possibly none, and moves on its release. When it
    /// closes may depend on arrivals and on the clock, never on what a record holds.
    ///
    /// # Errors
    /// More batches than planned; those of the mechanism.
    pub fn close_item(&mut self) -> Result<(), RunError> {
        if self.is_behind {
            return Err(RunError::Behind);
        }
        if self.mechanism.checkpoint_is_due() {
            self.checkpoint()?;
        }
        match self.mechanism.close_item()? {
            Some(release) => self.observe_now(release),
            None => Ok(()),
        }
    }

    /// Draws noise ahead of need.
    pub fn draw_ahead(&mut self) {
        self.mechanism.draw_ahead();
    }

    /// The loss of a record at the present iterate: computed from private data.
    #[must_use]
    pub fn loss(&self, record: &Raw<Record>) -> Option<OperatorOnly<f64>> {
        let loss = self.recipe.loss()?;
        Some(evaluate(loss, record, self.player.weights()))
    }
}
