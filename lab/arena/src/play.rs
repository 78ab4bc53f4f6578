//! A recipe against a game: simulated noise, public data, and the regret that comes out.

use crate::game::{Environment, Game};
use crate::hindsight::best_in_hindsight;
use crate::parallel::in_parallel;
use crate::task::{Task, clipped, record};
use hushstream_account::{Adjacency, Budget, Charge, FilterKind, Price};
use hushstream_mechanism::feedback::Range;
use hushstream_mechanism::losses::{Distance, Features, LinearLoss, Loss, LossSet, Record};
use hushstream_mechanism::sums::{Noise, SumKind};
use hushstream_mechanism::{
    Ledger, LedgerError, NoStorage, Participation, Raw, Scope, Storage, Transcript, Windowed,
};
use hushstream_noise::Key;
use hushstream_recipes::{
    AnyRecipe, AnyRequest, BanditPlayer, BanditRun, ExpertsPlayer, Holds, IteratePlayer,
    LearnsFrom, Objective, Player, RecipeError, RecipeName, RegretBound, Run, RunError,
    SparsePlayer, SparseRun, SumPlayer, UpdatesPlayer, ValuesPlayer,
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
    /// Rounds after which a selection or a bandit begins anew.
    pub restart: Option<u64>,
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
    /// Where linear losses lie; by default the task's box.
    pub losses: Option<LossSet>,
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
    /// A game of its own kind.
    #[error("{0}")]
    Game(String),
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

    /// Linear losses, where the task has them.
    fn linear(&self) -> Result<Option<LinearLoss>, ArenaError> {
        let own = self.task.linear(self.dimension);
        match (self.losses, own) {
            (None, own) => Ok(own),
            (Some(set), Some(_)) => Ok(Some(
                LinearLoss::within(self.dimension, set).map_err(RecipeError::from)?,
            )),
            (Some(_), None) => Err(ArenaError::Game(format!(
                "the task {} has no linear losses to bound otherwise",
                self.task
            ))),
        }
    }

    /// The loss that is measured.
    fn loss(&self) -> Result<Arc<dyn Loss>, ArenaError> {
        Ok(match self.linear()? {
            Some(linear) => Arc::new(linear),
            None if self.task == Task::Mean => {
                // Its constants are those of the set, however far it reaches.
                let reach = self.set()?.largest_norm().max(1.0);
                Arc::new(Distance::new(self.dimension, 1.0, reach).map_err(RecipeError::from)?)
            }
            None => self.task.loss(self.dimension),
        })
    }

    /// The recipe, calibrated for this contest.
    ///
    /// # Errors
    /// A combination that does not fit; `pol`, which plays no rounds.
    pub fn recipe(&self) -> Result<AnyRecipe, ArenaError> {
        let unfit = || ArenaError::Task {
            recipe: self.recipe,
            task: self.task,
        };
        if self.recipe == RecipeName::Pol {
            return Err(ArenaError::Game(
                "pol releases one model at the end and plays no rounds: see --figure pol"
                    .to_owned(),
            ));
        }
        let objective = match (self.recipe.learns_from(), self.linear()?) {
            (Some(LearnsFrom::Moments), _) => {
                Objective::LeastSquares(self.task.moments(self.dimension).ok_or_else(unfit)?)
            }
            (_, Some(linear)) => Objective::Linear(linear),
            (Some(LearnsFrom::LinearLosses), None) => return Err(unfit()),
            _ => Objective::Convex(self.loss()?),
        };
        let reach = self.set()?.largest_norm().max(1.0);
        Ok(AnyRequest {
            recipe: self.recipe,
            objective,
            set: self.set()?,
            values: match self.task {
                Task::Mean => Some(Range::ZeroTo(0.5 * (1.0 + reach).powi(2))),
                other => other.values(),
            },
            rounds: self.rounds,
            restart: self.restart,
            batch: (self.batch > 1).then_some(self.batch),
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

    /// The certified regret, where its theorem covers the game.
    ///
    /// # Errors
    /// A combination that does not fit.
    pub fn certified(&self) -> Result<Option<RegretBound>, ArenaError> {
        let bound = self.recipe()?.regret_bound().ok();
        Ok(bound.filter(|bound| match bound.holds {
            Holds::Expected | Holds::Unless(_) => true,
            Holds::ExpectedOblivious => !self.game.is_adaptive(),
            Holds::ExpectedStochastic => self.game == Game::Stochastic,
        }))
    }

    /// Plays once. The seed fixes both the game and the (simulated) noise.
    ///
    /// # Errors
    /// A combination that does not fit.
    pub fn play(&self, seed: u64) -> Result<Outcome, ArenaError> {
        if let Some(experts) = self.game.experts(self.rounds).map_err(ArenaError::Game)?
            && (self.task != Task::Experts || self.dimension != experts)
        {
            return Err(ArenaError::Game(format!(
                "{} is a game of {experts} experts",
                self.game
            )));
        }
        let recipe = self.recipe()?;
        let loss = self.loss()?;
        let game = self.game.recorded().unwrap_or(self.game);
        let mut environment = Environment::new(game, self.dimension, self.rounds, seed);
        let mut moves = |t: u64, play: &[f64]| {
            let (features, target) = self.task.row(&mut environment, t, play);
            (
                clipped(features, self.losses.unwrap_or(LossSet::Box(0.0, 1.0))),
                target,
            )
        };
        let key = Key::insecure_from_seed(seed);
        let mut played = self.against(&recipe, &key, loss.as_ref(), &mut moves)?;
        if self.game.recorded().is_some() {
            let recorded = played.0;
            let mut again = |t: u64, _: &[f64]| recorded[t as usize - 1].row();
            let key = Key::insecure_from_seed(!seed);
            played = self.against(&recipe, &key, loss.as_ref(), &mut again)?;
        }
        self.outcome(&played, loss.as_ref())
    }

    /// The game against a recipe of any family.
    fn against(
        &self,
        recipe: &AnyRecipe,
        key: &Key,
        loss: &dyn Loss,
        moves: Moves<'_>,
    ) -> Result<Played, ArenaError> {
        let (price, scope) = recipe.price()?;
        let seat = Seat {
            paid: (self.budget, price, scope),
            key,
            rounds: self.rounds,
            loss,
            moves,
        };
        match recipe.clone() {
            AnyRecipe::Sum(recipe) if recipe.plan().request().kind.is_windowed() => {
                seat.learn::<SumPlayer<Windowed>>(recipe)
            }
            AnyRecipe::Sum(recipe) => seat.learn::<SumPlayer<Transcript>>(recipe),
            AnyRecipe::Experts(recipe) => seat.learn::<ExpertsPlayer>(recipe),
            AnyRecipe::Values(recipe) => seat.learn::<ValuesPlayer>(recipe),
            AnyRecipe::Updates(recipe, _) => seat.learn::<UpdatesPlayer>(recipe),
            AnyRecipe::Iterate(recipe) => seat.learn::<IteratePlayer>(recipe),
            AnyRecipe::Bandit(recipe) => seat.play::<BanditPlayer>(
                recipe,
                |run: &mut BanditRun, _| Ok(run.question().for_the_operator().to_vec()),
                |run, record| match record.features {
                    Features::Dense(losses) => run.learn_losses(None, Raw::seal(losses)),
                    Features::Sparse(_) => Ok(()),
                },
            ),
            AnyRecipe::Sparse(recipe) => seat.play::<SparsePlayer>(
                recipe,
                |run: &mut SparseRun, ledger| Ok(run.model(ledger)?.into_value()),
                |run, record| run.learn(None, Raw::seal(record)),
            ),
        }
    }

    fn outcome(&self, played: &Played, loss: &dyn Loss) -> Result<Outcome, ArenaError> {
        let (rows, losses) = played;
        let set = self.set()?;
        let mut still = vec![0.0; self.dimension];
        set.centre(&mut still)?;
        let rows = || rows.iter().map(Kept::row);
        let best = best_in_hindsight(self.task, set.as_ref(), loss, rows())?;
        let mut curve = Vec::new();
        let (mut ours, mut theirs, mut nothing) = (0.0, 0.0, 0.0);
        let mut next = 1.0_f64;
        for (t, (row, loss_here)) in (1..).zip(rows().zip(losses)) {
            let record = record(&row);
            ours += loss_here;
            theirs += loss.value(&record, &best.point);
            nothing += loss.value(&record, &still);
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
}

/// Rows and the losses of the plays that met them.
type Played = (Vec<Kept>, Vec<f64>);

/// A row of a game, kept for hindsight: losses that are all 0 or 1, of which there may be many
/// thousands a round, take one bit each.
enum Kept {
    Numbers((Vec<f64>, f64)),
    Bits(Vec<u64>, usize),
}

impl Kept {
    fn new(row: (Vec<f64>, f64)) -> Self {
        let is_bit = |value: &f64| {
            [0.0_f64, 1.0]
                .iter()
                .any(|bit| bit.total_cmp(value).is_eq())
        };
        if row.0.len() < 64 || !row.0.iter().all(is_bit) {
            return Self::Numbers(row);
        }
        let word = |chunk: &[f64]| {
            let bits = chunk.iter().enumerate();
            bits.fold(0, |word, (i, value)| word | u64::from(*value > 0.5) << i)
        };
        Self::Bits(row.0.chunks(64).map(word).collect(), row.0.len())
    }

    fn row(&self) -> (Vec<f64>, f64) {
        match self {
            Self::Numbers(row) => row.clone(),
            Self::Bits(words, count) => {
                let bit = |i: usize| (words[i / 64] >> (i % 64) & 1) as f64;
                ((0..*count).map(bit).collect(), 0.0)
            }
        }
    }
}
/// The row of a round, decided by the game that may have seen the play.
type Moves<'a> = &'a mut dyn FnMut(u64, &[f64]) -> (Vec<f64>, f64);

/// A place at the table for a run of any kind.
struct Seat<'a> {
    paid: (Budget, Price, Scope),
    key: &'a Key,
    rounds: u64,
    loss: &'a dyn Loss,
    moves: Moves<'a>,
}

impl Seat<'_> {
    /// Plays a run that learns from records and whose question is its play.
    fn learn<P: Player>(self, recipe: P::Recipe) -> Result<Played, ArenaError> {
        self.play::<P>(
            recipe,
            |run, _| Ok(run.question().for_the_operator().to_vec()),
            |run, record| run.learn(None, Raw::seal(record)),
        )
    }

    /// Plays a run: its play of a round, and what it is told.
    fn play<P: Player>(
        self,
        recipe: P::Recipe,
        play: impl Fn(&mut Run<P>, &mut Ledger) -> Result<Vec<f64>, RunError>,
        tell: impl Fn(&mut Run<P>, Record) -> Result<(), RunError>,
    ) -> Result<Played, ArenaError> {
        let (mut run, mut ledger) = open::<P>(recipe, self.paid, self.key, NoStorage)?;
        run.keep_only_the_last();
        let (mut rows, mut losses) = (Vec::new(), Vec::new());
        for t in 1..=self.rounds {
            let here = play(&mut run, &mut ledger)?;
            let row = (self.moves)(t, &here);
            losses.push(self.loss.value(&record(&row), &here));
            tell(&mut run, record(&row))?;
            rows.push(Kept::new(row));
            if t.is_multiple_of(512) {
                run.sync(&mut ledger)?;
            }
        }
        run.sync(&mut ledger)?;
        Ok((rows, losses))
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
