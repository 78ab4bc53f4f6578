//! A recipe on perturbed iterates: learner, noise and calibration, planned from public numbers
//! alone.

use super::rules::{IterateRules, TakenSteps};
use crate::catalogue::{RecipeName, Rules};
use crate::error::RecipeError;
use hushstream_account::{Adjacency, Budget, ParameterError};
use hushstream_mechanism::Participation;
use hushstream_mechanism::losses::Loss;
use hushstream_mechanism::perturb::{
    Average, Curvature, GradientDescent, ImplicitDescent, PerturbError, PerturbPlan,
    PerturbRequest, StableLearner, StepSize, Timing, Weighting,
};
use hushstream_mechanism::sums::Noise;
use hushstream_sets::ConvexSet;
use std::sync::Arc;

/// Who learns, on the private side.
#[derive(Clone)]
pub enum Insider {
    /// Gradient steps on a loss that can be written out.
    Loss(Arc<dyn Loss>),
    /// A learner with a proof of its own: `pocp`, `pocp-anytime` and `pol` take any.
    Learner(Arc<dyn StableLearner>),
}

/// Which steps are taken on a loss.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Steps {
    /// Minimisations: `pigd`'s.
    Implicit,
    /// Gradients, of one of two lengths: `pgiga`'s.
    Gradient(StepSize),
}

/// Parameters of a recipe on perturbed iterates.
#[derive(Clone)]
pub struct IterateRequest {
    /// Which recipe.
    pub recipe: RecipeName,
    /// Who learns.
    pub insider: Insider,
    /// Where the weights live: iterates of a loss, and releases of any learner.
    pub set: Arc<dyn ConvexSet>,
    /// Records, T. For an unknown horizon: how many are expected.
    pub rounds: u64,
    /// What may be spent.
    pub budget: Budget,
    /// The neighbouring relation.
    pub adjacency: Adjacency,
    /// Who contributes how often.
    pub participation: Participation,
    /// The noise; Gaussian for δ > 0 and L2-Laplace for δ = 0, if none is named.
    pub noise: Option<Noise>,
    /// α, all curvature of a round (`pigd-convex`: a of A(t) = a·t^¾), if not the loss's own or the
    /// calibrated one.
    pub curvature: Option<f64>,
    /// The steps, if not the recipe's own.
    pub steps: Option<Steps>,
    /// What noise costs: its length (if none is named), or its square.
    pub weighting: Option<Weighting>,
    /// Which iterates `pol` releases the average of.
    pub average: Averaged,
}

/// Which iterates an average is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Averaged {
    /// All of them, as in JKT12: what its sample size (Theorem 6) is proved for.
    #[default]
    All,
    /// The later half, where that moves less, which it does from six records on: up to nine times
    /// less noise, and the first iterates, which know least, do not count.
    LaterHalf,
}

/// A recipe with everything fixed but the data.
#[derive(Clone)]
pub struct IterateRecipe {
    pub(super) request: IterateRequest,
    pub(super) plan: PerturbPlan,
    pub(super) curvature: Option<Curvature>,
    pub(super) steps: Steps,
}

impl IterateRequest {
    /// Calibrates the recipe.
    ///
    /// # Errors
    /// Everything that is out of range or does not fit, each with what is allowed.
    pub fn plan(self) -> Result<IterateRecipe, RecipeError> {
        let Rules::Iterate(rules) = self.recipe.entry().rules else {
            return Err(RecipeError::Unfit(format!(
                "{} does not release iterates; those that do: pigd, pigd-convex, pgiga, pocp, \
                 pocp-anytime, pol",
                self.recipe
            )));
        };
        if self.rounds < 2 {
            return Err(ParameterError::new(
                "rounds",
                self.rounds as f64,
                "at least two: nothing is released after the last",
            )
            .into());
        }
        let noise = self.noise.unwrap_or(if self.budget.is_pure() {
            Noise::L2Laplace
        } else {
            Noise::Gaussian
        });
        let steps = self.steps(rules.steps)?;
        let curvature = match &self.insider {
            Insider::Loss(loss) => Some(self.calibrated_curvature(loss.as_ref(), noise, rules)?),
            Insider::Learner(_) => None,
        };
        let mut learner = self.learner(rules, steps, curvature)?;
        let timing = (rules.timing)(self.rounds - 1);
        if let Timing::Last(_) = timing {
            learner = Arc::new(self.averaged(learner));
        }
        let plan = PerturbRequest {
            learner,
            timing,
            weighting: self.weighting.unwrap_or(Weighting::Lipschitz),
            noise,
            adjacency: self.adjacency,
            participation: self.participation,
            budget: self.budget,
        }
        .plan()?;
        Ok(IterateRecipe {
            request: self,
            plan,
            curvature,
            steps,
        })
    }

