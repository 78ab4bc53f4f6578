//! A bandit at play: one play, one person's answer (or a batch of them), noise, the next play.

use super::estimates::{ArmEstimate, Estimates};
use super::recipe::{Actions, BanditRecipe};
use crate::catalogue::RecipeName;
use crate::error::{RecipeError, RunError};
use crate::run::{Beginning, Player, Run};
use hushstream_learn::bandits::{BanditLearner, Coins, Play};
use hushstream_mechanism::feedback::{Ask, FeedbackPlan, Means};
use hushstream_mechanism::losses::Record;
use hushstream_mechanism::{
    Ledger, OperatorOnly, PendingOf, Private, Raw, Released, Scoreboard, Transcript,
};
use hushstream_noise::{Key, Source};

/// What leaves after an answer: enough to evaluate other policies on the log.
#[derive(Debug, Clone, PartialEq)]
pub struct Turn {
    /// The play that was answered, with its propensity.
    pub play: Play,
    /// The noisy answer, in the units of answers.
    pub answer: f64,
    /// The next play.
    pub next: Play,
}

/// Plays arms or points, and publishes plays with their noisy answers.
pub struct BanditPlayer {
    learner: Box<dyn BanditLearner>,
    coins: Source,
    /// The address of the coins of the present play.
    step: u64,
    play: Play,
    /// The probabilities that it was drawn with, where there are finitely many.
    policy: Option<Vec<f64>>,
    /// Whether records are scored with the policy and not with the play: a log can tell about all
    /// that could have been played.
    scores_policy: bool,
    estimates: Estimates,
    /// The play before, and its answer.
    answered: Option<(Play, f64)>,
}

/// A bandit recipe in progress.
pub type BanditRun = Run<BanditPlayer>;

impl BanditPlayer {
    /// The learner's next play, with the coins of this address. The same state and address give the
    /// same play, so a play that a checkpoint forgot is made again.
    fn choose(&mut self) -> Result<(), RunError> {
        self.policy = self.learner.policy();
        self.play = choose(self.learner.as_mut(), &self.coins, self.step)?;
        Ok(())
    }
}

impl Player for BanditPlayer {
    type Recipe = BanditRecipe;
    type Mechanism = Means;
    type Output = Turn;

    fn name(recipe: &BanditRecipe) -> RecipeName {
        recipe.request.recipe
    }

    fn description(recipe: &BanditRecipe) -> String {
        recipe.description()
    }

    fn plan(recipe: &BanditRecipe) -> Result<FeedbackPlan, RunError> {
        Ok(recipe.plan.clone())
    }

    fn given(_: &BanditRecipe) -> Result<(), RunError> {
        Ok(())
    }

    fn rounds(recipe: &BanditRecipe) -> u64 {
        recipe.request.rounds.unwrap_or(u64::MAX)
    }

    fn batch(recipe: &BanditRecipe) -> u64 {
        recipe.batch()
    }

    /// In a new instance the learner continues from its last checkpoint.
    fn begin(
        recipe: &BanditRecipe,
        answers: &mut Private<Means>,
        key: &Key,
        from: Beginning<'_>,
    ) -> Result<Self, RunError> {
        if let Some(reading) = recipe.request.reading {
            answers.read_by(reading);
        }
        let mut learner = recipe.learner()?;
        let mut estimates = Estimates::of(&recipe.request.actions);
        if let Some(note) = from.note {
            let state = estimates.restore(&note.state)?;
            learner.restore(note.rounds, state)?;
        }
        let coins = answers.coins(key);
        let policy = learner.policy();
        let reading = recipe.request.reading.as_ref();
        Ok(Self {
            play: choose(learner.as_mut(), &coins, from.step)?,
            learner,
            coins,
            step: from.step,
            policy,
            scores_policy: reading.is_some_and(|reading| reading.is_log()),
            estimates,
            answered: None,
        })
    }

    fn state(&self) -> (u64, Vec<f64>, [u8; 16]) {
        let state = self.estimates.with(&self.learner.state());
        (self.learner.rounds(), state, [0; 16])
    }

    fn weights(&self) -> &[f64] {
        match &self.policy {
            Some(policy) if self.scores_policy => policy,
            _ => &self.play.point,
        }
    }

