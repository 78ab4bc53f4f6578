//! Private online learning: publish every step of what is learned, with a proof that no record can
//! be told from it. This crate unites the recipes: one description of a run, one way to open it,
//! one model file, one ledger, for every front end.

mod ahead;
pub mod budget;
pub mod checked;
mod curves;
pub mod data;
pub mod files;
pub mod learner;
mod learning;
mod memory;
mod methods;
pub mod model;
mod opening;
pub mod outcome;
mod passed;
pub mod plan;
pub mod progress;
mod releases;
mod rows;
pub mod run;
pub mod scores;
mod state;
pub mod target;
pub mod warnings;
