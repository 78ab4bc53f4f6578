//! A follower of one expert at a time.

use super::recipe::{Advice, ExpertsRecipe};
use crate::catalogue::RecipeName;
use crate::error::{RecipeError, RunError};
use crate::run::{Beginning, Player, Run};
use hushstream_mechanism::losses::Record;
use hushstream_mechanism::select::{Choice, SelectPlan};
use hushstream_mechanism::{OperatorOnly, PendingOf, Private, Raw, Scoreboard};
use hushstream_noise::Key;

/// Follows the selected expert, or the selected point of a net.
pub struct ExpertsPlayer {
    expert: usize,
    /// The followed expert as weights, all on one; the point of a net.
    weights: Vec<f64>,
}

/// A recipe for experts in progress.
pub type ExpertsRun = Run<ExpertsPlayer>;

impl ExpertsPlayer {
    fn follow(&mut self, recipe: &ExpertsRecipe, expert: usize) {
        self.expert = expert;
        match (&recipe.request.advice, recipe.points.get(expert)) {
            (Advice::Experts(experts), _) => {
                self.weights.clear();
                self.weights.resize(*experts as usize, 0.0);
                if let Some(weight) = self.weights.get_mut(expert) {
                    *weight = 1.0;
                }
            }
            (Advice::Net { .. }, point) => {
                self.weights = point.cloned().unwrap_or_default();
            }
        }
    }
}

impl Player for ExpertsPlayer {
    type Recipe = ExpertsRecipe;
    type Mechanism = Choice;
    type Output = u32;

    fn name(recipe: &ExpertsRecipe) -> RecipeName {
        recipe.request.recipe
    }

    fn description(recipe: &ExpertsRecipe) -> String {
        recipe.description()
    }

    fn plan(recipe: &ExpertsRecipe) -> Result<SelectPlan, RunError> {
        Ok(recipe.plan.clone())
    }

    fn given(_: &ExpertsRecipe) -> Result<(), RunError> {
        Ok(())
    }

    fn rounds(recipe: &ExpertsRecipe) -> u64 {
        recipe.rounds()
    }

    fn batch(recipe: &ExpertsRecipe) -> u64 {
        recipe.plan.batch()
    }

    fn most_items(recipe: &ExpertsRecipe) -> u64 {
        recipe.plan.most_items()
    }

    /// The mechanism holds the learned state; a new instance begins empty.
    fn begin(
        recipe: &ExpertsRecipe,
        selection: &mut Private<Choice>,
        _: &Key,
        _: Beginning<'_>,
    ) -> Result<Self, RunError> {
        if !recipe.points.is_empty() {
            // Losses on a net are relative to the least of them, and at most L times the diameter.
            selection.losses_between(0.0, recipe.range)?;
        }
        let mut player = Self {
            expert: 0,
            weights: Vec::new(),
        };
        player.follow(recipe, selection.question() as usize);
        Ok(player)
    }

    fn weights(&self) -> &[f64] {
        &self.weights
    }

    fn ask(
        &mut self,
        recipe: &ExpertsRecipe,
        selection: &mut Private<Choice>,
        person: Option<u64>,
        record: Raw<Record>,
        board: Option<&mut Scoreboard>,
    ) -> Result<Option<PendingOf<Choice>>, RunError> {
        if let Some(board) = board {
            board.score(&record, &self.weights);
        }
        Ok(match &recipe.request.advice {
            Advice::Experts(_) => selection.add(person, record.into_losses())?,
            Advice::Net { loss, .. } => {
                let (loss, points) = (loss.as_ref(), &recipe.points);
                selection.add_record(person, loss, points, recipe.range, record)?
            }
        })
    }

    fn observe(&mut self, recipe: &ExpertsRecipe, expert: u32) -> Result<(), RunError> {
        if self.expert != expert as usize {
            self.follow(recipe, expert as usize);
        }
        Ok(())
    }

    fn output(&self) -> u32 {
        self.expert as u32
    }
}

impl ExpertsRun {
    /// From now on losses come between these bounds and not between 0 and 1.
    ///
    /// # Errors
    /// Bounds that are not finite, the smaller first; a recipe that plays on a net, which has
    /// bounds of its own.
    pub fn losses_between(&mut self, low: f64, high: f64) -> Result<(), RunError> {
        if !self.recipe.points.is_empty() {
            return Err(unfit(
                "cover: the loss and its net have bounds of their own",
            ));
        }
        Ok(self.mechanism.losses_between(low, high)?)
    }

    /// The expert whose loss the next record decides. It may be ahead of what is durable.
    #[must_use]
    pub fn expert(&self) -> OperatorOnly<usize> {
        OperatorOnly::new(self.player.expert)
    }

    /// Plays one round with the losses of all experts. `person` as in [`Run::learn`].
    ///
    /// # Errors
    /// [`RunError::Finished`] after the last round; a recipe that plays on a net; those of the
    /// mechanism.
    pub fn learn_losses(
        &mut self,
        person: Option<u64>,
        losses: Raw<Vec<f64>>,
    ) -> Result<(), RunError> {
        if !self.recipe.points.is_empty() {
            return Err(unfit("cover learns from records: use learn"));
        }
        self.round(|_, _, selection| Ok(selection.add(person, losses)?))
    }
}

fn unfit(why: &str) -> RunError {
    RecipeError::Unfit(why.to_owned()).into()
}
