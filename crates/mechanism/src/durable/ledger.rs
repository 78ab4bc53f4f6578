//! The ledger of a data set: every charge is durable before it is spent.
//!
//! One ledger guards one budget, of one [`Scope`], over one data set, across runs and restarts.
//! [`Ledger::debit`] records a charge, waits for the disk, and only then returns the [`Grant`]. A
//! crash in between loses the grant, never the charge; [`Ledger::grant_again`] reissues it as long
//! as no run has begun with it.
//!
//! For every mechanism that has begun, the ledger also stores
//! - its *instance*: a journal of another instance belongs to an earlier life of the run, and is
//!   refused;
//! - its *life*, a random name of the one object in one process that may publish: a later resume
//!   replaces it;
//! - its *mark*, the last step that may have left the process: a journal with fewer items is an old
//!   copy.
//!
//! **A ledger must never be restored from a backup**: charges and marks since then would be
//! forgotten. A witness beside it notices (`witness.rs`), unless it is restored as well.
//!
//! **Changing a budget.** A budget can be raised ([`Ledger::widen`]), take over the charges of
//! another ledger about the same people ([`Ledger::merge`]), and be closed. Earlier charges stay
//! paid: their runs begin, continue and resume with the ledger that granted them, even after it is
//! closed or merged. None of them is charged again or forgotten.

mod error;
mod lives;

pub use error::LedgerError;
pub(crate) use lives::Begun;

use super::records::{Record, kind_from, opened, widened};
use super::witness::{Witness, hex};
use super::{Format, Log, LogError, MemoryStorage, NoStorage, Storage, checksum};
use crate::boundary::{Grant, Scope};
use hushstream_account::{Budget, Filter, FilterKind, Price};
use hushstream_noise::Instance;
use std::collections::{BTreeMap, BTreeSet};

/// The budget of one data set, and every charge against it.
///
/// ```
/// use hushstream_account::{Adjacency, Budget, Charge, Epsilon, FilterKind};
/// use hushstream_mechanism::{Ledger, MemoryStorage, Scope};
///
/// let scope = Scope::records(Adjacency::ReplaceOne);
/// let storage = MemoryStorage::default(); // a `FileStorage` for real data
/// let mut ledger = Ledger::create(storage, Budget::pure(1.0)?, FilterKind::Pure, scope)?;
/// let charge = Charge::Pure(Epsilon::new(0.75)?);
/// let grant = ledger.debit(charge, scope)?;
/// assert_eq!(grant.charge(), charge);
/// assert!(ledger.debit(charge, scope).is_err()); // only 0.25 is left
/// assert_eq!(ledger.charges().count(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Ledger {
    log: Log,
    name: [u8; 16],
    simulated: bool,
    scope: Scope,
    filter: Filter,
    /// The filter that it was opened with, without charges: a rewrite keeps it, and with it the
    /// fact that the budget was raised.
    first: Filter,
    charges: BTreeMap<u64, Price>,
    begun: BTreeMap<u64, Begun>,
    merged: Vec<Merged>,
    /// Set once the ledger is closed; names the ledger that its charges were merged into, if any.
    closed: Option<Option<[u8; 16]>>,
    /// Numbers of the mechanisms that draw simulated noise.
    unprotected: BTreeSet<u64>,
    /// Whether the budget has ever been raised.
    widened: bool,
    /// Whether ε or δ became larger.
    raised: bool,
    marks_written: u64,
    /// How many times the log was rewritten.
    epoch: u64,
    /// Whether the witness was missing when the ledger was opened.
    unwitnessed: bool,
    /// Marks since the witness was last written.
    marks_unwitnessed: u64,
}

/// The largest number of a charge: no ledger gets there, and every charge has a next.
const LAST: u64 = u64::MAX / 2;

/// Charges that were merged from another ledger.
#[derive(Clone, Copy)]
struct Merged {
    from: [u8; 16],
    first: u64,
    count: u64,
}

impl Ledger {
    /// Creates a ledger with a budget that will never be exceeded. On storage that is not durable,
    /// the ledger is marked simulated.
    ///
    /// # Errors
    /// A ledger that exists already; a budget that the filter cannot guard; storage.
    pub fn create(
        storage: impl Storage + 'static,
        budget: Budget,
        kind: FilterKind,
        scope: Scope,
    ) -> Result<Self, LedgerError> {
        Self::create_with(Box::new(storage), Filter::open(budget, kind)?, scope)
    }

