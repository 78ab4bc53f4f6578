//! A private sum: sealed contributions go in, noisy prefix sums come out, paid for and durable.
//!
//! A new instance continues from the last known release of the one before, which is public and is
//! added to all releases of the new instance.

use super::elsewhere::{Delivered, Delivery};
use super::error::SumError;
use super::plan::{Geometry, SumPlan};
use super::running::{Running, State};
use super::views::Inherited;
use crate::boundary::{GuaranteeKind, Released};
use crate::decisions::DecisionForm;
use crate::durable::{DiaryError, append, decode, decode_first, encode, packed};
use crate::lattice::Lattice;
use crate::mechanism::{Generators, Machine, Terms};
use crate::moments::Block;
use crate::persons::{NOBODY, Participation, Persons};
use crate::private::Private;
use crate::tables::TableForm;
use hushstream_account::Guarantee;
use serde::{Deserialize, Serialize};
use std::marker::PhantomData;

/// A journal longer than this is compacted; sooner if items are small, because each allocates
/// memory when it is read; later if they are large.
const LONG: u64 = 1 << 22;
const MANY_ITEMS: u64 = 1 << 15;
const FEW_ITEMS: u64 = 64;
/// Approximate bytes of an item besides its numbers.
const FRAME: u64 = 32;

/// Counts of null and clipped records: for the operator only.
#[derive(Clone, Copy, Default)]
struct Counts {
    nulls: u64,
    clipped: u64,
}

/// A private sum in progress. Records go in, and prefix sums come out:
/// [`Pending`](crate::Pending) at first, and [`Released`] once a sync covers them. The [front
/// page](crate) shows how to plan and pay for it.
///
/// ```
/// # use hushstream_account::{Adjacency, Budget, FilterKind};
/// # use hushstream_mechanism::sums::{Geometry, Noise, PrivateSum, SumKind, SumRequest};
/// # use hushstream_mechanism::{Contribution, Ledger, MemoryStorage, Participation, Raw};
/// # use hushstream_mechanism::Transcript;
/// # let request = SumRequest {
/// #     kind: SumKind::Tree, noise: Noise::Gaussian, releases: 9, dimension: 1, bound: 1.0,
/// #     geometry: Geometry::Ball, least_sigma: 0.0, batch: 1, adjacency: Adjacency::ReplaceOne,
/// #     participation: Participation::OncePerRecord, budget: Budget::approx(1.0, 1e-6)?,
/// # };
/// # let (budget, plan) = (request.budget, request.plan()?);
/// # let mut ledger = Ledger::simulated(budget, FilterKind::Gaussian, plan.scope())?;
/// # let grant = ledger.debit(plan.charge()?, plan.scope())?;
/// # let (key, journal) = (hushstream_noise::Key::from_os()?, MemoryStorage::default());
/// let mut sum = PrivateSum::<Transcript>::open(plan, grant, &key, &mut ledger, journal)?;
/// let pending = sum.add(Raw::seal(Contribution::Dense(vec![1.0])))?.unwrap();
/// let question = pending.map(|sums| -0.1 * sums[0]); // computed, but still sealed
/// let question = sum.publish(question).unwrap_err(); // not durable yet
/// sum.sync(&mut ledger)?;
/// let question = sum.publish(question).unwrap();
/// assert_eq!(question.receipt().step, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub type PrivateSum<G> = Private<Sum<G>>;

/// The mechanism of a [`PrivateSum`].
pub struct Sum<G> {
    pub(super) plan: SumPlan,
    running: Box<dyn Running>,
    /// The part or octave of the next item, and its lattice.
    part: u32,
    pub(super) lattice: Lattice,
    /// Number of items of this instance so far.
    pub(super) items: u64,
    /// The incomplete item; second moments are exact sums until it is complete.
    pub(super) item: Item,
    pub(super) in_batch: u64,
    /// Whether items close by [`PrivateSum::close_item`] alone.
    pub(super) by_clock: bool,
    /// By how many records the items so far fall short of full ones.
    shortfall: u64,
    /// The batch of a source that the item is, and the last one that was taken.
    pub(super) incoming: Option<Delivery>,
    pub(super) delivered: Option<Delivered>,
    /// Second moments only: records that are not yet in the item.
    pub(super) block: Option<Block>,
    /// Forms hats and cells, at the radius of the next item.
    pub(super) form: Option<TableForm>,
    /// Forms decisions.
    pub(super) decisions: Option<DecisionForm>,
    counts: Counts,
    pub(super) persons: Persons,
    /// The last known release of earlier instances, which is public; empty in the first.
    pub(super) base: Vec<f64>,
    /// The noise in it.
    pub(super) inherited: Inherited,
    /// Memory of a release, reused for the next one.
    room: Vec<f64>,
    /// Memory of the last record, emptied.
    pub(super) spare: Vec<f64>,
    kind: PhantomData<fn() -> G>,
}

