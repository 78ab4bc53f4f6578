//! Decisions at play: a policy from the last release, drawn with the coin of every record's slot.

use super::recipe::DecisionsRecipe;
use crate::catalogue::RecipeName;
use crate::error::RunError;
use crate::note::NoteError;
use crate::run::{Beginning, Player, Run};
use hushstream_learn::{ArmsLeastSquares, Learner};
use hushstream_mechanism::decisions::{Drawn, Estimate, ExactDecisions, Policy, Rule};
use hushstream_mechanism::losses::Record;
use hushstream_mechanism::sums::{Sum, SumPlan};
use hushstream_mechanism::{
    AskerOnly, Ledger, PendingOf, Private, Raw, Released, Scoreboard, Transcript,
};
use hushstream_noise::{Instance, Key, Source};

/// Apart from every mechanism's own generators, whose numbers are small, and from the coins of
/// other players.
const COINS: u64 = (1 << 62) + (1 << 61);

/// Draws decisions from the policy of the last release.
pub struct DecisionsPlayer {
    learner: ArmsLeastSquares,
    instance: [u8; 16],
    /// The coins of records that tell their context and outcomes together. A record is read again
    /// after a crash, and meets its coin again: resuming equals never having stopped.
    coins: Source,
    /// The coins of contexts that ask first. A person who was told a decision before a crash does
    /// not ask again, so the next one in that slot is another person, with a coin of another life.
    asked: Source,
    /// The policy that is published.
    policy: Policy,
    /// The policy that decides: another one, if the first arm is always played.
    deciding: Policy,
    /// The evaluation's coordinates of the last release.
    evaluated: Vec<f64>,
    estimates: Option<Estimates>,
    /// How many instances came before.
    instances: u32,
    /// The matrices of upper bounds, for `linucb-jdp`; empty otherwise.
    shapes: Vec<f64>,
    scorer: std::cell::RefCell<ExactDecisions>,
}

/// Decisions in progress.
pub type DecisionsRun = Run<DecisionsPlayer>;

/// The average reward so far, and IPS and SNIPS of every policy that is evaluated.
type Estimates = (Estimate, Vec<[Estimate; 2]>);

/// What leaves after a release.
#[derive(Debug, Clone, PartialEq)]
pub struct Release {
    /// The policy.
    pub policy: Policy,
    /// The average reward so far, and IPS and SNIPS of every policy that is evaluated; nothing if
    /// none is.
    pub evaluation: Option<Estimates>,
}

/// The policy of a learner's weights.
pub(super) fn policy_of(
    recipe: &DecisionsRecipe,
    learner: &ArmsLeastSquares,
    gamma: f64,
    shapes: &[f64],
) -> Result<Policy, RunError> {
    let (map, arms) = (recipe.map().context().clone(), recipe.map().arms());
    let rule = match recipe.request().recipe {
        RecipeName::LinucbJdp => Rule::Optimistic {
            width: recipe.optimism().1,
            shapes: shapes.to_vec(),
        },
        _ => Rule::InverseGap(gamma),
    };
    let policy = Policy::new(map, learner.iterate().to_vec(), arms, rule);
    policy.map_err(|error| RunError::Learn(error.into()))
}

/// The matrices of upper bounds, where the recipe needs them.
pub(super) fn shapes_of(
    recipe: &DecisionsRecipe,
    learner: &ArmsLeastSquares,
) -> Result<Vec<f64>, RunError> {
    match recipe.request().recipe {
        RecipeName::LinucbJdp => Ok(learner.inverses()?),
        _ => Ok(Vec::new()),
    }
}

impl DecisionsPlayer {
    /// Makes the policy of the learner's present weights.
    fn renew(&mut self, recipe: &DecisionsRecipe) -> Result<(), RunError> {
        let gamma = recipe.gamma(self.learner.rounds());
        self.policy = policy_of(recipe, &self.learner, gamma, &self.shapes)?;
        self.deciding = if recipe.request().first_arm {
            let (map, weights) = (self.policy.map().clone(), self.policy.weights().to_vec());
            let policy = Policy::new(map, weights, self.policy.arms(), Rule::Always(0));
            policy.map_err(|error| RunError::Learn(error.into()))?
        } else {
            self.policy.clone()
        };
        Ok(())
    }
}

impl DecisionsPlayer {
    /// Reads the evaluation off the last release.
    fn judge(&self, recipe: &DecisionsRecipe) -> Option<Estimates> {
        let (evaluation, evaluated) = (recipe.map().evaluation()?, recipe.evaluated()?);
        let releases = self.learner.rounds();
        if releases == 0 {
            return None;
        }
        let unit = evaluated.unit(recipe.plan().request().bound);
        let noise = match self.instances {
            0 => recipe.deviation(releases),
            // The base has the noise of every instance before.
            before => recipe.plan().prefix_sd_max() * f64::from(before + 1).sqrt(),
        };
        let records = releases * recipe.batch();
        evaluation.read(&self.evaluated, (unit, noise), records)
    }
}

impl Player for DecisionsPlayer {
    type Recipe = DecisionsRecipe;
    type Mechanism = Sum<Transcript>;
    type Output = Release;

    fn name(recipe: &DecisionsRecipe) -> RecipeName {
        recipe.request().recipe
    }

    fn description(recipe: &DecisionsRecipe) -> String {
        recipe.description()
    }

