//! The flags of `learn`.

use crate::names::{AdjacencyName, NoiseName};
use anyhow::Result;
use clap::{Args, ValueEnum};
use hushstream::Model;
use hushstream::decisions::{DecisionWishes, Judge};
use hushstream::learner::Learner;
use hushstream_mechanism::losses::Link;
use hushstream_mechanism::sums::SumKind;
use hushstream_pictures::numbers::{count, finite};
use hushstream_read::{Fault, Form, Format, MissingTarget, SchemaSpec, Task};
use hushstream_recipes::{RecipeName, Wishes};
use std::path::PathBuf;
use std::time::Duration;

/// Arguments of `learn`.
#[derive(Args, Clone)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) data: Data,
    #[command(flatten)]
    pub(crate) privacy: Privacy,
    #[command(flatten)]
    pub(crate) method: Method,
    #[command(flatten)]
    pub(crate) output: Output,
}

/// The learning task.
#[derive(Clone, Copy, ValueEnum, PartialEq, Eq)]
pub(crate) enum TaskName {
    /// Predict a class: one of two, or one of --classes.
    Classify,
    /// Predict a number.
    Regress,
    /// Choose an expert: each column holds the losses of one expert.
    Experts,
    /// Choose an arm and see only its loss. The data is a table with one column per arm, a --target
    /// that names the right one of --arms, or a log of played arms with --arm.
    Bandit,
    /// Choose an arm by the other columns, the context. The data is a --target that names the right
    /// one of --arms, a log of played arms with --arm, or a table whose columns --arms are rewards.
    Decide,
}

/// The layout of csv and tsv text.
#[derive(Args, Clone)]
pub(crate) struct TableText {
    /// The field separator: one character such as ';' or '|', or tab; by default the format's.
    #[arg(long)]
    pub(crate) separator: Option<String>,
    /// The table has no header; its columns are named c1, c2, …
    #[arg(long)]
    pub(crate) no_header: bool,
    /// Column names of a table without a header, separated by commas.
    #[arg(long, value_delimiter = ',')]
    pub(crate) names: Vec<String>,
}

impl TableText {
    /// Adds the stated flags to a schema.
    pub(crate) fn add_to(&self, schema: &mut SchemaSpec) {
        if self.separator.is_some() {
            schema.separator.clone_from(&self.separator);
        }
        if self.no_header {
            schema.no_header = Some(true);
        }
        if !self.names.is_empty() {
            schema.names.clone_from(&self.names);
        }
    }

    /// The form of a file in this format.
    pub(crate) fn form(&self, format: Format) -> Result<Form, Fault> {
        Form::new(
            format,
            self.separator.as_deref(),
            self.no_header,
            &self.names,
        )
    }
}

/// The treatment of malformed rows.
#[derive(Clone, Copy, ValueEnum, PartialEq, Eq)]
pub(crate) enum Malformed {
    /// A malformed row stops the run before it is charged.
    Refuse,
    /// A malformed row is a round without a record.
    Empty,
}

