//! The automatic choice: recipe, sum, batch and step sizes from what is public (the task, its bounds, the horizon and the budget) and nothing else.
//!
//! **Two ways to learn a linear model.** *Second order*: least squares on the running second moments (`pqftl`). It asks each record for p(p+3)/2 numbers whatever the iterate is, so it forgets nothing and
//! needs no step size; against its noise a ridge of ½σ√p is put on the matrix (tried on public data: between σ√p/4 and σ√p the choice matters little). *First order*: dual averaging on gradients (`pftal-convex`): p numbers a record, any convex loss.
//!
//! **When second order pays.** If features are spread over their bounds, the matrix after t records has eigenvalues about t·R²/p, and its noise has operator norm about σ√(2p). The rounds after which the
//! first exceeds the second, t₂ = σ√(2p)·p/R², are the price of privacy: until then nothing is learned. We take second order if t₂ is at most half the horizon and the moments fit 2^20 numbers. The same
//! figure for first order is t₁ = σ√d/L. Both are printed as the forecast.
//!
//! **Batches** do not change what a record may contribute, only how often a sum is released, and a sum's error grows with the number of releases: so the horizon is cut into about 256 batches (64 for
//! pure noise, whose error grows faster), which costs the learner the first batch.

use crate::catalogue::RecipeName;
use crate::on_sums::{Objective, Recipe, RecipeError, RecipeRequest};
use hushstream_account::{Adjacency, Budget};
use hushstream_mechanism::losses::{Bounds, BoundsError, LinearLoss, LinearModel, Link, Softmax};
use hushstream_mechanism::sums::{Noise, SumKind};
use hushstream_mechanism::{Moments, Participation};
use hushstream_sets::{Ball, BoxSet, ConvexSet, Simplex};
use std::sync::Arc;

/// What is predicted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Task {
    /// ±1.
    Sign,
    /// 0 … K − 1.
    Classes(usize),
    /// A number between two bounds.
    Number(f64, f64),
    /// Which of the experts, whose losses lie between two bounds, to follow.
    Experts(f64, f64),
}

/// What is public about a run.
#[derive(Debug, Clone)]
pub struct Situation {
    /// What is predicted.
    pub task: Task,
    /// Features, or experts.
    pub features: usize,
    /// Bound on the length of the features.
    pub length: f64,
    /// Records.
    pub rounds: u64,
    /// Whether `rounds` is only an expectation.
    pub horizon_unknown: bool,
    /// What may be spent.
    pub budget: Budget,
    /// The neighbouring relation.
    pub adjacency: Adjacency,
    /// Who contributes how often.
    pub participation: Participation,
}

/// What the user has decided; the rest is chosen.
#[derive(Debug, Clone, Default)]
pub struct Wishes {
    /// The recipe.
    pub recipe: Option<RecipeName>,
    /// The sum.
    pub sum: Option<SumKind>,
    /// The noise.
    pub noise: Option<Noise>,
    /// Records an item.
    pub batch: Option<u64>,
    /// Where the weights live: `ball`, `box` or `simplex`.
    pub set: Option<String>,
    /// Its radius.
    pub radius: Option<f64>,
    /// H, or α a record.
    pub curvature: Option<f64>,
    /// η.
    pub learning_rate: Option<f64>,
    /// λ of least squares.
    pub ridge: Option<f64>,
    /// The loss of first-order recipes.
    pub link: Option<Link>,
    /// Items for which a window recipe protects a record.
    pub window: Option<u64>,
}

/// A recipe, and why.
pub struct Choice {
    /// The recipe.
    pub recipe: Recipe,
    /// The reasons, for people.
    pub reasons: Vec<String>,
    /// Records after which what is learned exceeds the noise, about.
    pub rows_until_signal: f64,
}

impl From<BoundsError> for RecipeError {
    fn from(error: BoundsError) -> Self {
        Self::Parameter {
            parameter: error.parameter,
            given: error.given,
            allowed: error.allowed,
        }
    }
}

