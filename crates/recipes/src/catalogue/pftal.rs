//! `pftal`: a quadratic lower bound of every loss, followed by its leader.

use super::{Entry, GRADIENTS, MechanismKind, RecipeName, Rules};
use crate::error::RecipeError;
use crate::linear::{Item, OnSums, Recipe, RegretBound};
use hushstream_learn::{FollowTheApproximateLeader, Learner};
use hushstream_mechanism::sums::SumKind;

pub(super) const ENTRY: Entry = Entry {
    recipe: RecipeName::Pftal,
    name: "pftal",
    source: "ST13 Algorithm 1",
    errata: &["S1", "S2", "S6", "S7"],
    guarantee: "transcript",
    when: "every loss is strongly convex by itself (means, regularised losses)",
    mechanism: MechanismKind::Sum(SumKind::Tree),
    printed: "O(p (L+H|C|)^2 log^2.5 T / (eps H))",
    holds: "(1+ln T)((L+HD)^2/2 + L*N)/H, D the diameter, N the length of a release's noise",
    hears: GRADIENTS,
    rules: Rules::Sum(&Pftal),
};

#[derive(Debug)]
struct Pftal;

impl OnSums for Pftal {
    fn learner(&self, recipe: &Recipe) -> Result<Box<dyn Learner>, RecipeError> {
        Ok(Box::new(leader(recipe)?))
    }

    fn bound(&self, recipe: &Recipe, item: &Item) -> Result<RegretBound, String> {
        let theorem = "ST13 Theorem 4 with erratum S1: (1 + ln T)((L + H D)^2/2 + L N)/H";
        leader_bound(recipe, item, recipe.mean_error(), theorem)
    }
}

pub(super) fn leader(recipe: &Recipe) -> Result<FollowTheApproximateLeader, RecipeError> {
    let set = recipe.request.set.clone();
    Ok(FollowTheApproximateLeader::new(set, recipe.curvature)?)
}

pub(super) fn leader_bound(
    recipe: &Recipe,
    item: &Item,
    noise: f64,
    theorem: &'static str,
) -> Result<RegretBound, String> {
    recipe.curved()?;
    let learner = leader(recipe).map_err(|error| error.to_string())?;
    Ok(RegretBound::expected(
        learner.regret_bound(item.slope, noise, item.horizon),
        theorem,
    ))
}
