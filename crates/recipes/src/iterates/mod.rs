//! Recipes on perturbed iterates: a learner that sees records, and releases that are its iterates
//! with noise.

mod calibration;
mod player;
mod recipe;
mod regret;
mod rules;
mod sample_size;

pub use player::{IteratePlayer, IterateRun};
pub use recipe::{Averaged, Insider, IterateRecipe, IterateRequest, Steps};
pub(crate) use rules::{Calibration, IterateRules, TakenSteps};
pub use sample_size::PolQuestion;