    /// As [`Ledger::create`], with a part of δ reserved for charges of other kinds, see
    /// [`Filter::reserving`]. Otherwise the first charge decides.
    ///
    /// # Errors
    /// As [`Ledger::create`].
    pub fn create_reserving(
        storage: impl Storage + 'static,
        budget: Budget,
        kind: FilterKind,
        scope: Scope,
        reserve: f64,
    ) -> Result<Self, LedgerError> {
        let filter = Filter::reserving(budget, kind, reserve)?;
        Self::create_with(Box::new(storage), filter, scope)
    }

    fn create_with(
        storage: Box<dyn Storage>,
        filter: Filter,
        scope: Scope,
    ) -> Result<Self, LedgerError> {
        let (log, _) = Log::open_checked(storage, Format::LEDGER, |storage, records| {
            if !records.is_empty() {
                return Err(LedgerError::Exists);
            }
            refuse_witness(storage)
        })?;
        let name = Instance::from_os()?.to_bytes();
        let simulated = !log.is_durable();
        let mut ledger = Self::empty(log, name, simulated, scope, filter);
        ledger.write(&opened(name, &ledger.filter, scope, simulated))?;
        ledger.attest()?;
        Ok(ledger)
    }

    /// A ledger for simulations: in memory, and every grant is marked simulated.
    ///
    /// # Errors
    /// A budget that the filter cannot guard.
    pub fn simulated(budget: Budget, kind: FilterKind, scope: Scope) -> Result<Self, LedgerError> {
        Self::create(MemoryStorage::default(), budget, kind, scope)
    }

    /// Opens an existing ledger.
    ///
    /// # Errors
    /// No ledger, a damaged ledger, storage.
    pub fn open(storage: impl Storage + 'static) -> Result<Self, LedgerError> {
        let mut found = None;
        // What is refused stays as it was: everything is read before a torn end is cut off.
        let check = |storage: &mut dyn Storage, payloads: &[Vec<u8>]| {
            let witness = check_witness(storage, payloads)?;
            found = Some((Self::read(payloads)?, witness));
            Ok(())
        };
        let (log, _) = Log::open_checked::<LedgerError>(Box::new(storage), Format::LEDGER, check)?;
        let (mut ledger, witness) = found.ok_or(LedgerError::Missing)?;
        ledger.simulated |= !log.is_durable();
        ledger.log = log;
        ledger.unwitnessed = witness.is_none();
        if witness != Some(ledger.witness()) {
            ledger.attest()?;
        }
        Ok(ledger)
    }

    /// The ledger of these records, without storage.
    fn read(payloads: &[Vec<u8>]) -> Result<Self, LedgerError> {
        let mut records = (0..)
            .zip(payloads)
            .map(|(place, payload)| Record::decode(place, payload));
        let Some(first) = records.next() else {
            return Err(LedgerError::Missing);
        };
        let (name, epsilon, delta, kind, scope, simulated, reserve) = match first? {
            Record::Opened {
                name,
                epsilon,
                delta,
                kind,
                scope,
                simulated,
            } => (name, epsilon, delta, kind, scope, simulated, None),
            Record::OpenedReserving {
                name,
                epsilon,
                delta,
                kind,
                scope,
                simulated,
                reserve,
            } => (name, epsilon, delta, kind, scope, simulated, Some(reserve)),
            _ => return Err(LogError::Record(0).into()),
        };
        let kind = kind_from(kind).ok_or(LogError::Record(0))?;
        let filter = filter(Budget::approx(epsilon, delta)?, kind, reserve)?;
        let (log, _) = Log::open(Box::new(NoStorage), Format::LEDGER)?;
        let mut ledger = Self::empty(log, name, simulated, scope, filter);
        for (place, record) in (1..).zip(records) {
            ledger.replay(place, record?)?;
        }
        Ok(ledger)
    }

