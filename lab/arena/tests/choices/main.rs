//! Experts and bandits: how their regret grows with T, and what an adversary that looks gains over
//! the same losses fixed in advance.
#![allow(clippy::unwrap_used)]

mod experts;
mod exponents;
#[path = "../fit/mod.rs"]
mod fit;
#[cfg(feature = "long")]
mod separation;
