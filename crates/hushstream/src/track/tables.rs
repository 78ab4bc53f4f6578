//! The tables that are published: one for every tick.

use super::asked::Shape;
use super::clock::Clock;
use super::estimates::{Estimate, Spread, columns, estimates, half_width};
use super::plan::Planned;
use crate::error::{Error, Result};
use hushstream_mechanism::Transcript;
use hushstream_mechanism::sums::{PrivateSum, View, ViewNoises};
use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Deserialize, Serialize, Serializer};
use std::collections::VecDeque;
use std::sync::Arc;

/// The part of the stream that a row of a table is about.
///
/// ```
/// use hushstream::prelude::*;
///
/// let mut sold = Tracker::by_ticks(30)
///     .sum("items", 0.0..5.0)
///     .last(7) // besides the total: the last seven days, from the same releases
///     .budget(Budget::approx(1.0, 1e-6)?)
///     .adjacency(ReplaceOne)
///     .simulated(7)
///     .start()?;
/// for day in 0..10 {
///     for _ in 0..1000 {
///         sold.add(&[("items", Value::Number(1.0))])?;
///     }
///     let table = sold.tick()?.into_value();
///     let week = table.get(Span::Last(7), &[], "sum items").unwrap();
///     assert!(day < 7 || (week.value - 7000.0).abs() < 1000.0);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub enum Span {
    /// Everything since the beginning.
    Beginning,
    /// The last so many ticks.
    Last(u64),
    /// Every tick counts for so much of the one after it.
    Fading(f64),
}

impl Span {
    fn view(self) -> View {
        match self {
            Self::Beginning => View::Total,
            Self::Last(ticks) => View::Last(ticks),
            Self::Fading(factor) => View::Fading(factor),
        }
    }

    /// Its name in tables.
    #[must_use]
    pub fn name(self) -> String {
        match self {
            Self::Beginning => "total".to_owned(),
            Self::Last(1) => "tick".to_owned(),
            Self::Last(ticks) => format!("last {ticks}"),
            Self::Fading(factor) => format!("decay {factor}"),
        }
    }
}

/// The names of everything in a table.
#[derive(Debug, PartialEq)]
pub(crate) struct Names {
    pub(crate) spans: Vec<Span>,
    pub(crate) columns: Vec<String>,
    pub(crate) shape: Shape,
}

/// The table of one tick. It is a function of releases, and may be published.
///
/// ```
/// use hushstream::prelude::*;
///
/// let mut run = Tracker::by_ticks(1)
///     .group("region", ["north", "south"])
///     .mean("age", 0.0..100.0)
///     .budget(Budget::approx(1.0, 1e-6)?)
///     .adjacency(ReplaceOne)
///     .simulated(7)
///     .start()?;
/// for _ in 0..500 {
///     run.add(&[("region", Value::Text("north")), ("age", Value::Number(40.0))])?;
/// }
/// let table = run.tick()?.into_value();
/// assert_eq!(table.columns(), ["count", "mean age"]);
/// for row in table.rows() {
///     let (count, age) = (row.estimates[0], row.estimates[1]);
///     println!("{:?}: {:.0} people of about {:.0} years", row.group, count.value, age.value);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    pub(crate) names: Arc<Names>,
    /// The number of the tick, from 1.
    pub tick: u64,
    /// When the tick began, if it is one of a clock.
    pub from: Option<String>,
    /// When it ended.
    pub to: Option<String>,
    /// For every span, the estimates of all records and then of every group.
    estimates: Vec<Vec<Vec<Estimate>>>,
}

/// A row of a [`Table`].
pub struct TableRow<'a> {
    /// The part of the stream that it is about.
    pub span: Span,
    /// The group, one value for every column of the groups; none for all records.
    pub group: Option<Vec<&'a str>>,
    /// One estimate for every name of [`Table::columns`].
    pub estimates: &'a [Estimate],
}

impl Table {
    /// The names of the estimates of a row, in order.
    #[must_use]
    pub fn columns(&self) -> &[String] {
        &self.names.columns
    }

    /// The columns of the groups.
    #[must_use]
    pub fn group_columns(&self) -> Vec<&str> {
        let groups = self.names.shape.groups.iter();
        groups.map(|(name, _)| &**name).collect()
    }

