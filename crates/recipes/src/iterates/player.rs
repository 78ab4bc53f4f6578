//! A follower of perturbed iterates.
//!
//! Each round gives one record to the secret learner. The noisy iterate that comes out, projected
//! onto the set, is what is published and what the next record is evaluated at. The model is the
//! mean of the releases after half of the planned records: releases are points of a convex set,
//! each an iterate with fresh noise, and iterates move less and less, so a mean of n late ones has
//! noise smaller by √n, stays in the set, and is a function of releases alone.

use super::recipe::IterateRecipe;
use crate::catalogue::RecipeName;
use crate::error::RunError;
use crate::note::NoteError;
use crate::run::{Beginning, Player, Run};
use hushstream_mechanism::losses::{Record, evaluate};
use hushstream_mechanism::perturb::{PerturbPlan, Perturbed, Timing};
use hushstream_mechanism::{OperatorOnly, PendingOf, Private, Raw, Scoreboard, Transcript};
use hushstream_noise::Key;

/// Follows the releases, and keeps the mean of the later half of them.
pub struct IteratePlayer {
    /// The last release, or the public start.
    point: Vec<f64>,
    /// Releases that do not count in the mean; nothing if there is no mean.
    skipped: Option<u64>,
    /// Releases so far, and the sum of those that count.
    seen: u64,
    total: Vec<f64>,
}

/// A recipe on perturbed iterates in progress.
pub type IterateRun = Run<IteratePlayer>;

impl IteratePlayer {
    /// The number of averaged releases, and their mean.
    fn mean(&self) -> Option<(u64, Vec<f64>)> {
        let count = self.seen.saturating_sub(self.skipped?);
        let mean = |total: &f64| total / count as f64;
        (count > 0).then(|| (count, self.total.iter().map(mean).collect()))
    }
}

impl Player for IteratePlayer {
    type Recipe = IterateRecipe;
    type Mechanism = Perturbed<Transcript>;
    type Output = Vec<f64>;

    fn name(recipe: &IterateRecipe) -> RecipeName {
        recipe.request().recipe
    }

    fn description(recipe: &IterateRecipe) -> String {
        recipe.description()
    }

    fn plan(recipe: &IterateRecipe) -> Result<PerturbPlan, RunError> {
        Ok(recipe.plan().clone())
    }

    fn given(recipe: &IterateRecipe) -> Result<PerturbPlan, RunError> {
        Self::plan(recipe)
    }

    fn rounds(recipe: &IterateRecipe) -> u64 {
        recipe.rounds()
    }

    fn stated(recipe: &IterateRecipe) -> Option<u64> {
        Some(recipe.request().rounds)
    }

    fn most_items(recipe: &IterateRecipe) -> u64 {
        recipe.plan().most_steps()
    }

    /// A new instance begins at the public start.
    fn begin(
        recipe: &IterateRecipe,
        _: &mut Private<Perturbed<Transcript>>,
        _: &Key,
        from: Beginning<'_>,
    ) -> Result<Self, RunError> {
        let set = &recipe.request().set;
        let mut point = vec![0.0; set.dimension()];
        // The length is the set's own.
        let _ = set.centre(&mut point);
        let mut player = Self {
            skipped: match recipe.plan().request().timing {
                Timing::Every(releases) => Some(releases / 2),
                Timing::Unknown | Timing::Last(_) => None,
            },
            seen: 0,
            total: vec![0.0; point.len()],
            point,
        };
        if let Some(note) = from.note.filter(|_| !from.is_new) {
            let (point, total) = note
                .state
                .split_at_checked(player.point.len())
                .filter(|(_, total)| total.len() == player.total.len())
                .ok_or(NoteError::Unreadable)?;
            player.point.copy_from_slice(point);
            player.total.copy_from_slice(total);
            player.seen = note.rounds;
        }
        Ok(player)
    }

    fn state(&self) -> (u64, Vec<f64>, [u8; 16]) {
        let state = [self.point.as_slice(), &self.total].concat();
        (self.seen, state, [0; 16])
    }

    fn weights(&self) -> &[f64] {
        &self.point
    }

    fn ask(
        &mut self,
        _: &IterateRecipe,
        iterates: &mut Private<Perturbed<Transcript>>,
        person: Option<u64>,
        record: Raw<Record>,
        board: Option<&mut Scoreboard>,
    ) -> Result<Option<PendingOf<Perturbed<Transcript>>>, RunError> {
        if let Some(board) = board {
            board.score(&record, &self.point);
        }
        Ok(iterates.add(person, record)?)
    }

    fn observe(&mut self, recipe: &IterateRecipe, mut point: Vec<f64>) -> Result<(), RunError> {
        // A set that cannot project leaves releases as they are; those that serve a loss all can.
        let _ = recipe.request().set.project(&mut point);
        self.seen += 1;
        if self.skipped.is_some_and(|skipped| self.seen > skipped) {
            for (total, value) in self.total.iter_mut().zip(&point) {
                *total += value;
            }
        }
        self.point = point;
        Ok(())
    }

    fn output(&self) -> Vec<f64> {
        self.point.clone()
    }

    fn model(&self) -> Vec<f64> {
        self.mean()
            .map_or_else(|| self.point.clone(), |(_, mean)| mean)
    }
}

impl IterateRun {
    /// The mean of the releases after half of the planned records, and how many they are: nothing
    /// before the first of them, and where the horizon is not known or one model is all that is
    /// released. It may be ahead of what is durable.
    #[must_use]
    pub fn mean(&self) -> Option<OperatorOnly<(u64, Vec<f64>)>> {
        self.player.mean().map(OperatorOnly::new)
    }

    /// The loss of a record at the present release: computed from private data.
    #[must_use]
    pub fn loss(&self, record: &Raw<Record>) -> Option<OperatorOnly<f64>> {
        let loss = self.recipe.loss()?;
        Some(evaluate(loss, record, &self.player.point))
    }
}
