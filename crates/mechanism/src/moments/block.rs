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

/// Records of a block: a multiple of 16 with `ROWS`·Q² < 2³¹.
const ROWS: usize = 112;
/// Columns that are multiplied at once with another.
const TOGETHER: usize = 4;
/// A record with at most one in so many features is added by itself.
const SPARSE: usize = 4;
/// Q.
const LENGTH: i64 = 1 << FEATURE_BITS;
/// Just below 1: what truncation is scaled by, so that floats cannot lengthen what it shortens.
const INSIDE: f64 = 1.0 - 1.0 / (1_u64 << 40) as f64;

/// A block of records, before they are added to an item's sums. As private as the records.
pub(crate) struct Block {
    moments: Moments,
    /// Column by column, `stride` records each.
    columns: Vec<i16>,
    stride: usize,
    rows: usize,
    /// The integers of one record, and their places if it is sparse.
    record: Vec<i16>,
    places: Vec<usize>,
}

impl Block {
    /// An empty block for items of so many records.
    pub(crate) fn new(moments: &Moments, batch: u64) -> Self {
        let stride = batch.clamp(1, ROWS as u64) as usize;
        Self {
            columns: vec![0; moments.features * stride],
            stride,
            rows: 0,
            record: Vec::with_capacity(moments.features),
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
        for (sum, &q) in targets.iter_mut().zip(&self.record) {
            *sum = sum.wrapping_add(i64::from(target.wrapping_mul(i32::from(q))));
        }
        let column = self.columns.chunks_exact_mut(self.stride);
        for (column, &q) in column.zip(&self.record) {
            column[self.rows] = q;
        }
        self.rows += 1;
        if self.rows == self.stride {
            self.flush(sums);
        }
        Outcome::Kept
    }

    /// Adds the records that wait to the sums.
    pub(crate) fn flush(&mut self, sums: &mut [i64]) {
        if self.rows > 0 {
            add_products(&self.columns, self.stride, self.rows, sums);
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
        let mut tries = [Rounding::Nearest, Rounding::TowardZero].into_iter();
        tries.any(|rounding| quantise(features, scale, rounding, &mut self.record))
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

#[derive(Clone, Copy)]
enum Rounding {
    Nearest,
    TowardZero,
}

/// Scales and rounds values; whether the integers are within the ball.
#[inline(always)]
fn round(
    values: impl Iterator<Item = f64>,
    scale: f64,
    rounding: Rounding,
    out: &mut Vec<i16>,
) -> bool {
    let (mut inside, mut squares) = (true, 0_i64);
    out.clear();
    out.extend(values.map(|value| {
        let scaled = match rounding {
            Rounding::Nearest => value * scale,
            Rounding::TowardZero => (value * (scale * INSIDE)).trunc(),
        };
        let integer = nearest(scaled);
        inside &= integer.unsigned_abs() <= LENGTH.unsigned_abs();
        // Exact if all are inside.
        squares = squares.wrapping_add(integer.wrapping_mul(integer));
        integer as i16
    }));
    inside && squares <= LENGTH * LENGTH
}

/// The integer nearest to a float below 2⁵¹ in size; anything for others. The last digits of a
/// float near 1.5·2⁵² count ones. (A cast asks of each float whether it fits.)
#[inline(always)]
fn nearest(value: f64) -> i64 {
    const ONES: f64 = 1.5 * (1_u64 << 52) as f64;
    (value + ONES).to_bits().wrapping_sub(ONES.to_bits()) as i64
}

wide! {
    /// [`round`] for features.
    fn quantise<'a>(
        features: &'a Features,
        scale: f64,
        rounding: Rounding,
        out: &'a mut Vec<i16>,
    ) -> bool {
        match features {
            Features::Dense(values) => round(values.iter().copied(), scale, rounding, out),
            Features::Sparse(entries) => {
                round(entries.iter().map(|entry| entry.1), scale, rounding, out)
            }
        }
    }

    /// Adds the products of all columns, of which `rows` numbers count.
    fn add_products<'a>(columns: &'a [i16], stride: usize, rows: usize, sums: &'a mut [i64]) -> () {
        let (squares, mut products) = sums.split_at_mut(columns.len() / stride);
        let mut columns = columns;
        for square in squares {
            let (first, others) = columns.split_at(stride);
            let first = &first[..rows];
            columns = others;
            add(square, product(first, [first])[0]);
            let (row, later) = products.split_at_mut(others.len() / stride);
            products = later;
            let mut groups = others.chunks_exact(TOGETHER * stride);
            let mut sums = row.chunks_exact_mut(TOGETHER);
            for (group, sums) in groups.by_ref().zip(sums.by_ref()) {
                let column = |k: usize| &group[k * stride..k * stride + rows];
                let found = product(first, [column(0), column(1), column(2), column(3)]);
                for (sum, found) in sums.iter_mut().zip(found) {
                    add(sum, found);
                }
            }
            let rest = groups.remainder().chunks_exact(stride);
            for (column, sum) in rest.zip(sums.into_remainder()) {
                add(sum, product(first, [&column[..rows]])[0]);
            }
        }
    }
}

#[inline(always)]
fn add(sum: &mut i64, term: i32) {
    *sum = sum.wrapping_add(i64::from(term));
}

/// The products of a column with others of its length.
#[inline(always)]
fn product<const N: usize>(column: &[i16], others: [&[i16]; N]) -> [i32; N] {
    let others = others.map(|other| &other[..column.len()]);
    let mut sums = [0_i32; N];
    for (row, &value) in column.iter().enumerate() {
        for (sum, other) in sums.iter_mut().zip(others) {
            let term = i32::from(value).wrapping_mul(i32::from(other[row]));
            *sum = sum.wrapping_add(term);
        }
    }
    sums
}
