//! Recipes on private selection: loss vectors (or records, with a net of points) in, the played expert out.

mod recipe;
mod run;
mod shadow;

pub use recipe::{Advice, ExpertsError, ExpertsRecipe, ExpertsRequest};
pub use run::ExpertsRun;
pub use shadow::ExpertsShadow;
