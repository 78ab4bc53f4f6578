//! Recipes on private selection: loss vectors (or records, with a net of points) in, the played expert out.

mod recipe;
mod run;

pub use recipe::{Advice, ExpertsError, ExpertsRecipe, ExpertsRequest};
pub use run::ExpertsRun;
