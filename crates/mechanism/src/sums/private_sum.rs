//! A private sum: contributions go in sealed, prefix sums come out noisy, paid for and durable.

use super::build::build;
use super::error::SumError;
use super::journal::{Checkpoint, Item, Journal, Life, Opening};
use super::partial::Counts;
use super::plan::SumPlan;
use super::running::Running;
use crate::boundary::{Grant, GuaranteeKind, OperatorOnly, Pending, Receipt, Released};
use crate::durable::{Ledger, LedgerError, Storage};
use crate::lattice::Lattice;
use crate::persons::Persons;
use hushstream_account::{Guarantee, GuaranteeError};
use hushstream_noise::{Instance, Key};
use std::marker::PhantomData;

/// A private sum in progress.
pub struct PrivateSum<G> {
    pub(super) plan: SumPlan,
    pub(super) running: Box<dyn Running>,
    pub(super) journal: Journal,
    pub(super) opening: Opening,
    pub(super) grant: Grant,
    pub(super) lattice: Lattice,
    /// Items taken in by this instance.
    pub(super) items: u64,
    /// The last step, over all instances, that a sync covers.
    pub(super) durable: u64,
    pub(super) batch: Vec<i64>,
    pub(super) in_batch: u64,
    pub(super) record: Item,
    pub(super) life: [u8; 16],
    pub(super) broken: bool,
    /// Who runs the sum keeps a note in its checkpoints, and says when.
    pub(super) noted: bool,
    pub(super) counts: Counts,
    pub(super) persons: Persons,
    /// The memory of a release that was not published, for the next one.
    room: Vec<f64>,
    kind: PhantomData<fn() -> G>,
}

impl<G: GuaranteeKind> PrivateSum<G> {
    /// Opens a sum that has been paid for. `storage` must be new; it will hold private data.
    ///
    /// # Errors
    /// A grant below the price, or used before; a guarantee of the other kind; a journal that is not empty; storage. The charge stays in the
    /// ledger: [`Ledger::grant_again`] gives its grant again as long as no run has begun with it.
    pub fn open(
        plan: SumPlan,
        grant: Grant,
        key: &Key,
        ledger: &mut Ledger,
        storage: impl Storage + 'static,
    ) -> Result<Self, SumError> {
        if ledger.name() != grant.ledger {
            return Err(SumError::WrongLedger);
        }
        if ledger.begun(grant.number).is_some() {
            return Err(LedgerError::Begun(grant.number).into());
        }
        let (journal, found) = Journal::open(Box::new(storage))?;
        if found.is_some() {
            return Err(SumError::Journal("it holds a run already; resume it"));
        }
        check_grant(&plan, &grant)?;
        let opening = Opening {
            plan: plan.fields.clone(),
            instance: Instance::fresh(key, grant.number, 0)?.to_bytes(),
            after: None,
            life: Life {
                name: Instance::from_os()?.to_bytes(),
                after: None,
            },
            key: key.fingerprint(),
            ledger: grant.ledger,
            number: grant.number,
            simulated: grant.simulated || key.is_simulated(),
            before: 0,
            base: vec![0.0; plan.request().dimension as usize],
        };
        let mut sum = Self::assemble(plan, grant, key, journal, opening)?;
        sum.journal.start(&sum.opening)?;
        sum.begin(ledger)?;
        Ok(sum)
    }

    /// Tells the ledger that this object goes on with the run.
    pub(super) fn begin(&self, ledger: &mut Ledger) -> Result<(), LedgerError> {
        let Opening {
            instance,
            simulated,
            ..
        } = self.opening;
        ledger.begin(self.grant.number, instance, self.life, simulated)
    }

    pub(super) fn assemble(
        plan: SumPlan,
        grant: Grant,
        key: &Key,
        journal: Journal,
        opening: Opening,
    ) -> Result<Self, SumError> {
        if plan.request().kind.is_windowed() != G::WINDOWED {
            let kind = if G::WINDOWED { "transcript" } else { "window" };
            return Err(SumError::WrongGuarantee(kind));
        }
        let instance = Instance::from_bytes(opening.instance);
        let dimension = plan.request().dimension as usize;
        Ok(Self {
            running: build(&plan, key, instance, grant.number)?,
            lattice: plan.lattice(0)?,
            life: opening.life.name,
            plan,
            journal,
            opening,
            grant,
            items: 0,
            durable: 0,
            batch: vec![0; dimension],
            in_batch: 0,
            record: Item::default(),
            broken: false,
            noted: false,
            counts: Counts::default(),
            persons: Persons::default(),
            room: Vec::new(),
            kind: PhantomData,
        })
    }

