//! `sparse-ftrl`: a private linear model over millions of hashed features. Follow the regularised leader, coordinate by coordinate, on the binary tree.

use crate::catalogue::RecipeName;
use crate::on_sums::RecipeError;
use hushstream_account::{Adjacency, Budget, Guarantee, GuaranteeError, ParameterError};
use hushstream_mechanism::losses::{Bounds, Features, LinearModel, Link, Loss, Record};
use hushstream_mechanism::sparse::{Balance, CACHE_BYTES, Model, Rule, SparseError, SparseLearner};
use hushstream_mechanism::sums::{Geometry, Noise, SumKind, SumPlan, SumRequest};
use hushstream_mechanism::{
    CameBack, Contribution, DiaryError, Grant, Ledger, OperatorOnly, Participation, Raw, Released,
    Scoreboard, Storage, Transcript,
};
use hushstream_noise::Key;

/// What is wanted.
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

    /// What was asked for.
    #[must_use]
    pub fn request(&self) -> &SparseRequest {
        &self.request
    }

    /// Records after which a feature stands out of the noise of all, if each has that feature alone, as long as records may be, and all agree: at the slope that the loss has where weights are still 0.
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

    /// Memory of a run: the sums and the cache of noise. A model takes as much again as the sums
    /// when it is made.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        8 * u64::from(self.request.features) + CACHE_BYTES as u64
    }

    /// What a run of it promises.
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

    fn task(&self) -> (Link, Bounds, Rule) {
        (self.request.link, self.request.bounds, self.rule)
    }
}

/// A sparse recipe in progress.
pub struct SparseRun {
    recipe: SparseRecipe,
    learner: SparseLearner,
    /// Records seen, of which the last is not learned from.
    rounds: u64,
}

impl SparseRun {
    /// Opens a run that has been paid for; `storage` must be new and will hold private data.
    ///
    /// # Errors
    /// Those of the mechanism.
    pub fn open(
        recipe: SparseRecipe,
        grant: Grant,
        key: &Key,
        ledger: &mut Ledger,
        storage: impl Storage + 'static,
    ) -> Result<Self, SparseError> {
        let plan = recipe.plan.clone();
        let learner = SparseLearner::open(plan, recipe.task(), grant, key, ledger, storage)?;
        Ok(Self {
            recipe,
            learner,
            rounds: 0,
        })
    }

    /// Continues a run from its journal.
    ///
    /// # Errors
    /// Those of the mechanism; a journal of another plan.
    pub fn resume(
        recipe: SparseRecipe,
        storage: impl Storage + 'static,
        key: &Key,
        ledger: &mut Ledger,
    ) -> Result<(Self, CameBack), SparseError> {
        let back = SparseLearner::resume(&recipe.plan, recipe.task(), storage, key, ledger)?;
        let rounds = back.learner.rounds();
        let run = Self {
            recipe,
            learner: back.learner,
            rounds,
        };
        Ok((run, back.outcome))
    }

    /// Plays one round; `board`, if there is one, compares the prediction with the target.
    ///
    /// # Errors
    /// After the last round; those of the mechanism.
    pub fn learn(
        &mut self,
        record: Raw<Record>,
        board: Option<&mut Scoreboard>,
    ) -> Result<(), SparseError> {
        let planned = self.recipe.request.rounds;
        if self.rounds >= planned {
            let refused = self.rounds + 1;
            return Err(DiaryError::Exhausted { planned, refused }.into());
        }
        if self.learner.rounds() >= self.recipe.plan.most_releases() {
            // Nothing is released after the last round, so nothing is asked.
            let prediction = self.learner.predict(&record);
            if let Some(board) = board {
                board.note(&record, &prediction);
            }
        } else {
            self.learner.learn(record, board)?;
        }
        self.rounds += 1;
        Ok(())
    }

    /// The model after all records so far, durable before it leaves.
    ///
    /// # Errors
    /// Those of the mechanism.
    pub fn model(
        &mut self,
        ledger: &mut Ledger,
    ) -> Result<Released<Model, Transcript>, SparseError> {
        self.learner.model(ledger)
    }

    /// Makes everything so far durable.
    ///
    /// # Errors
    /// Those of the mechanism.
    pub fn sync(&mut self, ledger: &mut Ledger) -> Result<(), SparseError> {
        self.learner.sync(ledger)
    }

    /// Records seen.
    #[must_use]
    pub fn rounds(&self) -> u64 {
        self.rounds
    }

    /// Malformed records.
    #[must_use]
    pub fn nulls(&self) -> OperatorOnly<u64> {
        self.learner.nulls()
    }

    /// What is promised about everything this run publishes.
    ///
    /// # Errors
    /// Never for a run that exists; the numbers were checked.
    pub fn guarantee(&self) -> Result<Guarantee, GuaranteeError> {
        Ok(self.recipe.named(self.learner.guarantee()?))
    }
}
