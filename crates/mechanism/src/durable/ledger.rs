//! The ledger of a data set: what was spent, durable before it is spent.
//!
//! One ledger guards one budget over one data set, across runs and restarts. [`Ledger::debit`] records a charge, waits for the
//! disk, and only then hands out the [`Grant`]; a crash in between loses the grant, never the charge. It also keeps,
//! for every mechanism, the last step that may have left the process (its *mark*): a journal that knows
//! less than the mark is an old copy, and its run must open a new instance.

use super::{Log, LogError, MemoryStorage, Storage, Syncs};
use crate::boundary::Grant;
use hushstream_account::{AccountError, Budget, Charge, Filter, FilterKind, Refused};
use hushstream_noise::{Instance, NoiseError};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashSet};

/// How many marks are kept before the log is written anew with the last ones.
const MARKS_KEPT: u64 = 1 << 16;

/// Why a ledger refuses.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// The charge does not fit the budget. Nothing was spent.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// The budget cannot be guarded in this way.
    #[error(transparent)]
    Budget(#[from] AccountError),
    /// The ledger's file.
    #[error("ledger: {0}")]
    Log(#[from] LogError),
    /// No entropy for the ledger's name.
    #[error(transparent)]
    Noise(#[from] NoiseError),
    /// A new ledger was asked for where one exists.
    #[error("there is a ledger here already: open it instead")]
    Exists,
    /// A ledger was asked for where none exists.
    #[error("there is no ledger here: create one with a budget")]
    Missing,
    /// The ledger does not know this mechanism: it is another ledger, or it has lost a charge.
    #[error("the ledger has no charge number {0}")]
    Unknown(u64),
    /// The mechanism is in use.
    #[error("charge number {0} is in use in this process")]
    InUse(u64),
}

#[derive(Serialize, Deserialize)]
enum Record {
    Opened {
        name: [u8; 16],
        epsilon: f64,
        delta: f64,
        kind: u8,
        simulated: bool,
    },
    Debited {
        number: u64,
        charge: Charge,
    },
    Marked {
        number: u64,
        step: u64,
    },
}

/// The ledger.
pub struct Ledger {
    log: Log,
    name: [u8; 16],
    simulated: bool,
    filter: Filter,
    charges: BTreeMap<u64, Charge>,
    marks: BTreeMap<u64, u64>,
    marks_written: u64,
    in_use: HashSet<u64>,
}

impl Ledger {
    /// A new ledger with a budget that will never be exceeded. On storage that is not durable it is marked simulated.
    ///
    /// # Errors
    /// A ledger that exists already; a budget that the filter cannot guard; storage.
    pub fn create(
        storage: impl Storage + 'static,
        budget: Budget,
        kind: FilterKind,
    ) -> Result<Self, LedgerError> {
        let (mut log, records) = Log::open(Box::new(storage), Syncs::Each)?;
        if !records.is_empty() {
            return Err(LedgerError::Exists);
        }
        let filter = Filter::open(budget, kind)?;
        let name = Instance::from_os()?.to_bytes();
        let simulated = !log.is_durable();
        append(&mut log, &opened(name, &filter, simulated))?;
        log.sync()?;
        Ok(Self::empty(log, name, simulated, filter))
    }

    /// A ledger for simulations: in memory, and everything paid from it is marked.
    ///
    /// # Errors
    /// A budget that the filter cannot guard.
    pub fn simulated(budget: Budget, kind: FilterKind) -> Result<Self, LedgerError> {
        Self::create(MemoryStorage::default(), budget, kind)
    }

    /// Opens an existing ledger.
    ///
    /// # Errors
    /// No ledger, a damaged one, storage.
    pub fn open(storage: impl Storage + 'static) -> Result<Self, LedgerError> {
        let (log, payloads) = Log::open(Box::new(storage), Syncs::Each)?;
        let mut records = (0..).zip(&payloads).map(|(number, payload)| {
            postcard::from_bytes(payload).map_err(|_| LedgerError::Log(LogError::Record(number)))
        });
        let Some(first) = records.next() else {
            return Err(LedgerError::Missing);
        };
        let Record::Opened {
            name,
            epsilon,
            delta,
            kind,
            simulated,
        } = first?
        else {
            return Err(LogError::Record(0).into());
        };
        let kind = kind_from(kind).ok_or(LogError::Record(0))?;
        let filter = Filter::open(Budget::approx(epsilon, delta)?, kind)?;
        let mut ledger = Self::empty(log, name, simulated, filter);
        for (place, record) in (1..).zip(records) {
            match record? {
                Record::Opened { .. } => return Err(LogError::Record(place).into()),
                Record::Debited { number, charge } => {
                    ledger.filter.try_spend(&charge)?;
                    ledger.charges.insert(number, charge);
                }
                Record::Marked { number, step } => {
                    let mark = ledger.marks.entry(number).or_default();
                    *mark = step.max(*mark);
                    ledger.marks_written += 1;
                }
            }
        }
        Ok(ledger)
    }

    fn empty(log: Log, name: [u8; 16], simulated: bool, filter: Filter) -> Self {
        Self {
            log,
            name,
            simulated,
            filter,
            charges: BTreeMap::new(),
            marks: BTreeMap::new(),
            marks_written: 0,
            in_use: HashSet::new(),
        }
    }

    /// Spends a charge, durably, and gives the permission to build one mechanism with it.
    ///
    /// # Errors
    /// A charge that does not fit (nothing is spent); storage (the charge may be spent: open the ledger again).
    pub fn debit(&mut self, charge: Charge) -> Result<Grant, LedgerError> {
        let mut filter = self.filter.clone();
        filter.try_spend(&charge)?;
        let number = self
            .charges
            .last_key_value()
            .map_or(1, |(last, _)| last + 1);
        append(&mut self.log, &Record::Debited { number, charge })?;
        self.log.sync()?;
        self.filter = filter;
        self.charges.insert(number, charge);
        self.in_use.insert(number);
        Ok(self.grant(number, charge))
    }

    /// The permission to continue the mechanism of an earlier debit: no new charge, once a process.
    pub(crate) fn resume(&mut self, number: u64) -> Result<Grant, LedgerError> {
        let charge = *self
            .charges
            .get(&number)
            .ok_or(LedgerError::Unknown(number))?;
        if !self.in_use.insert(number) {
            return Err(LedgerError::InUse(number));
        }
        Ok(self.grant(number, charge))
    }

    fn grant(&self, number: u64, charge: Charge) -> Grant {
        Grant {
            ledger: self.name,
            number,
            charge,
            simulated: self.simulated,
        }
    }

    /// Records that releases up to `step` may leave the process.
    pub(crate) fn mark(&mut self, number: u64, step: u64) -> Result<(), LedgerError> {
        if !self.charges.contains_key(&number) {
            return Err(LedgerError::Unknown(number));
        }
        if step <= self.marked(number) {
            return Ok(());
        }
        if self.marks_written >= MARKS_KEPT {
            self.marks.insert(number, step);
            return self.compact();
        }
        append(&mut self.log, &Record::Marked { number, step })?;
        self.log.sync()?;
        self.marks_written += 1;
        self.marks.insert(number, step);
        Ok(())
    }

    /// The last step of a mechanism that may have left the process; 0 for none.
    pub(crate) fn marked(&self, number: u64) -> u64 {
        self.marks.get(&number).copied().unwrap_or(0)
    }

    fn compact(&mut self) -> Result<(), LedgerError> {
        let mut records = vec![opened(self.name, &self.filter, self.simulated)];
        records.extend(
            self.charges
                .iter()
                .map(|(&number, &charge)| Record::Debited { number, charge }),
        );
        records.extend(
            self.marks
                .iter()
                .map(|(&number, &step)| Record::Marked { number, step }),
        );
        let payloads = records.iter().map(encode).collect::<Result<Vec<_>, _>>()?;
        self.log.replace(&payloads)?;
        self.marks_written = self.marks.len() as u64;
        Ok(())
    }

    /// The budget it guards.
    #[must_use]
    pub fn budget(&self) -> Budget {
        self.filter.budget()
    }

    /// What was spent and what may be, in the filter's unit (μ², ρ or ε).
    #[must_use]
    pub fn spent_of(&self) -> (f64, f64) {
        (self.filter.spent(), self.filter.limit())
    }

    /// Every charge, in order.
    pub fn charges(&self) -> impl Iterator<Item = (u64, Charge)> + '_ {
        self.charges
            .iter()
            .map(|(&number, &charge)| (number, charge))
    }

    /// Whether everything paid from it is marked simulated.
    #[must_use]
    pub fn is_simulated(&self) -> bool {
        self.simulated
    }

    pub(crate) fn name(&self) -> [u8; 16] {
        self.name
    }
}

fn opened(name: [u8; 16], filter: &Filter, simulated: bool) -> Record {
    Record::Opened {
        name,
        epsilon: filter.budget().epsilon(),
        delta: filter.budget().delta(),
        kind: match filter.kind() {
            FilterKind::Gaussian => 0,
            FilterKind::Zcdp => 1,
            FilterKind::Pure => 2,
        },
        simulated,
    }
}

fn kind_from(kind: u8) -> Option<FilterKind> {
    [FilterKind::Gaussian, FilterKind::Zcdp, FilterKind::Pure]
        .get(usize::from(kind))
        .copied()
}

fn append(log: &mut Log, record: &Record) -> Result<(), LogError> {
    log.append(&encode(record)?)
}

fn encode(record: &Record) -> Result<Vec<u8>, LogError> {
    postcard::to_allocvec(record).map_err(|_| LogError::Record(0))
}
