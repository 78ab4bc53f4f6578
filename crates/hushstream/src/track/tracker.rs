//! The description of running statistics, and their runs.

use super::asked::{Asked, Shape};
use super::book::{Book, Statistical};
use super::clock::{By, Clock, Counted};
use super::plan::{Planned, Situation, TrackPlan};
use super::tables::{Span, Table, Tables};
use crate::elsewhere::{Delivery, Reading, SealingKey};
use crate::error::{Error, Result, refuse};
use crate::learner::{Learner, Listener};
use crate::released::Released;
use crate::state::Card;
use crate::{data, opening};
use hushstream_account::{Adjacency, Budget, Guarantee};
use hushstream_mechanism::OperatorOnly;
use hushstream_mechanism::sums::{Noise, Opener, SumKind};
use hushstream_read::{Encoder, Fields, Layout, SchemaSpec};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

/// The description of running statistics: counts, sums, means and histograms by group, published at
/// every tick of a public clock.
///
/// All of them share one charge: one vector through one continual sum, with the budget split by the
/// least total error.
///
/// ```
/// use hushstream::prelude::*;
///
/// let mut run = Tracker::by_ticks(7)
///     .group("region", ["north", "south"])
///     .mean("age", 0.0..100.0)
///     .budget(Budget::approx(1.0, 1e-6)?)
///     .adjacency(ReplaceOne)
///     .simulated(7) // real noise needs a ledger: .ledger("people.ledger")
///     .start()?;
/// for day in 0..7 {
///     for person in 0..500 {
///         let region = if person % 3 == 0 { "north" } else { "south" };
///         run.add(&[("region", Value::Text(region)), ("age", Value::Number(40.0))])?;
///     }
///     let table = run.tick()?.into_value(); // closes the day
///     let north = table.get(Span::Beginning, &["north"], "mean age").unwrap();
///     println!("day {day}: {:.1} ({:.1} to {:.1})", north.value, north.low, north.high);
/// }
/// println!("{}", run.guarantee());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
#[must_use = "a description does nothing by itself: plan, start, resume or track_file"]
pub struct Tracker {
    /// Data, privacy and files, as those of a learner.
    pub learner: Learner,
    /// The statistics.
    pub asked: Asked,
    /// What a tick is.
    pub by: By,
    /// Planned ticks; by default those of the file are counted.
    pub ticks: Option<u64>,
    /// Seconds since 1970 from which on records count, and up to which.
    pub from: Option<i64>,
    /// The end.
    pub to: Option<i64>,
    /// The spans of a table.
    pub spans: Vec<Span>,
    /// The probability that an interval holds the truth.
    pub confidence: f64,
    /// The file of all tables as comma-separated values: publishable.
    pub csv: Option<PathBuf>,
}

impl Tracker {
    /// Ticks of this clock, or of so many records.
    pub fn by(by: By) -> Self {
        Self {
            learner: Learner::default(),
            asked: Asked::default(),
            by,
            ticks: None,
            from: None,
            to: None,
            spans: vec![Span::Beginning, Span::Last(1)],
            confidence: 0.95,
            csv: None,
        }
    }

    /// So many ticks, which the program closes by [`Tracking::tick`].
    pub fn by_ticks(ticks: u64) -> Self {
        let mut tracker = Self::by(By::Hand);
        tracker.ticks = Some(ticks);
        tracker
    }

    /// Any number of ticks, which the program closes by [`Tracking::tick`].
    pub fn by_any_ticks() -> Self {
        let mut tracker = Self::by(By::Hand);
        tracker.learner.privacy.horizon_unknown = true;
        tracker
    }

    /// The sum of a column of numbers between public bounds; others are clipped to them.
    pub fn sum(mut self, name: &str, bounds: Range<f64>) -> Self {
        self.asked.sums.push(name.to_owned());
        self.bounds(name, bounds)
    }

    /// The mean of a column.
    pub fn mean(mut self, name: &str, bounds: Range<f64>) -> Self {
        self.asked.means.push(name.to_owned());
        self.bounds(name, bounds)
    }

    /// The histogram of a column, in so many equal bins.
    pub fn histogram(mut self, name: &str, bounds: Range<f64>, bins: u32) -> Self {
        self.asked.histograms.push((name.to_owned(), bins));
        self.bounds(name, bounds)
    }