impl Situation {
    /// Chooses what the wishes leave open.
    ///
    /// # Errors
    /// Wishes that do not fit together or are out of range.
    pub fn choose(&self, wishes: &Wishes) -> Result<Choice, RecipeError> {
        if let Task::Experts(..) = self.task {
            return self.chosen(RecipeName::Ftrl, wishes, Vec::new());
        }
        if let Some(recipe) = wishes.recipe {
            return self.chosen(recipe, wishes, Vec::new());
        }
        let first = |reason: String| self.chosen(RecipeName::PftalConvex, wishes, vec![reason]);
        if wishes.link.is_some_and(|link| link != Link::Squared) {
            return first(
                "pftal-convex, because a loss was named: it takes any convex one".to_owned(),
            );
        }
        let numbers = self.moments()?.dimension();
        if numbers > 1 << 20 {
            return first(format!(
                "pftal-convex, because second moments would be {numbers} numbers a record"
            ));
        }
        let second = self.chosen(RecipeName::Pqftl, wishes, Vec::new());
        match second {
            Ok(mut choice) if choice.rows_until_signal <= 0.5 * self.rounds as f64 => {
                choice.reasons.insert(0, format!(
                    "pqftl, because with {} features second moments rise above their noise after about {:.0} of {} records",
                    self.features, choice.rows_until_signal, self.rounds
                ));
                Ok(choice)
            }
            Ok(choice) => first(format!(
                "pftal-convex, because with {} features second moments would need about {:.0} records to rise above their noise, and there are {}",
                self.features, choice.rows_until_signal, self.rounds
            )),
            // What refuses second moments (a sum or noise that was wished for) may suit gradients.
            Err(error) => first(format!("pftal-convex, because pqftl does not fit: {error}")),
        }
    }