    fn averaged(&self, learner: Arc<dyn StableLearner>) -> Average {
        let all = Average::of(learner.clone());
        if self.average == Averaged::All {
            return all;
        }
        let later = Average::of_later(learner, self.rounds / 2);
        let moves = |average: &Average| average.sensitivity(self.rounds - 1, self.adjacency);
        if moves(&later) < moves(&all) {
            later
        } else {
            all
        }
    }

    /// The recipe's own steps, or those asked for where it has a choice.
    fn steps(&self, rule: TakenSteps) -> Result<Steps, RecipeError> {
        let asked = self.steps.unwrap_or(match rule {
            TakenSteps::Gradients => Steps::Gradient(StepSize::Corrected),
            TakenSteps::Minimisations | TakenSteps::Any => Steps::Implicit,
        });
        let fits = match rule {
            TakenSteps::Minimisations => asked == Steps::Implicit,
            TakenSteps::Gradients => asked != Steps::Implicit,
            TakenSteps::Any => true,
        };
        if fits {
            Ok(asked)
        } else {
            Err(RecipeError::Unfit(format!(
                "{} takes other steps: pigd minimises, pgiga follows gradients, pocp, \
                 pocp-anytime and pol do either",
                self.recipe
            )))
        }
    }

    fn learner(
        &self,
        rules: IterateRules,
        steps: Steps,
        curvature: Option<Curvature>,
    ) -> Result<Arc<dyn StableLearner>, RecipeError> {
        let (loss, curvature) = match (&self.insider, curvature) {
            (Insider::Loss(loss), Some(curvature)) => (loss, curvature),
            (Insider::Learner(learner), _) if rules.steps == TakenSteps::Any => {
                if learner.dimension() != self.set.dimension() {
                    return Err(RecipeError::Dimensions {
                        loss: learner.dimension(),
                        set: self.set.dimension(),
                    });
                }
                return Ok(learner.clone());
            }
            _ => {
                return Err(RecipeError::Objective {
                    recipe: self.recipe,
                    wanted: "a loss that can be written out".to_owned(),
                });
            }
        };
        let explicit = loss
            .explicit()
            .ok_or_else(|| PerturbError::Loss(loss.name().to_owned()))?;
        let set = self.set.clone();
        Ok(match steps {
            Steps::Implicit => Arc::new(ImplicitDescent::new(explicit, set, curvature)?),
            Steps::Gradient(size) => {
                Arc::new(GradientDescent::new(explicit, set, curvature, size)?)
            }
        })
    }
}

impl IterateRecipe {
    /// The mechanism's plan.
    #[must_use]
    pub fn plan(&self) -> &PerturbPlan {
        &self.plan
    }

    /// T.
    #[must_use]
    pub fn rounds(&self) -> u64 {
        match self.plan.request().timing {
            Timing::Unknown => self.plan.most_steps() + 1,
            Timing::Every(_) | Timing::Last(_) => self.request.rounds,
        }
    }

    /// The parameters.
    #[must_use]
    pub fn request(&self) -> &IterateRequest {
        &self.request
    }

    /// The clock of the steps; a learner of its own has none.
    #[must_use]
    pub fn curvature(&self) -> Option<Curvature> {
        self.curvature
    }

    /// The steps on a loss.
    #[must_use]
    pub fn steps(&self) -> Steps {
        self.steps
    }

    /// The loss, if there is one to evaluate.
    #[must_use]
    pub fn loss(&self) -> Option<&dyn Loss> {
        match &self.request.insider {
            Insider::Loss(loss) => Some(loss.as_ref()),
            Insider::Learner(_) => None,
        }
    }

    /// Everything that makes two runs the same, in one line.
    #[must_use]
    pub fn description(&self) -> String {
        let request = self.plan.request();
        format!(
            "{} of {} on {:?}, {:?}, {:?}, {}, {:?}, {:?}",
            self.request.recipe,
            request.learner.describe(),
            self.request.set,
            request.timing,
            request.weighting,
            request.noise,
            request.adjacency,
            request.budget,
        )
    }
}
