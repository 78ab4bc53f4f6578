//! Knots, tables, releases and steps, from public numbers alone: the number of records, the
//! columns, and the budget.
//!
//! What decides is one number, **the noise in a score**: with steps of size η and noise of
//! deviation s in a sum, a score carries noise η·s. The average of iterates that is published bears
//! more of it (1.4 logits) than the last iterate (0.7). The constants were found on four public
//! tables and checked on others; between half and twice each of them little changes. The noise in a
//! number is counted in half ranges of its target, and targets are spread over a tenth to a third
//! of that: in several readings 0.25 is better than 0.5 on most of sixteen tables, by far where the
//! spread is small, and worse on two where it is large and the columns tell nearly everything.

use hushstream_mechanism::Response;

/// A column of the records, as the schema states it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Column {
    /// A number between bounds.
    Number {
        /// Where 0 lies between the bounds, of which the lower is −1 and the upper 1; the nearer
        /// bound if 0 is outside.
        zero: f64,
    },
    /// One of so many categories.
    Category(u32),
}

/// Categories beyond which a column stays out of the tables.
const MANY_CATEGORIES: u32 = 128;
/// Bins of a number in a table.
pub(super) const BINS: u32 = 5;
/// The most tables: beyond them noise grows faster than what they tell.
const MOST_TABLES: usize = 300;
/// The fewest releases, as powers of two: of curves alone, and with tables.
const ALONE: u32 = 8;
const WITH_TABLES: u32 = 5;
/// How many times as far a batch may move a score where there are tables: every cell takes a Newton
/// step of its own, which is never too long, and with more releases the sums carry more noise. With
/// a quarter or a sixteenth in place of this eighth of the releases of curves little changes; with
/// as many as they have, less is learned (docs/results.md).
const REACH: f64 = 8.0;
/// Coordinates times releases that a run may take: some twenty seconds of one core.
const MOST_WORK: u64 = 1 << 31;

/// Records up to which a file is read several times unless it is said how often.
const FEW_RECORDS: u64 = 100_000;
/// Records from which one reading needs no larger steps.
const MANY_RECORDS: f64 = 3e5;
/// How often, then: more readings take longer and gain nothing.
const PASSES: u64 = 20;

/// Every pass is one batch of all records: a record is in every item, so each gets fresh noise.
/// However many passes there are, the noise in a score stays the same; they make steps smaller.
fn in_passes(settings: Settings, passes: u64, score_noise: f64) -> Settings {
    Settings {
        passes,
        score_noise,
        releases: passes,
        ..settings
    }
}

/// What the rule asks about a number of releases.
pub(super) trait Planned {
    /// The deviation of the noise in a coordinate of the last sum, if there are so many releases.
    fn noise(&mut self, releases: u64) -> Option<f64>;
}

/// What the rule chooses.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Settings {
    /// Knots of a curve, and of its logarithmic scale.
    pub(super) knots: (u32, u32),
    pub(super) tables: Vec<Vec<u32>>,
    /// α.
    pub(super) share: f64,
    pub(super) releases: u64,
    /// How often the records are read.
    pub(super) passes: u64,
    /// The noise in a score.
    pub(super) score_noise: f64,
    /// Records in a cell against the noise of its count; 0 where there can be no tables.
    pub(super) kappa: f64,
}

/// The public numbers.
pub(super) struct Public<'a> {
    pub(super) columns: &'a [Column],
    pub(super) response: Response,
    pub(super) records: u64,
    /// Whether the order of records is that of time, and the world may change.
    pub(super) in_time: bool,
    /// Whether the number of records is only expected.
    pub(super) is_open: bool,
    /// Whether the noise is that of pure privacy, which grows faster with the releases.
    pub(super) is_pure: bool,
    pub(super) releases: Option<u64>,
    /// Whether the records can be read again, in any number of passes; or how many are stated.
    pub(super) at_rest: bool,
    pub(super) passes: Option<u64>,
    pub(super) knots: Option<u32>,
    /// Columns of a table, if that is stated.
    pub(super) tables: Option<u32>,
}

