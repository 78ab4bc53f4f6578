//! `hushstream open` (for statistics `track --by batch`), `question`, `partial` and `commit`: a
//! cluster of programs and files.

use crate::learn::arguments::Arguments as Described;
use crate::track::Arguments as Tracked;
use anyhow::{Context, Result, bail};
use clap::{Args, Parser};
use hushstream::elsewhere::{Delivery, Positions, SealingKey, Span, Worker, partition};
use hushstream::engine::{RecipeName, RunError};
use hushstream::learner::{Learner, Malformed};
use hushstream::read::Layout;
use hushstream::{Run, Tracker, Tracking, data, files};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Arguments of `open`.
#[derive(Args)]
pub(crate) struct Open {
    #[command(flatten)]
    described: Box<Described>,
}

/// Arguments of `question`.
#[derive(Args)]
pub(crate) struct Question {
    /// The state folder of the run; secret.
    #[arg(long)]
    state: PathBuf,
    /// Write the question to this file; by default to standard output. Public.
    #[arg(long)]
    output: Option<PathBuf>,
    /// Write the key to which workers can seal partial sums to this file: the same for all
    /// questions of the run. Public, but give it to workers as carefully as the program.
    #[arg(long)]
    sealing_key: Option<PathBuf>,
}

/// Arguments of `partial`.
#[derive(Args)]
pub(crate) struct Partial {
    /// The files of rows, laid out as the file that the run was opened with.
    #[arg(required = true)]
    files: Vec<String>,
    /// The question's file.
    #[arg(long)]
    question: PathBuf,
    /// Rows of a single file, as start:end, from 0 and without the last.
    #[arg(long, value_parser = range)]
    rows: Option<(u64, u64)>,
    /// Seal the partial sum to the run whose key is in this file (`question --sealing-key`): only
    /// the run can read it.
    #[arg(long)]
    seal_to: Option<PathBuf>,
    /// Write the partial sum to this file, readable by its owner alone; by default to standard
    /// output. As private as the rows, unless it is sealed.
    #[arg(long)]
    output: Option<PathBuf>,
}

/// Arguments of `commit`.
#[derive(Args)]
pub(crate) struct Commit {
    /// The partial sums of the batch, sealed or not; none for a batch without rows.
    parts: Vec<PathBuf>,
    /// The state folder of the run; secret.
    #[arg(long)]
    state: PathBuf,
    /// The name of the source that the batch comes from.
    #[arg(long)]
    source: String,
    /// The number of the batch; one more than the last.
    #[arg(long)]
    batch: u64,
    /// The partitions of the batch, separated by commas: name=start:end, or the name of a file
    /// whose rows are all in it.
    #[arg(long, value_delimiter = ',')]
    positions: Vec<String>,
    /// State that no record of a new source was ever learned: the first new record of every
    /// partition, as name=position,… A name that ends in *, at 0, stands for all partitions to come
    /// whose names begin so. If this is wrong, people are counted twice.
    #[arg(long, value_delimiter = ',')]
    accept_new_source: Vec<String>,
    /// Write the model after the batch to this file; publishable.
    #[arg(long)]
    model: Option<PathBuf>,
    /// Of running statistics: write the table of the batch to this file, as JSON; publishable.
    #[arg(long)]
    table: Option<PathBuf>,
    /// Write the next question to this file; public.
    #[arg(long)]
    question: Option<PathBuf>,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
}

/// How the run was opened: kept in its state folder.
#[derive(Serialize, Deserialize)]
struct Opened {
    /// Whether it was opened by `track`, otherwise by `open`.
    #[serde(default)]
    is_statistics: bool,
    /// The flags of the command, with whole paths.
    arguments: Vec<String>,
    layout: Layout,
}

/// The flags of a command, to be read again.
#[derive(Parser)]
struct Again<T: Args> {
    #[command(flatten)]
    described: T,
}

/// The run in a state folder.
enum Authority {
    Learns(Box<Run>),
    Tracks(Box<Tracking>),
}

const OPENED: &str = "opened.json";

/// Runs `open`.
pub(crate) fn open(arguments: &Open) -> Result<()> {
    let described = &arguments.described;
    let Some(state) = &described.output.state else {
        bail!("name the folder of the run with --state FOLDER");
    };
    let mut learner = learner(described)?;
    check_ledger(&learner)?;
    // Only the names of columns are read from the file.
    let reader = data::Origin::new(&learner.data)?.open(&learner.data.schema)?;
    let layout = reader.layout().clone();
    learner.data.layout = Some(layout.clone());
    learner.data.file.clear();
    let plan = learner.plan()?;
    if plan.recipe.learns_from().is_none() && plan.recipe != RecipeName::Tables {
        return Err(RunError::OneProcess(plan.recipe).into());
    }
    eprintln!("{plan}");
    for warning in &plan.warnings {
        eprintln!("{warning}");
    }
    keep(state, false, &described.data.file, layout)?;
    let run = learner.start()?;
    println!("{}", run.guarantee());
    Ok(())
}

