//! Values before and after their release.
//!
//! A mechanism returns a [`Pending`]: the noise is drawn, but the state that makes a replay
//! bit-identical may still be in a buffer. Once a sync has covered it, the mechanism turns it into
//! a [`Released`]. Until then it may serve only as the next question put to the data: see
//! [`Pending::map`].

use std::fmt;
use std::marker::PhantomData;

mod sealed {
    pub trait Sealed {}
}

/// The kind of guarantee of a release: a type, because the two kinds must never be confused.
///
/// ```
/// use hushstream_mechanism::{GuaranteeKind, Released, Transcript, Windowed};
///
/// fn promise<T, G: GuaranteeKind>(_: &Released<T, G>) -> &'static str {
///     if G::WINDOWED { "private for a while" } else { "private" }
/// }
/// assert!(Windowed::WINDOWED && !Transcript::WINDOWED);
/// ```
pub trait GuaranteeKind: sealed::Sealed + Send + 'static {
    /// Whether the guarantee ends after a window.
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

/// Origin of a release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Receipt {
    /// The mechanism's number in its ledger.
    pub mechanism: u64,
    /// The instance of the run that drew it.
    pub instance: [u8; 16],
    /// The release's number within the mechanism, from 1.
    pub step: u64,
    /// Whether key or ledger is simulated.
    pub simulated: bool,
}

/// A noisy value that may not leave the process yet. It has no accessor: [`Pending::map`] computes
/// the next question from it, and [`Private::publish`](crate::Private::publish) releases it once a
/// sync covers it. See [`PrivateSum`](crate::sums::PrivateSum) for an example.
#[must_use = "a pending value becomes a release when it is published"]
pub struct Pending<T, G> {
    pub(crate) value: T,
    pub(crate) receipt: Receipt,
    /// The life that drew it, and the only one that can publish it. A resumed run draws it again.
    pub(crate) life: [u8; 16],
    pub(crate) kind: PhantomData<fn() -> G>,
}

impl<T, G: GuaranteeKind> Pending<T, G> {
    /// Post-processing that stays pending. The function must have no effect besides its result: a
    /// side effect would let the value leave before it is durable.
    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Pending<U, G> {
        Pending {
            value: f(self.value),
            receipt: self.receipt,
            life: self.life,
            kind: PhantomData,
        }
    }

    /// The number of this release. Public, as the number of rounds always is.
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

/// A value that is paid for and durable: everything computed from it is free. See
/// [`PrivateSum`](crate::sums::PrivateSum) for an example.
#[derive(Clone, PartialEq)]
pub struct Released<T, G> {
    value: T,
    receipt: Receipt,
    kind: PhantomData<fn() -> G>,
}

impl<T, G: GuaranteeKind> Released<T, G> {
    /// The value, free to publish.
    pub fn value(&self) -> &T {
        &self.value
    }

    /// Consumes the release and returns its value.
    pub fn into_value(self) -> T {
        self.value
    }

    /// The origin of the value.
    pub fn receipt(&self) -> Receipt {
        self.receipt
    }

    /// Post-processing: free, with the same guarantee, as long as the function adds no private data
    /// of its own. The type system cannot check what a closure captures.
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
