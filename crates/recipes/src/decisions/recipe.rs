//! The calibrated recipe.
//!
//! **Features.** Curves of 8 knots, of 6 or of 4, if second moments of so many features rise above
//! their noise within the records that an arm can expect; otherwise linear ones. With p features
//! spread evenly, the matrix of n records has eigenvalues n·R²/p and noise of norm about s√(2p), so
//! that takes s√(2p)·p/R² records (as in `choose`).
//!
//! **Ridge** λ = s√p/(2√2), half the noise of a row of the matrix: as for `pqftl`.
//!
//! **γ.** The lemma of inverse gap weighting bounds the regret of a round by 2(K−1)/γ + (γ/4)e²,
//! e² the mean squared error of estimates: least at γ = √(8(K−1))/e. From public numbers, with n
//! records an arm, features spread evenly, rewards of variance at most ¼ and ‖θ‖ ≤ S:
//!
//! e² = (R²/p)·[nR²/4 + p·s²Y²/(κR)² + ((p+1)s²/2 + λ²)S²]/(nR²/p + λ)², at most ¼.
//!
//! The bracket is E‖ξ + e − (E + λ)θ‖²: ξ = Σφ·(reward − mean); e has p coordinates of deviation
//! sY/(κR); E has variance s² on the diagonal and s²/2 off it, so E‖Eθ‖² = s²‖θ‖²(p+1)/2. S = 1/R,
//! which lets a reward move over its whole range. γ is public: a wrong e costs reward, never
//! privacy. The best γ of a worst case explores too much; it is multiplied by `exploration`, 4 by
//! default.

use crate::catalogue::RecipeName;
use crate::error::RecipeError;
use crate::tables::Column;
use hushstream_account::{Adjacency, Budget, ParameterError};
use hushstream_learn::ArmsLeastSquares;
use hushstream_mechanism::decisions::{
    ContextMap, DecisionMap, Evaluated, Evaluation, Judged, Outcomes, Plain,
};
use hushstream_mechanism::sums::{Geometry, Noise, SumKind, SumPlan, SumRequest};
use hushstream_mechanism::{Axis, Participation, TableMap, TableShape};

/// Releases, if the batch is not stated.
const RELEASES: u64 = 256;
/// Records per batch for an unknown horizon.
const OPEN_BATCH: u64 = 256;
/// How much more γ is than the best for a worst case.
const EXPLORATION: f64 = 4.0;
/// The length of linear features, as a share of the longest.
const SHARE_OF_LENGTH: f64 = 0.6;

/// Policies to be evaluated.
#[derive(Debug, Clone, PartialEq)]
pub struct Judging {
    /// The policies, beside the one that plays.
    pub judged: Vec<Judged>,
    /// M, the greatest weight; by default 4K, or that of a log.
    pub most: Option<f64>,
    /// The share of μ² that evaluation takes.
    pub share: f64,
}

/// Parameters of private decisions; what is not stated is chosen from public numbers.
#[derive(Debug, Clone)]
pub struct DecisionsRequest {
    /// `igw` or `linucb-jdp`.
    pub recipe: RecipeName,
    /// The columns of a context.
    pub columns: Vec<Column>,
    /// K.
    pub arms: usize,
    /// How records tell about their decision.
    pub outcomes: Outcomes,
    /// Records, or how many are expected.
    pub rounds: u64,
    /// Whether `rounds` is only an expectation.
    pub horizon_unknown: bool,
    /// What may be spent.
    pub budget: Budget,
    /// The neighbouring relation.
    pub adjacency: Adjacency,
    /// Who contributes how often.
    pub participation: Participation,
    /// The sum.
    pub sum: Option<SumKind>,
    /// The noise.
    pub noise: Option<Noise>,
    /// Records per release.
    pub batch: Option<u64>,
    /// Knots of a number's curve; 0 for linear features.
    pub knots: Option<u32>,
    /// The length of linear features.
    pub length: Option<f64>,
    /// λ.
    pub ridge: Option<f64>,
    /// What γ is multiplied by.
    pub exploration: Option<f64>,
    /// What is evaluated; nothing if none.
    pub evaluation: Option<Judging>,
    /// Whether the first arm is always played, while the policy learns.
    pub first_arm: bool,
}

/// A recipe with everything fixed but the data.
#[derive(Debug, Clone)]
pub struct DecisionsRecipe {
    request: DecisionsRequest,
    map: DecisionMap,
    plan: SumPlan,
    batch: u64,
    ridge: f64,
    /// Rounds after which weights are computed again.
    every: u64,
}

