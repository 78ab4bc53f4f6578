//! Private learning and private decisions as a service: ask for a decision now, bring its reward
//! later, and know what was promised to people.
//!
//! | folder | what it holds |
//! |---|---|
//! | `rounds` | slots and batches that do not depend on data: pure code |
//! | `store` | the embedded store, and the one thread that writes |
//! | `learn` | one actor per data set, with its ledger and its runs |
//! | `policy` | published models that answer |
//! | `api` | one file per resource, one table of routes |
//! | `auth`, `keys` | tokens and roles; secrets |
//! | `told` | who may be told what, by types |
//! | `watch` | public events and metrics |
//! | `web` | pages |

// One table of schemas is one macro.
#![recursion_limit = "512"]

pub mod api;
pub mod app;
pub mod auth;
pub mod clock;
pub mod config;
mod demo;
mod follow;
pub mod keys;
pub mod learn;
pub mod policy;
pub mod problem;
pub mod rounds;
mod serve;
pub mod spec;
pub mod store;
#[cfg(feature = "tls")]
mod tls;
pub mod told;
pub mod watch;
mod web;

pub use app::{App, StartError};
pub use config::Config;
pub use serve::{router, serve};

/// Writes logs to standard error, one JSON object per line, by `HUSHSTREAM_LOG` (`warn` if not
/// set): routes, statuses and times; never a body, an id or a reward.
pub fn logs() {
    let filter = tracing_subscriber::EnvFilter::try_from_env("HUSHSTREAM_LOG");
    let filter = filter.unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("warn"));
    let logs = tracing_subscriber::fmt()
        .json()
        .with_writer(std::io::stderr);
    // A program may have set its own.
    let _ = logs.with_env_filter(filter).try_init();
}
