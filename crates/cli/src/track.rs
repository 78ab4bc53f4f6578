//! `hushstream track`: private statistics of a file or a stream, at every tick.

use crate::learn::arguments::{Promise, TableText, range};
use crate::learn::words::{Teller, promise};
use crate::names::NoiseName;
use anyhow::{Context, Result, anyhow};
use clap::Args;
use comfy_table::Table as Grid;
use hushstream::learner::{Data, Output};
use hushstream::track::{Asked, By, Span, Table, Tracker, parse_time};
use hushstream_mechanism::sums::SumKind;
use hushstream_pictures::numbers::{count, finite, grouped, short};
use hushstream_pictures::series;
use hushstream_read::SchemaSpec;
use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

/// Rows of a table that are printed; files hold all.
const SHOWN: usize = 40;

/// Arguments of `track`.
#[derive(Args, Clone)]
pub(crate) struct Arguments {
    /// The file of records, or - for standard input; gzip is detected.
    file: String,
    /// When a table is released: every minute, hour, day or week, or after so many records.
    #[arg(long)]
    by: By,
    /// The column of the times of rows, which are public: dates as in 2013-01-31, with or without
    /// the time of day, or seconds since 1970. A stream without it has ticks of its arrival.
    #[arg(long)]
    time: Option<String>,
    /// When the first tick begins; by default with the first row of a file.
    #[arg(long)]
    from: Option<String>,
    /// When the last tick ends.
    #[arg(long)]
    to: Option<String>,
    /// Number of ticks; by default those of the file are counted.
    #[arg(long, value_parser = count)]
    ticks: Option<u64>,
    /// Count records. Counts are always part of a table, so this asks for nothing else.
    #[arg(long)]
    count: bool,
    /// The sum of a column between public bounds: name=low:high.
    #[arg(long)]
    sum: Vec<String>,
    /// The mean of a column: name=low:high.
    #[arg(long)]
    mean: Vec<String>,
    /// The histogram of a column in equal bins: name=low:high/bins.
    #[arg(long)]
    histogram: Vec<String>,
    /// Quantiles of every histogram, separated by commas, as 0.5,0.9.
    #[arg(long, value_delimiter = ',', value_parser = finite)]
    quantile: Vec<f64>,
    /// A column of public categories, by which everything is told apart: name=A|B|C. Several make a
    /// group of every combination.
    #[arg(long)]
    group: Vec<String>,
    /// Also show the last so many ticks.
    #[arg(long, value_parser = count)]
    last: Vec<u64>,
    /// Also show statistics in which every tick counts for so much of the one after it, as 0.9.
    #[arg(long, value_parser = finite)]
    decay: Vec<f64>,
    /// The probability that an interval holds the truth.
    #[arg(long, value_parser = finite, default_value_t = 0.95)]
    confidence: f64,
    /// csv, tsv or jsonl; by default from the file's name.
    #[arg(long)]
    format: Option<String>,
    #[command(flatten)]
    table: TableText,
    /// Texts that mean a missing value, separated by commas, besides the empty text, NA, N/A, NaN
    /// and null.
    #[arg(long, value_delimiter = ',', allow_hyphen_values = true)]
    missing: Vec<String>,
    /// A schema in TOML, for bounds and categories.
    #[arg(long)]
    schema: Option<String>,
    #[command(flatten)]
    promise: Promise,
    /// The sum; chosen if not stated.
    #[arg(long = "sum-kind")]
    sum_kind: Option<SumKind>,
    /// The noise distribution; chosen if not stated.
    #[arg(long, value_enum)]
    noise: Option<NoiseName>,
    /// Print the plan and the split of the budget, and spend nothing.
    #[arg(long)]
    plan: bool,
    /// Write every table to this file, one JSON object per line; publishable.
    #[arg(long)]
    releases: Option<PathBuf>,
    /// Write every table to this file as comma-separated values, one line per number; publishable.
    #[arg(long)]
    csv: Option<PathBuf>,
    /// Draw one statistic of every group over time to this SVG file; publishable.
    #[arg(long, requires = "releases")]
    picture: Option<PathBuf>,
    /// The statistic of the picture, as `count` or `mean age`; by default the first but the count.
    #[arg(long, requires = "picture")]
    show: Option<String>,
    /// Save the state of the run to this folder, to resume after a stop; secret.
    #[arg(long)]
    state: Option<PathBuf>,
    /// Milliseconds between two disk syncs; tables are released at each sync.
    #[arg(long, default_value_t = 500)]
    sync_milliseconds: u64,
    /// Resume the run in --state on the same data. Rows may have been appended.
    #[arg(long, requires = "state")]
    resume: bool,
    /// Print one JSON object.
    #[arg(long)]
    json: bool,
    /// Print no figures computed from private data.
    #[arg(long)]
    quiet: bool,
}

