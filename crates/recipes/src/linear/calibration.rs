//! Calibration from public numbers: curvature, learning rate, and the learner built from them.

use super::noise_length::{NOISE_BETA, mean_length, rare_length};
use super::recipe::{Ask, Recipe};
use crate::catalogue::RecipeName;
use crate::error::RecipeError;
use hushstream_account::ParameterError;
use hushstream_learn::{
    DualAveraging, FollowTheApproximateLeader, FrankWolfe, LearnError, Learner, LeastSquares,
    LocalLinear, PerturbedLeader, RegularisedLeader,
};
use hushstream_mechanism::sums::PrivateSum;
use hushstream_mechanism::{GuaranteeKind, Moments};
use hushstream_sets::Capability;

impl Recipe {
    fn positive(parameter: &'static str, given: f64) -> Result<f64, RecipeError> {
        if given > 0.0 && given.is_finite() {
            Ok(given)
        } else {
            Err(ParameterError::new(parameter, given, "a positive finite number").into())
        }
    }

    /// The length N that the calibration is for: `pftal-convex` takes the mean, `coco-l` one that
    /// is exceeded with probability [`NOISE_BETA`]; none for the others.
    #[must_use]
    pub fn noise_length(&self) -> Option<f64> {
        match self.request.recipe {
            RecipeName::PftalConvex => Some(mean_length(&self.plan)),
            RecipeName::CocoL if !self.request.tuned && !self.minimises_only() => {
                Some(self.rare_noise())
            }
            _ => None,
        }
    }

    pub(crate) fn rare_noise(&self) -> f64 {
        rare_length(&self.plan, NOISE_BETA)
    }

    /// Whether `coco-l` must do with a linear minimiser: the set has no local oracle.
    pub(crate) fn minimises_only(&self) -> bool {
        let set = &self.request.set;
        !set.can(Capability::LocalOracle) && set.can(Capability::Minimise)
    }

    pub(crate) fn calibrated_curvature(&self) -> Result<f64, RecipeError> {
        if let Some(given) = self.request.curvature {
            return Self::positive("curvature", given);
        }
        match (self.request.recipe, &self.ask) {
            (RecipeName::PftalConvex, Ask::Gradient(loss)) => {
                let lipschitz = loss.lipschitz() * self.request.batch as f64;
                let diameter = self.request.set.diameter();
                Ok(DualAveraging::suggested_h(
                    diameter,
                    lipschitz,
                    mean_length(&self.plan),
                    self.items(),
                )?)
            }
            (RecipeName::Ftrl | RecipeName::Ftpl, _) => Ok(0.0),
            (RecipeName::Pqftl, _) => Ok(1.0),
            (_, Ask::Gradient(loss)) => {
                let given = loss.strong_convexity() * self.request.batch as f64;
                if given > 0.0 {
                    Ok(given)
                } else {
                    Err(RecipeError::Unfit(format!(
                        "{} needs strongly convex losses, and {} is not; use pftal-convex, or \
                         state the curvature",
                        self.request.recipe,
                        loss.name()
                    )))
                }
            }
            (_, Ask::Moments(_)) => Ok(1.0),
        }
    }

    pub(crate) fn calibrated_rate(&self) -> Result<f64, RecipeError> {
        if let Some(given) = self.request.learning_rate {
            return Self::positive("learning rate", given);
        }
        if self.request.recipe != RecipeName::Ftrl {
            return Ok(0.0);
        }
        self.regulariser_rate()
    }

    /// Items, each the sum of one batch of records.
    fn items(&self) -> u64 {
        self.plan.request().releases + 1
    }

    /// η = √(D_R/Σ‖l‖*²): entropy and the largest coordinate on the simplex, Euclidean otherwise.
    /// Losses are centred, so their largest coordinate is half the range.
    fn regulariser_rate(&self) -> Result<f64, RecipeError> {
        let set = &self.request.set;
        let Ask::Gradient(loss) = &self.ask else {
            return Ok(0.0);
        };
        let dimension = loss.dimension() as f64;
        let length = self.request.batch as f64 * loss.lipschitz();
        let (range, norm) = if self.is_entropic() {
            (dimension.ln(), length / dimension.sqrt())
        } else {
            (set.outer_radius().powi(2) / 2.0, length)
        };
        Ok(RegularisedLeader::stated_rate(
            range,
            self.items() as f64 * norm * norm,
        )?)
    }

    pub(crate) fn is_entropic(&self) -> bool {
        self.request.set.name() == "simplex"
    }

    /// A fresh learner.
    ///
    /// # Errors
    /// A set that cannot serve it.
    pub fn learner(&self) -> Result<Box<dyn Learner>, RecipeError> {
        let set = self.request.set.clone();
        Ok(match (self.request.recipe, &self.ask) {
            (RecipeName::Pftal | RecipeName::CocoP, _) => {
                Box::new(FollowTheApproximateLeader::new(set, self.curvature)?)
            }
            (RecipeName::PftalConvex, _) => Box::new(DualAveraging::new(set, self.curvature)?),
            (RecipeName::Ftrl, _) if self.is_entropic() => Box::new(RegularisedLeader::entropic(
                set.dimension(),
                self.learning_rate,
            )?),
            (RecipeName::Ftrl, _) => {
                Box::new(RegularisedLeader::euclidean(set, self.learning_rate)?)
            }
            (RecipeName::Ftpl, _) => Box::new(PerturbedLeader::new(set)?),
            (RecipeName::CocoL, _) if self.minimises_only() => {
                Box::new(FrankWolfe::new(set, self.curvature)?)
            }
            (RecipeName::CocoL, Ask::Gradient(loss)) => {
                let lipschitz = loss.lipschitz() * self.request.batch as f64;
                if self.request.tuned {
                    Box::new(LocalLinear::tuned(set, self.curvature, 0.0)?)
                } else {
                    Box::new(LocalLinear::as_stated(
                        set,
                        self.curvature,
                        lipschitz,
                        self.rare_noise(),
                    )?)
                }
            }
            (_, Ask::Moments(moments)) => Box::new(self.least_squares(moments)?),
            (RecipeName::Pqftl, Ask::Gradient(_)) => {
                return Err(RecipeError::Objective {
                    recipe: RecipeName::Pqftl,
                    wanted: "second moments (least squares)",
                });
            }
            (recipe, Ask::Gradient(_)) => {
                return Err(RecipeError::Objective {
                    recipe,
                    wanted: "something else than gradients in sums",
                });
            }
        })
    }

    /// An item of B records is one record with features and target √B times as long, and B times
    /// the regularisation.
    pub(crate) fn least_squares(&self, moments: &Moments) -> Result<LeastSquares, LearnError> {
        let batch = self.request.batch as f64;
        let bounds = moments.bounds();
        let learner = LeastSquares::new(
            moments.features(),
            bounds.features() * batch.sqrt(),
            bounds.target_magnitude() * batch.sqrt(),
            self.curvature * batch,
        )?;
        let weight = moments.weight().squared().sqrt();
        let learner = learner.ridge(self.ridge)?.weighted(weight)?;
        learner.classes(moments.targets())
    }

    /// Before the first item: AS17's recipes start from noise alone, so that every iterate has the
    /// same law.
    pub(crate) fn greet<G: GuaranteeKind>(
        &self,
        learner: &mut dyn Learner,
        sum: &mut PrivateSum<G>,
    ) -> Result<(), RecipeError> {
        if matches!(self.request.recipe, RecipeName::Ftrl | RecipeName::Ftpl)
            && let Some(noise) = sum.before_the_first()
        {
            learner.observe_initial(noise.value())?;
        }
        Ok(())
    }
}
