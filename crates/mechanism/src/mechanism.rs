//! What a mechanism is, apart from everything that it shares with all others.
//!
//! A mechanism is a state machine without a file: records make items, an item makes a step, and a
//! step may make a release. Given its generators it is deterministic, so a journal of its items is
//! enough to be where it was. [`Private`](crate::Private) owns the journal, the ledger's side of it
//! and the way back after a stop, for every mechanism alike.

use crate::boundary::{GuaranteeKind, Scope};
use crate::durable::DiaryError;
use hushstream_account::{Guarantee, Price};
use hushstream_noise::{Instance, Key, Source};

/// A mechanism that [`Private`](crate::Private) can run: a sum, a selection, feedback, a solver,
/// perturbed iterates, a sparse learner. Each is proved in this crate, and no other can be added
/// from outside.
///
/// `Plan` is what it follows, `Given` what a resume needs and a journal cannot hold (a loss, a
/// learner), `Release` what it lets out, `Promise` the kind of guarantee, `Error` what it refuses.
pub trait Mechanism: Machine {}

impl<M: Machine> Mechanism for M {}

/// The machine itself. Its name does not leave the crate.
///
/// The order of calls: [`begin`](Self::begin), then perhaps [`restore`](Self::restore); then, for
/// each item t = 1, 2, …, records of the mechanism's own kind until
/// [`is_complete`](Self::is_complete), [`item`](Self::item) to the journal, [`step`](Self::step).
/// A replay has [`read_item`](Self::read_item) in place of records and journal. Items count from 1
/// in every instance.
pub trait Machine: Sized {
    /// Name and version of what the journal holds. To be changed with the encoding of plan, item
    /// or state, and with whatever a step computes from them.
    const KIND: &'static str;

    type Plan: Clone;
    type Given;
    type Release;
    type Promise: GuaranteeKind;
    type Error: From<DiaryError>;

    /// The plan as the journal keeps it.
    fn store(plan: &Self::Plan) -> Result<Vec<u8>, DiaryError>;

    /// A plan from a journal. A file is not taken on trust: a plan that this program would not
    /// make is refused.
    fn load(stored: &[u8], given: Self::Given) -> Result<Self::Plan, Self::Error>;

    /// What the plan costs, and how many items it is for.
    fn terms(plan: &Self::Plan) -> Result<Terms, Self::Error>;

    /// Before any item.
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

    /// Takes item t from a journal, in place of its records. Noise was paid for items within the
    /// plan's radius: anything else is refused, whatever the file says.
    fn read_item(&mut self, t: u64, bytes: &[u8]) -> Result<(), Self::Error>;

    /// Takes in item t, which is in the journal, and draws what it releases.
    fn step(&mut self, t: u64) -> Result<Option<Self::Release>, Self::Error>;

    /// The release of the last step once more, where a caller needs it to go on.
    fn last(&self, t: u64) -> Option<Self::Release> {
        let _ = t;
        None
    }

    /// Everything that the next step depends on, between two items.
    fn state(&self) -> Result<Vec<u8>, DiaryError>;

    /// Continues after item t.
    fn restore(&mut self, t: u64, state: &[u8]) -> Result<(), Self::Error>;

    /// Begins a new instance after `old`, of which `items` items are known. It may keep what is
    /// public, and nothing else. True if the releases of `old` are part of what follows.
    fn succeed(&mut self, old: Self, items: u64) -> bool {
        let _ = (old, items);
        false
    }

    /// Null and clipped records: for the operator only.
    fn counts(&self) -> (u64, u64);

    /// What is promised about everything that is released, after so many items of all instances.
    fn guarantee(&self, steps: u64, simulated: bool) -> Result<Guarantee, Self::Error>;

    /// Whether a journal that has grown by `since` bytes after a checkpoint of `base` bytes is
    /// long enough for another.
    fn is_long(&self, since: u64, base: u64) -> bool {
        since > (1 << 20).max(8 * base)
    }
}

/// What a plan costs, about what, and how many items it may take in.
pub struct Terms {
    pub(crate) price: Price,
    pub(crate) scope: Scope,
    pub(crate) planned: u64,
    /// Why no item may be lost, if none may.
    pub(crate) needs_all: Option<&'static str>,
}

/// Generators of one mechanism.
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
