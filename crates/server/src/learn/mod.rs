//! Learning: one actor per data set owns its ledger and its runs, on a few threads.

mod actor;
mod workers;

pub use actor::{Actor, Asked, Context, Sums};
pub use workers::Workers;
