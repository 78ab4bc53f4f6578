//! Recipes: a mechanism, a learner and a calibration with a name; the round loop, and resuming it.
//!
//! A [`RecipeRequest`] names an algorithm of the literature and what is public about the task; its
//! [`Recipe`] is calibrated; a [`Run`] plays it: question to one record, noisy answer, next
//! iterate. [`IterateRequest`], [`IterateRecipe`] and [`IterateRun`] are the same for recipes that
//! release the iterates of a learner on the private side. [`CATALOGUE`] tells where each recipe
//! comes from and what it promises.

mod any;
mod bandits;
mod baseline;
mod catalogue;
mod choose;
mod decisions;
mod error;
mod experts;
mod iterates;
mod limited_updates;
mod linear;
mod note;
mod papers;
mod run;
mod sparse;
mod tables;
mod values;

pub use any::{AnyRecipe, AnyRequest};
pub use bandits::{
    Actions, ArmEstimate, BanditPlayer, BanditRecipe, BanditRequest, BanditRun, BanditShadow, Turn,
};
pub use baseline::Baseline;
pub use catalogue::{CATALOGUE, Entry, MechanismKind, RecipeName, Wish};
pub use choose::{Choice, Situation, Task, Wishes};
pub use decisions::{
    DecisionsPlayer, DecisionsRecipe, DecisionsRequest, DecisionsRun, DecisionsShadow, Judging,
    Release,
};
pub use error::{RecipeError, RunError};
pub use experts::{
    Advice, ExpertsPlayer, ExpertsRecipe, ExpertsRequest, ExpertsRun, ExpertsShadow,
};
pub use iterates::{
    Averaged, Insider, IteratePlayer, IterateRecipe, IterateRequest, IterateRun, PolQuestion, Steps,
};
pub use limited_updates::{
    LimitedUpdates, LimitedUpdatesRequest, LimitedUpdatesRun, UpdatesPlayer,
};
pub use linear::{
    Ask, Holds, LearnsFrom, NOISE_BETA, Objective, Recipe, RecipeRequest, RegretBound, Shadow,
    SumPlayer, SumRun,
};
pub use note::{Note, NoteError};
pub use papers::{Cell, TABLES, Table};
pub use run::{Asked, Beginning, Out, Player, Run};
pub use sparse::{SparsePlayer, SparseRecipe, SparseRequest, SparseRun};
pub use tables::{Column, TablesPlayer, TablesRecipe, TablesRequest, TablesRun, TablesShadow};
pub use values::{ValuesPlayer, ValuesRecipe, ValuesRequest, ValuesRun, ValuesShadow};