/// The data and its public properties.
#[derive(Args, Clone)]
#[command(next_help_heading = "Data")]
pub(crate) struct Data {
    /// The file of records, or - for standard input; gzip is detected.
    pub(crate) file: String,
    /// csv, tsv, jsonl, vw or libsvm; by default from the file's name.
    #[arg(long)]
    pub(crate) format: Option<String>,
    #[command(flatten)]
    pub(crate) table: TableText,
    /// Texts that mean a missing value, separated by commas, besides the empty text, NA, N/A, NaN
    /// and null.
    #[arg(long, value_delimiter = ',', allow_hyphen_values = true)]
    pub(crate) missing: Vec<String>,
    /// A schema in TOML; flags add to it. `hushstream schema FILE` writes a skeleton.
    #[arg(long)]
    pub(crate) schema: Option<String>,
    /// The learning task.
    #[arg(long, value_enum)]
    pub(crate) task: Option<TaskName>,
    /// The column to predict.
    #[arg(long)]
    pub(crate) target: Option<String>,
    /// The positive value of the target; all others are negative. By default 1 and true are
    /// positive, 0, -1 and false negative.
    #[arg(long)]
    pub(crate) positive: Option<String>,
    /// All classes, separated by commas; public.
    #[arg(long, value_delimiter = ',')]
    pub(crate) classes: Option<Vec<String>>,
    /// Bounds of a numeric target, as low:high.
    #[arg(long, value_parser = range, allow_hyphen_values = true)]
    pub(crate) target_bounds: Option<(f64, f64)>,
    /// Read losses as rewards: more is better.
    #[arg(long)]
    pub(crate) rewards: bool,
    /// All arms, separated by commas; public. With --target alone, its value is the arm that earns
    /// 1.
    #[arg(long, value_delimiter = ',')]
    pub(crate) arms: Option<Vec<String>>,
    /// For a log: the column of the played arm; --target is its loss or reward.
    #[arg(long)]
    pub(crate) arm: Option<String>,
    /// For a log: the column of the played arm's probability; by default all arms were equally
    /// likely.
    #[arg(long, requires = "least_propensity")]
    pub(crate) propensity: Option<String>,
    /// For a log: a lower bound on propensities; smaller ones are raised to it. Public; noise grows
    /// with its inverse.
    #[arg(long, value_parser = finite, requires = "propensity")]
    pub(crate) least_propensity: Option<f64>,
    /// Columns to use, separated by commas; * matches any text.
    #[arg(long, value_delimiter = ',')]
    pub(crate) features: Vec<String>,
    /// Columns to leave out, separated by commas; * matches any text.
    #[arg(long, value_delimiter = ',')]
    pub(crate) ignore: Vec<String>,
    /// Public bounds of numeric columns: name=low:high,…
    #[arg(long)]
    pub(crate) bounds: Vec<String>,
    /// Public categories of text columns: name=A|B|C,…
    #[arg(long)]
    pub(crate) vocabulary: Vec<String>,
    /// Groups of 0/1 columns of which at most one is 1: names or patterns with *, separated by
    /// commas.
    #[arg(long, value_delimiter = ',')]
    pub(crate) one_hot: Vec<String>,
    /// Columns of dates, as 2013-01-31 or 2013-01-31T14:05: they become month, day of the week and
    /// hour.
    #[arg(long, value_delimiter = ',')]
    pub(crate) dates: Vec<String>,
    /// Text columns to hash: name=bits,…
    #[arg(long)]
    pub(crate) hashed: Vec<String>,
    /// Hash bits for all columns without a description; for VW text, the bits of its feature
    /// space.
    #[arg(long)]
    pub(crate) hash_bits: Option<u8>,
    /// Number of features in a libsvm file.
    #[arg(long)]
    pub(crate) dim: Option<u32>,
    /// The first index of a libsvm file, 0 or 1.
    #[arg(long)]
    pub(crate) index_base: Option<u8>,
    /// Bound on the length of a record's features; longer records are scaled down to it. By default
    /// the length that the bounds imply, and half of it for classes.
    #[arg(long, value_parser = finite)]
    pub(crate) norm: Option<f64>,
    /// Leave out the feature that is always 1.
    #[arg(long)]
    pub(crate) no_intercept: bool,
    /// Quoted fields of csv and tsv may contain line breaks. Files only; the file is held in
    /// memory.
    #[arg(long)]
    pub(crate) multiline: bool,
    /// Treat a row without a target as malformed (error) or as a round without a record (null).
    #[arg(long, value_parser = ["error", "null"], default_value = "error")]
    pub(crate) missing_target: String,
    /// Read the rows in an order drawn from this public seed; the file is held in memory.
    #[arg(long)]
    pub(crate) shuffle: Option<u64>,
    /// Number of passes over the records of a file. By default 1, or 20 for a file of at most
    /// 100,000 records from which only curves are learned.
    #[arg(long)]
    pub(crate) passes: Option<u64>,
}

/// The privacy guarantee of a learner.
#[derive(Args, Clone)]
#[command(next_help_heading = "Privacy")]
pub(crate) struct Privacy {
    #[command(flatten)]
    pub(crate) promise: Promise,
    /// Number of records; by default the rows of the file are counted. With an unknown horizon, a
    /// rough guess.
    #[arg(long, value_parser = count)]
    pub(crate) rounds: Option<u64>,
    /// Batches over which a window recipe protects a record.
    #[arg(long, value_parser = count)]
    pub(crate) window: Option<u64>,
}

