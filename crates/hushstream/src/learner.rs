//! The description of a run: its public facts and its files.

use crate::decisions::{DecisionWishes, Judge};
use crate::error::{Error, Result};
use crate::outcome::Outcome;
use crate::plan::Plan;
use crate::run::Run;
use crate::shared::SharedLedger;
use crate::state::{Keeper, KeySeal};
use hushstream_account::{Adjacency, Budget};
use hushstream_mechanism::Participation;
use hushstream_pictures::numbers::delta;
use hushstream_read::{Layout, SchemaSpec, Task};
use hushstream_recipes::{RecipeName, Wishes};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// The description of a run: its public facts and its files.
///
/// It begins with the task ([`Learner::classify`], [`Learner::classes`], [`Learner::regress`],
/// [`Learner::experts`], [`Learner::bandit`], [`Learner::decide`]) and ends with an action:
///
/// | call | action | spends |
/// |---|---|---|
/// | [`Learner::plan`] | chooses a recipe from public numbers | nothing |
/// | [`Learner::start`] | plans, charges the ledger, opens a [`Run`] | the budget |
/// | [`Learner::resume`] | continues a run after a stop | nothing |
/// | [`Learner::learn_file`] | checks a file, learns from it, writes the outputs | the budget |
///
/// ```
/// use hushstream::prelude::*;
///
/// let plan = Learner::regress(0.0..100.0)
///     .features(4)
///     .records(10_000)
///     .budget(Budget::approx(1.0, 1e-6)?)
///     .adjacency(ReplaceOne)
///     .plan()?;
/// assert_eq!(plan.records, 10_000);
/// println!("{plan}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default)]
#[must_use = "a description does nothing by itself: plan, start, resume or learn_file"]
pub struct Learner {
    /// The data and its public properties.
    pub data: Data,
    /// The privacy guarantee.
    pub privacy: Privacy,
    /// Stated parameters of the method; the rest is chosen from public numbers.
    pub wishes: Wishes,
    /// What is stated about decisions.
    pub decisions: DecisionWishes,
    /// Written files and figures.
    pub output: Output,
}

impl Learner {
    /// The privacy and method flags of the plan, as text.
    pub(crate) fn fixed(&self) -> Vec<String> {
        let (privacy, wishes) = (&self.privacy, &self.wishes);
        let number = |value: Option<f64>| value.map(|value| value.to_string());
        let count = |value: Option<u64>| value.map(|value| value.to_string());
        let horizon = if privacy.horizon_unknown {
            "unknown"
        } else {
            "known"
        };
        let flags = [
            ("epsilon", Some(privacy.epsilon.to_string())),
            ("delta", Some(delta(privacy.delta))),
            (
                "adjacency",
                privacy.adjacency.map(|stated| stated.to_string()),
            ),
            ("horizon", Some(horizon.to_owned())),
            ("max-per-person", count(privacy.max_per_person)),
            ("min-separation", Some(privacy.min_separation.to_string())),
            ("window", count(wishes.window)),
            ("tables", wishes.tables.map(|size| size.to_string())),
            ("recipe", wishes.recipe.map(|recipe| recipe.to_string())),
            ("sum", wishes.sum.map(|sum| sum.to_string())),
            ("noise", wishes.noise.map(|noise| noise.to_string())),
            ("batch", count(wishes.batch)),
            ("restart-every", count(wishes.restart)),
            ("passes", count(self.data.passes)),
            ("loss", wishes.link.map(|link| link.to_string())),
            ("set", wishes.set.clone()),
            ("radius", number(wishes.radius)),
            ("strong-convexity", number(wishes.curvature)),
            ("learning-rate", number(wishes.learning_rate)),
            ("ridge", number(wishes.ridge)),
            ("least-propensity", number(self.data.least_propensity)),
            ("exploration", number(self.decisions.exploration)),
        ];
        let stated = flags.into_iter();
        stated
            .filter_map(|(flag, value)| Some(format!("--{flag} {}", value?)))
            .collect()
    }
}

/// The treatment of malformed rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// A malformed row stops the run before it is charged.
    Refuse,
    /// A malformed row is a round without a record.
    Empty,
}

