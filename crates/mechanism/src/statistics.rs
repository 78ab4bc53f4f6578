//! Counts, sums and histograms by group: one public description of a vector of statistics, and what
//! a record adds to it.
//!
//! **The vector** is made of *blocks*. A block counts records, adds up a column, or counts the bins
//! that a column falls into; by group, or for all groups together. A record is in one group, and in
//! one bin of each histogram, so it adds to *one* coordinate of every block. Groups and bins are
//! public; a value outside its bounds is clipped to them; a category that is not listed is in a
//! group of its own. A column that is added up is centred: the record adds v ∈ [−1, 1], and the sum
//! in the column's own units follows from it and the count.
//!
//! **The integers.** A block has a public weight a of 1 to 4096. With the plan's radius R, a
//! multiple of 4096, and the step s = R/4096, a record adds a·s to the coordinate of its group or
//! bin, and an integer q with |q| ≤ a·s to that of a sum. The code clamps q *as an integer*: what
//! follows holds whatever the floats did.
//!
//! **Claim.** Two records are at most s·√max(S, D, A) apart in L2, where S, D, A are the sums over
//! blocks of the following multiples of a²; in L1 at most s·max(S, D, A), with the multiples of a
//! in brackets. A record and nothing are at most s·√A (s·A) apart.
//!
//! | block | S: the same group | D: different groups | A: against nothing |
//! |---|---|---|---|
//! | count by group | 0 (0) | 2 (2) | 1 (1) |
//! | count of all | 0 (0) | 0 (0) | 1 (1) |
//! | sum by group | 4 (2) | 2 (2) | 1 (1) |
//! | sum of all | 4 (2) | 4 (2) | 1 (1) |
//! | histogram, by group or of all | 2 (2) | 2 (2) | 1 (1) |
//!
//! **Proof.** Blocks have coordinates of their own, so squares (sizes) add up, and two records are
//! in one group or in two. *Counts and bins* are one number a·s at one coordinate: if both records
//! have the same coordinate they do not differ there, otherwise in two coordinates, by a·s each:
//! 2(a·s)² in L2, 2a·s in L1. A count by group has the same coordinate if and only if the groups
//! are the same; a count of all always; a histogram's coordinates may differ in either case.
//! *Sums*: at one coordinate |q − q′| ≤ 2a·s, with square 4(a·s)²; at two coordinates q² + q′² ≤
//! 2(a·s)² and |q| + |q′| ≤ 2a·s. A sum by group has one coordinate if the groups are the same and
//! two otherwise; a sum of all always has one. *Nothing*: one number of size at most a·s in every
//! block. Under replace-one the other record may be malformed, which adds nothing, so A counts
//! there too. ∎ (The tests try all pairs of records of small shapes.)
//!
//! **Persons.** The two records of a person may be in different ticks (`sums/calibrate.rs` says
//! why): then every block of both counts by itself, 2A, and the sum's price is for the largest of
//! that and the above.
//!
//! So counts cost nothing where sums are: as long as a count by group weighs at most as much as the
//! sums by group together (in squares), D does not exceed S. And a count of all is in A alone.
//!
//! **Why centred.** The sum of x ∈ [l, h] is (h−l)/2·Σv + (h+l)/2·n. Uncentred, x adds up to
//! max(|l|, |h|), which is |h−l|/2 + |h+l|/2: at the best weights of Σv and n the noise of the sum
//! is the same, and count and mean come without another charge. Where l < 0 < h it is less.

mod weights;

use crate::lattice::Outcome;
use crate::losses::{Features, Record};
use crate::persons::Participation;
use hushstream_account::{Adjacency, ParameterError};
use serde::{Deserialize, Serialize};

/// The largest weight of a block, and the divisor of the plan's radius.
pub(crate) const UNIT: u16 = 1 << 12;
/// The most coordinates.
const MOST: u64 = 1 << 28;

