//! Everything a running sum can refuse.

use super::plan::PlanError;
use crate::boundary::Scope;
use crate::durable::{LedgerError, LogError};
use hushstream_account::Price;
use hushstream_noise::NoiseError;

/// Why a sum refuses.
#[derive(Debug, thiserror::Error)]
pub enum SumError {
    /// All planned releases have been made; one more has not been paid for.
    #[error("release {refused} is refused: {planned} were planned and paid for")]
    Exhausted {
        /// n.
        planned: u64,
        /// n + 1.
        refused: u64,
    },
    /// The grant does not cover the plan's price.
    #[error("the grant of {granted:?} does not cover the price of {price:?}")]
    GrantBelowPrice {
        /// What was paid.
        granted: Price,
        /// What it costs.
        price: Price,
    },
    /// A window plan where a transcript is promised, or the other way round.
    #[error("a {0} plan cannot make releases of the other guarantee")]
    WrongGuarantee(&'static str),
    /// A contribution without its person, or with one that the plan does not know of.
    #[error("this plan limits contributions {0}: use {1}")]
    Participation(&'static str, &'static str),
    /// Moments where the plan is for a ball, or the other way round.
    #[error(
        "this plan is for contributions of another geometry: second moments go through add_moments, everything else through add"
    )]
    Geometry,
    /// A partial sum with more records than the batch has room for.
    #[error("the batch has room for {room} records, not {given}")]
    BatchFull {
        /// What is left.
        room: u64,
        /// What was given.
        given: u64,
    },
    /// A partial sum that was made for another sum, or at another moment.
    #[error("the partial sum belongs to another sum, or to another moment of this one")]
    OtherMoment,
    /// The grant was paid for something else.
    #[error("the grant is about {granted:?}, the plan about {plan:?}")]
    OtherScope {
        /// The grant's.
        granted: Scope,
        /// The plan's.
        plan: Scope,
    },
    /// An earlier write failed.
    #[error("an earlier write failed: resume the sum from its journal")]
    Broken,
    /// The journal belongs to an earlier life of the run.
    #[error(
        "the journal belongs to an earlier life of this run, which has gone on in another journal: resume that one"
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
        /// n.
        planned: u64,
    },
    /// The ledger is not the one the grant came from.
    #[error("this is not the ledger that the sum was paid from")]
    WrongLedger,
    /// The key is not the one the run began with: its noise would be drawn anew.
    #[error("this is not the key that the run began with")]
    WrongKey,
    /// The journal holds something else.
    #[error("the journal does not fit: {0}")]
    Journal(&'static str),
    /// The journal is empty: a crash came before the run was written down, so nothing was taken in and it can be opened as if for the first time.
    #[error("the journal holds no run")]
    NoRun,
    /// Published items are missing from the journal, and with them who has contributed how often.
    #[error(
        "the journal is older than what was published, so contributions per person are lost; \
         a new run on new records must be opened and charged"
    )]
    PersonsLost,
    /// The plan.
    #[error(transparent)]
    Plan(#[from] PlanError),
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