/// The data and its public properties.
#[derive(Clone, Default)]
pub struct Data {
    /// The file of records, or `-` for standard input.
    pub file: String,
    /// The name of its format; by default from the file's name.
    pub format: Option<String>,
    /// The schema of the columns.
    pub schema: SchemaSpec,
    /// The layout of the columns, if rows come from other machines and the schema alone does not
    /// tell it.
    pub layout: Option<Layout>,
    /// Whether quoted fields may contain line breaks.
    pub multiline: bool,
    /// Read the rows in an order drawn from this public seed.
    pub shuffle: Option<u64>,
    /// How often the records of a file are read; chosen if not stated.
    pub passes: Option<u64>,
    /// The treatment of malformed rows; by default refused in a file and empty in a stream.
    pub malformed: Option<Malformed>,
    /// Of rows of the program: whether it holds all of them, has checked them, and can give them
    /// several times.
    pub at_rest: bool,
    /// For a log: a lower bound on propensities; smaller ones are raised to it.
    pub least_propensity: Option<f64>,
}

/// The privacy guarantee.
#[derive(Clone)]
pub struct Privacy {
    /// Privacy loss ε.
    pub epsilon: f64,
    /// Privacy loss δ; 0 means pure differential privacy.
    pub delta: f64,
    /// The neighbouring relation. It has no default, because the guarantee depends on it.
    pub adjacency: Option<Adjacency>,
    /// Number of records; by default the rows of the file are counted. With an unknown horizon, a
    /// rough guess.
    pub rounds: Option<u64>,
    /// Whether the stream may be endless.
    pub horizon_unknown: bool,
    /// Records that one person may contribute: persons are protected instead of records.
    pub max_per_person: Option<u64>,
    /// Least distance, in batches, between two records of one person.
    pub min_separation: u64,
    /// The ledger's file; by default beside the data.
    pub ledger: Option<PathBuf>,
    /// A ledger that the program holds already, in place of a file.
    pub shared: Option<SharedLedger>,
    /// Total ε of all runs on the ledger; by default the first run's ε.
    pub total_epsilon: Option<f64>,
    /// Total δ of all runs on the ledger; by default the first run's δ.
    pub total_delta: Option<f64>,
    /// The seed of simulated noise for experiments, which protects nobody.
    pub seed_insecure: Option<u64>,
}

impl Default for Privacy {
    fn default() -> Self {
        Self {
            epsilon: 0.0,
            delta: 0.0,
            adjacency: None,
            rounds: None,
            horizon_unknown: false,
            max_per_person: None,
            min_separation: 1,
            ledger: None,
            shared: None,
            total_epsilon: None,
            total_delta: None,
            seed_insecure: None,
        }
    }
}

/// Written files and figures.
#[derive(Clone)]
pub struct Output {
    /// The file of the last model: publishable.
    pub model: Option<PathBuf>,
    /// Whether weights of `sparse-ftrl` within the noise are 0 in the model.
    pub thresholded: bool,
    /// The file of every release: publishable.
    pub releases: Option<PathBuf>,
    /// The file of the report: for the operator only.
    pub report: Option<PathBuf>,
    /// The state folder: secret.
    pub state: Option<PathBuf>,
    /// Keeps the state in the place of a folder, which is a name only then.
    pub keeper: Option<Arc<dyn Keeper>>,
    /// Seals the key in the state folder.
    pub seal: Option<Arc<dyn KeySeal>>,
    /// Time between two disk syncs.
    pub sync: Duration,
    /// Whether [`Run::publish`] returns every release instead of the last one.
    pub every: bool,
    /// Whether to resume the run in the state folder.
    pub resume: bool,
    /// Whether to leave out figures computed from private data.
    pub quiet: bool,
    /// Whether to run the same learner also without privacy, for the operator.
    pub without_privacy: bool,
    /// The file whose rows the last model is scored on, in place of those that it learns from.
    pub test: Option<String>,
    /// The command of the run, for the report.
    pub command: Option<String>,
}