/// A column of categories that tells records apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupColumn {
    /// The column's place in a record.
    pub column: u32,
    /// Number of categories. A record has the place of its own, 0, 1, …; anything else is a value
    /// that is not listed.
    pub values: u32,
}

/// A statistic of the records of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Statistic {
    /// The number of records.
    Count,
    /// The sum of a column, which is scaled to [−1, 1].
    Sum {
        /// The column's place in a record.
        column: u32,
    },
    /// The number of records in each of some equal bins of [−1, 1].
    Histogram {
        /// The column's place in a record.
        column: u32,
        /// Number of bins, at least 2.
        bins: u32,
    },
}

impl Statistic {
    /// Coordinates for each group.
    #[must_use]
    pub fn width(self) -> u32 {
        match self {
            Self::Count | Self::Sum { .. } => 1,
            Self::Histogram { bins, .. } => bins,
        }
    }
}

/// A statistic by group, or of all records, with its weight in the vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Block {
    /// The statistic.
    pub statistic: Statistic,
    /// Whether there is one for each group.
    pub by_group: bool,
    /// The weight, 1 to 4096: noise is the same in every coordinate, so the block's own noise is
    /// inversely proportional to it.
    pub weight: u16,
}

/// The parameters of [`Statistics`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatisticsShape {
    /// The columns whose categories make the groups, every combination one; none for a single
    /// group.
    pub groups: Vec<GroupColumn>,
    /// The blocks of the vector, in order.
    pub blocks: Vec<Block>,
}

/// The public description of a vector of statistics: it tells what a record adds.
///
/// ```
/// use hushstream_mechanism::{Block, GroupColumn, Statistic, Statistics, StatisticsShape};
///
/// let by_group = |statistic| Block { statistic, by_group: true, weight: 4096 };
/// let statistics = Statistics::new(StatisticsShape {
///     groups: vec![GroupColumn { column: 0, values: 2 }],
///     blocks: vec![by_group(Statistic::Count), by_group(Statistic::Sum { column: 1 })],
/// })?;
/// assert_eq!(statistics.groups(), 3); // two categories, and all other values
/// assert_eq!(statistics.dimension(), 6);
/// assert_eq!(statistics.coordinates(1), 3..6);
/// # Ok::<(), hushstream_account::ParameterError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "StatisticsShape", into = "StatisticsShape")]
pub struct Statistics {
    shape: StatisticsShape,
    groups: u32,
    /// The columns that must hold a number.
    numbers: Vec<u32>,
    /// The columns that a record must have.
    columns: usize,
    /// Every block's first coordinate.
    starts: Vec<u32>,
    dimension: u32,
}

impl TryFrom<StatisticsShape> for Statistics {
    type Error = ParameterError;

    fn try_from(shape: StatisticsShape) -> Result<Self, ParameterError> {
        Self::new(shape)
    }
}

impl From<Statistics> for StatisticsShape {
    fn from(statistics: Statistics) -> Self {
        statistics.shape
    }
}