    fn bounds(mut self, name: &str, bounds: Range<f64>) -> Self {
        let stated = (name.to_owned(), (bounds.start, bounds.end));
        if !self.asked.bounds.contains(&stated) {
            self.asked.bounds.push(stated);
        }
        self
    }

    /// A quantile of every histogram.
    pub fn quantile(mut self, share: f64) -> Self {
        self.asked.quantiles.push(share);
        self
    }

    /// Statistics by the categories of a column, which are public. Several columns make a group of
    /// every combination. Values that are not listed are a group of their own.
    pub fn group<S: Into<String>>(
        mut self,
        name: &str,
        categories: impl IntoIterator<Item = S>,
    ) -> Self {
        self.asked.groups.push(name.to_owned());
        let categories = categories.into_iter().map(Into::into).collect();
        self.asked.categories.push((name.to_owned(), categories));
        self
    }

    /// Also the statistics of the last so many ticks.
    pub fn last(mut self, ticks: u64) -> Self {
        self.spans.push(Span::Last(ticks));
        self
    }

    /// Also statistics in which every tick counts for so much of the one after it.
    pub fn decay(mut self, factor: f64) -> Self {
        self.spans.push(Span::Fading(factor));
        self
    }

    /// ε and δ of this run.
    pub fn budget(mut self, budget: Budget) -> Self {
        self.learner = self.learner.budget(budget);
        self
    }

    /// The neighbouring relation.
    pub fn adjacency(mut self, adjacency: Adjacency) -> Self {
        self.learner = self.learner.adjacency(adjacency);
        self
    }

    /// Protects persons, who may contribute to so many ticks and once to each. The column tells
    /// them apart.
    pub fn person(mut self, column: &str, most: u64) -> Self {
        self.learner.data.schema.person = Some(column.to_owned());
        self.learner.privacy.max_per_person = Some(most);
        self
    }

    /// The ledger file, with the budget of this data over all runs.
    pub fn ledger(mut self, path: impl Into<PathBuf>) -> Self {
        self.learner = self.learner.ledger(path);
        self
    }

    /// Draws simulated noise from a seed, for experiments: it protects nobody.
    pub fn simulated(mut self, seed: u64) -> Self {
        self.learner = self.learner.simulated(seed);
        self
    }

    /// The state folder, to resume after a stop; secret.
    pub fn state(mut self, folder: impl Into<PathBuf>) -> Self {
        self.learner = self.learner.state(folder);
        self
    }

    /// The sum; chosen if not stated.
    pub fn on(mut self, sum: SumKind, noise: Noise) -> Self {
        (self.learner.wishes.sum, self.learner.wishes.noise) = (Some(sum), Some(noise));
        self
    }

    /// Plans a run for rows of the program. Spends nothing.
    ///
    /// # Errors
    /// A parameter that is missing or not allowed.
    pub fn plan(&self) -> Result<TrackPlan, Error> {
        let schema = self.schema()?;
        let (layout, _) = self.layout(&schema)?;
        let prepared = self.prepare(&layout, self.stated_ticks()?)?;
        Ok(prepared.shown)
    }

    /// Plans, charges the ledger, and opens a run for rows of the program.
    ///
    /// # Errors
    /// A parameter that is missing or not allowed; a budget without room; a disk that fails.
    pub fn start(self) -> Result<Tracking, Error> {
        Tracking::open(&self)
    }

    /// Continues the run in the state folder. Spends nothing.
    ///
    /// # Errors
    /// No such run; other parameters than those it was begun with; a disk that fails.
    pub fn resume(mut self) -> Result<Tracking, Error> {
        self.learner.output.resume = true;
        Tracking::open(&self)
    }

    /// Publishes statistics of a whole file or stream. Checks everything that can be checked before
    /// anything is spent.
    ///
    /// # Errors
    /// A file or a parameter that is refused; a budget without room; a disk that fails.
    pub fn track_file(&self, listener: &mut dyn Listener) -> Result<super::Tracked, Error> {
        super::file::track(self, listener, &mut |_| Ok(()))
    }