    fn ask(
        &mut self,
        recipe: &BanditRecipe,
        answers: &mut Private<Means>,
        person: Option<u64>,
        record: Raw<Record>,
        board: Option<&mut Scoreboard>,
    ) -> Result<Option<PendingOf<Means>>, RunError> {
        let Some(reading) = recipe.request.reading else {
            let why = "no reading was planned for: use answer".to_owned();
            return Err(RecipeError::Unfit(why).into());
        };
        if let Some(board) = board {
            board.score(&record, self.weights());
        }
        let ask = match (&recipe.request.actions, self.play.action) {
            (Actions::Arms(_), Some(arm)) => Ask::Arm(arm),
            _ => Ask::Mixture(&self.play.point),
        };
        Ok(answers.answer_record(person, &reading, ask, record)?)
    }

    fn observe(&mut self, recipe: &BanditRecipe, answer: f64) -> Result<(), RunError> {
        self.estimates.add(&self.play, answer);
        self.learner
            .observe(answer / recipe.request.range.bound())?;
        self.step += 1;
        let before = self.play.clone();
        self.choose()?;
        self.answered = Some((before, answer));
        Ok(())
    }

    fn output(&self) -> Turn {
        let (play, answer) = self
            .answered
            .clone()
            .unwrap_or_else(|| (self.play.clone(), 0.0));
        Turn {
            play,
            answer,
            next: self.play.clone(),
        }
    }

    fn model(&self) -> Vec<f64> {
        self.policy
            .clone()
            .unwrap_or_else(|| self.play.point.clone())
    }
}

impl BanditRun {
    /// What the next person meets. It may be ahead of what is durable; the first play of a run
    /// depends on no data.
    #[must_use]
    pub fn play(&self) -> OperatorOnly<&Play> {
        OperatorOnly::new(&self.player.play)
    }

    /// Makes everything durable and gives the play that the next person meets, before its answer.
    /// It is a function of releases and coins, so it may be shown to that person.
    ///
    /// # Errors
    /// Those of the mechanism.
    pub fn next_play(
        &mut self,
        ledger: &mut Ledger,
    ) -> Result<Released<Play, Transcript>, RunError> {
        self.released(ledger, |player| player.play.clone())
    }

    /// Plays one round with the answer itself, as logged or met. `person` as in [`Run::learn`].
    ///
    /// # Errors
    /// [`RunError::Finished`] after the last round; those of the mechanism.
    pub fn answer(&mut self, person: Option<u64>, answer: Raw<f64>) -> Result<(), RunError> {
        self.round(|_, _, answers| Ok(answers.answer(person, answer)?))
    }

    /// Plays one round with a person's whole loss vector, of which only the part that the play
    /// meets is looked at: the arm's entry, or ⟨losses, play⟩.
    ///
    /// # Errors
    /// As [`BanditRun::answer`].
    pub fn learn_losses(
        &mut self,
        person: Option<u64>,
        losses: Raw<Vec<f64>>,
    ) -> Result<(), RunError> {
        self.round(|player, recipe, answers| {
            let play = &player.play;
            Ok(match (&recipe.request.actions, play.action) {
                (Actions::Arms(_), Some(arm)) => answers.answer_arm(person, arm, losses)?,
                _ => answers.answer_linear(person, &play.point, losses)?,
            })
        })
    }

    /// The probabilities that the present play was drawn with, where there are finitely many
    /// actions. They may be ahead of what is durable.
    #[must_use]
    pub fn policy(&self) -> Option<OperatorOnly<&[f64]>> {
        self.player.policy.as_deref().map(OperatorOnly::new)
    }

    /// Estimates for each arm from the answers so far. They may be ahead of the last sync.
    #[must_use]
    pub fn estimates(&self) -> OperatorOnly<Vec<ArmEstimate>> {
        OperatorOnly::new(self.player.estimates.each())
    }
}

/// The learner's play with the coins of an address.
pub(super) fn choose(
    learner: &mut dyn BanditLearner,
    coins: &Source,
    step: u64,
) -> Result<Play, RunError> {
    let mut cursor = coins.cursor(step, 0);
    let mut next = || cursor.next_word();
    Ok(learner.play(&mut Coins::new(&mut next))?)
}
