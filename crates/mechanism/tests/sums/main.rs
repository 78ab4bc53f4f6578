//! Private sums from outside: their releases, their refusals, and recovery from crashes.

#![allow(clippy::unwrap_used)] // a test may stop where it fails

mod clock;
mod crashes;
mod elsewhere;
mod exactness;
mod game;
mod golden;
mod refusals;
mod regenerated;
mod resuming;
mod statistics;
