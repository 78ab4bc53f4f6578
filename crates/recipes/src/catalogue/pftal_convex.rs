//! `pftal-convex`: dual averaging, on any convex loss.

use super::{Entry, GRADIENTS, MechanismKind, RecipeName, Rules};
use crate::choose::{Choice, Draft};
use crate::error::RecipeError;
use crate::linear::{Item, OnSums, Recipe, RegretBound};
use hushstream_learn::{DualAveraging, Learner};
use hushstream_mechanism::sums::{Noise, SumKind};

pub(super) const ENTRY: Entry = Entry {
    recipe: RecipeName::PftalConvex,
    name: "pftal-convex",
    source: "ST13 Algorithm 1 on regularised losses (section 2.1.1 and appendix C)",
    errata: &["S1", "S2", "S3"],
    guarantee: "transcript",
    when: "convex losses of a linear model: the general-purpose learner; on BLT sums it is \
        DP-FTRL",
    mechanism: MechanismKind::Sum(SumKind::Tree),
    printed: "O(sqrt(p log^2.5 T * T / eps) (L + ...))",
    holds: "about |C| sqrt(L (L+N) (1+ln T) T), N the length of a release's noise",
    hears: GRADIENTS,
    rules: Rules::Sum(&PftalConvex),
};

#[derive(Debug)]
struct PftalConvex;

fn learner(recipe: &Recipe) -> Result<DualAveraging, RecipeError> {
    let set = recipe.request.set.clone();
    Ok(DualAveraging::new(set, recipe.curvature)?)
}

impl OnSums for PftalConvex {
    fn noise_length(&self, recipe: &Recipe) -> Option<f64> {
        Some(recipe.mean_noise())
    }

    fn curvature(&self, recipe: &Recipe) -> Result<f64, RecipeError> {
        Ok(DualAveraging::suggested_h(
            recipe.request.set.diameter(),
            recipe.gradient()?.lipschitz() * recipe.request.batch as f64,
            recipe.mean_noise(),
            recipe.items(),
        )?)
    }

    fn learner(&self, recipe: &Recipe) -> Result<Box<dyn Learner>, RecipeError> {
        Ok(Box::new(learner(recipe)?))
    }

    fn bound(&self, recipe: &Recipe, item: &Item) -> Result<RegretBound, String> {
        let learner = learner(recipe).map_err(|error| error.to_string())?;
        Ok(RegretBound::expected(
            learner.regret_bound(item.slope, recipe.mean_error(), item.horizon),
            "ST13 Theorem 11 with errata S1, S3: (1 + ln T)((L + H r)^2/2 + L N)/H + H T r^2/2",
        ))
    }

    fn pieces(&self, noise: Noise) -> Option<u64> {
        Some(if noise == Noise::Gaussian { 1024 } else { 64 })
    }

    /// The radius and the curvature of `choose::first_order`, where none are stated.
    fn choose(&self, mut draft: Draft<'_>) -> Result<Choice, RecipeError> {
        let wishes = draft.wishes;
        let mut radius = draft.radius();
        let mut planned = draft.request(radius, None)?.plan()?;
        // What a classifier's record can change does not depend on the radius, so the first plan's
        // noise stands.
        if let Some(chosen) = draft.radius_of_a_classifier(&planned) {
            draft.because(format!(
                "radius {chosen:.3}, as far as scores need and noise allows"
            ));
            radius = chosen;
            planned = draft.request(radius, None)?.plan()?;
        }
        let strain = planned.strain();
        let radius_of_set = planned.request.set.outer_radius();
        let curvature = strain.curvature(radius_of_set);
        let batch = planned.request.batch as f64;
        if wishes.curvature.is_none() {
            draft.because(format!(
                "curvature {curvature:.3e} a record: less would follow the noise, more would hold \
                 the weights back"
            ));
            planned = draft.request(radius, Some(curvature * batch))?.plan()?;
        }
        let records = strain.records_until_signal(radius_of_set, planned.curvature() / batch);
        Ok(draft.choice(planned, records))
    }
}
