//! `cover` on convex losses: a dartboard whose experts are the points of a net, in at most three dimensions.

use super::problem::LinearProblem;
use super::session::{Content, Release, Session};
use super::{Method, Place, Restart};
use crate::outcome::Parameters;
use anyhow::{Result, bail};
use hushstream_account::{Guarantee, Price};
use hushstream_engine::{
    Advice, ExpertsError, ExpertsRecipe, ExpertsRequest, ExpertsRun, RecipeName, Situation, Wishes,
};
use hushstream_mechanism::losses::Record;
use hushstream_mechanism::select::SelectError;
use hushstream_mechanism::{DiaryError, Grant, Ledger, OperatorOnly, Raw, Scope};

/// Dimensions in which a net of points is still fine enough to be worth playing on.
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
        bail!(
            "{name} plays on a net of points, which is of use in at most {MOST_DIMENSIONS} dimensions, and there are {} features (a constant is one: --no-intercept)",
            situation.features
        );
    }
    if situation.horizon_unknown {
        bail!("{name} needs a known horizon: its net depends on it");
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
        batch: wishes.batch,
        board: None,
        budget: situation.budget,
        adjacency: situation.adjacency,
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

    fn start(&self, grant: Grant, place: Place<'_>) -> Result<Box<dyn Session>> {
        let run = ExpertsRun::open(
            self.recipe.clone(),
            grant,
            place.key,
            place.ledger,
            place.storage,
        )?;
        Ok(Box::new(OnNet(run)))
    }

    fn restart(&self, place: Place<'_>) -> Result<Restart> {
        let recipe = self.recipe.clone();
        let back = ExpertsRun::resume(recipe, place.storage, place.key, place.ledger, None);
        let is_none = |error: &_| {
            matches!(
                error,
                ExpertsError::Select(SelectError::Diary(DiaryError::NoRun))
            )
        };
        Restart::of(back, is_none, |run| Ok(Box::new(OnNet(run))))
    }
}

/// A run that moves among the points of a net.
struct OnNet(ExpertsRun);

impl Session for OnNet {
    fn question(&self) -> &[f64] {
        self.0.point().unwrap_or_default()
    }

    fn learn(&mut self, _: Option<u64>, record: Raw<Record>) -> Result<()> {
        Ok(self.0.learn_record(record)?)
    }

    fn sync(&mut self, ledger: &mut Ledger) -> Result<Vec<Release>> {
        let played = self.0.sync(ledger)?;
        let points = self.0.recipe().points();
        let release = |played: hushstream_mechanism::Released<u32, _>| Release {
            step: played.receipt().step,
            content: Content::Weights {
                weights: points
                    .get(*played.value() as usize)
                    .cloned()
                    .unwrap_or_default(),
            },
        };
        Ok(played.into_iter().map(release).collect())
    }

    fn settled(&mut self, ledger: &mut Ledger) -> Result<(u64, Vec<f64>)> {
        self.0.sync(ledger)?;
        let plan = self.0.recipe().plan();
        let step = (self.0.rounds() / plan.batch()).min(plan.most_items());
        Ok((step, self.question().to_vec()))
    }

    fn checkpoint_is_due(&self) -> bool {
        self.0.checkpoint_is_due()
    }

    fn rounds(&self) -> u64 {
        self.0.rounds()
    }

    fn guarantee(&self) -> Result<Guarantee> {
        Ok(self.0.guarantee()?)
    }

    fn counts(&self) -> (OperatorOnly<u64>, OperatorOnly<u64>) {
        self.0.counts()
    }
}
