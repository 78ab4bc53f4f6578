//! The loss of a linear model and the set of its weights, for recipes that take them as they are.

use crate::error::{Result, refuse};
use hushstream_mechanism::losses::{Bounds, LinearModel, Link, Loss};
use hushstream_recipes::{RecipeName, Situation, Task, Wishes};
use hushstream_sets::{Ball, BoxSet, ConvexSet};
use std::sync::Arc;

/// A linear model for one of two classes, or a number.
pub(super) struct LinearProblem {
    pub(super) loss: Arc<dyn Loss>,
    pub(super) set: Arc<dyn ConvexSet>,
    pub(super) radius: f64,
}

impl LinearProblem {
    /// Builds the problem from public facts and stated parameters.
    pub(super) fn new(recipe: RecipeName, situation: &Situation, wishes: &Wishes) -> Result<Self> {
        let (targets, usual, scores) = match situation.task {
            Task::Sign => ((-1.0, 1.0), Link::Logistic, 5.0),
            Task::Number(low, high) => ((low, high), Link::Squared, low.abs().max(high.abs())),
            _ => refuse!("{recipe} predicts one of two classes, or a number"),
        };
        let radius = wishes.radius.unwrap_or(scores / situation.length);
        let link = wishes.link.unwrap_or(usual);
        let bounds = Bounds::new(situation.length, targets, radius)?;
        let loss = LinearModel::new(situation.features, link, bounds)?;
        let set: Arc<dyn ConvexSet> = match wishes.set.as_deref().unwrap_or("ball") {
            "ball" => Arc::new(Ball::new(situation.features, radius)?),
            "box" => {
                let half = radius / (situation.features as f64).sqrt();
                Arc::new(BoxSet::cube(situation.features, half)?)
            }
            other => refuse!("{recipe} cannot use the set {other}; allowed: ball, box"),
        };
        Ok(Self {
            loss: Arc::new(loss),
            set,
            radius,
        })
    }
}
