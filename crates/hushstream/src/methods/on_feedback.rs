//! Recipes on scalar feedback: which of the arms to play, when only the loss of the played one is seen.

use super::session::{Baseline, Content, Release, Session};
use super::{Method, Place, Restart};
use crate::data;
use crate::outcome::{Arm, Parameters};
use anyhow::{Result, bail};
use hushstream_account::{Guarantee, Price};
use hushstream_engine::{
    Actions, BanditError, BanditRecipe, BanditRequest, BanditRun, BanditShadow, RecipeName,
    Situation, Turn, Wishes,
};
use hushstream_mechanism::feedback::{FeedbackError, FeedbackNoise, Reading};
use hushstream_mechanism::losses::Record;
use hushstream_mechanism::sums::Noise;
use hushstream_mechanism::{
    DiaryError, Grant, Ledger, OperatorOnly, Raw, Released, Scope, Transcript,
};
use hushstream_pictures::numbers::{grouped, short};
use hushstream_read::Layout;
use hushstream_sets::Simplex;
use std::sync::Arc;

/// A bandit on the arms of a table or a log.
struct Bandit {
    recipe: BanditRecipe,
    reading: Reading,
    names: Vec<String>,
    rewards: bool,
    rounds: u64,
    reasons: Vec<String>,
}

/// The recipe that was named, or the one with the least certified regret.
pub(crate) fn choose(
    situation: &Situation,
    wishes: &Wishes,
    layout: &Layout,
    reading: Reading,
) -> Result<Box<dyn Method>> {
    let named = wishes.recipe.unwrap_or(RecipeName::Exp2);
    wishes.check(named)?;
    let actions = match named {
        RecipeName::Exp2 | RecipeName::Exp2Batched => Actions::Arms(reading.arms()),
        RecipeName::Scrible => Actions::Set(Arc::new(Simplex::new(reading.arms())?)),
        RecipeName::PftalBandit => bail!(
            "pftal-bandit learns convex losses from their values at points, and arms are not points: use exp2, exp2-batched or scrible"
        ),
        other => bail!(
            "{other} needs the losses of all arms, and a bandit sees one: use exp2, exp2-batched or scrible, or --task experts"
        ),
    };
    let request = BanditRequest {
        recipe: named,
        actions,
        range: reading.range(),
        reading: Some(reading),
        rounds: (!situation.horizon_unknown).then_some(situation.rounds),
        batch: wishes.batch,
        noise: match wishes.noise {
            None => None,
            Some(Noise::Laplace) => Some(FeedbackNoise::Laplace),
            Some(Noise::Gaussian) => Some(FeedbackNoise::Gaussian),
            Some(other) => {
                bail!("{other} noise is for vectors: an answer is one number; use laplace")
            }
        },
        budget: situation.budget,
        adjacency: situation.adjacency,
    };
    let mut reasons = Vec::new();
    let recipe = match wishes.recipe {
        Some(_) => request.plan()?,
        None => {
            let recipe = request.automatic()?;
            let name = recipe.request().recipe;
            let (low, high) = reading.bounds();
            reasons.push(match recipe.regret_bound() {
                Some(bound) => format!(
                    "{name}, because its certified regret is the least: {}, over {} rounds",
                    short(bound * (high - low)),
                    grouped(situation.rounds)
                ),
                None => format!("{name}, because the horizon is unknown"),
            });
            if reading.is_log() {
                reasons.push(
                    "regret on a log is as certified only if its propensities are true and none is below the least"
                        .to_owned(),
                );
            }
            recipe
        }
    };
    let names = (0..reading.arms())
        .map(|arm| layout.arm_name(arm))
        .collect();
    Ok(Box::new(Bandit {
        recipe,
        reading,
        names,
        rewards: data::is_rewards(layout),
        rounds: situation.rounds,
        reasons,
    }))
}

impl Bandit {
    fn session(&self, run: BanditRun) -> Box<dyn Session> {
        Box::new(Playing {
            reading: self.reading,
            names: self.names.clone(),
            rewards: self.rewards,
            run,
        })
    }
}

