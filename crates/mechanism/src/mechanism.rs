//! The part of a mechanism that differs from all others.
//!
//! A mechanism is a state machine without a file: records make items, each item makes a step, and a
//! step may make a release. Given its generators it is deterministic, so a journal of its items is
//! enough to restore it. [`Private`](crate::Private) handles the journal, the ledger and recovery
//! for every mechanism.

use crate::boundary::{GuaranteeKind, Scope};
use crate::durable::DiaryError;
use hushstream_account::{Guarantee, Price};
use hushstream_noise::{Instance, Key, Source};

/// A mechanism that [`Private`](crate::Private) can run: a sum, a selection, feedback, a solver,
/// perturbed iterates, a sparse learner. Each is proved in this crate; none can be added from
/// outside.
///
/// `Plan` is everything fixed before any data. `Given` is what a resume needs and a journal cannot
/// store (a loss, a learner). `Release` is the type of a release, `Promise` the kind of guarantee,
/// `Error` the reasons for a refusal.
///
/// ```
/// use hushstream_mechanism::{Ledger, Mechanism, Private, Released};
/// use hushstream_mechanism::{PendingOf, PromiseOf, ReleaseOf};
///
/// /// Syncs, and releases what waited: the same for every mechanism.
/// fn leave<M: Mechanism>(
///     run: &mut Private<M>,
///     ledger: &mut Ledger,
///     waiting: Vec<PendingOf<M>>,
/// ) -> Result<Vec<Released<ReleaseOf<M>, PromiseOf<M>>>, M::Error> {
///     run.sync(ledger)?;
///     Ok(waiting.into_iter().filter_map(|pending| run.publish(pending).ok()).collect())
/// }
/// ```
pub trait Mechanism: Machine {}

impl<M: Machine> Mechanism for M {}

/// The state machine of a mechanism. This trait is private to the crate.
///
/// Order of calls: [`begin`](Self::begin), optionally [`restore`](Self::restore); then, for each
/// item t = 1, 2, …, records in the mechanism's own format until
/// [`is_complete`](Self::is_complete), [`item`](Self::item) to the journal, [`step`](Self::step). A
/// replay calls [`read_item`](Self::read_item) in place of records and journal. Items count from 1
/// in every instance.
pub trait Machine: Sized {
    /// Name and version of the journal's contents. Change it with the encoding of plan, item or
    /// state, and with anything a step computes from them.
    const KIND: &'static str;

    type Plan: Clone;
    type Given;
    type Release;
    type Promise: GuaranteeKind;
    type Error: From<DiaryError>;

    /// The plan, encoded for the journal.
    fn store(plan: &Self::Plan) -> Result<Vec<u8>, DiaryError>;

    /// Decodes a plan from a journal. Files are not trusted: a plan that this program would not
    /// make is refused.
    fn load(stored: &[u8], given: Self::Given) -> Result<Self::Plan, Self::Error>;

    /// Price, scope and number of items of a plan.
    fn terms(plan: &Self::Plan) -> Result<Terms, Self::Error>;

    /// The mechanism before its first item.
    fn begin(plan: Self::Plan, generators: Generators<'_>) -> Result<Self, Self::Error>;

    fn plan(&self) -> &Self::Plan;

    /// Whether the next item has no record yet. Only then may the state be stored.
    fn is_empty(&self) -> bool {
        true
    }

    /// Whether the next item has all its records.
    fn is_complete(&self) -> bool {
        true
    }

    /// Appends the complete item to `out`. Its length must not depend on contents.
    fn item(&self, out: Vec<u8>) -> Result<Vec<u8>, DiaryError>;

    /// Takes item t from a journal, in place of its records. The noise was paid for items within
    /// the plan's radius: anything larger is refused, no matter what the file says.
    fn read_item(&mut self, t: u64, bytes: &[u8]) -> Result<(), Self::Error>;

    /// Takes in item t, already in the journal, and draws its release.
    fn step(&mut self, t: u64) -> Result<Option<Self::Release>, Self::Error>;

    /// Repeats the release of the last step, for callers that need it to continue.
    fn last(&self, t: u64) -> Option<Self::Release> {
        let _ = t;
        None
    }

    /// The state that the next step depends on, between two items.
    fn state(&self) -> Result<Vec<u8>, DiaryError>;

    /// Continues after item t.
    fn restore(&mut self, t: u64, state: &[u8]) -> Result<(), Self::Error>;

    /// Begins a new instance after `old`, whose first `items` items are in the journal. Only public
    /// values may be kept. Returns true if the releases of `old` are part of what follows.
    fn succeed(&mut self, old: Self, items: u64) -> bool {
        let _ = (old, items);
        false
    }

    /// By how many records the items so far fall short of full ones.
    fn shortfall(&self) -> u64 {
        0
    }

    /// Counts of null and clipped records: for the operator only.
    fn counts(&self) -> (u64, u64);

    /// The guarantee of all releases, after `steps` items of all instances.
    fn guarantee(&self, steps: u64, simulated: bool) -> Result<Guarantee, Self::Error>;

    /// Whether the journal should get a new checkpoint: it has grown by `since` bytes since the
    /// last one, which takes `base` bytes.
    fn is_long(&self, since: u64, base: u64) -> bool {
        since > (1 << 20).max(8 * base)
    }
}

/// Price and scope of a plan, and its largest number of items.
pub struct Terms {
    pub(crate) price: Price,
    pub(crate) scope: Scope,
    pub(crate) planned: u64,
    /// The reason why no item may be lost, for mechanisms that need all of them.
    pub(crate) needs_all: Option<&'static str>,
}

/// Generators per mechanism.
const STREAMS: u64 = 128;

/// The noise of one instance of a mechanism.
#[derive(Clone, Copy)]
pub struct Generators<'a> {
    pub(crate) key: &'a Key,
    pub(crate) instance: Instance,
    /// The mechanism's number in its ledger.
    pub(crate) number: u64,
}

impl Generators<'_> {
    /// Generator `stream`.
    pub(crate) fn source(self, stream: u64) -> Source {
        debug_assert!(stream < STREAMS);
        Source::open(self.key, self.instance, self.number * STREAMS + stream)
    }
}
