//! A recipe: mechanism × learner × calibration, planned from public numbers alone.

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
        if !matches!(self.recipe.entry().mechanism, MechanismKind::Sum(_)) {
            return Err(RecipeError::Unfit(format!(
                "{} does not learn from gradients in sums: it stands on {}",
                self.recipe,
                self.recipe.entry().mechanism
            )));
        }
        let noise = self.noise.unwrap_or_else(|| self.default_noise());
        let sum = self.sum.unwrap_or_else(|| self.default_sum());
        self.recipe
            .accepts(sum, noise)
            .map_err(RecipeError::Unfit)?;
        let ask = self.ask()?;
        if let Ask::Gradient(loss) = &ask
            && loss.dimension() != self.set.dimension()
        {
            return Err(RecipeError::Dimensions {
                loss: loss.dimension(),
                set: self.set.dimension(),
            });
        }
        let plan = self.sum_request(sum, noise, &ask)?.plan()?;
        let mut recipe = Recipe {
            curvature: 0.0,
            learning_rate: 0.0,
            ridge: 0.0,
            plan,
            ask,
            request: self,
        };
        recipe.curvature = recipe.calibrated_curvature()?;
        recipe.learning_rate = recipe.calibrated_rate()?;
        recipe.learner()?;
        Ok(recipe)
    }

    fn default_noise(&self) -> Noise {
        match self.recipe {
            _ if !self.budget.is_pure() => Noise::Gaussian,
            RecipeName::Ftrl => Noise::Laplace,
            _ => Noise::L2Laplace,
        }
    }

    fn default_sum(&self) -> SumKind {
        match self.recipe.entry().mechanism {
            MechanismKind::Sum(SumKind::Window(_)) => SumKind::Window(self.window.unwrap_or(0)),
            MechanismKind::Sum(other) => other,
            // Refused before a sum is made.
            _ => SumKind::Tree,
        }
    }

    fn ask(&self) -> Result<Ask, RecipeError> {
        let wrong = |wanted| {
            Err(RecipeError::Objective {
                recipe: self.recipe,
                wanted,
            })
        };
        match (self.recipe, &self.objective) {
            (RecipeName::Pqftl, Objective::LeastSquares(moments)) => {
                Ok(Ask::Moments(moments.clone()))
            }
            (RecipeName::Pqftl, _) => wrong("second moments (least squares)"),
            (_, Objective::LeastSquares(_)) => wrong("gradients"),
            (RecipeName::Ftrl | RecipeName::Ftpl, Objective::Convex(_)) => wrong("linear losses"),
            (_, Objective::Linear(loss)) => Ok(Ask::Gradient(Arc::new(loss.clone()))),
            (_, Objective::Convex(loss)) => Ok(Ask::Gradient(loss.clone())),
        }
    }

    /// The mechanism's part.
    fn sum_request(
        &self,
        kind: SumKind,
        noise: Noise,
        ask: &Ask,
    ) -> Result<SumRequest, RecipeError> {
        let (dimension, l2, geometry) = match ask {
            Ask::Gradient(loss) => (loss.dimension(), loss.lipschitz(), Geometry::Ball),
            Ask::Moments(moments) => {
                let geometry = Geometry::Moments(moments.weight());
                (moments.dimension(), moments.bound(), geometry)
            }
        };
        let bound = match (&self.objective, noise) {
            (Objective::Linear(loss), Noise::Laplace) => loss.l1_bound(),
            (_, Noise::Laplace) => (dimension as f64).sqrt() * l2,
            _ => l2,
        };
        let items = self.rounds.div_ceil(self.batch.max(1));
        let least_sigma = match self.recipe {
            // AS17's first branch: noise for the regret, whatever privacy needs.
            RecipeName::Ftpl => {
                let n = dimension as f64;
                let t = items as f64;
                self.batch as f64 * l2 * (t / (n.sqrt() * t.ln().max(1.0))).sqrt()
            }
            _ => 0.0,
        };
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
            SumKind::Octave => (self.plan.most_releases() + 1).saturating_mul(self.request.batch),
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
                wanted: "gradients, and has no matrix to add a ridge to",
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

    /// Everything that makes two runs the same, in one line: stored with a run and compared when it
    /// is resumed.
    #[must_use]
    pub fn description(&self) -> String {
        let request = &self.request;
        let ask = match &self.ask {
            Ask::Gradient(loss) => loss.describe(),
            Ask::Moments(moments) => format!("{moments:?}"),
        };
        format!(
            "{} of {ask} on {:?}, T = {}, curvature {:e}, rate {:e}, ridge {:e}, tuned {}, {:?}",
            request.recipe,
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
