//! The ledger of a data set: what was spent, durable before it is spent.
//!
//! One ledger guards one budget, of one [`Scope`], over one data set, across runs and restarts. [`Ledger::debit`] records a charge, waits for the
//! disk, and only then hands out the [`Grant`]; a crash in between loses the grant, never the charge, and
//! [`Ledger::grant_again`] brings it back as long as nothing has begun with it.
//!
//! For every mechanism that has begun the ledger also keeps
//! - its *instance*: a journal of another instance belongs to an earlier life of the run, and is refused;
//! - its *life*, a random name of the one object in one process that may publish: a later resume takes it over;
//! - its *mark*, the last step that may have left the process: a journal that knows less is an old copy.
//!
//! **A ledger must never be restored from a backup**: charges and marks since then would be forgotten, and nothing could notice.

mod error;
mod lives;

pub use error::LedgerError;
pub(crate) use lives::Begun;

use super::records::{Record, kind_from, opened};
use super::{Format, Log, LogError, MemoryStorage, Storage};
use crate::boundary::{Grant, Scope};
use hushstream_account::{Budget, Charge, Filter, FilterKind};
use hushstream_noise::Instance;
use std::collections::{BTreeMap, BTreeSet};

/// The ledger.
pub struct Ledger {
    log: Log,
    name: [u8; 16],
    simulated: bool,
    scope: Scope,
    filter: Filter,
    charges: BTreeMap<u64, Charge>,
    begun: BTreeMap<u64, Begun>,
    /// Those that draw simulated noise.
    unprotected: BTreeSet<u64>,
    /// Whether the budget has ever been raised.
    widened: bool,
    marks_written: u64,
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
        scope: Scope,
    ) -> Result<Self, LedgerError> {
        let (log, records) = Log::open(Box::new(storage), Format::LEDGER)?;
        if !records.is_empty() {
            return Err(LedgerError::Exists);
        }
        let filter = Filter::open(budget, kind)?;
        let name = Instance::from_os()?.to_bytes();
        let simulated = !log.is_durable();
        let mut ledger = Self::empty(log, name, simulated, scope, filter);
        ledger.write(&opened(name, &ledger.filter, scope, simulated))?;
        Ok(ledger)
    }

    /// A ledger for simulations: in memory, and everything paid from it is marked.
    ///
    /// # Errors
    /// A budget that the filter cannot guard.
    pub fn simulated(budget: Budget, kind: FilterKind, scope: Scope) -> Result<Self, LedgerError> {
        Self::create(MemoryStorage::default(), budget, kind, scope)
    }

    /// Opens an existing ledger.
    ///
    /// # Errors
    /// No ledger, a damaged one, storage.
    pub fn open(storage: impl Storage + 'static) -> Result<Self, LedgerError> {
        let (log, payloads) = Log::open(Box::new(storage), Format::LEDGER)?;
        let mut records = (0..)
            .zip(&payloads)
            .map(|(place, payload)| Record::decode(place, payload));
        let Some(first) = records.next() else {
            return Err(LedgerError::Missing);
        };
        let Record::Opened {
            name,
            epsilon,
            delta,
            kind,
            scope,
            simulated,
        } = first?
        else {
            return Err(LogError::Record(0).into());
        };
        let simulated = simulated || !log.is_durable();
        let kind = kind_from(kind).ok_or(LogError::Record(0))?;
        let filter = Filter::open(Budget::approx(epsilon, delta)?, kind)?;
        let mut ledger = Self::empty(log, name, simulated, scope, filter);
        for (place, record) in (1..).zip(records) {
            ledger.replay(place, record?)?;
        }
        Ok(ledger)
    }

    fn replay(&mut self, place: u64, record: Record) -> Result<(), LedgerError> {
        let broken = LogError::Record(place);
        match record {
            Record::Opened { .. } => return Err(broken.into()),
            Record::Debited { number, charge } => {
                self.filter.try_spend(&charge)?;
                if self.charges.insert(number, charge).is_some() {
                    return Err(broken.into());
                }
            }
            Record::Begun {
                number,
                instance,
                life,
            } => {
                let mark = self.begun.get(&number).map_or(0, |begun| begun.mark);
                self.begun.insert(
                    number,
                    Begun {
                        instance,
                        life,
                        mark,
                    },
                );
            }
            Record::Widened { epsilon, delta } => {
                self.filter = self.refilled(Budget::approx(epsilon, delta)?)?;
                self.widened = true;
            }
            Record::Simulated { number } => {
                self.unprotected.insert(number);
            }
            Record::Marked { number, step } => {
                let begun = self.begun.get_mut(&number).ok_or(broken)?;
                begun.mark = begun.mark.max(step);
                self.marks_written += 1;
            }
        }
        Ok(())
    }

    fn empty(log: Log, name: [u8; 16], simulated: bool, scope: Scope, filter: Filter) -> Self {
        Self {
            log,
            name,
            simulated,
            scope,
            filter,
            charges: BTreeMap::new(),
            begun: BTreeMap::new(),
            unprotected: BTreeSet::new(),
            widened: false,
            marks_written: 0,
        }
    }

    /// Spends a charge, durably, and gives the permission to build one mechanism with it.
    ///
    /// # Errors
    /// A charge that does not fit or is about something else (nothing is spent); storage (the charge may be spent: open
    /// the ledger again).
    pub fn debit(&mut self, charge: Charge, scope: Scope) -> Result<Grant, LedgerError> {
        let filter = self.filter_after(&charge, scope)?;
        let number = self
            .charges
            .last_key_value()
            .map_or(1, |(last, _)| last + 1);
        self.write(&Record::Debited { number, charge })?;
        self.filter = filter;
        self.charges.insert(number, charge);
        self.grant(number)
    }

    /// Whether a charge could be spent now; nothing is.
    ///
    /// # Errors
    /// A charge that does not fit or is about something else.
    pub fn allows(&self, charge: &Charge, scope: Scope) -> Result<(), LedgerError> {
        self.filter_after(charge, scope).map(|_| ())
    }

    fn filter_after(&self, charge: &Charge, scope: Scope) -> Result<Filter, LedgerError> {
        if scope != self.scope {
            return Err(LedgerError::OtherScope {
                budget: self.scope,
                charge: scope,
            });
        }
        let mut filter = self.filter.clone();
        filter.try_spend(charge)?;
        Ok(filter)
    }

    /// Raises the budget, durably: a decision of whoever answers for the data. What was spent stays spent.
    ///
    /// # Errors
    /// A budget below the present one in ε or δ, or one that the filter cannot guard (nothing changes); storage.
    pub fn widen(&mut self, budget: Budget) -> Result<(), LedgerError> {
        let present = self.filter.budget();
        if budget.epsilon() < present.epsilon() || budget.delta() < present.delta() {
            return Err(LedgerError::Narrower {
                epsilon: present.epsilon(),
                delta: present.delta(),
            });
        }
        let filter = self.refilled(budget)?;
        let (epsilon, delta) = (budget.epsilon(), budget.delta());
        self.write(&Record::Widened { epsilon, delta })?;
        self.filter = filter;
        self.widened = true;
        Ok(())
    }

    /// A filter of another budget in which everything so far is spent.
    fn refilled(&self, budget: Budget) -> Result<Filter, LedgerError> {
        let mut filter = Filter::open(budget, self.filter.kind())?;
        for charge in self.charges.values() {
            filter.try_spend(charge)?;
        }
        Ok(filter)
    }

    /// The grant of an earlier debit once more, if nothing has begun with it: after a crash, or when opening a mechanism failed.
    ///
    /// # Errors
    /// A number the ledger does not know, or whose run has begun.
    pub fn grant_again(&self, number: u64) -> Result<Grant, LedgerError> {
        if self.begun.contains_key(&number) {
            return Err(LedgerError::Begun(number));
        }
        self.grant(number)
    }

    pub(crate) fn grant(&self, number: u64) -> Result<Grant, LedgerError> {
        let charge = *self
            .charges
            .get(&number)
            .ok_or(LedgerError::Unknown(number))?;
        Ok(Grant {
            ledger: self.name,
            number,
            charge,
            scope: self.scope,
            simulated: self.simulated,
        })
    }

    /// Writes one record, durably.
    fn write(&mut self, record: &Record) -> Result<(), LedgerError> {
        self.log.append(&record.encode()?)?;
        Ok(self.log.sync()?)
    }

    /// The budget it guards.
    #[must_use]
    pub fn budget(&self) -> Budget {
        self.filter.budget()
    }

    /// What its budget is about.
    #[must_use]
    pub fn scope(&self) -> Scope {
        self.scope
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

    /// Whether the mechanism that was paid with this charge draws simulated noise: what it publishes protects nobody, whatever the charge. (From a ledger
    /// that is simulated itself nothing else is paid, and nothing is noted.)
    #[must_use]
    pub fn is_unprotected(&self, number: u64) -> bool {
        self.unprotected.contains(&number)
    }

    /// Whether the budget has been raised. A filter's theorem is about a budget that was fixed beforehand: one that was raised because of what had been published bounds nothing in advance.
    #[must_use]
    pub fn is_widened(&self) -> bool {
        self.widened
    }

    pub(crate) fn name(&self) -> [u8; 16] {
        self.name
    }
}

#[cfg(test)]
mod tests;
