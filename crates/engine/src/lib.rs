//! Recipes: a mechanism, a learner and a calibration with a name; the round loop, and resuming it.
//!
//! A [`RecipeRequest`] names an algorithm of the literature and what is public about the task; its [`Recipe`] is calibrated; a [`Run`] plays it:
//! question to one record, noisy answer, next iterate. [`CATALOGUE`] tells where each recipe comes from and what it promises.

mod catalogue;
mod choice;
mod on_sums;

pub use catalogue::{CATALOGUE, Entry, MechanismKind, RecipeName};
pub use choice::{Choice, Situation, Task, Wishes};
pub use on_sums::{Ask, Objective, Recipe, RecipeError, RecipeRequest, Run, RunError, Shadow};

/// The README's examples are compiled with the tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
mod readme {}
