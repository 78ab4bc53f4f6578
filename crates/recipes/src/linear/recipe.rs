//! A recipe: mechanism × learner × calibration, planned from public numbers alone.

use super::rules::{LearnsFrom, OnSums};
use crate::catalogue::{MechanismKind, RecipeName};
use crate::error::RecipeError;
use hushstream_account::{Adjacency, Budget, Guarantee, GuaranteeError, ParameterError};
use hushstream_mechanism::losses::{LinearLoss, Loss};
use hushstream_mechanism::sums::{Geometry, Noise, SumKind, SumPlan, SumRequest};
use hushstream_mechanism::{Moments, Participation};
use hushstream_sets::ConvexSet;
use std::sync::Arc;

/// The learning problem.
#[derive(Clone)]
pub enum Objective {
    /// A convex loss of the weights.
    Convex(Arc<dyn Loss>),
    /// Linear losses: the record is the loss vector.
    Linear(LinearLoss),
    /// Ridge regression on second moments.
    LeastSquares(Moments),
}

/// What a record is asked for.
#[derive(Clone)]
pub enum Ask {
    /// The gradient at the iterate.
    Gradient(Arc<dyn Loss>),
    /// Its second moments.
    Moments(Moments),
}

impl Ask {
    fn dimension(&self) -> usize {
        match self {
            Self::Gradient(loss) => loss.dimension(),
            Self::Moments(moments) => moments.dimension(),
        }
    }

    /// The largest length of an answer, and its shape.
    fn bound(&self) -> (f64, Geometry) {
        match self {
            Self::Gradient(loss) => (loss.lipschitz(), Geometry::Ball),
            Self::Moments(moments) => (moments.bound(), Geometry::Moments(moments.weight())),
        }
    }

    fn describe(&self) -> String {
        match self {
            Self::Gradient(loss) => loss.describe(),
            Self::Moments(moments) => format!("{moments:?}"),
        }
    }
}

/// Parameters of a recipe on continual sums.
#[derive(Clone)]
pub struct RecipeRequest {
    /// Which recipe.
    pub recipe: RecipeName,
    /// The learning problem.
    pub objective: Objective,
    /// Where the weights live. Least squares has its own ball.
    pub set: Arc<dyn ConvexSet>,
    /// Records, T. For an unknown horizon: how many are expected.
    pub rounds: u64,
    /// Records summed into one item.
    pub batch: u64,
    /// What may be spent.
    pub budget: Budget,
    /// The neighbouring relation.
    pub adjacency: Adjacency,
    /// Who contributes how often.
    pub participation: Participation,
    /// The sum; the paper's own if none is named.
    pub sum: Option<SumKind>,
    /// The noise; Gaussian for δ > 0 and the paper's pure noise for δ = 0, if none is named.
    pub noise: Option<Noise>,
    /// Items for which the window recipes protect a record, if no sum is named.
    pub window: Option<u64>,
    /// Curvature H (`pftal`, `coco`), regularisation H (`pftal-convex`) or α (`pqftl`), if not the
    /// calibrated one.
    pub curvature: Option<f64>,
    /// Learning rate η of `ftrl`, if not the calibrated one.
    pub learning_rate: Option<f64>,
    /// `coco-l` with tuned constants instead of the stated ones.
    pub tuned: bool,
}

/// A recipe with everything fixed but the data.
#[derive(Clone)]
pub struct Recipe {
    pub(crate) rules: &'static dyn OnSums,
    pub(crate) request: RecipeRequest,
    pub(crate) plan: SumPlan,
    pub(crate) ask: Ask,
    pub(crate) curvature: f64,
    pub(crate) learning_rate: f64,
    pub(crate) ridge: f64,
}