    /// The layout of rows that come from the program or, where one was given, from other machines.
    fn layout(&self, schema: &SchemaSpec) -> Result<(Layout, Option<Encoder>)> {
        if let Some(layout) = &self.learner.data.layout {
            return Ok((layout.clone(), None));
        }
        let encoder = Encoder::new(schema)?;
        Ok((encoder.layout().clone(), Some(encoder)))
    }

    /// The schema of the columns that are read.
    #[doc(hidden)]
    pub fn schema(&self) -> Result<SchemaSpec> {
        let mut schema = self.learner.data.schema.clone();
        let mut asked = self.asked.clone();
        for (name, bounds) in self.asked.bounds.clone() {
            asked.bound(&name, bounds)?;
        }
        asked.add_to(&mut schema)?;
        Ok(schema)
    }

    /// The planned number of ticks as it is stated; none if it is not known.
    pub(crate) fn stated_ticks(&self) -> Result<Option<Option<u64>>> {
        if let Some(card) = self.card()? {
            return Ok(Some(Some(card.rounds).filter(|ticks| *ticks > 0)));
        }
        if self.learner.privacy.horizon_unknown {
            return Ok(Some(None));
        }
        if let (None, Some(from), Some(to)) = (self.ticks, self.from, self.to) {
            let ticks = |time| self.by.tick_at(time);
            let (Some(first), Some(last)) = (ticks(from), ticks(to - 1)) else {
                refuse!("‹from› and ‹to› are for ticks of a clock: ‹by day›");
            };
            if last < first {
                refuse!("‹to› is not after ‹from›");
            }
            return Ok(Some(Some((last - first) as u64 + 1)));
        }
        Ok(self.ticks.map(Some))
    }

    /// The card of the run to resume.
    pub(crate) fn card(&self) -> Result<Option<Card>> {
        match &self.learner.output.state {
            Some(folder) if self.learner.output.resume => {
                Ok(Some(Card::read(folder, self.learner.output.keeper())?))
            }
            _ => Ok(None),
        }
    }

    /// Everything that is fixed before any data.
    pub(crate) fn prepare(&self, layout: &Layout, ticks: Option<Option<u64>>) -> Result<Prepared> {
        let Some(ticks) = ticks else {
            refuse!(
                "the number of ticks of a stream is not known: state ‹ticks N›, ‹from› and ‹to›, \
                 or ‹horizon unknown›"
            );
        };
        if !(self.confidence > 0.0 && self.confidence < 1.0) {
            refuse!("‹confidence› is not allowed; allowed: a number between 0 and 1, as 0.95");
        }
        for span in &self.spans {
            match span {
                Span::Last(0) => refuse!("‹last 0› is not allowed; allowed: 1 tick or more"),
                Span::Fading(factor) if !(*factor > 0.0 && *factor < 1.0) => {
                    refuse!("‹decay {factor}› is not allowed; allowed: a number between 0 and 1")
                }
                _ => {}
            }
        }
        data::check_persons(&self.learner)?;
        let privacy = &self.learner.privacy;
        let shape = Shape::new(&self.asked, layout)?;
        let situation = Situation {
            by: self.by,
            ticks,
            budget: Budget::approx(privacy.epsilon, privacy.delta)?,
            adjacency: privacy.stated_adjacency()?,
            participation: privacy.participation(),
            sum: self.learner.wishes.sum,
            noise: self.learner.wishes.noise,
        };
        let planned = situation.plan(&shape)?;
        Ok(Prepared {
            shown: TrackPlan::new(&situation, &shape, &planned),
            ticks,
            shape,
            planned,
        })
    }

    /// What makes two runs the same.
    pub(crate) fn description(&self, first: Option<i64>, ticks: Option<u64>) -> Result<String> {
        let same = (&self.asked, self.by, &self.spans, self.confidence.to_bits());
        Ok(serde_json::to_string(&(same, first, ticks))?)
    }
}

/// What [`Tracker::prepare`] gives.
pub(crate) struct Prepared {
    pub(crate) shown: TrackPlan,
    pub(crate) ticks: Option<u64>,
    pub(crate) shape: Shape,
    pub(crate) planned: Planned,
}

