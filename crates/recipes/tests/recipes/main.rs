//! The behaviour of recipes from outside: what they publish and when, what they refuse, what is
//! equal to what, and that stopping changes nothing.

#![allow(clippy::unwrap_used)] // a test may stop where it fails

mod bounds;
mod decisions;
mod disk;
mod elsewhere;
mod equivalences;
mod game;
mod golden;
mod lattice_error;
mod long_runs;
mod mended;
mod publishing;
mod refusals;
mod resuming;
mod rounds;
mod tables;
