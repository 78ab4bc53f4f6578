//! From flags to a reader, and from a layout to what is public about the task.

use super::arguments::{Arguments, Data, TaskName};
use anyhow::{Result, bail};
use hushstream_account::Budget;
use hushstream_engine::{RecipeName, Situation, Task, Wishes};
use hushstream_mechanism::feedback::Reading;
use hushstream_mechanism::losses::Link;
use hushstream_mechanism::{Participation, Probability, Yardstick};
use hushstream_read::{
    Encoding, Format, Input, Layout, MissingTarget, Reader, SchemaSpec, Space, TargetKind,
    count_records,
};

/// The schema: the file's, with the flags added.
pub(crate) fn schema(
    data: &Data,
    person: Option<&String>,
    max_per_person: Option<u64>,
) -> Result<SchemaSpec> {
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
        Some(TaskName::Classify) if schema.classes.is_some() => {
            Some(hushstream_read::Task::Multiclass)
        }
        Some(TaskName::Classify) => Some(hushstream_read::Task::Classify),
        Some(TaskName::Regress) => Some(hushstream_read::Task::Regress),
        Some(TaskName::Experts) => Some(hushstream_read::Task::Experts),
        Some(TaskName::Bandit) => Some(hushstream_read::Task::Bandit),
        None if schema.task.is_none() && schema.classes.is_some() => {
            Some(hushstream_read::Task::Multiclass)
        }
        None if schema.task.is_none() && schema.target_bounds.is_some() => {
            Some(hushstream_read::Task::Regress)
        }
        None => schema.task,
    };
    if schema.person.is_some() && max_per_person.is_none() {
        bail!(
            "persons are told apart, so state how many records each may contribute: --max-per-person"
        );
    }
    Ok(schema)
}

/// Opens the data.
pub(crate) fn open(data: &Data, schema: &SchemaSpec) -> Result<Reader> {
    let input = Input::open(&data.file)?;
    let format = format(data, &input)?;
    Ok(match data.shuffle {
        Some(seed) => Reader::open(input, format, schema)?.shuffled(seed)?,
        None => Reader::open(input, format, schema)?,
    })
}

pub(crate) fn format(data: &Data, input: &Input) -> Result<Format> {
    Ok(match &data.format {
        Some(name) => name.parse()?,
        None => input.guess_format()?,
    })
}

/// How rows are read, in a line that a resumed run compares: which come when, and what they mean.
pub(crate) fn reading(
    arguments: &Arguments,
    schema: &SchemaSpec,
    layout: &Layout,
) -> Result<String> {
    let meaning = serde_json::to_vec(&(layout, &schema.person))?;
    let order = arguments.data.shuffle.map_or_else(
        || "in the order of the file".to_owned(),
        |seed| format!("shuffled by {seed}"),
    );
    // With a header read as a record, or the other way round, rows would move by one.
    let bare = schema.no_header == Some(true) || !schema.names.is_empty();
    let header = if bare { ", without a header" } else { "" };
    Ok(format!(
        "{order}{header}, layout {:08x}",
        crc32fast::hash(&meaning)
    ))
}

/// Whether the data can be read only once: standard input, or a pipe with a name.
pub(crate) fn is_stream(file: &str) -> bool {
    file == "-" || std::fs::metadata(file).is_ok_and(|about| !about.is_file() && !about.is_dir())
}

/// T: what a stored run was planned for, what was stated, or the number of rows, which is public.
pub(crate) fn rounds(
    arguments: &Arguments,
    schema: &SchemaSpec,
    reader: &Reader,
    stored: Option<u64>,
) -> Result<u64> {
    if let Some(rounds) = stored.or(arguments.privacy.rounds) {
        return Ok(rounds);
    }
    if arguments.privacy.horizon == "unknown" {
        return Ok(1 << 20);
    }
    if let Some(rows) = reader.remaining() {
        return Ok(rows);
    }
    if is_stream(&arguments.data.file) {
        bail!(
            "the number of records in a stream is not known: state --rounds N, or --horizon unknown"
        );
    }
    let input = Input::open(&arguments.data.file)?;
    let format = format(&arguments.data, &input)?;
    Ok(count_records(input, schema.form(format)?)?)
}