/// Runs `track --by batch`.
pub(crate) fn open_statistics(described: &Tracked) -> Result<()> {
    let Some(state) = &described.state else {
        bail!("name the folder of the run with --state FOLDER");
    };
    let mut tracker = tracker(described)?;
    check_ledger(&tracker.learner)?;
    // Only the names of columns are read from the file.
    let reader = data::Origin::new(&tracker.learner.data)?.open(&tracker.schema()?)?;
    let layout = reader.layout().clone();
    tracker.learner.data.layout = Some(layout.clone());
    tracker.learner.data.file.clear();
    eprintln!("{}", tracker.plan()?);
    keep(state, true, &described.file, layout)?;
    println!("{}", tracker.start()?.guarantee());
    Ok(())
}

/// The statistics that these flags describe, whose rows come from workers.
fn tracker(described: &Tracked) -> Result<Tracker> {
    let tracker = described.tracker()?;
    let (data, output) = (&tracker.learner.data, &tracker.learner.output);
    refuse_stated(&[
        ("--time", data.schema.time.is_some()),
        ("--from", tracker.from.is_some()),
        ("--to", tracker.to.is_some()),
        ("--releases", output.releases.is_some()),
        ("--csv", tracker.csv.is_some()),
        ("--resume", output.resume),
        (
            "--malformed refuse",
            data.malformed == Some(Malformed::Refuse),
        ),
    ])?;
    Ok(tracker)
}

fn check_ledger(learner: &Learner) -> Result<()> {
    if learner.privacy.ledger.is_none() && learner.privacy.seed_insecure.is_none() {
        bail!(
            "name the ledger of this source with --ledger FILE: it keeps the budget over all runs \
             on the same people"
        );
    }
    Ok(())
}

/// Keeps the flags of this command, and the layout, in the new state folder.
fn keep(state: &Path, is_statistics: bool, file: &String, layout: Layout) -> Result<()> {
    std::fs::create_dir_all(state).with_context(|| format!("cannot create {}", state.display()))?;
    if state.join("run.json").exists() {
        bail!(
            "{} holds a run already: name another folder",
            state.display()
        );
    }
    let opened = Opened {
        is_statistics,
        arguments: kept(file, state)?,
        layout,
    };
    let text = serde_json::to_vec_pretty(&opened)?;
    Ok(files::write_whole_secret(&state.join(OPENED), &text)?)
}

/// The run that these flags describe, whose rows come from workers.
fn learner(described: &Described) -> Result<Learner> {
    let learner = described.learner()?;
    let output = &learner.output;
    refuse_stated(&[
        ("--shuffle", learner.data.shuffle.is_some()),
        ("--passes", learner.data.passes.is_some()),
        ("--multiline", learner.data.multiline),
        ("--model", output.model.is_some()),
        ("--releases", output.releases.is_some()),
        ("--report", output.report.is_some()),
        ("--test", output.test.is_some()),
        ("--without-privacy", output.without_privacy),
        ("--resume", output.resume),
        (
            "--malformed refuse",
            learner.data.malformed == Some(Malformed::Refuse),
        ),
    ])?;
    Ok(learner)
}

/// Refuses flags that are stated and have no meaning.
fn refuse_stated(flags: &[(&str, bool)]) -> Result<()> {
    match flags.iter().find(|(_, is_stated)| *is_stated) {
        Some((flag, _)) => bail!(
            "{flag} has no meaning here: rows come from workers, batch by batch, and a malformed \
             one counts as empty; leave it out"
        ),
        None => Ok(()),
    }
}

/// The flags, with files that stay where they are: the schema is copied, paths are whole.
fn kept(file: &String, state: &Path) -> Result<Vec<String>> {
    let mut kept = Vec::new();
    let mut given = std::env::args().skip(2);
    while let Some(flag) = given.next() {
        let (name, value) = match flag.split_once('=') {
            Some((name, value)) if name.starts_with("--") => (name.to_owned(), value.to_owned()),
            _ if ["--schema", "--ledger", "--state"].contains(&&*flag) => {
                (flag, given.next().unwrap_or_default())
            }
            _ => {
                kept.push(flag);
                continue;
            }
        };
        let value = match &*name {
            "--schema" => {
                let copy = state.join("schema.toml");
                let text = std::fs::read(&value).with_context(|| format!("cannot read {value}"))?;
                files::write_whole_secret(&copy, &text)?;
                whole(&copy)?
            }
            "--ledger" | "--state" => whole(Path::new(&value))?,
            _ => value,
        };
        kept.push(format!("{name}={value}"));
    }
    // The file is not needed again, but the flags want one.
    debug_assert!(kept.contains(file));
    Ok(kept)
}

