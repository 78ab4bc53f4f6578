//! The public numbers of a task.

use crate::sets::SetName;
use anyhow::{Result, bail};
use clap::Args;
use hushstream_mechanism::losses::{Bounds, LinearLoss, Loss, Record};
use hushstream_mechanism::{Contribution, Moments};
use hushstream_pictures::numbers::finite;
use hushstream_recipes::{LearnsFrom, Objective, RecipeName};
use std::sync::Arc;

/// Public numbers of a recipe's task.
#[derive(Args)]
#[group(requires = "recipe", multiple = true)]
pub(crate) struct TaskArguments {
    /// Largest length L of a loss's gradient. Without it, `ftrl` and `ftpl` on the simplex take
    /// losses in [0, 1].
    #[arg(long, value_parser = finite, allow_negative_numbers = true)]
    pub(crate) lipschitz: Option<f64>,
    /// Strong convexity H of every loss (`pftal`, `coco-p`, `coco-l`), or α of `pqftl`.
    #[arg(long, value_parser = finite, allow_negative_numbers = true)]
    pub(crate) strong_convexity: Option<f64>,
    /// Curvature H of the learner; by default the losses' own, or calibrated for `pftal-convex`.
    #[arg(long, value_parser = finite, allow_negative_numbers = true)]
    pub(crate) curvature: Option<f64>,
    /// Learning rate of `ftrl` and `sparse-ftrl`; by default calibrated.
    #[arg(long, value_parser = finite, allow_negative_numbers = true)]
    pub(crate) learning_rate: Option<f64>,
    /// The set of the weights; by default a ball, and the simplex for `ftrl` and `ftpl`.
    #[arg(long, value_enum)]
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
        self.set.unwrap_or(match recipe.learns_from() {
            Some(LearnsFrom::LinearLosses) => SetName::Simplex,
            _ => SetName::Ball,
        })
    }

    /// An objective with these numbers, for planning.
    pub(crate) fn objective(&self, recipe: RecipeName, dim: usize) -> Result<Objective> {
        Ok(match recipe.learns_from() {
            Some(LearnsFrom::Moments) => {
                let target = (-self.target_bound, self.target_bound);
                let bounds = Bounds::new(self.norm, target, 1.0)?;
                Objective::LeastSquares(Moments::new(dim, bounds))
            }
            Some(LearnsFrom::LinearLosses) => {
                let losses = match self.lipschitz {
                    // Half the diagonal of the cube of loss vectors is L.
                    Some(length) => {
                        let half = length / (dim as f64).sqrt();
                        LinearLoss::new(dim, -half, half)?
                    }
                    None if self.set_of(recipe) == SetName::Simplex => {
                        LinearLoss::new(dim, 0.0, 1.0)?
                    }
                    None => return Self::unstated(recipe),
                };
                Objective::Linear(losses)
            }
            _ => {
                let Some(lipschitz) = self.lipschitz else {
                    return Self::unstated(recipe);
                };
                Objective::Convex(Arc::new(Stated {
                    dim,
                    lipschitz,
                    strong_convexity: self.strong_convexity.unwrap_or(0.0),
                }))
            }
        })
    }

    fn unstated(recipe: RecipeName) -> Result<Objective> {
        bail!(
            "{recipe} needs --lipschitz, a public bound on the length of a loss's gradient \
             (1 for logistic losses on features of length 1)"
        )
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
