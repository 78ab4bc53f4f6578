//! A recipe at work: the round loop, syncing, and resuming.
//!
//! Each round puts the learner's iterate as a question to one record; the mechanism answers with a noisy prefix sum; the learner moves. The
//! learner may run ahead of the disk (its next iterate is only the next question), but an iterate leaves the run only after the sync that covers
//! the release it was computed from. Resuming equals never having stopped, bit for bit: the sum replays its journal, and the learner, whose state
//! is a note in the journal's checkpoint, replays the releases.

use super::recipe::{Ask, Recipe, RecipeError};
use hushstream_account::{Guarantee, GuaranteeError};
use hushstream_learn::{LearnError, Learner};
use hushstream_mechanism::losses::Record;
use hushstream_mechanism::perturb::PerturbError;
use hushstream_mechanism::sums::{PrivateSum, Resumed, SumError};
use hushstream_mechanism::{
    Grant, GuaranteeKind, Ledger, OperatorOnly, Pending, Raw, Released, Scoreboard, Storage,
};
use hushstream_noise::Key;
use serde::{Deserialize, Serialize};

/// Why a run refuses.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The mechanism.
    #[error(transparent)]
    Sum(#[from] SumError),
    /// Perturbed iterates.
    #[error(transparent)]
    Iterates(#[from] PerturbError),
    /// The learner.
    #[error(transparent)]
    Learn(#[from] LearnError),
    /// The recipe.
    #[error(transparent)]
    Recipe(#[from] RecipeError),
    /// All rounds have been played.
    #[error("round {refused} is refused: the recipe was planned for {planned}")]
    Finished {
        /// T.
        planned: u64,
        /// T + 1.
        refused: u64,
    },
    /// The journal belongs to another recipe.
    #[error("the journal belongs to another run: its recipe, privacy or settings differ")]
    OtherRecipe {
        /// What the journal says.
        stored: String,
    },
    /// The learner could not use a release.
    #[error("the learner failed on an earlier release and cannot go on")]
    Behind,
    /// The journal's note does not decode.
    #[error("the journal holds no learner of this version")]
    Note,
}

/// What a checkpoint says of the learner.
#[derive(Serialize, Deserialize)]
struct Note {
    recipe: String,
    rounds: u64,
    state: Vec<f64>,
}

impl Note {
    /// A note of this recipe.
    fn read(bytes: &[u8], description: &str) -> Result<Self, RunError> {
        let note: Self = postcard::from_bytes(bytes).map_err(|_| RunError::Note)?;
        if note.recipe == description {
            Ok(note)
        } else {
            Err(RunError::OtherRecipe {
                stored: note.recipe,
            })
        }
    }
}

/// A recipe in progress.
pub struct Run<G> {
    recipe: Recipe,
    sum: PrivateSum<G>,
    learner: Box<dyn Learner>,
    /// Iterates that no sync has covered yet.
    waiting: Vec<Pending<Vec<f64>, G>>,
    /// Whether only the last of them is kept.
    keeps_last: bool,
    /// The release that the last of them was computed from.
    last: Option<Pending<Vec<f64>, G>>,
    /// Records seen.
    rounds: u64,
    /// Whether the learner has failed on a release: it must not go on without it.
    behind: bool,
}

impl<G: GuaranteeKind> Run<G> {
    /// Opens a run that has been paid for; `storage` must be new and will hold private data.
    ///
    /// # Errors
    /// Those of the mechanism; a recipe of the other guarantee.
    pub fn open(
        recipe: Recipe,
        grant: Grant,
        key: &Key,
        ledger: &mut Ledger,
        storage: impl Storage + 'static,
    ) -> Result<Self, RunError> {
        let mut sum = PrivateSum::open(recipe.plan().clone(), grant, key, ledger, storage)?;
        let mut learner = recipe.learner()?;
        recipe.greet(learner.as_mut(), &mut sum)?;
        sum.keep_note();
        sum.sync(ledger)?;
        let mut run = Self {
            recipe,
            sum,
            learner,
            waiting: Vec::new(),
            keeps_last: false,
            last: None,
            rounds: 0,
            behind: false,
        };
        run.checkpoint()?;
        Ok(run)
    }

    /// Continues a run from its journal.
    ///
    /// # Errors
    /// Those of the mechanism; a journal of another recipe.
    pub fn resume(
        recipe: Recipe,
        storage: impl Storage + 'static,
        key: &Key,
        ledger: &mut Ledger,
        last_published: Option<u64>,
    ) -> Result<(Self, Resumed), RunError> {
        let description = recipe.description();
        let mut stored = Ok(None);
        let resumption = PrivateSum::resume_if(storage, key, ledger, last_published, |note| {
            stored = note.map_or(Ok(None), |note| Note::read(note, &description).map(Some));
            stored.is_ok()
        });
        // Why the note was not accepted says more than that it was not.
        let stored = stored?;
        let resumption = resumption?;
        let mut sum = resumption.sum;
        sum.keep_note();
        let mut learner = recipe.learner()?;
        match stored {
            Some(note) => learner.restore(note.rounds, &note.state)?,
            // A crash while the run was being opened: nothing has been asked yet.
            None if sum.steps() == 0 => recipe.greet(learner.as_mut(), &mut sum)?,
            None => return Err(RunError::Note),
        }
        let rounds = sum.steps() * recipe.plan().request().batch;
        let mut run = Self {
            recipe,
            sum,
            learner,
            waiting: Vec::new(),
            keeps_last: false,
            last: None,
            rounds,
            behind: false,
        };
        for release in resumption.recent {
            run.observe(release)?;
        }
        // A new instance, or a run that had no note yet, gets one of its own.
        if resumption.outcome != Resumed::Continued || run.sum.steps() == 0 {
            run.checkpoint()?;
        }
        Ok((run, resumption.outcome))
    }

    /// Draws noise ahead of need: see [`PrivateSum::draw_ahead`].
    pub fn draw_ahead(&mut self) {
        self.sum.draw_ahead();
    }

    /// From now on only the last iterate before a sync is given out: for whoever does not need every one, and has not the memory.
    pub fn keep_only_the_last(&mut self) {
        self.keeps_last = true;
    }

    /// The iterate that the next record will be asked about. **Not a release**: it may be ahead of what is durable, and is for the round loop and for
    /// the operator's own measurements only.
    pub fn question(&self) -> &[f64] {
        self.learner.iterate()
    }

    /// The loss of a record at the present iterate: computed from private data.
    #[must_use]
    pub fn loss(&self, record: &Raw<Record>) -> Option<OperatorOnly<f64>> {
        self.recipe
            .loss()
            .map(|loss| hushstream_mechanism::losses::evaluate(loss, record, self.question()))
    }

    /// Plays one round: asks the record, and moves when a batch is full. `person` must be given if and only if the recipe limits persons.
    ///
    /// # Errors
    /// [`RunError::Finished`] after the last round; those of the mechanism.
    pub fn learn(&mut self, person: Option<u64>, record: Raw<Record>) -> Result<(), RunError> {
        self.take(person, record, None)
    }

    /// The same, for an operator who keeps the score: the board predicts the record first, with the iterate it is asked about.
    ///
    /// # Errors
    /// As [`Run::learn`].
    pub fn take(
        &mut self,
        person: Option<u64>,
        record: Raw<Record>,
        mut board: Option<&mut Scoreboard>,
    ) -> Result<(), RunError> {
        if self.behind {
            return Err(RunError::Behind);
        }
        let planned = self.recipe.rounds();
        if self.rounds >= planned {
            return Err(RunError::Finished {
                planned,
                refused: self.rounds + 1,
            });
        }
        if self.sum.checkpoint_is_due() {
            self.checkpoint()?;
        }
        let is_asked = self.sum.steps() < self.recipe.plan().most_releases();
        let sums_gradients = matches!(self.recipe.ask(), Ask::Gradient(_));
        if let Some(board) = board.take_if(|_| !is_asked || !sums_gradients) {
            board.score(&record, self.learner.iterate());
        }
        if !is_asked {
            self.rounds += 1;
            return Ok(()); // nothing is released after the last round
        }
        let answer = match self.recipe.ask() {
            Ask::Gradient(loss) => {
                let weights = self.learner.iterate();
                self.sum
                    .add_gradient(person, loss.as_ref(), weights, record, board)?
            }
            Ask::Moments(moments) => self.sum.add_moments(person, moments, record)?,
        };
        self.rounds += 1;
        answer.map_or(Ok(()), |release| self.observe(release))
    }

    fn observe(&mut self, release: Pending<Vec<f64>, G>) -> Result<(), RunError> {
        let learner = self.learner.as_mut();
        // Items that a new instance has lost are in no sum, so what counts is what the learner has seen.
        let offset = (learner.rounds() + 1) as f64 * self.recipe.offset();
        let mut outcome = Ok(());
        let release = release.map(|mut prefix| {
            if offset.abs() > 0.0 {
                prefix.iter_mut().for_each(|sum| *sum += offset);
            }
            outcome = learner.observe(&prefix);
            prefix
        });
        if outcome.is_err() {
            // What the learner holds now belongs to no release.
            (self.behind, self.last) = (true, None);
        }
        outcome?;
        if self.keeps_last {
            // Its place among the releases is kept; the iterate is the learner's until somebody wants it.
            if let Some(unwanted) = self.last.replace(release) {
                self.sum.discard(unwanted);
            }
            self.waiting.clear();
        } else {
            self.waiting
                .push(release.map(|prefix| self.iterate_in(prefix)));
        }
        Ok(())
    }

    /// The present iterate, in memory that is at hand.
    fn iterate_in(&self, mut room: Vec<f64>) -> Vec<f64> {
        room.clear();
        room.extend_from_slice(self.learner.iterate());
        room
    }

    fn checkpoint(&mut self) -> Result<(), RunError> {
        let note = Note {
            recipe: self.recipe.description(),
            rounds: self.learner.rounds(),
            state: self.learner.state(),
        };
        let note = postcard::to_allocvec(&note).map_err(|_| RunError::Note)?;
        Ok(self.sum.checkpoint(note)?)
    }

    /// Makes everything so far durable and gives the iterates that may now leave, in order.
    ///
    /// # Errors
    /// Those of the mechanism.
    pub fn sync(&mut self, ledger: &mut Ledger) -> Result<Vec<Released<Vec<f64>, G>>, RunError> {
        self.sum.sync(ledger)?;
        if let Some(release) = self.last.take() {
            let iterate = release.map(|prefix| self.iterate_in(prefix));
            self.waiting.push(iterate);
        }
        let mut out = Vec::with_capacity(self.waiting.len());
        for pending in self.waiting.drain(..) {
            // A sync has covered every step of this object, so nothing is given back.
            out.extend(self.sum.publish(pending).ok());
        }
        Ok(out)
    }

    /// Makes everything durable and gives the last iterate with the number of releases it comes from. After the sync it is a function of
    /// releases that may leave, so it may leave too; iterates that were waiting are the caller's by [`Run::sync`], before.
    ///
    /// # Errors
    /// Those of the mechanism.
    pub fn settled(&mut self, ledger: &mut Ledger) -> Result<(u64, Vec<f64>), RunError> {
        self.sum.sync(ledger)?;
        Ok((self.sum.steps(), self.learner.iterate().to_vec()))
    }

    /// Whether the next record writes the journal anew, without the releases so far: whoever keeps all of them should sync and store them first.
    #[must_use]
    pub fn checkpoint_is_due(&self) -> bool {
        self.sum.checkpoint_is_due()
    }

    /// Records seen.
    #[must_use]
    pub fn rounds(&self) -> u64 {
        self.rounds
    }

    /// The recipe.
    #[must_use]
    pub fn recipe(&self) -> &Recipe {
        &self.recipe
    }

    /// Malformed or over-limit records, and clipped contributions.
    #[must_use]
    pub fn counts(&self) -> (OperatorOnly<u64>, OperatorOnly<u64>) {
        (self.sum.nulls(), self.sum.clipped())
    }

    /// What is promised about everything this run publishes.
    ///
    /// # Errors
    /// Never for a run that exists; the numbers were checked.
    pub fn guarantee(&self) -> Result<Guarantee, GuaranteeError> {
        let entry = self.recipe.request().recipe.entry();
        let guarantee = self.sum.guarantee()?;
        Ok(guarantee
            .of_algorithm(entry.name, entry.source, entry.errata)
            .over_records(self.recipe.request().rounds))
    }
}
