//! One running statistic of the program's own numbers: a [`Tracker`] with a single column.

use super::asked::OTHER;
use super::estimates::Estimate;
use super::tables::{Span, Table};
use super::tracker::{Tracker, Tracking};
use crate::error::{Error, Result, refuse};
use crate::released::Released;
use hushstream_account::{Budget, Guarantee};
use hushstream_read::Value;
use std::ops::Range;

/// The column of numbers, and the column of groups.
const NUMBER: &str = "value";
const GROUP: &str = "group";

/// How many records of each group have come.
///
/// ```
/// use hushstream::prelude::*;
///
/// let budget = Budget::approx(1.0, 1e-6)?;
/// let mut visits = RunningCount::start(["north", "south"], 30, budget, |tracker| {
///     tracker.adjacency(ReplaceOne).simulated(7) // for real: .ledger("people.ledger")
/// })?;
/// for _ in 0..400 {
///     visits.add("north")?;
/// }
/// let counts = visits.tick()?.into_value(); // north, south, all others
/// assert!(counts[0].covers(400.0) && counts[1].covers(0.0));
/// println!("{}", visits.guarantee());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct RunningCount {
    run: Tracking,
    groups: Vec<String>,
}

/// The sum of numbers between public bounds.
///
/// ```
/// use hushstream::prelude::*;
///
/// let budget = Budget::approx(1.0, 1e-6)?;
/// let mut hours = RunningSum::start(0.0..24.0, 7, budget, |tracker| {
///     tracker.adjacency(ReplaceOne).simulated(7) // for real: .ledger("people.ledger")
/// })?;
/// for _ in 0..1000 {
///     hours.add(8.0)?;
/// }
/// assert!(hours.tick()?.value().covers(8000.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct RunningSum(Tracking);

/// The mean of numbers between public bounds.
///
/// ```
/// use hushstream::prelude::*;
///
/// let budget = Budget::approx(1.0, 1e-6)?;
/// let mut age = RunningMean::start(0.0..100.0, 7, budget, |tracker| {
///     tracker.adjacency(ReplaceOne).simulated(7) // for real: .ledger("people.ledger")
/// })?;
/// for person in 0..1000 {
///     age.add(f64::from(person % 79))?;
/// }
/// let mean = age.tick()?.into_value();
/// assert!(mean.covers(38.6) && mean.high - mean.low < 10.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct RunningMean(Tracking);

/// The histogram of numbers between public bounds.
///
/// ```
/// use hushstream::prelude::*;
///
/// let budget = Budget::approx(1.0, 1e-6)?;
/// let mut age = RunningHistogram::start(0.0..100.0, 10, 7, budget, |tracker| {
///     tracker.adjacency(ReplaceOne).simulated(7) // for real: .ledger("people.ledger")
/// })?;
/// for person in 0..1000 {
///     age.add(f64::from(person % 80))?;
/// }
/// let bins = age.tick()?.into_value();
/// assert_eq!(bins.len(), 10);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct RunningHistogram(Tracking);

impl RunningCount {
    /// Counts by group for so many ticks. `describe` adds what a [`Tracker`] can: the neighbouring
    /// relation, a ledger, a state folder.
    ///
    /// # Errors
    /// A parameter that is missing or not allowed; a budget without room; a disk that fails.
    pub fn start<S: Into<String>>(
        groups: impl IntoIterator<Item = S>,
        ticks: u64,
        budget: Budget,
        describe: impl FnOnce(Tracker) -> Tracker,
    ) -> Result<Self, Error> {
        let mut groups: Vec<String> = groups.into_iter().map(Into::into).collect();
        let tracker = Tracker::by_ticks(ticks).group(GROUP, groups.clone());
        let run = describe(tracker.budget(budget)).start()?;
        groups.push(OTHER.to_owned());
        Ok(Self { run, groups })
    }

    /// Counts a record of a group; one that is not listed is counted among all others.
    ///
    /// # Errors
    /// All planned ticks are over; a disk that fails.
    pub fn add(&mut self, group: &str) -> Result<(), Error> {
        self.run.add(&[(GROUP, Value::Text(group))])
    }

    /// Closes the tick, and releases the counts since the beginning: of each group, then of all
    /// others.
    ///
    /// # Errors
    /// All planned ticks are over; a disk that fails.
    pub fn tick(&mut self) -> Result<Released<Vec<Estimate>>, Error> {
        let groups = &self.groups;
        released(&mut self.run, |table| {
            let count = |group: &String| table.get(Span::Beginning, &[group], "count");
            groups.iter().map(count).collect()
        })
    }

