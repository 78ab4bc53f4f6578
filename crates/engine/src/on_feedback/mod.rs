//! Recipes on scalar feedback: a play, one noisy answer, the next play. AS17 Algorithm 4 wraps any bandit learner; [`BanditRun::with_learner`] does too.

mod estimates;
mod recipe;
mod run;
mod shadow;

pub use estimates::ArmEstimate;
pub use recipe::{Actions, BanditError, BanditRecipe, BanditRequest};
pub use run::{BanditRun, Turn};
pub use shadow::BanditShadow;
