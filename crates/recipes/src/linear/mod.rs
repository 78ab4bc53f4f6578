//! Recipes on continual sums: gradients or second moments in, noisy prefix sums out, a learner that
//! reads them.

mod noise_length;
mod player;
mod recipe;
mod regret;
mod rules;
mod shadow;

pub use noise_length::NOISE_BETA;
pub(crate) use noise_length::mean_length;
pub use player::{SumPlayer, SumRun};
pub use recipe::{Ask, Objective, Recipe, RecipeRequest};
pub use regret::{Holds, RegretBound};
pub(crate) use regret::{Item, NOT_ALL};
pub use rules::LearnsFrom;
pub(crate) use rules::OnSums;
pub use shadow::Shadow;