    fn replay(&mut self, place: u64, record: Record) -> Result<(), LedgerError> {
        let broken = LogError::Record(place);
        match record {
            Record::Opened { .. } | Record::OpenedReserving { .. } => return Err(broken.into()),
            Record::Debited { number, charge } => self.take(place, number, charge.into())?,
            Record::Paid { number, price } => self.take(place, number, price)?,
            Record::Merged { first, .. } if first > LAST => return Err(broken.into()),
            Record::Merged { from, first, runs } => {
                let count = runs.len() as u64;
                for (number, (price, simulated)) in (first..).zip(runs) {
                    self.take(place, number, price)?;
                    if simulated {
                        self.unprotected.insert(number);
                    }
                }
                self.merged.push(Merged { from, first, count });
            }
            Record::Closed { into } => self.closed = Some(into),
            Record::Rewritten { epoch } => self.epoch = epoch,
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
                self.marks_written += 1;
            }
            Record::Widened { epsilon, delta } => {
                let budget = Budget::approx(epsilon, delta)?;
                self.change(budget, self.refilled(budget, None)?);
            }
            Record::WidenedReserving {
                epsilon,
                delta,
                reserve,
            } => {
                let budget = Budget::approx(epsilon, delta)?;
                self.change(budget, self.refilled(budget, Some(reserve))?);
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

    fn take(&mut self, place: u64, number: u64, price: Price) -> Result<(), LedgerError> {
        self.filter.try_spend(price)?;
        if number > LAST || self.charges.insert(number, price).is_some() {
            return Err(LogError::Record(place).into());
        }
        Ok(())
    }

    fn empty(log: Log, name: [u8; 16], simulated: bool, scope: Scope, filter: Filter) -> Self {
        Self {
            log,
            name,
            simulated,
            scope,
            first: filter.clone(),
            filter,
            charges: BTreeMap::new(),
            begun: BTreeMap::new(),
            unprotected: BTreeSet::new(),
            merged: Vec::new(),
            closed: None,
            widened: false,
            raised: false,
            marks_written: 0,
            epoch: 0,
            unwitnessed: false,
            marks_unwitnessed: 0,
        }
    }

    /// Spends a charge, durably, and returns the permission to build one mechanism with it.
    ///
    /// # Errors
    /// A charge that does not fit the budget or has another scope (nothing is spent); storage (the
    /// charge may be spent: open the ledger again).
    pub fn debit(&mut self, price: impl Into<Price>, scope: Scope) -> Result<Grant, LedgerError> {
        let price = price.into();
        let filter = self.filter_after(price, scope)?;
        let number = self.next_number();
        self.write(&Record::Paid { number, price })?;
        self.filter = filter;
        self.charges.insert(number, price);
        self.attest()?;
        self.grant(number)
    }

    /// The number of the next charge.
    #[must_use]
    pub fn next_number(&self) -> u64 {
        self.charges
            .last_key_value()
            .map_or(1, |(last, _)| last + 1)
    }

    /// Whether the budget has room for a charge. Spends nothing.
    ///
    /// # Errors
    /// A charge that does not fit the budget or has another scope.
    pub fn allows(&self, price: impl Into<Price>, scope: Scope) -> Result<(), LedgerError> {
        self.filter_after(price.into(), scope).map(|_| ())
    }

    fn filter_after(&self, price: Price, scope: Scope) -> Result<Filter, LedgerError> {
        self.check_open()?;
        if scope != self.scope {
            return Err(LedgerError::OtherScope {
                budget: self.scope,
                charge: scope,
            });
        }
        let mut filter = self.filter.clone();
        filter.try_spend(price)?;
        Ok(filter)
    }

    fn check_open(&self) -> Result<(), LedgerError> {
        match self.closed {
            None => Ok(()),
            Some(into) => Err(LedgerError::Closed {
                into: into.map(hex),
            }),
        }
    }

    /// Raises the budget, durably: a decision about the people in the data. Spent charges stay
    /// spent, and the reserved part of δ stays as it is.
    ///
    /// # Errors
    /// A budget below the present one in ε or δ, or one that the filter cannot guard (nothing
    /// changes); storage.
    pub fn widen(&mut self, budget: Budget) -> Result<(), LedgerError> {
        self.widen_reserving(budget, self.filter.stated_reserve())
    }

    /// As [`Ledger::widen`], with a new reserved part of δ.
    ///
    /// # Errors
    /// As [`Ledger::widen`].
    pub fn widen_reserving(
        &mut self,
        budget: Budget,
        reserve: Option<f64>,
    ) -> Result<(), LedgerError> {
        self.check_open()?;
        let present = self.filter.budget();
        if budget.epsilon() < present.epsilon() || budget.delta() < present.delta() {
            return Err(LedgerError::Narrower {
                epsilon: present.epsilon(),
                delta: present.delta(),
            });
        }
        // Nothing changes, so nothing is raised.
        if budget == present && reserve == self.filter.stated_reserve() {
            return Ok(());
        }
        // A pure ledger that gets a δ still adds up ε, and now δ as well.
        let filter = self.refilled(budget, reserve)?;
        self.write(&widened(&filter))?;
        self.change(budget, filter);
        self.attest()
    }

    /// Replaces the budget, or its reserved part.
    fn change(&mut self, budget: Budget, filter: Filter) {
        self.raised |= budget != self.filter.budget();
        self.widened = true;
        self.filter = filter;
    }

    /// A filter with another budget and the same charges.
    fn refilled(&self, budget: Budget, reserve: Option<f64>) -> Result<Filter, LedgerError> {
        let kind = match self.filter.kind() {
            FilterKind::Pure if !budget.is_pure() => FilterKind::Approximate,
            kind => kind,
        };
        let mut filter = filter(budget, kind, reserve)?;
        for price in self.charges.values() {
            filter.try_spend(price)?;
        }
        Ok(filter)
    }

    /// Takes over the charges of another ledger about the same people, durably, and closes that
    /// ledger. After a crash, merge again: no charge is taken over twice.
    ///
    /// # Errors
    /// Charges that do not fit or have another scope, or a closed ledger (nothing changes);
    /// storage.
    pub fn merge(&mut self, other: &mut Self) -> Result<(), LedgerError> {
        if self.name == other.name {
            return Err(LedgerError::SameLedger);
        }
        self.check_open()?;
        if other.closed != Some(Some(self.name)) {
            other.check_open()?;
        }
        if other.scope != self.scope {
            return Err(LedgerError::OtherScope {
                budget: self.scope,
                charge: other.scope,
            });
        }
        let taken = self
            .merged
            .iter()
            .filter(|merged| merged.from == other.name);
        let taken: u64 = taken.map(|merged| merged.count).sum();
        let runs: Vec<(Price, bool)> = other
            .charges
            .iter()
            .skip(usize::try_from(taken).unwrap_or(usize::MAX))
            .map(|(&number, &price)| {
                let simulated = other.simulated || other.is_unprotected(number);
                (price, simulated)
            })
            .collect();
        let mut filter = self.filter.clone();
        for (price, _) in &runs {
            filter.try_spend(price)?;
        }
        let (from, first, count) = (other.name, self.next_number(), runs.len() as u64);
        if count > 0 {
            // This ledger first: between the two writes the charges count twice, never zero times.
            self.write(&Record::Merged {
                from,
                first,
                runs: runs.clone(),
            })?;
            self.filter = filter;
            for (number, (price, simulated)) in (first..).zip(runs) {
                self.charges.insert(number, price);
                if simulated {
                    self.unprotected.insert(number);
                }
            }
            self.merged.push(Merged { from, first, count });
            self.attest()?;
        }
        other.close_into(Some(self.name))
    }

    /// Closes the ledger to new charges, durably. Runs that were paid for continue.
    ///
    /// # Errors
    /// Storage.
    pub fn close(&mut self) -> Result<(), LedgerError> {
        self.close_into(None)
    }

    fn close_into(&mut self, into: Option<[u8; 16]>) -> Result<(), LedgerError> {
        if self.closed.is_some() {
            return Ok(());
        }
        self.write(&Record::Closed { into })?;
        self.closed = Some(into);
        self.attest()
    }

    /// Reissues the grant of an earlier debit, if no run has begun with it: after a crash, or after
    /// a mechanism failed to open.
    ///
    /// # Errors
    /// A number that is not in the ledger, or whose run has begun.
    pub fn grant_again(&self, number: u64) -> Result<Grant, LedgerError> {
        if self.begun.contains_key(&number) {
            return Err(LedgerError::Begun(number));
        }
        if self.is_merged(number) {
            return Err(LedgerError::Elsewhere(number));
        }
        self.grant(number)
    }

    /// Whether the charge was merged from another ledger.
    #[must_use]
    pub fn is_merged(&self, number: u64) -> bool {
        let holds = |merged: &Merged| (merged.first..merged.first + merged.count).contains(&number);
        self.merged.iter().any(holds)
    }

    pub(crate) fn grant(&self, number: u64) -> Result<Grant, LedgerError> {
        let price = *self
            .charges
            .get(&number)
            .ok_or(LedgerError::Unknown(number))?;
        Ok(Grant {
            ledger: self.name,
            number,
            price,
            scope: self.scope,
            simulated: self.simulated,
        })
    }

    /// Writes one record, durably.
    fn write(&mut self, record: &Record) -> Result<(), LedgerError> {
        self.log.append(&record.encode()?)?;
        Ok(self.log.sync()?)
    }

    fn witness(&self) -> Witness {
        let (records, last) = self.log.end();
        Witness {
            name: self.name,
            epoch: self.epoch,
            records,
            last,
        }
    }

    /// Updates the witness, after the ledger was synced.
    fn attest(&mut self) -> Result<(), LedgerError> {
        let witness = self.witness().to_bytes();
        self.log.replace_witness(&witness)?;
        self.marks_unwitnessed = 0;
        Ok(())
    }

    /// Whether the ledger was opened without a witness: then nothing shows that it is the newest
    /// copy.
    #[must_use]
    pub fn was_unwitnessed(&self) -> bool {
        self.unwitnessed
    }

    /// For a closed ledger, the name of the ledger that took over its charges, if any.
    #[must_use]
    pub fn closed(&self) -> Option<Option<String>> {
        self.closed.map(|into| into.map(hex))
    }

    /// The name of this ledger, in hexadecimal.
    #[must_use]
    pub fn name_in_words(&self) -> String {
        hex(self.name)
    }

    /// The filter: budget, promise, and the used part.
    #[must_use]
    pub fn filter(&self) -> &Filter {
        &self.filter
    }

    /// Whether a run has begun with this charge.
    #[must_use]
    pub fn has_begun(&self, number: u64) -> bool {
        self.begun.contains_key(&number)
    }

    /// The budget of this ledger.
    #[must_use]
    pub fn budget(&self) -> Budget {
        self.filter.budget()
    }

    /// The scope of the budget.
    #[must_use]
    pub fn scope(&self) -> Scope {
        self.scope
    }

    /// All charges, by number.
    pub fn charges(&self) -> impl Iterator<Item = (u64, Price)> + '_ {
        self.charges.iter().map(|(&number, &price)| (number, price))
    }

    /// Whether every grant of this ledger is marked simulated.
    #[must_use]
    pub fn is_simulated(&self) -> bool {
        self.simulated
    }

    /// Whether the run of this charge draws simulated noise: its releases protect nobody, no matter
    /// what the charge is. (A simulated ledger does not record this: all its runs are simulated.)
    #[must_use]
    pub fn is_unprotected(&self, number: u64) -> bool {
        self.unprotected.contains(&number)
    }

    /// Whether the budget has been raised, or its reserved part of δ changed. A filter's theorem is
    /// about a budget fixed in advance: a budget that was changed in response to releases bounds
    /// nothing in advance.
    #[must_use]
    pub fn is_widened(&self) -> bool {
        self.widened
    }

    /// Whether ε or δ of the budget has been raised.
    #[must_use]
    pub fn is_raised(&self) -> bool {
        self.raised
    }

    pub(crate) fn name(&self) -> [u8; 16] {
        self.name
    }
}

/// Writes the witness of the last marks: a ledger that was dropped in order has none pending.
impl Drop for Ledger {
    fn drop(&mut self) {
        if self.marks_unwitnessed > 0 {
            let _ = self.attest();
        }
    }
}

fn filter(budget: Budget, kind: FilterKind, reserve: Option<f64>) -> Result<Filter, LedgerError> {
    Ok(match reserve {
        None => Filter::open(budget, kind)?,
        Some(reserve) => Filter::reserving(budget, kind, reserve)?,
    })
}

/// Refuses to replace a ledger that a witness still attests.
fn refuse_witness(storage: &mut dyn Storage) -> Result<(), LedgerError> {
    match storage.load_witness().map_err(LogError::from)? {
        None => Ok(()),
        Some(_) => Err(LedgerError::Gone),
    }
}

/// Compares the records with the witness, if there is one.
fn check_witness(
    storage: &mut dyn Storage,
    payloads: &[Vec<u8>],
) -> Result<Option<Witness>, LedgerError> {
    let Some(first) = payloads.first() else {
        return refuse_witness(storage).map(|()| None);
    };
    let Some(bytes) = storage.load_witness().map_err(LogError::from)? else {
        return Ok(None);
    };
    let (Record::Opened { name, .. } | Record::OpenedReserving { name, .. }) =
        Record::decode(0, first)?
    else {
        return Err(LogError::Record(0).into());
    };
    let mut epoch = 0;
    for (place, payload) in (0..).zip(payloads) {
        if let Record::Rewritten { epoch: found } = Record::decode(place, payload)? {
            epoch = found;
        }
    }
    let witness = Witness::read(&bytes)?;
    let sums = payloads.iter().enumerate();
    let sums = sums.map(|(number, payload)| checksum(number as u64, payload));
    witness.check(name, epoch, sums)?;
    Ok(Some(witness))
}

#[cfg(test)]
mod tests;