/// The privacy guarantee.
#[derive(Args, Clone)]
#[command(next_help_heading = "Privacy")]
pub(crate) struct Promise {
    /// Privacy loss ε.
    #[arg(long, value_parser = finite)]
    pub(crate) epsilon: f64,
    /// Privacy loss δ; 0 means pure differential privacy.
    #[arg(long, value_parser = finite, default_value_t = 0.0)]
    pub(crate) delta: f64,
    /// The neighbouring relation.
    #[arg(long, value_enum, default_value_t = AdjacencyName::ReplaceOne)]
    pub(crate) adjacency: AdjacencyName,
    /// Malformed rows stop the run before it is charged (refuse), or become rounds without a record
    /// (empty). By default refuse for a file and empty for a stream.
    #[arg(long, value_enum)]
    pub(crate) malformed: Option<Malformed>,
    /// Whether the number of records is known; with `unknown` the stream may be endless.
    #[arg(long, value_parser = ["known", "unknown"], default_value = "known")]
    pub(crate) horizon: String,
    /// The column of person identifiers: protect persons instead of records.
    #[arg(long, requires = "max_per_person")]
    pub(crate) person: Option<String>,
    /// Records that one person may contribute, at most one per batch; further ones count as empty.
    #[arg(long, value_parser = count, requires = "person")]
    pub(crate) max_per_person: Option<u64>,
    /// Least distance, in batches, between two records of one person; an earlier record counts as
    /// empty.
    #[arg(long, value_parser = count, default_value_t = 1, requires = "person")]
    pub(crate) min_separation: u64,
    /// The ledger file, with the budget of this data over all runs; by default beside the data.
    #[arg(long)]
    pub(crate) ledger: Option<PathBuf>,
    /// Total ε of this data over all runs; by default the first run's ε.
    #[arg(long, value_parser = finite)]
    pub(crate) total_epsilon: Option<f64>,
    /// Total δ of this data over all runs; by default the first run's δ.
    #[arg(long, value_parser = finite)]
    pub(crate) total_delta: Option<f64>,
    /// Draw simulated noise from this seed, for experiments: it protects nobody.
    #[arg(long)]
    pub(crate) seed_insecure: Option<u64>,
}

impl Promise {
    /// The promise that the flags describe.
    pub(crate) fn described(&self) -> hushstream::learner::Privacy {
        hushstream::learner::Privacy {
            epsilon: self.epsilon,
            delta: self.delta,
            adjacency: Some(self.adjacency.into()),
            rounds: None,
            horizon_unknown: self.horizon == "unknown",
            max_per_person: self.max_per_person,
            min_separation: self.min_separation,
            ledger: self.ledger.clone(),
            shared: None,
            total_epsilon: self.total_epsilon,
            total_delta: self.total_delta,
            seed_insecure: self.seed_insecure,
        }
    }
}

/// The learning method. Options that are not stated are chosen automatically.
#[derive(Args, Clone)]
#[command(next_help_heading = "Method (chosen from public numbers if not stated)")]
pub(crate) struct Method {
    /// The recipe: see `hushstream recipes`.
    #[arg(long)]
    pub(crate) recipe: Option<RecipeName>,
    /// For the recipe tables: columns that each table takes, 1 to 3, or 0 for curves alone.
    #[arg(long)]
    pub(crate) tables: Option<u32>,
    /// The sum: tree, tree-padded, honaker, smooth, blt, kary, window, octave, eras, fresh,
    /// blt-normalised, or dense for at most 1,024 releases.
    #[arg(long)]
    pub(crate) sum: Option<SumKind>,
    /// The noise distribution.
    #[arg(long, value_enum)]
    pub(crate) noise: Option<NoiseName>,
    /// Records per release; by default chosen from the number of records for pqftl and
    /// pftal-convex, and 1 otherwise.
    #[arg(long, value_parser = count)]
    pub(crate) batch: Option<u64>,
    /// The loss: logistic, squared, hinge, smoothed-hinge, absolute, quantile or huber; with a
    /// parameter as in quantile:0.9.
    #[arg(long)]
    pub(crate) loss: Option<Link>,
    /// The set of the weights: ball, box or simplex.
    #[arg(long)]
    pub(crate) set: Option<String>,
    /// The radius of the set; by default from the scores and the noise, or twice the largest
    /// target.
    #[arg(long, value_parser = finite)]
    pub(crate) radius: Option<f64>,
    /// Start afresh after this many rounds, for streams that drift: experts and bandits. Each
    /// season has the whole budget.
    #[arg(long, value_parser = count)]
    pub(crate) restart_every: Option<u64>,
    /// Strong convexity H, or α of least squares.
    #[arg(long, value_parser = finite)]
    pub(crate) strong_convexity: Option<f64>,
    /// Learning rate η.
    #[arg(long, value_parser = finite)]
    pub(crate) learning_rate: Option<f64>,
    /// Ridge λ of least squares.
    #[arg(long, value_parser = finite)]
    pub(crate) ridge: Option<f64>,
    /// Knots of a number's curve, for recipes that learn curves; for decisions 0 means linear
    /// features.
    #[arg(long)]
    pub(crate) knots: Option<u32>,
    /// For decisions: by which factor to explore less than the worst case requires; 4 by default.
    #[arg(long, value_parser = finite)]
    pub(crate) exploration: Option<f64>,
    /// For decisions: policies to evaluate privately beside the one that learns, separated by
    /// commas: current, uniform, arm:NAME, or the file of a published policy.
    #[arg(long, value_delimiter = ',')]
    pub(crate) evaluate: Option<Vec<String>>,
    /// For decisions: the share of μ² that evaluation takes; 0.05 by default, 0 for none.
    #[arg(long, value_parser = finite)]
    pub(crate) evaluation_share: Option<f64>,
    /// For decisions: the greatest weight of a record in an evaluation; larger ones are clipped to
    /// it. By default that of the log, or four times the number of arms.
    #[arg(long, value_parser = finite)]
    pub(crate) greatest_weight: Option<f64>,
    /// For decisions: play the first arm always, while the policy learns from what it earns.
    #[arg(long)]
    pub(crate) first_arm: bool,
}