    /// Items taken in so far, over all instances; the next item is number `steps() + 1`.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.opening.before + self.items
    }

    /// From now on checkpoints are made only by [`PrivateSum::checkpoint`], with a note.
    pub fn keep_note(&mut self) {
        self.noted = true;
    }

    /// Whether the journal has grown so long that a checkpoint would pay. Never inside a batch or with unsynced items, so that what a crash kept from
    /// being published can still be repeated.
    #[must_use]
    pub fn checkpoint_is_due(&self) -> bool {
        let covered = self.durable == self.steps() && self.in_batch == 0;
        covered && self.journal.is_long(self.batch.len())
    }

    /// Replaces the journal by a checkpoint of the present state, with a note of the caller's (a learner's public state, say).
    ///
    /// # Errors
    /// Items that no sync has covered; storage.
    pub fn checkpoint(&mut self, note: Vec<u8>) -> Result<(), SumError> {
        if self.durable != self.steps() || self.in_batch != 0 {
            return Err(SumError::Journal("a checkpoint must follow a sync"));
        }
        let checkpoint = Checkpoint {
            items: self.items,
            state: self.running.state(),
            persons: self.persons.clone(),
            nulls: self.counts.nulls,
            clipped: self.counts.clipped,
            note,
        };
        Ok(self.journal.restart(&self.opening, &checkpoint)?)
    }

    /// Puts the item that was just counted through the mechanism.
    pub(super) fn release(&mut self, item: &[i64]) -> Pending<Vec<f64>, G> {
        let mut value = std::mem::take(&mut self.room);
        // Every coordinate is written below; what was in the room before is not worth clearing.
        value.resize(item.len(), 0.0);
        self.running.step(self.items, item, &mut value);
        if self.opening.before > 0 {
            for (value, base) in value.iter_mut().zip(&self.opening.base) {
                *value += base;
            }
        }
        self.pending(value)
    }

    /// Draws noise ahead of need, where the mechanism can: many steps at a time, and in a thread of its own if there is a core to spare. Releases are the same bit for bit, only
    /// sooner. Not worth it for a few of them.
    pub fn draw_ahead(&mut self) {
        let planned = self.plan.most_releases() - self.opening.before;
        self.running.draw_ahead(self.items + 1, planned);
    }

    /// Takes back a release that will not be published; the next one is written into its memory.
    pub fn discard(&mut self, pending: Pending<Vec<f64>, G>) {
        self.room = pending.value;
    }

    /// The octave of the next item; 0 for every sum but octaves.
    pub(super) fn octave(&self) -> u32 {
        match self.plan.request().kind {
            super::SumKind::Octave => (self.items + 1).ilog2(),
            _ => 0,
        }
    }

    fn pending(&self, value: Vec<f64>) -> Pending<Vec<f64>, G> {
        Pending {
            value,
            receipt: Receipt {
                mechanism: self.grant.number,
                instance: self.opening.instance,
                step: self.steps(),
                simulated: self.opening.simulated,
            },
            life: self.life,
            kind: PhantomData,
        }
    }

    /// What would be released before any item: zero, or pure noise for sums whose releases all have one law. Nothing once
    /// items have come in.
    pub fn before_the_first(&mut self) -> Option<Released<Vec<f64>, G>> {
        if self.steps() > 0 {
            return None;
        }
        let mut value = vec![0.0; self.batch.len()];
        self.running.last(0, &mut value);
        Some(self.pending(value).publish())
    }

    /// Makes everything taken in so far durable, in the journal and then in the ledger: releases up to here may leave.
    ///
    /// # Errors
    /// Another ledger; storage. After a storage error the sum must be resumed from its journal.
    pub fn sync(&mut self, ledger: &mut Ledger) -> Result<(), SumError> {
        if ledger.name() != self.grant.ledger {
            return Err(SumError::WrongLedger);
        }
        let steps = self.steps();
        self.journal.sync()?;
        ledger.mark(self.grant.number, self.life, steps)?;
        self.durable = steps;
        Ok(())
    }

    /// Lets a pending value of this sum leave, if a sync has covered it; otherwise gives it back.
    ///
    /// # Errors
    /// The pending value itself: not yet durable, or of another sum.
    pub fn publish<T>(&self, pending: Pending<T, G>) -> Result<Released<T, G>, Pending<T, G>> {
        if pending.life == self.life && pending.receipt.step <= self.durable {
            Ok(pending.publish())
        } else {
            Err(pending)
        }
    }

    /// The plan it follows.
    #[must_use]
    pub fn plan(&self) -> &SumPlan {
        &self.plan
    }

    /// How many contributions were null (malformed, or beyond a person's limit).
    #[must_use]
    pub fn nulls(&self) -> OperatorOnly<u64> {
        OperatorOnly::new(self.counts.nulls + self.record.nulls)
    }

    /// How many contributions were longer than the bound.
    #[must_use]
    pub fn clipped(&self) -> OperatorOnly<u64> {
        OperatorOnly::new(self.counts.clipped + self.record.clipped)
    }

    /// What is promised about everything this sum releases.
    ///
    /// # Errors
    /// Never for a sum that exists; the numbers were checked.
    pub fn guarantee(&self) -> Result<Guarantee, GuaranteeError> {
        self.plan.guarantee(self.opening.simulated)
    }
}

pub(super) fn check_grant(plan: &SumPlan, grant: &Grant) -> Result<(), SumError> {
    if grant.scope != plan.scope() {
        return Err(SumError::OtherScope {
            granted: grant.scope,
            plan: plan.scope(),
        });
    }
    let price = plan.charge()?;
    if grant.price.covers(&price) {
        Ok(())
    } else {
        Err(SumError::GrantBelowPrice {
            granted: grant.price,
            price,
        })
    }
}