/// Receives the messages of a run in progress, which may move to another thread.
///
/// ```
/// use hushstream::learner::Listener;
/// use hushstream::prelude::*;
///
/// #[derive(Default)]
/// struct Log(Vec<String>);
///
/// impl Listener for Log {
///     fn warn(&mut self, text: &str) {
///         self.0.push(text.to_owned()); // for the operator only
///     }
/// }
///
/// # let folder = std::env::temp_dir().join(format!("listener-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// # let file = folder.join("rows.csv");
/// # std::fs::write(&file, "x,y\n".to_owned() + &"0.5,1\n0.1,0\n".repeat(500))?;
/// let mut learner = Learner::classify()
///     .schema("target = 'y'\nbounds = { x = [0, 1] }".parse()?)
///     .budget(Budget::approx(1.0, 1e-6)?)
///     .adjacency(ReplaceOne)
///     .simulated(7);
/// learner.data.file = file.display().to_string();
/// let mut log = Log::default();
/// let outcome = learner.learn_heard(&mut log)?;
/// assert_eq!(outcome.rounds, 20_000); // a small file is read twenty times
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Listener: Send {
    /// A message from public numbers and names of files.
    fn say(&mut self, _text: &str) {}
    /// A note about a file.
    fn note(&mut self, _text: &str) {}
    /// A message for the operator, computed from private data.
    fn warn(&mut self, _text: &str) {}
    /// Whether to compute lines of progress.
    fn shows_progress(&self) -> bool {
        false
    }
    /// A line of progress for the operator, at doubling counts.
    fn progress(&mut self, _line: &crate::progress::Line) {}
}

/// Ignores all messages.
impl Listener for () {}

impl<L: Listener + ?Sized> Listener for &mut L {
    fn say(&mut self, text: &str) {
        (**self).say(text);
    }

    fn note(&mut self, text: &str) {
        (**self).note(text);
    }

    fn warn(&mut self, text: &str) {
        (**self).warn(text);
    }

    fn shows_progress(&self) -> bool {
        (**self).shows_progress()
    }

    fn progress(&mut self, line: &crate::progress::Line) {
        (**self).progress(line);
    }
}

impl Privacy {
    /// Who contributes how often.
    pub(crate) fn participation(&self) -> Participation {
        match self.max_per_person {
            Some(most) => Participation::PerPerson {
                most,
                separation: self.min_separation,
            },
            None => Participation::OncePerRecord,
        }
    }

    pub(crate) fn stated_adjacency(&self) -> Result<Adjacency> {
        self.adjacency.ok_or_else(|| {
            Error::refused("state the neighbouring relation, ReplaceOne or ZeroOut: ‹adjacency›")
        })
    }
}

impl Output {
    pub(crate) fn keeper(&self) -> Option<&dyn Keeper> {
        self.keeper.as_deref()
    }
}

impl Default for Output {
    fn default() -> Self {
        Self {
            model: None,
            thresholded: false,
            releases: None,
            report: None,
            state: None,
            keeper: None,
            seal: None,
            sync: Duration::from_millis(500),
            every: false,
            resume: false,
            quiet: false,
            without_privacy: false,
            test: None,
            command: None,
        }
    }
}

/// The task and the data.
impl Learner {
    fn of(task: Task) -> Self {
        let mut learner = Self::default();
        learner.data.schema.task = Some(task);
        learner
    }

    /// Predicts one of two classes.
    pub fn classify() -> Self {
        Self::of(Task::Classify)
    }

    /// Predicts one of these classes, which are public.
    pub fn classes<S: Into<String>>(names: impl IntoIterator<Item = S>) -> Self {
        let mut learner = Self::of(Task::Multiclass);
        learner.data.schema.classes = Some(names.into_iter().map(Into::into).collect());
        learner
    }

    /// Predicts a number between public bounds.
    pub fn regress(bounds: Range<f64>) -> Self {
        let mut learner = Self::of(Task::Regress);
        learner.data.schema.target_bounds = Some((bounds.start, bounds.end));
        learner
    }

    /// Chooses among `count` experts. A row has the loss of each, from 0 to 1.
    pub fn experts(count: usize) -> Self {
        Self::of(Task::Experts).losses("expert", count)
    }

    /// Chooses among `count` arms. A row has the loss of each, from 0 to 1, and the learner sees
    /// only the loss of the played arm.
    pub fn bandit(count: usize) -> Self {
        Self::of(Task::Bandit).losses("arm", count)
    }

