//! Exact sums of second moments, a block of records at a time.
//!
//! A record's integers are kept column by column, and a full block is added to the sums by products
//! of columns: a matrix product in 16-bit integers, which processors do many at a time.
//!
//! **Nothing wraps.** |q_i| ≤ Q = 2¹² fits 16 bits. A product of two columns has at most [`ROWS`]
//! terms of at most Q² = 2²⁴: below 2³¹. An item has at most [`MOST_RECORDS`](super::MOST_RECORDS)
//! records, and its sums of q_i·q_j and s·q_i (at most 2²⁷ each) stay within 2⁶¹. The arithmetic is
//! written as wrapping, because a check would prevent vectorisation.

use super::{FEATURE_BITS, Image, Moments, TARGET_BITS};
use crate::lattice::Outcome;
use crate::losses::{Features, Record, class};
use crate::wide::wide;

/// Records of a block: a multiple of [`LANES`] with `ROWS`·Q² < 2³¹.
const ROWS: usize = 112;
/// Numbers of a column that are multiplied at once.
const LANES: usize = 16;
/// A record with at most one in so many features is added by itself.
const SPARSE: usize = 4;
/// Q.
const LENGTH: i64 = 1 << FEATURE_BITS;
/// Just below 1: what truncation is scaled by, so that floats cannot lengthen what it shortens.
const INSIDE: f64 = 1.0 - 1.0 / (1_u64 << 40) as f64;

type Column = [i16; ROWS];

/// A block of records, before they are added to an item's sums. As private as the records.
pub(crate) struct Block {
    moments: Moments,
    /// The integers of `rows` records, column by column.
    columns: Vec<Column>,
    rows: usize,
    /// The integers of one record, and their places if it is sparse.
    record: Vec<i16>,
    places: Vec<usize>,
}

impl Block {
    /// An empty block.
    pub(crate) fn new(moments: &Moments) -> Self {
        Self {
            columns: vec![[0; ROWS]; moments.features],
            rows: 0,
            record: vec![0; moments.features],
            places: Vec::new(),
            moments: moments.clone(),
        }
    }

    /// Whether it is for these moments.
    pub(crate) fn is_for(&self, moments: &Moments) -> bool {
        self.moments == *moments
    }

    /// Takes in a record, and adds the block to the sums if it is full.
    pub(crate) fn add(&mut self, record: &Record, sums: &mut [i64]) -> Outcome {
        let Some((class, target)) = self.target(record.target) else {
            return Outcome::Null;
        };
        if !self.quantise(&record.features) {
            return Outcome::Null;
        }
        let p = self.moments.features;
        let start = self.moments.products() + class * p;
        let targets = &mut sums[start..start + p];
        let is_sparse = matches!(record.features, Features::Sparse(_));
        if is_sparse && SPARSE * self.places.len() <= p {
            for (&i, &q) in self.places.iter().zip(&self.record) {
                targets[i] += i64::from(target * i32::from(q));
            }
            self.add_sparse(sums);
            return Outcome::Kept;
        }
        if is_sparse {
            self.spread();
        }
        add_multiple(&self.record, target, targets);
        for (column, &q) in self.columns.iter_mut().zip(&self.record) {
            column[self.rows] = q;
        }
        self.rows += 1;
        if self.rows == ROWS {
            self.flush(sums);
        }
        Outcome::Kept
    }

    /// Adds the records that wait to the sums.
    pub(crate) fn flush(&mut self, sums: &mut [i64]) {
        if self.rows > 0 {
            // Of the block before.
            for column in &mut self.columns {
                column[self.rows..].fill(0);
            }
            add_products(&self.columns, self.rows, sums);
            self.rows = 0;
        }
    }

    /// Turns the sums of a complete item into lattice integers.
    pub(crate) fn close(&mut self, sums: &mut [i64], radius: i64) {
        self.flush(sums);
        Image::new(self.moments.weight, radius).apply(&self.moments, sums);
    }

    /// Adds the sums, as real numbers, to a total, and begins them anew.
    pub(crate) fn drain(&mut self, sums: &mut [i64], total: &mut [f64]) {
        self.flush(sums);
        let units = self.moments.units();
        for (kind, range) in self.moments.kinds() {
            for (total, sum) in total[range.clone()].iter_mut().zip(&mut sums[range]) {
                *total += std::mem::take(sum) as f64 * units[kind];
            }
        }
    }

    /// The block and the integer of a target: a number has block 0, a class the integer S.
    fn target(&self, target: f64) -> Option<(usize, i32)> {
        const MOST: i32 = 1 << TARGET_BITS;
        if let Some(classes) = self.moments.classes {
            return class(target, classes).map(|class| (class, MOST));
        }
        let bounds = &self.moments.bounds;
        let scaled = bounds.clip_target(target) / bounds.target_magnitude() * f64::from(MOST);
        // A cast saturates, and the check is in integers.
        let integer = scaled.round() as i32;
        (target.is_finite() && (-MOST..=MOST).contains(&integer)).then_some((0, integer))
    }

