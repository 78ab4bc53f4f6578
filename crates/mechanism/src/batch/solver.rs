//! A batch solver at work: records go in sealed, a point comes out at the end of every octave.

use super::plan::{BatchError, SolverPlan, about};
use super::walk::Walk;
use crate::boundary::{Grant, OperatorOnly, Pending, Raw, Released, Transcript};
use crate::durable::{CameBack, Diary, DiaryError, FoundDiary, Ledger, Storage, decode, encode};
use crate::lattice::Contribution;
use crate::losses::{Loss, Record};
use hushstream_account::Guarantee;
use hushstream_noise::{Key, Source};
use hushstream_sets::ConvexSet;
use std::sync::Arc;

const KIND: &str = "batch solver v2";

/// A solver in progress.
pub struct Solver {
    plan: SolverPlan,
    loss: Arc<dyn Loss>,
    set: Arc<dyn ConvexSet>,
    diary: Diary,
    source: Source,
    walk: Walk,
    nulls: u64,
}

/// A solver that came back.
pub struct SolverBack {
    /// Ready for its next record.
    pub solver: Solver,
    /// How it came back.
    pub outcome: CameBack,
    /// The points released since the last checkpoint.
    pub recent: Vec<Pending<Vec<f64>, Transcript>>,
    /// The note of the last checkpoint.
    pub note: Option<Vec<u8>>,
}

impl Solver {
    /// Opens a solver that has been paid for. `storage` must be new; it will hold private data.
    ///
    /// # Errors
    /// A loss or set that the plan was not made for; a grant below the price; a journal that is not empty; storage.
    pub fn open(
        plan: SolverPlan,
        loss: Arc<dyn Loss>,
        set: Arc<dyn ConvexSet>,
        grant: Grant,
        key: &Key,
        ledger: &mut Ledger,
        storage: impl Storage + 'static,
    ) -> Result<Self, BatchError> {
        let (terms, bytes) = (plan.terms()?, encode(&plan)?);
        if plan.about != about(loss.as_ref(), set.as_ref()) {
            return Err(BatchError::Mismatch);
        }
        let diary = Diary::open(KIND, bytes, &terms, grant, key, ledger, Box::new(storage))?;
        Self::assemble(plan, loss, set, diary, key)
    }

    fn assemble(
        plan: SolverPlan,
        loss: Arc<dyn Loss>,
        set: Arc<dyn ConvexSet>,
        diary: Diary,
        key: &Key,
    ) -> Result<Self, BatchError> {
        Ok(Self {
            walk: Walk::begin(set.as_ref())?,
            source: diary.source(key, 0),
            plan,
            loss,
            set,
            diary,
            nulls: 0,
        })
    }

    /// Continues from a journal, with the loss and the set that it began with.
    ///
    /// # Errors
    /// Another loss, set, key or ledger; a journal that has been superseded or is not accepted; storage.
    pub fn resume(
        loss: Arc<dyn Loss>,
        set: Arc<dyn ConvexSet>,
        storage: impl Storage + 'static,
        key: &Key,
        ledger: &mut Ledger,
        last_published: Option<u64>,
        accepts: impl FnOnce(Option<&[u8]>) -> bool,
    ) -> Result<SolverBack, BatchError> {
        let found = FoundDiary::read(KIND, Box::new(storage))?;
        let plan: SolverPlan = found.plan()?;
        plan.check()?;
        if plan.about != about(loss.as_ref(), set.as_ref()) {
            return Err(BatchError::Mismatch);
        }
        if !accepts(found.note()) {
            return Err(DiaryError::NotAccepted.into());
        }
        let note = found.note().map(<[u8]>::to_vec);
        let none: Option<(Walk, [u8; 8])> = None;
        let back = found.resume(&plan.terms()?, key, ledger, last_published, &none, true)?;
        let mut solver = Self::assemble(plan, loss, set, back.diary, key)?;
        let mut recent = Vec::new();
        if back.outcome == CameBack::Continued {
            if let Some(kept) = back.checkpoint
                && let Some((walk, nulls)) = decode::<Option<(Walk, [u8; 8])>>(&kept.state)?
            {
                if !walk.fits(solver.set.dimension()) || walk.records != kept.items {
                    return Err(BatchError::Mismatch);
                }
                (solver.walk, solver.nulls) = (walk, u64::from_le_bytes(nulls));
            }
            for item in back.items {
                let (sound, gradient): (bool, Vec<f64>) = decode(&item)?;
                let gradient = sound.then_some(gradient);
                solver.diary.replayed();
                solver.nulls += u64::from(!sound);
                recent.extend(solver.take(gradient.as_deref())?);
            }
        }
        Ok(SolverBack {
            solver,
            outcome: back.outcome,
            recent,
            note,
        })
    }