impl Method {
    /// What is stated about decisions.
    fn decisions(&self) -> Result<DecisionWishes> {
        let judge = |name: &String| {
            Ok(match (name.as_str(), name.strip_prefix("arm:")) {
                ("current", _) => Judge::Current,
                ("uniform", _) => Judge::Uniform,
                (_, Some(arm)) => Judge::Arm(arm.to_owned()),
                (file, None) => Judge::Model(Box::new(Model::load(file)?)),
            })
        };
        let evaluate = self.evaluate.as_ref();
        let evaluate = evaluate.map(|names| names.iter().map(judge).collect::<Result<_>>());
        Ok(DecisionWishes {
            exploration: self.exploration,
            first_arm: self.first_arm,
            evaluate: evaluate.transpose()?,
            evaluation_share: self.evaluation_share,
            greatest_weight: self.greatest_weight,
            ..DecisionWishes::default()
        })
    }
}

/// Printed output and written files.
#[derive(Args, Clone)]
#[command(next_help_heading = "Output")]
pub(crate) struct Output {
    /// Write the last model to this file; publishable.
    #[arg(long)]
    pub(crate) model: Option<PathBuf>,
    /// For sparse-ftrl: set weights within the noise to 0 in the model.
    #[arg(long, requires = "model")]
    pub(crate) thresholded: bool,
    /// Write every released model to this file, one JSON object per line; publishable.
    #[arg(long)]
    pub(crate) releases: Option<PathBuf>,
    /// Write a report to this HTML file; for the operator only.
    #[arg(long)]
    pub(crate) report: Option<PathBuf>,
    /// Save the state of the run to this folder, to resume after a stop; secret.
    #[arg(long)]
    pub(crate) state: Option<PathBuf>,
    /// Milliseconds between two disk syncs; models are released at each sync.
    #[arg(long, default_value_t = 500)]
    pub(crate) sync_milliseconds: u64,
    /// Resume the run in --state on the same data. Rows may have been appended, except with
    /// --shuffle.
    #[arg(long, requires = "state")]
    pub(crate) resume: bool,
    /// Print one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
    /// Print no figures computed from private data.
    #[arg(long, conflicts_with = "report")]
    pub(crate) quiet: bool,
    /// Also run the same learner without privacy, to show the cost of privacy; for the operator
    /// only.
    #[arg(long, conflicts_with = "quiet")]
    pub(crate) without_privacy: bool,
    /// Score the last model on the rows of this file, which it does not learn from; for the
    /// operator only.
    #[arg(long, conflicts_with = "quiet")]
    pub(crate) test: Option<String>,
}

