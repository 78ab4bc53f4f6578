//! Regret, measured: does it grow as the theorems say, and is it worth anything?
//!
//! The default run plays few lengths with few seeds; `--features long` plays all of them and prints
//! the tables (with `--nocapture`). The same seeds give the same games and the same noise on every
//! machine.

#![allow(clippy::unwrap_used)] // a test may stop where it fails

#[cfg(feature = "long")]
mod additive_cost;
mod common;
mod exponents;
#[path = "../fit/mod.rs"]
mod fit;
mod iterates;
mod projection_free;