/// One item: the sum of a batch.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct Item {
    #[serde(with = "packed")]
    pub(super) values: Vec<i64>,
    /// The person of every record, if the plan limits persons; this determines which records were
    /// added.
    #[serde(with = "packed")]
    pub(super) persons: Vec<u64>,
    #[serde(with = "postcard::fixint::le")]
    pub(super) nulls: u64,
    #[serde(with = "postcard::fixint::le")]
    pub(super) clipped: u64,
}

/// The state after some number of items.
#[derive(Serialize, Deserialize)]
struct Stored {
    /// After the base of a new instance: its variance, and how many instances came before.
    base: Vec<f64>,
    state: State,
    persons: Persons,
    #[serde(with = "postcard::fixint::le")]
    nulls: u64,
    #[serde(with = "postcard::fixint::le")]
    clipped: u64,
}

/// The number that follows an item or a state, if there is one.
fn number_in(rest: &[u8]) -> Option<u64> {
    rest.first_chunk().map(|bytes| u64::from_le_bytes(*bytes))
}

/// The batch that follows that number, if there is one.
fn after_number<T: for<'a> Deserialize<'a>>(rest: &[u8]) -> Result<Option<T>, DiaryError> {
    match rest.get(8..) {
        Some(bytes) if !bytes.is_empty() => decode(bytes).map(Some),
        _ => Ok(None),
    }
}

impl<G: GuaranteeKind> Machine for Sum<G> {
    const KIND: &'static str = "sum";

    type Plan = SumPlan;
    type Given = ();
    type Release = Vec<f64>;
    type Promise = G;
    type Error = SumError;

    fn store(plan: &SumPlan) -> Result<Vec<u8>, DiaryError> {
        encode(&plan.fields)
    }

    fn load(stored: &[u8], (): ()) -> Result<SumPlan, SumError> {
        let fields: super::PlanFields = decode(stored)?;
        let plan = SumPlan::from(fields);
        plan.check_stored()?;
        Ok(plan)
    }

    fn terms(plan: &SumPlan) -> Result<Terms, SumError> {
        if plan.request().kind.is_windowed() != G::WINDOWED {
            let kind = if G::WINDOWED { "transcript" } else { "window" };
            return Err(SumError::WrongGuarantee(kind));
        }
        let persons = matches!(
            plan.request().participation,
            Participation::PerPerson { .. }
        );
        Ok(Terms {
            price: plan.charge()?,
            scope: plan.scope(),
            planned: plan.most_releases(),
            needs_all: persons.then_some(Persons::NEEDED),
        })
    }

    fn begin(plan: SumPlan, generators: Generators<'_>) -> Result<Self, SumError> {
        Ok(Self {
            running: plan.build(generators)?,
            part: 0,
            lattice: plan.lattice(0)?,
            items: 0,
            item: Item {
                values: vec![0; plan.request().dimension as usize],
                ..Item::default()
            },
            plan,
            in_batch: 0,
            by_clock: false,
            shortfall: 0,
            incoming: None,
            delivered: None,
            block: None,
            form: None,
            decisions: None,
            counts: Counts::default(),
            persons: Persons::default(),
            base: Vec::new(),
            inherited: Inherited::default(),
            room: Vec::new(),
            spare: Vec::new(),
            kind: PhantomData,
        })
    }

    fn plan(&self) -> &SumPlan {
        &self.plan
    }

    fn is_empty(&self) -> bool {
        self.in_batch == 0
    }

    fn is_complete(&self) -> bool {
        !self.by_clock && self.in_batch >= self.plan.request().batch
    }

