//! Recipes: a mechanism, a learner and a calibration with a name; the round loop, and resuming it.
//!
//! A [`RecipeRequest`] names an algorithm of the literature and what is public about the task; its [`Recipe`] is calibrated; a [`Run`] plays it:
//! question to one record, noisy answer, next iterate. [`CATALOGUE`] tells where each recipe comes from and what it promises.

mod catalogue;
mod choice;
mod on_sums;
mod tables;

pub use catalogue::{CATALOGUE, Entry, MechanismKind, RecipeName};
pub use choice::{Choice, Situation, Task, Wishes};
pub use on_sums::{
    Ask, Holds, NOISE_BETA, Objective, Recipe, RecipeError, RecipeRequest, RegretBound, Run,
    RunError, Shadow,
};
pub use tables::{Cell, TABLES, Table};
