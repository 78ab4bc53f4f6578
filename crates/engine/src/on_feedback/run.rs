//! A bandit recipe at work: play, one person's answer (or a batch of them), noise, next play.

use super::estimates::{ArmEstimate, Estimates};
use super::recipe::{Actions, BanditError, BanditRecipe};
use crate::note::Note;
use hushstream_account::Guarantee;
use hushstream_learn::bandits::{BanditLearner, Coins, Play};
use hushstream_mechanism::feedback::{Answers, Ask};
use hushstream_mechanism::losses::Record;
use hushstream_mechanism::{
    CameBack, Grant, Ledger, OperatorOnly, Pending, Raw, Released, Storage, Transcript,
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

/// A bandit recipe in progress.
pub struct BanditRun {
    recipe: BanditRecipe,
    answers: Answers,
    learner: Box<dyn BanditLearner>,
    coins: Source,
    play: Play,
    /// The probabilities that it was drawn with, where there are finitely many.
    policy: Option<Vec<f64>>,
    estimates: Estimates,
    waiting: Vec<Pending<Turn, Transcript>>,
    rounds: u64,
    behind: bool,
}

impl BanditRun {
    /// Opens a run that has been paid for; `storage` must be new and will hold private data.
    ///
    /// # Errors
    /// Those of the mechanism.
    pub fn open(
        recipe: BanditRecipe,
        grant: Grant,
        key: &Key,
        ledger: &mut Ledger,
        storage: impl Storage + 'static,
    ) -> Result<Self, BanditError> {
        let learner = recipe.learner()?;
        Self::with_learner(recipe, learner, grant, key, ledger, storage)
    }

    /// The same with a learner of one's own, which is resumed with [`BanditRun::resume_with`].
    ///
    /// # Errors
    /// Those of the mechanism.
    pub fn with_learner(
        recipe: BanditRecipe,
        learner: Box<dyn BanditLearner>,
        grant: Grant,
        key: &Key,
        ledger: &mut Ledger,
        storage: impl Storage + 'static,
    ) -> Result<Self, BanditError> {
        let answers = Answers::open(recipe.plan.clone(), grant, key, ledger, storage)?;
        let mut run = Self::assemble(recipe, learner, answers, key)?;
        run.checkpoint()?;
        Ok(run)
    }

    fn assemble(
        recipe: BanditRecipe,
        mut learner: Box<dyn BanditLearner>,
        mut answers: Answers,
        key: &Key,
    ) -> Result<Self, BanditError> {
        answers.keep_note();
        let coins = answers.coins(key);
        let policy = learner.policy();
        let play = choose(learner.as_mut(), &coins, learner_round(&answers))?;
        Ok(Self {
            estimates: Estimates::of(&recipe.request.actions),
            policy,
            rounds: answers.steps() * recipe.batch(),
            recipe,
            answers,
            learner,
            coins,
            play,
            waiting: Vec::new(),
            behind: false,
        })
    }

    /// Continues a run from its journal. In a new instance the learner goes on from its last checkpoint.
    ///
    /// # Errors
    /// Those of the mechanism; a journal of another recipe.
    pub fn resume(
        recipe: BanditRecipe,
        storage: impl Storage + 'static,
        key: &Key,
        ledger: &mut Ledger,
        last_published: Option<u64>,
    ) -> Result<(Self, CameBack), BanditError> {
        let learner = recipe.learner()?;
        Self::resume_with(recipe, learner, storage, key, ledger, last_published)
    }

    /// The same with a fresh learner of one's own.
    ///
    /// # Errors
    /// Those of the mechanism; a journal of another recipe.
    pub fn resume_with(
        recipe: BanditRecipe,
        mut learner: Box<dyn BanditLearner>,
        storage: impl Storage + 'static,
        key: &Key,
        ledger: &mut Ledger,
        last_published: Option<u64>,
    ) -> Result<(Self, CameBack), BanditError> {
        let description = recipe.description();
        let mut kept = Ok(None);
        let back = Answers::resume(storage, key, ledger, last_published, |note| {
            Note::accept(&mut kept, note, &description)
        });
        let note = kept?;
        let back = back?;
        let mut estimates = Estimates::of(&recipe.request.actions);
        if let Some(note) = note {
            let state = estimates.restore(&note.state)?;
            learner.restore(note.rounds, state)?;
        }
        let mut answers = back.answers;
        answers.keep_note();
        let coins = answers.coins(key);
        let first = learner_round(&answers) - back.recent.len() as u64;
        let mut run = Self {
            estimates,
            policy: learner.policy(),
            play: choose(learner.as_mut(), &coins, first)?,
            rounds: answers.steps() * recipe.batch(),
            recipe,
            answers,
            learner,
            coins,
            waiting: Vec::new(),
            behind: false,
        };
        for (round, pending) in (first + 1..).zip(back.recent) {
            run.observe(pending, round)?;
        }
        Ok((run, back.outcome))
    }

    /// What the next person meets. **Not a release** until a sync has covered it; the first play of a run depends on no data.
    #[must_use]
    pub fn question(&self) -> &Play {
        &self.play
    }

    /// Plays one round with the answer itself, as logged or met.
    ///
    /// # Errors
    /// [`BanditError::Finished`] after the last round; those of the mechanism.
    pub fn learn(&mut self, answer: Raw<f64>) -> Result<(), BanditError> {
        self.begin_round()?;
        let pending = self.answers.answer(answer)?;
        self.end_round(pending)
    }

    /// Plays one round with a person's whole loss vector, of which only the part that the play meets is looked at: the arm's entry, or ⟨losses, play⟩.
    ///
    /// # Errors
    /// As [`BanditRun::learn`].
    pub fn learn_losses(&mut self, losses: Raw<Vec<f64>>) -> Result<(), BanditError> {
        self.begin_round()?;
        let pending = match (&self.recipe.request.actions, self.play.action) {
            (Actions::Arms(_), Some(arm)) => self.answers.answer_arm(arm, losses)?,
            _ => self.answers.answer_linear(&self.play.point, losses)?,
        };
        self.end_round(pending)
    }

    /// Plays one round with a record, as the request's reading says.
    ///
    /// # Errors
    /// A request without a reading; as [`BanditRun::learn`].
    pub fn learn_record(&mut self, record: Raw<Record>) -> Result<(), BanditError> {
        let Some(reading) = self.recipe.request.reading else {
            return Err(BanditError::Unfit(
                "no reading was planned for: use learn with answers".into(),
            ));
        };
        self.begin_round()?;
        let ask = match (&self.recipe.request.actions, self.play.action) {
            (Actions::Arms(_), Some(arm)) => Ask::Arm(arm),
            _ => Ask::Mixture(&self.play.point),
        };
        let pending = self.answers.answer_record(&reading, ask, record)?;
        self.end_round(pending)
    }

    fn begin_round(&mut self) -> Result<(), BanditError> {
        if self.behind {
            return Err(BanditError::Behind);
        }
        if let Some(planned) = self.recipe.request.rounds
            && self.rounds >= planned
        {
            return Err(BanditError::Finished {
                planned,
                refused: self.rounds + 1,
            });
        }
        if self.answers.checkpoint_is_due() {
            self.checkpoint()?;
        }
        Ok(())
    }

    fn end_round(&mut self, pending: Option<Pending<f64, Transcript>>) -> Result<(), BanditError> {
        self.rounds += 1;
        match pending {
            Some(pending) => {
                let round = learner_round(&self.answers);
                self.observe(pending, round)
            }
            None => Ok(()),
        }
    }

    fn observe(
        &mut self,
        pending: Pending<f64, Transcript>,
        round: u64,
    ) -> Result<(), BanditError> {
        let (learner, coins) = (self.learner.as_mut(), &self.coins);
        let (estimates, policy) = (&mut self.estimates, &mut self.policy);
        let bound = self.recipe.request.range.bound();
        let before = self.play.clone();
        let mut outcome = Ok(());
        let turn = pending.map(|answer| {
            estimates.add(&before, answer);
            let next = learner
                .observe(answer / bound)
                .map_err(BanditError::from)
                .and_then(|()| {
                    *policy = learner.policy();
                    choose(learner, coins, round)
                });
            let next = next.unwrap_or_else(|error| {
                outcome = Err(error);
                before.clone()
            });
            Turn {
                play: before,
                answer,
                next,
            }
        });
        self.behind = outcome.is_err();
        outcome?;
        let mut next = None;
        self.waiting.push(turn.map(|turn| {
            next = Some(turn.next.clone());
            turn
        }));
        if let Some(next) = next {
            self.play = next;
        }
        Ok(())
    }

    fn checkpoint(&mut self) -> Result<(), BanditError> {
        let note = Note {
            recipe: self.recipe.description(),
            rounds: self.learner.rounds(),
            state: self.estimates.with(&self.learner.state()),
            coins: [0; 16],
        };
        Ok(self.answers.checkpoint(note.write()?)?)
    }

    /// Makes everything so far durable and gives the turns that may now leave, in order.
    ///
    /// # Errors
    /// Those of the mechanism.
    pub fn sync(
        &mut self,
        ledger: &mut Ledger,
    ) -> Result<Vec<Released<Turn, Transcript>>, BanditError> {
        self.answers.sync(ledger)?;
        let mut out = Vec::with_capacity(self.waiting.len());
        for pending in self.waiting.drain(..) {
            out.extend(self.answers.publish(pending).ok());
        }
        Ok(out)
    }

    /// The probabilities that the present play was drawn with, where there are finitely many actions. **Not a release** until a sync has covered it.
    #[must_use]
    pub fn policy(&self) -> Option<&[f64]> {
        self.policy.as_deref()
    }

    /// What the released answers tell about each arm. **Not a release** until a sync has covered it.
    #[must_use]
    pub fn estimates(&self) -> Vec<ArmEstimate> {
        self.estimates.each()
    }

    /// Whether the next record writes the journal anew, without the releases so far.
    #[must_use]
    pub fn checkpoint_is_due(&self) -> bool {
        self.answers.checkpoint_is_due()
    }

    /// Records seen.
    #[must_use]
    pub fn rounds(&self) -> u64 {
        self.rounds
    }

    /// The recipe.
    #[must_use]
    pub fn recipe(&self) -> &BanditRecipe {
        &self.recipe
    }

    /// Malformed answers, and clipped ones.
    #[must_use]
    pub fn counts(&self) -> (OperatorOnly<u64>, OperatorOnly<u64>) {
        self.answers.counts()
    }

    /// What is promised about everything this run publishes.
    ///
    /// # Errors
    /// Never for a run that exists.
    pub fn guarantee(&self) -> Result<Guarantee, BanditError> {
        let entry = self.recipe.request.recipe.entry();
        let reading = self.recipe.request.reading.as_ref();
        let guarantee = self.answers.guarantee(reading)?;
        Ok(guarantee.of_algorithm(entry.name, entry.source, entry.errata))
    }
}

/// The address of the coins of the next play.
fn learner_round(answers: &Answers) -> u64 {
    answers.steps()
}

/// The learner's next play, with the coins of this address. The same state and address give the same play, so a play that a checkpoint forgot is made again.
fn choose(
    learner: &mut dyn BanditLearner,
    coins: &Source,
    round: u64,
) -> Result<Play, BanditError> {
    let mut cursor = coins.cursor(round, 0);
    let mut next = || cursor.next_word();
    Ok(learner.play(&mut Coins::new(&mut next))?)
}
