//! `limited-updates` on convex losses: a new point at every power of two, from the records since
//! the previous one.

use super::problem::LinearProblem;
use super::session::Running;
use super::{Method, Place, Restart};
use crate::error::{Result, refuse};
use crate::outcome::Parameters;
use hushstream_account::Price;
use hushstream_mechanism::{Grant, Scope};
use hushstream_recipes::{
    LimitedUpdates, LimitedUpdatesRequest, LimitedUpdatesRun, RecipeName, Situation, Wishes,
};

/// `limited-updates` with its bounds.
struct Doubling {
    recipe: LimitedUpdates,
    rounds: u64,
    horizon_unknown: bool,
    radius: f64,
}

/// `limited-updates` on a linear model.
pub(crate) fn choose(situation: &Situation, wishes: &Wishes) -> Result<Box<dyn Method>> {
    let name = RecipeName::LimitedUpdates;
    wishes.check(name)?;
    if wishes.batch.is_some() {
        refuse!("{name} has no batches of its own: it updates at every power of two");
    }
    let LinearProblem { loss, set, radius } = LinearProblem::new(name, situation, wishes)?;
    let recipe = LimitedUpdatesRequest {
        loss,
        set,
        budget: situation.budget,
        adjacency: situation.adjacency,
        participation: situation.participation,
    }
    .plan()?;
    Ok(Box::new(Doubling {
        recipe,
        rounds: situation.rounds,
        horizon_unknown: situation.horizon_unknown,
        radius,
    }))
}

impl Method for Doubling {
    fn recipe(&self) -> RecipeName {
        RecipeName::LimitedUpdates
    }

    fn price(&self) -> Result<(Price, Scope)> {
        let plan = self.recipe.plan();
        Ok((plan.charge()?, plan.scope()))
    }

    fn records(&self) -> (u64, u64) {
        // The mechanism has no end of its own, but a stated number is a limit.
        let most = if self.horizon_unknown {
            u64::MAX
        } else {
            self.rounds
        };
        (self.rounds, most)
    }

    fn parameters(&self) -> Parameters {
        Parameters {
            noise: Some(self.recipe.plan().noise().to_string().to_lowercase()),
            batch: 1,
            releases: u64::from((self.rounds + 1).ilog2()),
            radius: Some(self.radius),
            ..Parameters::default()
        }
    }

    fn headline(&self) -> String {
        "limited-updates: a new model at every power of two, for records in no particular order"
            .to_owned()
    }

    fn open(&self, place: Place<'_>, grant: Option<Grant>) -> Result<Restart> {
        place.open(
            self.recipe.clone(),
            grant,
            false,
            |run: LimitedUpdatesRun| Ok(Box::new(Running::of_models(run))),
        )
    }
}
