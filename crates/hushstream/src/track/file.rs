//! Statistics of a whole file or of a live stream, and the files that they are written to.

use super::book::{Book, Statistical};
use super::clock::{By, Clock, Placed};
use super::plan::TrackPlan;
use super::tables::{Names, Table, Tables};
use super::tracker::{Tracker, counted};
use crate::ahead::Next;
use crate::error::{Error, Result, refuse};
use crate::files::LineFile;
use crate::learner::Listener;
use crate::outcome::Together;
use crate::releases::Releases;
use crate::rows::Rows;
use crate::{budget, checked, data, files, memory, opening, state, warnings};
use hushstream_account::Guarantee;
use hushstream_pictures::numbers::grouped;
use serde::Serialize;
use std::io::Write;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The assumption of the guarantee where rows have times.
const TIMES: &str =
    "times are public: a record is replaced by any of the same tick, empty ones included";
/// Numbers that may wait for a sync.
const MOST_WAITING: usize = 1 << 20;

/// The outcome of a run of statistics: one object with stable keys, the output of `--json`.
#[derive(Serialize)]
pub struct Tracked {
    /// The plan, with the split of the budget.
    pub plan: TrackPlan,
    /// Ticks that have closed.
    pub ticks: u64,
    /// Records so far. Their number is public.
    pub records: u64,
    /// The last table; none if no tick has closed since a resume.
    pub table: Option<Table>,
    /// The probability that an interval holds the truth.
    pub confidence: f64,
    /// The guarantee.
    pub guarantee: Guarantee,
    /// This run and all earlier ones on the same ledger.
    pub ledger: Together,
    /// Records that counted for nothing: malformed, or over a person's limit.
    pub nulls: Option<u64>,
    /// Warnings for the operator about the data.
    pub warnings: Option<Vec<String>>,
    /// Elapsed time in seconds.
    pub seconds: Option<f64>,
    /// Records per second.
    pub rows_per_second: Option<f64>,
    /// Peak memory of the process.
    pub peak_memory_bytes: Option<u64>,
    /// Keys that are computed from private data and must not be published.
    pub operator_only: Vec<&'static str>,
}

