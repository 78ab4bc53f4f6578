//! Prediction from expert advice as a game: the adversaries of AFKT22's lower bounds, and what they
//! do to a recipe.

mod duel;
mod fingerprint;
mod matrix;

pub use duel::{Advisor, Duel, Fixed, duel, hedge};
pub use fingerprint::{Fingerprint, Replay};
pub use matrix::SignMatrix;
