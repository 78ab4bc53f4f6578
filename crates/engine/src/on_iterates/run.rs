//! A recipe on perturbed iterates at work: the same loop, syncing and resuming as on sums.
//!
//! Each round gives one record to the secret learner; the noisy iterate that comes out, projected onto the set, is what is published and what the next record is evaluated at. It may run ahead of the disk, but leaves the run only after the sync that covers it.

use super::recipe::IterateRecipe;
use super::tail::Tail;
use crate::on_sums::RunError;
use hushstream_account::{Guarantee, GuaranteeError};
use hushstream_mechanism::losses::Record;
use hushstream_mechanism::perturb::PerturbedIterates;
use hushstream_mechanism::{
    CameBack, Grant, Ledger, OperatorOnly, Pending, Raw, Released, Storage, Transcript,
};
use hushstream_noise::Key;

/// A recipe in progress.
pub struct IterateRun {
    recipe: IterateRecipe,
    iterates: PerturbedIterates<Transcript>,
    /// The last release, or the public start.
    question: Vec<f64>,
    /// Releases that no sync has covered yet.
    waiting: Vec<Pending<Vec<f64>, Transcript>>,
    /// The mean of the later half of the releases.
    tail: Tail,
    /// Records seen.
    rounds: u64,
}

impl IterateRun {
    /// Opens a run that has been paid for; `storage` must be new and will hold private data.
    ///
    /// # Errors
    /// Those of the mechanism.
    pub fn open(
        recipe: IterateRecipe,
        grant: Grant,
        key: &Key,
        ledger: &mut Ledger,
        storage: impl Storage + 'static,
    ) -> Result<Self, RunError> {
        let plan = recipe.plan().clone();
        let iterates = PerturbedIterates::open(plan, grant, key, ledger, storage)?;
        Ok(Self::begin(recipe, iterates))
    }

    fn begin(recipe: IterateRecipe, iterates: PerturbedIterates<Transcript>) -> Self {
        let mut question = vec![0.0; recipe.request().set.dimension()];
        // The length is the set's own.
        let _ = recipe.request().set.centre(&mut question);
        Self {
            tail: Tail::of(&recipe),
            recipe,
            iterates,
            question,
            waiting: Vec::new(),
            rounds: 0,
        }
    }

    /// Continues a run from its journal. A journal that is older than what was published goes on as a new instance, from the public start.
    ///
    /// # Errors
    /// Those of the mechanism; a journal of another recipe.
    pub fn resume(
        recipe: IterateRecipe,
        storage: impl Storage + 'static,
        key: &Key,
        ledger: &mut Ledger,
        last_published: Option<u64>,
    ) -> Result<(Self, CameBack), RunError> {
        let plan = recipe.plan().clone();
        let back = PerturbedIterates::resume(plan, storage, key, ledger, last_published)?;
        let mut run = Self::begin(recipe, back.iterates);
        run.rounds = run.iterates.steps();
        if let Some(before) = back.before {
            // Published before the checkpoint was made: only the place to go on from. The note counts it already.
            let _ = run.observe(before);
        }
        run.tail = Tail::of(&run.recipe);
        run.tail.restore(&back.note)?;
        for release in back.recent {
            let waiting = run.observe(release);
            run.waiting.push(waiting);
        }
        Ok((run, back.outcome))
    }

    /// Projects a release, and moves there.
    fn observe(&mut self, release: Pending<Vec<f64>, Transcript>) -> Pending<Vec<f64>, Transcript> {
        let (set, question) = (&self.recipe.request().set, &mut self.question);
        let tail = &mut self.tail;
        release.map(|mut point| {
            // A set that cannot project leaves releases as they are; those that serve a loss all can.
            let _ = set.project(&mut point);
            question.copy_from_slice(&point);
            tail.add(&point);
            point
        })
    }

    /// The release that the next record will be evaluated at. **Not a release** yet: it may be ahead of what is durable, and is for the round loop and for the operator's own measurements only.
    pub fn question(&self) -> &[f64] {
        &self.question
    }

    /// The mean of the releases after half of the planned records, and how many they are: post-processing, so it costs nothing, with noise that is smaller by about the square root of their number. Nothing before the first of them, and where the
    /// horizon is not known or one model is all that is released. **Not a release** until a sync has covered it.
    #[must_use]
    pub fn mean(&self) -> Option<(u64, Vec<f64>)> {
        self.tail.mean()
    }

    /// The loss of a record at the present release: computed from private data.
    #[must_use]
    pub fn loss(&self, record: &Raw<Record>) -> Option<OperatorOnly<f64>> {
        self.recipe
            .loss()
            .map(|loss| hushstream_mechanism::losses::evaluate(loss, record, self.question()))
    }

    /// Plays one round. `person` must be given if and only if the recipe limits persons.
    ///
    /// # Errors
    /// [`RunError::Finished`] after the last round; those of the mechanism.
    pub fn learn(&mut self, person: Option<u64>, record: Raw<Record>) -> Result<(), RunError> {
        let planned = self.recipe.rounds();
        if self.rounds >= planned {
            return Err(RunError::Finished {
                planned,
                refused: self.rounds + 1,
            });
        }
        if self.iterates.checkpoint_is_due() {
            self.iterates.note(self.tail.note()?);
        }
        // Nothing is released after the last round, so nothing is asked.
        if self.iterates.steps() < self.recipe.plan().most_steps()
            && let Some(release) = self.iterates.add(person, record)?
        {
            let waiting = self.observe(release);
            self.waiting.push(waiting);
        }
        self.rounds += 1;
        Ok(())
    }

    /// Makes everything so far durable and gives the releases that may now leave, in order.
    ///
    /// # Errors
    /// Those of the mechanism.
    pub fn sync(
        &mut self,
        ledger: &mut Ledger,
    ) -> Result<Vec<Released<Vec<f64>, Transcript>>, RunError> {
        self.iterates.sync(ledger)?;
        let mut out = Vec::with_capacity(self.waiting.len());
        for pending in self.waiting.drain(..) {
            // A sync has covered every step of this object, so nothing is given back.
            out.extend(self.iterates.publish(pending).ok());
        }
        Ok(out)
    }

    /// Whether the next record writes the journal anew, without the releases so far.
    #[must_use]
    pub fn checkpoint_is_due(&self) -> bool {
        self.iterates.checkpoint_is_due()
    }

    /// Records seen.
    #[must_use]
    pub fn rounds(&self) -> u64 {
        self.rounds
    }

    /// The recipe.
    #[must_use]
    pub fn recipe(&self) -> &IterateRecipe {
        &self.recipe
    }

    /// Malformed or over-limit records, and clipped ones.
    #[must_use]
    pub fn counts(&self) -> (OperatorOnly<u64>, OperatorOnly<u64>) {
        (self.iterates.nulls(), self.iterates.clipped())
    }

    /// What is promised about everything this run publishes.
    ///
    /// # Errors
    /// Never for a run that exists; the numbers were checked.
    pub fn guarantee(&self) -> Result<Guarantee, GuaranteeError> {
        let entry = self.recipe.request().recipe.entry();
        let guarantee = self.iterates.guarantee()?;
        Ok(guarantee
            .of_algorithm(entry.name, entry.source, entry.errata)
            .over_records(self.recipe.request().rounds))
    }
}