/// Tracks a file; `heard` gets every table that may leave.
pub(crate) fn track(
    tracker: &Tracker,
    listener: &mut dyn Listener,
    heard: &mut dyn FnMut(&Table) -> Result<()>,
) -> Result<Tracked> {
    let learner = &tracker.learner;
    check_outputs(tracker)?;
    if learner.data.shuffle.is_some() {
        refuse!("ticks are in the order of the data: leave out ‹shuffle›");
    }
    let schema = tracker.schema()?;
    let has_times = schema.time.is_some();
    let is_live = data::is_stream(&learner.data.file);
    let is_clock = tracker.by.tick_at(0).is_some();
    if is_clock && !has_times && !is_live {
        refuse!(
            "rows of a file have no arrival times: name the column of their times, which are \
             public, with ‹time COLUMN›, or take ticks of so many records, as ‹by 1000›"
        );
    }
    let card = tracker.card()?;
    if is_clock && has_times && is_live && tracker.from.is_none() && card.is_none() {
        refuse!("state when the first tick of a stream begins: ‹from 2013-01-01›");
    }
    let origin = data::Origin::new(&learner.data)?;
    let mut count = counted(tracker);
    let checked = checked::before_with_times(learner, &origin, &schema, listener, &mut |time| {
        count.row(time);
    })?;
    let mut reader = origin.open(&schema)?;
    let layout = reader.layout().clone();
    let ticks = match (tracker.stated_ticks()?, &checked) {
        (None, Some(_)) => Some(Some(count.ticks.max(1))),
        (stated, _) => stated,
    };
    let prepared = tracker.prepare(&layout, ticks)?;
    listener.say(&prepared.shown.to_string());
    let rows = checked.as_ref().map(|checked| checked.rows);
    let delta = rows.and_then(|rows| warnings::large_delta(learner.privacy.delta, rows));
    for warning in delta.into_iter().chain(warnings::left_ledgers(learner)) {
        listener.say(&warning);
    }
    let first = match (&card, checked.is_some(), is_clock) {
        (Some(card), ..) => card.first,
        (None, _, false) => None,
        (None, true, true) => count.first(),
        (None, false, true) => {
            let from = tracker.from.unwrap_or_else(now);
            tracker.by.tick_at(from)
        }
    };
    let reading = format!(
        "{}, times in {:?}",
        data::reading(learner, &schema, &layout)?,
        schema.time
    );
    let statistical = Statistical {
        description: tracker.description(first, prepared.ticks)?,
        planned: prepared.planned.clone(),
        ticks: prepared.ticks,
        first,
    };
    let opened = opening::open(learner, &statistical, &reading, Some(&mut reader), listener)?;
    if let Some(told) = &opened.resumed {
        listener.say(told);
    }
    let tables = Tables::new(
        &prepared.planned,
        prepared.shape,
        &tracker.spans,
        tracker.confidence,
    );
    let book = Book::new(
        statistical,
        opened,
        tables,
        Clock::new(tracker.by, first, 0),
    )?;
    let closed = book.ticks();
    let names = std::sync::Arc::clone(book.tables().names());
    let mut writing = Writing {
        releases: match &learner.output.releases {
            Some(path) => Some(Releases::open(path, learner.output.resume)?),
            None => None,
        },
        csv: match &tracker.csv {
            Some(path) => Some(Csv::open(path, learner.output.resume, &names)?),
            None => None,
        },
        heard,
        last: None,
        synced: Instant::now(),
        group: learner.output.sync,
    };
    let mut book = book;
    book.clock = Clock::new(tracker.by, first, closed);
    // Releases that a crash kept from being written.
    writing.sync(&mut book)?;
    let start = Instant::now();
    let before = book.records();
    let mut rows = Rows::new(reader, is_live, u64::MAX);
    let by_arrival = is_clock && !has_times;
    while !book.is_over() {
        let patience = match (rows.is_waiting(), is_live) {
            (true, true) => writing.patience(&book, by_arrival),
            _ => None,
        };
        let next = rows.next_record(patience);
        let next = next.map_err(|error| crate::run::mid_stream(learner, &error))?;
        match next {
            Next::Row(sealed) => {
                let placed = match tracker.by {
                    By::Records(_) | By::Hand => Placed::After(0),
                    _ if by_arrival => book.clock.place(Some(now())),
                    _ => book.clock.place(sealed.time),
                };
                if let Placed::After(ticks) = placed {
                    close(&mut book, &mut writing, ticks)?;
                    if book.is_over() {
                        break;
                    }
                }
                let record = (placed != Placed::Nowhere).then_some(sealed.record);
                book.take(sealed.person, record, sealed.digest.as_ref())?;
                if let By::Records(records) = tracker.by
                    && book.in_tick == records
                {
                    close(&mut book, &mut writing, 1)?;
                }
            }
            Next::Late => {
                if by_arrival && let Placed::After(ticks) = book.clock.place(Some(now())) {
                    close(&mut book, &mut writing, ticks)?;
                }
                writing.sync(&mut book)?;
            }
            Next::End => {
                // The end of the data closes the tick, if it has a row.
                let ticks = u64::from(book.in_tick > 0);
                close(&mut book, &mut writing, ticks)?;
                break;
            }
        }
    }
    writing.sync(&mut book)?;
    if let (Some(planned), true) = (prepared.ticks, book.is_over()) {
        let is_left = !is_live && !matches!(rows.next_record(None), Ok(Next::End));
        if is_left {
            listener.say(&format!(
                "the run was planned for {} ticks: the rest of the file was not read",
                grouped(planned)
            ));
        }
    }
    let mut guarantee = book.guarantee()?;
    if has_times && is_clock {
        guarantee = guarantee.assuming(TIMES);
    }
    if checked::began_checked(learner)? {
        guarantee = guarantee.assuming(checked::ASSUMPTION);
    }
    let shown = !learner.output.quiet;
    let seconds = start.elapsed().as_secs_f64();
    let records = book.records();
    let mut found: Vec<String> = checked.iter().flat_map(checked::warnings).collect();
    if checked.is_none() {
        let nulls = *book.nulls().for_the_operator();
        let told = checked::many_empty(nulls, records);
        told.iter().for_each(|told| listener.warn(told));
        found.extend(told);
    }
    Ok(Tracked {
        plan: prepared.shown,
        ticks: book.ticks(),
        records,
        table: writing.last,
        confidence: tracker.confidence,
        guarantee,
        ledger: book.together(),
        nulls: shown.then(|| *book.nulls().for_the_operator()),
        warnings: shown.then_some(found),
        seconds: shown.then_some(seconds),
        rows_per_second: shown.then(|| (records - before) as f64 / seconds.max(1e-9)),
        peak_memory_bytes: memory::peak().filter(|_| shown),
        operator_only: vec![
            "nulls",
            "warnings",
            "seconds",
            "rows_per_second",
            "peak_memory_bytes",
        ],
    })
}

