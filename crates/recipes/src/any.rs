//! One way to every recipe: the same public words (objective, set, horizon, budget) plan any of
//! them, and a plan of any of them tells its price, its guarantee and its certified regret.
//!
//! What a family does not need it does not read. Selections and bandits take linear losses: on the
//! simplex their choices are its corners, elsewhere the set's vertices or its points. A recipe that
//! cannot serve an objective says why.

use crate::bandits::{Actions, BanditRecipe, BanditRequest, Plays};
use crate::catalogue::{MechanismKind, RecipeName, Rules};
use crate::error::RecipeError;
use crate::experts::{Advice, ExpertsRecipe, ExpertsRequest};
use crate::iterates::{Averaged, Insider, IterateRecipe, IterateRequest};
use crate::limited_updates::{LimitedUpdates, LimitedUpdatesRequest};
use crate::linear::{Holds, NOT_ALL, Objective, Recipe, RecipeRequest, RegretBound};
use crate::sparse::{SparseRecipe, SparseRequest};
use crate::values::{ValuesRecipe, ValuesRequest};
use hushstream_account::{Adjacency, Budget, Guarantee, Price};
use hushstream_mechanism::feedback::{FeedbackNoise, Range};
use hushstream_mechanism::losses::{LinearLoss, Loss, LossSet};
use hushstream_mechanism::sums::{Noise, SumKind, SumPlan};
use hushstream_mechanism::{Participation, Scope};
use hushstream_sets::{Capability, ConvexSet};
use std::sync::Arc;

/// What is public about a run of any recipe.
#[derive(Clone)]
pub struct AnyRequest {
    /// Which recipe.
    pub recipe: RecipeName,
    /// The learning problem.
    pub objective: Objective,
    /// Where plays live.
    pub set: Arc<dyn ConvexSet>,
    /// Where the values of a loss lie on the set, for recipes that see values alone; if nothing is
    /// stated, linear losses have their own range, and others go from 0 to slope times diameter.
    pub values: Option<Range>,
    /// T.
    pub rounds: u64,
    /// Records an item; the recipe's own if none.
    pub batch: Option<u64>,
    /// Rounds after which a selection or a bandit begins anew, for streams that drift.
    pub restart: Option<u64>,
    /// What may be spent.
    pub budget: Budget,
    /// The neighbouring relation.
    pub adjacency: Adjacency,
    /// Who contributes how often.
    pub participation: Participation,
    /// The sum; the paper's own if none.
    pub sum: Option<SumKind>,
    /// The noise; by the budget if none.
    pub noise: Option<Noise>,
    /// Items for which a window recipe protects a record; the whole run if none.
    pub window: Option<u64>,
    /// Curvature, if not the calibrated one.
    pub curvature: Option<f64>,
    /// Learning rate, if not the calibrated one.
    pub learning_rate: Option<f64>,
    /// `coco-l` with tuned constants.
    pub tuned: bool,
}

/// A recipe of any family, calibrated.
#[derive(Clone)]
pub enum AnyRecipe {
    /// On continual sums.
    Sum(Recipe),
    /// A selection.
    Experts(ExpertsRecipe),
    /// On scalar feedback.
    Bandit(BanditRecipe),
    /// On function values.
    Values(ValuesRecipe),
    /// A batch solver, at powers of two, for this many rounds.
    Updates(LimitedUpdates, u64),
    /// On perturbed iterates.
    Iterate(IterateRecipe),
    /// On hashed features.
    Sparse(SparseRecipe),
}

