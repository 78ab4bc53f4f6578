//! Recipes on scalar feedback: a play, one noisy answer, the next play. AS17 Algorithm 4 wraps any
//! bandit learner; [`BanditRecipe::with_learner`] does too.

mod estimates;
mod player;
mod recipe;
mod shadow;

pub use estimates::ArmEstimate;
pub use player::{BanditPlayer, BanditRun, Turn};
pub use recipe::{Actions, BanditRecipe, BanditRequest};
pub(crate) use recipe::{BanditRules, Plays};
pub use shadow::BanditShadow;