    fn plan(recipe: &DecisionsRecipe) -> Result<SumPlan, RunError> {
        Ok(recipe.plan().clone())
    }

    fn given(_: &DecisionsRecipe) -> Result<(), RunError> {
        Ok(())
    }

    fn rounds(recipe: &DecisionsRecipe) -> u64 {
        recipe.rounds()
    }

    fn stated(recipe: &DecisionsRecipe) -> Option<u64> {
        Some(recipe.request().rounds)
    }

    fn batch(recipe: &DecisionsRecipe) -> u64 {
        recipe.batch()
    }

    fn most_items(recipe: &DecisionsRecipe) -> u64 {
        recipe.plan().most_releases()
    }

    fn begin(
        recipe: &DecisionsRecipe,
        sum: &mut Private<Sum<Transcript>>,
        key: &Key,
        from: Beginning<'_>,
    ) -> Result<Self, RunError> {
        let mut learner = recipe.learner()?;
        let mut evaluated = vec![0.0; recipe.map().dimension() - recipe.map().learned()];
        let mut shapes = shapes_of(recipe, &learner)?;
        let instance = match from.note {
            Some(note) => {
                let others = evaluated.len() + shapes.len();
                let place = note.state.len().saturating_sub(others);
                let (weights, others) = note.state.split_at(place);
                learner.restore(note.rounds, weights)?;
                let (sums, kept) = others.split_at(evaluated.len().min(others.len()));
                if kept.len() != shapes.len() {
                    return Err(NoteError::Unreadable.into());
                }
                evaluated.copy_from_slice(sums);
                shapes.copy_from_slice(kept);
                note.coins
            }
            None => Instance::fresh(key, COINS + sum.number(), 0)?.to_bytes(),
        };
        let coins =
            |instance| Source::open(key, Instance::from_bytes(instance), COINS + sum.number());
        // The first life has coins that a seed repeats; nothing was asked before its note.
        let asked = coins(from.note.map_or(instance, |_| sum.life()));
        let nothing = policy_of(recipe, &learner, 0.0, &shapes)?;
        let mut player = Self {
            coins: coins(instance),
            asked,
            learner,
            instance,
            deciding: nothing.clone(),
            policy: nothing,
            estimates: None,
            instances: sum.instances_before().0,
            evaluated,
            shapes,
            scorer: ExactDecisions::new(recipe.map().clone()).into(),
        };
        player.estimates = player.judge(recipe);
        player.renew(recipe)?;
        Ok(player)
    }

    fn state(&self) -> (u64, Vec<f64>, [u8; 16]) {
        let mut state = self.learner.state();
        state.extend(&self.evaluated);
        state.extend(&self.shapes);
        (self.learner.rounds(), state, self.instance)
    }

    fn weights(&self) -> &[f64] {
        self.policy.weights()
    }

    fn score(
        &self,
        _: &mut Private<Sum<Transcript>>,
        record: &Raw<Record>,
        board: &mut Scoreboard,
    ) {
        self.scorer.borrow_mut().score(&self.policy, record, board);
    }

    fn ask(
        &mut self,
        recipe: &DecisionsRecipe,
        sum: &mut Private<Sum<Transcript>>,
        person: Option<u64>,
        record: Raw<Record>,
        board: Option<&mut Scoreboard>,
    ) -> Result<Option<PendingOf<Sum<Transcript>>>, RunError> {
        let (map, policy) = (recipe.map(), &self.deciding);
        Ok(sum.add_decision(person, map, policy, &self.coins, record, board)?)
    }

    fn observe(&mut self, recipe: &DecisionsRecipe, release: Vec<f64>) -> Result<(), RunError> {
        let (learned, evaluated) = release.split_at(recipe.map().learned());
        self.learner.observe(learned)?;
        self.evaluated.copy_from_slice(evaluated);
        self.shapes = shapes_of(recipe, &self.learner)?;
        self.estimates = self.judge(recipe);
        self.renew(recipe)
    }

    fn output(&self) -> Release {
        Release {
            policy: self.policy.clone(),
            evaluation: self.estimates.clone(),
        }
    }
}

impl DecisionsRun {
    /// Draws noise ahead of need; releases are the same bit for bit.
    pub fn draw_ahead(&mut self) {
        self.mechanism.draw_ahead();
    }

    /// The last release: the policy, and what was evaluated. A sync covers it first.
    ///
    /// # Errors
    /// Those of the mechanism.
    pub fn policy(
        &mut self,
        ledger: &mut Ledger,
    ) -> Result<Released<Release, Transcript>, RunError> {
        self.released(ledger, DecisionsPlayer::output)
    }

    /// Decides for a sealed context in a slot that the run has not reached, with a policy that a
    /// sync has covered. Tell the answer to the person who asked and to nobody else; add the
    /// record, with its decision and reward, in its slot's turn. A slot that was lost in a crash is
    /// drawn anew: the coin's address has the name of this object, which is durable.
    ///
    /// # Errors
    /// Those of the mechanism.
    pub fn decide(
        &mut self,
        ledger: &mut Ledger,
        context: &Raw<Record>,
        slot: u64,
    ) -> Result<AskerOnly<Drawn>, RunError> {
        let policy = self.released(ledger, |player| player.deciding.clone())?;
        Ok(policy.value().decide(context, &self.player.asked, slot))
    }

    /// The slot of the next record that the run learns from.
    #[must_use]
    pub fn slot(&self) -> u64 {
        self.mechanism.slot()
    }
}
