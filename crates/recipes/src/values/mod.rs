//! `pftal-bandit`: function values at random neighbours of the iterate, as one-point gradients, in
//! a continual sum (ST13 Algorithm 3; errata S7–S9).

mod player;
mod recipe;
mod shadow;

pub use player::{ValuesPlayer, ValuesRun};
pub use recipe::{ValuesRecipe, ValuesRequest};
pub use shadow::ValuesShadow;
