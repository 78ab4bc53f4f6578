//! Builds a reader from a description, and the public facts about the task from a layout.

use crate::error::{Context, Result, refuse};
use crate::learner::{Data, Learner, Malformed};
use crate::methods;
use hushstream_account::Budget;
use hushstream_mechanism::decisions::Outcomes;
use hushstream_mechanism::feedback::Reading;
use hushstream_mechanism::losses::Link;
use hushstream_mechanism::{Probability, Yardstick};
use hushstream_read::{Encoding, Format, Input, Layout, Reader, SchemaSpec, Space, TargetKind};
use hushstream_recipes::{LearnsFrom, RecipeName, Situation, Task};
use std::io::Cursor;
use std::sync::Arc;

/// The data, which is opened for a check and again for a run.
#[derive(Clone)]
pub struct Origin {
    data: Data,
    /// With `--multiline` the bytes of the file: a record with quotes out of order would hide where
    /// the next one begins, so the run must read the very bytes that were checked.
    held: Option<Arc<[u8]>>,
}

impl Origin {
    /// The origin of a file or a stream.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn new(data: &Data) -> Result<Self> {
        let held = if data.multiline {
            if is_stream(&data.file) {
                refuse!(
                    "‹multiline› is for files: in a stream one quote could hide every record after \
                     it; write the stream to a file first"
                );
            }
            // Opening it reports a file that cannot be read.
            let input = Input::open(&data.file)?;
            if !format(data, &input)?.is_table() {
                refuse!("‹multiline› is for csv and tsv: other formats have one record per line");
            }
            let bytes = std::fs::read(&data.file);
            Some(
                bytes
                    .with_context(|| format!("{}: cannot be read", data.file))?
                    .into(),
            )
        } else {
            None
        };
        Ok(Self {
            data: data.clone(),
            held,
        })
    }

    /// A reader in the order of the file.
    pub fn open(&self, schema: &SchemaSpec) -> Result<Reader> {
        let file = &self.data.file;
        let input = match &self.held {
            Some(bytes) => Input::from_reader(file, Cursor::new(Arc::clone(bytes)))?.multiline(),
            None => Input::open(file)?,
        };
        let is_numbered = schema.no_header == Some(true) && schema.names.is_empty();
        if is_numbered && is_stream(file) {
            refuse!(
                "‹no-header› is not enough in a stream, where its first record would decide how \
                 many columns there are: name them with ‹names a,b,c›"
            );
        }
        let format = format(&self.data, &input)?;
        // Only a header may decide: the bytes of a record must not.
        let has_header = format.is_table() && schema.names.is_empty();
        if input.is_parquet() && has_header && is_stream(file) {
            refuse!("Parquet has its index at the end and is no stream: write it to a file first");
        }
        Ok(Reader::open(input, format, schema)?)
    }

    /// A reader in the order of the run.
    pub fn open_in_order(&self, schema: &SchemaSpec) -> Result<Reader> {
        let reader = self.open(schema)?;
        Ok(match self.data.shuffle {
            Some(seed) => reader.shuffled(seed)?,
            None => reader,
        })
    }
}

/// The treatment of malformed rows. The default depends only on whether the data is a file.
pub fn malformed(learner: &Learner) -> Result<Malformed> {
    match (learner.data.malformed, !is_at_rest(&learner.data)) {
        (Some(Malformed::Refuse), true) => refuse!(
            "‹malformed refuse› is for files: a stream cannot be checked before it is read; leave \
             it out, and malformed rows become rounds without a record"
        ),
        (None, true) => Ok(Malformed::Empty),
        (None, false) => Ok(Malformed::Refuse),
        (Some(stated), _) => Ok(stated),
    }
}

pub(crate) fn format(data: &Data, input: &Input) -> Result<Format> {
    Ok(match &data.format {
        Some(name) => name.parse()?,
        None => input.guess_format()?,
    })
}

/// The state folder's note on a run whose file was checked. Such a run may be resumed from a
/// stream, and the reverse.
pub const CHECKED: &str = ", checked before";

