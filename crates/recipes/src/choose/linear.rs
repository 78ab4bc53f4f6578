//! One recipe with everything that the wishes leave open.

use super::first_order::Strain;
use super::{Choice, Situation, Task, Wishes};
use crate::catalogue::RecipeName;
use crate::error::RecipeError;
use crate::linear::{Recipe, RecipeRequest};
use hushstream_mechanism::sums::{Noise, SumKind};

/// Records per batch for an unknown horizon.
const UNKNOWN_BATCH: u64 = 64;

impl Situation {
    pub(super) fn chosen(
        &self,
        recipe: RecipeName,
        wishes: &Wishes,
        mut reasons: Vec<String>,
    ) -> Result<Choice, RecipeError> {
        let recipe = wishes.recipe.unwrap_or(recipe);
        wishes.check(recipe)?;
        let automatic = wishes.recipe.is_none();
        let noise = wishes.noise.unwrap_or(if !self.budget.is_pure() {
            Noise::Gaussian
        } else if recipe == RecipeName::Ftrl {
            Noise::Laplace
        } else {
            Noise::L2Laplace
        });
        let sum = self.sum(wishes, automatic, noise, &mut reasons);
        let batch = self.batch(recipe, wishes, noise, &mut reasons);
        let request = |radius: f64, curvature: Option<f64>| -> Result<RecipeRequest, RecipeError> {
            Ok(RecipeRequest {
                recipe,
                objective: self.objective(recipe, wishes, radius)?,
                set: self.set(wishes, radius)?,
                rounds: self.rounds,
                batch,
                budget: self.budget,
                adjacency: self.adjacency,
                participation: self.participation,
                sum,
                noise: Some(noise),
                window: wishes.window,
                curvature: wishes.curvature.or(curvature),
                learning_rate: wishes.learning_rate,
                tuned: automatic,
            })
        };
        let radius = wishes.radius.unwrap_or_else(|| self.default_radius());
        let small_ridge = 1e-4 * self.length * self.length;
        let planned = match recipe {
            RecipeName::Pqftl => request(radius, Some(small_ridge))?.plan()?,
            _ => request(radius, None)?.plan()?,
        };
        match recipe {
            RecipeName::Pqftl => self.with_a_ridge(planned, wishes, reasons),
            RecipeName::PftalConvex => self.freed(&planned, wishes, request, reasons),
            _ => {
                let strain = strain(&planned);
                Ok(Choice {
                    rows_until_signal: strain.noise / strain.lipschitz,
                    recipe: planned,
                    reasons,
                })
            }
        }
    }

    fn sum(
        &self,
        wishes: &Wishes,
        automatic: bool,
        noise: Noise,
        reasons: &mut Vec<String>,
    ) -> Option<SumKind> {
        let (sum, reason) = match wishes.sum {
            Some(sum) => return Some(sum),
            None if self.horizon_unknown => (
                SumKind::Octave,
                "sum octave, because the horizon is unknown",
            ),
            // A recipe that was named keeps its paper's sum.
            None if !automatic => return None,
            None if noise == Noise::Gaussian => (
                SumKind::BLT,
                "sum blt, because it has the least noise at a known horizon",
            ),
            None => (
                SumKind::Smooth,
                "sum smooth, because it has the least noise without δ",
            ),
        };
        reasons.push(reason.to_owned());
        Some(sum)
    }

    fn batch(
        &self,
        recipe: RecipeName,
        wishes: &Wishes,
        noise: Noise,
        reasons: &mut Vec<String>,
    ) -> u64 {
        // The others release after every record, as their papers do; windows are counted in
        // batches.
        let is_batched = matches!(recipe, RecipeName::Pqftl | RecipeName::PftalConvex);
        if wishes.batch.is_some() || !is_batched || matches!(self.task, Task::Experts(..)) {
            return wishes.batch.unwrap_or(1);
        }
        if self.horizon_unknown {
            reasons.push(format!(
                "batches of {UNKNOWN_BATCH}, so that a stream that turns out short has releases too"
            ));
            return UNKNOWN_BATCH;
        }
        let pieces = match (noise, recipe) {
            (Noise::Gaussian, RecipeName::Pqftl) => 256,
            (Noise::Gaussian, _) => 1024,
            _ => 64,
        };
        let batch = (self.rounds / pieces).max(1);
        reasons.push(format!(
            "batches of {batch}, about {pieces} releases: a sum's noise grows with their number"
        ));
        batch
    }

    /// Least squares: a ridge against the noise of the matrix.
    fn with_a_ridge(
        &self,
        planned: Recipe,
        wishes: &Wishes,
        mut reasons: Vec<String>,
    ) -> Result<Choice, RecipeError> {
        let noise = planned.matrix_noise().unwrap_or(0.0);
        let ridge = wishes.ridge.unwrap_or_else(|| {
            let ridge = noise / (2.0 * std::f64::consts::SQRT_2);
            reasons.push(format!(
                "ridge {ridge:.4}, half the noise of a row of the matrix: smaller \
                eigenvalues are noise"
            ));
            ridge
        });
        Ok(Choice {
            recipe: planned.with_ridge(ridge)?,
            reasons,
            rows_until_signal: noise * self.features as f64 / self.length.powi(2),
        })
    }

    /// Dual averaging, with the radius and the curvature of [`first_order`] where none are stated.
    fn freed(
        &self,
        planned: &Recipe,
        wishes: &Wishes,
        request: impl Fn(f64, Option<f64>) -> Result<RecipeRequest, RecipeError>,
        mut reasons: Vec<String>,
    ) -> Result<Choice, RecipeError> {
        let is_classifier = matches!(self.task, Task::Sign | Task::Classes(_));
        let radius = match wishes.radius {
            Some(radius) => radius,
            // What a classifier's record can change does not depend on the radius, so the first
            // plan's noise stands.
            None if is_classifier => {
                let radius = strain(planned).radius(self.dimension() as f64, self.length);
                reasons.push(format!(
                    "radius {radius:.3}, as far as scores need and noise allows"
                ));
                radius
            }
            None => self.default_radius(),
        };
        let draft = request(radius, None)?.plan()?;
        let strain = strain(&draft);
        let radius_of_set = draft.request().set.outer_radius();
        let curvature = strain.curvature(radius_of_set);
        let batch = draft.request().batch as f64;
        let recipe = if wishes.curvature.is_some() {
            draft
        } else {
            reasons.push(format!(
                "curvature {:.3e} a record: less would follow the noise, more \
                would hold the weights back",
                curvature
            ));
            request(radius, Some(curvature * batch))?.plan()?
        };
        Ok(Choice {
            rows_until_signal: strain
                .records_until_signal(radius_of_set, recipe.curvature() / batch),
            recipe,
            reasons,
        })
    }
}

/// Noise against what a record can do, of a planned recipe.
fn strain(recipe: &Recipe) -> Strain {
    let request = recipe.plan().request();
    Strain {
        noise: recipe.plan().prefix_sd_max() * f64::from(request.dimension).sqrt(),
        lipschitz: recipe.loss().map_or(request.bound, |loss| loss.lipschitz()),
        records: recipe.request().rounds as f64,
    }
}