    /// The guarantee for all releases together.
    #[must_use]
    pub fn guarantee(&self) -> Guarantee {
        self.run.guarantee()
    }
}

impl RunningSum {
    /// Sums for so many ticks; numbers are clipped to the bounds. `describe` adds what a
    /// [`Tracker`] can.
    ///
    /// # Errors
    /// A parameter that is missing or not allowed; a budget without room; a disk that fails.
    pub fn start(
        bounds: Range<f64>,
        ticks: u64,
        budget: Budget,
        describe: impl FnOnce(Tracker) -> Tracker,
    ) -> Result<Self, Error> {
        let tracker = Tracker::by_ticks(ticks).sum(NUMBER, bounds);
        describe(tracker.budget(budget)).start().map(Self)
    }

    /// Closes the tick, and releases the sum since the beginning.
    ///
    /// # Errors
    /// All planned ticks are over; a disk that fails.
    pub fn tick(&mut self) -> Result<Released<Estimate>, Error> {
        released(&mut self.0, |table| {
            table.get(Span::Beginning, &[], "sum value")
        })
    }
}

impl RunningMean {
    /// Means for so many ticks; numbers are clipped to the bounds. `describe` adds what a
    /// [`Tracker`] can.
    ///
    /// # Errors
    /// A parameter that is missing or not allowed; a budget without room; a disk that fails.
    pub fn start(
        bounds: Range<f64>,
        ticks: u64,
        budget: Budget,
        describe: impl FnOnce(Tracker) -> Tracker,
    ) -> Result<Self, Error> {
        let tracker = Tracker::by_ticks(ticks).mean(NUMBER, bounds);
        describe(tracker.budget(budget)).start().map(Self)
    }

    /// Closes the tick, and releases the mean since the beginning.
    ///
    /// # Errors
    /// All planned ticks are over; a disk that fails.
    pub fn tick(&mut self) -> Result<Released<Estimate>, Error> {
        released(&mut self.0, |table| {
            table.get(Span::Beginning, &[], "mean value")
        })
    }
}

impl RunningHistogram {
    /// Histograms of so many equal bins for so many ticks; numbers are clipped to the bounds.
    /// `describe` adds what a [`Tracker`] can.
    ///
    /// # Errors
    /// A parameter that is missing or not allowed; a budget without room; a disk that fails.
    pub fn start(
        bounds: Range<f64>,
        bins: u32,
        ticks: u64,
        budget: Budget,
        describe: impl FnOnce(Tracker) -> Tracker,
    ) -> Result<Self, Error> {
        let tracker = Tracker::by_ticks(ticks).histogram(NUMBER, bounds, bins);
        describe(tracker.budget(budget)).start().map(Self)
    }

    /// Closes the tick, and releases the counts of all bins since the beginning.
    ///
    /// # Errors
    /// All planned ticks are over; a disk that fails.
    pub fn tick(&mut self) -> Result<Released<Vec<Estimate>>, Error> {
        released(&mut self.0, |table| {
            let is_bin = |name: &&String| name.contains("..");
            let bins = table.columns().iter().filter(is_bin);
            bins.map(|name| table.get(Span::Beginning, &[], name))
                .collect()
        })
    }
}

/// What a running statistic of numbers has beside its start and its tick.
macro_rules! takes_numbers {
    ($($statistic:ident)*) => {$(
        impl $statistic {
            /// Adds one record's number.
            ///
            /// # Errors
            /// All planned ticks are over; a disk that fails.
            pub fn add(&mut self, number: f64) -> Result<(), Error> {
                self.0.add(&[(NUMBER, Value::Number(number))])
            }

            /// The guarantee for all releases together.
            #[must_use]
            pub fn guarantee(&self) -> Guarantee {
                self.0.guarantee()
            }
        }
    )*};
}

takes_numbers!(RunningSum RunningMean RunningHistogram);

/// Closes the tick, and reads its table.
fn released<T>(run: &mut Tracking, read: impl Fn(&Table) -> Option<T>) -> Result<Released<T>> {
    let table = run.tick()?;
    match read(table.value()) {
        Some(value) => Ok(Released::new(table.release(), value)),
        None => refuse!("the description changed the columns of the statistic"),
    }
}
