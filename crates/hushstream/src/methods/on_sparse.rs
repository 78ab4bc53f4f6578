//! The sparse learner.

use super::session::{Release, Session};
use super::{Method, Place, Restart};
use crate::outcome::Parameters;
use anyhow::Result;
use hushstream_account::{Guarantee, Price};
use hushstream_engine::{RecipeName, Situation, SparseRecipe, SparseRun, Wishes};
use hushstream_mechanism::losses::Record;
use hushstream_mechanism::sparse::SparseError;
use hushstream_mechanism::{DiaryError, Grant, Ledger, OperatorOnly, Raw, Scope, Scoreboard};

struct Sparse {
    recipe: SparseRecipe,
    thresholded: bool,
    reasons: Vec<String>,
}

impl Sparse {
    fn session(&self, run: SparseRun) -> Box<dyn Session> {
        Box::new(Running {
            run,
            thresholded: self.thresholded,
        })
    }
}

/// The recipe, for records with few features. `thresholded`: the model leaves out what noise explains.
pub(crate) fn choose(
    situation: &Situation,
    wishes: &Wishes,
    thresholded: bool,
    reasons: Vec<String>,
) -> Result<Box<dyn Method>> {
    Ok(Box::new(Sparse {
        recipe: situation.choose_sparse(wishes)?,
        thresholded,
        reasons,
    }))
}

impl Method for Sparse {
    fn recipe(&self) -> RecipeName {
        RecipeName::SparseFtrl
    }

    fn charge(&self) -> Result<Price> {
        Ok(self.recipe.plan().charge()?)
    }

    fn scope(&self) -> Scope {
        self.recipe.plan().scope()
    }

    fn records(&self) -> (u64, u64) {
        let rounds = self.recipe.request().rounds;
        (rounds, rounds)
    }

    fn parameters(&self) -> Parameters {
        let request = self.recipe.plan().request();
        let noise = self.recipe.plan().prefix_sd_max();
        Parameters {
            sum: Some(request.kind.to_string()),
            noise: Some(request.noise.to_string()),
            batch: 1,
            releases: request.releases,
            radius: Some(self.recipe.rule().half_side()),
            learning_rate: Some(self.recipe.rule().rate()),
            noise_sd: Some(noise),
            rows_until_signal: Some(self.recipe.rows_until_signal()),
            reasons: self.reasons.clone(),
            ..Parameters::default()
        }
    }

    fn headline(&self) -> String {
        "sparse-ftrl on tree sums with Gaussian noise, read where records have features".to_owned()
    }

    fn start(&self, grant: Grant, place: Place<'_>) -> Result<Box<dyn Session>> {
        let run = SparseRun::open(
            self.recipe.clone(),
            grant,
            place.key,
            place.ledger,
            place.storage,
        )?;
        Ok(self.session(run))
    }

    fn restart(&self, place: Place<'_>) -> Result<Restart> {
        let recipe = self.recipe.clone();
        let back = SparseRun::resume(recipe, place.storage, place.key, place.ledger);
        let is_none = |error: &_| matches!(error, SparseError::Diary(DiaryError::NoRun));
        Restart::of(back, is_none, |run| Ok(self.session(run)))
    }
}

/// Only the last model is ever made: each would be all features long.
struct Running {
    run: SparseRun,
    thresholded: bool,
}

impl Session for Running {
    fn question(&self) -> &[f64] {
        &[]
    }

    fn take(
        &mut self,
        _: Option<u64>,
        record: Raw<Record>,
        board: Option<&mut Scoreboard>,
    ) -> Result<()> {
        Ok(self.run.learn(record, board)?)
    }

    fn learn(&mut self, _: Option<u64>, record: Raw<Record>) -> Result<()> {
        Ok(self.run.learn(record, None)?)
    }

    fn sync(&mut self, ledger: &mut Ledger) -> Result<Vec<Release>> {
        self.run.sync(ledger)?;
        Ok(Vec::new())
    }

    fn settled(&mut self, ledger: &mut Ledger) -> Result<(u64, Vec<f64>)> {
        let model = self.run.model(ledger)?;
        let (step, model) = (model.receipt().step, model.into_value());
        let weights = if self.thresholded {
            model.thresholded()
        } else {
            model.dense()
        };
        Ok((step, weights))
    }

    fn checkpoint_is_due(&self) -> bool {
        false
    }

    fn rounds(&self) -> u64 {
        self.run.rounds()
    }

    fn guarantee(&self) -> Result<Guarantee> {
        Ok(self.run.guarantee()?)
    }

    fn counts(&self) -> (OperatorOnly<u64>, OperatorOnly<u64>) {
        (self.run.nulls(), OperatorOnly::new(0))
    }
}
