//! Recipes on perturbed iterates: `pigd`, `pigd-convex`, `pgiga`, `pocp-anytime`, and `pol`, which releases one model at the end.

use super::problem::LinearProblem;
use super::session::{Release, Session};
use super::{Method, Place, Restart};
use crate::outcome::Parameters;
use anyhow::{Result, bail};
use hushstream_account::{Guarantee, Price};
use hushstream_engine::{
    Averaged, Insider, IterateRecipe, IterateRequest, IterateRun, RecipeName, RunError, Situation,
    Wishes,
};
use hushstream_mechanism::losses::Record;
use hushstream_mechanism::perturb::{PerturbError, Timing};
use hushstream_mechanism::{DiaryError, Grant, Ledger, OperatorOnly, Raw, Scope};

struct Perturbed {
    recipe: IterateRecipe,
    rounds: u64,
}

/// The recipe that was named.
pub(crate) fn choose(
    recipe: RecipeName,
    situation: &Situation,
    wishes: &Wishes,
) -> Result<Box<dyn Method>> {
    wishes.check(recipe)?;
    if wishes.sum.is_some() || wishes.batch.is_some() {
        bail!("{recipe} has no sum and no batches: it releases iterates");
    }
    let LinearProblem { loss, set, radius } = LinearProblem::new(recipe, situation, wishes)?;
    // Losses of a linear model have no curvature of their own: as much as a slope of 1 leaves over the whole radius.
    let curved = matches!(
        recipe,
        RecipeName::Pigd | RecipeName::Pgiga | RecipeName::PocpAnytime | RecipeName::Pol
    );
    let given = wishes
        .curvature
        .or_else(|| curved.then(|| 0.01 * situation.length / radius));
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

    fn charge(&self) -> Result<Price> {
        Ok(self.recipe.plan().charge()?)
    }

    fn scope(&self) -> Scope {
        self.recipe.plan().scope()
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
                        "the mean of releases {} to {}, as far as they come; the last release before the first of them",
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
        if recipe == RecipeName::Pol {
            format!("{recipe}: one model, at the end")
        } else {
            format!("{recipe}: every iterate, with its own noise")
        }
    }

    fn start(&self, grant: Grant, place: Place<'_>) -> Result<Box<dyn Session>> {
        let run = IterateRun::open(
            self.recipe.clone(),
            grant,
            place.key,
            place.ledger,
            place.storage,
        )?;
        Ok(Box::new(run))
    }

    fn restart(&self, place: Place<'_>) -> Result<Restart> {
        let recipe = self.recipe.clone();
        let back = IterateRun::resume(recipe, place.storage, place.key, place.ledger, None);
        let is_none = |error: &_| {
            matches!(
                error,
                RunError::Iterates(PerturbError::Diary(DiaryError::NoRun))
            )
        };
        Restart::of(back, is_none, |run| Ok(Box::new(run)))
    }
}

impl Session for IterateRun {
    fn question(&self) -> &[f64] {
        IterateRun::question(self)
    }

    fn learn(&mut self, person: Option<u64>, record: Raw<Record>) -> Result<()> {
        Ok(IterateRun::learn(self, person, record)?)
    }

    fn sync(&mut self, ledger: &mut Ledger) -> Result<Vec<Release>> {
        let released = IterateRun::sync(self, ledger)?;
        Ok(released.into_iter().map(Release::model).collect())
    }

    fn settled(&mut self, ledger: &mut Ledger) -> Result<(u64, Vec<f64>)> {
        IterateRun::sync(self, ledger)?;
        // After a sync all releases may leave, and so may a mean of them.
        let step = self.rounds().min(self.recipe().plan().most_steps());
        let mean = self.mean().map(|(_, mean)| mean);
        Ok((
            step,
            mean.unwrap_or_else(|| IterateRun::question(self).to_vec()),
        ))
    }

    fn checkpoint_is_due(&self) -> bool {
        IterateRun::checkpoint_is_due(self)
    }

    fn rounds(&self) -> u64 {
        IterateRun::rounds(self)
    }

    fn guarantee(&self) -> Result<Guarantee> {
        Ok(IterateRun::guarantee(self)?)
    }

    fn counts(&self) -> (OperatorOnly<u64>, OperatorOnly<u64>) {
        IterateRun::counts(self)
    }
}
