//! `hushstream learn`, `predict` and `inspect` as a person or a script meets them, also when the
//! machine dies.

#![allow(clippy::unwrap_used)] // a test may stop where it fails

mod bad_files;
mod bad_flags;
mod bad_states;
mod bandits;
mod common;
mod crash_points;
mod decisions;
mod demo;
mod elsewhere;
mod explained;
mod figures;
mod formats;
mod golden;
mod hashed;
mod kills;
mod ledgers;
mod live_streams;
mod long_resumes;
mod malformed;
mod memory;
mod messy;
mod models;
mod more_budget;
mod neighbours;
#[cfg(target_os = "linux")]
mod one_core;
mod predictions;
mod published;
mod recipes;
mod report;
mod same_rows;
