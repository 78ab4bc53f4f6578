//! Recipes on perturbed iterates: a learner that sees records, and releases that are its iterates with noise.

mod calibration;
mod recipe;
mod regret;
mod run;
mod sample_size;
mod tail;

pub use recipe::{Averaged, Insider, IterateRecipe, IterateRequest, Steps};
pub use run::IterateRun;
pub use sample_size::PolQuestion;