    /// Decides among these arms by a context: [`Run::decide`](crate::Run::decide) answers one, and
    /// [`Run::reward`](crate::Run::reward) tells later what came of it, from 0 to 1.
    pub fn decide<S: Into<String>>(arms: impl IntoIterator<Item = S>) -> Self {
        let mut learner = Self::of(Task::Decide);
        learner.data.schema.arms = Some(arms.into_iter().map(Into::into).collect());
        learner
    }

    fn losses(mut self, word: &str, count: usize) -> Self {
        let schema = &mut self.data.schema;
        schema.names = (1..=count).map(|place| format!("{word}{place}")).collect();
        schema.bounds = [("*".to_owned(), (0.0, 1.0))].into();
        self
    }

    /// Sets the schema of the columns. Keeps the learner's task unless the schema states another.
    pub fn schema(mut self, schema: SchemaSpec) -> Self {
        let own = std::mem::replace(&mut self.data.schema, schema);
        let schema = &mut self.data.schema;
        schema.task = schema.task.or(own.task);
        schema.classes = schema.classes.take().or(own.classes);
        schema.target_bounds = schema.target_bounds.or(own.target_bounds);
        schema.arms = schema.arms.take().or(own.arms);
        self
    }

    /// Rows have `count` numbers from −1 to 1, named x1, x2, …, and then the target, y.
    pub fn features(mut self, count: usize) -> Self {
        let schema = &mut self.data.schema;
        schema.names = (1..=count).map(|place| format!("x{place}")).collect();
        // A context has no target.
        if schema.task != Some(Task::Decide) {
            schema.names.push("y".to_owned());
            schema.target = Some("y".to_owned());
        }
        schema.bounds = [("x*".to_owned(), (-1.0, 1.0))].into();
        self
    }

    /// Bounds the length of a record's features; longer records are scaled down to it.
    pub fn norm(mut self, norm: f64) -> Self {
        self.data.schema.norm = Some(norm);
        self
    }

    /// The public number of records.
    pub fn records(mut self, records: u64) -> Self {
        self.privacy.rounds = Some(records);
        self
    }

    /// The program holds all rows, as a file does: it has checked them with
    /// [`Encoder::check`](hushstream_read::Encoder::check), and gives all of them
    /// [`Run::passes`] times in the same order.
    pub fn at_rest(mut self) -> Self {
        self.data.at_rest = true;
        self
    }

    /// The stream may be endless.
    pub fn unknown_horizon(mut self) -> Self {
        self.privacy.horizon_unknown = true;
        self
    }
}

/// What is promised.
impl Learner {
    /// ε and δ of this run.
    pub fn budget(mut self, budget: Budget) -> Self {
        (self.privacy.epsilon, self.privacy.delta) = (budget.epsilon(), budget.delta());
        self
    }

    /// Total ε and δ of all runs on the ledger; by default those of the first run.
    pub fn total(mut self, budget: Budget) -> Self {
        self.privacy.total_epsilon = Some(budget.epsilon());
        self.privacy.total_delta = Some(budget.delta());
        self
    }

    /// The neighbouring relation.
    pub fn adjacency(mut self, adjacency: Adjacency) -> Self {
        self.privacy.adjacency = Some(adjacency);
        self
    }

    /// The ledger file, with the budget of this data over all runs.
    pub fn ledger(mut self, path: impl Into<PathBuf>) -> Self {
        self.privacy.ledger = Some(path.into());
        self
    }

    /// The ledger that this program holds: several runs may be on it at the same time.
    pub fn on(mut self, ledger: &SharedLedger) -> Self {
        self.privacy.shared = Some(ledger.clone());
        self
    }

    /// Draws simulated noise from a seed, for experiments: it protects nobody.
    pub fn simulated(mut self, seed: u64) -> Self {
        self.privacy.seed_insecure = Some(seed);
        self
    }
}

/// The method. Parameters that are not stated are chosen from public numbers.
impl Learner {
    /// The recipe.
    pub fn recipe(mut self, recipe: RecipeName) -> Self {
        self.wishes.recipe = Some(recipe);
        self
    }

    /// Records per release.
    pub fn batch(mut self, records: u64) -> Self {
        self.wishes.batch = Some(records);
        self
    }

    /// All parameters of the method at once.
    pub fn wishes(mut self, wishes: Wishes) -> Self {
        self.wishes = wishes;
        self
    }
}

