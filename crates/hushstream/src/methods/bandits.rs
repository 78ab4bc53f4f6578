//! Bandit recipes, on scalar feedback: only the loss of the played arm is seen.

use super::session::{Baseline, Content, Play, Running};
use super::{Method, Place, Restart};
use crate::data;
use crate::error::{Result, refuse};
use crate::outcome::{Arm, Parameters};
use hushstream_account::Price;
use hushstream_mechanism::feedback::{FeedbackNoise, Reading};
use hushstream_mechanism::sums::Noise;
use hushstream_mechanism::{Grant, Scope};
use hushstream_pictures::numbers::{grouped, short};
use hushstream_read::Layout;
use hushstream_recipes::{
    Actions, BanditRecipe, BanditRequest, BanditRun, BanditShadow, MechanismKind, RecipeName,
    Situation, Turn, Wishes,
};

/// A bandit on the arms of a table or a log.
struct Bandit {
    recipe: BanditRecipe,
    reading: Reading,
    names: Vec<String>,
    rewards: bool,
    rounds: u64,
    reasons: Vec<String>,
}

/// The named recipe, or the one with the smallest certified regret.
pub(crate) fn choose(
    situation: &Situation,
    wishes: &Wishes,
    layout: &Layout,
    reading: Reading,
) -> Result<Box<dyn Method>> {
    let named = wishes.recipe.unwrap_or(RecipeName::Exp2);
    wishes.check(named)?;
    let actions = match named.entry().mechanism {
        MechanismKind::Feedback => Actions::of_arms(named, reading.arms())?,
        MechanismKind::Values(_) => refuse!(
            "{named} learns convex losses from their values at points, and arms are not points: \
             use exp2, exp2-batched or scrible"
        ),
        _ => refuse!(
            "{named} needs the losses of all arms, and a bandit sees one: use exp2, exp2-batched \
             or scrible, or ‹task experts›"
        ),
    };
    let request = BanditRequest {
        recipe: named,
        actions,
        range: reading.range(),
        reading: Some(reading),
        rounds: (!situation.horizon_unknown).then_some(situation.rounds),
        restart: wishes.restart,
        batch: wishes.batch,
        noise: match wishes.noise {
            None => None,
            Some(Noise::Laplace) => Some(FeedbackNoise::Laplace),
            Some(Noise::Gaussian) => Some(FeedbackNoise::Gaussian),
            Some(other) => {
                refuse!("{other} noise is for vectors: an answer is one number; use laplace")
            }
        },
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
                    "regret on a log is as certified only if its propensities are true and none is \
                     below the least"
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

/// Answers in the units and the direction of the data.
#[derive(Clone, Copy)]
struct Units {
    reading: Reading,
    rewards: bool,
}

impl Units {
    /// An answer, which is a loss of 0 to 1 with noise.
    fn of(self, answer: f64) -> f64 {
        let loss = self.reading.unscaled(answer);
        let (low, high) = self.reading.bounds();
        if self.rewards {
            low + high - loss
        } else {
            loss
        }
    }
}

/// Formats a turn for the file of releases.
fn shown(turn: Turn, names: &[String], units: Units) -> Content {
    let Turn { play, answer, .. } = turn;
    let (propensity, answer) = (play.propensity, units.of(answer));
    match play.action.and_then(|arm| names.get(arm)) {
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
    }
}

/// Estimates for each arm from releases alone.
fn arms(run: &BanditRun, names: &[String], units: Units) -> Vec<Arm> {
    let (low, high) = units.reading.bounds();
    let play = run.play();
    let point = play.for_the_operator().point.as_slice();
    let policy = run.policy();
    let policy = policy
        .as_ref()
        .map_or(point, |policy| policy.for_the_operator());
    let estimates = run.estimates();
    let estimates = estimates.for_the_operator().iter().zip(policy);
    estimates
        .zip(names)
        .map(|((estimate, probability), name)| Arm {
            arm: name.clone(),
            probability: *probability,
            plays: estimate.plays,
            ips: units.of(estimate.ips),
            standard_error: estimate.standard_error * (high - low),
            snips: estimate.snips.map(|loss| units.of(loss)),
        })
        .collect()
}

impl Method for Bandit {
    fn recipe(&self) -> RecipeName {
        self.recipe.request().recipe
    }

    fn price(&self) -> Result<(Price, Scope)> {
        let plan = self.recipe.plan();
        Ok((plan.charge()?, plan.scope()))
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

    fn open(&self, place: Place<'_>, grant: Option<Grant>) -> Result<Restart> {
        let [names, arm_names, play_names] = std::array::from_fn(|_| self.names.clone());
        let units = Units {
            reading: self.reading,
            rewards: self.rewards,
        };
        place.open(self.recipe.clone(), grant, false, |run: BanditRun| {
            let mut running = Running::new(run, move |turn| shown(turn, &names, units));
            running.arms = Box::new(move |run| arms(run, &arm_names, units));
            running.play = Box::new(move |run, ledger| {
                let play = run.next_play(ledger)?.into_value();
                let names = play_names.iter().cloned();
                Ok(Some(Play {
                    arms: names.zip(play.point).collect(),
                    propensity: play.propensity,
                }))
            });
            Ok(Box::new(running))
        })
    }

    fn shadow(&self) -> Result<Option<Box<dyn Baseline>>> {
        Ok(Some(Box::new(BanditShadow::new(&self.recipe)?)))
    }
}
