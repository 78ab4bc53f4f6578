//! `pqftl`: least squares on the running second moments.

use super::{Entry, MechanismKind, RecipeName, Rules, Wish};
use crate::choose::{Choice, Draft};
use crate::error::RecipeError;
use crate::linear::{Item, LearnsFrom, OnSums, Recipe, RegretBound};
use hushstream_learn::{Learner, LeastSquares};
use hushstream_mechanism::sums::{Noise, SumKind};

pub(super) const ENTRY: Entry = Entry {
    recipe: RecipeName::Pqftl,
    name: "pqftl",
    source: "JKT12 Algorithm 4",
    errata: &["J1", "J2", "J3", "J5"],
    guarantee: "transcript",
    when: "least squares in few dimensions: second-order learning needs fewer rounds",
    mechanism: MechanismKind::Sum(SumKind::Tree),
    printed: "O~(R^6 log(1/delta) sqrt(d) log^1.5 T / (eps alpha^3))",
    holds: "polylogarithmic in T; noise of the second moments calibrated with R^2, symmetric, \
        eigenvalues clipped",
    hears: &[Wish::Sum, Wish::Noise, Wish::Curvature, Wish::Ridge],
    rules: Rules::Sum(&Pqftl),
};

#[derive(Debug)]
struct Pqftl;

/// An item of B records is one record with features and target √B times as long, and B times the
/// regularisation.
fn learner(recipe: &Recipe) -> Result<LeastSquares, RecipeError> {
    let moments = recipe.moments()?;
    let batch = recipe.request.batch as f64;
    let bounds = moments.bounds();
    let learner = LeastSquares::new(
        moments.features(),
        bounds.features() * batch.sqrt(),
        bounds.target_magnitude() * batch.sqrt(),
        recipe.curvature * batch,
    )?;
    let weight = moments.weight().squared().sqrt();
    let learner = learner.ridge(recipe.ridge)?.weighted(weight)?;
    Ok(learner.classes(moments.targets())?)
}

impl OnSums for Pqftl {
    fn learns_from(&self) -> LearnsFrom {
        LearnsFrom::Moments
    }

    fn refuses(&self, _: SumKind, noise: Noise) -> Option<&'static str> {
        (noise == Noise::Laplace)
            .then_some("second moments are bounded in L2: use l2-laplace or gaussian")
    }

    fn curvature(&self, _: &Recipe) -> Result<f64, RecipeError> {
        Ok(1.0)
    }

    fn learner(&self, recipe: &Recipe) -> Result<Box<dyn Learner>, RecipeError> {
        Ok(Box::new(learner(recipe)?))
    }

    fn bound(&self, recipe: &Recipe, item: &Item) -> Result<RegretBound, String> {
        if !recipe.request.rounds.is_multiple_of(recipe.request.batch) {
            return Err(
                "the last item is not full, and is then less regularised than the theorem \
                assumes: take rounds that the batch divides"
                    .to_owned(),
            );
        }
        let words = |error: RecipeError| error.to_string();
        let (learner, moments) = (
            learner(recipe).map_err(words)?,
            recipe.moments().map_err(words)?,
        );
        let (p, sd) = (moments.features() as f64, recipe.plan.prefix_sd_max());
        let rounding = recipe.request.rounds as f64 * moments.rounding();
        let truncation = recipe.plan.truncation() + rounding;
        let matrix = sd * (p * (p + 1.0) / 2.0).sqrt() + truncation;
        let targets = moments.targets() as f64;
        let target = (sd * (p * targets).sqrt() + truncation) / moments.target_scale();
        let value = learner.regret_bound(matrix, target, item.horizon);
        Ok(RegretBound::expected(
            value,
            "JKT12 Theorem 4 with errata J1, J2, J3, J5: (1 + ln T)(G^2/2 + G(N_u + rho \
             N_V))/alpha, and lambda rho^2/2 for a ridge",
        ))
    }

    fn trivial_regret(&self, recipe: &Recipe, _: &Item) -> Option<f64> {
        Some(learner(recipe).ok()?.trivial_regret(recipe.items()))
    }

    fn pieces(&self, noise: Noise) -> Option<u64> {
        Some(if noise == Noise::Gaussian { 256 } else { 64 })
    }

    /// A ridge against the noise of the matrix.
    fn choose(&self, mut draft: Draft<'_>) -> Result<Choice, RecipeError> {
        let length = draft.situation.length;
        let planned = draft.request(draft.radius(), Some(1e-4 * length * length))?;
        let planned = planned.plan()?;
        let noise = planned.matrix_noise().unwrap_or(0.0);
        let ridge = draft.wishes.ridge.unwrap_or_else(|| {
            let ridge = noise / (2.0 * std::f64::consts::SQRT_2);
            draft.because(format!(
                "ridge {ridge:.4}, half the noise of a row of the matrix: smaller eigenvalues are \
                 noise"
            ));
            ridge
        });
        let records = noise * draft.situation.features as f64 / length.powi(2);
        Ok(draft.choice(planned.with_ridge(ridge)?, records))
    }
}