impl Method for Bandit {
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
        let most = self.recipe.request().rounds.unwrap_or(u64::MAX);
        (self.rounds, most)
    }

    fn parameters(&self) -> Parameters {
        let plan = self.recipe.plan();
        let (low, high) = self.reading.bounds();
        Parameters {
            noise: Some(
                match plan.noise() {
                    FeedbackNoise::Laplace => "laplace",
                    FeedbackNoise::Gaussian => "gaussian",
                }
                .to_owned(),
            ),
            batch: self.recipe.batch(),
            releases: self.rounds / self.recipe.batch(),
            noise_sd: Some(plan.variance().sqrt() * (high - low)),
            regret_bound: self.recipe.regret_bound().map(|bound| bound * (high - low)),
            trivial_regret: Some(self.rounds as f64 * (high - low)),
            reasons: self.reasons.clone(),
            ..Parameters::default()
        }
    }

    fn headline(&self) -> String {
        let batch = self.recipe.batch();
        format!(
            "{}, an arm held for {} round{}",
            self.recipe(),
            grouped(batch),
            if batch == 1 { "" } else { "s" }
        )
    }

    fn start(&self, grant: Grant, place: Place<'_>) -> Result<Box<dyn Session>> {
        let run = BanditRun::open(
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
        let back = BanditRun::resume(recipe, place.storage, place.key, place.ledger, None);
        let is_none = |error: &_| {
            matches!(
                error,
                BanditError::Feedback(FeedbackError::Diary(DiaryError::NoRun))
            )
        };
        Restart::of(back, is_none, |run| Ok(self.session(run)))
    }

    fn shadow(&self) -> Result<Option<Box<dyn Baseline>>> {
        Ok(Some(Box::new(BanditShadow::new(&self.recipe)?)))
    }
}

impl Baseline for BanditShadow {
    fn weights(&self) -> &[f64] {
        BanditShadow::weights(self)
    }

    fn learn(&mut self, record: &Raw<Record>) -> Result<()> {
        Ok(BanditShadow::learn(self, record)?)
    }
}

/// A run that plays.
struct Playing {
    run: BanditRun,
    reading: Reading,
    names: Vec<String>,
    rewards: bool,
}

impl Playing {
    /// An answer, which is a loss of 0 to 1 with noise, in the units and the direction of the data.
    fn in_units(&self, answer: f64) -> f64 {
        let loss = self.reading.unscaled(answer);
        if self.rewards {
            let (low, high) = self.reading.bounds();
            low + high - loss
        } else {
            loss
        }
    }

    /// How likely each arm is to be played next, or how much of it.
    fn policy(&self) -> &[f64] {
        self.run.policy().unwrap_or(&self.run.question().point)
    }
}

impl Session for Playing {
    /// In a table the play itself is scored; a log can tell about all that could have been played.
    fn question(&self) -> &[f64] {
        if self.reading.is_log() {
            self.policy()
        } else {
            &self.run.question().point
        }
    }

    fn learn(&mut self, _: Option<u64>, record: Raw<Record>) -> Result<()> {
        Ok(self.run.learn_record(record)?)
    }

    fn sync(&mut self, ledger: &mut Ledger) -> Result<Vec<Release>> {
        let turns = self.run.sync(ledger)?;
        let release = |turn: Released<Turn, Transcript>| {
            let step = turn.receipt().step;
            let Turn { play, answer, .. } = turn.into_value();
            let (propensity, answer) = (play.propensity, self.in_units(answer));
            let content = match play.action.and_then(|arm| self.names.get(arm)) {
                Some(arm) => Content::Play {
                    arm: arm.clone(),
                    propensity,
                    answer,
                },
                None => Content::Mixture {
                    weights: play.point,
                    propensity,
                    answer,
                },
            };
            Release { step, content }
        };
        Ok(turns.into_iter().map(release).collect())
    }

    fn settled(&mut self, ledger: &mut Ledger) -> Result<(u64, Vec<f64>)> {
        self.sync(ledger)?;
        // After a sync the policy is a function of answers that may leave.
        let step = self.run.rounds() / self.run.recipe().batch();
        Ok((step, self.policy().to_vec()))
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

    fn arms(&self) -> Vec<Arm> {
        let (low, high) = self.reading.bounds();
        let estimates = self.run.estimates().into_iter().zip(self.policy());
        estimates
            .zip(&self.names)
            .map(|((estimate, probability), name)| Arm {
                arm: name.clone(),
                probability: *probability,
                plays: estimate.plays,
                ips: self.in_units(estimate.ips),
                standard_error: estimate.standard_error * (high - low),
                snips: estimate.snips.map(|loss| self.in_units(loss)),
            })
            .collect()
    }
}