impl AnyRequest {
    /// Calibrates the recipe.
    ///
    /// # Errors
    /// Everything that is out of range or does not fit, each with what is allowed.
    pub fn plan(self) -> Result<AnyRecipe, RecipeError> {
        let kind = self.recipe.entry().mechanism;
        if kind == MechanismKind::SparseTree && self.participation != Participation::OncePerRecord {
            return self.unfit("it protects records, not persons");
        }
        if self.restart.is_some()
            && !matches!(kind, MechanismKind::Selection | MechanismKind::Feedback)
        {
            return self.unfit(
                "it does not begin anew: dartboard, dartboard-batched, hedge-batched, cover, exp2, \
                 exp2-batched and scrible do",
            );
        }
        if self.sum.is_some() && !matches!(kind, MechanismKind::Sum(_) | MechanismKind::Values(_)) {
            return self.unfit("it does not stand on sums, and has none to choose");
        }
        match kind {
            MechanismKind::Sum(_) if self.recipe == RecipeName::Tables => self.unfit(
                "it learns curves and cells of a table's columns, not a point of a set: see \
                 `learn` and `plan --schema`",
            ),
            MechanismKind::Sum(_) => Ok(AnyRecipe::Sum(self.on_sums()?)),
            MechanismKind::Selection => Ok(AnyRecipe::Experts(self.selection()?)),
            MechanismKind::Batch if self.is_of_experts() => {
                Ok(AnyRecipe::Experts(self.selection()?))
            }
            MechanismKind::Batch => {
                self.no_batch()?;
                let (loss, rounds) = (self.convex()?, self.rounds);
                let planned = LimitedUpdatesRequest {
                    loss,
                    set: self.set,
                    budget: self.budget,
                    adjacency: self.adjacency,
                    participation: self.participation,
                };
                Ok(AnyRecipe::Updates(planned.plan()?, rounds))
            }
            MechanismKind::Feedback => Ok(AnyRecipe::Bandit(self.bandit()?)),
            MechanismKind::Values(_) => Ok(AnyRecipe::Values(self.of_values()?)),
            MechanismKind::Iterate => Ok(AnyRecipe::Iterate(self.iterates()?)),
            MechanismKind::SparseTree => Ok(AnyRecipe::Sparse(self.hashed()?)),
        }
    }

    fn unfit<T>(&self, reason: &str) -> Result<T, RecipeError> {
        Err(RecipeError::Unfit(format!("{}: {reason}", self.recipe)))
    }

    fn no_batch(&self) -> Result<(), RecipeError> {
        if self.batch.is_some_and(|batch| batch != 1) {
            return self.unfit("it has no batches to choose");
        }
        Ok(())
    }

    /// Whether choices are the corners of a simplex.
    fn is_of_experts(&self) -> bool {
        matches!(self.objective, Objective::Linear(_)) && self.set.name() == "simplex"
    }

    fn convex(&self) -> Result<Arc<dyn Loss>, RecipeError> {
        match &self.objective {
            Objective::Convex(loss) => Ok(loss.clone()),
            Objective::Linear(loss) => Ok(Arc::new(loss.clone())),
            Objective::LeastSquares(_) => self.unfit("it learns from a loss, not from moments"),
        }
    }

    fn linear(&self) -> Result<&LinearLoss, RecipeError> {
        match &self.objective {
            Objective::Linear(loss) => Ok(loss),
            _ => self.unfit("it plays linear losses only"),
        }
    }

    fn on_sums(self) -> Result<Recipe, RecipeError> {
        let batch = self.batch.unwrap_or(1);
        RecipeRequest {
            recipe: self.recipe,
            objective: self.objective,
            set: self.set,
            rounds: self.rounds,
            batch,
            budget: self.budget,
            adjacency: self.adjacency,
            participation: self.participation,
            sum: self.sum,
            noise: self.noise,
            window: self.window.or(Some(self.rounds.div_ceil(batch.max(1)))),
            curvature: self.curvature,
            learning_rate: self.learning_rate,
            tuned: self.tuned,
        }
        .plan()
    }

    fn selection(self) -> Result<ExpertsRecipe, RecipeError> {
        if self.noise.is_some() {
            return self.unfit("it draws choices and adds no noise");
        }
        let advice = if self.recipe.plays_on_points() {
            Advice::Net {
                loss: self.convex()?,
                set: self.set.clone(),
                radius: None,
            }
        } else if self.is_of_experts() {
            let experts = u32::try_from(self.set.dimension());
            Advice::Experts(experts.map_err(|_| RecipeError::Unfit("too many experts".into()))?)
        } else {
            return self.unfit("it chooses among experts: linear losses on the simplex");
        };
        if matches!(advice, Advice::Experts(_)) && !matches!(self.linear()?.set(), LossSet::Box(..))
        {
            return self.unfit("losses of experts lie between two bounds");
        }
        ExpertsRequest {
            recipe: self.recipe,
            advice,
            rounds: Some(self.rounds),
            restart: self.restart,
            batch: self.batch,
            board: None,
            budget: self.budget,
            adjacency: self.adjacency,
            participation: self.participation,
        }
        .plan()
    }