/// Closes ticks, up to the last planned one.
fn close(book: &mut Book, writing: &mut Writing<'_>, ticks: u64) -> Result<()> {
    for _ in 0..ticks {
        if book.is_over() {
            break;
        }
        book.close()?;
        if book.waiting() > MOST_WAITING || writing.is_due() {
            writing.sync(book)?;
        }
    }
    Ok(())
}

/// Seconds since 1970, of the clock on the wall.
fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs().cast_signed())
}

fn check_outputs(tracker: &Tracker) -> Result<()> {
    let output = &tracker.learner.output;
    let ledger = budget::path(&tracker.learner).ok();
    let files: Vec<(&str, &Path)> = [
        ("the data", Some(Path::new(&tracker.learner.data.file))),
        ("the ledger", ledger.as_deref()),
        ("the releases", output.releases.as_deref()),
        ("the table", tracker.csv.as_deref()),
    ]
    .into_iter()
    .filter_map(|(what, path)| Some((what, path?)))
    .collect();
    files::check_distinct(&files)?;
    for (what, path) in &files {
        if !["the data", "the ledger"].contains(what) {
            files::check_writable(path, what)?;
        }
    }
    match &output.state {
        Some(folder) if !output.resume => state::StateFolder::check_new(folder, output.keeper()),
        _ => Ok(()),
    }
}

/// Where tables go.
struct Writing<'a> {
    releases: Option<Releases>,
    csv: Option<Csv>,
    heard: &'a mut dyn FnMut(&Table) -> Result<()>,
    last: Option<Table>,
    synced: Instant,
    /// Time between two syncs.
    group: Duration,
}

impl Writing<'_> {
    fn is_due(&self) -> bool {
        self.synced.elapsed() >= self.group
    }

    /// How long to wait for a row: until tables must leave, or until the tick is over.
    fn patience(&self, book: &Book, by_arrival: bool) -> Option<Duration> {
        let waits = book.waiting() > 0;
        let sync = waits.then(|| self.group.saturating_sub(self.synced.elapsed()));
        let end = book.clock.begins(book.ticks() + 1).filter(|_| by_arrival);
        let tick = end.map(|end| Duration::from_secs((end - now()).max(0).cast_unsigned()));
        let least = [sync, tick].into_iter().flatten().min();
        least.map(|least| least.max(Duration::from_millis(1)))
    }

    /// Syncs, and writes the tables that may leave.
    fn sync(&mut self, book: &mut Book) -> Result<()> {
        for table in book.sync()? {
            if let Some(releases) = &mut self.releases {
                releases.write(table.tick, &table)?;
            }
            if let Some(csv) = &mut self.csv {
                csv.write(&table)?;
            }
            (self.heard)(&table)?;
            self.last = Some(table);
        }
        if let Some(releases) = &mut self.releases {
            releases.sync()?;
        }
        if let Some(csv) = &mut self.csv {
            csv.file.sync()?;
        }
        // Only now may the journal forget releases.
        book.shorten()?;
        self.synced = Instant::now();
        Ok(())
    }
}

