//! A mechanism in progress: charged to a ledger, journalled, and resumable after any stop.

use crate::boundary::{Grant, OperatorOnly, Pending, Released};
use crate::durable::{CameBack, Diary, DiaryError, Found, Ledger, Storage};
use crate::mechanism::{Machine, Mechanism};
use hushstream_account::Guarantee;
use hushstream_noise::Key;

/// A mechanism in progress, with its journal. Each mechanism has its own methods that take sealed
/// records. Their results are [`Pending`] until a [`sync`](Self::sync) covers them;
/// [`publish`](Self::publish) then makes them [`Released`].
pub struct Private<M> {
    pub(crate) mechanism: M,
    pub(crate) diary: Diary,
    /// Whether the caller makes the checkpoints, each with a note.
    noted: bool,
}

/// The plan of a mechanism.
pub type PlanOf<M> = <M as Machine>::Plan;
/// The value that a resume needs and a journal cannot store.
pub type GivenOf<M> = <M as Machine>::Given;
/// The release of a mechanism.
pub type ReleaseOf<M> = <M as Machine>::Release;
/// The kind of a mechanism's guarantee.
pub type PromiseOf<M> = <M as Machine>::Promise;
/// A pending release of a mechanism.
pub type PendingOf<M> = Pending<ReleaseOf<M>, PromiseOf<M>>;

/// A resumed run.
pub struct Back<M: Mechanism> {
    /// The run, ready for its next record.
    pub run: Private<M>,
    /// How the run was resumed.
    pub outcome: CameBack,
    /// The last release before [`recent`](Self::recent), for mechanisms that cannot compute it from
    /// a note.
    pub before: Option<PendingOf<M>>,
    /// All releases since the journal's last checkpoint. Sync and publish them, and none is
    /// missing. Releases that were published before may appear again, always with the same value.
    /// Empty in a new instance that begins from nothing.
    pub recent: Vec<PendingOf<M>>,
    /// The [`shortfall`](Private::shortfall) at each of [`recent`](Self::recent).
    pub shortfalls: Vec<u64>,
    /// The note of the last checkpoint, and the number of items of this instance that it covers:
    /// zero if it is from an earlier instance.
    pub note: Option<(u64, Vec<u8>)>,
}