impl Public<'_> {
    pub(super) fn settle(&self, planned: &mut dyn Planned) -> Option<Settings> {
        let records = self.records as f64;
        // The noise in a score that predictions bear: in several readings, and in one.
        let (noise, once, limit) = match (self.response, self.in_time) {
            (Response::Number(_), in_time) => (0.25, if in_time { 0.08 } else { 0.3 }, 1.5),
            (_, in_time) => {
                let noise = if in_time { 0.7 } else { 1.4 };
                // In one reading of few records, steps that reach far are worth their noise.
                let few = (MANY_RECORDS / records).cbrt().clamp(1.0, 2.5);
                (noise, noise * few, 40.0)
            }
        };
        let mut settings = Settings {
            knots: self.knots(),
            tables: Vec::new(),
            share: 0.0,
            releases: 1,
            passes: 1,
            score_noise: once,
            kappa: 0.0,
        };
        if let Some(passes) = self.passes.filter(|&passes| passes > 1) {
            return Some(in_passes(settings, passes, noise));
        }
        let is_class = !matches!(self.response, Response::Number(_));
        let tables = self.tuples(self.tables.unwrap_or(3));
        if !tables.is_empty() {
            let (limit, least) = if is_class {
                (REACH * limit, WITH_TABLES)
            } else {
                (limit, ALONE)
            };
            settings.releases = self.releases(planned, once, limit, least)?;
            let cells: u64 = tables.iter().map(|table| self.cells_of(table)).sum();
            let per_table = cells as f64 / tables.len() as f64;
            // The work of all coordinates, counts included, may ask for fewer releases.
            let scores = self.response.scores() as u64 + 1;
            while settings.releases > 256 && cells * scores * settings.releases > MOST_WORK {
                settings.releases /= 2;
            }
            let per_count = planned.noise(settings.releases)? / self.response.residual_bound();
            settings.kappa = records / per_table / (per_count * (tables.len() as f64).sqrt());
            let work = cells * scores * settings.releases;
            let fits = tables.len() <= MOST_TABLES && work <= MOST_WORK;
            let many = self.records >= FEW_RECORDS && settings.kappa >= 0.3;
            let pays = is_class && many && !self.in_time && !self.is_pure;
            if self.tables.is_some() || fits && pays && !self.is_open {
                settings.share = if settings.kappa < 2.0 { 0.5 } else { 0.8 };
                settings.tables = tables;
                settings.score_noise = once / 1.4;
                return Some(settings);
            }
        }
        settings.releases = self.releases(planned, once, limit, ALONE)?;
        Some(self.without_tables(settings, noise))
    }

    /// Curves alone: several passes, where the records can be read again and are few.
    fn without_tables(&self, settings: Settings, noise: f64) -> Settings {
        let is_free = self.passes.is_none() && self.releases.is_none() && !self.in_time;
        if self.at_rest && is_free && self.records <= FEW_RECORDS {
            return in_passes(settings, PASSES, noise);
        }
        settings
    }

    /// More knots where there are many records for each column.
    fn knots(&self) -> (u32, u32) {
        // One reading has more noise, and needs more records.
        let repeats = self.at_rest && !self.in_time || self.passes.is_some_and(|passes| passes > 1);
        let enough = if repeats { 1000 } else { 4000 };
        let many = self.records / self.columns.len().max(1) as u64 >= enough;
        (self.knots.unwrap_or(if many { 12 } else { 6 }), 6)
    }

    /// The power of two at which a step moves a score by about `limit` over all records of a batch.
    fn releases(
        &self,
        planned: &mut dyn Planned,
        noise: f64,
        limit: f64,
        least: u32,
    ) -> Option<u64> {
        if self.releases.is_some() {
            return self.releases;
        }
        let most = self.records.max(2).ilog2();
        if self.is_pure {
            let power = 0.5 * (self.records.max(2) as f64).log2() - 5.0;
            return Some(1 << (power.round().clamp(2.0, 6.0) as u32).min(most));
        }
        if self.in_time {
            // Some eighty records a batch, and more where there are few: the world is followed
            // closely.
            let power = 1.25 * (self.records.max(2) as f64).log2() - 10.6;
            return Some(1 << (power.round().clamp(4.0, 12.0) as u32).min(most));
        }
        let few = if self.records < 10_000 { 6 } else { most };
        let least = least.min(few).min(most);
        let mut power = least;
        for _ in 0..4 {
            let step = noise / planned.noise(1 << power)?;
            let wanted = (step * self.records as f64 / limit).log2().round();
            power = (wanted.max(0.0) as u32).clamp(least, 12.min(most).max(least));
        }
        Some(1 << power)
    }

    fn cells_of(&self, table: &[u32]) -> u64 {
        let width = |&axis: &u32| match self.columns[axis as usize] {
            Column::Number { .. } => u64::from(BINS) + 1,
            Column::Category(values) => u64::from(values) + 1,
        };
        table.iter().map(width).product()
    }

    /// All tuples of so many columns that have few categories.
    fn tuples(&self, size: u32) -> Vec<Vec<u32>> {
        let few = |column: &Column| match column {
            Column::Number { .. } => true,
            Column::Category(values) => *values <= MANY_CATEGORIES,
        };
        let columns = (0..).zip(self.columns).filter(|(_, column)| few(column));
        let columns: Vec<u32> = columns.map(|(axis, _)| axis).collect();
        // Beyond forty columns there are too many triples to be of use.
        if size == 0 || columns.len() > 40 {
            return Vec::new();
        }
        let mut tuples: Vec<Vec<u32>> = columns.iter().map(|&axis| vec![axis]).collect();
        for _ in 1..size {
            let longer = tuples.iter().flat_map(|tuple| {
                let later = columns.iter().filter(|&axis| tuple.last() < Some(axis));
                later.map(|&axis| [&tuple[..], &[axis]].concat())
            });
            tuples = longer.collect();
        }
        tuples
    }
}
