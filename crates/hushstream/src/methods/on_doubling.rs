//! `limited-updates` on convex losses: a new point at every power of two, from the records since the last.

use super::problem::LinearProblem;
use super::session::{Release, Session};
use super::{Method, Place, Restart};
use crate::outcome::Parameters;
use anyhow::{Result, bail};
use hushstream_account::{Guarantee, Price};
use hushstream_engine::{
    LimitedUpdates, LimitedUpdatesError, LimitedUpdatesRequest, LimitedUpdatesRun, RecipeName,
    Situation, Wishes,
};
use hushstream_mechanism::batch::BatchError;
use hushstream_mechanism::losses::Record;
use hushstream_mechanism::{DiaryError, Grant, Ledger, OperatorOnly, Raw, Scope};

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

    fn charge(&self) -> Result<Price> {
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

    fn start(&self, grant: Grant, place: Place<'_>) -> Result<Box<dyn Session>> {
        let run = LimitedUpdatesRun::open(
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
        let back = LimitedUpdatesRun::resume(recipe, place.storage, place.key, place.ledger, None);
        let is_none = |error: &_| {
            matches!(
                error,
                LimitedUpdatesError::Batch(BatchError::Diary(DiaryError::NoRun))
            )
        };
        Restart::of(back, is_none, |run| Ok(Box::new(run)))
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
        Ok(released.into_iter().map(Release::model).collect())
    }

    fn settled(&mut self, ledger: &mut Ledger) -> Result<(u64, Vec<f64>)> {
        LimitedUpdatesRun::sync(self, ledger)?;
        Ok((
            self.last_release(),
            LimitedUpdatesRun::question(self).to_vec(),
        ))
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
