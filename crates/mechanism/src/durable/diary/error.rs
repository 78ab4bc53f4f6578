//! What can go wrong with a run's journal and ledger, whatever the mechanism.

use crate::boundary::Scope;
use crate::durable::{LedgerError, LogError};
use hushstream_account::Price;
use hushstream_noise::NoiseError;

/// Why a run cannot be opened, written down or resumed.
#[derive(Debug, thiserror::Error)]
pub enum DiaryError {
    /// The grant does not cover the plan's price.
    #[error("the grant of {granted:?} does not cover the price of {price:?}")]
    GrantBelowPrice {
        /// What was paid.
        granted: Price,
        /// What it costs.
        price: Price,
    },
    /// The grant was paid for something else.
    #[error("the grant is about {granted:?}, the plan about {plan:?}")]
    OtherScope {
        /// The grant's.
        granted: Scope,
        /// The plan's.
        plan: Scope,
    },
    /// All planned items have come in; one more has not been paid for.
    #[error("item {refused} is refused: {planned} were planned and paid for")]
    Exhausted {
        /// What was planned.
        planned: u64,
        /// One more.
        refused: u64,
    },
    /// An earlier write failed.
    #[error("an earlier write failed: resume the run from its journal")]
    Broken,
    /// The journal belongs to an earlier life of the run.
    #[error(
        "the journal belongs to an earlier life of this run, which has gone on in another journal: \
         resume that one"
    )]
    Superseded,
    /// The caller did not recognise the run.
    #[error("the journal belongs to another run")]
    NotAccepted,
    /// More was published than can have been.
    #[error(
        "last published = {given} is not allowed; allowed: at most the {planned} planned releases"
    )]
    LastPublished {
        /// What was given.
        given: u64,
        /// What was planned.
        planned: u64,
    },
    /// Published items are missing, and the run cannot go on without them.
    #[error(
        "the journal lacks {lost} published items, {why}: resume a newer copy of it, or open a new \
         run on new records, which is charged"
    )]
    Lost {
        /// How many.
        lost: u64,
        /// What the run needs them for.
        why: &'static str,
    },
    /// The ledger is not the one the grant came from.
    #[error("this is not the ledger that the run was paid from")]
    WrongLedger,
    /// The key is not the one the run began with: its noise would be drawn anew.
    #[error("this is not the key that the run began with")]
    WrongKey,
    /// The journal is empty: a crash came before the run was written down, so nothing was taken in
    /// and it can be opened as if for the first time.
    #[error("the journal holds no run")]
    NoRun,
    /// The journal holds something else.
    #[error("the journal does not fit: {0}")]
    Journal(&'static str),
    /// The ledger.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// The journal's storage.
    #[error("journal: {0}")]
    Log(#[from] LogError),
    /// The noise.
    #[error(transparent)]
    Noise(#[from] NoiseError),
}
