//! The empirical law of every sampler, tested on the production code, and the same tests on planted
//! bugs.

#![allow(clippy::unwrap_used)] // a test may stop where it fails

mod gaussian;
mod pure;
mod statistics;