/// Running statistics of rows of the program.
///
/// ```
/// use hushstream::prelude::*;
///
/// let mut hours: Tracking = Tracker::by_ticks(7)
///     .sum("hours", 0.0..24.0)
///     .budget(Budget::approx(1.0, 1e-6)?)
///     .adjacency(ReplaceOne)
///     .simulated(7)
///     .start()?;
/// hours.add(&[("hours", Value::Number(8.0))])?;
/// hours.add(&[("hours", Value::Text("eight"))])?; // cannot be read: an empty record, which counts
/// let table = hours.tick()?; // on disk, paid for: free to be published
/// assert_eq!((hours.ticks(), hours.records()), (1, 2));
/// assert!(table.value().get(Span::Beginning, &[], "sum hours").is_some());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Tracking {
    book: Book,
    /// None where a layout was given: rows then come from other machines.
    encoder: Option<Encoder>,
    shown: TrackPlan,
    resumed: Option<String>,
    guarantee: Guarantee,
    /// How other machines read rows, as the note of a question.
    reading: Vec<u8>,
    opener: Arc<Opener>,
}

/// What became of a batch of a source.
#[derive(Debug)]
pub struct CommittedTable {
    /// Whether the batch was taken now; otherwise it was taken before, and was not added again.
    pub is_new: bool,
    /// The table of the batch, bit for bit the same every time; none if the batch was taken before
    /// the last one.
    pub table: Option<Released<Table>>,
}

impl Tracking {
    fn open(tracker: &Tracker) -> Result<Self> {
        let schema = tracker.schema()?;
        let (layout, encoder) = tracker.layout(&schema)?;
        let prepared = tracker.prepare(&layout, tracker.stated_ticks()?)?;
        if tracker.by.tick_at(0).is_some() {
            refuse!("a program closes its ticks itself: begin with `by_ticks`");
        }
        let reading = data::reading(&tracker.learner, &schema, &layout)?;
        let statistical = Statistical {
            description: tracker.description(None, prepared.ticks)?,
            planned: prepared.planned.clone(),
            ticks: prepared.ticks,
            first: None,
        };
        let opened = opening::open(&tracker.learner, &statistical, &reading, None, &mut ())?;
        let resumed = opened.resumed.clone();
        let opener = Arc::clone(&opened.opener);
        let tables = Tables::new(
            &prepared.planned,
            prepared.shape,
            &tracker.spans,
            tracker.confidence,
        );
        let clock = Clock::new(tracker.by, None, 0);
        let mut book = Book::new(statistical, opened, tables, clock)?;
        book.keep_last()?;
        let columns = encoder.iter().flat_map(Encoder::columns);
        let columns = columns.map(|name| name.to_string()).collect();
        let note = Reading::new(&tracker.learner.data, &layout, columns);
        Ok(Self {
            reading: note.to_note()?,
            opener,
            guarantee: book.guarantee()?,
            book,
            encoder,
            shown: prepared.shown,
            resumed,
        })
    }

    /// Counts one row in the open tick. A value that cannot be read makes the record empty: what
    /// one person states does not stop a run.
    ///
    /// # Errors
    /// A row without one of the columns; all planned ticks are over; a disk that fails.
    pub fn add(&mut self, row: &(impl Fields + ?Sized)) -> Result<(), Error> {
        let Some(encoder) = &mut self.encoder else {
            refuse!("the rows of this run come from workers, in batches");
        };
        let sealed = encoder.record(row)?;
        self.book.take(sealed.person, Some(sealed.record), None)
    }

    /// Closes the tick, and gives its table. When a tick closes may depend on the clock and on the
    /// number of rows, never on what they hold.
    ///
    /// # Errors
    /// All planned ticks are over; a disk that fails.
    pub fn tick(&mut self) -> Result<Released<Table>, Error> {
        self.book.close()?;
        let table = self.book.sync()?.pop();
        self.book.shorten()?;
        match table {
            Some(table) => Ok(Released::new(table.tick, table)),
            None => refuse!("the tick has no table"),
        }
    }

