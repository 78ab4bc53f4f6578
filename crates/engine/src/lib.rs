//! Recipes: a mechanism, a learner and a calibration with a name; the round loop, and resuming it.
//!
//! A [`RecipeRequest`] names an algorithm of the literature and what is public about the task; its
//! [`Recipe`] is calibrated; a [`Run`] plays it: question to one record, noisy answer, next
//! iterate. [`IterateRequest`], [`IterateRecipe`] and [`IterateRun`] are the same for recipes that
//! release the iterates of a learner on the private side. [`CATALOGUE`] tells where each recipe
//! comes from and what it promises.

mod catalogue;
mod choice;
mod error;
mod note;
mod on_batch;
mod on_feedback;
mod on_iterates;
mod on_selection;
mod on_sparse;
mod on_sums;
mod on_values;
mod run;
mod tables;

pub use catalogue::{CATALOGUE, Entry, MechanismKind, RecipeName};
pub use choice::{Choice, Situation, Task, Wishes};
pub use error::{RecipeError, RunError};
pub use note::{Note, NoteError};
pub use on_batch::{LimitedUpdates, LimitedUpdatesRequest, LimitedUpdatesRun, UpdatesPlayer};
pub use on_feedback::{
    Actions, ArmEstimate, BanditPlayer, BanditRecipe, BanditRequest, BanditRun, BanditShadow, Turn,
};
pub use on_iterates::{
    Averaged, Insider, IteratePlayer, IterateRecipe, IterateRequest, IterateRun, PolQuestion, Steps,
};
pub use on_selection::{
    Advice, ExpertsPlayer, ExpertsRecipe, ExpertsRequest, ExpertsRun, ExpertsShadow,
};
pub use on_sparse::{SparsePlayer, SparseRecipe, SparseRequest, SparseRun};
pub use on_sums::{
    Ask, Holds, NOISE_BETA, Objective, Recipe, RecipeRequest, RegretBound, Shadow, SumPlayer,
    SumRun,
};
pub use on_values::{ValuesPlayer, ValuesRecipe, ValuesRequest, ValuesRun};
pub use run::{Beginning, Player, Run};
pub use tables::{Cell, TABLES, Table};
