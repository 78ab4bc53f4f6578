//! A recipe against a game: simulated noise, public data, and the regret that comes out.

use crate::game::{Environment, Game};
use crate::hindsight::best_in_hindsight;
use crate::parallel::in_parallel;
use crate::task::{Task, record};
use hushstream_account::{Adjacency, Budget, Charge, FilterKind, Price};
use hushstream_mechanism::sums::{Noise, SumKind};
use hushstream_mechanism::{
    Ledger, LedgerError, MemoryStorage, Participation, Raw, Scope, Storage, Transcript, Windowed,
};
use hushstream_noise::Key;
use hushstream_recipes::{
    Averaged, Insider, IteratePlayer, IterateRecipe, IterateRequest, MechanismKind, Objective,
    Player, Recipe, RecipeError, RecipeName, RecipeRequest, Run, RunError, SumPlayer,
};
use hushstream_sets::{ConvexSet, SetError};
use std::sync::Arc;

/// One contest.
#[derive(Debug, Clone)]
pub struct Contest {
    /// Who plays.
    pub recipe: RecipeName,
    /// On which sum; the paper's own if none.
    pub sum: Option<SumKind>,
    /// With which noise; by the budget if none.
    pub noise: Option<Noise>,
    /// The task.
    pub task: Task,
    /// Against whom.
    pub game: Game,
    /// Coordinates.
    pub dimension: usize,
    /// T.
    pub rounds: u64,
    /// Records an item.
    pub batch: u64,
    /// The budget.
    pub budget: Budget,
    /// The neighbouring relation.
    pub adjacency: Adjacency,
    /// For the window recipes.
    pub window: Option<u64>,
    /// Curvature, if not the calibrated one.
    pub curvature: Option<f64>,
    /// Learning rate, if not the calibrated one.
    pub learning_rate: Option<f64>,
    /// The set of the weights; by default the task's.
    pub set: Option<Arc<dyn ConvexSet>>,
    /// `coco-l`, tuned.
    pub tuned: bool,
}

/// Why a contest cannot be played.
#[derive(Debug, thiserror::Error)]
pub enum ArenaError {
    /// The recipe.
    #[error(transparent)]
    Recipe(#[from] RecipeError),
    /// The run.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The set.
    #[error(transparent)]
    Set(#[from] SetError),
    /// The simulated ledger.
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    /// A set that the task's public bounds do not cover.
    #[error("{set} is not allowed for the task {task}: {allowed}")]
    OtherSet {
        /// The set.
        set: &'static str,
        /// The task.
        task: Task,
        /// The allowed values.
        allowed: String,
    },
    /// A task that the recipe does not serve.
    #[error("{recipe} does not serve the task {task}")]
    Task {
        /// The recipe.
        recipe: RecipeName,
        /// The task.
        task: Task,
    },
}

/// What came of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// Total loss.
    pub loss: f64,
    /// Total loss of the best fixed point.
    pub hindsight: f64,
    /// Total loss of never moving.
    pub nothing: f64,
    /// (t, loss so far − loss of the final best point so far), at geometrically spaced t.
    pub curve: Vec<(u64, f64)>,
}

impl Outcome {
    /// Total loss − total loss of the best fixed point.
    pub fn regret(&self) -> f64 {
        self.loss - self.hindsight
    }
}

impl Contest {
    /// The set of the weights.
    pub(crate) fn set(&self) -> Result<Arc<dyn ConvexSet>, ArenaError> {
        let Some(set) = &self.set else {
            return Ok(self.task.set(self.dimension)?);
        };
        let refuse = |allowed: String| {
            Err(ArenaError::OtherSet {
                set: set.name(),
                task: self.task,
                allowed,
            })
        };
        if self.recipe == RecipeName::Pqftl {
            return refuse("least squares has a ball of its own".to_owned());
        }
        if set.dimension() != self.dimension {
            return refuse(format!("it must have {} coordinates", self.dimension));
        }
        // Beyond, gradients would be clipped, and the losses not be what they are said to be.
        match self.task.reach() {
            Some(reach) if set.largest_norm() > reach * (1.0 + 1e-12) => {
                refuse(format!("its points must have a length of at most {reach}"))
            }
            _ => Ok(set.clone()),
        }
    }

    /// The recipe, calibrated for this contest.
    ///
    /// # Errors
    /// A combination that does not fit.
    pub fn recipe(&self) -> Result<Recipe, ArenaError> {
        let unfit = || ArenaError::Task {
            recipe: self.recipe,
            task: self.task,
        };
        let objective = match self.recipe {
            RecipeName::Pqftl => {
                Objective::LeastSquares(self.task.moments(self.dimension).ok_or_else(unfit)?)
            }
            RecipeName::Ftrl | RecipeName::Ftpl => {
                Objective::Linear(self.task.linear(self.dimension).ok_or_else(unfit)?)
            }
            _ => Objective::Convex(self.task.loss(self.dimension)),
        };
        Ok(RecipeRequest {
            recipe: self.recipe,
            objective,
            set: self.set()?,
            rounds: self.rounds,
            batch: self.batch,
            budget: self.budget,
            adjacency: self.adjacency,
            participation: Participation::OncePerRecord,
            sum: self.sum,
            noise: self.noise,
            window: self.window,
            curvature: self.curvature,
            learning_rate: self.learning_rate,
            tuned: self.tuned,
        }
        .plan()?)
    }

