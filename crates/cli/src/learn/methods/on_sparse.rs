//! The sparse learner.

use super::super::outcome::Parameters;
use super::super::session::{Release, Session};
use super::{Method, Place, Restart};
use anyhow::{Result, bail};
use hushstream_account::{Charge, Guarantee};
use hushstream_engine::{
    RecipeName, Situation, SparseRecipe, SparseRequest, SparseRun, Task, Wishes,
};
use hushstream_mechanism::losses::{Bounds, Link, Memory, Record};
use hushstream_mechanism::sparse::{Scout, SparseError};
use hushstream_mechanism::{
    DiaryError, Grant, Ledger, OperatorOnly, Participation, Raw, Scope, Scoreboard,
};

struct Sparse {
    recipe: SparseRecipe,
    reasons: Vec<String>,
}

/// Whether nothing was asked for that the sparse learner does not do.
pub(crate) fn fits(situation: &Situation, wishes: &Wishes) -> bool {
    wishes.sum.is_none()
        && wishes.noise.is_none()
        && wishes.batch.is_none()
        && !situation.budget.is_pure()
        && !situation.horizon_unknown
        && situation.participation == Participation::OncePerRecord
}

/// The recipe, for records with few features.
pub(crate) fn choose(
    situation: &Situation,
    wishes: &Wishes,
    reasons: Vec<String>,
) -> Result<Box<dyn Method>> {
    wishes.check(RecipeName::SparseFtrl)?;
    if !fits(situation, wishes) {
        bail!(
            "sparse-ftrl runs on its own tree with Gaussian noise (delta > 0), releases every row, protects records and needs a known horizon"
        );
    }
    let (targets, usual, scores) = match situation.task {
        Task::Sign => ((-1.0, 1.0), Link::Logistic, 5.0),
        Task::Number(low, high) => ((low, high), Link::Squared, low.abs().max(high.abs())),
        _ => bail!("sparse-ftrl predicts one of two classes, or a number"),
    };
    let weights = wishes.radius.unwrap_or(scores / situation.length);
    let request = SparseRequest {
        features: u32::try_from(situation.features)?,
        bounds: Bounds::new(situation.length, targets, weights)?,
        link: wishes.link.unwrap_or(usual),
        rounds: situation.rounds,
        budget: situation.budget,
        adjacency: situation.adjacency,
        rate: wishes.learning_rate,
    };
    let recipe = request.plan()?;
    Ok(Box::new(Sparse { recipe, reasons }))
}

impl Method for Sparse {
    fn recipe(&self) -> RecipeName {
        RecipeName::SparseFtrl
    }

    fn charge(&self) -> Result<Charge> {
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
            // A feature that every record has rises above the noise of its own coordinate.
            rows_until_signal: Some(noise / request.bound),
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
        Ok(Box::new(run))
    }

    fn restart(&self, place: Place<'_>) -> Result<Restart> {
        let recipe = self.recipe.clone();
        let back = SparseRun::resume(recipe, place.storage, place.key, place.ledger);
        let is_none = |error: &_| matches!(error, SparseError::Diary(DiaryError::NoRun));
        Restart::of(back, is_none, |run| Ok(Box::new(run)))
    }
}

/// Only the last model is ever made: each would be all features long.
impl Session for SparseRun {
    fn question(&self) -> &[f64] {
        &[]
    }

    fn take(
        &mut self,
        _: Option<u64>,
        record: Raw<Record>,
        board: Option<&mut Scoreboard>,
    ) -> Result<()> {
        Ok(SparseRun::learn(self, record, board)?)
    }

    fn learn(&mut self, _: Option<u64>, record: Raw<Record>) -> Result<()> {
        Ok(SparseRun::learn(self, record, None)?)
    }

    fn memory(&mut self) -> Memory {
        SparseRun::memory(self)
    }

    fn scout(&mut self) -> Option<Scout> {
        SparseRun::scout(self)
    }

    fn sync(&mut self, ledger: &mut Ledger) -> Result<Vec<Release>> {
        SparseRun::sync(self, ledger)?;
        Ok(Vec::new())
    }

    fn settled(&mut self, ledger: &mut Ledger) -> Result<(u64, Vec<f64>)> {
        let model = self.model(ledger)?;
        let step = model.receipt().step;
        Ok((step, model.into_value().thresholded().weights))
    }

    fn checkpoint_is_due(&self) -> bool {
        false
    }

    fn rounds(&self) -> u64 {
        SparseRun::rounds(self)
    }

    fn guarantee(&self) -> Result<Guarantee> {
        Ok(SparseRun::guarantee(self)?)
    }

    fn counts(&self) -> (OperatorOnly<u64>, OperatorOnly<u64>) {
        (self.nulls(), OperatorOnly::new(0))
    }
}
