//! Ledgers and journals in PostgreSQL: several servers on one truth, of which one at a time learns
//! a data set.
//!
//! # Why a holder that was paused publishes nothing
//!
//! A data set has a [`Lease`] with a counter, the *fence*. Whoever takes it over adds one to it, in
//! one statement on its row. Every write of the ledger and of the journals ([`Fenced`]), and every
//! release ([`Store::publish`]), is one transaction that first locks that row `FOR SHARE` *with the
//! writer's own fence*, and then checks that the last frame is the one that the writer knows. So:
//!
//! 1. A write that commits had its fence at the commit: a takeover waits for the lock, so it comes
//!    after the commit, and the new holder, who reads after its takeover, sees the frame.
//! 2. After a takeover no write with an older fence finds its row: it is refused, and the log of
//!    the mechanism is poisoned before anything of it is released.
//! 3. What is answered with is the row of a release that was read back, in the transaction that
//!    checked the fence. A release that was computed and not stored was shown to nobody.
//!
//! Time decides only who may take over, never who may write. A holder that stops in the middle of a
//! transaction loses its session after [`Settings::lease`], by the database's own clock.
//!
//! # Why an old database is noticed
//!
//! A database that was restored, or that failed over to a replica that lagged, is consistent and
//! old. So each node has a [`Witness`] on its own disk: the name of the store, and for every ledger
//! the number of the last frame that this node has seen, with the checksum of all up to it. A store
//! that lacks one of them, or has another in its place, is refused. `synchronous_commit` and
//! `fsync` must be on.
//!
//! # A node
//!
//! ```no_run
//! use hushstream::prelude::*;
//! use hushstream::SharedLedger;
//! use hushstream_postgres::{Fenced, Join, KeptRun, Settings, Store, Witness, ledger_log};
//! use std::sync::Arc;
//!
//! let store = Store::connect("postgres://hushstream@db/hushstream", Settings::default())?;
//! let witness = Witness::open("/var/lib/node/witness".as_ref(), &store, Join::Refused)?;
//! let people = 7; // the number of a data set, the same on all nodes
//! if let Some(lease) = store.take_lease(people)? {
//!     let ledger = SharedLedger::open_in(Fenced::new(&store, &lease, ledger_log(people)))?;
//!     let state = Arc::new(KeptRun::new(&store, &lease, "7/clicks"));
//!     let is_begun = state.is_begun()?;
//!     let learner = Learner::classify().features(2).records(100_000).batch(100);
//!     let learner = learner.budget(Budget::approx(0.5, 1e-7)?).adjacency(ReplaceOne);
//!     let learner = learner.on(&ledger).kept("7/clicks", state);
//!     let mut run = if is_begun { learner.resume()? } else { learner.start()? };
//!     run.learn(&[0.1, 0.2, 1.0])?; // the row after the first run.records() ones
//!     let released = run.model()?;
//!     let file = released.value().to_bytes()?;
//!     let stored = store.publish(&lease, "7/clicks", released.release(), &file)?;
//!     witness.note(people)?; // and only now answer with what is stored
//!     store.renew_lease(&lease)?; // every few seconds
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod frames;
mod lease;
mod migrations;
mod store;
mod watch;
mod witness;

pub use deadpool_postgres::Object;
pub use frames::{Fenced, KeptRun, ledger_log};
pub use lease::Lease;
pub use store::{Settings, Store, number};
pub use tokio_postgres;
pub use watch::{SAY, Told};
pub use witness::{Join, Witness};

/// What fails.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The database, or the way to it. What was not acknowledged may be durable or not.
    #[error("the database failed: {0}")]
    Database(#[from] tokio_postgres::Error),
    /// No connection.
    #[error("there is no connection to the database: {0}")]
    Connection(String),
    /// Another node holds the data set now.
    #[error("another node has taken the data set over: nothing of this one is stored or published")]
    Fenced,
    /// The log has other frames than this holder wrote or read.
    #[error("the log in the database is not the one that was opened: the database was replaced")]
    Replaced,
    /// A frame was changed.
    #[error("frame {0} of a log in the database is damaged or lacking")]
    Damaged(i64),
    /// The database cannot be used, and why.
    #[error("{0}")]
    Refused(String),
    /// A file of this node.
    #[error("{0}: {1}")]
    Io(String, #[source] std::io::Error),
}

impl From<Error> for std::io::Error {
    fn from(error: Error) -> Self {
        Self::other(error)
    }
}

/// Whether an error of the engine says that another node has taken over.
#[must_use]
pub fn is_fenced(error: &(dyn std::error::Error + 'static)) -> bool {
    is_of(error, &|error| matches!(error, Error::Fenced))
}

/// Whether an error of the engine is over once the database answers, or once another node has let
/// go: nothing is wrong with what is stored.
#[must_use]
pub fn is_passing(error: &(dyn std::error::Error + 'static)) -> bool {
    is_of(error, &|error| {
        matches!(
            error,
            Error::Fenced | Error::Replaced | Error::Database(_) | Error::Connection(_)
        )
    })
}

fn is_of(error: &(dyn std::error::Error + 'static), is_so: &dyn Fn(&Error) -> bool) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        let own = error.downcast_ref::<Error>();
        let inner = error.downcast_ref::<std::io::Error>();
        let inner = inner.and_then(|error| error.get_ref()?.downcast_ref::<Error>());
        if own.or(inner).is_some_and(is_so) {
            return true;
        }
        next = error.source();
    }
    false
}
