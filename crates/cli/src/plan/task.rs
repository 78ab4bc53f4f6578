//! The public numbers of a task: one set of words for every recipe, each with a default.

use crate::sets::{LossesName, SetName};
use anyhow::Result;
use clap::Args;
use hushstream_mechanism::losses::{Bounds, LinearLoss, Loss, LossSet, Record, Regularised};
use hushstream_mechanism::{Contribution, Moments};
use hushstream_pictures::numbers::finite;
use hushstream_recipes::{LearnsFrom, MechanismKind, Objective, RecipeName};
use std::sync::Arc;

/// Public numbers of a recipe's task.
#[derive(Args)]
#[group(requires = "recipe", multiple = true)]
pub(crate) struct TaskArguments {
    /// Largest length L of a loss's gradient; by default 1, as of logistic losses on features of
    /// length 1. Without it, linear losses on the simplex lie in [0, 1].
    #[arg(long, value_parser = finite, allow_negative_numbers = true)]
    pub(crate) lipschitz: Option<f64>,
    /// Where linear losses lie: a set of radius L. By default a box with corners of length L.
    #[arg(long, value_enum)]
    pub(crate) losses: Option<LossesName>,
    /// Strong convexity H of every loss, or α of `pqftl`; by default L over the radius where a
    /// recipe needs some.
    #[arg(long, value_parser = finite, allow_negative_numbers = true)]
    pub(crate) strong_convexity: Option<f64>,
    /// Curvature H of the learner; by default the losses' own, or calibrated for `pftal-convex`.
    #[arg(long, value_parser = finite, allow_negative_numbers = true)]
    pub(crate) curvature: Option<f64>,
    /// Learning rate of `ftrl` and `sparse-ftrl`; by default calibrated.
    #[arg(long, value_parser = finite, allow_negative_numbers = true)]
    pub(crate) learning_rate: Option<f64>,
    /// The set of the weights: ball, box, simplex, l1-ball, spectrahedron, or a file with a graph,
    /// a matroid or a polytope. By default a ball, and the simplex for linear losses, experts and
    /// arms.
    #[arg(long)]
    pub(crate) set: Option<SetName>,
    /// The radius of the set; by default 1.
    #[arg(long, value_parser = finite, allow_negative_numbers = true)]
    pub(crate) radius: Option<f64>,
    /// For `pqftl` and `sparse-ftrl`: largest length of a record's features, with the intercept.
    #[arg(long, value_parser = finite, allow_negative_numbers = true, default_value_t = 1.0)]
    pub(crate) norm: f64,
    /// For `pqftl`: largest absolute value of a target. `learn` centres a numeric target, so this
    /// is half the range of its bounds.
    #[arg(long, value_parser = finite, allow_negative_numbers = true, default_value_t = 1.0)]
    pub(crate) target_bound: f64,
    /// Use tuned constants for `coco-l`.
    #[arg(long)]
    pub(crate) tuned: bool,
}

impl TaskArguments {
    /// The stated set, or the recipe's default.
    pub(crate) fn set_of(&self, recipe: RecipeName) -> SetName {
        let usual = match (recipe.learns_from(), recipe.entry().mechanism) {
            (Some(LearnsFrom::LinearLosses), _) => SetName::Simplex,
            (_, MechanismKind::Feedback | MechanismKind::Batch) => SetName::Simplex,
            (_, MechanismKind::Selection) if !recipe.plays_on_points() => SetName::Simplex,
            _ => SetName::Ball,
        };
        self.set.clone().unwrap_or(usual)
    }

    /// L.
    pub(crate) fn lipschitz(&self) -> f64 {
        self.lipschitz.unwrap_or(1.0)
    }

    /// Strong convexity of the losses: as stated, or the default where a recipe needs some.
    fn curved(&self, recipe: RecipeName) -> f64 {
        let needs = matches!(
            recipe,
            RecipeName::Pftal | RecipeName::CocoP | RecipeName::CocoL
        ) || recipe.needs_curvature() && recipe != RecipeName::Pol;
        let usual = self.lipschitz() / self.radius.unwrap_or(1.0);
        self.strong_convexity
            .unwrap_or(if needs { usual } else { 0.0 })
    }

    /// An objective with these numbers, for planning.
    pub(crate) fn objective(&self, recipe: RecipeName, dim: usize) -> Result<Objective> {
        let on_simplex = self.set_of(recipe) == SetName::Simplex;
        let radius = self.lipschitz();
        let linear = || match self.losses {
            Some(losses) => LinearLoss::within(dim, losses.of_radius(radius)),
            None if self.lipschitz.is_none() && on_simplex => LinearLoss::new(dim, 0.0, 1.0),
            // Half the diagonal of the cube of loss vectors is L.
            None => {
                let half = radius / (dim as f64).sqrt();
                LinearLoss::new(dim, -half, half)
            }
        };
        Ok(match (recipe.learns_from(), recipe.entry().mechanism) {
            (Some(LearnsFrom::Moments), _) => {
                let target = (-self.target_bound, self.target_bound);
                let bounds = Bounds::new(self.norm, target, 1.0)?;
                Objective::LeastSquares(Moments::new(dim, bounds))
            }
            (Some(LearnsFrom::LinearLosses), _)
            | (_, MechanismKind::Feedback | MechanismKind::Batch) => Objective::Linear(linear()?),
            (_, MechanismKind::Selection) if !recipe.plays_on_points() => {
                Objective::Linear(linear()?)
            }
            (Some(LearnsFrom::Gradients), _) => Objective::Convex(Arc::new(Stated {
                dim,
                lipschitz: radius,
                strong_convexity: self.curved(recipe),
            })),
            // Of all losses with this slope, and this curvature, linear ones tell the same numbers
            // and can be written out.
            _ => {
                let plain = LinearLoss::within(dim, LossSet::Ball(radius))?;
                match self.curved(recipe) {
                    curved if curved > 0.0 => {
                        let reach = self.radius.unwrap_or(1.0);
                        let loss = Regularised::new(Arc::new(plain), curved, reach)?;
                        Objective::Convex(Arc::new(loss))
                    }
                    _ => Objective::Linear(plain),
                }
            }
        })
    }

    /// The parameters that override the calibration.
    pub(crate) fn curvature(&self, recipe: RecipeName) -> Option<f64> {
        let alpha = self.strong_convexity;
        let is_alpha = recipe.learns_from() == Some(LearnsFrom::Moments);
        self.curvature.or(alpha.filter(|_| is_alpha))
    }
}

/// A loss known only by its constants. Every gradient is zero, which takes as much time as any
/// other.
#[derive(Debug)]
struct Stated {
    dim: usize,
    lipschitz: f64,
    strong_convexity: f64,
}

impl Loss for Stated {
    fn name(&self) -> &str {
        "the stated loss"
    }

    fn dimension(&self) -> usize {
        self.dim
    }

    fn lipschitz(&self) -> f64 {
        self.lipschitz
    }

    fn strong_convexity(&self) -> f64 {
        self.strong_convexity
    }

    fn value(&self, _: &Record, _: &[f64]) -> f64 {
        0.0
    }

    fn gradient(&self, _: Record, _: &[f64]) -> Contribution {
        Contribution::Dense(vec![0.0; self.dim])
    }
}
