//! Recipes on continual sums: gradients or second moments in, noisy prefix sums out, a learner that reads them.

mod calibration;
mod noise_length;
mod recipe;
mod regret;
mod run;
mod shadow;

pub use noise_length::NOISE_BETA;
pub use recipe::{Ask, Objective, Recipe, RecipeError, RecipeRequest};
pub use regret::{Holds, RegretBound};
pub use run::{Run, RunError};
pub use shadow::Shadow;