/// What a prediction is measured by.
pub(crate) fn yardstick(
    arguments: &Arguments,
    layout: &Layout,
    recipe: RecipeName,
) -> Result<Yardstick> {
    let is_least_squares = recipe == RecipeName::Pqftl;
    Ok(match layout.target() {
        TargetKind::Sign { .. } => Yardstick::Sign(Probability::of(if is_least_squares {
            Link::Squared
        } else {
            arguments.method.loss.unwrap_or(Link::Logistic)
        })),
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
            let reading = feedback(&arguments.data, layout)?;
            if reading.is_log() {
                Yardstick::Log(reading)
            } else {
                Yardstick::Experts(reading.arms())
            }
        }
    })
}

/// Bounds of a number as records carry it, without its midpoint.
fn target_bounds(target: &TargetKind) -> (f64, f64) {
    match target {
        TargetKind::Number { low, high } => (low - target.midpoint(), high - target.midpoint()),
        _ => (-1.0, 1.0),
    }
}

/// How records answer a play.
pub(crate) fn feedback(data: &Data, layout: &Layout) -> Result<Reading> {
    let (low, high) = loss_bounds(layout)?;
    let arms = layout.arms().unwrap_or(0);
    if !is_log(layout) {
        return Ok(Reading::table(arms, low, high)?);
    }
    let most = match data.least_propensity {
        Some(least) if least > 0.0 && least <= 1.0 => 1.0 / least,
        Some(least) => bail!(
            "--least-propensity = {least} is not allowed; allowed: a number above 0 and at most 1"
        ),
        None if layout.dimension() > arms + 1 => bail!(
            "a log with propensities needs the least of them, from what is known of the logging policy: --least-propensity P"
        ),
        None => arms as f64,
    };
    Ok(Reading::log(arms, low, high, most)?)
}

/// The first encoding says what columns hold.
fn first_encoding(layout: &Layout) -> Option<&Encoding> {
    match layout.space() {
        Space::Columns(columns) => columns.first().map(|column| &column.encoding),
        _ => None,
    }
}

fn is_log(layout: &Layout) -> bool {
    matches!(first_encoding(layout), Some(Encoding::Arm { .. }))
}

/// Whether numbers were stated as rewards, and are losses only inside.
pub(crate) fn is_rewards(layout: &Layout) -> bool {
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

/// What is public about the run.
pub(crate) fn situation(
    arguments: &Arguments,
    schema: &SchemaSpec,
    layout: &Layout,
    rounds: u64,
) -> Result<Situation> {
    let privacy = &arguments.privacy;
    let task = match layout.target() {
        TargetKind::Sign { .. } => Task::Sign,
        TargetKind::Class { classes } => Task::Classes(classes.len()),
        TargetKind::Number { .. } => {
            let (low, high) = target_bounds(layout.target());
            Task::Number(low, high)
        }
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
        horizon_unknown: privacy.horizon == "unknown",
        budget: Budget::approx(privacy.epsilon, privacy.delta)?,
        adjacency: privacy.adjacency.into(),
        participation: match privacy.max_per_person {
            Some(most) => Participation::PerPerson {
                most,
                separation: privacy.min_separation,
            },
            None => Participation::OncePerRecord,
        },
    })
}

/// Bound on the length of a record. A classifier needs directions more than lengths, and noise grows with the square of the bound: half of what the schema
/// implies, if nothing is stated, brings most records to the same length.
fn length(schema: &SchemaSpec, layout: &Layout, task: Task) -> f64 {
    let is_classifier = matches!(task, Task::Sign | Task::Classes(_));
    if schema.norm.is_none() && is_classifier && matches!(layout.space(), Space::Columns(_)) {
        layout.norm() / 2.0
    } else {
        layout.norm()
    }
}

/// What losses, or rewards, lie between.
pub(crate) fn loss_bounds(layout: &Layout) -> Result<(f64, f64)> {
    match (first_encoding(layout), outcome(layout)) {
        (Some(Encoding::Loss { low, high } | Encoding::Reward { low, high }), _) => {
            Ok((*low, *high))
        }
        (Some(Encoding::Label { .. }), _) => Ok((0.0, 1.0)),
        (_, Some((low, high, _))) => Ok((low, high)),
        _ => bail!("experts need columns with bounds of their losses: --bounds '*=0:1'"),
    }
}

/// What the user has decided.
pub(crate) fn wishes(arguments: &Arguments) -> Wishes {
    let method = &arguments.method;
    Wishes {
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
        window: arguments.privacy.window,
    }
}
