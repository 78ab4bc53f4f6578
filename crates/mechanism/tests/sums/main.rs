//! The behaviour of private sums from outside: what they release, what they refuse, and what
//! survives a crash.

#![allow(clippy::unwrap_used)] // a test may stop where it fails

mod crashes;
mod exactness;
mod game;
mod golden;
mod refusals;
mod regenerated;
mod resuming;
