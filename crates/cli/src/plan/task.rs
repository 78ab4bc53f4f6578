//! The public numbers of a task, in place of the task itself.

use crate::sets::SetName;
use anyhow::{Result, bail};
use clap::Args;
use hushstream_mechanism::losses::{Bounds, LinearLoss, Loss, Record};
use hushstream_mechanism::{Contribution, Moments};
use hushstream_pictures::numbers::finite;
use hushstream_recipes::{Objective, RecipeName};
use std::sync::Arc;

/// What is public about a recipe's task.
#[derive(Args)]
#[group(requires = "recipe", multiple = true)]
pub(crate) struct TaskArguments {
    /// Largest length L of a loss's gradient. On the simplex, `ftrl` and `ftpl` take losses in [0, 1] if it is not given.
    #[arg(long, value_parser = finite, allow_negative_numbers = true)]
    pub(crate) lipschitz: Option<f64>,
    /// Strong convexity H of every loss (`pftal`, `coco-p`, `coco-l`), or α of `pqftl`.
    #[arg(long, value_parser = finite, allow_negative_numbers = true)]
    pub(crate) strong_convexity: Option<f64>,
    /// Curvature that the learner takes, if not the calibrated one: H of `pftal-convex`, or another than the losses' own.
    #[arg(long, value_parser = finite, allow_negative_numbers = true)]
    pub(crate) curvature: Option<f64>,
    /// Learning rate of `ftrl` and `sparse-ftrl`, if not the calibrated one.
    #[arg(long, value_parser = finite, allow_negative_numbers = true)]
    pub(crate) learning_rate: Option<f64>,
    /// Where the weights live; a ball if not given, the simplex for `ftrl` and `ftpl`.
    #[arg(long, value_enum)]
    pub(crate) set: Option<SetName>,
    /// Its radius; 1 if not given.
    #[arg(long, value_parser = finite, allow_negative_numbers = true)]
    pub(crate) radius: Option<f64>,
    /// `pqftl`, `sparse-ftrl`: largest length of a record's features, an intercept included.
    #[arg(long, value_parser = finite, allow_negative_numbers = true, default_value_t = 1.0)]
    pub(crate) norm: f64,
    /// `pqftl`: largest size of a target. `learn` centres a number within its bounds: half their
    /// range.
    #[arg(long, value_parser = finite, allow_negative_numbers = true, default_value_t = 1.0)]
    pub(crate) target_bound: f64,
    /// `coco-l` with tuned constants.
    #[arg(long)]
    pub(crate) tuned: bool,
}

impl TaskArguments {
    /// The set, by the recipe's custom if none is named.
    pub(crate) fn set_of(&self, recipe: RecipeName) -> SetName {
        self.set.unwrap_or(match recipe {
            RecipeName::Ftrl | RecipeName::Ftpl => SetName::Simplex,
            _ => SetName::Ball,
        })
    }

    /// An objective with these numbers, for planning.
    pub(crate) fn objective(&self, recipe: RecipeName, dim: usize) -> Result<Objective> {
        Ok(match recipe {
            RecipeName::Pqftl => {
                let target = (-self.target_bound, self.target_bound);
                let bounds = Bounds::new(self.norm, target, 1.0)?;
                Objective::LeastSquares(Moments::new(dim, bounds))
            }
            RecipeName::Ftrl | RecipeName::Ftpl => {
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
            "{recipe} needs --lipschitz, a public bound on the length of a loss's gradient (1 for logistic losses on features of length 1)"
        )
    }

    /// What is not left to the calibration.
    pub(crate) fn curvature(&self, recipe: RecipeName) -> Option<f64> {
        let alpha = (recipe == RecipeName::Pqftl).then_some(self.strong_convexity);
        self.curvature.or(alpha.flatten())
    }
}

/// A loss of which only the constants are known: every gradient is taken to be zero, which costs as much time as any other.
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
