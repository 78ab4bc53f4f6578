//! Values on their way out, and values that are out.
//!
//! A mechanism returns a [`Pending`]: the noise is drawn, but the state that makes a replay
//! bit-identical may still be in a buffer. The mechanism turns it into a [`Released`] once a sync
//! has covered it. Until then it may serve only as the next question put to the data, which is what
//! [`Pending::map`] is for.

use std::fmt;
use std::marker::PhantomData;

mod sealed {
    pub trait Sealed {}
}

/// What a release promises: a type, because the two kinds must never be confused.
pub trait GuaranteeKind: sealed::Sealed + Send + 'static {
    /// Whether the promise ends after a window.
    const WINDOWED: bool;
}

/// The whole sequence of releases is private.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transcript {}

/// An item is protected only in the releases within a window after it. The transcript is *not*
/// private.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Windowed {}

impl sealed::Sealed for Transcript {}
impl sealed::Sealed for Windowed {}

impl GuaranteeKind for Transcript {
    const WINDOWED: bool = false;
}

impl GuaranteeKind for Windowed {
    const WINDOWED: bool = true;
}

/// Where a release comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Receipt {
    /// The mechanism's number in its ledger.
    pub mechanism: u64,
    /// The life of the run it belongs to.
    pub instance: [u8; 16],
    /// The release's number within the mechanism, from 1.
    pub step: u64,
    /// Whether key or ledger were simulated.
    pub simulated: bool,
}

/// A noisy value that may not leave yet. It has no accessor: only [`Pending::map`], to compute the
/// next question from it.
#[must_use = "a pending value becomes a release when it is published"]
pub struct Pending<T, G> {
    pub(crate) value: T,
    pub(crate) receipt: Receipt,
    /// The object that drew it: only that one can let it leave. One that was resumed draws it
    /// again.
    pub(crate) life: [u8; 16],
    pub(crate) kind: PhantomData<fn() -> G>,
}

impl<T, G: GuaranteeKind> Pending<T, G> {
    /// Post-processing that stays pending. The function must have no other effect than its result:
    /// whatever it lets out has left before it is durable.
    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Pending<U, G> {
        Pending {
            value: f(self.value),
            receipt: self.receipt,
            life: self.life,
            kind: PhantomData,
        }
    }

    /// Which release it will be. Public: the number of rounds always is.
    pub fn step(&self) -> u64 {
        self.receipt.step
    }

    pub(crate) fn publish(self) -> Released<T, G> {
        Released {
            value: self.value,
            receipt: self.receipt,
            kind: PhantomData,
        }
    }
}

impl<T, G> fmt::Debug for Pending<T, G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pending")
            .field("step", &self.receipt.step)
            .finish_non_exhaustive()
    }
}

/// A value that has been paid for and is durable: everything computed from it is free.
#[derive(Clone, PartialEq)]
pub struct Released<T, G> {
    value: T,
    receipt: Receipt,
    kind: PhantomData<fn() -> G>,
}

impl<T, G: GuaranteeKind> Released<T, G> {
    /// The value, to be published at will.
    pub fn value(&self) -> &T {
        &self.value
    }

    /// The value, taken out.
    pub fn into_value(self) -> T {
        self.value
    }

    /// Where it comes from.
    pub fn receipt(&self) -> Receipt {
        self.receipt
    }

    /// Post-processing: free, and of the same guarantee, as long as the function brings in nothing
    /// private of its own. The type cannot see what a closure captures.
    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Released<U, G> {
        Released {
            value: f(self.value),
            receipt: self.receipt,
            kind: PhantomData,
        }
    }
}

impl<T: fmt::Debug, G> fmt::Debug for Released<T, G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Released")
            .field("value", &self.value)
            .field("receipt", &self.receipt)
            .finish()
    }
}
