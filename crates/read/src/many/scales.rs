//! From numbers to coordinates, many columns at a time.

use crate::step::Scale;
use std::ops::Range;

/// Columns of numbers as arrays, so that a loop can pass over them: for each column (value − shift)·factor, clipped to [low, high].
#[derive(Default)]
pub(crate) struct Scales {
    shift: Vec<f64>,
    factor: Vec<f64>,
    low: Vec<f64>,
    high: Vec<f64>,
}

impl Scales {
    /// Of all columns; what is no number takes a place too.
    pub(crate) fn new<'a>(columns: impl Iterator<Item = Option<&'a Scale>>) -> Self {
        Self::of(columns.map(|scale| scale.map_or([0.0; 4], Scale::parts)))
    }

    pub(super) fn of(columns: impl Iterator<Item = [f64; 4]>) -> Self {
        let mut scales = Self::default();
        for [shift, factor, low, high] in columns {
            scales.shift.push(shift);
            scales.factor.push(factor);
            scales.low.push(low);
            scales.high.push(high);
        }
        scales
    }

    /// Writes the coordinates of these columns.
    #[inline(always)]
    pub(super) fn write(&self, columns: Range<usize>, values: &[f64], out: &mut [f64]) {
        let scales = self.shift[columns.clone()]
            .iter()
            .zip(&self.factor[columns.clone()])
            .zip(&self.low[columns.clone()])
            .zip(&self.high[columns]);
        for (((((shift, factor), low), high), value), out) in scales.zip(values).zip(out) {
            let scaled = (value - shift) * factor;
            let above = if scaled > *low { scaled } else { *low };
            *out = if above < *high { above } else { *high };
        }
    }
}