    /// An item that is not full, or is a batch of a source, has its number of records, which is
    /// public, after it; then the batch.
    fn item(&self, out: Vec<u8>) -> Result<Vec<u8>, DiaryError> {
        let mut out = append(&self.item, out)?;
        if self.in_batch != self.plan.request().batch || self.incoming.is_some() {
            out.extend_from_slice(&self.in_batch.to_le_bytes());
        }
        match &self.incoming {
            Some(delivery) => append(delivery, out),
            None => Ok(out),
        }
    }

    fn read_item(&mut self, t: u64, bytes: &[u8]) -> Result<(), SumError> {
        let (item, rest): (Item, _) = decode_first(bytes)?;
        let request = self.plan.request();
        let records = number_in(rest).unwrap_or(request.batch);
        if records > request.batch || !self.holds_item(&item.values, records) {
            return Err(DiaryError::Journal("an item is not one of this plan").into());
        }
        let limits = request.participation.limits();
        for &person in item.persons.iter().filter(|&&person| person != NOBODY) {
            self.persons.admit(limits, person, t);
        }
        self.item = item;
        self.incoming = after_number(rest)?;
        self.in_batch = records;
        Ok(())
    }

    fn step(&mut self, t: u64) -> Result<Option<Vec<f64>>, SumError> {
        self.items = t;
        let mut value = std::mem::take(&mut self.room);
        // Every coordinate is written below, so old contents need no clearing.
        value.resize(self.item.values.len(), 0.0);
        self.running.step(t, &self.item.values, &mut value);
        for (value, base) in value.iter_mut().zip(&self.base) {
            *value += base;
        }
        self.counts.nulls += self.item.nulls;
        self.counts.clipped += self.item.clipped;
        (self.item.nulls, self.item.clipped) = (0, 0);
        self.item.values.fill(0);
        self.item.persons.clear();
        self.shortfall += self.plan.request().batch - std::mem::take(&mut self.in_batch);
        if let Some(delivery) = self.incoming.take() {
            self.delivered = Some(delivery.after(self.delivered.take()));
        }
        self.enter_part()?;
        Ok(Some(value))
    }

    fn state(&self) -> Result<Vec<u8>, DiaryError> {
        let mut state = encode(&Stored {
            base: self.inherited.after(&self.base),
            state: self.running.state(),
            persons: self.persons.clone(),
            nulls: self.counts.nulls,
            clipped: self.counts.clipped,
        })?;
        if self.shortfall > 0 || self.delivered.is_some() {
            state.extend_from_slice(&self.shortfall.to_le_bytes());
        }
        match &self.delivered {
            Some(delivered) => append(delivered, state),
            None => Ok(state),
        }
    }

    fn restore(&mut self, t: u64, state: &[u8]) -> Result<(), SumError> {
        let (stored, rest): (Stored, _) = decode_first(state)?;
        let dimension = self.item.values.len();
        let parts = Inherited::split(stored.base, dimension, &self.plan);
        let Some((base, inherited)) = parts else {
            return Err(DiaryError::Journal("its state belongs to another plan").into());
        };
        if self.running.restore(t, &stored.state).is_err() {
            return Err(DiaryError::Journal("its state belongs to another plan").into());
        }
        self.items = t;
        self.shortfall = number_in(rest).unwrap_or(0);
        self.delivered = after_number(rest)?;
        (self.base, self.inherited) = (base, inherited);
        self.persons = stored.persons;
        (self.counts.nulls, self.counts.clipped) = (stored.nulls, stored.clipped);
        self.enter_part()
    }

    fn succeed(&mut self, mut old: Self, items: u64) -> bool {
        self.base = vec![0.0; self.item.values.len()];
        old.running.last(items, &mut self.base);
        for (base, earlier) in self.base.iter_mut().zip(&old.base) {
            *base += earlier;
        }
        self.inherited = old.inherited.with(&old.plan, items);
        (self.counts, self.shortfall) = (old.counts, old.shortfall);
        // The batches of the lost items are learned: the next one may be among them.
        self.delivered = old.delivered.map(Delivered::with_loss);
        true
    }

    fn shortfall(&self) -> u64 {
        self.shortfall
    }