    fn bandit(self) -> Result<BanditRecipe, RecipeError> {
        let noise = match self.noise {
            None => None,
            Some(Noise::Laplace) => Some(FeedbackNoise::Laplace),
            Some(Noise::Gaussian) => Some(FeedbackNoise::Gaussian),
            Some(other) => {
                let reason = format!(
                    "{other} noise is for vectors, and an answer is one number: use laplace"
                );
                return self.unfit(&reason);
            }
        };
        let losses = self.linear()?;
        let Rules::Bandit(rules) = self.recipe.entry().rules else {
            return self.unfit("it is not a bandit");
        };
        let actions = match rules.plays {
            Plays::Set => Actions::Set(self.set.clone()),
            Plays::Choices if self.is_of_experts() => Actions::Arms(self.set.dimension()),
            Plays::Choices if self.set.can(Capability::Vertices) => {
                Actions::Points(self.set.vertices()?)
            }
            Plays::Choices => {
                return self.unfit("it plays arms or the vertices of a polytope: use scrible");
            }
        };
        let range = range(losses, self.set.as_ref())?;
        BanditRequest {
            recipe: self.recipe,
            actions,
            range,
            reading: None,
            rounds: Some(self.rounds),
            restart: self.restart,
            batch: self.batch,
            noise,
            budget: self.budget,
            adjacency: self.adjacency,
            participation: self.participation,
        }
        .plan()
    }

    fn of_values(self) -> Result<ValuesRecipe, RecipeError> {
        self.no_batch()?;
        let loss = self.convex()?;
        let range = match (self.values, &self.objective) {
            (Some(range), _) => range,
            (None, Objective::Linear(losses)) => range(losses, self.set.as_ref())?,
            (None, _) => Range::ZeroTo(loss.lipschitz() * self.set.diameter()),
        };
        ValuesRequest {
            loss,
            set: self.set,
            range,
            rounds: self.rounds,
            adaptive: false,
            curvature: self.curvature,
            radius: None,
            sum: self.sum,
            noise: self.noise,
            budget: self.budget,
            adjacency: self.adjacency,
            participation: self.participation,
        }
        .plan()
    }

    fn iterates(self) -> Result<IterateRecipe, RecipeError> {
        self.no_batch()?;
        IterateRequest {
            recipe: self.recipe,
            insider: Insider::Loss(self.convex()?),
            set: self.set,
            rounds: self.rounds,
            budget: self.budget,
            adjacency: self.adjacency,
            participation: self.participation,
            noise: self.noise,
            curvature: self.curvature,
            steps: None,
            weighting: None,
            average: Averaged::All,
        }
        .plan()
    }

    fn hashed(self) -> Result<SparseRecipe, RecipeError> {
        self.no_batch()?;
        if self.noise.is_some_and(|noise| noise != Noise::Gaussian) {
            return self.unfit("its noise is Gaussian");
        }
        let loss = self.convex()?;
        let Some((link, bounds)) = loss.model() else {
            return self.unfit("it learns a linear model of one of two classes or a number");
        };
        SparseRequest {
            features: u32::try_from(self.set.dimension())
                .map_err(|_| RecipeError::Unfit("too many features".into()))?,
            bounds,
            link,
            rounds: self.rounds,
            budget: self.budget,
            adjacency: self.adjacency,
            rate: self.learning_rate,
        }
        .plan()
    }
}

/// Where ⟨l, x⟩ lies on a set. A mixture of losses in [0, 1] is in [0, 1].
fn range(losses: &LinearLoss, set: &dyn ConvexSet) -> Result<Range, RecipeError> {
    match losses.set() {
        LossSet::Box(low, high) if low.total_cmp(&0.0).is_eq() && set.name() == "simplex" => {
            Ok(Range::ZeroTo(high))
        }
        _ => Ok(Range::Symmetric(largest_value(losses, set)?)),
    }
}

/// The largest |⟨l, x⟩| on a set, or a little more.
fn largest_value(losses: &LinearLoss, set: &dyn ConvexSet) -> Result<f64, RecipeError> {
    let l2 = set.largest_norm();
    let d = set.dimension();
    let mut coordinate = 0.0_f64;
    if set.can(Capability::Minimise) && d <= 4096 {
        let mut point = vec![0.0; d];
        for axis in 0..2 * d {
            let mut direction = vec![0.0; d];
            direction[axis / 2] = if axis % 2 == 0 { 1.0 } else { -1.0 };
            set.minimise(&direction, &mut point)?;
            coordinate = coordinate.max(point[axis / 2].abs());
        }
    } else {
        coordinate = l2;
    }
    let l1 = match set.name() {
        "simplex" => 1.0,
        _ => (d as f64).sqrt() * l2,
    };
    Ok(losses.largest_value([l2, l1, coordinate.min(l2)]))
}