/// Runs the command.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let mut teller = Teller::new(arguments.json, arguments.quiet);
    let tracker = arguments.tracker()?;
    if arguments.plan {
        let plan = tracker.plan_file(&mut teller)?;
        let text = if arguments.json {
            serde_json::to_string_pretty(&plan)?
        } else {
            plan.to_string()
        };
        return Ok(writeln!(std::io::stdout(), "{text}")?);
    }
    let outcome = tracker.track_file(&mut teller)?;
    if let (Some(path), Some(releases)) = (&arguments.picture, &arguments.releases) {
        let svg = picture(releases, arguments.show.as_deref())?;
        std::fs::write(path, svg).with_context(|| format!("cannot write {}", path.display()))?;
    }
    let mut text = String::new();
    if arguments.json {
        text = serde_json::to_string_pretty(&outcome)? + "\n";
    } else {
        if let Some(table) = &outcome.table {
            text = shown(table, outcome.confidence);
        }
        if let (Some(seconds), Some(rate)) = (outcome.seconds, outcome.rows_per_second) {
            eprintln!(
                "operator only: {} records counted for nothing; {} s, {} records per second",
                grouped(outcome.nulls.unwrap_or(0)),
                short(seconds),
                grouped(rate as u64)
            );
        }
        text += &promise(&outcome.guarantee, &outcome.ledger);
    }
    Ok(std::io::stdout().write_all(text.as_bytes())?)
}

impl Arguments {
    fn tracker(&self) -> Result<Tracker> {
        let mut asked = Asked::default();
        for flag in &self.sum {
            let name = column(&mut asked, flag, "--sum", range)?;
            asked.sums.push(name);
        }
        for flag in &self.mean {
            let name = column(&mut asked, flag, "--mean", range)?;
            asked.means.push(name);
        }
        for flag in &self.histogram {
            let form = || anyhow!("--histogram: allowed: name=low:high/bins");
            let (column_flag, bins) = flag.rsplit_once('/').ok_or_else(form)?;
            let bins = bins.trim().parse().map_err(|_| form())?;
            let name = column(&mut asked, column_flag, "--histogram", range)?;
            asked.histograms.push((name, bins));
        }
        for flag in &self.group {
            let (name, categories) = match flag.split_once('=') {
                Some((name, categories)) => (name.trim(), Some(categories)),
                None => (flag.trim(), None),
            };
            asked.groups.push(name.to_owned());
            if let Some(categories) = categories {
                let categories = categories.split('|').map(str::to_owned).collect();
                asked.categories.push((name.to_owned(), categories));
            }
        }
        asked.quantiles.clone_from(&self.quantile);
        let mut schema = match &self.schema {
            Some(path) => SchemaSpec::from_file(path)?,
            None => SchemaSpec::default(),
        };
        self.table.add_to(&mut schema);
        schema.missing.extend(self.missing.iter().cloned());
        schema.person = self.promise.person.clone().or(schema.person);
        schema.time = self.time.clone().or(schema.time);
        // What a schema says for learning is no matter here.
        schema.target = None;
        schema.one_hot.clear();
        schema.dates.clear();
        schema.hashed.clear();
        schema.hash_bits = None;
        let mut tracker = Tracker::by(self.by);
        tracker.asked = asked;
        tracker.learner.data = Data {
            file: self.file.clone(),
            format: self.format.clone(),
            schema,
            malformed: self.promise.malformed.map(Into::into),
            ..Data::default()
        };
        tracker.learner.privacy = self.promise.described();
        tracker.learner.wishes.sum = self.sum_kind;
        tracker.learner.wishes.noise = self.noise.map(Into::into);
        tracker.learner.output = Output {
            releases: self.releases.clone(),
            state: self.state.clone(),
            sync: Duration::from_millis(self.sync_milliseconds),
            resume: self.resume,
            quiet: self.quiet,
            ..Output::default()
        };
        tracker.ticks = self.ticks;
        tracker.from = self.from.as_deref().map(parse_time).transpose()?;
        tracker.to = self.to.as_deref().map(parse_time).transpose()?;
        let last = self.last.iter().map(|ticks| Span::Last(*ticks));
        let decay = self.decay.iter().map(|factor| Span::Fading(*factor));
        tracker.spans.extend(last.chain(decay));
        tracker.spans.dedup();
        tracker.confidence = self.confidence;
        tracker.csv.clone_from(&self.csv);
        Ok(tracker)
    }
}

