//! A ledger that several runs of one program are charged to at the same time.

use crate::budget;
use crate::error::{Context, Result, refuse};
use crate::ledgers::{self, Statement};
use hushstream_account::{Adjacency, Budget, FilterKind};
use hushstream_mechanism::{FileStorage, Ledger, LedgerError, MemoryStorage, Scope, Storage};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The fraction of δ that is set aside for the precision of draws: some 10⁻²² for each run. Were
/// it left to the first run, as in a ledger of one run, there would be none for a second.
const PRECISION: f64 = 1e-9;

/// A ledger of one data set, for several runs at the same time: give it to each with
/// [`Learner::on`](crate::Learner::on). A file has one holder, and its holder may have many runs.
///
/// ```
/// use hushstream::prelude::*;
/// use hushstream::SharedLedger;
///
/// let folder = std::env::temp_dir().join(format!("shared-example-{}", std::process::id()));
/// std::fs::create_dir_all(&folder)?;
/// let total = Budget::approx(2.0, 1e-6)?;
/// let people = SharedLedger::create(&folder.join("people.ledger"), total, ReplaceOne, false)?;
/// let run = |name: &str| {
///     let learner = Learner::classify().features(2).records(1000);
///     let learner = learner.budget(Budget::approx(0.5, 1e-7).expect("a budget"));
///     learner.adjacency(ReplaceOne).on(&people).state(folder.join(name)).start()
/// };
/// let (mut one, mut two) = (run("one")?, run("two")?);
/// one.learn(&[0.1, 0.2, 1.0])?;
/// two.learn(&[0.3, 0.2, 0.0])?;
/// assert_eq!(people.statement().runs.len(), 2);
/// # drop((one, two, people));
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct SharedLedger(Arc<Mutex<Ledger>>);

impl SharedLedger {
    pub(crate) fn new(ledger: Ledger) -> Self {
        Self(Arc::new(Mutex::new(ledger)))
    }

    /// Creates the ledger of a data set, with a budget for all runs on it.
    ///
    /// # Errors
    /// A file or a witness at this name; a budget that is none; a disk that fails.
    pub fn create(
        path: &Path,
        budget: Budget,
        adjacency: Adjacency,
        per_person: bool,
    ) -> Result<Self> {
        let said = || format!("cannot make the ledger {}", path.display());
        if !path.exists() && budget::witness(path).exists() {
            return Err(LedgerError::Gone).with_context(said);
        }
        let storage = FileStorage::open(path).with_context(said)?;
        Self::create_in(storage, budget, adjacency, per_person).with_context(said)
    }

    /// The same in any storage, which lets one holder at a time write.
    ///
    /// # Errors
    /// A ledger or a witness there; a budget that is none; a device that fails.
    pub fn create_in(
        storage: impl Storage + 'static,
        budget: Budget,
        adjacency: Adjacency,
        per_person: bool,
    ) -> Result<Self> {
        let kind = if budget.is_pure() {
            FilterKind::Pure
        } else {
            FilterKind::Gaussian
        };
        let scope = Scope {
            adjacency,
            per_person,
            windowed: false,
        };
        let reserve = PRECISION * budget.delta();
        let ledger = Ledger::create_reserving(storage, budget, kind, scope, reserve);
        Ok(Self::new(ledger?))
    }

    /// Whether there can be a ledger with this budget: nothing is made.
    ///
    /// # Errors
    /// As [`SharedLedger::create_in`].
    pub fn check(budget: Budget, adjacency: Adjacency, per_person: bool) -> Result<()> {
        let storage = MemoryStorage::default();
        Self::create_in(storage, budget, adjacency, per_person).map(drop)
    }

    /// Opens the ledger of a data set.
    ///
    /// # Errors
    /// No ledger there; a ledger that is damaged, older than its witness, or in use.
    pub fn open(path: &Path) -> Result<Self> {
        ledgers::open(path).map(Self::new)
    }

    /// The same from any storage, which lets one holder at a time write.
    ///
    /// # Errors
    /// As [`SharedLedger::open`].
    pub fn open_in(storage: impl Storage + 'static) -> Result<Self> {
        Ok(Self::new(Ledger::open(storage)?))
    }

    /// Raises the budget, durably, and sets aside this fraction of δ for the precision of draws and
    /// for runs of other kinds; a tenth if not stated.
    ///
    /// # Errors
    /// A smaller budget; a fraction out of range; a disk that fails.
    pub fn raise(&self, budget: Budget, reserve: Option<f64>) -> Result<()> {
        let reserve = reserve.unwrap_or(budget::RESERVE);
        if !(0.0..1.0).contains(&reserve) {
            refuse!("‹reserve› is a part of δ, from 0 to below 1");
        }
        budget::raise(&mut *self.lock()?, budget, reserve, None)
    }

    /// What the ledger says.
    #[must_use]
    pub fn statement(&self) -> Statement {
        Statement::of(&self.look())
    }

    /// The ledger, for a change. After a panic in one it is not changed any more.
    pub(crate) fn lock(&self) -> Result<MutexGuard<'_, Ledger>> {
        match self.0.lock() {
            Ok(ledger) => Ok(ledger),
            Err(_) => refuse!("a run on this ledger failed in a change of it: open it again"),
        }
    }

    /// The ledger, to be looked at.
    pub(crate) fn look(&self) -> MutexGuard<'_, Ledger> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