/// Decisions.
impl Learner {
    /// The range of rewards; from 0 to 1 if not stated.
    pub fn rewards(mut self, bounds: Range<f64>) -> Self {
        self.data.schema.target_bounds = Some((bounds.start, bounds.end));
        self
    }

    /// The reward of a decision that nobody tells one for; the middle of the range if not stated.
    pub fn default_reward(mut self, reward: f64) -> Self {
        self.decisions.default_reward = Some(reward);
        self
    }

    /// Decisions after the last of a batch until the batch is closed and its rewards are learned
    /// from; one batch if not stated. With 0 a reward must be told before the next decision.
    pub fn reward_wait(mut self, decisions: u64) -> Self {
        self.decisions.reward_wait = Some(decisions);
        self
    }

    /// Answers the first arm always, while the policy learns from what it earns.
    pub fn first_arm(mut self) -> Self {
        self.decisions.first_arm = true;
        self
    }

    /// Evaluates these policies beside the one that learns, for a small share of the budget.
    pub fn evaluate(mut self, policies: impl IntoIterator<Item = Judge>) -> Self {
        self.decisions.evaluate = Some(policies.into_iter().collect());
        self
    }
}

/// The files of the run.
impl Learner {
    /// The state folder, to resume after a stop; secret.
    pub fn state(mut self, folder: impl Into<PathBuf>) -> Self {
        self.output.state = Some(folder.into());
        self
    }

    /// Keeps the state, in the place of a folder. Errors call it by this name.
    pub fn kept(mut self, name: impl Into<PathBuf>, keeper: Arc<dyn Keeper>) -> Self {
        self.output.state = Some(name.into());
        self.output.keeper = Some(keeper);
        self
    }

    /// Seals the key in the state folder; a resume needs the same seal.
    pub fn seal(mut self, seal: Arc<dyn KeySeal>) -> Self {
        self.output.seal = Some(seal);
        self
    }

    /// The file of the last model.
    pub fn model(mut self, path: impl Into<PathBuf>) -> Self {
        self.output.model = Some(path.into());
        self
    }

    /// The file of a report, for the operator only.
    pub fn report(mut self, path: impl Into<PathBuf>) -> Self {
        self.output.report = Some(path.into());
        self
    }

    /// Makes [`Run::publish`] return every release instead of the last one.
    pub fn every_release(mut self) -> Self {
        self.output.every = true;
        self
    }

    /// Leaves out figures computed from private data.
    pub fn quiet(mut self) -> Self {
        self.output.quiet = true;
        self
    }
}

/// Actions.
impl Learner {
    /// Plans a run on rows of the program. Spends nothing.
    ///
    /// # Errors
    /// A parameter that is missing or not allowed.
    pub fn plan(&self) -> Result<Plan, Error> {
        crate::run::plan(self)
    }

    /// Whether the ledger of [`Learner::on`] has room for the run. Spends nothing.
    ///
    /// # Errors
    /// [`Error::NoRoom`], which says what would fit; a parameter that is missing or not allowed.
    pub fn check_room(&self) -> Result<(), Error> {
        crate::run::check_room(self)
    }

    /// Plans, charges the ledger, and opens a run for rows of the program.
    ///
    /// # Errors
    /// A parameter that is missing or not allowed; a budget without room. Nothing is spent then.
    pub fn start(mut self) -> Result<Run, Error> {
        self.output.resume = false;
        Run::open(self)
    }

    /// Resumes the run in the state folder. Continue with the row after the first
    /// [`Run::records`].
    ///
    /// # Errors
    /// No run in the folder; a different description.
    pub fn resume(mut self) -> Result<Run, Error> {
        self.output.resume = true;
        Run::open(self)
    }

    /// Checks a whole file, charges the ledger, and learns from the file, as the program does.
    ///
    /// # Errors
    /// Malformed rows; the errors of [`Learner::start`].
    pub fn learn_file(mut self, path: impl Into<String>) -> Result<Outcome, Error> {
        self.data.file = path.into();
        self.learn_heard(&mut ())
    }

    /// Learns from the file of the description, and sends messages to a listener.
    ///
    /// # Errors
    /// As [`Learner::learn_file`].
    pub fn learn_heard(&self, listener: &mut dyn Listener) -> Result<Outcome, Error> {
        crate::run::learn(self, listener)
    }
}