impl AnyRecipe {
    /// Its name.
    #[must_use]
    pub fn recipe(&self) -> RecipeName {
        match self {
            Self::Sum(recipe) => recipe.request().recipe,
            Self::Experts(recipe) => recipe.request().recipe,
            Self::Bandit(recipe) => recipe.request().recipe,
            Self::Values(_) => RecipeName::PftalBandit,
            Self::Updates(..) => RecipeName::LimitedUpdates,
            Self::Iterate(recipe) => recipe.request().recipe,
            Self::Sparse(_) => RecipeName::SparseFtrl,
        }
    }

    /// The price of a run, and its scope.
    ///
    /// # Errors
    /// Never for a recipe that was planned; the numbers were checked.
    pub fn price(&self) -> Result<(Price, Scope), RecipeError> {
        let sum = |plan: &SumPlan| Ok((plan.charge()?, plan.scope()));
        match self {
            Self::Sum(recipe) => sum(recipe.plan()),
            Self::Values(recipe) => sum(recipe.plan()),
            Self::Sparse(recipe) => sum(recipe.plan()),
            Self::Experts(recipe) => Ok((recipe.plan().charge()?, recipe.plan().scope())),
            Self::Bandit(recipe) => Ok((recipe.plan().charge()?, recipe.plan().scope())),
            Self::Updates(recipe, _) => Ok((recipe.plan().charge()?, recipe.plan().scope())),
            Self::Iterate(recipe) => Ok((recipe.plan().charge()?, recipe.plan().scope())),
        }
    }

    /// The guarantee of a run.
    ///
    /// # Errors
    /// Never for a recipe that was planned; the numbers were checked.
    pub fn guarantee(&self, simulated: bool) -> Result<Guarantee, RecipeError> {
        let entry = self.recipe().entry();
        let own = match self {
            Self::Sum(recipe) => return Ok(recipe.guarantee(simulated)?),
            Self::Sparse(recipe) => return Ok(recipe.guarantee(simulated)?),
            Self::Values(recipe) => recipe.plan().guarantee(simulated)?,
            Self::Experts(recipe) => recipe.plan().guarantee(simulated)?,
            Self::Bandit(recipe) => recipe.plan().guarantee(simulated)?,
            Self::Updates(recipe, rounds) => {
                recipe.plan().guarantee(simulated)?.over_records(*rounds)
            }
            Self::Iterate(recipe) => recipe
                .plan()
                .guarantee(simulated)?
                .over_records(recipe.request().rounds),
        };
        Ok(own.of_algorithm(entry.name, entry.source, entry.errata))
    }

    /// T.
    #[must_use]
    pub fn rounds(&self) -> u64 {
        match self {
            Self::Sum(recipe) => recipe.request().rounds,
            Self::Experts(recipe) => recipe.rounds(),
            Self::Bandit(recipe) => recipe.request().rounds.unwrap_or(u64::MAX),
            Self::Values(recipe) => recipe.request().rounds,
            Self::Updates(_, rounds) => *rounds,
            Self::Iterate(recipe) => recipe.request().rounds,
            Self::Sparse(recipe) => recipe.request().rounds,
        }
    }

    /// Rounds between two moves.
    #[must_use]
    pub fn batch(&self) -> u64 {
        match self {
            Self::Sum(recipe) => recipe.request().batch,
            Self::Experts(recipe) => recipe.plan().batch(),
            Self::Bandit(recipe) => recipe.batch(),
            _ => 1,
        }
    }

    /// How often something is released.
    #[must_use]
    pub fn releases(&self) -> u64 {
        match self {
            Self::Sum(recipe) => recipe.plan().request().releases,
            Self::Experts(recipe) if recipe.plan().board().is_some() => recipe.plan().most_items(),
            Self::Experts(_) | Self::Updates(..) => u64::from((self.rounds() + 1).ilog2()),
            Self::Bandit(recipe) => self.rounds() / recipe.batch(),
            Self::Values(recipe) => recipe.plan().request().releases,
            Self::Iterate(recipe) => recipe.plan().releases(),
            Self::Sparse(recipe) => recipe.plan().request().releases,
        }
    }