    /// All rows: for every span, all records first, then every group.
    pub fn rows(&self) -> impl Iterator<Item = TableRow<'_>> {
        let spans = self.names.spans.iter().zip(&self.estimates);
        spans.flat_map(move |(span, rows)| {
            rows.iter()
                .enumerate()
                .map(move |(row, estimates)| TableRow {
                    span: *span,
                    group: (row > 0).then(|| self.names.shape.group_values(row - 1)),
                    estimates,
                })
        })
    }

    /// The estimate of a column, as [`Table::columns`] names it, for a span and a group; for all
    /// records if no group is given.
    #[must_use]
    pub fn get(&self, span: Span, group: &[&str], column: &str) -> Option<Estimate> {
        let place = self.names.columns.iter().position(|name| name == column)?;
        let span = self.names.spans.iter().position(|known| *known == span)?;
        let row = if group.is_empty() {
            0
        } else {
            self.names.shape.group_of(group)? + 1
        };
        self.estimates.get(span)?.get(row)?.get(place).copied()
    }

    /// Number of rows.
    pub(crate) fn row_count(names: &Names) -> usize {
        let groups = if names.shape.groups.is_empty() {
            0
        } else {
            names.shape.group_count()
        };
        names.spans.len() * (groups + 1)
    }
}

/// `{"tick": …, "from": …, "to": …, "rows": [{"span": …, "group": {…}, "count": [value, low, high],
/// …}, …]}`.
impl Serialize for Table {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("tick", &self.tick)?;
        if let (Some(from), Some(to)) = (&self.from, &self.to) {
            map.serialize_entry("from", from)?;
            map.serialize_entry("to", to)?;
        }
        map.serialize_entry("rows", &JsonRows(self))?;
        map.end()
    }
}

struct JsonRows<'a>(&'a Table);

impl Serialize for JsonRows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        for row in self.0.rows() {
            list.serialize_element(&JsonRow(self.0, &row))?;
        }
        list.end()
    }
}

struct JsonRow<'a>(&'a Table, &'a TableRow<'a>);

impl Serialize for JsonRow<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(table, row) = self;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("span", &row.span.name())?;
        if let Some(group) = &row.group {
            let names = table.group_columns();
            let group: std::collections::BTreeMap<_, _> = names.iter().zip(group).collect();
            map.serialize_entry("group", &group)?;
        }
        for (name, estimate) in table.columns().iter().zip(row.estimates) {
            map.serialize_entry(name, estimate)?;
        }
        map.end()
    }
}

/// Makes tables of releases, and keeps the past releases that spans need.
pub(crate) struct Tables {
    names: Arc<Names>,
    planned: Planned,
    noises: Vec<ViewNoises>,
    confidence: f64,
    past: Past,
    /// The longest span.
    longest: u64,
}

/// What spans need of past releases: public, as they are. Numbers are bits: a note must give back
/// the same.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(crate) struct Past {
    tick: u64,
    /// The last releases of these ticks.
    releases: VecDeque<Vec<u64>>,
    /// For every fading span, the vector so far.
    fading: Vec<Vec<u64>>,
    /// The release after these ticks, whose table was the last: it can be made again. Earlier
    /// versions wrote none.
    #[serde(default)]
    last: Option<Vec<u64>>,
}

impl Past {
    /// The vector of a span at the last release; `fading` is the number of fading spans before it.
    fn vector(&self, span: Span, fading: usize, last: &[u64]) -> Vec<f64> {
        let float = |bits: &u64| f64::from_bits(*bits);
        let mut vector: Vec<f64> = last.iter().map(float).collect();
        let ticks = match span {
            Span::Beginning => return vector,
            Span::Last(ticks) => usize::try_from(ticks).unwrap_or(usize::MAX),
            Span::Fading(_) => 1,
        };
        if let Some(place) = self.releases.len().checked_sub(ticks) {
            let before = self.releases[place].iter().map(float);
            vector.iter_mut().zip(before).for_each(|(x, y)| *x -= y);
        }
        if let (Span::Fading(factor), Some(sum)) = (span, self.fading.get(fading)) {
            let sum = sum.iter().map(float);
            vector
                .iter_mut()
                .zip(sum)
                .for_each(|(x, y)| *x += factor * y);
        }
        vector
    }

