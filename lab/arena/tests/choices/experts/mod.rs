//! Prediction from expert advice as a game: the adversaries of AFKT22's lower bounds, and what they
//! do to a recipe.

pub(crate) mod duel;
pub(crate) mod fingerprint;
pub(crate) mod matrix;