    /// The law of the noise, and the standard deviation of one number of the worst release (of the
    /// last one, for iterates and solvers); nothing where choices are drawn.
    #[must_use]
    pub fn noise(&self) -> Option<(String, f64)> {
        let sum = |plan: &SumPlan| Some((plan.request().noise.to_string(), plan.prefix_sd_max()));
        match self {
            Self::Sum(recipe) => sum(recipe.plan()),
            Self::Values(recipe) => sum(recipe.plan()),
            Self::Sparse(recipe) => sum(recipe.plan()),
            Self::Experts(_) => None,
            Self::Bandit(recipe) => {
                let law = match recipe.plan().noise() {
                    FeedbackNoise::Laplace => "laplace",
                    FeedbackNoise::Gaussian => "gaussian",
                };
                Some((law.to_owned(), recipe.plan().variance().sqrt()))
            }
            Self::Updates(recipe, rounds) => {
                let epoch = (rounds + 1).ilog2().max(2) - 1;
                let sigma = recipe.plan().sigma(1 << epoch, epoch);
                let law = recipe.plan().noise().to_string().to_lowercase();
                Some((law, sigma))
            }
            Self::Iterate(recipe) => {
                let plan = recipe.plan();
                let last = plan.most_steps().min(recipe.request().rounds.max(2) - 1);
                Some((plan.request().noise.to_string(), plan.sigma(last)))
            }
        }
    }

    /// What stands under the recipe, for people.
    #[must_use]
    pub fn mechanism(&self) -> String {
        match self {
            Self::Sum(recipe) => recipe.plan().request().kind.to_string(),
            Self::Values(recipe) => format!("values in {}", recipe.plan().request().kind),
            Self::Experts(_) => "selection".to_owned(),
            Self::Bandit(_) => "feedback".to_owned(),
            Self::Updates(..) => "solver".to_owned(),
            Self::Iterate(_) => "iterates".to_owned(),
            Self::Sparse(_) => "tree, sparse".to_owned(),
        }
    }

    /// The certified regret; if none is known, why not.
    ///
    /// # Errors
    /// The reason, for people.
    pub fn regret_bound(&self) -> Result<RegretBound, String> {
        match self {
            Self::Sum(recipe) => recipe.regret_bound(),
            Self::Experts(recipe) => recipe.certified(),
            Self::Bandit(recipe) => recipe
                .regret_bound()
                .map(|value| RegretBound {
                    value,
                    holds: Holds::ExpectedOblivious,
                    theorem: recipe.request().recipe.entry().holds,
                })
                .ok_or_else(|| {
                    let limited = recipe.request().participation.is_per_person();
                    if limited {
                        NOT_ALL
                    } else {
                        "none is known for an unknown horizon"
                    }
                    .to_owned()
                }),
            Self::Values(recipe) => recipe.regret_bound(),
            Self::Updates(recipe, _) if recipe.limits_persons() => Err(NOT_ALL.to_owned()),
            Self::Updates(recipe, rounds) => Ok(recipe.regret_bound(*rounds)),
            Self::Iterate(recipe) => recipe.certified(None),
            Self::Sparse(recipe) => Ok(recipe.regret_bound()),
        }
    }

    /// What the regret can never exceed. A bound above it says nothing.
    #[must_use]
    pub fn trivial_regret(&self) -> Option<f64> {
        let of_range = |range: Range, rounds: u64| {
            let low = match range {
                Range::Symmetric(bound) => -bound,
                Range::ZeroTo(_) | Range::Weighted(_) => 0.0,
            };
            (range.bound() - low) * rounds as f64
        };
        match self {
            Self::Sum(recipe) => recipe.trivial_regret(),
            Self::Experts(recipe) => Some(recipe.trivial_regret()),
            Self::Bandit(recipe) => Some(of_range(recipe.request().range, self.rounds())),
            Self::Values(recipe) => Some(of_range(recipe.request().range, self.rounds())),
            Self::Updates(recipe, rounds) => Some(recipe.trivial_regret(*rounds)),
            Self::Iterate(recipe) => recipe.trivial_regret(),
            Self::Sparse(recipe) => Some(recipe.trivial_regret()),
        }
    }
}
