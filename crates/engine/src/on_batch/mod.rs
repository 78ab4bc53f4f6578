//! `limited-updates` for convex losses: records in, a point out at every power of two. (For experts it is a selection.)

use crate::catalogue::RecipeName;
use crate::note::{Note, NoteError};
use hushstream_account::{Adjacency, Budget, Guarantee};
use hushstream_mechanism::batch::{BatchError, Solver, SolverPlan, SolverRequest};
use hushstream_mechanism::losses::{Loss, Record, evaluate};
use hushstream_mechanism::{
    CameBack, Grant, Ledger, OperatorOnly, Pending, Raw, Released, Storage, Transcript,
};
use hushstream_noise::Key;
use hushstream_sets::ConvexSet;
use std::sync::Arc;

/// What is wanted.
#[derive(Clone)]
pub struct LimitedUpdatesRequest {
    /// The loss: smooth, with constants that hold by clipping of the data.
    pub loss: Arc<dyn Loss>,
    /// Where points live: a ball, box, simplex or L1 ball.
    pub set: Arc<dyn ConvexSet>,
    /// What may be spent; δ > 0.
    pub budget: Budget,
    /// The neighbouring relation.
    pub adjacency: Adjacency,
}

/// Why it refuses.
#[derive(Debug, thiserror::Error)]
pub enum LimitedUpdatesError {
    /// The mechanism.
    #[error(transparent)]
    Batch(#[from] BatchError),
    /// The journal's note.
    #[error(transparent)]
    Note(#[from] NoteError),
}

/// The recipe with everything fixed but the data.
#[derive(Clone)]
pub struct LimitedUpdates {
    request: LimitedUpdatesRequest,
    plan: SolverPlan,
}

impl LimitedUpdatesRequest {
    /// Calibrates the recipe.
    ///
    /// # Errors
    /// A loss that is not smooth, a set without a closed projection, δ = 0.
    pub fn plan(self) -> Result<LimitedUpdates, LimitedUpdatesError> {
        let plan = SolverRequest {
            loss: self.loss.as_ref(),
            set: self.set.as_ref(),
            adjacency: self.adjacency,
            budget: self.budget,
        }
        .plan()?;
        Ok(LimitedUpdates {
            request: self,
            plan,
        })
    }
}

impl LimitedUpdates {
    /// The mechanism's plan.
    #[must_use]
    pub fn plan(&self) -> &SolverPlan {
        &self.plan
    }

    /// Everything that makes two runs the same, in one line.
    #[must_use]
    pub fn description(&self) -> String {
        format!("{} with {:?}", RecipeName::LimitedUpdates, self.plan)
    }
}

/// The recipe in progress.
pub struct LimitedUpdatesRun {
    recipe: LimitedUpdates,
    solver: Solver,
    waiting: Vec<Pending<Vec<f64>, Transcript>>,
}

impl LimitedUpdatesRun {
    /// Opens a run that has been paid for; `storage` must be new and will hold private data.
    ///
    /// # Errors
    /// Those of the mechanism.
    pub fn open(
        recipe: LimitedUpdates,
        grant: Grant,
        key: &Key,
        ledger: &mut Ledger,
        storage: impl Storage + 'static,
    ) -> Result<Self, LimitedUpdatesError> {
        let (loss, set) = (recipe.request.loss.clone(), recipe.request.set.clone());
        let plan = recipe.plan.clone();
        let mut solver = Solver::open(plan, loss, set, grant, key, ledger, storage)?;
        solver.keep_note();
        let mut run = Self {
            recipe,
            solver,
            waiting: Vec::new(),
        };
        run.checkpoint()?;
        Ok(run)
    }

    /// Continues a run from its journal.
    ///
    /// # Errors
    /// Those of the mechanism; a journal of another recipe.
    pub fn resume(
        recipe: LimitedUpdates,
        storage: impl Storage + 'static,
        key: &Key,
        ledger: &mut Ledger,
        last_published: Option<u64>,
    ) -> Result<(Self, CameBack), LimitedUpdatesError> {
        let (loss, set) = (recipe.request.loss.clone(), recipe.request.set.clone());
        let description = recipe.description();
        let mut kept = Ok(None);
        let back = Solver::resume(loss, set, storage, key, ledger, last_published, |note| {
            Note::accept(&mut kept, note, &description)
        });
        kept?;
        let back = back?;
        let mut solver = back.solver;
        solver.keep_note();
        let run = Self {
            recipe,
            solver,
            waiting: back.recent,
        };
        Ok((run, back.outcome))
    }

    /// The point that the next record is charged to. **Not a release** until a sync has covered it.
    #[must_use]
    pub fn question(&self) -> &[f64] {
        self.solver.question()
    }

    /// The loss of a record at the present point: computed from private data.
    #[must_use]
    pub fn loss(&self, record: &Raw<Record>) -> OperatorOnly<f64> {
        evaluate(self.recipe.request.loss.as_ref(), record, self.question())
    }

    /// Plays one round.
    ///
    /// # Errors
    /// Those of the mechanism.
    pub fn learn(&mut self, record: Raw<Record>) -> Result<(), LimitedUpdatesError> {
        if self.solver.checkpoint_is_due() {
            self.checkpoint()?;
        }
        let released = self.solver.add(record)?;
        self.waiting.extend(released);
        Ok(())
    }

    fn checkpoint(&mut self) -> Result<(), LimitedUpdatesError> {
        let note = Note {
            recipe: self.recipe.description(),
            rounds: self.solver.steps(),
            state: Vec::new(),
            coins: [0; 16],
        };
        Ok(self.solver.checkpoint(note.write()?)?)
    }

    /// Makes everything so far durable and gives the points that may now leave, in order.
    ///
    /// # Errors
    /// Those of the mechanism.
    pub fn sync(
        &mut self,
        ledger: &mut Ledger,
    ) -> Result<Vec<Released<Vec<f64>, Transcript>>, LimitedUpdatesError> {
        self.solver.sync(ledger)?;
        let mut out = Vec::with_capacity(self.waiting.len());
        for pending in self.waiting.drain(..) {
            out.extend(self.solver.publish(pending).ok());
        }
        Ok(out)
    }

    /// Whether the next record writes the journal anew, without the releases so far.
    #[must_use]
    pub fn checkpoint_is_due(&self) -> bool {
        self.solver.checkpoint_is_due()
    }

    /// Records seen.
    #[must_use]
    pub fn rounds(&self) -> u64 {
        self.solver.steps()
    }

    /// The number of the last release; 0 before the first.
    #[must_use]
    pub fn last_release(&self) -> u64 {
        self.solver.last_release()
    }

    /// Malformed records.
    #[must_use]
    pub fn nulls(&self) -> OperatorOnly<u64> {
        self.solver.nulls()
    }

    /// What is promised about everything this run publishes.
    ///
    /// # Errors
    /// Never for a run that exists.
    pub fn guarantee(&self) -> Result<Guarantee, LimitedUpdatesError> {
        let entry = RecipeName::LimitedUpdates.entry();
        let guarantee = self.solver.guarantee()?;
        Ok(guarantee.of_algorithm(entry.name, entry.source, entry.errata))
    }
}
