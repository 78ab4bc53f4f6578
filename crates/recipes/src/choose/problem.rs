//! The objective and the set that a situation and its wishes make.

use super::{Situation, Task, Wishes};
use crate::catalogue::RecipeName;
use crate::error::RecipeError;
use crate::linear::{LearnsFrom, Objective};
use hushstream_mechanism::Moments;
use hushstream_mechanism::losses::{Bounds, LinearLoss, LinearModel, Link, Softmax};
use hushstream_sets::{Ball, BoxSet, ConvexSet, Simplex};
use std::sync::Arc;

impl Situation {
    pub(super) fn moments(&self) -> Result<Moments, RecipeError> {
        Ok(match self.task {
            Task::Classes(classes) => Moments::of_classes(self.features, self.length, classes)?,
            _ => Moments::new(self.features, self.bounds(1.0)?),
        })
    }

    fn bounds(&self, radius: f64) -> Result<Bounds, RecipeError> {
        let targets = match self.task {
            Task::Number(low, high) => (low, high),
            _ => (-1.0, 1.0),
        };
        Ok(Bounds::new(self.length, targets, radius)?)
    }

    /// Weights beyond this change no prediction that the bounds allow by much: scores up to 5, or
    /// up to the largest target.
    pub(super) fn default_radius(&self) -> f64 {
        match self.task {
            Task::Number(low, high) => 2.0 * low.abs().max(high.abs()) / self.length,
            _ => 5.0 / self.length,
        }
    }

    pub(super) fn objective(
        &self,
        recipe: RecipeName,
        wishes: &Wishes,
        radius: f64,
    ) -> Result<Objective, RecipeError> {
        Ok(match (recipe.learns_from(), self.task) {
            (_, Task::Experts(low, high)) => {
                Objective::Linear(LinearLoss::new(self.features, low, high)?)
            }
            (Some(LearnsFrom::Moments), _) => Objective::LeastSquares(self.moments()?),
            (_, Task::Classes(classes)) => {
                Objective::Convex(Arc::new(Softmax::new(self.features, self.length, classes)?))
            }
            (_, task) => {
                let usual = match task {
                    Task::Number(..) => Link::Squared,
                    _ => Link::Logistic,
                };
                let link = wishes.link.unwrap_or(usual);
                let bounds = self.bounds(radius)?;
                Objective::Convex(Arc::new(LinearModel::new(self.features, link, bounds)?))
            }
        })
    }

    pub(super) fn set(
        &self,
        wishes: &Wishes,
        radius: f64,
    ) -> Result<Arc<dyn ConvexSet>, RecipeError> {
        let dimension = match self.task {
            Task::Classes(classes) => classes * self.features,
            _ => self.features,
        };
        let usual = match self.task {
            Task::Experts(..) => "simplex",
            _ => "ball",
        };
        Ok(match wishes.set.as_deref().unwrap_or(usual) {
            "ball" => Arc::new(Ball::new(dimension, radius)?),
            "box" => {
                let half = radius / (dimension as f64).sqrt();
                Arc::new(BoxSet::cube(dimension, half)?)
            }
            "simplex" => Arc::new(Simplex::new(dimension)?),
            other => {
                return Err(RecipeError::Unfit(format!(
                    "no set is called {other}; allowed: ball, box, simplex"
                )));
            }
        })
    }

    /// Weights of the model.
    pub(super) fn dimension(&self) -> usize {
        match self.task {
            Task::Classes(classes) => classes * self.features,
            _ => self.features,
        }
    }
}