impl RecipeRequest {
    /// Calibrates the recipe.
    ///
    /// # Errors
    /// Everything that is out of range or does not fit, each with what is allowed.
    pub fn plan(self) -> Result<Recipe, RecipeError> {
        let items = self.rounds.div_ceil(self.batch.max(1));
        if items < 2 {
            return Err(ParameterError::new(
                "rounds",
                self.rounds as f64,
                "at least two items (of a batch of records each): \
                 nothing is released after the last",
            )
            .into());
        }
        let (Some(rules), MechanismKind::Sum(own)) =
            (self.recipe.on_sums(), self.recipe.entry().mechanism)
        else {
            return Err(RecipeError::not_on_sums(self.recipe));
        };
        let noise = self.noise.unwrap_or(if self.budget.is_pure() {
            rules.pure_noise()
        } else {
            Noise::Gaussian
        });
        let sum = self.sum.unwrap_or(match own {
            SumKind::Window(_) => SumKind::Window(self.window.unwrap_or(0)),
            other => other,
        });
        self.recipe
            .accepts(sum, noise)
            .map_err(RecipeError::Unfit)?;
        let ask = self.ask(rules)?;
        if let Ask::Gradient(loss) = &ask
            && loss.dimension() != self.set.dimension()
        {
            return Err(RecipeError::Dimensions {
                loss: loss.dimension(),
                set: self.set.dimension(),
            });
        }
        let plan = self.sum_request(sum, noise, &ask, rules)?.plan()?;
        let mut recipe = Recipe {
            rules,
            curvature: 0.0,
            learning_rate: 0.0,
            ridge: 0.0,
            plan,
            ask,
            request: self,
        };
        recipe.curvature = match recipe.request.curvature {
            Some(given) => positive("curvature", given)?,
            None => rules.curvature(&recipe)?,
        };
        recipe.learning_rate = match recipe.request.learning_rate {
            Some(given) => positive("learning rate", given)?,
            None => rules.rate(&recipe)?,
        };
        recipe.learner()?;
        Ok(recipe)
    }

    fn ask(&self, rules: &dyn OnSums) -> Result<Ask, RecipeError> {
        match (rules.learns_from(), &self.objective) {
            (LearnsFrom::Moments, Objective::LeastSquares(moments)) => {
                Ok(Ask::Moments(moments.clone()))
            }
            (LearnsFrom::Gradients | LearnsFrom::LinearLosses, Objective::Linear(loss)) => {
                Ok(Ask::Gradient(Arc::new(loss.clone())))
            }
            (LearnsFrom::Gradients, Objective::Convex(loss)) => Ok(Ask::Gradient(loss.clone())),
            (wanted, _) => Err(RecipeError::Objective {
                recipe: self.recipe,
                wanted: wanted.to_string(),
            }),
        }
    }

    /// The mechanism's part.
    fn sum_request(
        &self,
        kind: SumKind,
        noise: Noise,
        ask: &Ask,
        rules: &dyn OnSums,
    ) -> Result<SumRequest, RecipeError> {
        let (dimension, (l2, geometry)) = (ask.dimension(), ask.bound());
        let bound = match (&self.objective, noise) {
            (Objective::Linear(loss), Noise::Laplace) => loss.l1_bound(),
            (_, Noise::Laplace) => (dimension as f64).sqrt() * l2,
            _ => l2,
        };
        let items = self.rounds.div_ceil(self.batch.max(1));
        let least_sigma = rules.least_sigma(self.batch as f64 * l2, dimension, items);
        let dimension = u32::try_from(dimension)
            .map_err(|_| ParameterError::new("dimension", dimension as f64, "below 2^32"))?;
        Ok(SumRequest {
            kind,
            noise,
            releases: items.saturating_sub(1).max(1),
            dimension,
            bound,
            geometry,
            least_sigma,
            batch: self.batch,
            adjacency: self.adjacency,
            participation: self.participation,
            budget: self.budget,
        })
    }
}

impl Recipe {
    /// The mechanism's plan.
    #[must_use]
    pub fn plan(&self) -> &SumPlan {
        &self.plan
    }

    /// T.
    #[must_use]
    pub fn rounds(&self) -> u64 {
        match self.plan.request().kind {
            kind if kind.needs_no_horizon() => {
                (self.plan.most_releases() + 1).saturating_mul(self.request.batch)
            }
            _ => self.request.rounds,
        }
    }

    /// The parameters.
    #[must_use]
    pub fn request(&self) -> &RecipeRequest {
        &self.request
    }