impl Statistics {
    /// The statistics of a shape.
    ///
    /// # Errors
    /// No block, or more than 1024; a weight out of range; no category; fewer than two bins; more
    /// than 2²⁸ coordinates.
    pub fn new(shape: StatisticsShape) -> Result<Self, ParameterError> {
        let refuse = |parameter, given: u64, allowed| {
            Err::<(), _>(ParameterError::new(parameter, given, allowed))
        };
        if !(1..=1024).contains(&shape.blocks.len()) {
            refuse("statistics", shape.blocks.len() as u64, "1 to 1024")?;
        }
        let mut groups = 1_u64;
        for group in &shape.groups {
            if group.values == 0 {
                refuse("categories of a group", 0, "at least 1")?;
            }
            groups = groups.saturating_mul(u64::from(group.values) + 1);
        }
        let (mut end, mut starts, mut numbers) = (0_u64, Vec::new(), Vec::new());
        for block in &shape.blocks {
            if !(1..=UNIT).contains(&block.weight) {
                refuse("weight of a statistic", block.weight.into(), "1 to 4096")?;
            }
            match block.statistic {
                Statistic::Count => {}
                Statistic::Sum { column } => numbers.push(column),
                Statistic::Histogram { column, bins } => {
                    if bins < 2 {
                        refuse("bins of a histogram", bins.into(), "at least 2")?;
                    }
                    numbers.push(column);
                }
            }
            let places = if block.by_group { groups } else { 1 };
            starts.push(u32::try_from(end).unwrap_or(u32::MAX));
            end = places
                .saturating_mul(block.statistic.width().into())
                .saturating_add(end);
        }
        if end > MOST || groups > MOST {
            refuse("numbers in a release", end.max(groups), "at most 2^28")?;
        }
        numbers.sort_unstable();
        numbers.dedup();
        let named = shape.groups.iter().map(|group| group.column);
        let last = named.chain(numbers.iter().copied()).max();
        Ok(Self {
            shape,
            groups: groups as u32,
            numbers,
            columns: last.map_or(0, |last| last as usize + 1),
            starts,
            dimension: end as u32,
        })
    }

    /// The shape.
    #[must_use]
    pub fn shape(&self) -> &StatisticsShape {
        &self.shape
    }

    /// Number of groups: every combination of categories, and of values that are not listed. The
    /// last column of the groups changes fastest.
    #[must_use]
    pub fn groups(&self) -> u32 {
        self.groups
    }

    /// Number of coordinates.
    #[must_use]
    pub fn dimension(&self) -> u32 {
        self.dimension
    }

    /// The coordinates of a block: those of the first group, then those of the second, …
    #[must_use]
    pub fn coordinates(&self, block: usize) -> std::ops::Range<usize> {
        let end = self.starts.get(block + 1).unwrap_or(&self.dimension);
        self.starts[block] as usize..*end as usize
    }

    /// What a record counts for in a block, in the units of a release of a plan with bound 1: the
    /// block's numbers are those of the release divided by this.
    #[must_use]
    pub fn scale(&self, block: usize) -> f64 {
        f64::from(self.shape.blocks[block].weight) / f64::from(UNIT)
    }

    /// The largest distance of two records in units of the step s, rounded up: in L1, or in L2.
    #[must_use]
    pub fn distance(&self, adjacency: Adjacency, l1: bool) -> f64 {
        let cases = Case::of(adjacency, self.groups).iter();
        let in_case = |case: &Case| -> u64 {
            let blocks = self.shape.blocks.iter();
            blocks
                .map(|block| {
                    let weight = u64::from(block.weight);
                    let size = if l1 { weight } else { weight * weight };
                    size * case.times(block.statistic, block.by_group, l1)
                })
                .sum()
        };
        // At most 1024·4·2²⁴ < 2⁵³: exact as a float.
        let most = cases.map(in_case).max().unwrap_or(0) as f64;
        if l1 { most } else { most.sqrt().next_up() }
    }

    /// Whether these integers can be the sum of so many records at this radius.
    pub(crate) fn holds_sum(&self, values: &[i64], records: u64, radius: i64) -> bool {
        let step = u128::from(radius.unsigned_abs()) / u128::from(UNIT);
        let in_block = |(number, block): (usize, &Block)| {
            let values = &values[self.coordinates(number)];
            let most = u128::from(records) * u128::from(block.weight) * step;
            let is_sum = matches!(block.statistic, Statistic::Sum { .. });
            let sizes = values.iter().map(|value| u128::from(value.unsigned_abs()));
            (is_sum || values.iter().all(|&value| value >= 0))
                && sizes.fold(0, u128::saturating_add) <= most
        };
        values.len() == self.dimension as usize
            && self.shape.blocks.iter().enumerate().all(in_block)
    }