    fn moments(&self) -> Result<Moments, RecipeError> {
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

    /// Weights beyond this change no prediction that the bounds allow by much: scores up to 5, or up to the largest target.
    fn default_radius(&self) -> f64 {
        match self.task {
            Task::Number(low, high) => 2.0 * low.abs().max(high.abs()) / self.length,
            _ => 5.0 / self.length,
        }
    }

    fn objective(
        &self,
        recipe: RecipeName,
        wishes: &Wishes,
        radius: f64,
    ) -> Result<Objective, RecipeError> {
        Ok(match (recipe, self.task) {
            (_, Task::Experts(low, high)) => {
                Objective::Linear(LinearLoss::new(self.features, low, high)?)
            }
            (RecipeName::Pqftl, _) => Objective::LeastSquares(self.moments()?),
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

    fn set(&self, wishes: &Wishes, radius: f64) -> Result<Arc<dyn ConvexSet>, RecipeError> {
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

    fn chosen(
        &self,
        recipe: RecipeName,
        wishes: &Wishes,
        mut reasons: Vec<String>,
    ) -> Result<Choice, RecipeError> {
        let recipe = wishes.recipe.unwrap_or(recipe);
        let noise = wishes.noise.unwrap_or(if !self.budget.is_pure() {
            Noise::Gaussian
        } else if recipe == RecipeName::Ftrl {
            Noise::Laplace
        } else {
            Noise::L2Laplace
        });
        let automatic = wishes.recipe.is_none();
        let sum = match wishes.sum {
            Some(sum) => Some(sum),
            None if self.horizon_unknown => {
                reasons.push("sum octave, because the horizon is unknown".to_owned());
                Some(SumKind::Octave)
            }
            // A recipe that was named keeps its paper's sum.
            None if !automatic => None,
            None if noise == Noise::Gaussian => {
                reasons
                    .push("sum blt, because it has the least noise at a known horizon".to_owned());
                Some(SumKind::BLT)
            }
            None => {
                reasons.push("sum smooth, because it has the least noise without δ".to_owned());
                Some(SumKind::Smooth)
            }
        };
        let batch = match wishes.batch {
            Some(batch) => batch,
            None if automatic && !matches!(self.task, Task::Experts(..)) => {
                let pieces = if noise == Noise::Gaussian { 256 } else { 64 };
                let batch = (self.rounds / pieces).max(1);
                reasons.push(format!("batches of {batch}, about {pieces} releases: a sum's noise grows with their number"));
                batch
            }
            None => 1,
        };
        let radius = wishes.radius.unwrap_or_else(|| self.default_radius());
        let small_ridge = 1e-4 * self.length * self.length;
        let planned = RecipeRequest {
            recipe,
            objective: self.objective(recipe, wishes, radius)?,
            set: self.set(wishes, radius)?,
            rounds: self.rounds,
            batch,
            budget: self.budget,
            adjacency: self.adjacency,
            participation: self.participation,
            sum,
            noise: Some(noise),
            window: wishes.window,
            curvature: match (wishes.curvature, recipe) {
                (None, RecipeName::Pqftl) => Some(small_ridge),
                (given, _) => given,
            },
            learning_rate: wishes.learning_rate,
            tuned: automatic,
        }
        .plan()?;
        let recipe = match (wishes.ridge, planned.matrix_noise()) {
            (Some(ridge), _) => planned.with_ridge(ridge)?,
            (None, Some(noise)) => {
                let ridge = noise / (2.0 * std::f64::consts::SQRT_2);
                reasons.push(format!("ridge {ridge:.4}, half the noise of a row of the matrix: smaller eigenvalues are noise"));
                planned.with_ridge(ridge)?
            }
            (None, None) => planned,
        };
        let rows_until_signal = match recipe.matrix_noise() {
            Some(noise) => noise * self.features as f64 / self.length.powi(2),
            None => {
                let request = recipe.plan().request();
                recipe.plan().prefix_sd_max() * f64::from(request.dimension).sqrt() / request.bound
            }
        };
        Ok(Choice {
            recipe,
            reasons,
            rows_until_signal,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn situation(features: usize, rounds: u64) -> Situation {
        Situation {
            task: Task::Sign,
            features,
            length: 1.8,
            rounds,
            horizon_unknown: false,
            budget: Budget::approx(1.0, 1e-6).unwrap(),
            adjacency: Adjacency::ReplaceOne,
            participation: Participation::OncePerRecord,
        }
    }

    fn name(choice: &Choice) -> String {
        let request = choice.recipe.request();
        format!(
            "{} on {}",
            request.recipe,
            choice.recipe.plan().request().kind
        )
    }

    #[test]
    fn few_features_are_learned_by_second_moments_and_many_by_gradients() {
        let choice = situation(55, 581_012).choose(&Wishes::default()).unwrap();
        assert_eq!(name(&choice), "pqftl on blt");
        assert!(
            choice.rows_until_signal < 30_000.0,
            "{}",
            choice.rows_until_signal
        );
        let choice = situation(55, 5_000).choose(&Wishes::default()).unwrap();
        assert_eq!(name(&choice), "pftal-convex on blt");
        let choice = situation(5_000, 1_000_000)
            .choose(&Wishes::default())
            .unwrap();
        assert_eq!(name(&choice), "pftal-convex on blt");
        assert!(!choice.reasons.is_empty());
    }

    #[test]
    fn wishes_are_kept_and_unknown_horizons_get_octaves() {
        let wishes = Wishes {
            recipe: Some(RecipeName::PftalConvex),
            batch: Some(10),
            ..Wishes::default()
        };
        let choice = situation(5, 100_000).choose(&wishes).unwrap();
        assert_eq!(name(&choice), "pftal-convex on tree", "the paper's own sum");
        assert_eq!(choice.recipe.request().batch, 10);
        let unknown = Situation {
            horizon_unknown: true,
            ..situation(5, 100_000)
        };
        assert_eq!(
            name(&unknown.choose(&Wishes::default()).unwrap()),
            "pqftl on octave"
        );
        let pure = Situation {
            budget: Budget::pure(1.0).unwrap(),
            ..situation(5, 1_000_000)
        };
        assert_eq!(
            name(&pure.choose(&Wishes::default()).unwrap()),
            "pqftl on smooth"
        );
        let experts = Situation {
            task: Task::Experts(0.0, 1.0),
            ..situation(36, 5_000)
        };
        assert_eq!(
            name(&experts.choose(&Wishes::default()).unwrap()),
            "ftrl on blt"
        );
        let classes = Situation {
            task: Task::Classes(7),
            ..situation(55, 581_012)
        };
        assert_eq!(
            name(&classes.choose(&Wishes::default()).unwrap()),
            "pqftl on blt"
        );
    }
}
