//! The description of a run: everything that is public about it, and where it is kept.

use hushstream_account::Adjacency;
use hushstream_engine::Wishes;
use hushstream_mechanism::losses::Link;
use hushstream_pictures::numbers::delta;
use hushstream_read::SchemaSpec;
use std::path::PathBuf;
use std::time::Duration;

/// The description of a run.
#[derive(Clone, Default)]
pub struct Learner {
    /// The data and what is public about it.
    pub data: Data,
    /// What is promised.
    pub privacy: Privacy,
    /// What is decided about the method; the rest is chosen from public numbers.
    pub wishes: Wishes,
    /// What is written and shown.
    pub output: Output,
}

impl Learner {
    /// The flags of privacy and method that a run is planned by, as they are written.
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
            ("adjacency", Some(privacy.adjacency.to_string())),
            ("horizon", Some(horizon.to_owned())),
            ("max-per-person", count(privacy.max_per_person)),
            ("min-separation", Some(privacy.min_separation.to_string())),
            ("window", count(wishes.window)),
            ("recipe", wishes.recipe.map(|recipe| recipe.to_string())),
            ("sum", wishes.sum.map(|sum| sum.to_string())),
            ("noise", wishes.noise.map(|noise| noise.to_string())),
            ("batch", count(wishes.batch)),
            ("loss", wishes.link.map(|link| link_name(link).to_owned())),
            ("set", wishes.set.clone()),
            ("radius", number(wishes.radius)),
            ("strong-convexity", number(wishes.curvature)),
            ("learning-rate", number(wishes.learning_rate)),
            ("ridge", number(wishes.ridge)),
            ("least-propensity", number(self.data.least_propensity)),
        ];
        let stated = flags.into_iter();
        stated
            .filter_map(|(flag, value)| Some(format!("--{flag} {}", value?)))
            .collect()
    }
}

fn link_name(link: Link) -> &'static str {
    match link {
        Link::Logistic => "logistic",
        Link::Squared => "squared",
        Link::Hinge => "hinge",
        Link::SmoothedHinge(_) => "smoothed-hinge",
        Link::Absolute => "absolute",
        Link::Quantile(_) => "quantile",
        Link::Huber(_) => "huber",
    }
}

/// What malformed rows do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Malformed {
    /// They stop a run before it is charged.
    Refuse,
    /// Each is a round without a record.
    Empty,
}

/// The data and what is public about it.
#[derive(Clone, Default)]
pub struct Data {
    /// The file of records, or `-` for standard input.
    pub file: String,
    /// The name of its format; by default what the file's name says.
    pub format: Option<String>,
    /// What columns mean.
    pub schema: SchemaSpec,
    /// Whether quoted fields may hold line breaks.
    pub multiline: bool,
    /// Read the rows in an order drawn from this public seed.
    pub shuffle: Option<u64>,
    /// What malformed rows do; by default they are refused in a file and empty in a stream.
    pub malformed: Option<Malformed>,
    /// Of a log: no propensity counts as smaller than this.
    pub least_propensity: Option<f64>,
}

/// What is promised.
#[derive(Clone)]
pub struct Privacy {
    /// Privacy loss ε.
    pub epsilon: f64,
    /// Privacy loss δ; 0 means pure differential privacy.
    pub delta: f64,
    /// The neighbouring relation.
    pub adjacency: Adjacency,
    /// Records; by default the file is counted. With an unknown horizon: about how many.
    pub rounds: Option<u64>,
    /// Whether the stream may go on for ever.
    pub horizon_unknown: bool,
    /// Records that one person may contribute: persons are protected instead of records.
    pub max_per_person: Option<u64>,
    /// Batches between two records of one person, at least.
    pub min_separation: u64,
    /// The ledger's file; by default beside the data.
    pub ledger: Option<PathBuf>,
    /// ε of all runs on the ledger; by default what the first run needs.
    pub total_epsilon: Option<f64>,
    /// The same for δ.
    pub total_delta: Option<f64>,
    /// Simulated noise for experiments, which protects nobody.
    pub seed_insecure: Option<u64>,
}

impl Default for Privacy {
    fn default() -> Self {
        Self {
            epsilon: 0.0,
            delta: 0.0,
            adjacency: Adjacency::ReplaceOne,
            rounds: None,
            horizon_unknown: false,
            max_per_person: None,
            min_separation: 1,
            ledger: None,
            total_epsilon: None,
            total_delta: None,
            seed_insecure: None,
        }
    }
}

/// What is written and shown.
#[derive(Clone, Default)]
pub struct Output {
    /// The file of the last model: publishable.
    pub model: Option<PathBuf>,
    /// Whether weights of `sparse-ftrl` that noise alone explains are 0 in the model.
    pub thresholded: bool,
    /// The file of every release: publishable.
    pub releases: Option<PathBuf>,
    /// The file of the report: for the operator only.
    pub report: Option<PathBuf>,
    /// The state folder: secret.
    pub state: Option<PathBuf>,
    /// Time between two syncs of the disk.
    pub sync: Duration,
    /// Whether to go on with the run in the state folder.
    pub resume: bool,
    /// Whether nothing is computed from private data for the operator.
    pub quiet: bool,
    /// Whether the same learner runs without privacy beside it, for the operator.
    pub without_privacy: bool,
}

/// What a run tells while it goes on.
pub trait Listener {
    /// From public numbers and names of files.
    fn say(&mut self, _text: &str) {}
    /// A note about a file.
    fn note(&mut self, _text: &str) {}
    /// For the operator: computed from private data.
    fn warn(&mut self, _text: &str) {}
    /// Whether lines of progress are shown.
    fn shows_progress(&self) -> bool {
        false
    }
    /// For the operator: figures at doubling counts.
    fn progress(&mut self, _line: &crate::progress::Line) {}
}

/// Hears nothing.
impl Listener for () {}
