//! Private selection: releases one of many experts per round, and nothing else.
//!
//! | method | paper | epochs | a draw |
//! |---|---|---|---|
//! | [`Method::Dartboard`] | AFKT22 Algorithm 1 | the whole horizon, or octaves | when a coin says so, at most K − 1 times |
//! | [`Method::BatchedDartboard`] | AFKT22 §3.1.1 | the same in batches | the same |
//! | [`Method::BatchedHedge`] | beyond the papers | the same in batches | after every batch |
//! | [`Method::LimitedUpdates`] | AFKT22 Algorithm 2 | octaves | at the end of each |
//!
//! For streams that drift, every method with a board may begin anew in seasons
//! ([`Horizon::Seasons`]): totals are forgotten, the next expert is uniform, and each season has
//! the whole budget, because a record is in one of them.
//!
//! Losses are clipped to [0, 1] and truncated to multiples of 2⁻²⁴ inside the mechanism, which
//! keeps one exact integer per expert. Coins and draws are exact, so the guarantee has no precision
//! slack. `board.rs` has the proof, `calibrate.rs` the choice of parameters.

mod board;
mod calibrate;
mod error;
mod plan;
mod play;
mod request;
mod selection;

pub use board::{Board, Exposure};
pub use calibrate::{Setting, best_board, best_hedge};
pub use error::SelectError;
pub use plan::SelectPlan;
pub use request::{Horizon, Method, SelectRequest};
pub use selection::{Choice, Selection};
