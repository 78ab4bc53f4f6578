//! One recipe on sums with everything that the wishes leave open.

use super::first_order::Strain;
use super::{Choice, Situation, Task, Wishes};
use crate::catalogue::RecipeName;
use crate::error::RecipeError;
use crate::linear::{OnSums, Recipe, RecipeRequest};
use hushstream_mechanism::sums::{Noise, SumKind};

/// Records per batch for an unknown horizon.
const UNKNOWN_BATCH: u64 = 64;

/// A recipe whose noise, sum and batch are chosen, and whose calibration is not.
pub(crate) struct Draft<'a> {
    pub(crate) situation: &'a Situation,
    pub(crate) wishes: &'a Wishes,
    recipe: RecipeName,
    noise: Noise,
    sum: Option<SumKind>,
    batch: u64,
    reasons: Vec<String>,
}

impl Situation {
    pub(super) fn chosen(
        &self,
        recipe: RecipeName,
        wishes: &Wishes,
        reasons: Vec<String>,
    ) -> Result<Choice, RecipeError> {
        let recipe = wishes.recipe.unwrap_or(recipe);
        wishes.check(recipe)?;
        let Some(rules) = recipe.on_sums() else {
            return Err(RecipeError::not_on_sums(recipe));
        };
        let mut draft = Draft {
            situation: self,
            wishes,
            recipe,
            noise: wishes.noise.unwrap_or_else(|| {
                if self.budget.is_pure() {
                    rules.pure_noise()
                } else {
                    Noise::Gaussian
                }
            }),
            sum: wishes.sum,
            batch: 1,
            reasons,
        };
        draft.choose_sum();
        draft.choose_batch(rules);
        rules.choose(draft)
    }
}

impl Draft<'_> {
    /// Adds a reason, for people.
    pub(crate) fn because(&mut self, reason: String) {
        self.reasons.push(reason);
    }

    fn choose_sum(&mut self) {
        if self.sum.is_some() {
            return;
        }
        let (sum, reason) = if self.situation.horizon_unknown {
            (
                SumKind::Octave,
                "sum octave, because the horizon is unknown",
            )
        } else if self.wishes.recipe.is_some() {
            return; // a recipe that was named keeps its paper's sum
        } else if self.noise == Noise::Gaussian {
            (
                SumKind::BLT,
                "sum blt, because it has the least noise at a known horizon",
            )
        } else {
            (
                SumKind::Smooth,
                "sum smooth, because it has the least noise without δ",
            )
        };
        self.sum = Some(sum);
        self.because(reason.to_owned());
    }

    fn choose_batch(&mut self, rules: &dyn OnSums) {
        let pieces = rules
            .pieces(self.noise)
            .filter(|_| !matches!(self.situation.task, Task::Experts(..)));
        self.batch = match (self.wishes.batch, pieces) {
            (Some(batch), _) => batch,
            // The others release after every record, as their papers do; windows are counted in
            // batches.
            (None, None) => 1,
            (None, Some(_)) if self.situation.horizon_unknown => {
                self.because(format!(
                    "batches of {UNKNOWN_BATCH}, so that a stream that turns out short has \
                     releases too"
                ));
                UNKNOWN_BATCH
            }
            (None, Some(pieces)) => {
                let batch = (self.situation.rounds / pieces).max(1);
                self.because(format!(
                    "batches of {batch}, about {pieces} releases: a sum's noise grows with their \
                     number"
                ));
                batch
            }
        };
    }

    /// The stated radius, or the usual one.
    pub(crate) fn radius(&self) -> f64 {
        let usual = || self.situation.default_radius();
        self.wishes.radius.unwrap_or_else(usual)
    }

    /// How far the weights of a classifier should reach, if no radius was stated.
    pub(crate) fn radius_of_a_classifier(&self, planned: &Recipe) -> Option<f64> {
        let is_classifier = matches!(self.situation.task, Task::Sign | Task::Classes(_));
        (is_classifier && self.wishes.radius.is_none()).then(|| {
            let dimension = self.situation.dimension() as f64;
            planned.strain().radius(dimension, self.situation.length)
        })
    }

    /// The request with this radius and, if none was stated, this curvature.
    pub(crate) fn request(
        &self,
        radius: f64,
        curvature: Option<f64>,
    ) -> Result<RecipeRequest, RecipeError> {
        let (situation, wishes) = (self.situation, self.wishes);
        Ok(RecipeRequest {
            recipe: self.recipe,
            objective: situation.objective(self.recipe, wishes, radius)?,
            set: situation.set(wishes, radius)?,
            rounds: situation.rounds,
            batch: self.batch,
            budget: situation.budget,
            adjacency: situation.adjacency,
            participation: situation.participation,
            sum: self.sum,
            noise: Some(self.noise),
            window: wishes.window,
            curvature: wishes.curvature.or(curvature),
            learning_rate: wishes.learning_rate,
            tuned: wishes.recipe.is_none(),
        })
    }

    /// The choice, with its reasons.
    pub(crate) fn choice(self, recipe: Recipe, rows_until_signal: f64) -> Choice {
        Choice {
            recipe,
            reasons: self.reasons,
            rows_until_signal,
        }
    }
}

impl Recipe {
    /// Noise against what a record can do.
    pub(crate) fn strain(&self) -> Strain {
        let request = self.plan().request();
        Strain {
            noise: self.plan().prefix_sd_max() * f64::from(request.dimension).sqrt(),
            lipschitz: self.loss().map_or(request.bound, |loss| loss.lipschitz()),
            records: self.request().rounds as f64,
        }
    }
}