    /// The vectors of all spans at the last release.
    fn vectors<'a>(
        &'a self,
        spans: &'a [Span],
        last: &'a [u64],
    ) -> impl Iterator<Item = (Span, Vec<f64>)> + 'a {
        let mut fading = 0;
        spans.iter().map(move |span| {
            let vector = self.vector(*span, fading, last);
            fading += usize::from(matches!(span, Span::Fading(_)));
            (*span, vector)
        })
    }

    /// Ticks that have closed.
    fn ticks(&self) -> u64 {
        self.tick + u64::from(self.last.is_some())
    }

    /// The same after a release whose table has been made.
    pub(crate) fn with(mut self, release: &[f64], spans: &[Span]) -> Self {
        self.pass(spans, longest(spans));
        self.last = Some(bits(release));
        self
    }

    /// Takes in the last release: the next one comes.
    fn pass(&mut self, spans: &[Span], longest: u64) {
        let Some(last) = self.last.take() else {
            return;
        };
        let vectors = self.vectors(spans, &last);
        let fading = vectors.filter(|(span, _)| matches!(span, Span::Fading(_)));
        let fading = fading.map(|(_, vector)| bits(&vector)).collect();
        self.fading = fading;
        self.releases.push_back(last);
        while self.releases.len() as u64 > longest {
            self.releases.pop_front();
        }
        self.tick += 1;
    }
}

/// How many past releases spans need.
fn longest(spans: &[Span]) -> u64 {
    let lengths = spans.iter().map(|span| match span {
        Span::Last(ticks) => *ticks,
        Span::Fading(_) => 1,
        Span::Beginning => 0,
    });
    lengths.max().unwrap_or(0)
}

fn bits(vector: &[f64]) -> Vec<u64> {
    vector.iter().map(|x| x.to_bits()).collect()
}

impl Tables {
    pub(crate) fn new(planned: &Planned, shape: Shape, spans: &[Span], confidence: f64) -> Self {
        Self {
            longest: longest(spans),
            noises: spans
                .iter()
                .map(|span| planned.plan.noise_of(span.view()))
                .collect(),
            names: Arc::new(Names {
                spans: spans.to_vec(),
                columns: columns(&shape),
                shape,
            }),
            planned: planned.clone(),
            confidence,
            past: Past::default(),
        }
    }

    pub(crate) fn names(&self) -> &Arc<Names> {
        &self.names
    }

    pub(crate) fn spans(&self) -> &[Span] {
        &self.names.spans
    }

    /// What a resume needs, after the last table.
    pub(crate) fn past(&self) -> &Past {
        &self.past
    }

    /// Continues after these releases, and makes the last table again. Ticks that are lost, because
    /// a new instance followed an old copy of the journal, count as ticks without records; the last
    /// table before it is not made again.
    pub(crate) fn restore(
        &mut self,
        past: Past,
        sum: &PrivateSum<Transcript>,
        clock: &Clock,
    ) -> Result<Option<Table>> {
        let dimension = self.planned.statistics.dimension() as usize;
        let mut vectors = past.releases.iter().chain(&past.fading).chain(&past.last);
        if vectors.any(|vector| vector.len() != dimension) {
            return Err(Error::refused("the state folder belongs to another run"));
        }
        let spans = self.names.spans.iter();
        self.noises = spans.map(|span| sum.noise_of(span.view())).collect();
        self.past = past;
        let (_, began) = sum.instances_before();
        if let Some(base) = sum.base()
            && self.past.ticks() <= began
        {
            self.past.pass(&self.names.spans, self.longest);
            while self.past.tick < began {
                self.past.last = Some(bits(base));
                self.past.pass(&self.names.spans, self.longest);
            }
            return Ok(None);
        }
        for noises in &mut self.noises {
            let made = (self.past.tick - began) as usize;
            noises.by_ref().take(made).for_each(drop);
        }
        Ok(self.last(clock))
    }

    /// The table of the next release.
    pub(crate) fn next(&mut self, release: &[f64], clock: &Clock) -> Option<Table> {
        self.past.pass(&self.names.spans, self.longest);
        self.past.last = Some(bits(release));
        self.last(clock)
    }

    /// The table of the last release: once for each.
    fn last(&mut self, clock: &Clock) -> Option<Table> {
        let (past, spans) = (&self.past, &self.names.spans);
        let vectors = past.vectors(spans, past.last.as_ref()?);
        let mut all = Vec::with_capacity(spans.len());
        for ((_, vector), noises) in vectors.zip(&mut self.noises) {
            let noise = noises.next();
            let (sd, kurtosis) = noise.map_or((f64::NAN, 0.0), |noise| (noise.sd, noise.kurtosis));
            let spread = Spread {
                sd,
                z: half_width(self.confidence, kurtosis),
            };
            let statistics = &self.planned.statistics;
            all.push(estimates(&self.names.shape, statistics, &vector, spread));
        }
        Some(Table {
            names: Arc::clone(&self.names),
            tick: past.tick + 1,
            from: clock.written(past.tick),
            to: clock.written(past.tick + 1),
            estimates: all,
        })
    }
}
