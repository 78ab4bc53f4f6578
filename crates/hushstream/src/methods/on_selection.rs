//! Recipes on private selection: which of the experts to follow, one of them at a time.

use super::session::{Baseline, Content, Release, Session};
use super::{Method, Place, Restart};
use crate::outcome::Parameters;
use anyhow::{Result, bail};
use hushstream_account::{Guarantee, Price};
use hushstream_engine::{
    Advice, ExpertsError, ExpertsRecipe, ExpertsRequest, ExpertsRun, ExpertsShadow, RecipeName,
    Situation, Wishes,
};
use hushstream_mechanism::losses::Record;
use hushstream_mechanism::select::SelectError;
use hushstream_mechanism::{DiaryError, Grant, Ledger, OperatorOnly, Raw, Scope};
use hushstream_pictures::numbers::{grouped, short};

/// A selection among experts whose losses lie between two bounds.
struct Choosing {
    recipe: ExpertsRecipe,
    bounds: (f64, f64),
    rounds: u64,
    reasons: Vec<String>,
}

/// The recipe that was named, or the one with the least certified regret.
pub(crate) fn choose(
    situation: &Situation,
    wishes: &Wishes,
    bounds: (f64, f64),
) -> Result<Box<dyn Method>> {
    wishes.check(wishes.recipe.unwrap_or(RecipeName::Dartboard))?;
    if wishes.link.is_some() || wishes.set.is_some() || wishes.radius.is_some() {
        bail!("experts have losses of their own: leave out --loss, --set and --radius");
    }
    let request = ExpertsRequest {
        recipe: wishes.recipe.unwrap_or(RecipeName::Dartboard),
        advice: Advice::Experts(u32::try_from(situation.features)?),
        rounds: (!situation.horizon_unknown).then_some(situation.rounds),
        batch: wishes.batch,
        board: None,
        budget: situation.budget,
        adjacency: situation.adjacency,
    };
    let mut reasons = Vec::new();
    let recipe = match wishes.recipe {
        Some(_) => request.plan()?,
        None => {
            let recipe = request.automatic()?;
            let name = recipe.request().recipe;
            reasons.push(match recipe.regret_bound() {
                Some(bound) => format!(
                    "{name}, because its certified regret is the least: {} of a range of losses, over {} rounds",
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

impl Choosing {
    fn session(&self, mut run: ExpertsRun) -> Result<Box<dyn Session>> {
        run.losses_between(self.bounds.0, self.bounds.1)?;
        let mut session = Following {
            weights: Vec::new(),
            experts: match self.recipe.request().advice {
                Advice::Experts(count) => count as usize,
                Advice::Net { .. } => 0,
            },
            last: 0,
            run,
        };
        session.look();
        Ok(Box::new(session))
    }
}

impl Method for Choosing {
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

    fn start(&self, grant: Grant, place: Place<'_>) -> Result<Box<dyn Session>> {
        let run = ExpertsRun::open(
            self.recipe.clone(),
            grant,
            place.key,
            place.ledger,
            place.storage,
        )?;
        self.session(run)
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
        Restart::of(back, is_none, |run| self.session(run))
    }

    fn shadow(&self) -> Result<Option<Box<dyn Baseline>>> {
        let width = self.bounds.1 - self.bounds.0;
        Ok(Some(Box::new(ExpertsShadow::new(&self.recipe, width)?)))
    }
}

impl Baseline for ExpertsShadow {
    fn weights(&self) -> &[f64] {
        ExpertsShadow::weights(self)
    }

    fn learn(&mut self, record: &Raw<Record>) -> Result<()> {
        ExpertsShadow::learn(self, record);
        Ok(())
    }
}

/// A run that follows one expert at a time.
struct Following {
    run: ExpertsRun,
    experts: usize,
    /// The followed expert as weights: all on one.
    weights: Vec<f64>,
    /// The number of the last release.
    last: u64,
}

impl Following {
    fn look(&mut self) {
        self.weights.clear();
        self.weights.resize(self.experts, 0.0);
        if let Some(weight) = self.weights.get_mut(self.run.question()) {
            *weight = 1.0;
        }
    }
}

impl Session for Following {
    fn question(&self) -> &[f64] {
        &self.weights
    }

    fn learn(&mut self, _: Option<u64>, record: Raw<Record>) -> Result<()> {
        let before = self.run.question();
        self.run.learn(record.into_losses())?;
        if self.run.question() != before {
            self.look();
        }
        Ok(())
    }

    fn sync(&mut self, ledger: &mut Ledger) -> Result<Vec<Release>> {
        let played = self.run.sync(ledger)?;
        let release = |played: hushstream_mechanism::Released<u32, _>| {
            let mut weights = vec![0.0; self.experts];
            if let Some(weight) = weights.get_mut(*played.value() as usize) {
                *weight = 1.0;
            }
            Release {
                step: played.receipt().step,
                content: Content::Weights { weights },
            }
        };
        let releases: Vec<Release> = played.into_iter().map(release).collect();
        self.last = releases.last().map_or(self.last, |last| last.step);
        Ok(releases)
    }

    fn settled(&mut self, ledger: &mut Ledger) -> Result<(u64, Vec<f64>)> {
        self.sync(ledger)?;
        // After a sync the followed expert is one that may leave.
        Ok((self.last, self.weights.clone()))
    }

    fn checkpoint_is_due(&self) -> bool {
        self.run.checkpoint_is_due()
    }

    fn rounds(&self) -> u64 {
        self.run.rounds()
    }

    fn guarantee(&self) -> Result<Guarantee> {
        Ok(self.run.guarantee()?)
    }

    fn counts(&self) -> (OperatorOnly<u64>, OperatorOnly<u64>) {
        self.run.counts()
    }
}
