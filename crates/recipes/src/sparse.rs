//! `sparse-ftrl`: a private linear model over millions of hashed features. Follow the regularised
//! leader, coordinate by coordinate, on the binary tree.

use crate::catalogue::RecipeName;
use crate::error::{RecipeError, RunError};
use crate::linear::{Holds, RegretBound};
use crate::run::{Beginning, Player, Run};
use hushstream_account::{Adjacency, Budget, Guarantee, GuaranteeError, ParameterError};
use hushstream_mechanism::losses::{Bounds, Features, LinearModel, Link, Loss, Record};
use hushstream_mechanism::sparse::{Balance, CACHE_BYTES, Model, Rule, SparsePlan, Weights};
use hushstream_mechanism::sums::{Geometry, Noise, SumKind, SumPlan, SumRequest};
use hushstream_mechanism::{
    Contribution, Ledger, Participation, PendingOf, Private, Raw, Released, Scoreboard, Transcript,
};
use hushstream_noise::Key;

/// Parameters of `sparse-ftrl`.
#[derive(Debug, Clone)]
pub struct SparseRequest {
    /// d.
    pub features: u32,
    /// Bounds on features and targets; the bound on weights is what their length is expected to be.
    pub bounds: Bounds,
    /// The loss.
    pub link: Link,
    /// T.
    pub rounds: u64,
    /// What may be spent.
    pub budget: Budget,
    /// The neighbouring relation.
    pub adjacency: Adjacency,
    /// η, if not the balanced one.
    pub rate: Option<f64>,
}

/// A sparse recipe with everything fixed but the data.
#[derive(Debug, Clone)]
pub struct SparseRecipe {
    request: SparseRequest,
    plan: SumPlan,
    rule: Rule,
}

impl SparseRequest {
    /// Calibrates the recipe: the box is as wide as the weights are expected to be long.
    ///
    /// # Errors
    /// Everything that is out of range or does not fit, each with what is allowed.
    pub fn plan(self) -> Result<SparseRecipe, RecipeError> {
        if self.rounds < 2 {
            return Err(ParameterError::new(
                "rounds",
                self.rounds as f64,
                "at least two: nothing is released after the last",
            )
            .into());
        }
        if self.budget.is_pure() {
            return Err(RecipeError::Unfit(
                "sparse-ftrl needs delta > 0: pure noise has heavier tails than its weights bear"
                    .to_owned(),
            ));
        }
        let loss = LinearModel::new(self.features as usize, self.link, self.bounds)?;
        let lipschitz = loss.lipschitz();
        let plan = SumRequest {
            kind: SumKind::Tree,
            noise: Noise::Gaussian,
            releases: self.rounds - 1,
            dimension: self.features,
            bound: lipschitz,
            geometry: Geometry::Ball,
            least_sigma: 0.0,
            batch: 1,
            adjacency: self.adjacency,
            participation: Participation::OncePerRecord,
            budget: self.budget,
        }
        .plan()?;
        let length = self.bounds.weights();
        let balance = Balance {
            length,
            lipschitz,
            rounds: self.rounds,
            noise: plan.prefix_sd_max(),
            smoothness: loss.smoothness(),
        };
        let rate = self.rate.unwrap_or_else(|| balance.rate());
        let rule = Rule::new(rate, length).ok_or_else(|| {
            ParameterError::new("learning rate", rate, "a positive finite number")
        })?;
        Ok(SparseRecipe {
            plan,
            rule,
            request: self,
        })
    }
}

impl SparseRecipe {
    /// The tree's plan.
    #[must_use]
    pub fn plan(&self) -> &SumPlan {
        &self.plan
    }

    /// The rule from sums to weights.
    #[must_use]
    pub fn rule(&self) -> Rule {
        self.rule
    }

    /// The parameters.
    #[must_use]
    pub fn request(&self) -> &SparseRequest {
        &self.request
    }

    /// Records after which a feature stands out of the noise of all, if each has that feature
    /// alone, as long as records may be, and all agree: at the slope that the loss has where
    /// weights are still 0.
    #[must_use]
    pub fn rows_until_signal(&self) -> f64 {
        let SparseRequest { bounds, link, .. } = self.request;
        let steepest = |loss: LinearModel| {
            let (low, high) = bounds.target();
            [low, high].map(|target| {
                let features = Features::Dense(vec![bounds.features()]);
                match loss.gradient(Record { features, target }, &[0.0]) {
                    Contribution::Dense(step) => step.first().map_or(0.0, |step| step.abs()),
                    _ => 0.0,
                }
            })
        };
        let steps = LinearModel::new(1, link, bounds).map_or([0.0; 2], steepest);
        let step = steps[0].max(steps[1]).min(self.plan.request().bound);
        self.plan.prefix_sd_max() / step * Model::threshold(self.request.features as usize)
    }

