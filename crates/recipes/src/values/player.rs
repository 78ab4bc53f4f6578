//! `pftal-bandit` at play: a learner that sees one value per play, and makes a gradient of it.

use super::recipe::ValuesRecipe;
use crate::catalogue::RecipeName;
use crate::error::RunError;
use crate::run::{Beginning, Player, Run};
use hushstream_learn::Learner;
use hushstream_learn::bandits::Coins;
use hushstream_mechanism::feedback::Range;
use hushstream_mechanism::losses::{Loss, Record, evaluate};
use hushstream_mechanism::sums::{Sum, SumPlan};
use hushstream_mechanism::{
    Contribution, OperatorOnly, PendingOf, Private, Raw, Scoreboard, Transcript,
};
use hushstream_noise::{Instance, Key, Source};

/// Apart from every mechanism's own generators, whose numbers are small.
const COINS: u64 = 1 << 62;

/// Plays points around the learner's iterate.
pub struct ValuesPlayer {
    learner: Box<dyn Learner>,
    instance: [u8; 16],
    coins: Source,
    direction: Vec<f64>,
    play: Vec<f64>,
    /// The learner's point, in the set.
    model: Vec<f64>,
}

/// The recipe in progress.
pub type ValuesRun = Run<ValuesPlayer>;

/// A loss whose "gradient" at a play is the one-point gradient of a clipped value: what a record is
/// asked for.
pub(super) struct OnePointValue<'a> {
    loss: &'a dyn Loss,
    direction: &'a [f64],
    factor: f64,
    range: Range,
}

impl<'a> OnePointValue<'a> {
    pub(super) fn new(recipe: &'a ValuesRecipe, direction: &'a [f64]) -> Self {
        Self {
            loss: recipe.request.loss.as_ref(),
            direction,
            factor: recipe.geometry.factor(),
            range: recipe.request.range,
        }
    }
}

/// The direction and the play of the present iterate, with the coins of its round.
pub(super) fn around(
    recipe: &ValuesRecipe,
    learner: &dyn Learner,
    coins: &Source,
) -> (Vec<f64>, Vec<f64>) {
    let mut cursor = coins.cursor(learner.rounds(), 0);
    let mut next = || cursor.next_word();
    let direction = recipe.geometry.direction(&mut Coins::new(&mut next));
    let play = recipe.geometry.play(learner.iterate(), &direction);
    (direction, recipe.back(&play))
}

impl Loss for OnePointValue<'_> {
    fn name(&self) -> &str {
        self.loss.name()
    }

    fn dimension(&self) -> usize {
        self.direction.len()
    }

    fn lipschitz(&self) -> f64 {
        self.factor * self.range.bound()
    }

    fn value(&self, record: &Record, weights: &[f64]) -> f64 {
        self.loss.value(record, weights)
    }

    fn gradient(&self, record: Record, weights: &[f64]) -> Contribution {
        let value = self.loss.value(&record, weights);
        // A loss may give a malformed record the value 0, a perfect one. Null is the zero vector:
        // the middle of the range, which favours no direction.
        if !value.is_finite() || self.loss.is_null(&record, weights) {
            return Contribution::Null;
        }
        let scale = self.factor * (self.range.clip(value) - self.range.middle());
        Contribution::Dense(self.direction.iter().map(|u| scale * u).collect())
    }
}

impl ValuesPlayer {
    /// The direction and the play of the present iterate.
    fn choose(&mut self, recipe: &ValuesRecipe) {
        (self.direction, self.play) = around(recipe, self.learner.as_ref(), &self.coins);
        self.model = recipe.back(self.learner.iterate());
    }
}

impl Player for ValuesPlayer {
    type Recipe = ValuesRecipe;
    type Mechanism = Sum<Transcript>;
    type Output = Vec<f64>;

    fn name(_: &ValuesRecipe) -> RecipeName {
        RecipeName::PftalBandit
    }

    fn description(recipe: &ValuesRecipe) -> String {
        recipe.description()
    }

    fn plan(recipe: &ValuesRecipe) -> Result<SumPlan, RunError> {
        Ok(recipe.plan.clone())
    }

    fn given(_: &ValuesRecipe) -> Result<(), RunError> {
        Ok(())
    }

    fn rounds(recipe: &ValuesRecipe) -> u64 {
        recipe.request.rounds
    }

    fn most_items(recipe: &ValuesRecipe) -> u64 {
        recipe.plan.most_releases()
    }

    fn begin(
        recipe: &ValuesRecipe,
        sum: &mut Private<Sum<Transcript>>,
        key: &Key,
        from: Beginning<'_>,
    ) -> Result<Self, RunError> {
        let mut learner = recipe.learner()?;
        let instance = match from.note {
            Some(note) => {
                learner.restore(note.rounds, &note.state)?;
                note.coins
            }
            None => Instance::fresh(key, COINS + sum.number(), 0)?.to_bytes(),
        };
        let mut player = Self {
            coins: Source::open(key, Instance::from_bytes(instance), COINS),
            learner,
            instance,
            direction: Vec::new(),
            play: Vec::new(),
            model: Vec::new(),
        };
        player.choose(recipe);
        Ok(player)
    }

    fn state(&self) -> (u64, Vec<f64>, [u8; 16]) {
        (self.learner.rounds(), self.learner.state(), self.instance)
    }

    fn weights(&self) -> &[f64] {
        &self.play
    }

    fn ask(
        &mut self,
        recipe: &ValuesRecipe,
        sum: &mut Private<Sum<Transcript>>,
        person: Option<u64>,
        record: Raw<Record>,
        board: Option<&mut Scoreboard>,
    ) -> Result<Option<PendingOf<Sum<Transcript>>>, RunError> {
        if let Some(board) = board {
            board.score(&record, &self.play);
        }
        let ask = OnePointValue::new(recipe, &self.direction);
        Ok(sum.add_gradient(person, &ask, &self.play, record)?)
    }

    fn observe(&mut self, recipe: &ValuesRecipe, prefix: Vec<f64>) -> Result<(), RunError> {
        self.learner.observe(&prefix)?;
        self.choose(recipe);
        Ok(())
    }

    fn output(&self) -> Vec<f64> {
        self.play.clone()
    }

    /// The learner's point: plays are random neighbours of it.
    fn model(&self) -> Vec<f64> {
        self.model.clone()
    }
}

impl ValuesRun {
    /// The loss of a record at the present play: computed from private data.
    #[must_use]
    pub fn loss(&self, record: &Raw<Record>) -> OperatorOnly<f64> {
        evaluate(self.recipe.request.loss.as_ref(), record, &self.player.play)
    }
}