/// The order and the meaning of rows, in a line that a resumed run compares.
pub fn reading(learner: &Learner, schema: &SchemaSpec, layout: &Layout) -> Result<String> {
    let meaning = serde_json::to_vec(&(layout, &schema.person))?;
    let mut order = learner.data.shuffle.map_or_else(
        || "in the order of the file".to_owned(),
        |seed| format!("shuffled by {seed}"),
    );
    // If a header were read as a record, or the reverse, rows would move by one.
    if schema.no_header == Some(true) || !schema.names.is_empty() {
        order += ", without a header";
    }
    if learner.data.multiline {
        order += ", with line breaks in quotes";
    }
    if learner.data.file.is_empty() {
        order += ", rows of a program";
    }
    if malformed(learner)? == Malformed::Refuse {
        order += CHECKED;
    }
    Ok(format!("{order}, layout {:08x}", crc32fast::hash(&meaning)))
}

/// Whether the data can be read only once: standard input, or a pipe with a name.
pub fn is_stream(file: &str) -> bool {
    // Rows of a program come from no file.
    let is_read_once = file == "-" || file.is_empty();
    is_read_once || std::fs::metadata(file).is_ok_and(|about| !about.is_file() && !about.is_dir())
}

/// Whether all rows are there before the run, to be checked and read several times.
pub fn is_at_rest(data: &Data) -> bool {
    data.at_rest || !is_stream(&data.file)
}

/// The horizon T: that of the stored run, the stated one, or the number of rows that a check or a
/// shuffle has counted, which is public.
pub fn rounds(learner: &Learner, counted: Option<u64>, stored: Option<u64>) -> Result<u64> {
    if let Some(rounds) = stored.or(learner.privacy.rounds) {
        return Ok(rounds);
    }
    if learner.privacy.horizon_unknown {
        return Ok(1 << 20);
    }
    match counted {
        Some(rows) => Ok(rows),
        None => refuse!(
            "the number of records in a stream is not known: state ‹rounds N›, or ‹horizon unknown›"
        ),
    }
}

/// The yardstick for predictions.
pub fn yardstick(learner: &Learner, layout: &Layout, recipe: RecipeName) -> Result<Yardstick> {
    if let Some(decides) = layout.decides() {
        let outcomes = methods::outcomes(learner, decides)?;
        return Ok(match outcomes {
            Outcomes::Log { most, .. } => {
                Yardstick::Log(Reading::log(decides.arms.len(), 0.0, 1.0, most)?)
            }
            _ => Yardstick::Experts(decides.arms.len()),
        });
    }
    let is_least_squares = recipe.learns_from() == Some(LearnsFrom::Moments);
    Ok(match layout.target() {
        TargetKind::Sign { .. } => {
            let named = learner.wishes.link.unwrap_or(Link::Logistic);
            let link = if is_least_squares {
                Link::Squared
            } else {
                named
            };
            Yardstick::Sign(link.probability())
        }
        TargetKind::Class { classes } => Yardstick::Classes(
            classes.len(),
            Some(if is_least_squares {
                Probability::Linear
            } else {
                Probability::Logistic
            }),
        ),
        TargetKind::Number { .. } => {
            let (low, high) = target_bounds(layout.target());
            Yardstick::Number(low, high)
        }
        TargetKind::None => {
            let reading = feedback(&learner.data, layout)?;
            if reading.is_log() {
                Yardstick::Log(reading)
            } else {
                Yardstick::Experts(reading.arms())
            }
        }
    })
}

/// Bounds of a numeric target after its midpoint is subtracted.
fn target_bounds(target: &TargetKind) -> (f64, f64) {
    match target {
        TargetKind::Number { low, high } => (low - target.midpoint(), high - target.midpoint()),
        _ => (-1.0, 1.0),
    }
}

/// How records answer a play.
pub fn feedback(data: &Data, layout: &Layout) -> Result<Reading> {
    let (low, high) = loss_bounds(layout)?;
    let arms = layout.arms().unwrap_or(0);
    if !is_log(layout) {
        return Ok(Reading::table(arms, low, high)?);
    }
    let most = match data.least_propensity {
        Some(least) if least > 0.0 && least <= 1.0 => 1.0 / least,
        Some(least) => refuse!(
            "‹least-propensity = {least}› is not allowed; allowed: a number above 0 and at most 1"
        ),
        None if layout.dimension() > arms + 1 => refuse!(
            "a log with propensities needs the least of them, from what is known of the logging \
             policy: ‹least-propensity P›"
        ),
        None => arms as f64,
    };
    Ok(Reading::log(arms, low, high, most)?)
}