/// The column of a flag; its bounds, if they are stated, are added.
fn column(
    asked: &mut Asked,
    flag: &str,
    name: &str,
    bounds: impl Fn(&str) -> Result<(f64, f64), String>,
) -> Result<String> {
    let Some((column, range)) = flag.rsplit_once('=') else {
        return Ok(flag.trim().to_owned());
    };
    let column = column.trim().to_owned();
    let range = bounds(range).map_err(|why| anyhow!("{name}: allowed: name=low:high; {why}"))?;
    asked.bounds.push((column.clone(), range));
    Ok(column)
}

/// The last table, for a terminal.
fn shown(table: &Table, confidence: f64) -> String {
    let when = match (&table.from, &table.to) {
        (Some(from), Some(to)) => format!("tick {}, {from} to {to}", table.tick),
        _ => format!("tick {}", table.tick),
    };
    let mut grid = Grid::new();
    grid.load_style(comfy_table::presets::UTF8_HORIZONTAL_ONLY);
    let groups = table.group_columns();
    let mut head = vec!["span".to_owned()];
    head.extend(groups.iter().map(|name| (*name).to_owned()));
    head.extend(table.columns().iter().cloned());
    grid.set_header(head);
    let (mut rows, mut left) = (0, 0);
    for row in table.rows() {
        rows += 1;
        if rows > SHOWN {
            left += 1;
            continue;
        }
        let mut cells = vec![row.span.name()];
        for place in 0..groups.len() {
            cells.push(
                row.group
                    .as_ref()
                    .map_or("all", |group| group[place])
                    .to_owned(),
            );
        }
        let number = |x: f64| short(if x.abs() < 1e-9 { 0.0 } else { x });
        cells.extend(row.estimates.iter().map(|estimate| {
            let (value, low, high) = (estimate.value, estimate.low, estimate.high);
            format!("{} ({}..{})", number(value), number(low), number(high))
        }));
        grid.add_row(cells);
    }
    let more = if left > 0 {
        format!("and {} more rows: --releases, --csv\n", grouped(left))
    } else {
        String::new()
    };
    format!(
        "{when}: values, and intervals that hold the truth with probability {confidence}\n\
         {grid}\n{more}"
    )
}

/// Lines of one statistic over time, from the file of all tables.
fn picture(releases: &std::path::Path, show: Option<&str>) -> Result<String> {
    use std::io::{BufRead, BufReader};
    let file = std::fs::File::open(releases)?;
    let mut lines: Vec<series::Line> = Vec::new();
    let (mut times, mut statistic) = (Vec::new(), show.map(str::to_owned));
    for text in BufReader::new(file).lines() {
        let table: serde_json::Value = serde_json::from_str(&text?)?;
        let tick = table["release"].as_u64().unwrap_or(0);
        let from = table["from"].as_str().map(str::to_owned);
        times.push(from.unwrap_or_else(|| tick.to_string()));
        for row in table["rows"].as_array().into_iter().flatten() {
            // What happened in every tick, group by group; all records where there are no groups.
            if row["span"] != "tick" {
                continue;
            }
            let Some(map) = row.as_object() else { continue };
            let group = map.get("group").and_then(|group| group.as_object());
            let name = group.map_or_else(
                || "all".to_owned(),
                |group| {
                    let values = group.values().filter_map(|value| value.as_str());
                    values.collect::<Vec<_>>().join(" ")
                },
            );
            let keys = || {
                map.keys()
                    .filter(|key| !["span", "group"].contains(&&***key))
            };
            let first = || {
                keys()
                    .find(|key| *key != "count")
                    .or(keys().next())
                    .cloned()
            };
            let Some(statistic) = statistic.clone().or_else(first) else {
                continue;
            };
            let values = map.get(&statistic).and_then(|values| values.as_array());
            let values = values.with_context(|| {
                let known: Vec<&str> = keys().map(String::as_str).collect();
                format!("--show {statistic}: allowed: {}", known.join(", "))
            })?;
            let number = |place: usize| values.get(place).and_then(serde_json::Value::as_f64);
            let point = (
                number(0).unwrap_or(0.0),
                number(1).unwrap_or(0.0),
                number(2).unwrap_or(0.0),
            );
            match lines.iter_mut().find(|line| line.name == name) {
                Some(line) => line.points.push(point),
                None => lines.push(series::Line {
                    name,
                    points: vec![point],
                }),
            }
        }
        if statistic.is_none() {
            let row = &table["rows"][0];
            let keys = row.as_object().into_iter().flat_map(|map| map.keys());
            let keys: Vec<&String> = keys
                .filter(|key| !["span", "group"].contains(&&***key))
                .collect();
            statistic = keys
                .iter()
                .find(|key| **key != "count")
                .or(keys.first())
                .map(|key| (*key).clone());
        }
    }
    let title = format!("{} in every tick", statistic.unwrap_or_default());
    Ok(series::picture(&title, &times, &lines))
}
