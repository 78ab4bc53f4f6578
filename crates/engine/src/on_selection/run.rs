//! A recipe for experts at work.

use super::recipe::{Advice, ExpertsError, ExpertsRecipe};
use crate::note::Note;
use hushstream_account::Guarantee;
use hushstream_mechanism::losses::Record;
use hushstream_mechanism::select::Selection;
use hushstream_mechanism::{
    CameBack, Grant, Ledger, OperatorOnly, Pending, Raw, Released, Storage, Transcript,
};
use hushstream_noise::Key;

/// A recipe for experts in progress.
pub struct ExpertsRun {
    recipe: ExpertsRecipe,
    selection: Selection,
    waiting: Vec<Pending<u32, Transcript>>,
    rounds: u64,
}

impl ExpertsRun {
    /// Opens a run that has been paid for (`recipe.plan().charge()` from a ledger with `recipe.plan().filter()`); `storage` must be new and will hold private data.
    ///
    /// # Errors
    /// Those of the mechanism.
    pub fn open(
        recipe: ExpertsRecipe,
        grant: Grant,
        key: &Key,
        ledger: &mut Ledger,
        storage: impl Storage + 'static,
    ) -> Result<Self, ExpertsError> {
        let selection = Selection::open(recipe.plan.clone(), grant, key, ledger, storage)?;
        let mut run = Self::assemble(recipe, selection, 0)?;
        run.checkpoint()?;
        Ok(run)
    }

    fn assemble(
        recipe: ExpertsRecipe,
        mut selection: Selection,
        rounds: u64,
    ) -> Result<Self, ExpertsError> {
        selection.keep_note();
        if !recipe.points.is_empty() {
            // Losses on a net are relative to the least of them, and at most L times the diameter.
            selection.losses_between(0.0, recipe.range)?;
        }
        Ok(Self {
            recipe,
            selection,
            waiting: Vec::new(),
            rounds,
        })
    }

    /// Continues a run from its journal. In a new instance (see [`CameBack`]) what was learned is forgotten.
    ///
    /// # Errors
    /// Those of the mechanism; a journal of another recipe.
    pub fn resume(
        recipe: ExpertsRecipe,
        storage: impl Storage + 'static,
        key: &Key,
        ledger: &mut Ledger,
        last_published: Option<u64>,
    ) -> Result<(Self, CameBack), ExpertsError> {
        let description = recipe.description();
        let mut kept = Ok(None);
        let back = Selection::resume(storage, key, ledger, last_published, |note| {
            Note::accept(&mut kept, note, &description)
        });
        kept?;
        let back = back?;
        let rounds = back.selection.steps() * recipe.plan.batch();
        let mut run = Self::assemble(recipe, back.selection, rounds)?;
        run.waiting = back.recent;
        Ok((run, back.outcome))
    }

    /// From now on losses come between these bounds and not between 0 and 1.
    ///
    /// # Errors
    /// Bounds that are not finite, the smaller first; a recipe that plays on a net, which has bounds of its own.
    pub fn losses_between(&mut self, low: f64, high: f64) -> Result<(), ExpertsError> {
        if !self.recipe.points.is_empty() {
            return Err(ExpertsError::Unfit(
                "cover: the loss and its net have bounds of their own".into(),
            ));
        }
        Ok(self.selection.losses_between(low, high)?)
    }

    /// The expert whose loss the next record decides. **Not a release** until a sync has covered it.
    #[must_use]
    pub fn question(&self) -> usize {
        self.selection.question() as usize
    }

    /// The point of the net that is played (`cover`).
    #[must_use]
    pub fn point(&self) -> Option<&[f64]> {
        self.recipe.points.get(self.question()).map(Vec::as_slice)
    }

    /// Plays one round with the losses of all experts.
    ///
    /// # Errors
    /// [`ExpertsError::Finished`] after the last round; a recipe that plays on a net; those of the mechanism.
    pub fn learn(&mut self, losses: Raw<Vec<f64>>) -> Result<(), ExpertsError> {
        if !self.recipe.points.is_empty() {
            return Err(ExpertsError::Unfit(
                "cover learns from records: use learn_record".into(),
            ));
        }
        if self.begin_round()? {
            let played = self.selection.add(losses)?;
            self.waiting.extend(played);
        }
        Ok(())
    }

    /// Plays one round with a record, whose loss is evaluated on the net (`cover`).
    ///
    /// # Errors
    /// As [`ExpertsRun::learn`]; a recipe without a net.
    pub fn learn_record(&mut self, record: Raw<Record>) -> Result<(), ExpertsError> {
        let Advice::Net { loss, .. } = self.recipe.request.advice.clone() else {
            return Err(ExpertsError::Unfit(
                "there is no net: use learn with losses".into(),
            ));
        };
        if self.begin_round()? {
            let (points, range) = (&self.recipe.points, self.recipe.range);
            let played = self
                .selection
                .add_record(loss.as_ref(), points, range, record)?;
            self.waiting.extend(played);
        }
        Ok(())
    }

    /// Counts the round, and tells whether its record is asked: nothing is released after the last.
    fn begin_round(&mut self) -> Result<bool, ExpertsError> {
        let planned = self.recipe.rounds();
        if self.rounds >= planned {
            return Err(ExpertsError::Finished {
                planned,
                refused: self.rounds + 1,
            });
        }
        if self.selection.checkpoint_is_due() {
            self.checkpoint()?;
        }
        self.rounds += 1;
        Ok(self.selection.steps() < self.recipe.plan.most_items())
    }

    fn checkpoint(&mut self) -> Result<(), ExpertsError> {
        let note = Note {
            recipe: self.recipe.description(),
            rounds: self.rounds,
            state: Vec::new(),
            coins: [0; 16],
        };
        Ok(self.selection.checkpoint(note.write()?)?)
    }

    /// Makes everything so far durable and gives the experts that may now leave, in order: the one played after each item. The very first is public and not among them.
    ///
    /// # Errors
    /// Those of the mechanism.
    pub fn sync(
        &mut self,
        ledger: &mut Ledger,
    ) -> Result<Vec<Released<u32, Transcript>>, ExpertsError> {
        self.selection.sync(ledger)?;
        let mut out = Vec::with_capacity(self.waiting.len());
        for pending in self.waiting.drain(..) {
            out.extend(self.selection.publish(pending).ok());
        }
        Ok(out)
    }

    /// Whether the next record writes the journal anew, without the releases so far.
    #[must_use]
    pub fn checkpoint_is_due(&self) -> bool {
        self.selection.checkpoint_is_due()
    }

    /// Records seen.
    #[must_use]
    pub fn rounds(&self) -> u64 {
        self.rounds
    }

    /// The recipe.
    #[must_use]
    pub fn recipe(&self) -> &ExpertsRecipe {
        &self.recipe
    }

    /// Malformed loss vectors, and clipped ones.
    #[must_use]
    pub fn counts(&self) -> (OperatorOnly<u64>, OperatorOnly<u64>) {
        self.selection.counts()
    }

    /// What is promised about everything this run publishes.
    ///
    /// # Errors
    /// Never for a run that exists.
    pub fn guarantee(&self) -> Result<Guarantee, ExpertsError> {
        let entry = self.recipe.request.recipe.entry();
        let guarantee = self.selection.guarantee()?;
        Ok(guarantee.of_algorithm(entry.name, entry.source, entry.errata))
    }
}