impl<M: Mechanism> Private<M> {
    /// Opens a new run with a grant. `storage` must be empty; it will hold private data.
    ///
    /// # Errors
    /// A grant below the price, or used before; a journal that is not empty; storage. The charge
    /// stays in the ledger: [`Ledger::grant_again`] reissues its grant as long as no run has begun
    /// with it.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "by value, so that a grant serves one run"
    )]
    pub fn open(
        plan: M::Plan,
        grant: Grant,
        key: &Key,
        ledger: &mut Ledger,
        storage: impl Storage + 'static,
    ) -> Result<Self, M::Error> {
        let (terms, stored) = (M::terms(&plan)?, M::store(&plan)?);
        let storage = Box::new(storage);
        let diary = Diary::open(M::KIND, stored, &terms, &grant, key, ledger, storage)?;
        Ok(Self {
            mechanism: M::begin(plan, diary.generators(key))?,
            diary,
            noted: false,
        })
    }

    /// Continues a run from its journal, if `accepts` returns true for the note of the last
    /// checkpoint. `given` is the value that a journal cannot store. `last_published` is the number
    /// of the last release known to have been published, if the caller knows it. The ledger records
    /// this number too, unless it was restored from a backup together with the journal.
    ///
    /// # Errors
    /// [`DiaryError::NoRun`] if the journal is empty; another plan, key or ledger; a journal that
    /// has been superseded, or is not accepted; lost items that the plan needs; storage. No file
    /// has changed then, except after a storage error.
    pub fn resume_with(
        given: M::Given,
        storage: impl Storage + 'static,
        key: &Key,
        ledger: &mut Ledger,
        last_published: Option<u64>,
        accepts: impl FnOnce(Option<&[u8]>) -> bool,
    ) -> Result<Back<M>, M::Error> {
        let found = Found::read(M::KIND, Box::new(storage))?;
        let plan = M::load(found.plan(), given)?;
        let claim = found.claim(&M::terms(&plan)?, key, ledger, last_published)?;
        if !accepts(found.note()) {
            return Err(DiaryError::NotAccepted.into());
        }
        // Replay everything in memory first: a journal that does not fit its plan is refused before
        // any file changes.
        let (mut diary, checkpoint, items) = found.take_over(&claim)?;
        let mut mechanism = M::begin(plan, diary.generators(key))?;
        let (mut before, mut note) = (None, None);
        if let Some(kept) = checkpoint {
            mechanism.restore(kept.items, &kept.state)?;
            before = mechanism.last(kept.items).map(|last| diary.pending(last));
            note = Some((kept.items, kept.note));
        }
        let mut recent = Vec::with_capacity(items.len());
        let mut shortfalls = Vec::with_capacity(items.len());
        for item in items {
            diary.replayed();
            let t = diary.items();
            mechanism.read_item(t, &item)?;
            if let Some(release) = mechanism.step(t)? {
                recent.push(diary.pending(release));
                shortfalls.push(mechanism.shortfall());
            }
        }
        // Files change from here on.
        match claim.outcome {
            CameBack::Continued => diary.go_on(&claim, ledger)?,
            CameBack::NewInstance { .. } => {
                let known = diary.items();
                diary.renew(&claim, key)?;
                let mut next = M::begin(mechanism.plan().clone(), diary.generators(key))?;
                if !next.succeed(mechanism, known) {
                    (before, recent, shortfalls) = (None, Vec::new(), Vec::new());
                }
                mechanism = next;
                let kept = note.as_ref().map(|(_, note)| note.clone());
                let state = mechanism.state()?;
                diary.go_anew(&claim, ledger, state, kept.unwrap_or_default())?;
                note = note.map(|(_, note)| (0, note));
            }
        }
        let run = Self {
            mechanism,
            diary,
            noted: false,
        };
        Ok(Back {
            run,
            outcome: claim.outcome,
            before,
            recent,
            shortfalls,
            note,
        })
    }

    /// Called before each record: refuses it after the last planned item. Compacts a long journal,
    /// unless the caller makes the checkpoints.
    pub(crate) fn begin_record(&mut self) -> Result<(), M::Error> {
        self.diary.check_open()?;
        if !self.noted && self.checkpoint_is_due() {
            self.checkpoint(Vec::new())?;
        }
        Ok(())
    }

    /// Called after each record: journals the item that it completes, if any, and takes it in.
    pub(crate) fn end_record(&mut self) -> Result<Option<PendingOf<M>>, M::Error> {
        if !self.mechanism.is_complete() {
            return Ok(None);
        }
        self.end_item()
    }

    /// Journals the item as it is, and takes it in.
    pub(crate) fn end_item(&mut self) -> Result<Option<PendingOf<M>>, M::Error> {
        self.diary.item(|out| self.mechanism.item(out))?;
        let release = self.mechanism.step(self.diary.items())?;
        Ok(release.map(|release| self.diary.pending(release)))
    }

    /// Makes everything taken in so far durable, in the journal and the ledger. Releases up to here
    /// may then be published.
    ///
    /// # Errors
    /// Another ledger; storage. After a storage error the run must be resumed from its journal.
    pub fn sync(&mut self, ledger: &mut Ledger) -> Result<(), M::Error> {
        Ok(self.diary.sync(ledger)?)
    }

    /// Releases a pending value of this run, if a sync covers it; otherwise returns it.
    ///
    /// # Errors
    /// The pending value itself: not yet durable, or of another run.
    pub fn publish<T>(
        &self,
        pending: Pending<T, M::Promise>,
    ) -> Result<Released<T, M::Promise>, Pending<T, M::Promise>> {
        self.diary.publish(pending)
    }

    /// A pending unit value after the last release. Attach to it, with [`Pending::map`], values
    /// computed from the releases so far and from nothing else.
    pub fn here(&self) -> Pending<(), M::Promise> {
        self.diary.pending(())
    }

    /// Turns automatic checkpoints off: from now on only [`Private::checkpoint`] makes them, with a
    /// note.
    pub fn keep_note(&mut self) {
        self.noted = true;
    }

    /// Whether the journal is long enough for a checkpoint, and a checkpoint is possible: not
    /// inside a batch, and not with unsynced items, so that releases that a crash kept from being
    /// published can still be repeated.
    #[must_use]
    pub fn checkpoint_is_due(&self) -> bool {
        let (since, base) = self.diary.length();
        let covered = self.diary.is_covered() && self.mechanism.is_empty();
        covered && self.mechanism.is_long(since, base)
    }

    /// Whether anything is stored. Without storage no run is resumed, and no checkpoint is needed.
    #[must_use]
    pub fn is_kept(&self) -> bool {
        self.diary.is_kept()
    }

    /// Replaces the journal by a checkpoint of the current state, with a note of the caller's (for
    /// example a learner's public state).
    ///
    /// # Errors
    /// Items that no sync has covered; an incomplete batch; storage.
    pub fn checkpoint(&mut self, note: Vec<u8>) -> Result<(), M::Error> {
        if !self.mechanism.is_empty() {
            return Err(DiaryError::Journal("a checkpoint must follow a whole batch").into());
        }
        Ok(self.diary.checkpoint(self.mechanism.state()?, note)?)
    }

    /// Number of items so far, over all instances; the next item is number `steps() + 1`.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.diary.steps()
    }

    /// By how many records the items so far fall short of full ones; 0 unless items close by a
    /// clock.
    #[must_use]
    pub fn shortfall(&self) -> u64 {
        self.mechanism.shortfall()
    }

    /// The number of this run's charge in the ledger.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.diary.number()
    }

    /// The random name of this object, which no other object that opens or resumes a run has. It is
    /// durable before the object exists.
    #[must_use]
    pub fn life(&self) -> [u8; 16] {
        self.diary.life()
    }

    /// The plan of this run.
    #[must_use]
    pub fn plan(&self) -> &M::Plan {
        self.mechanism.plan()
    }

    /// The number of null records (malformed, or beyond a person's limit) and of clipped records.
    #[must_use]
    pub fn counts(&self) -> (OperatorOnly<u64>, OperatorOnly<u64>) {
        let (nulls, clipped) = self.mechanism.counts();
        (OperatorOnly::new(nulls), OperatorOnly::new(clipped))
    }

    /// The guarantee of everything this run releases.
    ///
    /// # Errors
    /// Numbers out of range. The plan has checked them, so an open run does not fail here.
    pub fn guarantee(&self) -> Result<Guarantee, M::Error> {
        let (steps, simulated) = (self.diary.steps(), self.diary.is_simulated());
        self.mechanism.guarantee(steps, simulated)
    }
}

impl<M: Mechanism<Given = ()>> Private<M> {
    /// [`Private::resume_with`] for a mechanism whose journal stores everything.
    ///
    /// # Errors
    /// Those of [`Private::resume_with`].
    pub fn resume(
        storage: impl Storage + 'static,
        key: &Key,
        ledger: &mut Ledger,
        last_published: Option<u64>,
        accepts: impl FnOnce(Option<&[u8]>) -> bool,
    ) -> Result<Back<M>, M::Error> {
        Self::resume_with((), storage, key, ledger, last_published, accepts)
    }
}
