//! Recipes: a mechanism, a learner and a calibration with a name; the round loop, and resuming it.
//!
//! A [`RecipeRequest`] names an algorithm of the literature and what is public about the task; its [`Recipe`] is calibrated; a [`Run`] plays it:
//! question to one record, noisy answer, next iterate. [`IterateRequest`], [`IterateRecipe`] and [`IterateRun`] are the same for recipes that release the iterates of a learner on the private side. [`CATALOGUE`] tells where each recipe comes from and what it promises.

mod catalogue;
mod choice;
mod note;
mod on_batch;
mod on_feedback;
mod on_iterates;
mod on_selection;
mod on_sparse;
mod on_sums;
mod on_values;
mod tables;

pub use catalogue::{CATALOGUE, Entry, MechanismKind, RecipeName};
pub use choice::{Choice, Situation, Task, Wishes};
pub use note::NoteError;
pub use on_batch::{LimitedUpdates, LimitedUpdatesError, LimitedUpdatesRequest, LimitedUpdatesRun};
pub use on_feedback::{
    Actions, ArmEstimate, BanditError, BanditRecipe, BanditRequest, BanditRun, BanditShadow, Turn,
};
pub use on_iterates::{
    Averaged, Insider, IterateRecipe, IterateRequest, IterateRun, PolQuestion, Steps,
};
pub use on_selection::{
    Advice, ExpertsError, ExpertsRecipe, ExpertsRequest, ExpertsRun, ExpertsShadow,
};
pub use on_sparse::{SparseRecipe, SparseRequest, SparseRun};
pub use on_sums::{
    Ask, Holds, NOISE_BETA, Objective, Recipe, RecipeError, RecipeRequest, RegretBound, Run,
    RunError, Shadow,
};
pub use on_values::{ValuesError, ValuesRecipe, ValuesRequest, ValuesRun};
pub use tables::{Cell, TABLES, Table};

/// The README's examples are compiled with the tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
mod readme {}