impl DecisionsRequest {
    /// Calibrates the recipe.
    ///
    /// # Errors
    /// Everything that is out of range or does not fit, each with what is allowed.
    pub fn plan(self) -> Result<DecisionsRecipe, RecipeError> {
        if !matches!(self.recipe, RecipeName::Igw | RecipeName::LinucbJdp) {
            return Err(RecipeError::Unfit(format!(
                "{} does not decide",
                self.recipe
            )));
        }
        if self.columns.is_empty() {
            let allowed = "at least one column";
            return Err(ParameterError::new("columns of a context", 0.0, allowed).into());
        }
        let usual = if self.horizon_unknown {
            OPEN_BATCH
        } else {
            self.rounds.div_ceil(RELEASES)
        };
        let batch = self.batch.unwrap_or(usual);
        if batch == 0 || self.rounds < 2 || batch > self.rounds && !self.horizon_unknown {
            let allowed = "at least 2, and no fewer than a batch has";
            return Err(ParameterError::new("rounds", self.rounds as f64, allowed).into());
        }
        if let Some(exploration) = self.exploration
            && !(exploration > 0.0 && exploration.is_finite())
        {
            let allowed = "a positive finite number";
            return Err(ParameterError::new("exploration", exploration, allowed).into());
        }
        let (map, plan) = match self.knots {
            Some(0) => self.planned(self.linear()?, batch)?,
            Some(knots) => self.planned(self.curves(knots)?, batch)?,
            None => self.chosen(batch)?,
        };
        let p = map.context().features();
        let ridge = match self.ridge {
            Some(ridge) if ridge > 0.0 && ridge.is_finite() => ridge,
            Some(ridge) => {
                let allowed = "a positive finite number";
                return Err(ParameterError::new("ridge", ridge, allowed).into());
            }
            None if self.recipe == RecipeName::LinucbJdp => 1.0,
            None => plan.prefix_sd_max() * (p as f64).sqrt() / (2.0 * std::f64::consts::SQRT_2),
        };
        let mut recipe = DecisionsRecipe {
            every: match p {
                0..=32 => 1,
                33..=64 => 2,
                _ => 4,
            },
            request: self,
            map,
            plan,
            batch,
            ridge,
        };
        if recipe.request.recipe == RecipeName::LinucbJdp {
            recipe.ridge = recipe.optimism().0;
        }
        recipe.learner()?;
        Ok(recipe)
    }

    /// The first of the curves that records suffice for, or linear features.
    fn chosen(&self, batch: u64) -> Result<(DecisionMap, SumPlan), RecipeError> {
        let records = self.rounds as f64 / self.arms.max(1) as f64;
        for knots in [8, 6, 4] {
            let (map, plan) = self.planned(self.curves(knots)?, batch)?;
            let p = map.context().features() as f64;
            let needed = plan.prefix_sd_max() * (2.0 * p).sqrt() * p;
            if needed <= records && map.dimension() <= 1 << 22 {
                return Ok((map, plan));
            }
        }
        self.planned(self.linear()?, batch)
    }

    fn linear(&self) -> Result<ContextMap, RecipeError> {
        let plain = self.columns.iter().map(|column| match *column {
            Column::Number { .. } => Plain::Number,
            Column::Category(values) => Plain::Category(values),
        });
        let longest = (self.columns.len() as f64).sqrt();
        let length = self.length.unwrap_or(SHARE_OF_LENGTH * longest);
        Ok(ContextMap::linear(plain.collect(), length)?)
    }

    fn curves(&self, knots: u32) -> Result<ContextMap, RecipeError> {
        let axes = self.columns.iter().map(|column| match *column {
            Column::Number { .. } => Axis::Number { knots, log: None },
            Column::Category(values) => Axis::Category { values },
        });
        Ok(ContextMap::curves(TableMap::new(TableShape {
            axes: axes.collect(),
            tables: Vec::new(),
            bins: 1,
            share: 0.0,
            l1: false,
        })?)?)
    }

    fn planned(
        &self,
        context: ContextMap,
        batch: u64,
    ) -> Result<(DecisionMap, SumPlan), RecipeError> {
        let noise = match (self.noise, self.budget.is_pure()) {
            (Some(noise), _) => noise,
            (None, true) => Noise::L2Laplace,
            (None, false) => Noise::Gaussian,
        };
        let kind = match self.sum {
            Some(kind) => kind,
            None if self.horizon_unknown => SumKind::Octave,
            None if noise == Noise::Gaussian => SumKind::BLT,
            None => SumKind::Smooth,
        };
        self.recipe
            .accepts(kind, noise)
            .map_err(RecipeError::Unfit)?;
        let most = match self.outcomes {
            Outcomes::Log { most, .. } => most,
            _ => 4.0 * self.arms as f64,
        };
        let evaluation = self.evaluation.as_ref().map(|judging| Evaluation {
            judged: judging.judged.clone(),
            most: judging.most.unwrap_or(most),
            share: judging.share,
        });
        let map = DecisionMap::new(context, self.outcomes, self.arms, evaluation)?;
        let dimension = u32::try_from(map.dimension()).map_err(|_| {
            let allowed = "below 2^32: fewer columns, categories or arms";
            ParameterError::new("numbers of a release", map.dimension() as f64, allowed)
        })?;
        let plan = SumRequest {
            kind,
            noise,
            releases: (self.rounds / batch).max(1),
            dimension,
            bound: map.moments().bound(),
            geometry: map.geometry(self.adjacency),
            least_sigma: 0.0,
            batch,
            adjacency: self.adjacency,
            participation: self.participation,
            budget: self.budget,
        }
        .plan()?;
        Ok((map, plan))
    }
}

