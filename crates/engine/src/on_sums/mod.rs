//! Recipes on continual sums: gradients or second moments in, noisy prefix sums out, a learner that reads them.

mod calibration;
mod recipe;
mod run;
mod shadow;

pub use recipe::{Ask, Objective, Recipe, RecipeError, RecipeRequest};
pub use run::{Run, RunError};
pub use shadow::Shadow;