    /// The guarantee of a run.
    ///
    /// # Errors
    /// Never for a recipe that exists; the numbers were checked.
    pub fn guarantee(&self, simulated: bool) -> Result<Guarantee, GuaranteeError> {
        let entry = self.request.recipe.entry();
        let guarantee = self.plan.guarantee(simulated)?;
        Ok(guarantee.of_algorithm(entry.name, entry.source, entry.errata))
    }

    /// H, or α for least squares.
    #[must_use]
    pub fn curvature(&self) -> f64 {
        self.curvature
    }

    /// η.
    #[must_use]
    pub fn learning_rate(&self) -> f64 {
        self.learning_rate
    }

    /// λ, added to the matrix of least squares.
    #[must_use]
    pub fn ridge(&self) -> f64 {
        self.ridge
    }

    /// The same with λ·I added to the matrix of least squares in every round. A good λ is about
    /// half the operator norm of the matrix's noise, [`Recipe::matrix_noise`].
    ///
    /// # Errors
    /// A recipe without a matrix; a λ that is negative or not finite.
    pub fn with_ridge(mut self, ridge: f64) -> Result<Self, RecipeError> {
        if !matches!(self.ask, Ask::Moments(_)) {
            return Err(RecipeError::Objective {
                recipe: self.request.recipe,
                wanted: "gradients, and has no matrix to add a ridge to".to_owned(),
            });
        }
        self.ridge = ridge;
        self.learner()?;
        Ok(self)
    }

    /// Operator norm of the noise in the worst matrix of second moments, about: symmetric noise of
    /// standard deviation σ on the diagonal and σ/√2 beside it has norm close to σ√(2p).
    #[must_use]
    pub fn matrix_noise(&self) -> Option<f64> {
        match &self.ask {
            Ask::Moments(moments) => {
                Some(self.plan.prefix_sd_max() * (2.0 * moments.features() as f64).sqrt())
            }
            Ask::Gradient(_) => None,
        }
    }

    /// What a record is asked for.
    #[must_use]
    pub fn ask(&self) -> &Ask {
        &self.ask
    }

    /// What every item's gradients lack in every coordinate: public, and added back to the sums.
    pub(crate) fn offset(&self) -> f64 {
        match &self.ask {
            Ask::Gradient(loss) => loss.offset() * self.request.batch as f64,
            Ask::Moments(_) => 0.0,
        }
    }

    /// The loss, if there is one to evaluate.
    #[must_use]
    pub fn loss(&self) -> Option<&dyn Loss> {
        match &self.ask {
            Ask::Gradient(loss) => Some(loss.as_ref()),
            Ask::Moments(_) => None,
        }
    }

    /// The loss whose gradients are asked for.
    pub(crate) fn gradient(&self) -> Result<&dyn Loss, RecipeError> {
        self.loss().ok_or_else(|| RecipeError::Objective {
            recipe: self.request.recipe,
            wanted: LearnsFrom::Gradients.to_string(),
        })
    }

    /// The second moments that are asked for.
    pub(crate) fn moments(&self) -> Result<&Moments, RecipeError> {
        match &self.ask {
            Ask::Moments(moments) => Ok(moments),
            Ask::Gradient(_) => Err(RecipeError::Objective {
                recipe: self.request.recipe,
                wanted: LearnsFrom::Moments.to_string(),
            }),
        }
    }

    /// Everything that makes two runs the same, in one line: stored with a run and compared when it
    /// is resumed.
    #[must_use]
    pub fn description(&self) -> String {
        let request = &self.request;
        format!(
            "{} of {} on {:?}, T = {}, curvature {:e}, rate {:e}, ridge {:e}, tuned {}, {:?}",
            request.recipe,
            self.ask.describe(),
            request.set,
            request.rounds,
            self.curvature,
            self.learning_rate,
            self.ridge,
            request.tuned,
            self.plan.request()
        )
    }
}

fn positive(parameter: &'static str, given: f64) -> Result<f64, RecipeError> {
    if given > 0.0 && given.is_finite() {
        Ok(given)
    } else {
        Err(ParameterError::new(parameter, given, "a positive finite number").into())
    }
}