    /// The certified regret against weights of the expected length, for records that may have every
    /// feature (`mechanism/src/sparse/rule.rs` has the proof). Records of k features have √(k/d)
    /// of its last term.
    #[must_use]
    pub fn regret_bound(&self) -> RegretBound {
        let (rate, length) = (self.rule.rate(), self.request.bounds.weights());
        let (rounds, slope) = (self.request.rounds as f64, self.plan.request().bound);
        let spread = (2.0 * f64::from(self.request.features) / std::f64::consts::PI).sqrt();
        let noise = self.plan.prefix_sd_max() * spread + self.plan.truncation();
        RegretBound {
            value: length * length / (2.0 * rate) + rate * rounds * slope * (slope / 2.0 + noise),
            holds: Holds::ExpectedOblivious,
            theorem: RecipeName::SparseFtrl.entry().holds,
        }
    }

    /// What the regret can never exceed against such weights: the box reaches √d times as far.
    #[must_use]
    pub fn trivial_regret(&self) -> f64 {
        let reach = 1.0 + f64::from(self.request.features).sqrt();
        let slope = self.plan.request().bound;
        slope * self.request.bounds.weights() * reach * self.request.rounds as f64
    }

    /// Memory of a run: the sums and the cache of noise. A model takes as much again as the sums
    /// when it is made.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        8 * u64::from(self.request.features) + CACHE_BYTES as u64
    }

    /// The guarantee of a run.
    ///
    /// # Errors
    /// Never for a recipe that was planned; the numbers were checked.
    pub fn guarantee(&self, is_simulated: bool) -> Result<Guarantee, GuaranteeError> {
        Ok(self.named(self.plan.guarantee(is_simulated)?))
    }

    fn named(&self, guarantee: Guarantee) -> Guarantee {
        let entry = RecipeName::SparseFtrl.entry();
        guarantee
            .of_algorithm(entry.name, entry.source, entry.errata)
            .over_records(self.request.rounds)
    }
}

/// Scores records with noisy weights that are read where a record has features. The mechanism holds
/// the sums, so there is nothing else to keep; only the last model is ever made, since each would
/// be all features long.
pub struct SparsePlayer {
    thresholded: bool,
}

/// A sparse recipe in progress.
pub type SparseRun = Run<SparsePlayer>;

impl Player for SparsePlayer {
    type Recipe = SparseRecipe;
    type Mechanism = Weights;
    type Output = Model;
    const NOTED: bool = false;

    fn name(_: &SparseRecipe) -> RecipeName {
        RecipeName::SparseFtrl
    }

    fn description(_: &SparseRecipe) -> String {
        RecipeName::SparseFtrl.to_string()
    }

    fn plan(recipe: &SparseRecipe) -> Result<SparsePlan, RunError> {
        let (link, bounds) = (recipe.request.link, recipe.request.bounds);
        Ok(SparsePlan::new(
            recipe.plan.clone(),
            link,
            bounds,
            recipe.rule,
        )?)
    }

    fn given(recipe: &SparseRecipe) -> Result<SparsePlan, RunError> {
        Self::plan(recipe)
    }

    fn rounds(recipe: &SparseRecipe) -> u64 {
        recipe.request.rounds
    }

    fn stated(recipe: &SparseRecipe) -> Option<u64> {
        Some(recipe.request.rounds)
    }

    fn most_items(recipe: &SparseRecipe) -> u64 {
        recipe.plan.most_releases()
    }

    fn begin(
        _: &SparseRecipe,
        _: &mut Private<Weights>,
        _: &Key,
        _: Beginning<'_>,
    ) -> Result<Self, RunError> {
        Ok(Self { thresholded: false })
    }

    fn weights(&self) -> &[f64] {
        &[]
    }

    fn score(&self, learner: &mut Private<Weights>, record: &Raw<Record>, board: &mut Scoreboard) {
        board.note(record, &learner.predict(record));
    }

    /// One read of the weights serves both the score and the gradient.
    fn ask(
        &mut self,
        _: &SparseRecipe,
        learner: &mut Private<Weights>,
        _: Option<u64>,
        record: Raw<Record>,
        board: Option<&mut Scoreboard>,
    ) -> Result<Option<PendingOf<Weights>>, RunError> {
        learner.learn(record, board)?;
        Ok(None)
    }

    fn observe(&mut self, _: &SparseRecipe, _: Model) -> Result<(), RunError> {
        Ok(())
    }

    fn output(&self) -> Model {
        unreachable!("no model leaves by itself")
    }

    fn settle(
        &mut self,
        learner: &mut Private<Weights>,
        ledger: &mut Ledger,
    ) -> Result<Released<Vec<f64>, Transcript>, RunError> {
        let model = learner.model(ledger)?;
        Ok(model.map(|model| {
            if self.thresholded {
                model.thresholded()
            } else {
                model.dense()
            }
        }))
    }
}

impl SparseRun {
    /// From now on a model leaves out the weights that noise explains.
    pub fn threshold(&mut self) {
        self.player.thresholded = true;
    }

    /// The model after all records so far, with its noise, durable before it leaves.
    ///
    /// # Errors
    /// Those of the mechanism.
    pub fn sparse_model(
        &mut self,
        ledger: &mut Ledger,
    ) -> Result<Released<Model, Transcript>, RunError> {
        Ok(self.mechanism.model(ledger)?)
    }
}