    /// Adds what a record counts for, at this radius. An empty record, and one without one of the
    /// numbers, adds nothing.
    pub(crate) fn add(&self, record: &Record, radius: i64, total: &mut [i64]) -> Outcome {
        let Features::Dense(values) = &record.features else {
            return Outcome::Null;
        };
        // An empty record, of a malformed row, has neither columns nor a target.
        if record.target.is_nan() || values.len() < self.columns {
            return Outcome::Null;
        }
        let number = |column: u32| values[column as usize];
        if self.numbers.iter().any(|&column| number(column).is_nan()) {
            return Outcome::Null;
        }
        let step = radius / i64::from(UNIT);
        let group = self.group(values);
        for (block, &start) in self.shape.blocks.iter().zip(&self.starts) {
            let most = i64::from(block.weight) * step;
            let (place, amount) = match block.statistic {
                Statistic::Count => (0, most),
                Statistic::Sum { column } => {
                    let scaled = (number(column) * most as f64).round();
                    // The proof counts on this clamp, of an integer.
                    (0, (scaled as i64).clamp(-most, most))
                }
                Statistic::Histogram { column, bins } => (bin(number(column), bins), most),
            };
            let group = if block.by_group { group } else { 0 };
            let coordinate = start + group * block.statistic.width() + place;
            // Plans keep sums below 2⁶¹, so nothing wraps.
            total[coordinate as usize] += amount;
        }
        Outcome::Kept
    }

    /// The group of a record.
    fn group(&self, values: &[f64]) -> u32 {
        let mut group = 0;
        for column in &self.shape.groups {
            let value = values[column.column as usize];
            let place = value as u32; // saturates; not a number is 0
            let is_listed = place < column.values && f64::from(place).to_bits() == value.to_bits();
            let place = if is_listed { place } else { column.values };
            group = group * (column.values + 1) + place;
        }
        group
    }
}

/// The bin of a number in [−1, 1]; of one outside, the nearest.
fn bin(value: f64, bins: u32) -> u32 {
    let place = ((value + 1.0) * 0.5 * f64::from(bins)).floor();
    (place as u32).min(bins - 1) // a cast saturates
}

/// How two records may differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Case {
    /// S.
    SameGroup,
    /// D.
    OtherGroup,
    /// A.
    Nothing,
    /// 2A: one record here, and the other in another tick.
    OtherTick,
}

impl Case {
    /// The cases of an adjacency, for two records of one tick.
    fn of(adjacency: Adjacency, groups: u32) -> &'static [Self] {
        match adjacency {
            Adjacency::ZeroOut => &[Self::Nothing],
            Adjacency::ReplaceOne if groups == 1 => &[Self::Nothing, Self::SameGroup],
            Adjacency::ReplaceOne => &[Self::Nothing, Self::SameGroup, Self::OtherGroup],
        }
    }

    /// All cases that a sum's price is for.
    fn priced(adjacency: Adjacency, participation: Participation, groups: u32) -> Vec<Self> {
        let mut cases = Self::of(adjacency, groups).to_vec();
        if let (Adjacency::ReplaceOne, Participation::PerPerson { .. }) = (adjacency, participation)
        {
            cases.push(Self::OtherTick);
        }
        cases
    }

    /// The multiple of the block's weight (L1) or of its square, by the table above.
    fn times(self, statistic: Statistic, by_group: bool, l1: bool) -> u64 {
        let apart = by_group && self == Self::OtherGroup;
        match (self, statistic) {
            (Self::Nothing, _) => 1,
            (Self::OtherTick, _) => 2,
            (_, Statistic::Count) => 2 * u64::from(apart),
            (_, Statistic::Histogram { .. }) => 2,
            (_, Statistic::Sum { .. }) if l1 || apart => 2,
            (_, Statistic::Sum { .. }) => 4,
        }
    }
}

#[cfg(test)]
mod tests;
