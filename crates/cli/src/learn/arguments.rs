//! The flags of `learn`.

use crate::names::{AdjacencyName, NoiseName};
use anyhow::Result;
use clap::{Args, ValueEnum};
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

/// What is predicted.
#[derive(Clone, Copy, ValueEnum, PartialEq, Eq)]
pub(crate) enum TaskName {
    /// A class: two of them, or as many as --classes names.
    Classify,
    /// A number.
    Regress,
    /// Which column, each the loss of one expert, to follow.
    Experts,
    /// Which arm to play, when only the loss of the played one is seen: a table with a column an arm, a --target whose value is the right one of --arms, or a log of played ones with --arm.
    Bandit,
}

/// How the text of a table is laid out: for csv and tsv.
#[derive(Args, Clone)]
pub(crate) struct TableText {
    /// What separates fields: one sign such as ';' or '|', or tab; by default what the format says.
    #[arg(long)]
    pub(crate) separator: Option<String>,
    /// The table has no header: its columns are named c1, c2, …
    #[arg(long)]
    pub(crate) no_header: bool,
    /// The table has no header, and these are the names of its columns, separated by commas.
    #[arg(long, value_delimiter = ',')]
    pub(crate) names: Vec<String>,
}

impl TableText {
    /// Adds what is stated to a schema.
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

/// What malformed rows do.
#[derive(Clone, Copy, ValueEnum, PartialEq, Eq)]
pub(crate) enum Malformed {
    /// They stop a run before it is charged.
    Refuse,
    /// Each is a round without a record.
    Empty,
}

/// The data and what is public about it.
#[derive(Args, Clone)]
#[command(next_help_heading = "Data")]
pub(crate) struct Data {
    /// The file of records, or - for standard input; gzip is recognised.
    pub(crate) file: String,
    /// csv, tsv, jsonl, vw or libsvm; by default what the file's name says.
    #[arg(long)]
    pub(crate) format: Option<String>,
    #[command(flatten)]
    pub(crate) table: TableText,
    /// A text that is a missing value, besides nothing, NA, N/A, NaN and null; several separated by
    /// commas.
    #[arg(long, value_delimiter = ',', allow_hyphen_values = true)]
    pub(crate) missing: Vec<String>,
    /// A schema in TOML; flags add to it. `hushstream schema FILE` writes a skeleton of one.
    #[arg(long)]
    pub(crate) schema: Option<String>,
    /// What is predicted.
    #[arg(long, value_enum)]
    pub(crate) task: Option<TaskName>,
    /// The column to predict.
    #[arg(long)]
    pub(crate) target: Option<String>,
    /// The target's value that counts as positive, all others as negative; by default 1 and true are positive, 0, -1 and false negative.
    #[arg(long)]
    pub(crate) positive: Option<String>,
    /// All classes, separated by commas: public.
    #[arg(long, value_delimiter = ',')]
    pub(crate) classes: Option<Vec<String>>,
    /// Bounds of a target that is a number, as low:high.
    #[arg(long, value_parser = range, allow_hyphen_values = true)]
    pub(crate) target_bounds: Option<(f64, f64)>,
    /// Losses are rewards: more is better.
    #[arg(long)]
    pub(crate) rewards: bool,
    /// All arms, separated by commas: public. With --target alone, its value is the arm that earns 1.
    #[arg(long, value_delimiter = ',')]
    pub(crate) arms: Option<Vec<String>>,
    /// Of a log: the column that tells which arm was played; --target is its loss or reward.
    #[arg(long)]
    pub(crate) arm: Option<String>,
    /// Of a log: the column that tells how likely that arm was; by default all were equally likely.
    #[arg(long, requires = "least_propensity")]
    pub(crate) propensity: Option<String>,
    /// Of a log: no propensity counts as smaller than this. Public; noise grows with its inverse.
    #[arg(long, value_parser = finite, requires = "propensity")]
    pub(crate) least_propensity: Option<f64>,
    /// Columns to use, separated by commas; * stands for any letters.
    #[arg(long, value_delimiter = ',')]
    pub(crate) features: Vec<String>,
    /// Columns not to use; * stands for any letters.
    #[arg(long, value_delimiter = ',')]
    pub(crate) ignore: Vec<String>,
    /// Public bounds of numbers: name=low:high,…
    #[arg(long)]
    pub(crate) bounds: Vec<String>,
    /// Public categories of texts: name=A|B|C,…
    #[arg(long)]
    pub(crate) vocabulary: Vec<String>,
    /// Groups of 0/1 columns of which at most one is 1: names, or patterns with *, separated by commas.
    #[arg(long, value_delimiter = ',')]
    pub(crate) one_hot: Vec<String>,
    /// Texts to be hashed: name=bits,…
    #[arg(long)]
    pub(crate) hashed: Vec<String>,
    /// Bits for all columns that nothing else describes; for VW text the bits of its one space.
    #[arg(long)]
    pub(crate) hash_bits: Option<u8>,
    /// Number of features in a libsvm file.
    #[arg(long)]
    pub(crate) dim: Option<u32>,
    /// The first index of a libsvm file, 0 or 1.
    #[arg(long)]
    pub(crate) index_base: Option<u8>,
    /// Bound on the length of a record's features; longer records are scaled down to it. By default what the bounds imply, and for classes half of that.
    #[arg(long, value_parser = finite)]
    pub(crate) norm: Option<f64>,
    /// No feature that is always 1.
    #[arg(long)]
    pub(crate) no_intercept: bool,
    /// Quoted fields of csv and tsv may hold line breaks. For files only, which are then held in
    /// memory.
    #[arg(long)]
    pub(crate) multiline: bool,
    /// What a row without a target is: malformed (error), or a round without a record (null).
    #[arg(long, value_parser = ["error", "null"], default_value = "error")]
    pub(crate) missing_target: String,
    /// Read the rows in an order drawn from this public seed; the file is held in memory.
    #[arg(long)]
    pub(crate) shuffle: Option<u64>,
}

/// What is promised.
#[derive(Args, Clone)]
#[command(next_help_heading = "Privacy")]
pub(crate) struct Privacy {
    /// Privacy loss ε.
    #[arg(long, value_parser = finite)]
    pub(crate) epsilon: f64,
    /// Privacy loss δ; 0 means pure differential privacy.
    #[arg(long, value_parser = finite, default_value_t = 0.0)]
    pub(crate) delta: f64,
    /// What a neighbouring data set is.
    #[arg(long, value_enum, default_value_t = AdjacencyName::ReplaceOne)]
    pub(crate) adjacency: AdjacencyName,
    /// What malformed rows do: stop a run before it is charged (refuse), which a file is checked
    /// for, or become rounds without a record (empty). By default refuse for a file, empty for a
    /// stream.
    #[arg(long, value_enum)]
    pub(crate) malformed: Option<Malformed>,
    /// Records; by default the file is counted. With an unknown horizon: about how many are expected.
    #[arg(long, value_parser = count)]
    pub(crate) rounds: Option<u64>,
    /// `unknown`: the stream may go on for ever.
    #[arg(long, value_parser = ["known", "unknown"], default_value = "known")]
    pub(crate) horizon: String,
    /// The column that tells persons apart: protect persons instead of records.
    #[arg(long, requires = "max_per_person")]
    pub(crate) person: Option<String>,
    /// Records a person may contribute, at most one a batch; further ones count as empty.
    #[arg(long, value_parser = count, requires = "person")]
    pub(crate) max_per_person: Option<u64>,
    /// Batches between two records of one person, at least; a record that comes sooner counts as empty.
    #[arg(long, value_parser = count, default_value_t = 1, requires = "person")]
    pub(crate) min_separation: u64,
    /// Batches for which a window recipe protects a record.
    #[arg(long, value_parser = count)]
    pub(crate) window: Option<u64>,
    /// The ledger that keeps the budget of this data over all runs; by default beside the file.
    #[arg(long)]
    pub(crate) ledger: Option<PathBuf>,
    /// The budget of this data over all runs; by default what the first run needs.
    #[arg(long, value_parser = finite)]
    pub(crate) total_epsilon: Option<f64>,
    /// The same for δ.
    #[arg(long, value_parser = finite)]
    pub(crate) total_delta: Option<f64>,
    /// Simulated noise for experiments: protects nobody, and says so.
    #[arg(long)]
    pub(crate) seed_insecure: Option<u64>,
}

/// How it is learned; what is not stated is chosen.
#[derive(Args, Clone)]
#[command(next_help_heading = "Method (chosen from public numbers if not stated)")]
pub(crate) struct Method {
    /// A recipe by name: see `hushstream recipes`.
    #[arg(long)]
    pub(crate) recipe: Option<RecipeName>,
    /// tree, tree-padded, honaker, smooth, blt, kary, window or octave.
    #[arg(long)]
    pub(crate) sum: Option<SumKind>,
    /// The noise.
    #[arg(long, value_enum)]
    pub(crate) noise: Option<NoiseName>,
    /// Records summed into one release; for pqftl and pftal-convex chosen from the number of records, otherwise 1.
    #[arg(long, value_parser = count)]
    pub(crate) batch: Option<u64>,
    /// logistic, squared, hinge, smoothed-hinge, absolute, quantile or huber.
    #[arg(long, value_parser = link)]
    pub(crate) loss: Option<Link>,
    /// Where weights live: ball, box or simplex.
    #[arg(long)]
    pub(crate) set: Option<String>,
    /// Its radius; by default as far as scores need and noise allows, or twice the largest target.
    #[arg(long, value_parser = finite)]
    pub(crate) radius: Option<f64>,
    /// Curvature H, or α of least squares.
    #[arg(long, value_parser = finite)]
    pub(crate) strong_convexity: Option<f64>,
    /// Learning rate η.
    #[arg(long, value_parser = finite)]
    pub(crate) learning_rate: Option<f64>,
    /// Ridge λ of least squares.
    #[arg(long, value_parser = finite)]
    pub(crate) ridge: Option<f64>,
}

/// What is shown and written.
#[derive(Args, Clone)]
#[command(next_help_heading = "Output")]
pub(crate) struct Output {
    /// Write the last model here: publishable.
    #[arg(long)]
    pub(crate) model: Option<PathBuf>,
    /// `sparse-ftrl`: weights that noise alone explains are 0 in the model.
    #[arg(long, requires = "model")]
    pub(crate) thresholded: bool,
    /// Write every released model here, one JSON object a line: publishable.
    #[arg(long)]
    pub(crate) releases: Option<PathBuf>,
    /// Write a report here, one HTML file: for the operator only.
    #[arg(long)]
    pub(crate) report: Option<PathBuf>,
    /// Keep what is needed to go on after a stop in this folder: secret.
    #[arg(long)]
    pub(crate) state: Option<PathBuf>,
    /// Milliseconds between two syncs of the disk: released models leave then.
    #[arg(long, default_value_t = 500)]
    pub(crate) sync_milliseconds: u64,
    /// Go on with the run in --state, with the same data: rows may have been appended, but not
    /// under --shuffle.
    #[arg(long, requires = "state")]
    pub(crate) resume: bool,
    /// Print one JSON object.
    #[arg(long)]
    pub(crate) json: bool,
    /// Show nothing that is computed from private data.
    #[arg(long, conflicts_with = "report")]
    pub(crate) quiet: bool,
    /// Also run the same learner without privacy, to tell what privacy costs: for the operator only.
    #[arg(long, conflicts_with = "quiet")]
    pub(crate) without_privacy: bool,
}

impl Arguments {
    /// The run that the flags describe.
    pub(crate) fn learner(&self) -> Result<Learner> {
        let (privacy, method, output) = (&self.privacy, &self.method, &self.output);
        Ok(Learner {
            data: hushstream::learner::Data {
                malformed: privacy.malformed.map(Into::into),
                ..self.data.described(privacy.person.as_ref())?
            },
            privacy: hushstream::learner::Privacy {
                epsilon: privacy.epsilon,
                delta: privacy.delta,
                adjacency: Some(privacy.adjacency.into()),
                rounds: privacy.rounds,
                horizon_unknown: privacy.horizon == "unknown",
                max_per_person: privacy.max_per_person,
                min_separation: privacy.min_separation,
                ledger: privacy.ledger.clone(),
                total_epsilon: privacy.total_epsilon,
                total_delta: privacy.total_delta,
                seed_insecure: privacy.seed_insecure,
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
            },
            output: hushstream::learner::Output {
                model: output.model.clone(),
                thresholded: output.thresholded,
                releases: output.releases.clone(),
                report: output.report.clone(),
                state: output.state.clone(),
                sync: Duration::from_millis(output.sync_milliseconds),
                every: false,
                resume: output.resume,
                quiet: output.quiet,
                without_privacy: output.without_privacy,
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
            multiline: self.multiline,
            shuffle: self.shuffle,
            malformed: None,
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
        None if schema.task.is_none() && schema.classes.is_some() => Some(Task::Multiclass),
        None if schema.task.is_none() && schema.target_bounds.is_some() => Some(Task::Regress),
        None => schema.task,
    };
    Ok(schema)
}

fn range(text: &str) -> Result<(f64, f64), String> {
    let parts = text.split_once(':').ok_or("expected low:high")?;
    Ok((finite(parts.0)?, finite(parts.1)?))
}

fn link(name: &str) -> Result<Link, String> {
    Ok(match name {
        "logistic" => Link::Logistic,
        "squared" => Link::Squared,
        "hinge" => Link::Hinge,
        "smoothed-hinge" => Link::SmoothedHinge(0.5),
        "absolute" => Link::Absolute,
        "quantile" => Link::Quantile(0.5),
        "huber" => Link::Huber(1.0),
        _ => {
            return Err(
                "allowed: logistic, squared, hinge, smoothed-hinge, absolute, quantile, huber"
                    .to_owned(),
            );
        }
    })
}
