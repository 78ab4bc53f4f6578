//! `hushstream track`: private statistics of a file or a stream, at every tick.

use crate::elsewhere;
use crate::learn::arguments::{Promise, TableText, range};
use crate::learn::words::{Teller, promise};
use crate::names::NoiseName;
use anyhow::{Context, Result, anyhow};
use clap::Args;
use comfy_table::Table as Grid;
use hushstream::learner::{Data, Output};
use hushstream::track::{Asked, By, OTHER, Span, Table, Tracker, parse_time};
use hushstream_mechanism::sums::SumKind;
use hushstream_pictures::numbers::{count, finite, grouped, short};
use hushstream_pictures::series;
use hushstream_read::SchemaSpec;
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Rows of a table that are printed; files hold all.
const SHOWN: usize = 40;

/// Arguments of `track`.
#[derive(Args, Clone)]
pub(crate) struct Arguments {
    /// The file of records, or - for standard input; gzip is detected.
    pub(crate) file: String,
    /// When a table is released: every minute, hour, day or week, or after so many records. With
    /// batch, rows are summed by workers, and every `commit` of theirs makes a table: this command
    /// reads the header of the file, charges, and keeps the run in --state.
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
    /// Count records. Every table has counts; with this flag alone it has nothing else.
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
    /// Group by a column of public categories: name=A|B|C. Several columns make one group for each
    /// combination.
    #[arg(long)]
    group: Vec<String>,
    /// Also show statistics over this many most recent ticks.
    #[arg(long, value_parser = count)]
    last: Vec<u64>,
    /// Also show decayed statistics: a tick counts this much of the next one, as 0.9.
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
    pub(crate) state: Option<PathBuf>,
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
    if arguments.by == By::Hand {
        return elsewhere::open_statistics(arguments);
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
    pub(crate) fn tracker(&self) -> Result<Tracker> {
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

/// Lines of one statistic over time, from the file of all tables: over the last ticks if such a
/// span was asked for, of every tick otherwise. Values that are not listed have no line.
fn picture(releases: &Path, show: Option<&str>) -> Result<String> {
    let file = BufReader::new(std::fs::File::open(releases)?);
    let (mut lines, mut times) = (Vec::<series::Line>::new(), Vec::new());
    let mut chosen: Option<(String, String)> = None;
    for text in file.lines() {
        let table: Value = serde_json::from_str(&text?)?;
        let (span, statistic) = match &chosen {
            Some(chosen) => chosen.clone(),
            None => choose(&table, show)?,
        };
        let release = table["release"].to_string();
        times.push(table["from"].as_str().map_or(release, str::to_owned));
        let rows = table["rows"].as_array().map_or(&[][..], Vec::as_slice);
        let has_groups = rows.iter().any(|row| row.get("group").is_some());
        for row in rows.iter().filter(|row| row["span"] == *span) {
            let group = row["group"].as_object();
            if group.is_some() != has_groups {
                continue;
            }
            let values = group.into_iter().flat_map(|group| group.values());
            let name: Vec<&str> = values.filter_map(Value::as_str).collect();
            if name.contains(&OTHER) {
                continue;
            }
            let number = |place: usize| row[&statistic][place].as_f64().unwrap_or(0.0);
            let (name, point) = (name.join(" "), (number(0), number(1), number(2)));
            match lines.iter_mut().find(|line| line.name == name) {
                Some(line) => line.points.push(point),
                None => lines.push(series::Line {
                    name,
                    points: vec![point],
                }),
            }
        }
        chosen = Some((span, statistic));
    }
    let title = chosen.map(|(span, statistic)| format!("{statistic}, {span}"));
    Ok(series::picture(&title.unwrap_or_default(), &times, &lines))
}

/// The span and the statistic of the picture.
fn choose(table: &Value, show: Option<&str>) -> Result<(String, String)> {
    let rows = table["rows"].as_array().map_or(&[][..], Vec::as_slice);
    let mut spans = rows.iter().filter_map(|row| row["span"].as_str());
    let last = spans.rfind(|span| span.starts_with("last "));
    let keys = rows.first().and_then(Value::as_object);
    let keys: Vec<&String> = keys.into_iter().flat_map(|row| row.keys()).collect();
    let statistics = || {
        keys.iter()
            .filter(|key| **key != "span" && **key != "group")
    };
    let found = match show {
        Some(show) => statistics().find(|key| **key == show),
        None => statistics()
            .find(|key| **key != "count")
            .or(statistics().next()),
    };
    let found = found.with_context(|| {
        let known: Vec<&str> = statistics().map(|key| key.as_str()).collect();
        format!("--show: allowed: {}", known.join(", "))
    })?;
    Ok((last.unwrap_or("tick").to_owned(), (*found).clone()))
}
