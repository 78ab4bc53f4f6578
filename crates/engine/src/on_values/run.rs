//! `pftal-bandit` at work.

use super::recipe::{ValuesError, ValuesRecipe};
use crate::catalogue::RecipeName;
use crate::note::Note;
use hushstream_account::{Guarantee, GuaranteeError};
use hushstream_learn::Learner;
use hushstream_learn::bandits::{Coins, sphere};
use hushstream_mechanism::feedback::Range;
use hushstream_mechanism::losses::{Loss, Record, evaluate};
use hushstream_mechanism::sums::{PrivateSum, Resumed};
use hushstream_mechanism::{
    Contribution, Grant, Ledger, OperatorOnly, Pending, Raw, Released, Storage, Transcript,
};
use hushstream_noise::{Instance, Key, Source};

/// Apart from every mechanism's own generators, whose numbers are small.
const COINS: u64 = 1 << 62;

/// The recipe in progress.
pub struct ValuesRun {
    recipe: ValuesRecipe,
    sum: PrivateSum<Transcript>,
    learner: Box<dyn Learner>,
    instance: [u8; 16],
    coins: Source,
    direction: Vec<f64>,
    play: Vec<f64>,
    waiting: Vec<Pending<Vec<f64>, Transcript>>,
    rounds: u64,
    behind: bool,
}

/// A loss whose "gradient" at a play is the one-point gradient of a clipped value: what a record is asked for.
struct OnePointValue<'a> {
    loss: &'a dyn Loss,
    direction: &'a [f64],
    factor: f64,
    range: Range,
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

impl ValuesRun {
    /// Opens a run that has been paid for; `storage` must be new and will hold private data.
    ///
    /// # Errors
    /// Those of the mechanism.
    pub fn open(
        recipe: ValuesRecipe,
        grant: Grant,
        key: &Key,
        ledger: &mut Ledger,
        storage: impl Storage + 'static,
    ) -> Result<Self, ValuesError> {
        let instance = Instance::fresh(key, COINS + grant.number(), 0)?.to_bytes();
        let mut sum = PrivateSum::open(recipe.plan.clone(), grant, key, ledger, storage)?;
        sum.keep_note();
        sum.sync(ledger)?;
        let learner = recipe.learner()?;
        let mut run = Self::assemble(recipe, sum, learner, instance, key);
        run.checkpoint()?;
        Ok(run)
    }

    fn assemble(
        recipe: ValuesRecipe,
        sum: PrivateSum<Transcript>,
        learner: Box<dyn Learner>,
        instance: [u8; 16],
        key: &Key,
    ) -> Self {
        let mut run = Self {
            coins: Source::open(key, Instance::from_bytes(instance), COINS),
            rounds: sum.steps(),
            recipe,
            sum,
            learner,
            instance,
            direction: Vec::new(),
            play: Vec::new(),
            waiting: Vec::new(),
            behind: false,
        };
        run.choose();
        run
    }

    /// Continues a run from its journal.
    ///
    /// # Errors
    /// Those of the mechanism; a journal of another recipe.
    pub fn resume(
        recipe: ValuesRecipe,
        storage: impl Storage + 'static,
        key: &Key,
        ledger: &mut Ledger,
        last_published: Option<u64>,
    ) -> Result<(Self, Resumed), ValuesError> {
        let description = recipe.description();
        let mut kept = Ok(None);
        let back = PrivateSum::resume_if(storage, key, ledger, last_published, |note| {
            Note::accept(&mut kept, note, &description)
        });
        let note = kept?;
        let back = back?;
        let mut sum = back.sum;
        sum.keep_note();
        let mut learner = recipe.learner()?;
        let instance = match &note {
            Some(note) => {
                learner.restore(note.rounds, &note.state)?;
                note.coins
            }
            // A crash while the run was being opened: nothing has been asked yet.
            None => Instance::fresh(key, COINS, 0)?.to_bytes(),
        };
        let mut run = Self::assemble(recipe, sum, learner, instance, key);
        for release in back.recent {
            run.observe(release)?;
        }
        if back.outcome != Resumed::Continued || note.is_none() {
            run.checkpoint()?;
        }
        Ok((run, back.outcome))
    }