    /// The recipe on iterates, calibrated for this contest.
    ///
    /// # Errors
    /// A combination that does not fit; `pol`, which plays no rounds; batches, which iterates do
    /// not have.
    pub fn iterate_recipe(&self) -> Result<IterateRecipe, ArenaError> {
        let unfit = |reason: &str| {
            ArenaError::Recipe(RecipeError::Unfit(format!("{}: {reason}", self.recipe)))
        };
        if self.recipe == RecipeName::Pol {
            return Err(unfit(
                "it releases one model at the end and plays no rounds",
            ));
        }
        if self.batch != 1 {
            return Err(unfit("iterates move with every record: --batch must be 1"));
        }
        if self.sum.is_some() {
            return Err(unfit("it releases iterates, not sums: it takes no --sum"));
        }
        Ok(IterateRequest {
            recipe: self.recipe,
            insider: Insider::Loss(self.task.loss(self.dimension)),
            set: self.set()?,
            rounds: self.rounds,
            budget: self.budget,
            adjacency: self.adjacency,
            participation: Participation::OncePerRecord,
            noise: self.noise,
            curvature: self.curvature,
            steps: None,
            weighting: None,
            average: Averaged::All,
        }
        .plan()?)
    }

    /// Plays once. The seed fixes both the game and the (simulated) noise.
    ///
    /// # Errors
    /// A combination that does not fit.
    pub fn play(&self, seed: u64) -> Result<Outcome, ArenaError> {
        if self.recipe.entry().mechanism == MechanismKind::Iterate {
            let recipe = self.iterate_recipe()?;
            let price = recipe.plan().charge().map_err(RecipeError::from)?;
            let paid = (self.budget, price, recipe.plan().scope());
            return self.against::<IteratePlayer>(recipe, paid, seed);
        }
        let recipe = self.recipe()?;
        let price = recipe.plan().charge().map_err(RecipeError::from)?;
        let paid = (self.budget, price, recipe.plan().scope());
        if recipe.plan().request().kind.is_windowed() {
            self.against::<SumPlayer<Windowed>>(recipe, paid, seed)
        } else {
            self.against::<SumPlayer<Transcript>>(recipe, paid, seed)
        }
    }

    /// The game against one kind of run.
    fn against<P: Player>(
        &self,
        recipe: P::Recipe,
        paid: (Budget, Price, Scope),
        seed: u64,
    ) -> Result<Outcome, ArenaError> {
        let key = Key::insecure_from_seed(seed);
        let (mut run, mut ledger) = open::<P>(recipe, paid, &key, MemoryStorage::default())?;
        let set = self.set()?;
        let loss = self.task.loss(self.dimension);
        let mut still = vec![0.0; self.dimension];
        set.centre(&mut still)?;
        let mut environment = Environment::new(self.game, self.dimension, self.rounds, seed);
        let mut rows = Vec::with_capacity(usize::try_from(self.rounds).unwrap_or(0));
        let mut losses = Vec::with_capacity(rows.capacity());
        for t in 1..=self.rounds {
            let question = run.question();
            let iterate = question.for_the_operator();
            let row = self.task.row(&mut environment, t, iterate);
            losses.push(loss.value(&record(&row), iterate));
            run.learn(None, Raw::seal(record(&row)))?;
            rows.push(row);
            if t.is_multiple_of(512) {
                run.sync(&mut ledger)?;
            }
        }
        run.sync(&mut ledger)?;
        let best = best_in_hindsight(self.task, set.as_ref(), loss.as_ref(), &rows)?;
        let mut curve = Vec::new();
        let (mut ours, mut theirs, mut nothing) = (0.0, 0.0, 0.0);
        let mut next = 1.0_f64;
        for (t, (row, loss_here)) in (1..).zip(rows.iter().zip(&losses)) {
            ours += loss_here;
            theirs += loss.value(&record(row), &best.point);
            nothing += loss.value(&record(row), &still);
            if t as f64 >= next || t == self.rounds {
                curve.push((t, ours - theirs));
                next *= 1.1;
            }
        }
        Ok(Outcome {
            loss: ours,
            hindsight: best.loss,
            nothing,
            curve,
        })
    }

    /// Plays with several seeds, on as many threads as the machine has.
    ///
    /// # Errors
    /// The first that occurs.
    pub fn repeat(&self, seeds: std::ops::Range<u64>) -> Result<Vec<Outcome>, ArenaError> {
        let seeds: Vec<u64> = seeds.collect();
        in_parallel(&seeds, |&seed| self.play(seed))
    }

    /// What stands under the recipe, for people: the sum's name, or that there is none.
    ///
    /// # Errors
    /// A combination that does not fit.
    pub fn mechanism(&self) -> Result<String, ArenaError> {
        Ok(match self.recipe.entry().mechanism {
            MechanismKind::Iterate => {
                self.iterate_recipe()?;
                "iterates".to_owned()
            }
            _ => self.recipe()?.plan().request().kind.to_string(),
        })
    }
}

/// Opens a run with simulated noise, on a ledger of its own that has paid for it: budget, price and
/// scope are those of its plan.
///
/// # Errors
/// A price beyond the budget; those of the mechanism.
pub fn open<P: Player>(
    recipe: P::Recipe,
    (budget, price, scope): (Budget, Price, Scope),
    key: &Key,
    storage: impl Storage + 'static,
) -> Result<(Run<P>, Ledger), ArenaError> {
    let filter = match price.charge {
        Charge::Gaussian(_) => FilterKind::Gaussian,
        Charge::Approximate(_) => FilterKind::Approximate,
        _ => FilterKind::Pure,
    };
    let mut ledger = Ledger::simulated(budget, filter, scope)?;
    let grant = ledger.debit(price, scope)?;
    let run = Run::open(recipe, grant, key, &mut ledger, storage)?;
    Ok((run, ledger))
}