    /// The point that the next record will be charged to. **Not a release** until a sync has covered it.
    #[must_use]
    pub fn question(&self) -> &[f64] {
        &self.walk.current
    }

    /// Takes in one record. At the end of an octave there is a new point.
    ///
    /// # Errors
    /// Storage.
    pub fn add(
        &mut self,
        record: Raw<Record>,
    ) -> Result<Option<Pending<Vec<f64>, Transcript>>, BatchError> {
        self.diary.check_open()?;
        if self.diary.must_checkpoint() {
            self.checkpoint(Vec::new())?;
        }
        let gradient = self.sound(self.loss.gradient(record.open(), &self.walk.at));
        self.nulls += u64::from(gradient.is_none());
        // A null takes as many bytes as a gradient.
        let zeros = || vec![0.0; self.set.dimension()];
        let item = (gradient.is_some(), gradient.clone().unwrap_or_else(zeros));
        self.diary.item(encode(&item)?)?;
        self.take(gradient.as_deref())
    }

    /// A gradient of the promised length, all of it finite; anything else is null, which leaves the iterate where it is.
    fn sound(&self, gradient: Contribution) -> Option<Vec<f64>> {
        let dimension = self.set.dimension();
        let dense = match gradient {
            Contribution::Dense(values) => values,
            Contribution::Sparse(entries) => {
                let mut dense = vec![0.0; dimension];
                for (index, value) in entries {
                    *dense.get_mut(index as usize)? = value;
                }
                dense
            }
            Contribution::Null => return None,
        };
        let squares: f64 = dense.iter().map(|value| value * value).sum();
        let within = squares.sqrt() <= self.plan.lipschitz * (1.0 + 1e-9);
        (dense.len() == dimension && within).then_some(dense)
    }

    fn take(
        &mut self,
        gradient: Option<&[f64]>,
    ) -> Result<Option<Pending<Vec<f64>, Transcript>>, BatchError> {
        let set = self.set.as_ref();
        let complete = self.walk.step(gradient, &self.plan, set, &self.source)?;
        Ok(complete.then(|| self.diary.pending(self.walk.current.clone())))
    }

    /// Makes everything taken in so far durable: points up to here may leave.
    ///
    /// # Errors
    /// Another ledger; storage.
    pub fn sync(&mut self, ledger: &mut Ledger) -> Result<(), BatchError> {
        Ok(self.diary.sync(ledger)?)
    }

    /// Lets a pending point leave, if a sync has covered it; otherwise gives it back.
    ///
    /// # Errors
    /// The pending value itself.
    pub fn publish<T>(
        &self,
        pending: Pending<T, Transcript>,
    ) -> Result<Released<T, Transcript>, Pending<T, Transcript>> {
        self.diary.publish(pending)
    }

    /// From now on checkpoints are made only by [`Solver::checkpoint`], with a note.
    pub fn keep_note(&mut self) {
        self.diary.keep_note();
    }

    /// Whether a checkpoint would pay and may be made.
    #[must_use]
    pub fn checkpoint_is_due(&self) -> bool {
        self.diary.checkpoint_is_due()
    }

    /// Replaces the journal by a checkpoint of the present state, with a note of the caller's.
    ///
    /// # Errors
    /// Items that no sync has covered; storage.
    pub fn checkpoint(&mut self, note: Vec<u8>) -> Result<(), BatchError> {
        let state = Some((self.walk.clone(), self.nulls.to_le_bytes()));
        Ok(self.diary.checkpoint(&state, note)?)
    }

    /// Records taken in, over all instances.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.diary.steps()
    }

    /// The number of the last release: they come after 1, 3, 7, … records of an instance. 0 before the first.
    #[must_use]
    pub fn last_release(&self) -> u64 {
        let items = self.diary.items();
        self.steps() - items + (1 << (items + 1).ilog2()) - 1
    }

    /// The plan it follows.
    #[must_use]
    pub fn plan(&self) -> &SolverPlan {
        &self.plan
    }

    /// How many records were null.
    #[must_use]
    pub fn nulls(&self) -> OperatorOnly<u64> {
        OperatorOnly::new(self.nulls)
    }

    /// What is promised about everything that this solver releases.
    ///
    /// # Errors
    /// Never for a solver that exists.
    pub fn guarantee(&self) -> Result<Guarantee, BatchError> {
        let records = self.diary.steps().max(1);
        self.plan.promise(records, self.diary.is_simulated())
    }
}