    /// The direction and the play of the present iterate.
    fn choose(&mut self) {
        let iterate = self.learner.iterate();
        let mut cursor = self.coins.cursor(self.learner.rounds(), 0);
        let mut next = || cursor.next_word();
        self.direction = sphere(iterate.len(), &mut Coins::new(&mut next));
        self.play = self.recipe.geometry.play(iterate, &self.direction);
    }

    /// The play that the next record is asked about. **Not a release** until a sync has covered it; the first depends on no data.
    #[must_use]
    pub fn question(&self) -> &[f64] {
        &self.play
    }

    /// The loss of a record at the present play: computed from private data.
    #[must_use]
    pub fn loss(&self, record: &Raw<Record>) -> OperatorOnly<f64> {
        evaluate(self.recipe.request.loss.as_ref(), record, &self.play)
    }

    /// Plays one round.
    ///
    /// # Errors
    /// [`ValuesError::Finished`] after the last round; those of the mechanism.
    pub fn learn(&mut self, record: Raw<Record>) -> Result<(), ValuesError> {
        if self.behind {
            return Err(ValuesError::Behind);
        }
        let planned = self.recipe.request.rounds;
        if self.rounds >= planned {
            return Err(ValuesError::Finished {
                planned,
                refused: self.rounds + 1,
            });
        }
        if self.sum.checkpoint_is_due() {
            self.checkpoint()?;
        }
        self.rounds += 1;
        if self.sum.steps() >= self.recipe.plan.most_releases() {
            return Ok(()); // nothing is released after the last round, so nothing is asked
        }
        let ask = OnePointValue {
            loss: self.recipe.request.loss.as_ref(),
            direction: &self.direction,
            factor: self.recipe.geometry.factor(),
            range: self.recipe.request.range,
        };
        let release = self
            .sum
            .add_gradient(None, &ask, &self.play, record, None)?;
        release.map_or(Ok(()), |release| self.observe(release))
    }

    fn observe(&mut self, release: Pending<Vec<f64>, Transcript>) -> Result<(), ValuesError> {
        let learner = self.learner.as_mut();
        let mut outcome = Ok(());
        let observed = release.map(|prefix| outcome = learner.observe(&prefix));
        self.behind = outcome.is_err();
        outcome?;
        self.choose();
        let play = self.play.clone();
        self.waiting.push(observed.map(|()| play));
        Ok(())
    }

    fn checkpoint(&mut self) -> Result<(), ValuesError> {
        let note = Note {
            recipe: self.recipe.description(),
            rounds: self.learner.rounds(),
            state: self.learner.state(),
            coins: self.instance,
        };
        Ok(self.sum.checkpoint(note.write()?)?)
    }

    /// Makes everything so far durable and gives the plays that may now leave, in order.
    ///
    /// # Errors
    /// Those of the mechanism.
    pub fn sync(
        &mut self,
        ledger: &mut Ledger,
    ) -> Result<Vec<Released<Vec<f64>, Transcript>>, ValuesError> {
        self.sum.sync(ledger)?;
        let mut out = Vec::with_capacity(self.waiting.len());
        for pending in self.waiting.drain(..) {
            out.extend(self.sum.publish(pending).ok());
        }
        Ok(out)
    }

    /// Records seen.
    #[must_use]
    pub fn rounds(&self) -> u64 {
        self.rounds
    }

    /// The recipe.
    #[must_use]
    pub fn recipe(&self) -> &ValuesRecipe {
        &self.recipe
    }

    /// Malformed records, and clipped contributions.
    #[must_use]
    pub fn counts(&self) -> (OperatorOnly<u64>, OperatorOnly<u64>) {
        (self.sum.nulls(), self.sum.clipped())
    }

    /// What is promised about everything this run publishes.
    ///
    /// # Errors
    /// Never for a run that exists.
    pub fn guarantee(&self) -> Result<Guarantee, GuaranteeError> {
        let entry = RecipeName::PftalBandit.entry();
        let guarantee = self.sum.guarantee()?;
        Ok(guarantee.of_algorithm(entry.name, entry.source, entry.errata))
    }
}
