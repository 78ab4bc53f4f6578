//! What tells the recipes on sums apart: each implements [`OnSums`] in its file of the catalogue.

use super::recipe::Recipe;
use super::regret::{Item, RegretBound};
use crate::choose::{Choice, Draft};
use crate::error::RecipeError;
use hushstream_learn::Learner;
use hushstream_mechanism::sums::{Noise, SumKind};
use std::fmt;

/// What a recipe on sums learns from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LearnsFrom {
    /// Gradients of any convex loss.
    Gradients,
    /// Gradients of linear losses: the losses of experts.
    LinearLosses,
    /// Second moments.
    Moments,
}

impl fmt::Display for LearnsFrom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Gradients => "gradients",
            Self::LinearLosses => "gradients of linear losses",
            Self::Moments => "second moments (least squares)",
        })
    }
}

/// The rules of one recipe on sums: what it accepts, its calibration, its learner and its regret.
pub(crate) trait OnSums: fmt::Debug + Sync {
    /// What it learns from.
    fn learns_from(&self) -> LearnsFrom {
        LearnsFrom::Gradients
    }

    /// The noise for δ = 0.
    fn pure_noise(&self) -> Noise {
        Noise::L2Laplace
    }

    /// Why it cannot run on this sum with this noise, if it cannot.
    fn refuses(&self, sum: SumKind, noise: Noise) -> Option<&'static str> {
        let _ = (sum, noise);
        None
    }

    /// The least noise that its regret needs, for items of at most this slope.
    fn least_sigma(&self, slope: f64, dimension: usize, items: u64) -> f64 {
        let _ = (slope, dimension, items);
        0.0
    }

    /// Whether the learner starts from noise alone, so that every iterate has the same law.
    fn starts_from_noise(&self) -> bool {
        false
    }

    /// The length N that the calibration is for.
    fn noise_length(&self, recipe: &Recipe) -> Option<f64> {
        let _ = recipe;
        None
    }

    /// The probability that N is exceeded, unless it is the mean.
    fn noise_beta(&self) -> Option<f64> {
        None
    }

    /// H, where none is stated: what every loss has by itself.
    fn curvature(&self, recipe: &Recipe) -> Result<f64, RecipeError> {
        let loss = recipe.gradient()?;
        let own = loss.strong_convexity() * recipe.request.batch as f64;
        if own > 0.0 {
            return Ok(own);
        }
        Err(RecipeError::Unfit(format!(
            "{} needs strongly convex losses, and {} is not; use pftal-convex, or state the \
             curvature",
            recipe.request.recipe,
            loss.name()
        )))
    }

    /// η, where none is stated.
    fn rate(&self, recipe: &Recipe) -> Result<f64, RecipeError> {
        let _ = recipe;
        Ok(0.0)
    }

    /// A fresh learner.
    fn learner(&self, recipe: &Recipe) -> Result<Box<dyn Learner>, RecipeError>;

    /// The regret of all whole items, or why none is proved.
    fn bound(&self, recipe: &Recipe, item: &Item) -> Result<RegretBound, String>;

    /// The largest possible regret.
    fn trivial_regret(&self, recipe: &Recipe, item: &Item) -> Option<f64> {
        let items = item.horizon as f64 * item.slope * recipe.request.set.diameter();
        Some(items + item.rest)
    }

    /// Into how many batches the automatic choice cuts the horizon; none if every record is
    /// released, as in the papers.
    fn pieces(&self, noise: Noise) -> Option<u64> {
        let _ = noise;
        None
    }

    /// Chooses what the wishes leave open.
    fn choose(&self, draft: Draft<'_>) -> Result<Choice, RecipeError> {
        let planned = draft.request(draft.radius(), None)?.plan()?;
        let strain = planned.strain();
        Ok(draft.choice(planned, strain.noise / strain.lipschitz))
    }
}

impl Recipe {
    /// The length N that the calibration is for: `pftal-convex` takes the mean, `coco-l` one that
    /// is exceeded with probability [`super::NOISE_BETA`]; none for the others.
    #[must_use]
    pub fn noise_length(&self) -> Option<f64> {
        self.rules.noise_length(self)
    }

    /// The probability that this length is exceeded, unless it is the mean.
    #[must_use]
    pub fn noise_beta(&self) -> Option<f64> {
        self.rules.noise_beta()
    }

    /// A fresh learner.
    ///
    /// # Errors
    /// A set that cannot serve it.
    pub fn learner(&self) -> Result<Box<dyn Learner>, RecipeError> {
        self.rules.learner(self)
    }

    /// Items, each the sum of one batch of records.
    pub(crate) fn items(&self) -> u64 {
        self.plan.request().releases + 1
    }
}
