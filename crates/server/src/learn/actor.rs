//! A data set in progress: its ledger and its runs.
//!
//! A closed batch is fed to its run in the order of its slots, the run is synced (journal, then the
//! mark in the ledger), its release is stored, read back, and only then answered with and told.
//! After a crash the run says how many slots it has learned from, and feeding goes on there.

use crate::auth::hex;
use crate::clock::Clock;
use crate::keys::Master;
use crate::policy::Policies;
use crate::problem::Problem;
use crate::rounds::{Contribution, Slot, State};
use crate::spec::{Cells, ModelSpec, PERSON, value};
use crate::store::shared::Shared;
use crate::store::{
    Committer, DatasetRow, Exact, Fence, ModelRow, ModelStatus, Reads, ReleaseRow, Touches, Tx,
};
use crate::watch::Hub;
use hushstream::elsewhere::Delivery;
use hushstream::ledgers::Statement;
use hushstream::mechanism::Storage;
use hushstream::{Adjacency, Budget, Learner, Plan, Run, SharedLedger, Value};
use hushstream_postgres::{Fenced, KeptRun, Lease, ledger_log};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// What all actors share.
pub struct Context {
    /// The folder of data sets.
    pub folder: PathBuf,
    /// The store, to be read.
    pub(crate) db: Arc<dyn Reads>,
    /// The same, where several nodes share it: then ledgers and runs are there too.
    pub shared: Option<Arc<Shared>>,
    /// The store, to be written: set once it runs.
    pub committer: OnceLock<Arc<Committer>>,
    /// Models that answer.
    pub policies: Arc<Policies>,
    /// Subscribers to public events.
    pub hub: Arc<Hub>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Seals the keys of runs.
    pub master: Arc<Master>,
    /// Batches that were closed when the server started, of each model whose run was not opened
    /// since.
    pub closed_at_start: Mutex<HashMap<u64, u64>>,
    /// Runs and ledgers that a worker keeps open.
    pub open: usize,
}

impl Context {
    fn committer(&self) -> Result<&Arc<Committer>, Problem> {
        let committer = self.committer.get();
        committer.ok_or_else(|| Problem::unavailable("the server starts"))
    }
}

/// A data set.
pub struct Actor {
    dataset: u64,
    context: Arc<Context>,
    /// Where nodes share a store: the right to write ledger and runs, under which they were opened.
    lease: Option<Lease>,
    ledger: Option<SharedLedger>,
    runs: HashMap<u64, Open>,
    /// The number of the job.
    job: u64,
}

/// Sums that workers made elsewhere.
pub struct Sums {
    /// Partial sums, sealed or not.
    pub parts: Vec<Vec<u8>>,
    /// Whether the sender stated what they cover.
    pub is_stated: bool,
}

/// What workers elsewhere must know.
pub struct Asked {
    /// The public question; none after the last batch.
    pub question: Option<Vec<u8>>,
    /// The key to which they may seal their sums.
    pub sealing_key: String,
    /// The source and the number of the last batch that was taken.
    pub delivered: Option<(String, u64)>,
}

/// A run, and the last job that used it.
struct Open {
    run: Run,
    used: u64,
}

impl Actor {
    /// Nothing is open yet.
    #[must_use]
    pub fn new(dataset: u64, context: Arc<Context>) -> Self {
        Self {
            dataset,
            context,
            lease: None,
            ledger: None,
            runs: HashMap::new(),
            job: 0,
        }
    }

    /// The job that begins.
    pub(super) fn at(&mut self, job: u64) -> &mut Self {
        self.job = job;
        self
    }

    /// How many runs and ledgers are open.
    pub(super) fn open_count(&self) -> usize {
        self.runs.len() + usize::from(self.ledger.is_some())
    }

    /// The last job that used what was used longest ago.
    pub(super) fn oldest(&self) -> u64 {
        let runs = self.runs.values().map(|open| open.used);
        runs.min().unwrap_or(self.job)
    }

