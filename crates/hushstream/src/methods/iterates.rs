//! Recipes on perturbed iterates: `pigd`, `pigd-convex`, `pgiga`, `pocp-anytime`, and `pol`, which
//! releases one model at the end.

use super::problem::LinearProblem;
use super::session::Running;
use super::{Method, Place, Restart};
use crate::error::{Result, refuse};
use crate::outcome::Parameters;
use hushstream_account::Price;
use hushstream_mechanism::perturb::Timing;
use hushstream_mechanism::{Grant, Scope};
use hushstream_recipes::{
    Averaged, Insider, IterateRecipe, IterateRequest, IterateRun, RecipeName, Situation, Wishes,
};

struct Perturbed {
    recipe: IterateRecipe,
    rounds: u64,
}

/// The named recipe.
pub(crate) fn choose(situation: &Situation, wishes: &Wishes) -> Result<Box<dyn Method>> {
    let recipe = wishes.recipe.unwrap_or(RecipeName::Pigd);
    wishes.check(recipe)?;
    if wishes.batch.is_some() {
        refuse!("{recipe} has no batches: it releases iterates");
    }
    let LinearProblem { loss, set, radius } = LinearProblem::new(recipe, situation, wishes)?;
    // Losses of a linear model have no curvature of their own. Take a slope of 1 over the radius.
    let given = wishes.curvature.or_else(|| {
        let usual = 0.01 * situation.length / radius;
        recipe.needs_curvature().then_some(usual)
    });
    let planned = IterateRequest {
        recipe,
        insider: Insider::Loss(loss),
        set,
        rounds: situation.rounds,
        budget: situation.budget,
        adjacency: situation.adjacency,
        participation: situation.participation,
        noise: wishes.noise,
        curvature: given,
        steps: None,
        weighting: None,
        average: Averaged::LaterHalf,
    }
    .plan()?;
    Ok(Box::new(Perturbed {
        recipe: planned,
        rounds: situation.rounds,
    }))
}

impl Perturbed {
    /// The steepest loss over the whole set, each round.
    fn trivial_regret(&self) -> Option<f64> {
        let (loss, set) = (self.recipe.loss()?, &self.recipe.request().set);
        let offset = loss.offset().abs() * (loss.dimension() as f64).sqrt();
        let curvature = self.recipe.request().curvature.unwrap_or(0.0);
        let slope = loss.lipschitz() + offset + curvature * set.outer_radius();
        Some(slope * set.diameter() * self.rounds as f64)
    }
}

impl Method for Perturbed {
    fn recipe(&self) -> RecipeName {
        self.recipe.request().recipe
    }

    fn price(&self) -> Result<(Price, Scope)> {
        let plan = self.recipe.plan();
        Ok((plan.charge()?, plan.scope()))
    }

    fn records(&self) -> (u64, u64) {
        (self.rounds, self.recipe.rounds())
    }

    fn parameters(&self) -> Parameters {
        let plan = self.recipe.plan();
        Parameters {
            noise: Some(plan.request().noise.to_string()),
            batch: 1,
            releases: plan.releases(),
            radius: Some(self.recipe.request().set.outer_radius()),
            curvature: self.recipe.request().curvature,
            noise_sd: Some(plan.sigma(plan.most_steps().min(self.rounds.max(2) - 1))),
            regret_bound: self.recipe.regret_bound(None),
            trivial_regret: self.trivial_regret(),
            model: Some(match plan.request().timing {
                Timing::Every(releases) => {
                    format!(
                        "the mean of releases {} to {}, as far as they come; the last release \
                         before the first of them",
                        releases / 2 + 1,
                        releases
                    )
                }
                Timing::Last(_) => "an average of secret iterates, with noise".to_owned(),
                Timing::Unknown => "the last release".to_owned(),
            }),
            ..Parameters::default()
        }
    }

    fn headline(&self) -> String {
        let recipe = self.recipe();
        match self.recipe.plan().request().timing {
            Timing::Last(_) => format!("{recipe}: one model, at the end"),
            _ => format!("{recipe}: every iterate, with its own noise"),
        }
    }

    fn open(&self, place: Place<'_>, grant: Option<Grant>) -> Result<Restart> {
        place.open(self.recipe.clone(), grant, false, |run: IterateRun| {
            Ok(Box::new(Running::of_models(run)))
        })
    }
}