    /// The question for workers on other machines, as public bytes: see
    /// [`elsewhere`](crate::elsewhere). Every batch of a source is a tick.
    ///
    /// ```
    /// use hushstream::elsewhere::{Delivery, Positions, Span as Rows, Worker};
    /// use hushstream::prelude::*;
    ///
    /// let mut run = Tracker::by_ticks(7)
    ///     .mean("age", 0.0..100.0)
    ///     .budget(Budget::approx(1.0, 1e-6)?)
    ///     .adjacency(ReplaceOne)
    ///     .simulated(7)
    ///     .start()?;
    /// let mut worker = Worker::new(&run.question()?)?; // on another machine
    /// for person in 0..500 {
    ///     worker.add(&[("age", Value::Number(f64::from(person % 80)))])?;
    /// }
    /// let rows = Rows { partition: "people".into(), start: 0, end: 500 };
    /// let part = worker.finish([rows.clone()])?; // as private as the rows
    ///
    /// let batch = Delivery::new("days", 0, Positions::new([rows])?)?;
    /// let taken = run.commit(&batch, &[&part])?;
    /// let again = run.commit(&batch, &[&part])?; // a retry changes nothing
    /// assert!(taken.is_new && !again.is_new);
    /// let mean = |committed: hushstream::track::CommittedTable| {
    ///     committed.table.and_then(|table| table.value().get(Span::Beginning, &[], "mean age"))
    /// };
    /// assert_eq!(mean(taken), mean(again));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Rows in the open tick; persons whose limits do not follow from slots; all planned ticks are
    /// over.
    pub fn question(&self) -> Result<Vec<u8>, Error> {
        let question = self.book.question(self.reading.clone())?;
        question.to_bytes().map_err(Error::other)
    }

    /// Takes a batch of a source as the next tick, exactly once: `parts` are the partial sums with
    /// which workers answered the present question, sealed or not. Everything is durable when it
    /// returns.
    ///
    /// # Errors
    /// A batch whose people would be counted twice or left out; partial sums of another question or
    /// of other positions; a disk that fails.
    pub fn commit(
        &mut self,
        delivery: &Delivery,
        parts: &[impl AsRef<[u8]>],
    ) -> Result<CommittedTable, Error> {
        let note = self.reading.clone();
        let parts: Vec<_> = parts
            .iter()
            .map(|part| self.opener.open(part.as_ref()))
            .collect();
        let (is_new, table) = self.book.commit(delivery, note, &parts)?;
        let table = table.map(|table| Released::new(table.tick, table));
        Ok(CommittedTable { is_new, table })
    }

    /// The key to which workers can seal partial sums, so that only this run reads them. Public.
    #[must_use]
    pub fn sealing_key(&self) -> SealingKey {
        self.opener.public()
    }

    /// The source and the number of the last batch that was taken.
    #[must_use]
    pub fn delivered(&self) -> Option<(&str, u64)> {
        self.book.delivered()
    }

    /// Whether another tick is planned.
    #[must_use]
    pub fn asks(&self) -> bool {
        !self.book.is_over()
    }

    /// Ticks that have closed.
    #[must_use]
    pub fn ticks(&self) -> u64 {
        self.book.ticks()
    }

    /// Rows so far; after a resume the program continues with the one after them.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.book.records()
    }

    /// The table of the last tick before a resume, or of the last batch: it may not have left
    /// before the run stopped, and releasing it again changes nothing.
    #[must_use]
    pub fn last(&self) -> Option<&Table> {
        self.book.last()
    }

    /// The columns of a row of numbers, in order.
    #[must_use]
    pub fn columns(&self) -> Vec<&str> {
        let columns = self.encoder.iter().flat_map(Encoder::columns);
        columns.map(|name| &**name).collect()
    }

    /// Rows that counted for nothing: malformed, or over a person's limit.
    #[must_use]
    pub fn nulls(&self) -> OperatorOnly<u64> {
        self.book.nulls()
    }

    /// The plan.
    #[must_use]
    pub fn plan(&self) -> &TrackPlan {
        &self.shown
    }

    /// The message about the resume, if the run was resumed.
    #[must_use]
    pub fn resumed(&self) -> Option<&str> {
        self.resumed.as_deref()
    }

    /// The guarantee for all tables together.
    #[must_use]
    pub fn guarantee(&self) -> Guarantee {
        let now = self.book.guarantee();
        now.unwrap_or_else(|_| self.guarantee.clone())
    }
}

/// Counts the ticks of a file.
pub(crate) fn counted(tracker: &Tracker) -> Counted {
    let first = tracker.from.and_then(|from| tracker.by.tick_at(from));
    Counted::new(tracker.by, first)
}
