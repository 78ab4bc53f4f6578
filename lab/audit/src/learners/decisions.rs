//! Duels against decisions: what an outsider sees are policies, and the decisions made for
//! everybody else.
//!
//! Two arms, one column that is always the same, and a ridge so large that weights are the released
//! sums of rewards, divided by it. A probe asks for a decision after every release: it is one of
//! the others, and sees its own answer. The canary's own decision is told to nobody. Of the price,
//! what the canary moves in sums of rewards alone is 0.8; an outsider sees no matrices.

use super::Target;
use super::stage::{Interruption, Terms};
use super::target::LineUp;
use crate::AuditError;
use crate::duel::{Duel, World};
use hushstream_mechanism::decisions::Outcomes;
use hushstream_mechanism::losses::{Features, Record};
use hushstream_mechanism::sums::SumKind;
use hushstream_mechanism::{Participation, Raw};
use hushstream_recipes::{Column, DecisionsPlayer, DecisionsRecipe, DecisionsRequest};

const RIDGE: f64 = 1e6;
/// The person whose records are the canary, where persons count.
const CANARY: u64 = 0;

struct Decided {
    recipe: DecisionsRecipe,
    terms: Terms,
    /// The items, from 1, that hold the canary's records.
    canaries: Vec<u64>,
    adaptive: bool,
    interruption: Interruption,
    releases: u64,
    what: String,
}

fn recipe(target: &Target) -> Result<DecisionsRecipe, AuditError> {
    let request = DecisionsRequest {
        recipe: target.recipe,
        columns: vec![Column::Number { zero: 0.0 }],
        arms: 2,
        outcomes: Outcomes::Log {
            stated: true,
            most: 2.0,
        },
        rounds: target.releases.saturating_mul(target.batch).max(2),
        horizon_unknown: target.sum.is_some_and(SumKind::needs_no_horizon),
        budget: target.budget,
        adjacency: target.adjacency,
        participation: target.participation(),
        sum: target.sum,
        noise: Some(target.noise),
        batch: Some(target.batch),
        knots: Some(0),
        length: Some(1.0),
        ridge: Some(RIDGE),
        exploration: Some(1e6),
        evaluation: None,
        first_arm: false,
    };
    Ok(request.plan()?)
}

/// First, middle and last record among neutral ones, the first among records that react,
/// interrupted runs.
pub(super) fn duels(target: &Target, sum: SumKind) -> Result<LineUp, AuditError> {
    let recipe = recipe(target)?;
    let n = target.releases;
    let plan = recipe.plan();
    let terms = target.terms(plan.charge(), plan.scope(), plan.guarantee(true))?;
    let duel = |place: u64, adaptive: bool, interruption: Interruption| {
        let others = if adaptive { ", adaptive stream" } else { "" };
        Decided {
            recipe: recipe.clone(),
            terms: terms.clone(),
            canaries: target.canaries(place),
            adaptive,
            interruption,
            releases: n,
            what: format!("record {place} of {n}{others}{interruption}"),
        }
    };
    let duels = target.line_up(target.deepest(sum), [n > 1, false], duel);
    Ok((terms, duels))
}

/// A record of arm 0 with this reward, or one that is malformed.
fn record(reward: Option<f64>) -> Record {
    let row = |reward| vec![1.0, 0.0, reward, 0.5];
    Record {
        features: Features::Dense(reward.map_or_else(Vec::new, row)),
        target: 0.0,
    }
}

impl Duel for Decided {
    fn name(&self) -> String {
        self.what.clone()
    }

    fn play(&self, world: World, seed: u64) -> Result<Vec<f64>, AuditError> {
        let open = Terms::open::<DecisionsPlayer>;
        let mut stage = open(&self.terms, &self.recipe, seed, self.interruption)?;
        let (mut seen, mut again) = (Vec::new(), Vec::new());
        let mut answer = 0.0;
        let request = self.recipe.request();
        let persons = matches!(request.participation, Participation::PerPerson { .. });
        for t in 1..=self.releases {
            let canary = self.canaries.contains(&t);
            let reward = match canary {
                true => world.pull(request.adjacency),
                // Others react to the decision that was made for them.
                false if self.adaptive => Some(if answer > 0.5 { 1.0 } else { -1.0 }),
                false => Some(0.0),
            };
            let batch = self.recipe.batch();
            for k in 0..batch {
                let middle = k == batch / 2;
                let name = if canary && middle {
                    CANARY
                } else {
                    t * batch + k
                };
                let reward = if middle { reward } else { Some(0.0) };
                stage
                    .run
                    .learn(persons.then_some(name), Raw::seal(record(reward)))?;
            }
            for release in stage.sync()? {
                let weights = release.policy.weights();
                seen.push(RIDGE * (weights[0] + weights[1]));
            }
            let probe = Raw::seal(Record {
                features: Features::Dense(vec![1.0]),
                target: 0.0,
            });
            let slot = (1 << 32) + t;
            let drawn = stage.run.decide(&mut stage.ledger, &probe, slot)?;
            answer = drawn.for_the_asker().arm as f64;
            seen.push(answer);
            if stage.stops_after(t)? {
                let outputs = stage.sync()?.into_iter();
                again.extend(outputs.map(|release| RIDGE * release.policy.weights()[0]));
            }
        }
        seen.append(&mut again);
        Ok(seen)
    }
}
