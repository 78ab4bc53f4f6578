//! Failures of a run's journal and ledger, for every mechanism.

use crate::boundary::Scope;
use crate::durable::{LedgerError, LogError};
use hushstream_account::{Charge, Price};
use hushstream_noise::NoiseError;

/// Why a run cannot be opened, journalled or resumed.
#[derive(Debug, thiserror::Error)]
pub enum DiaryError {
    /// The grant does not cover the plan's price.
    #[error(
        "the grant, {}, does not cover the price, {}",
        paid(granted),
        paid(price)
    )]
    GrantBelowPrice {
        /// The price that was paid.
        granted: Box<Price>,
        /// The price of the plan.
        price: Box<Price>,
    },
    /// The grant has another scope than the plan.
    #[error("the grant is about {granted}, the plan about {plan}")]
    OtherScope {
        /// The scope of the grant.
        granted: Scope,
        /// The scope of the plan.
        plan: Scope,
    },
    /// All planned items have come in; another has not been paid for.
    #[error("item {refused} is refused: {planned} were planned and paid for")]
    Exhausted {
        /// The planned number of items.
        planned: u64,
        /// The number of the refused item.
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
    /// The caller did not accept the run.
    #[error("the journal belongs to another run")]
    NotAccepted,
    /// The given number exceeds the number of planned releases.
    #[error(
        "last published = {given} is not allowed; allowed: at most the {planned} planned releases"
    )]
    LastPublished {
        /// The given number.
        given: u64,
        /// The planned number of releases.
        planned: u64,
    },
    /// Published items are missing, and the run cannot continue without them.
    #[error(
        "the journal lacks {lost} published items, {why}: resume a newer copy of it, or open a new \
         run on new records, which is charged"
    )]
    Lost {
        /// Number of missing items.
        lost: u64,
        /// Why the run needs them.
        why: &'static str,
    },
    /// The ledger is not the one the grant came from.
    #[error("this is not the ledger that the run was paid from")]
    WrongLedger,
    /// The key is not the one the run began with: its noise would be drawn anew.
    #[error("this is not the key that the run began with")]
    WrongKey,
    /// The journal is empty: a crash came before the run was recorded. Nothing was taken in, and
    /// the run can be opened as if for the first time.
    #[error("the journal holds no run")]
    NoRun,
    /// The journal does not fit the run.
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

/// A price in words.
fn paid(price: &Price) -> String {
    let charge = match price.charge {
        Charge::Gaussian(mu) => format!("mu = {}", mu.get()),
        Charge::Zcdp(rho) => format!("rho = {}", rho.get()),
        Charge::Pure(epsilon) => format!("epsilon = {}", epsilon.get()),
        other => format!(
            "epsilon = {}, delta = {:e}",
            other.epsilon().unwrap_or(f64::NAN),
            other.delta()
        ),
    };
    match price.fixed {
        Some(fixed) => format!("{charge} at ({}, {:e})", fixed.epsilon(), fixed.delta()),
        None => charge,
    }
}
