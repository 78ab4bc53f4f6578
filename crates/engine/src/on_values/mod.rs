//! `pftal-bandit`: function values at random neighbours of the iterate, as one-point gradients, in a continual sum (ST13 Algorithm 3; errata S7–S9).

mod recipe;
mod run;

pub use recipe::{ValuesError, ValuesRecipe, ValuesRequest};
pub use run::ValuesRun;
