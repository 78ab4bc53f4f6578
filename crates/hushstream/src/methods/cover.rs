//! `cover` on convex losses: a dartboard whose experts are the points of a net, in at most three
//! dimensions.

use super::problem::LinearProblem;
use super::session::{Content, Running};
use super::{Method, Place, Restart};
use crate::error::{Result, refuse};
use crate::outcome::Parameters;
use hushstream_account::Price;
use hushstream_mechanism::{Grant, Scope};
use hushstream_recipes::{
    Advice, ExpertsRecipe, ExpertsRequest, ExpertsRun, RecipeName, Situation, Wishes,
};

/// Largest dimension in which a net of points is fine enough to be useful.
const MOST_DIMENSIONS: usize = 3;

/// `cover` with its net.
struct Net {
    recipe: ExpertsRecipe,
    rounds: u64,
    radius: f64,
}

/// `cover` on a linear model with very few features.
pub(crate) fn choose(situation: &Situation, wishes: &Wishes) -> Result<Box<dyn Method>> {
    let name = RecipeName::Cover;
    wishes.check(name)?;
    if situation.features > MOST_DIMENSIONS {
        refuse!(
            "{name} plays on a net of points, which is of use in at most {MOST_DIMENSIONS} \
             dimensions, and there are {} features (a constant is one: ‹no-intercept›)",
            situation.features
        );
    }
    if situation.horizon_unknown {
        refuse!("{name} needs a known horizon: its net depends on it");
    }
    let LinearProblem { loss, set, radius } = LinearProblem::new(name, situation, wishes)?;
    let recipe = ExpertsRequest {
        recipe: name,
        advice: Advice::Net {
            loss,
            set,
            radius: None,
        },
        rounds: Some(situation.rounds),
        restart: wishes.restart,
        batch: wishes.batch,
        board: None,
        budget: situation.budget,
        adjacency: situation.adjacency,
        participation: situation.participation,
    }
    .plan()?;
    Ok(Box::new(Net {
        recipe,
        rounds: situation.rounds,
        radius,
    }))
}

impl Method for Net {
    fn recipe(&self) -> RecipeName {
        RecipeName::Cover
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
            releases: plan.most_items(),
            radius: Some(self.radius),
            p: board.map(|board| board.forced()),
            eta: board.map(|board| board.rate()),
            k: board.map(|board| board.resamples() + 1),
            regret_bound: self.recipe.regret_bound(),
            trivial_regret: Some(self.recipe.trivial_regret()),
            ..Parameters::default()
        }
    }

    fn headline(&self) -> String {
        format!(
            "cover: a dartboard on {} points",
            self.recipe.points().len()
        )
    }

    fn open(&self, place: Place<'_>, grant: Option<Grant>) -> Result<Restart> {
        let points = self.recipe.points().to_vec();
        place.open(self.recipe.clone(), grant, false, |run: ExpertsRun| {
            let running = Running::new(run, move |played| Content::Weights {
                weights: points.get(played as usize).cloned().unwrap_or_default(),
            });
            Ok(Box::new(running))
        })
    }
}
