//! `pftal-bandit`: a model that is learned from the values of a loss alone, at points around it.

use super::problem::LinearProblem;
use super::session::{Baseline, Running};
use super::{Method, Place, Restart};
use crate::error::{Result, refuse};
use crate::outcome::Parameters;
use hushstream_account::Price;
use hushstream_mechanism::{Grant, Scope};
use hushstream_recipes::{
    AnyRecipe, AnyRequest, Objective, RecipeName, Situation, ValuesRecipe, ValuesRun, ValuesShadow,
    Wishes,
};

/// `pftal-bandit` with its problem.
struct Valued {
    recipe: ValuesRecipe,
    rounds: u64,
    radius: f64,
}

/// `pftal-bandit` on a linear model.
pub(crate) fn choose(situation: &Situation, wishes: &Wishes) -> Result<Box<dyn Method>> {
    let name = RecipeName::PftalBandit;
    wishes.check(name)?;
    if wishes.batch.is_some() {
        refuse!("{name} has no batches: every record meets a play of its own");
    }
    if situation.horizon_unknown {
        refuse!("{name} needs a known horizon: the radius of its plays depends on it");
    }
    let LinearProblem { loss, set, radius } = LinearProblem::new(name, situation, wishes)?;
    let planned = AnyRequest {
        recipe: name,
        objective: Objective::Convex(loss),
        set,
        values: None,
        rounds: situation.rounds,
        restart: None,
        batch: None,
        budget: situation.budget,
        adjacency: situation.adjacency,
        participation: situation.participation,
        sum: wishes.sum,
        noise: wishes.noise,
        window: None,
        curvature: wishes.curvature,
        learning_rate: None,
        tuned: false,
    }
    .plan()?;
    let AnyRecipe::Values(recipe) = planned else {
        refuse!("{name} does not learn from values");
    };
    Ok(Box::new(Valued {
        recipe,
        rounds: situation.rounds,
        radius,
    }))
}

impl Method for Valued {
    fn recipe(&self) -> RecipeName {
        RecipeName::PftalBandit
    }

    fn price(&self) -> Result<(Price, Scope)> {
        let plan = self.recipe.plan();
        Ok((plan.charge()?, plan.scope()))
    }

    fn records(&self) -> (u64, u64) {
        (self.rounds, self.recipe.request().rounds)
    }

    fn parameters(&self) -> Parameters {
        let request = self.recipe.plan().request();
        let trivial = AnyRecipe::Values(self.recipe.clone()).trivial_regret();
        Parameters {
            sum: Some(request.kind.to_string()),
            noise: Some(request.noise.to_string()),
            batch: 1,
            releases: request.releases,
            radius: Some(self.radius),
            curvature: Some(self.recipe.curvature()),
            noise_sd: Some(self.recipe.plan().prefix_sd_max()),
            regret_bound: self.recipe.regret_bound().ok().map(|bound| bound.value),
            trivial_regret: trivial,
            model: Some("the learner's point, around which it plays".to_owned()),
            ..Parameters::default()
        }
    }

    fn headline(&self) -> String {
        let request = self.recipe.plan().request();
        format!(
            "pftal-bandit on {} sums with {} noise: it sees one value of the loss a record, at a \
             random point around its model",
            request.kind, request.noise
        )
    }

    fn open(&self, place: Place<'_>, grant: Option<Grant>) -> Result<Restart> {
        place.open(self.recipe.clone(), grant, true, |run: ValuesRun| {
            Ok(Box::new(Running::of_models(run)))
        })
    }

    fn shadow(&self) -> Result<Option<Box<dyn Baseline>>> {
        Ok(Some(Box::new(ValuesShadow::new(&self.recipe)?)))
    }
}