    /// Writes the integers of features; false if there are none.
    fn quantise(&mut self, features: &Features) -> bool {
        let p = self.moments.features;
        let bounds = &self.moments.bounds;
        let in_shape = match features {
            Features::Dense(values) => values.len() == p,
            Features::Sparse(entries) => {
                self.places.clear();
                let places = entries.iter().map(|entry| entry.0 as usize);
                self.places.extend(places);
                let increasing = self.places.windows(2).all(|pair| pair[0] < pair[1]);
                increasing && self.places.last().is_none_or(|&last| last < p)
            }
        };
        let norm = features.norm();
        if !in_shape || !norm.is_finite() {
            return false;
        }
        let scale = LENGTH as f64 / norm.max(bounds.features());
        let count = match features {
            Features::Dense(_) => p,
            Features::Sparse(entries) => entries.len(),
        };
        self.record.resize(count, 0);
        round(features, scale, &mut self.record) || shorten(features, scale, &mut self.record)
    }

    /// Makes a sparse record's integers those of all features.
    fn spread(&mut self) {
        self.record.resize(self.moments.features, 0);
        // From the last: a place is never below its number.
        for (from, &to) in self.places.iter().enumerate().rev() {
            let value = std::mem::take(&mut self.record[from]);
            self.record[to] = value;
        }
    }

    /// Adds the products of a sparse record.
    fn add_sparse(&self, sums: &mut [i64]) {
        let p = self.moments.features;
        let entries = || self.places.iter().zip(&self.record);
        for (before, (&i, &a)) in entries().enumerate() {
            let a = i32::from(a);
            sums[i] += i64::from(a * a);
            // Rows 0..i hold p−1, p−2, … products; row i begins with that of i + 1.
            let row = p + i * (2 * p - i - 1) / 2;
            for (&j, &b) in entries().skip(before + 1) {
                sums[row + (j - i - 1)] += i64::from(a * i32::from(b));
            }
        }
    }
}

/// Writes the integers nearest to floats below 2⁵¹ in size; anything for others. Whether they are
/// within the ball. The last digits of a float near 1.5·2⁵² count ones. (A cast asks of each float
/// whether it fits.)
#[inline(always)]
fn write(values: impl Iterator<Item = f64>, out: &mut [i16]) -> bool {
    const ONES: f64 = 1.5 * (1_u64 << 52) as f64;
    let (mut outside, mut squares) = (0, 0_i64);
    for (value, out) in values.zip(out) {
        let ones = value + ONES;
        // As a mask, so that there are vectors for it.
        let is_inside = (ones - ONES).abs() <= LENGTH as f64;
        outside |= if is_inside { 0 } else { u64::MAX };
        *out = ones.to_bits() as i16;
        // A check would prevent vectorisation; it cannot wrap, and what is outside does not count.
        let square = i32::from(*out).wrapping_mul(i32::from(*out));
        squares = squares.wrapping_add(i64::from(square));
    }
    outside == 0 && squares <= LENGTH * LENGTH
}

/// Writes what a function makes of the values.
#[inline(always)]
fn write_all(features: &Features, out: &mut [i16], scaled: impl Fn(f64) -> f64) -> bool {
    match features {
        Features::Dense(values) => write(values.iter().map(|value| scaled(*value)), out),
        Features::Sparse(entries) => write(entries.iter().map(|entry| scaled(entry.1)), out),
    }
}

wide! {
    /// Scales values, and rounds them to the nearest integers.
    fn round<'a>(features: &'a Features, scale: f64, out: &'a mut [i16]) -> bool {
        write_all(features, out, |value| value * scale)
    }

    /// Scales values, and rounds them toward zero.
    fn shorten<'a>(features: &'a Features, scale: f64, out: &'a mut [i16]) -> bool {
        write_all(features, out, |value| (value * (scale * INSIDE)).trunc())
    }

    /// Adds a multiple of a record.
    fn add_multiple<'a>(record: &'a [i16], target: i32, sums: &'a mut [i64]) -> () {
        for (sum, &q) in sums.iter_mut().zip(record) {
            add(sum, target.wrapping_mul(i32::from(q)));
        }
    }

    /// Adds the products of all columns, of which so many rows count; the others are 0.
    fn add_products<'a>(columns: &'a [Column], rows: usize, sums: &'a mut [i64]) -> () {
        const ALL: usize = ROWS / LANES;
        // Of a full block the number is known when this is compiled.
        match rows.div_ceil(LANES) {
            ALL => products(columns, ALL, sums),
            some => products(columns, some, sums),
        }
    }
}

/// The same, of so many groups of rows.
#[inline(always)]
fn products(mut columns: &[Column], groups: usize, sums: &mut [i64]) {
    let (squares, mut sums) = sums.split_at_mut(columns.len());
    for square in squares {
        let Some((first, others)) = columns.split_first() else {
            return;
        };
        add(square, product(first, first, groups));
        let (row, later) = sums.split_at_mut(others.len());
        for (sum, other) in row.iter_mut().zip(others) {
            add(sum, product(first, other, groups));
        }
        (columns, sums) = (others, later);
    }
}

#[inline(always)]
fn add(sum: &mut i64, term: i32) {
    *sum = sum.wrapping_add(i64::from(term));
}

/// The product of two columns, in lanes: there are instructions for just this.
#[inline(always)]
fn product(one: &Column, two: &Column, groups: usize) -> i32 {
    let mut lanes = [0_i32; LANES];
    let (one, two) = (one.as_chunks::<LANES>().0, two.as_chunks::<LANES>().0);
    for (one, two) in one.iter().zip(two).take(groups) {
        for ((lane, &one), &two) in lanes.iter_mut().zip(one).zip(two) {
            *lane = lane.wrapping_add(i32::from(one).wrapping_mul(i32::from(two)));
        }
    }
    lanes.iter().fold(0, |sum, lane| sum.wrapping_add(*lane))
}
