//! Recipes: a mechanism, a learner and a calibration with a name; the round loop, and resuming it.
//!
//! A [`RecipeRequest`] names an algorithm of the literature and what is public about the task; its [`Recipe`] is calibrated; a [`Run`] plays it:
//! question to one record, noisy answer, next iterate. [`CATALOGUE`] tells where each recipe comes from and what it promises.

mod calibration;
mod catalogue;
mod recipe;
mod run;

pub use catalogue::{CATALOGUE, Entry, RecipeName};
pub use recipe::{Ask, Objective, Recipe, RecipeError, RecipeRequest};
pub use run::{Run, RunError};