/// The file of comma-separated values: a line for every number of a table. After a crash it goes on
/// after the last whole table.
struct Csv {
    file: LineFile,
    last: u64,
}

impl Csv {
    fn open(path: &Path, resume: bool, names: &Names) -> Result<Self> {
        let lines = (Table::row_count(names) * names.columns.len()) as u64;
        let header = header(names);
        let mut count = 0;
        let mut file = LineFile::open(path, resume, |line| {
            if count == 0 && line != header.as_bytes() {
                refuse!(
                    "{} is not the table of this run: name another",
                    path.display()
                );
            }
            count += 1;
            Ok((count - 1) % lines == 0)
        })?;
        if count == 0 {
            file.write(|file| file.write_all(header.as_bytes()))?;
        }
        Ok(Self {
            file,
            last: count.saturating_sub(1) / lines,
        })
    }

    fn write(&mut self, table: &Table) -> Result<()> {
        if table.tick <= self.last {
            return Ok(());
        }
        let groups = table.group_columns().len();
        self.file.write(|file| {
            for row in table.rows() {
                for (name, estimate) in table.columns().iter().zip(row.estimates) {
                    let from = table.from.as_deref().unwrap_or("");
                    let to = table.to.as_deref().unwrap_or("");
                    write!(file, "{},{from},{to},{}", table.tick, row.span.name())?;
                    for place in 0..groups {
                        let value = row.group.as_ref().map_or("", |group| group[place]);
                        write!(file, ",{}", quoted(value))?;
                    }
                    let (value, low, high) = (estimate.value, estimate.low, estimate.high);
                    writeln!(file, ",{},{value},{low},{high}", quoted(name))?;
                }
            }
            Ok(())
        })?;
        self.last = table.tick;
        Ok(())
    }
}

fn header(names: &Names) -> String {
    let groups = names.shape.groups.iter();
    let groups: String = groups
        .map(|(name, _)| format!(",{}", quoted(name)))
        .collect();
    format!("tick,from,to,span{groups},statistic,value,low,high\n")
}

/// A field, in quotes where it needs them.
fn quoted(field: &str) -> String {
    if field.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}

impl Tracker {
    /// [`Tracker::track_file`]; `heard` gets every table that may leave, as soon as it may.
    ///
    /// # Errors
    /// As [`Tracker::track_file`]; those of `heard`.
    pub fn track_heard(
        &self,
        listener: &mut dyn Listener,
        heard: &mut dyn FnMut(&Table) -> Result<(), Error>,
    ) -> Result<Tracked, Error> {
        track(self, listener, heard)
    }

    /// The plan for a file, of which only times and rows are counted. Spends nothing.
    ///
    /// # Errors
    /// A file or a parameter that is refused.
    pub fn plan_file(&self, listener: &mut dyn Listener) -> Result<TrackPlan, Error> {
        let schema = self.schema()?;
        let origin = data::Origin::new(&self.learner.data)?;
        let mut ticks = self.stated_ticks()?;
        if ticks.is_none() {
            let mut count = counted(self);
            let mut row = |time| count.row(time);
            checked::before_with_times(&self.learner, &origin, &schema, listener, &mut row)?;
            ticks = (count.ticks > 0).then_some(Some(count.ticks));
        }
        let layout = origin.open(&schema)?.layout().clone();
        Ok(self.prepare(&layout, ticks)?.shown)
    }
}