impl DecisionsRecipe {
    /// The sum's plan.
    #[must_use]
    pub fn plan(&self) -> &SumPlan {
        &self.plan
    }

    /// What the sum learns from.
    #[must_use]
    pub fn map(&self) -> &DecisionMap {
        &self.map
    }

    /// The parameters.
    #[must_use]
    pub fn request(&self) -> &DecisionsRequest {
        &self.request
    }

    /// Records per release.
    #[must_use]
    pub fn batch(&self) -> u64 {
        self.batch
    }

    /// λ.
    #[must_use]
    pub fn ridge(&self) -> f64 {
        self.ridge
    }

    /// Releases after which weights are computed again.
    #[must_use]
    pub fn every(&self) -> u64 {
        self.every
    }

    /// What γ is multiplied by.
    #[must_use]
    pub fn exploration(&self) -> f64 {
        self.request.exploration.unwrap_or(EXPLORATION)
    }

    /// The most records that a run takes in.
    #[must_use]
    pub fn rounds(&self) -> u64 {
        match self.plan.request().kind {
            kind if kind.needs_no_horizon() => self.plan.most_releases().saturating_mul(self.batch),
            _ => self.request.rounds,
        }
    }

    /// A fresh learner.
    ///
    /// # Errors
    /// None for a recipe that was planned; the numbers were checked.
    pub fn learner(&self) -> Result<ArmsLeastSquares, RecipeError> {
        self.learner_with(self.ridge)
    }

    pub(super) fn learner_with(&self, ridge: f64) -> Result<ArmsLeastSquares, RecipeError> {
        let moments = self.map.moments();
        let bounds = (
            moments.bounds().features(),
            moments.bounds().target_magnitude(),
        );
        let weight = moments.weight().squared().sqrt();
        let features = moments.features();
        let learner = ArmsLeastSquares::new(self.map.arms(), features, bounds, weight, ridge)?;
        Ok(learner.every(self.every)?)
    }

    /// e after so many releases with noise of deviation `s`.
    pub(super) fn error(&self, release: u64, s: f64, ridge: f64) -> f64 {
        let moments = self.map.moments();
        let (p, length) = (moments.features() as f64, moments.bounds().features());
        let (area, kappa) = (length * length, moments.weight().squared());
        let n = (release * self.batch) as f64 / self.map.arms() as f64;
        let size = 1.0 / area;
        let chance = n * area / 4.0;
        let targets = p * s * s * 0.25 / (kappa * area);
        let matrix = ((p + 1.0) * s * s / 2.0 + ridge * ridge) * size;
        let whole = (n * area / p + ridge).powi(2);
        (area / p * (chance + targets + matrix) / whole)
            .min(0.25)
            .sqrt()
    }

    /// γ of the policy after so many releases.
    #[must_use]
    pub fn gamma(&self, release: u64) -> f64 {
        self.gamma_with(release, self.deviation(release), self.ridge)
    }

    pub(super) fn gamma_with(&self, release: u64, s: f64, ridge: f64) -> f64 {
        let arms = self.map.arms() as f64;
        self.exploration() * (8.0 * (arms - 1.0)).sqrt() / self.error(release, s, ridge)
    }

    /// The deviation of a coordinate of a release.
    #[must_use]
    pub fn deviation(&self, release: u64) -> f64 {
        match release {
            0 => 0.0,
            release => self.plan.prefix_sd(release.min(self.plan.most_releases())),
        }
    }

    /// The scale of the evaluation in the sums.
    #[must_use]
    pub fn evaluated(&self) -> Option<Evaluated> {
        match self.plan.request().geometry {
            Geometry::Decisions { evaluated, .. } if evaluated != Evaluated::NOTHING => {
                Some(evaluated)
            }
            _ => None,
        }
    }

    /// Everything that makes two runs the same, in one line.
    #[must_use]
    pub fn description(&self) -> String {
        format!(
            "{} of {} arms, {:?}, {:?}, {:?}, ridge {:e}, every {}, exploration {:e}, first arm \
             {}, T = {}, {:?}",
            self.request.recipe,
            self.map.arms(),
            self.map.context(),
            self.request.outcomes,
            self.map.evaluation(),
            self.ridge,
            self.every,
            self.exploration(),
            self.request.first_arm,
            self.request.rounds,
            self.plan.request()
        )
    }
}
