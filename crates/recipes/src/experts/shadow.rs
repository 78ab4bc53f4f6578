//! Expert advice without privacy beside a run: for the operator only.
//!
//! Multiplicative weights on the exact losses, with the rate √(8 ln d/T) for T rounds of losses in
//! a range of 1: regret at most √(T ln d/2) of it. For an unknown horizon the rate of the next
//! power of two is taken in every octave.

use super::recipe::{Advice, ExpertsRecipe};
use crate::baseline::Baseline;
use crate::error::{RecipeError, RunError};
use hushstream_mechanism::losses::Record;
use hushstream_mechanism::{ExactSum, Raw, Scoreboard};

/// Multiplicative weights on exact losses.
pub struct ExpertsShadow {
    sum: ExactSum,
    weights: Vec<f64>,
    /// What losses are divided by.
    width: f64,
    /// T, if it is known.
    planned: Option<u64>,
    rounds: u64,
}

impl ExpertsShadow {
    /// The shadow of a recipe whose losses lie in a range of this width.
    ///
    /// # Errors
    /// A recipe that plays on a net.
    pub fn new(recipe: &ExpertsRecipe, width: f64) -> Result<Self, RecipeError> {
        let Advice::Experts(experts) = recipe.request.advice else {
            return Err(RecipeError::Unfit("there are no experts".into()));
        };
        let experts = experts as usize;
        Ok(Self {
            sum: ExactSum::new(experts),
            weights: vec![1.0 / experts.max(1) as f64; experts],
            width,
            planned: recipe.request.rounds,
            rounds: 0,
        })
    }

    /// How much each expert is followed: computed from private data.
    #[must_use]
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }
}

impl Baseline for ExpertsShadow {
    fn score(&self, record: &Raw<Record>, board: &mut Scoreboard) {
        board.score(record, self.weights());
    }

    fn learn(&mut self, record: &Raw<Record>) -> Result<(), RunError> {
        self.sum.add_losses(record);
        self.rounds += 1;
        let rounds = self.planned.unwrap_or(self.rounds.next_power_of_two());
        let experts = self.weights.len().max(2) as f64;
        let rate = (8.0 * experts.ln() / rounds.max(1) as f64).sqrt() / self.width;
        let total = self.sum.total();
        let total = total.for_the_operator();
        let least = total.iter().copied().fold(f64::INFINITY, f64::min);
        for (weight, loss) in self.weights.iter_mut().zip(*total) {
            *weight = (-rate * (loss - least)).exp();
        }
        let all: f64 = self.weights.iter().sum();
        self.weights.iter_mut().for_each(|weight| *weight /= all);
        Ok(())
    }
}