    fn counts(&self) -> (u64, u64) {
        let Counts { nulls, clipped } = self.counts;
        (nulls + self.item.nulls, clipped + self.item.clipped)
    }

    fn guarantee(&self, _steps: u64, simulated: bool) -> Result<Guarantee, SumError> {
        // Where a clock closes items, the plan's room says nothing about the number of records.
        let full = self.items.saturating_mul(self.plan.request().batch);
        let records = full.saturating_sub(self.shortfall) + self.in_batch;
        let guarantee = self
            .plan
            .guarantee_over(self.by_clock.then_some(records), simulated);
        Ok(guarantee.map_err(super::PlanError::from)?)
    }

    fn is_long(&self, since: u64, base: u64) -> bool {
        if self.plan.fields.strategy.keeps_items() {
            return false;
        }
        let item = FRAME + 8 * self.item.values.len() as u64;
        let long = LONG.min(MANY_ITEMS * item).max(FEW_ITEMS * item);
        since > long.max(base)
    }
}

impl<G: GuaranteeKind> Sum<G> {
    /// Whether these integers can be an item of so many records: the noise was paid for no others.
    /// Counts are not negative, and κ times as long as residuals may be.
    fn holds_item(&self, values: &[i64], records: u64) -> bool {
        let lattice = &self.lattice;
        let (counts, sixteenths) = match &self.plan.request().geometry {
            Geometry::Statistics(statistics) => {
                return statistics.holds_sum(values, records, lattice.radius());
            }
            Geometry::Tables { counts, sixteenths } => (*counts as usize, *sixteenths),
            Geometry::Decisions { evaluated, .. } => {
                return evaluated.holds_sum(values, records, lattice);
            }
            Geometry::Ball | Geometry::Moments(_) => (0, 0),
        };
        if counts == 0 {
            return lattice.holds_sum(values, records);
        }
        lattice.holds_tables(values, counts, sixteenths, records)
    }

    /// The last release; of an earlier instance if this one has none.
    pub(super) fn last_release(&mut self) -> Vec<f64> {
        if self.items == 0 && !self.base.is_empty() {
            return self.base.clone();
        }
        let mut value = vec![0.0; self.item.values.len()];
        self.running.last(self.items, &mut value);
        for (value, base) in value.iter_mut().zip(&self.base) {
            *value += base;
        }
        value
    }

    /// Each octave or part has its own lattice, from its first item on.
    fn enter_part(&mut self) -> Result<(), SumError> {
        let next = self.items + 1;
        let part = self.plan.fields.strategy.part(next);
        if part != self.part && next <= self.plan.most_releases() {
            self.part = part;
            self.lattice = self.plan.lattice(part)?;
            self.form = None;
        }
        Ok(())
    }
}

impl<G: GuaranteeKind> PrivateSum<G> {
    /// The number of records in all items so far. Items that a new instance has lost count as full.
    #[must_use]
    pub fn records(&self) -> u64 {
        let full = self.steps().saturating_mul(self.plan().request().batch);
        full - self.shortfall()
    }

    /// Draws noise ahead of need, if the mechanism supports it: many steps at a time, and in a
    /// helper thread if a core is free. Releases are the same bit for bit. Not worth the effort for
    /// a few releases.
    pub fn draw_ahead(&mut self) {
        let (next, last) = (self.diary.items() + 1, self.diary.items_planned());
        self.mechanism.running.draw_ahead(next, last);
    }

    /// Memory of the last record, if there is any: emptied, for the next one.
    pub fn spare(&mut self) -> Vec<f64> {
        std::mem::take(&mut self.mechanism.spare)
    }

    /// Reuses the memory of a release for the next one.
    pub fn reuse(&mut self, room: Vec<f64>) {
        self.mechanism.room = room;
    }

    /// The release before any item: zero, or pure noise for sums whose releases all have one law.
    /// `None` once items have come in.
    pub fn before_the_first(&mut self) -> Option<Released<Vec<f64>, G>> {
        if self.steps() > 0 {
            return None;
        }
        let mut value = vec![0.0; self.mechanism.item.values.len()];
        self.mechanism.running.last(0, &mut value);
        Some(self.diary.pending(value).publish())
    }
}

#[cfg(test)]
mod tests;
