//! Experts and bandits: how their regret grows with T.
#![allow(clippy::unwrap_used)]

mod exponents;
#[path = "../fit/mod.rs"]
mod fit;
