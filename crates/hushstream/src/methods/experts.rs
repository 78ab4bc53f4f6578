//! Expert recipes, on private selection: follow one expert at a time.

use super::session::{Baseline, Content, Running};
use super::{Method, Place, Restart};
use crate::error::{Result, refuse};
use crate::outcome::Parameters;
use hushstream_account::Price;
use hushstream_mechanism::{Grant, Scope};
use hushstream_pictures::numbers::{grouped, short};
use hushstream_recipes::{
    Advice, ExpertsRecipe, ExpertsRequest, ExpertsRun, ExpertsShadow, RecipeName, Situation, Wishes,
};

/// A selection among experts whose losses lie between two bounds.
struct Choosing {
    recipe: ExpertsRecipe,
    bounds: (f64, f64),
    rounds: u64,
    reasons: Vec<String>,
}

/// The named recipe, or the one with the smallest certified regret.
pub(crate) fn choose(
    situation: &Situation,
    wishes: &Wishes,
    bounds: (f64, f64),
) -> Result<Box<dyn Method>> {
    wishes.check(wishes.recipe.unwrap_or(RecipeName::Dartboard))?;
    if wishes.link.is_some() || wishes.set.is_some() || wishes.radius.is_some() {
        refuse!("experts have losses of their own: leave out ‹loss›, ‹set› and ‹radius›");
    }
    let request = ExpertsRequest {
        recipe: wishes.recipe.unwrap_or(RecipeName::Dartboard),
        advice: Advice::Experts(u32::try_from(situation.features)?),
        rounds: (!situation.horizon_unknown).then_some(situation.rounds),
        restart: wishes.restart,
        batch: wishes.batch,
        board: None,
        budget: situation.budget,
        adjacency: situation.adjacency,
        participation: situation.participation,
    };
    let mut reasons = Vec::new();
    let recipe = match wishes.recipe {
        Some(_) => request.plan()?,
        None => {
            let recipe = request.automatic()?;
            let name = recipe.request().recipe;
            reasons.push(match recipe.regret_bound() {
                Some(bound) => format!(
                    "{name}, because its certified regret is the least: {} of a range of losses, \
                     over {} rounds",
                    short(bound),
                    grouped(situation.rounds)
                ),
                None => format!("{name}, because the horizon is unknown"),
            });
            recipe
        }
    };
    Ok(Box::new(Choosing {
        recipe,
        bounds,
        rounds: situation.rounds,
        reasons,
    }))
}

impl Method for Choosing {
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
        let board = plan.board();
        Parameters {
            batch: plan.batch(),
            releases: self.recipe.rounds().div_ceil(plan.batch()),
            p: board.map(|board| board.forced()),
            eta: board.map(|board| board.rate()),
            k: board.map(|board| board.resamples() + 1),
            regret_bound: self
                .recipe
                .regret_bound()
                .map(|bound| bound * (self.bounds.1 - self.bounds.0)),
            trivial_regret: Some(self.rounds as f64 * (self.bounds.1 - self.bounds.0)),
            reasons: self.reasons.clone(),
            ..Parameters::default()
        }
    }

    fn headline(&self) -> String {
        let batch = self.recipe.plan().batch();
        format!(
            "{}, an expert held for {} round{}",
            self.recipe.request().recipe,
            grouped(batch),
            if batch == 1 { "" } else { "s" }
        )
    }

    fn open(&self, place: Place<'_>, grant: Option<Grant>) -> Result<Restart> {
        let experts = match self.recipe.request().advice {
            Advice::Experts(count) => count as usize,
            Advice::Net { .. } => 0,
        };
        place.open(self.recipe.clone(), grant, false, |mut run: ExpertsRun| {
            run.losses_between(self.bounds.0, self.bounds.1)?;
            let running = Running::new(run, move |played| {
                let mut weights = vec![0.0; experts];
                if let Some(weight) = weights.get_mut(played as usize) {
                    *weight = 1.0;
                }
                Content::Weights { weights }
            });
            Ok(Box::new(running))
        })
    }

    fn shadow(&self) -> Result<Option<Box<dyn Baseline>>> {
        let width = self.bounds.1 - self.bounds.0;
        Ok(Some(Box::new(ExpertsShadow::new(&self.recipe, width)?)))
    }
}