impl Arguments {
    /// The run that the flags describe.
    pub(crate) fn learner(&self) -> Result<Learner> {
        let (privacy, method, output) = (&self.privacy, &self.method, &self.output);
        let mut data = hushstream::learner::Data {
            malformed: privacy.promise.malformed.map(Into::into),
            ..self.data.described(privacy.promise.person.as_ref())?
        };
        data.schema.knots = method.knots.or(data.schema.knots);
        Ok(Learner {
            data,
            privacy: hushstream::learner::Privacy {
                rounds: privacy.rounds,
                ..privacy.promise.described()
            },
            wishes: Wishes {
                recipe: method.recipe,
                sum: method.sum,
                noise: method.noise.map(Into::into),
                batch: method.batch,
                set: method.set.clone(),
                radius: method.radius,
                curvature: method.strong_convexity,
                learning_rate: method.learning_rate,
                ridge: method.ridge,
                link: method.loss,
                window: privacy.window,
                restart: method.restart_every,
                tables: method.tables,
            },
            decisions: method.decisions()?,
            output: hushstream::learner::Output {
                model: output.model.clone(),
                thresholded: output.thresholded,
                releases: output.releases.clone(),
                report: output.report.clone(),
                state: output.state.clone(),
                keeper: None,
                seal: None,
                sync: Duration::from_millis(output.sync_milliseconds),
                every: false,
                resume: output.resume,
                quiet: output.quiet,
                without_privacy: output.without_privacy,
                test: output.test.clone(),
                command: None,
            },
        })
    }
}

impl Data {
    /// The data that the flags describe.
    pub(crate) fn described(&self, person: Option<&String>) -> Result<hushstream::learner::Data> {
        Ok(hushstream::learner::Data {
            file: self.file.clone(),
            format: self.format.clone(),
            schema: schema(self, person)?,
            layout: None,
            multiline: self.multiline,
            shuffle: self.shuffle,
            passes: self.passes,
            malformed: None,
            at_rest: false,
            least_propensity: self.least_propensity,
        })
    }
}

impl From<Malformed> for hushstream::learner::Malformed {
    fn from(name: Malformed) -> Self {
        match name {
            Malformed::Refuse => Self::Refuse,
            Malformed::Empty => Self::Empty,
        }
    }
}

/// The schema: the file's, with the flags added.
fn schema(data: &Data, person: Option<&String>) -> Result<SchemaSpec> {
    let mut schema = match &data.schema {
        Some(path) => SchemaSpec::from_file(path)?,
        None => SchemaSpec::default(),
    };
    data.table.add_to(&mut schema);
    schema.missing.extend(data.missing.iter().cloned());
    let set = |slot: &mut Option<String>, flag: Option<&String>| {
        if let Some(value) = flag {
            *slot = Some(value.clone());
        }
    };
    set(&mut schema.target, data.target.as_ref());
    set(&mut schema.positive, data.positive.as_ref());
    set(&mut schema.person, person);
    set(&mut schema.arm, data.arm.as_ref());
    set(&mut schema.propensity, data.propensity.as_ref());
    if data.arms.is_some() {
        schema.arms.clone_from(&data.arms);
    }
    if data.rewards {
        schema.rewards = Some(true);
    }
    if data.classes.is_some() {
        schema.classes.clone_from(&data.classes);
    }
    if data.target_bounds.is_some() {
        schema.target_bounds = data.target_bounds;
    }
    schema.features.extend(data.features.iter().cloned());
    schema.ignore.extend(data.ignore.iter().cloned());
    schema.one_hot.extend(data.one_hot.iter().cloned());
    schema.dates.extend(data.dates.iter().cloned());
    for flag in &data.bounds {
        schema.add_bounds(flag)?;
    }
    for flag in &data.vocabulary {
        schema.add_vocabulary(flag)?;
    }
    for flag in &data.hashed {
        schema.add_hashed(flag)?;
    }
    schema.hash_bits = data.hash_bits.or(schema.hash_bits);
    schema.dimension = data.dim.or(schema.dimension);
    schema.index_base = data.index_base.or(schema.index_base);
    schema.norm = data.norm.or(schema.norm);
    if data.no_intercept {
        schema.intercept = Some(false);
    }
    if data.missing_target == "null" {
        schema.missing_target = Some(MissingTarget::Null);
    }
    schema.task = match data.task {
        Some(TaskName::Classify) if schema.classes.is_some() => Some(Task::Multiclass),
        Some(TaskName::Classify) => Some(Task::Classify),
        Some(TaskName::Regress) => Some(Task::Regress),
        Some(TaskName::Experts) => Some(Task::Experts),
        Some(TaskName::Bandit) => Some(Task::Bandit),
        Some(TaskName::Decide) => Some(Task::Decide),
        None if schema.task.is_none() && schema.classes.is_some() => Some(Task::Multiclass),
        None if schema.task.is_none() && schema.target_bounds.is_some() => Some(Task::Regress),
        None => schema.task,
    };
    Ok(schema)
}

pub(crate) fn range(text: &str) -> Result<(f64, f64), String> {
    let parts = text.split_once(':').ok_or("expected low:high")?;
    Ok((finite(parts.0)?, finite(parts.1)?))
}
