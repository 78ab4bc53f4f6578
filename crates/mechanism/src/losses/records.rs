//! Dense records side by side: what is done for each record is then done for all of them at once.

use super::{Features, Measured, Record, measured};
use crate::boundary::Raw;
use crate::wide::wide;
use std::ops::Range;

/// Numbers of a line.
pub(crate) const LINE: usize = 8;

/// Dense records of one dimension, side by side.
///
/// ```
/// use hushstream_mechanism::Raw;
/// use hushstream_mechanism::losses::Records;
///
/// let mut records = Records::new(2);
/// records.push(|features| {
///     features[..2].copy_from_slice(&[0.2, 0.9]);
///     let target = 1.0;
///     Some((target, ()))
/// });
/// assert_eq!(Raw::seal(records).count(), 1);
/// ```
pub struct Records {
    dimension: usize,
    /// The features of a record fill whole lines, the last of them with zeros. Behind the last
    /// record is memory for others.
    lines: Vec<[f64; LINE]>,
    targets: Vec<f64>,
}

impl Records {
    /// No records.
    #[must_use]
    pub fn new(dimension: usize) -> Self {
        Self {
            dimension,
            lines: Vec::new(),
            targets: Vec::new(),
        }
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.targets.len()
    }

    /// Lines of a record, one at least.
    pub(crate) fn height(&self) -> usize {
        self.dimension.div_ceil(LINE).max(1)
    }

    fn lines_of(&self, records: Range<usize>) -> Range<usize> {
        records.start * self.height()..records.end * self.height()
    }

    /// Adds a record, if `write` gives its target: it writes the features, and zeros behind them.
    /// Returns what comes with the target.
    pub fn push<T>(&mut self, write: impl FnOnce(&mut [f64]) -> Option<(f64, T)>) -> Option<T> {
        let lines = self.lines_of(self.count()..self.count() + 1);
        if self.lines.len() < lines.end {
            self.lines.resize(lines.end, [0.0; LINE]);
        }
        let (target, told) = write(self.lines[lines].as_flattened_mut())?;
        self.targets.push(target);
        Some(told)
    }

    /// Forgets all records, and keeps their memory for others of this dimension.
    pub fn clear(&mut self) {
        self.targets.clear();
    }

    /// The memory of the features of each record, which ends with zeros behind them.
    #[inline(always)]
    pub fn each_mut(&mut self) -> impl Iterator<Item = &mut [f64]> {
        let (lines, length) = (self.lines_of(0..self.count()), self.height() * LINE);
        let numbers = self.lines[lines].as_flattened_mut();
        numbers.chunks_exact_mut(length)
    }

    pub(crate) fn targets(&self, records: Range<usize>) -> &[f64] {
        &self.targets[records]
    }

    /// The lines of some records.
    pub(crate) fn lines(&self, records: Range<usize>) -> &[[f64; LINE]] {
        &self.lines[self.lines_of(records)]
    }

    /// The features of a record.
    #[inline(always)]
    pub(crate) fn features(&self, record: usize) -> &[f64] {
        let first = record * self.height() * LINE;
        &self.lines.as_flattened()[first..first + self.dimension]
    }

    /// What [`Features::measured`] gives for each of these records.
    pub(crate) fn measured(&self, records: Range<usize>, weights: &[f64]) -> Vec<Option<Measured>> {
        let mut out = Vec::with_capacity(records.len());
        if self.dimension == weights.len() {
            measure(self, records, weights, &mut out);
        } else {
            out.resize(records.len(), None);
        }
        out
    }
}

wide! {
    fn measure<'a>(
        records: &'a Records,
        range: Range<usize>,
        weights: &'a [f64],
        out: &'a mut Vec<Option<Measured>>,
    ) -> () {
        for record in range {
            out.push(measured(records.features(record), weights));
        }
    }
}

impl Raw<Records> {
    /// How many there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.peek().count()
    }

    /// One of them by itself, in this memory.
    #[must_use]
    pub fn record(&self, place: usize, mut memory: Vec<f64>) -> Raw<Record> {
        let records = self.peek();
        memory.clear();
        memory.extend_from_slice(records.features(place));
        Raw::seal(Record {
            features: Features::Dense(memory),
            target: records.targets[place],
        })
    }

    /// Their memory, without them.
    #[must_use]
    pub fn cleared(self) -> Records {
        let mut records = self.open();
        records.clear();
        records
    }
}