/// The encoding of the first column.
fn first_encoding(layout: &Layout) -> Option<&Encoding> {
    match layout.space() {
        Space::Columns(columns) => columns.first().map(|column| &column.encoding),
        _ => None,
    }
}

fn is_log(layout: &Layout) -> bool {
    matches!(first_encoding(layout), Some(Encoding::Arm { .. }))
}

/// Whether the data holds rewards, which become losses inside.
pub fn is_rewards(layout: &Layout) -> bool {
    match first_encoding(layout) {
        Some(Encoding::Reward { .. } | Encoding::Label { .. }) => true,
        Some(Encoding::Arm { .. }) => outcome(layout).is_some_and(|(.., rewards)| rewards),
        _ => false,
    }
}

/// Bounds of a log's outcome, and whether it is a reward.
fn outcome(layout: &Layout) -> Option<(f64, f64, bool)> {
    let Space::Columns(columns) = layout.space() else {
        return None;
    };
    columns.iter().find_map(|column| match column.encoding {
        Encoding::Outcome { low, high, rewards } => Some((low, high, rewards)),
        _ => None,
    })
}

/// Refuses persons whose contributions nobody limits: the run would protect records alone.
pub(crate) fn check_persons(learner: &Learner) -> Result<()> {
    if learner.data.schema.person.is_some() && learner.privacy.max_per_person.is_none() {
        refuse!(
            "persons are told apart, so state how many records each may contribute: \
             ‹max-per-person›"
        );
    }
    Ok(())
}

/// The public facts about the run.
pub fn situation(
    learner: &Learner,
    schema: &SchemaSpec,
    layout: &Layout,
    rounds: u64,
) -> Result<Situation> {
    let privacy = &learner.privacy;
    let task = match layout.target() {
        TargetKind::Sign { .. } => Task::Sign,
        TargetKind::Class { classes } => Task::Classes(classes.len()),
        TargetKind::Number { .. } => {
            let (low, high) = target_bounds(layout.target());
            Task::Number(low, high)
        }
        TargetKind::None if layout.decides().is_some() => Task::Decide,
        TargetKind::None => {
            let (low, high) = loss_bounds(layout)?;
            if schema.task() == hushstream_read::Task::Bandit {
                Task::Bandit(low, high)
            } else {
                Task::Experts(low, high)
            }
        }
    };
    Ok(Situation {
        task,
        features: layout.arms().unwrap_or(layout.dimension()),
        length: length(schema, layout, task),
        rounds,
        horizon_unknown: privacy.horizon_unknown,
        budget: Budget::approx(privacy.epsilon, privacy.delta)?,
        adjacency: privacy.stated_adjacency()?,
        participation: privacy.participation(),
    })
}

/// Bound on the length of a record. A classifier needs directions more than lengths, and noise
/// grows with the square of the bound. So the default is half of the schema's bound, which brings
/// most records to the same length.
fn length(schema: &SchemaSpec, layout: &Layout, task: Task) -> f64 {
    let is_classifier = matches!(task, Task::Sign | Task::Classes(_));
    if schema.norm.is_none() && is_classifier && matches!(layout.space(), Space::Columns(_)) {
        layout.norm() / 2.0
    } else {
        layout.norm()
    }
}

/// The bounds of losses or rewards.
pub fn loss_bounds(layout: &Layout) -> Result<(f64, f64)> {
    match (first_encoding(layout), outcome(layout)) {
        (Some(Encoding::Loss { low, high } | Encoding::Reward { low, high }), _) => {
            Ok((*low, *high))
        }
        (Some(Encoding::Label { .. }), _) => Ok((0.0, 1.0)),
        (_, Some((low, high, _))) => Ok((low, high)),
        _ => refuse!("experts need columns with bounds of their losses: ‹bounds '*=0:1'›"),
    }
}