    /// Closes what was used longest ago: a run, which is synced after every batch, or else the
    /// ledger. Each is opened again when it is needed.
    pub(super) fn close_oldest(&mut self) {
        let oldest = self.runs.iter().min_by_key(|(_, open)| open.used);
        match oldest.map(|(model, _)| *model) {
            Some(model) => drop(self.runs.remove(&model)),
            None => self.ledger = None,
        }
    }

    /// The right to write, if nodes share the store. A lease that another node took over has ended
    /// what was open under it. None while another node holds the data set: then `patience` is spent
    /// on asking it to let go.
    fn hold(&mut self, patience: Duration) -> Result<Option<Fence>, Problem> {
        let Some(shared) = self.context.shared.clone() else {
            return Ok(None);
        };
        let is_held = |lease: &Lease| shared.seems_held(self.dataset, lease);
        if self.lease.as_ref().is_some_and(is_held) {
            return Ok(self.fence());
        }
        self.close();
        self.lease = None;
        let until = Instant::now() + patience;
        let mut has_asked = false;
        loop {
            let taken = shared.take(self.dataset);
            let failed = |error| failed("the database", &error);
            if let Some(lease) = taken.map_err(failed)? {
                self.lease = Some(lease);
                return Ok(self.fence());
            }
            if Instant::now() >= until {
                return Err(Problem::unavailable(HELD));
            }
            if !std::mem::replace(&mut has_asked, true) {
                shared.want(self.dataset).map_err(failed)?;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Whether the database says so too.
    fn holds(&self, fence: Option<Fence>) -> Result<bool, Problem> {
        let asked = move |tx: &mut Tx<'_>| Ok(Ok(tx.holds(fence)?));
        let committer = self.context.committer()?;
        committer.write_blocking(Touches::default(), asked)
    }

    fn fence(&self) -> Option<Fence> {
        let lease = self.lease.as_ref()?;
        Some((self.dataset, lease.fence()))
    }

    /// Closes what is open: what was not synced is fed again from the store.
    fn close(&mut self) {
        self.runs.clear();
        self.ledger = None;
    }

    /// Closes what is open, and lets other nodes have the data set. So it is after a failure too: a
    /// ledger or a journal whose last write failed takes nothing more, and must be opened again.
    pub(crate) fn let_go(&mut self) {
        self.close();
        let lease = self.lease.take();
        if let (Some(lease), Some(shared)) = (lease, &self.context.shared)
            && shared.seems_held(self.dataset, &lease)
        {
            shared.let_go(self.dataset, &lease);
        }
    }

    /// The ledger where nodes share it.
    fn log(&self, shared: &Arc<Shared>) -> Result<Fenced, Problem> {
        let lease = self.lease.as_ref().ok_or_else(Problem::internal)?;
        Ok(Fenced::new(&shared.store, lease, ledger_log(self.dataset)))
    }

    fn folder(&self) -> PathBuf {
        self.context.folder.join(self.dataset.to_string())
    }

    fn state_folder(&self, model: u64) -> PathBuf {
        self.folder().join("models").join(model.to_string())
    }

    /// Creates the ledger, if there is none.
    ///
    /// # Errors
    /// A budget that is none; a disk that fails.
    pub fn create(&mut self, row: &DatasetRow) -> Result<Statement, Problem> {
        let budget = Budget::approx(row.epsilon, row.delta);
        let budget = budget.map_err(|error| Problem::unprocessable(error.to_string()))?;
        let adjacency = if row.zero_out {
            Adjacency::ZeroOut
        } else {
            Adjacency::ReplaceOne
        };
        self.hold(PATIENCE)?;
        if let Some(shared) = self.context.shared.clone() {
            let there = self.log(&shared)?.load();
            if !there
                .map_err(|error| failed("the ledger", &error))?
                .is_empty()
            {
                return self.statement();
            }
            let log = self.log(&shared)?;
            let ledger = SharedLedger::create_in(log, budget, adjacency, row.persons)?;
            let statement = ledger.statement();
            self.ledger = Some(ledger);
            self.note(&shared)?;
            return Ok(statement);
        }
        let path = self.folder().join("ledger");
        // A crash may have left a file in which no budget is stated yet: that is created anew.
        let found = if path.exists() {
            match self.statement() {
                Ok(statement) => return Ok(statement),
                Err(problem) => Some(problem),
            }
        } else {
            None
        };
        std::fs::create_dir_all(self.folder()).map_err(|error| failed("a folder", &error))?;
        let ledger = SharedLedger::create(&path, budget, adjacency, row.persons);
        let ledger = ledger.map_err(|error| found.unwrap_or_else(|| error.into()))?;
        let statement = ledger.statement();
        self.ledger = Some(ledger);
        Ok(statement)
    }

    fn ledger(&mut self) -> Result<SharedLedger, Problem> {
        if let Some(ledger) = &self.ledger {
            return Ok(ledger.clone());
        }
        let ledger = match self.context.shared.clone() {
            Some(shared) => SharedLedger::open_in(self.log(&shared)?),
            None => SharedLedger::open(&self.folder().join("ledger")),
        };
        let ledger = ledger.map_err(|error| failed("the ledger", &error))?;
        self.ledger = Some(ledger.clone());
        Ok(ledger)
    }

    /// What the ledger says.
    ///
    /// # Errors
    /// A ledger that is damaged.
    pub fn statement(&mut self) -> Result<Statement, Problem> {
        let Some(shared) = self.context.shared.clone() else {
            return Ok(self.ledger()?.statement());
        };
        // What another node writes is read as it is: nothing is written to a copy in memory.
        let lease = self.lease.as_ref();
        if lease.is_some_and(|lease| shared.seems_held(self.dataset, lease)) {
            return Ok(self.ledger()?.statement());
        }
        let copy = shared.copy_of(&ledger_log(self.dataset));
        let copy = copy.map_err(|error| failed("the ledger", &error))?;
        let ledger = SharedLedger::open_in(copy);
        let ledger = ledger.map_err(|error| failed("the ledger", &error))?;
        Ok(ledger.statement())
    }

    /// Raises the budget.
    ///
    /// # Errors
    /// A smaller one.
    pub fn raise(
        &mut self,
        (epsilon, delta): (f64, f64),
        reserve: Option<f64>,
    ) -> Result<Statement, Problem> {
        let budget = Budget::approx(epsilon, delta);
        let budget = budget.map_err(|error| Problem::unprocessable(error.to_string()))?;
        self.hold(PATIENCE)?;
        let ledger = self.ledger()?;
        let before = ledger.statement();
        if epsilon < before.epsilon || delta < before.delta {
            return Err(Problem::conflict(
                "a budget can be raised, and not lowered: state at least what it is",
            ));
        }
        ledger.raise(budget, reserve)?;
        if let Some(shared) = &self.context.shared {
            self.note(shared)?;
        }
        Ok(ledger.statement())
    }

    /// What a model would be, and why it does not fit, if it does not.
    ///
    /// # Errors
    /// Settings that are not allowed.
    pub fn plan(
        &mut self,
        learner: Learner,
        dataset: &DatasetRow,
    ) -> Result<(Plan, Option<String>), Problem> {
        if dataset.locked {
            let told = "this data set was restored from a copy: what was spent is not known";
            return Err(Problem::conflict(told));
        }
        self.hold(PATIENCE)?;
        let learner = learner.on(&self.ledger()?);
        let plan = learner.plan()?;
        let refusal = match learner.check_room() {
            Ok(()) => None,
            Err(error) => Some(Problem::from(error).detail),
        };
        Ok((plan, refusal))
    }

    /// Charges and begins a model whose settings are stored, or goes on with what a crash left.
    ///
    /// # Errors
    /// No room in the budget; a disk that fails.
    pub fn begin(&mut self, row: &Arc<ModelRow>, dataset: &DatasetRow) -> Result<(), Problem> {
        let fence = self.hold(PATIENCE)?;
        // A request that came while the start of the server began it.
        if self.runs.contains_key(&row.number) {
            return Ok(());
        }
        let mut run = self.open(row, dataset)?;
        let released = run.model()?;
        let (model, version) = (row.number, released.release());
        let release = ReleaseRow::new(&released, self.context.clock.now())?;
        let charge = self.ledger()?.statement().runs.last().map(|run| run.number);
        let mut open = ModelRow::clone(row);
        open.status = ModelStatus::Open;
        open.charge = open.charge.or(charge);
        let touches = Touches::settings().and(model);
        self.context
            .committer()?
            .write_blocking(touches, move |tx| {
                if !tx.holds(fence)? {
                    return Ok(Err(Problem::unavailable(HELD)));
                }
                tx.publish(model, (version, Some(release)), 0)?;
                // Another node may have begun it.
                let begun = tx.live(model).map(|live| live.row.status);
                if begun == Some(ModelStatus::Beginning) {
                    tx.put_model(open)?;
                }
                Ok(Ok(()))
            })?;
        let used = self.job;
        self.runs.insert(model, Open { run, used });
        self.context.policies.renew(row)?;
        Ok(())
    }

    fn open(&mut self, row: &ModelRow, dataset: &DatasetRow) -> Result<Run, Problem> {
        let spec: ModelSpec = serde_json::from_str(&row.spec).map_err(|_| Problem::internal())?;
        let learner = spec.learner(dataset)?.on(&self.ledger()?);
        let (learner, is_begun) = match (&self.context.shared, &self.lease) {
            (Some(shared), Some(lease)) => {
                let name = format!("{}/{}", self.dataset, row.number);
                let kept = KeptRun::new(&shared.store, lease, name.as_str());
                let begun = kept.is_begun();
                let is_begun = begun.map_err(|error| failed("the run", &error))?;
                (learner.kept(name, Arc::new(kept)), is_begun)
            }
            (Some(_), None) => return Err(Problem::unavailable(HELD)),
            (None, _) => {
                let folder = self.state_folder(row.number);
                let is_begun = folder.join("run.json").exists();
                (learner.state(&folder), is_begun)
            }
        };
        let learner = learner.seal(self.context.master.of_run(self.dataset, row.number));
        let run = if is_begun {
            learner.resume()?
        } else {
            learner.start()?
        };
        Ok(run)
    }

    /// Learns from the next closed batch of a model; whether there was one.
    pub fn feed(&mut self, row: &Arc<ModelRow>, dataset: &DatasetRow) -> bool {
        if row.status == ModelStatus::Failed || row.elsewhere() {
            return false;
        }
        let fed = self.try_feed(row, dataset);
        fed.unwrap_or_else(|problem| {
            let fence = self.fence();
            let is_passing = || problem.status() == 503 || !self.holds(fence).unwrap_or(false);
            if self.context.shared.is_some() && is_passing() {
                // Another node learns it, or the database is away: whoever holds the data set next
                // begins anew from what is durable.
                tracing::debug!(
                    model = row.name,
                    detail = problem.detail,
                    "not learned here"
                );
                self.let_go();
                return false;
            }
            // What was not synced is fed again from the store; what was is not.
            self.close();
            tracing::error!(model = row.name, detail = problem.detail, "a model failed");
            let mut failed = ModelRow::clone(row);
            failed.status = ModelStatus::Failed;
            let tenant = row.tenant.clone();
            let name = row.name.clone();
            if let Ok(committer) = self.context.committer() {
                let touches = Touches::settings().and(row.number);
                let _ = committer.write_blocking(touches, move |tx| {
                    if !tx.holds(fence)? {
                        return Ok(Ok(()));
                    }
                    tx.put_model(failed)?;
                    tx.audit(Some(&tenant), "node", "model failed", &name)?;
                    Ok(Ok(()))
                });
            }
            false
        })
    }

    fn try_feed(&mut self, row: &Arc<ModelRow>, dataset: &DatasetRow) -> Result<bool, Problem> {
        let (mut state, job) = (self.context.db.state(row.number)?, self.job);
        if state.fed >= state.closed && !self.runs.contains_key(&row.number) {
            return Ok(false);
        }
        let fence = self.hold(Duration::ZERO)?;
        if fence.is_some() {
            // The last holder may have learned until now.
            state = self.context.db.state(row.number)?;
        }
        if !self.runs.contains_key(&row.number) {
            if state.fed >= state.closed {
                return Ok(false);
            }
            let run = self.open(row, dataset)?;
            self.check_start(row, &run)?;
            self.runs.insert(row.number, Open { run, used: job });
        }
        let Some(open) = self.runs.get_mut(&row.number) else {
            return Ok(false);
        };
        open.used = job;
        let learned = learned(&open.run, row, &state)?;
        if learned == state.fed {
            if state.closed <= state.fed {
                return Ok(false);
            }
            let slots = self.context.db.batch(row, learned)?;
            for slot in &slots {
                take(&mut open.run, row, slot.as_ref())?;
            }
        }
        self.publish(row, state.fed, fence)?;
        Ok(true)
    }

    /// What workers are asked next, of a model whose sums are made elsewhere.
    ///
    /// # Errors
    /// A model that has failed; another node that holds the data set; a disk that fails.
    pub fn question(
        &mut self,
        row: &Arc<ModelRow>,
        dataset: &DatasetRow,
    ) -> Result<Asked, Problem> {
        // Who only asks takes the data set from nobody.
        self.reach(row, dataset, Duration::ZERO)?;
        let run = self.run(row)?;
        let question = run.asks().then(|| run.question()).transpose()?;
        Ok(Asked {
            question,
            sealing_key: run.sealing_key().to_string(),
            delivered: run.delivered(),
        })
    }

    /// Takes a batch of sums exactly once, and publishes the release that it makes. Whether it was
    /// new, and the version after it: the same every time.
    ///
    /// # Errors
    /// A batch whose people would be counted twice or left out; sums that do not answer the present
    /// question; as [`Actor::question`].
    pub fn commit(
        &mut self,
        row: &Arc<ModelRow>,
        dataset: &DatasetRow,
        (delivery, sums): (&Delivery, &Sums),
    ) -> Result<(bool, Option<u64>), Problem> {
        let fence = self.reach(row, dataset, PATIENCE)?;
        let run = self.run(row)?;
        let is_taken = run
            .delivered()
            .is_some_and(|(source, last)| source == delivery.source() && delivery.batch() <= last);
        if sums.parts.is_empty() && !sums.is_stated && !is_taken {
            let told = "a batch without parts counts nobody: state `positions`, if it is empty";
            return Err(Problem::unprocessable(told).at("positions"));
        }
        let taken = match run.commit(delivery, &sums.parts) {
            Ok(taken) => taken,
            Err(error) => {
                let problem = Problem::from(error);
                // A refusal changes nothing: the run goes on.
                let is_refused = problem.status() == 422 && run.model().is_ok();
                return Err(if is_refused {
                    Problem::conflict(problem.detail)
                } else {
                    Problem::unavailable(problem.detail)
                });
            }
        };
        let version = taken.model.map(|model| model.release());
        self.catch_up(row, fence)?;
        Ok((taken.is_new, version))
    }

    /// Opens the run of a model whose sums are made elsewhere, and does what a crash or a failure
    /// left undone about its last release.
    fn reach(
        &mut self,
        row: &Arc<ModelRow>,
        dataset: &DatasetRow,
        patience: Duration,
    ) -> Result<Option<Fence>, Problem> {
        if row.status != ModelStatus::Open || self.context.db.state(row.number)?.ended {
            return Err(Problem::conflict("this model does not learn"));
        }
        let fence = self.hold(patience)?;
        let used = self.job;
        if !self.runs.contains_key(&row.number) {
            let run = self.open(row, dataset)?;
            self.runs.insert(row.number, Open { run, used });
        }
        if let Some(open) = self.runs.get_mut(&row.number) {
            open.used = used;
        }
        self.catch_up(row, fence)?;
        // The last release closes its run, and the last batch may come again.
        if !self.runs.contains_key(&row.number) {
            let run = self.open(row, dataset)?;
            self.runs.insert(row.number, Open { run, used });
        }
        Ok(fence)
    }

    fn run(&mut self, row: &ModelRow) -> Result<&mut Run, Problem> {
        let open = self.runs.get_mut(&row.number);
        Ok(&mut open.ok_or_else(Problem::internal)?.run)
    }

    /// Stores the release of the last batch, if the store has not got it, and settles it, if that
    /// was not done. What is asked for next is witnessed in any case.
    fn catch_up(&mut self, row: &Arc<ModelRow>, fence: Option<Fence>) -> Result<(), Problem> {
        let (fed, version) = (
            self.context.db.state(row.number)?.fed,
            self.run(row)?.model()?.release(),
        );
        let policies = &self.context.policies;
        if version == fed && policies.answers_with(row, version) {
            return policies.attest(row);
        }
        if version == fed {
            return self.settle(row, version);
        }
        if version == fed + 1 {
            return self.publish(row, fed, fence);
        }
        // The journal of a holder that was taken over is not the one that goes on.
        if !self.holds(fence)? {
            return Err(Problem::unavailable(HELD));
        }
        self.runs.remove(&row.number);
        Err(Problem::conflict(if version < fed {
            "the journal is older than the store: batches that it lacks are gone"
        } else {
            OLD_STORE
        }))
    }

    /// A batch is closed durably before it is fed: a run that has learned from more when it is
    /// first opened is newer than the store, which would give its slots out a second time.
    fn check_start(&self, row: &ModelRow, run: &Run) -> Result<(), Problem> {
        let closed = self.context.closed_at_start.lock();
        let mut closed = closed.unwrap_or_else(PoisonError::into_inner);
        let at_start = closed
            .get(&row.number)
            .map(|closed| closed * row.rounds.batch);
        if at_start.is_some_and(|closed| run.records() > closed) {
            return Err(Problem::conflict(OLD_STORE));
        }
        closed.remove(&row.number);
        Ok(())
    }

    /// Notes the last frame of the ledger outside of the database.
    fn note(&self, shared: &Shared) -> Result<(), Problem> {
        let noted = shared.witness.note(self.dataset);
        noted.map_err(|error| failed("the witness", &error))
    }

    /// What follows once a release is stored: it is witnessed, then answered with and told. After a
    /// failure all of it is done again.
    fn settle(&mut self, row: &Arc<ModelRow>, version: u64) -> Result<(), Problem> {
        let serving = self.context.policies.renew(row)?;
        self.context.hub.released(row, &serving);
        if version == row.rounds.batches {
            self.context.hub.finished(row, self.context.clock.now());
            self.runs.remove(&row.number);
        }
        Ok(())
    }

    /// Stores the release after batch `fed`, and settles it.
    fn publish(
        &mut self,
        row: &Arc<ModelRow>,
        fed: u64,
        fence: Option<Fence>,
    ) -> Result<(), Problem> {
        let Some(open) = self.runs.get_mut(&row.number) else {
            return Ok(());
        };
        let released = open.run.model()?;
        let (model, version) = (row.number, released.release());
        let release = ReleaseRow::new(&released, self.context.clock.now())?;
        let elsewhere = row.elsewhere();
        let exact = if elsewhere {
            Exact::default()
        } else {
            exact_of(&self.context.db.batch(row, fed)?)
        };
        let (touches, batch) = (Touches::model(model), row.rounds.batch);
        self.context
            .committer()?
            .write_blocking(touches, move |tx| {
                if !tx.holds(fence)? {
                    return Ok(Err(Problem::unavailable(HELD)));
                }
                tx.change(model, |state, counts| {
                    counts.add(&exact);
                    if elsewhere {
                        (state.closed, state.next_slot) = (fed + 1, (fed + 1) * batch);
                    }
                });
                Ok(Ok(tx.publish(model, (version, Some(release)), fed + 1)?))
            })?;
        self.settle(row, version)
    }
}

impl Drop for Actor {
    fn drop(&mut self) {
        self.let_go();
    }
}

fn failed(what: &str, error: &dyn std::error::Error) -> Problem {
    tracing::error!(%error, "cannot use {what}");
    Problem::unavailable(format!("{what} cannot be used: see the server's log"))
}

/// How long the holder of a data set may take to let go when an operator asks another node.
const PATIENCE: Duration = Duration::from_secs(5);

const HELD: &str = "another node learns this data set: ask again, or ask that node";

const OLD_STORE: &str = "the store is older than the journal: slots would be given out twice";

/// Batches that the run has learned from: those of the store, or one more after a crash.
fn learned(run: &Run, row: &ModelRow, state: &State) -> Result<u64, Problem> {
    let (batch, records) = (row.rounds.batch, run.records());
    let learned = records / batch;
    let refused = |told: &str| Err(Problem::conflict(told));
    if !records.is_multiple_of(batch) {
        return refused("the run has learned from a part of a batch");
    }
    if learned < state.fed {
        return refused("the journal is older than the store: slots that it lacks are gone");
    }
    if learned > state.closed {
        return refused(OLD_STORE);
    }
    if learned > state.fed + 1 {
        return refused("the journal has batches whose releases were not stored");
    }
    Ok(learned)
}

/// Feeds one slot.
fn take(run: &mut Run, row: &ModelRow, slot: Option<&Slot>) -> Result<(), Problem> {
    let person = slot.and_then(|slot| slot.person).map(|name| hex(&name));
    // Where persons are limited, a slot without one is null.
    let slot = slot.filter(|_| !row.persons || person.is_some());
    let person = person.as_deref().filter(|_| row.persons);
    let mut more: Vec<(&str, Value<'_>)> = Vec::new();
    more.extend(person.map(|person| (PERSON, Value::Text(person))));
    let columns = &row.columns;
    match (slot.map(Slot::contribution), &row.target) {
        (
            Some(Contribution::Decided {
                context: cells,
                arm,
                probability,
                reward,
            }),
            None,
        ) => {
            let action = row.actions.get(arm as usize);
            let action = action.ok_or_else(Problem::internal)?;
            let more = &more;
            let given = Cells {
                columns,
                cells,
                more,
            };
            Ok(run.learn_decision(&given, action, probability, reward)?)
        }
        (Some(Contribution::Record { features, target }), Some(name)) => {
            more.push((name, value(target)));
            let given = Cells {
                columns,
                cells: features,
                more: &more,
            };
            Ok(run.learn(&given)?)
        }
        (_, None) => Ok(run.learn_empty()?),
        (_, Some(name)) => {
            let names = columns.iter().chain([name]).map(String::as_str);
            let names = names.chain(row.persons.then_some(PERSON));
            let missing: Vec<(&str, Value<'_>)> =
                names.map(|name| (name, Value::Missing)).collect();
            Ok(run.learn(missing.as_slice())?)
        }
    }
}

/// Exact counts of a batch.
fn exact_of(slots: &[Option<Slot>]) -> Exact {
    let mut exact = Exact::default();
    for slot in slots {
        match slot.as_ref().map(Slot::contribution) {
            Some(Contribution::Decided { arm, reward, .. }) => {
                let arm = arm as usize;
                if exact.plays.len() <= arm {
                    exact.plays.resize(arm + 1, 0);
                }
                exact.plays[arm] += 1;
                match reward {
                    Some(reward) => {
                        exact.sum += reward;
                        exact.counted += 1;
                    }
                    None => exact.default += 1,
                }
            }
            Some(Contribution::Record { .. }) => exact.counted += 1,
            _ => exact.null += 1,
        }
    }
    exact
}