fn whole(path: &Path) -> Result<String> {
    let whole = std::path::absolute(path)?;
    let text = whole.to_str().map(str::to_owned);
    text.with_context(|| format!("{} is not a text", path.display()))
}

/// The run in a state folder.
fn resumed(state: &Path) -> Result<Authority> {
    let path = state.join(OPENED);
    let text = std::fs::read(&path).with_context(|| {
        format!(
            "{} holds no run for batches: begin one with `hushstream open`, or with `hushstream \
             track --by batch`",
            state.display()
        )
    })?;
    let opened: Opened =
        serde_json::from_slice(&text).with_context(|| format!("{} is damaged", path.display()))?;
    let flags = std::iter::once("hushstream".to_owned()).chain(opened.arguments);
    let other = || format!("{} is of another version", path.display());
    let go_on = |learner: &mut Learner| {
        learner.data.layout = Some(opened.layout);
        learner.data.file.clear();
        // The folder may have been moved.
        learner.output.state = Some(state.to_owned());
    };
    if opened.is_statistics {
        let again = Again::<Tracked>::try_parse_from(flags).with_context(other)?;
        let mut tracker = tracker(&again.described)?;
        go_on(&mut tracker.learner);
        return Ok(Authority::Tracks(Box::new(tracker.resume()?)));
    }
    let again = Again::<Described>::try_parse_from(flags).with_context(other)?;
    let mut learner = learner(&again.described)?;
    go_on(&mut learner);
    Ok(Authority::Learns(Box::new(learner.resume()?)))
}

impl Authority {
    fn question(&mut self) -> Result<Vec<u8>> {
        Ok(match self {
            Self::Learns(run) => run.question()?,
            Self::Tracks(run) => run.question()?,
        })
    }

    fn sealing_key(&self) -> SealingKey {
        match self {
            Self::Learns(run) => run.sealing_key(),
            Self::Tracks(run) => run.sealing_key(),
        }
    }

    fn asks(&self) -> bool {
        match self {
            Self::Learns(run) => run.asks(),
            Self::Tracks(run) => run.asks(),
        }
    }

    fn records(&self) -> u64 {
        match self {
            Self::Learns(run) => run.records(),
            Self::Tracks(run) => run.records(),
        }
    }

    /// Takes a batch, and writes what it released: whether it was taken now, and the number of the
    /// release.
    fn commit(
        &mut self,
        delivery: &Delivery,
        parts: &[Vec<u8>],
        arguments: &Commit,
    ) -> Result<(bool, Option<u64>)> {
        match self {
            Self::Learns(run) => {
                let committed = run.commit(delivery, parts).map_err(in_flags)?;
                if let (Some(path), Some(model)) = (&arguments.model, &committed.model) {
                    files::write_whole(path, &model.value().to_bytes()?)?;
                }
                let release = committed.model.map(|model| model.release());
                Ok((committed.is_new, release))
            }
            Self::Tracks(run) => {
                let committed = run.commit(delivery, parts).map_err(in_flags)?;
                if let (Some(path), Some(table)) = (&arguments.table, &committed.table) {
                    let text = serde_json::to_string(table.value())? + "\n";
                    files::write_whole(path, text.as_bytes())?;
                }
                let release = committed.table.map(|table| table.release());
                Ok((committed.is_new, release))
            }
        }
    }

    /// Refuses files that this run does not write.
    fn check(&self, arguments: &Commit) -> Result<()> {
        match self {
            Self::Learns(_) if arguments.table.is_some() => {
                bail!("this run learns a model: name its file with --model, not --table")
            }
            Self::Tracks(_) if arguments.model.is_some() => {
                bail!("this run publishes tables: name the file with --table, not --model")
            }
            _ => Ok(()),
        }
    }
}

/// Runs `question`.
pub(crate) fn question(arguments: &Question) -> Result<()> {
    let mut run = resumed(&arguments.state)?;
    let question = run.question()?;
    if let Some(path) = &arguments.sealing_key {
        files::write_whole(path, format!("{}\n", run.sealing_key()).as_bytes())?;
    }
    match &arguments.output {
        Some(path) => Ok(files::write_whole(path, &question)?),
        None => Ok(std::io::stdout().write_all(&question)?),
    }
}

