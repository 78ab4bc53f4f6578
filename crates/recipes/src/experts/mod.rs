//! Recipes on private selection: loss vectors (or records, with a net of points) in, the played
//! expert out.

mod player;
mod recipe;
mod shadow;

pub use player::{ExpertsPlayer, ExpertsRun};
pub use recipe::{Advice, ExpertsRecipe, ExpertsRequest};
pub(crate) use recipe::{Among, doublings};
pub use shadow::ExpertsShadow;
