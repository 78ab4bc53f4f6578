//! `tables`: curves and tables of cells, learned from noisy sums of residuals and counts.
//!
//! | file | what it holds |
//! |---|---|
//! | `rule` | the choice of knots, tables, releases and steps from public numbers |
//! | `recipe` | the calibrated recipe |
//! | `player` | the round loop's part |
//! | `shadow` | the same learner without privacy |

mod player;
mod recipe;
mod rule;
mod shadow;

pub use player::{TablesPlayer, TablesRun};
pub use recipe::{TablesRecipe, TablesRequest};
pub use rule::Column;
pub use shadow::TablesShadow;
