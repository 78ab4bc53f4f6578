//! Private decisions: least squares for every arm on one private sum, and a policy that explores.
//!
//! `igw` draws arms by inverse gap weighting. `linucb-jdp` plays the arm with the largest upper
//! bound; it draws nothing, so nothing can be evaluated from its records: it is for comparison.

mod player;
mod recipe;
mod regret;
mod shadow;

pub use player::{DecisionsPlayer, DecisionsRun, Release};
pub use recipe::{DecisionsRecipe, DecisionsRequest, Judging};
pub use shadow::DecisionsShadow;
