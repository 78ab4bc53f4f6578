//! Convex losses by recipes that release few or discrete points: `limited-updates`, a new point at every power of two, and `cover`, the points of a net in at most three dimensions.

use super::super::outcome::Parameters;
use super::super::session::{Content, Release, Session};
use super::on_selection::came_back;
use super::problem::LinearProblem;
use super::{Method, Restart};
use anyhow::{Result, bail};
use hushstream_account::{Charge, Guarantee};
use hushstream_engine::{
    Advice, ExpertsError, ExpertsRecipe, ExpertsRequest, ExpertsRun, LimitedUpdates,
    LimitedUpdatesError, LimitedUpdatesRequest, LimitedUpdatesRun, RecipeName, Situation, Wishes,
};
use hushstream_mechanism::batch::BatchError;
use hushstream_mechanism::losses::Record;
use hushstream_mechanism::select::SelectError;
use hushstream_mechanism::{DiaryError, Grant, Ledger, OperatorOnly, Raw, Scope, Storage};
use hushstream_noise::Key;

/// Dimensions in which a net of points is still fine enough to be worth playing on.
const MOST_DIMENSIONS: usize = 3;

/// `limited-updates` with its bounds.
struct Doubling {
    recipe: LimitedUpdates,
    rounds: u64,
    horizon_unknown: bool,
    radius: f64,
}

/// `limited-updates` on a linear model.
pub(crate) fn limited_updates(situation: &Situation, wishes: &Wishes) -> Result<Box<dyn Method>> {
    let name = RecipeName::LimitedUpdates;
    wishes.check(name)?;
    if wishes.batch.is_some() {
        bail!("{name} has no batches of its own: it updates at every power of two");
    }
    let LinearProblem { loss, set, radius } = LinearProblem::new(name, situation, wishes)?;
    let recipe = LimitedUpdatesRequest {
        loss,
        set,
        budget: situation.budget,
        adjacency: situation.adjacency,
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

    fn charge(&self) -> Result<Charge> {
        Ok(self.recipe.plan().charge()?)
    }

    fn scope(&self) -> Scope {
        self.recipe.plan().scope()
    }

    fn records(&self) -> (u64, u64) {
        // The mechanism could go on for ever; who states a number means it.
        let most = if self.horizon_unknown {
            u64::MAX
        } else {
            self.rounds
        };
        (self.rounds, most)
    }

    fn parameters(&self) -> Parameters {
        Parameters {
            noise: Some("gaussian".to_owned()),
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

    fn start(
        &self,
        grant: Grant,
        key: &Key,
        ledger: &mut Ledger,
        storage: Box<dyn Storage>,
        _: bool,
    ) -> Result<Box<dyn Session>> {
        let run = LimitedUpdatesRun::open(self.recipe.clone(), grant, key, ledger, storage)?;
        Ok(Box::new(run))
    }

    fn restart(
        &self,
        storage: Box<dyn Storage>,
        key: &Key,
        ledger: &mut Ledger,
        _: bool,
    ) -> Result<Restart> {
        match LimitedUpdatesRun::resume(self.recipe.clone(), storage, key, ledger, None) {
            Ok((run, outcome)) => {
                let told = came_back(outcome, run.rounds());
                Ok(Restart::Run(Box::new(run), told))
            }
            Err(LimitedUpdatesError::Batch(BatchError::Diary(DiaryError::NoRun))) => {
                Ok(Restart::NoRun)
            }
            Err(error) => Err(error.into()),
        }
    }
}

impl Session for LimitedUpdatesRun {
    fn question(&self) -> &[f64] {
        LimitedUpdatesRun::question(self)
    }

    fn learn(&mut self, _: Option<u64>, record: Raw<Record>) -> Result<()> {
        Ok(LimitedUpdatesRun::learn(self, record)?)
    }

    fn sync(&mut self, ledger: &mut Ledger) -> Result<Vec<Release>> {
        let released = LimitedUpdatesRun::sync(self, ledger)?;
        let release = |point: hushstream_mechanism::Released<Vec<f64>, _>| Release {
            step: point.receipt().step,
            content: Content::Weights {
                weights: point.into_value(),
            },
        };
        Ok(released.into_iter().map(release).collect())
    }

    fn settled(&mut self, ledger: &mut Ledger) -> Result<(u64, Vec<f64>)> {
        LimitedUpdatesRun::sync(self, ledger)?;
        // Releases come after 1, 3, 7, … records, which are their numbers.
        let rounds = LimitedUpdatesRun::rounds(self);
        let step = (1 << (rounds + 1).ilog2()) - 1;
        Ok((step, LimitedUpdatesRun::question(self).to_vec()))
    }

    fn checkpoint_is_due(&self) -> bool {
        LimitedUpdatesRun::checkpoint_is_due(self)
    }

    fn rounds(&self) -> u64 {
        LimitedUpdatesRun::rounds(self)
    }

    fn guarantee(&self) -> Result<Guarantee> {
        Ok(LimitedUpdatesRun::guarantee(self)?)
    }

    fn counts(&self) -> (OperatorOnly<u64>, OperatorOnly<u64>) {
        (self.nulls(), OperatorOnly::new(0))
    }
}

/// `cover` with its net.
struct Net {
    recipe: ExpertsRecipe,
    rounds: u64,
    radius: f64,
}

/// `cover` on a linear model with very few features.
pub(crate) fn cover(situation: &Situation, wishes: &Wishes) -> Result<Box<dyn Method>> {
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

    fn charge(&self) -> Result<Charge> {
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
            ..Parameters::default()
        }
    }

    fn headline(&self) -> String {
        format!(
            "cover: a dartboard on {} points",
            self.recipe.points().len()
        )
    }

    fn start(
        &self,
        grant: Grant,
        key: &Key,
        ledger: &mut Ledger,
        storage: Box<dyn Storage>,
        _: bool,
    ) -> Result<Box<dyn Session>> {
        let run = ExpertsRun::open(self.recipe.clone(), grant, key, ledger, storage)?;
        Ok(Box::new(OnNet(run)))
    }

    fn restart(
        &self,
        storage: Box<dyn Storage>,
        key: &Key,
        ledger: &mut Ledger,
        _: bool,
    ) -> Result<Restart> {
        match ExpertsRun::resume(self.recipe.clone(), storage, key, ledger, None) {
            Ok((run, outcome)) => {
                let told = came_back(outcome, run.rounds());
                Ok(Restart::Run(Box::new(OnNet(run)), told))
            }
            Err(ExpertsError::Select(SelectError::Diary(DiaryError::NoRun))) => Ok(Restart::NoRun),
            Err(error) => Err(error.into()),
        }
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