/// Runs `partial`.
pub(crate) fn partial(arguments: &Partial) -> Result<()> {
    let path = &arguments.question;
    let question =
        std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    let key = arguments.seal_to.as_ref().map(|path| {
        let text = std::fs::read_to_string(path);
        let text = text.with_context(|| format!("cannot read {}", path.display()))?;
        let key = text.parse::<SealingKey>();
        key.with_context(|| path.display().to_string())
    });
    let key = key.transpose()?;
    let mut worker = Worker::new(&question)?;
    let rows = arguments.rows.map(|(start, end)| start..end);
    if rows.is_some() && arguments.files.len() > 1 {
        bail!("--rows is for a single file");
    }
    let mut spans = Vec::new();
    for file in &arguments.files {
        spans.push(worker.add_file(file, rows.clone())?);
    }
    let partial = match &key {
        Some(key) => worker.finish_sealed(spans, key)?,
        None => worker.finish(spans)?,
    };
    match &arguments.output {
        Some(path) => Ok(files::write_whole_secret(path, &partial)?),
        None => Ok(std::io::stdout().write_all(&partial)?),
    }
}

/// What `commit` prints.
#[derive(Serialize)]
struct Told {
    source: String,
    batch: u64,
    taken: bool,
    release: Option<u64>,
    records: u64,
}

/// Runs `commit`.
pub(crate) fn commit(arguments: &Commit) -> Result<()> {
    let mut parts = Vec::new();
    for path in &arguments.parts {
        let part = std::fs::read(path);
        parts.push(part.with_context(|| format!("cannot read {}", path.display()))?);
    }
    let mut run = resumed(&arguments.state)?;
    run.check(arguments)?;
    let covered = hushstream::elsewhere::covered(&parts)?;
    let positions = positions(&arguments.positions, &covered)?;
    let mut delivery = Delivery::new(&*arguments.source, arguments.batch, positions)?;
    if !arguments.accept_new_source.is_empty() {
        delivery = delivery.accept_new_source(&firsts(&arguments.accept_new_source)?)?;
    }
    let (is_new, release) = run.commit(&delivery, &parts, arguments)?;
    if let Some(path) = &arguments.question
        && run.asks()
    {
        files::write_whole(path, &run.question()?)?;
    }
    let told = Told {
        source: arguments.source.clone(),
        batch: arguments.batch,
        taken: is_new,
        release,
        records: run.records(),
    };
    let text = if arguments.json {
        serde_json::to_string_pretty(&told)?
    } else {
        let Told { source, batch, .. } = &told;
        match (told.taken, told.release) {
            (true, Some(release)) => format!(
                "batch {batch} of {source} was taken: release {release}, after {} records",
                told.records
            ),
            (_, Some(release)) => format!(
                "batch {batch} of {source} was taken before, and was not added again: release \
                 {release}"
            ),
            _ => format!(
                "batch {batch} of {source} was taken before a later one, and was not added again"
            ),
        }
    };
    writeln!(std::io::stdout(), "{text}")?;
    Ok(())
}

/// A refusal in the words of the program.
fn in_flags(error: hushstream::Error) -> anyhow::Error {
    let told = error.to_string();
    if told.contains(ACCEPT) {
        let flag = "--accept-new-source NAME=POSITION,…";
        return anyhow::Error::msg(told.replace(ACCEPT, flag));
    }
    error.into()
}

const ACCEPT: &str = "accept a new source";

/// The stated positions: a name alone stands for what the partial sums cover of it.
fn positions(stated: &[String], covered: &Positions) -> Result<Positions> {
    let mut spans = Vec::new();
    for text in stated.iter().filter(|text| !text.is_empty()) {
        if let Some((name, span)) = text.rsplit_once('=')
            && let Ok((start, end)) = range(span)
        {
            spans.push(Span {
                partition: partition(name),
                start,
                end,
            });
            continue;
        }
        let name = partition(text);
        let mut own = covered.spans().iter().filter(|span| span.partition == name);
        let Some(span) = own.next() else {
            bail!(
                "no partial sum covers {name}: its people would be left out of this batch, and \
                 could not come later"
            );
        };
        spans.push(span.clone());
        spans.extend(own.cloned());
    }
    Ok(Positions::new(spans)?)
}

/// The first new record of every partition.
fn firsts(stated: &[String]) -> Result<BTreeMap<String, u64>> {
    let first = |text: &String| {
        let (name, position) = text.rsplit_once('=')?;
        Some((partition(name), position.parse().ok()?))
    };
    let firsts = stated.iter().map(first).collect::<Option<_>>();
    firsts.context("--accept-new-source: expected name=position for every partition")
}

fn range(text: &str) -> Result<(u64, u64), String> {
    let parts = text.split_once(':');
    let numbers = parts.and_then(|(start, end)| Some((start.parse().ok()?, end.parse().ok()?)));
    numbers.ok_or_else(|| "expected start:end".to_owned())
}
