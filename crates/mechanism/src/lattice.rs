//! From a person's real numbers to integers whose sensitivity is proved by integers.
//!
//! A contribution is clipped to the public bound in floating point, scaled so that the bound
//! becomes the integer radius, and truncated toward zero. None of that is trusted: the *integers*
//! that come out are checked, |u_i| ≤ radius and Σu² ≤ radius² (or Σ|u| ≤ radius), in arithmetic
//! that cannot wrap. If the check fails the vector is shrunk a little and checked again; if it
//! fails again, or anything was not a number, the contribution is null and the round still ticks.
//! So whatever the floats did, two contributions differ by at most 2·radius (replace-one) or radius
//! (zero-out).
//!
//! Why the per-coordinate check comes first: a float too large for an integer saturates when cast,
//! and squares of saturated values can wrap a sum around to a small number.

use crate::losses::{Features, LINE, Multiple, Records};
use crate::wide::wide;
use std::ops::Range;

/// One person's vector, before clipping.
pub enum Contribution {
    /// All coordinates.
    Dense(Vec<f64>),
    /// (coordinate, value) in increasing order of coordinates; all others are zero.
    Sparse(Vec<(u32, f64)>),
    /// Nothing: what a malformed record becomes.
    Null,
}

/// The length that is bounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Norm {
    /// Sum of absolute values.
    L1,
    /// Euclidean length.
    L2,
}

/// Why a lattice cannot be made.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum LatticeError {
    /// The public bound on a contribution's length.
    #[error("bound = {0} is not allowed; allowed: a positive finite number, not below 1e-290")]
    Bound(f64),
    /// The integer radius.
    #[error("radius = {0} is not allowed; allowed: 1 to 2^40")]
    Radius(i64),
    /// The number of coordinates.
    #[error("dimension = 0 is not allowed; allowed: 1 to 2^32 - 2")]
    Dimension,
}

/// What became of a contribution. It depends on private data: counts of it are for the operator
/// only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Kept,
    Clipped,
    Null,
}

/// The map from contributions to integers.
#[derive(Debug, Clone, PartialEq)]
pub struct Lattice {
    dimension: u32,
    norm: Norm,
    bound: f64,
    radius: i64,
    /// radius/bound.
    scale: f64,
}

/// By what to shrink a vector until its integers fit: as it is; and a little smaller, which always
/// helps.
const SHRINKS: [f64; 2] = [1.0, 1.0 - 1e-6];

impl Lattice {
    /// Integers of length at most `radius` for contributions of length at most `bound`.
    ///
    /// # Errors
    /// A bound that is not positive and finite, a radius out of range, no coordinates.
    pub fn new(dimension: u32, norm: Norm, bound: f64, radius: i64) -> Result<Self, LatticeError> {
        if !(bound > 0.0 && bound.is_finite()) {
            return Err(LatticeError::Bound(bound));
        }
        if !(1..=1 << 40).contains(&radius) {
            return Err(LatticeError::Radius(radius));
        }
        // Otherwise nothing times the scale would not be nothing.
        let scale = radius as f64 / bound;
        if !scale.is_finite() {
            return Err(LatticeError::Bound(bound));
        }
        if dimension == 0 || dimension == u32::MAX {
            return Err(LatticeError::Dimension);
        }
        Ok(Self {
            dimension,
            norm,
            bound,
            radius,
            scale,
        })
    }

    /// Number of coordinates.
    #[must_use]
    pub fn dimension(&self) -> usize {
        self.dimension as usize
    }

    pub(crate) fn norm(&self) -> Norm {
        self.norm
    }

    pub(crate) fn bound(&self) -> f64 {
        self.bound
    }

    /// The integer image of the bound.
    #[must_use]
    pub fn radius(&self) -> i64 {
        self.radius
    }

    /// The real value of one lattice unit.
    #[must_use]
    pub fn unit(&self) -> f64 {
        self.bound / self.radius as f64
    }

    /// Whether these integers can be the sum of `batch` contributions.
    pub(crate) fn holds_sum(&self, values: &[i64], batch: u64) -> bool {
        values.len() == self.dimension() && self.holds_part(values, batch, 16)
    }

    /// Whether these integers can be some coordinates of the sum of `batch` contributions, if they
    /// weigh so many sixteenths of the radius: their length is at most batch·⌊radius·weight⌋. In
    /// arithmetic that cannot wrap.
    pub(crate) fn holds_part(&self, values: &[i64], batch: u64, sixteenths: u8) -> bool {
        let radius = u128::from(self.radius.unsigned_abs()) * u128::from(sixteenths) / 16;
        let most = u128::from(batch) * radius;
        let sizes = || values.iter().map(|value| u128::from(value.unsigned_abs()));
        if sizes().any(|size| size > most) {
            return false;
        }
        let total = |sizes: &mut dyn Iterator<Item = u128>| sizes.fold(0, u128::saturating_add);
        match self.norm {
            Norm::L1 => total(&mut sizes()) <= most,
            Norm::L2 => {
                let squares = total(&mut sizes().map(|size| size.saturating_mul(size)));
                squares < u128::MAX && squares <= most.saturating_mul(most)
            }
        }
    }

    /// Whether these integers can be the sum of so many records' residuals and, in the last
    /// coordinates, counts, which are not negative and weigh so many sixteenths.
    pub(crate) fn holds_tables(
        &self,
        values: &[i64],
        counts: usize,
        sixteenths: u8,
        records: u64,
    ) -> bool {
        let (sums, counts) = values.split_at(values.len().saturating_sub(counts));
        values.len() == self.dimension()
            && counts.iter().all(|&count| count >= 0)
            && self.holds_part(sums, records, 16)
            && self.holds_part(counts, records, sixteenths)
    }

    /// Adds the integers of a contribution to `total`.
    pub(crate) fn add(&self, contribution: &Contribution, total: &mut [i64]) -> Outcome {
        let entries = match contribution {
            Contribution::Null => return Outcome::Null,
            Contribution::Dense(values) => Entries::Dense(values),
            Contribution::Sparse(entries) => Entries::Sparse(entries),
        };
        self.add_entries(entries, None, total)
    }

    /// Adds the integers of a multiple of features to `total`.
    pub(crate) fn add_multiple(
        &self,
        features: &Features,
        multiple: Multiple,
        total: &mut [i64],
    ) -> Outcome {
        let entries = match features {
            Features::Dense(values) => Entries::Dense(values),
            Features::Sparse(entries) => Entries::Sparse(entries),
        };
        self.add_entries(entries, Some(multiple), total)
    }

    /// The same for records side by side, one after the other, each with its multiple, if it has
    /// one.
    pub(crate) fn add_multiples(
        &self,
        records: &Records,
        range: Range<usize>,
        multiples: impl Iterator<Item = Option<Multiple>>,
        total: &mut [i64],
    ) -> Vec<Outcome> {
        let scales: Vec<_> = range
            .clone()
            .zip(multiples)
            .map(|(record, multiple)| {
                let entries = Entries::Dense(records.features(record));
                self.scales(entries, Some(multiple?))
            })
            .collect();
        let mut added = Vec::with_capacity(scales.len());
        let lines = records.lines(range.clone());
        add_those_that_surely_fit(self, lines, records.height(), &scales, total, &mut added);
        let outcome = |((record, is_added), scales): ((usize, bool), Option<Scales>)| {
            let Some((scales, clipped)) = scales else {
                return Outcome::Null;
            };
            let values = records.features(record);
            let mut scales = scales.into_iter();
            let is_added =
                is_added || scales.any(|scale| add_if_it_fits(self, values, scale, total));
            outcome(is_added, clipped)
        };
        range.zip(added).zip(scales).map(outcome).collect()
    }

    fn add_entries(
        &self,
        entries: Entries<'_>,
        multiple: Option<Multiple>,
        total: &mut [i64],
    ) -> Outcome {
        let Some((scales, clipped)) = self.scales(entries, multiple) else {
            return Outcome::Null;
        };
        let mut scales = scales.into_iter();
        let is_added = match entries {
            Entries::Dense(values) => {
                scales.any(|scale| add_if_it_fits(self, values, scale, total))
            }
            Entries::Sparse(entries) => {
                let scale = scales.find(|&scale| fits(self, entries, scale));
                if let Some(scale) = scale {
                    for &(index, value) in entries {
                        total[index as usize] += (value * scale) as i64;
                    }
                }
                scale.is_some()
            }
        };
        outcome(is_added, clipped)
    }

    /// Writes the integers of a multiple of sparse features that are not zero; none for any that
    /// would be null.
    pub(crate) fn sparse(
        &self,
        entries: &[(u32, f64)],
        multiple: Multiple,
        out: &mut Vec<(u32, i64)>,
    ) {
        out.clear();
        let scales = self.scales(Entries::Sparse(entries), Some(multiple));
        let scales = scales.into_iter().flat_map(|(scales, _)| scales);
        if let Some(scale) = scales.into_iter().find(|&scale| fits(self, entries, scale)) {
            let integers = entries
                .iter()
                .map(|&(i, value)| (i, (value * scale) as i64));
            out.extend(integers.filter(|&(_, value)| value != 0));
        }
    }

    /// The numbers by which values, or a multiple of them, may become integers that fit, which is
    /// still to be proved, and whether they clip: the first that fits is taken. Nothing if there
    /// are none.
    fn scales(&self, entries: Entries<'_>, multiple: Option<Multiple>) -> Option<Scales> {
        let sound = match entries {
            Entries::Dense(values) => values.len() == self.dimension(),
            Entries::Sparse(entries) => {
                entries.windows(2).all(|pair| pair[0].0 < pair[1].0)
                    && entries.last().is_none_or(|last| last.0 < self.dimension)
            }
        };
        if !sound {
            return None;
        }
        let (length, factor) = match (multiple, self.norm) {
            (None, _) => (self.length(entries)?, 1.0),
            (Some(multiple), Norm::L2) => (multiple.length, multiple.factor),
            (Some(Multiple { factor, .. }), Norm::L1) => {
                (self.length(entries)? * factor.abs(), factor)
            }
        };
        let clipped = length > self.bound;
        // Not radius/length, which may overflow for a subnormal length: only lengths above the
        // bound are divided by.
        let scale = if clipped {
            self.radius as f64 / length
        } else {
            self.scale
        };
        Some((SHRINKS.map(|shrink| scale * shrink * factor), clipped))
    }

    /// The length, or nothing if a value is not finite.
    fn length(&self, entries: Entries<'_>) -> Option<f64> {
        self.plain_length(entries)
            .or_else(|| self.careful_length(entries))
    }

    /// The length by squares as they are; nothing where they might be too large or too small for
    /// that. In eight lanes, then four of them, and what is left over: the same order of additions
    /// for dense and sparse vectors.
    fn plain_length(&self, entries: Entries<'_>) -> Option<f64> {
        let size = |value: f64| match self.norm {
            Norm::L1 => value.abs(),
            Norm::L2 => value * value,
        };
        let whole = self.dimension & !3;
        let (mut lanes, mut rest) = ([0.0; 8], 0.0);
        match entries {
            Entries::Dense(values) => {
                let (fours, left) = values.as_chunks::<4>();
                let (eights, fours) = fours.as_chunks::<2>();
                let parts = eights.iter().map(|part| part.as_flattened());
                for part in parts.chain(fours.iter().map(|four| &four[..])) {
                    for (lane, value) in lanes.iter_mut().zip(part) {
                        *lane += size(*value);
                    }
                }
                left.iter().for_each(|value| rest += size(*value));
            }
            Entries::Sparse(entries) => {
                for &(index, value) in entries {
                    let lane = lanes.get_mut(index as usize % 8).filter(|_| index < whole);
                    *lane.unwrap_or(&mut rest) += size(value);
                }
            }
        }
        let sum = lanes.iter().sum::<f64>() + rest;
        (1e-200..1e300).contains(&sum).then(|| match self.norm {
            Norm::L1 => sum,
            Norm::L2 => sum.sqrt(),
        })
    }

    /// The same for any values: dividing by the largest first keeps squares from overflowing.
    #[cold]
    fn careful_length(&self, entries: Entries<'_>) -> Option<f64> {
        let values: Vec<f64> = match entries {
            Entries::Dense(values) => values.to_vec(),
            Entries::Sparse(entries) => entries.iter().map(|entry| entry.1).collect(),
        };
        if !hushstream_sets::all_finite(&values) {
            return None;
        }
        let largest = values.iter().fold(0.0_f64, |most, v| most.max(v.abs()));
        if largest == 0.0 {
            return Some(0.0);
        }
        let shares = values.iter().map(|value| value.abs() / largest);
        Some(match self.norm {
            Norm::L1 => largest * shares.sum::<f64>(),
            Norm::L2 => largest * shares.map(|share| share * share).sum::<f64>().sqrt(),
        })
    }

    /// The proof: every integer within the radius, and their length too. Integers within a radius
    /// of at most 2⁴⁰ are those of [`integer`]; if one is not, sums do not matter.
    #[inline(always)]
    fn holds(&self, values: impl Iterator<Item = f64>, scale: f64) -> bool {
        let radius = u128::from(self.radius.unsigned_abs());
        let values = values.map(|value| value * scale);
        match self.norm {
            Norm::L1 => length_within(values, self.radius, |size| size, radius),
            // Squares below 2⁶⁴, of sizes below 2³² if all are inside: the halves that are left out
            // are 0 then, and there are vectors for products of halves.
            Norm::L2 if radius < 1 << 32 => length_within(
                values,
                self.radius,
                |size| (size & 0xffff_ffff).wrapping_mul(size & 0xffff_ffff),
                radius * radius,
            ),
            // Squares up to 2⁸⁰, and fewer than 2³² of them.
            Norm::L2 => {
                let (mut inside, mut sum) = (true, 0_u128);
                for value in values {
                    let size = u128::from(integer(value).unsigned_abs());
                    inside &= value.trunc().abs() <= self.radius as f64;
                    sum = sum.wrapping_add(size.wrapping_mul(size));
                }
                inside & (sum <= radius * radius)
            }
        }
    }
}

impl Lattice {
    /// A limit for sums in floating point of so many terms, each the size of an integer, or its
    /// square where the norm is Euclidean: a sum within it is one that [`Lattice::holds`].
    ///
    /// *Proof.* Let u = 2⁻⁵³. Integers are exact here, a square is rounded once, and none vanishes,
    /// as it is 0 or at least 1. A term passes at most n − 1 additions of numbers that are not
    /// negative, in whatever order; each is rounded once. So the computed sum is at least
    /// (1 − u)ⁿ ≥ 1 − nu of the true one, which is at most 1 + 2nu times the computed one, as
    /// n < 2³³ + 8. NaN is within no limit, and neither is an overflow. The limit is at most
    /// 1 − (2n + 8)u of the radius, or its square, but for three roundings, which add less than 4u.
    /// So the true sum is at most (1 + 2nu)(1 − (2n + 8)u)(1 + 4u) < 1 times the radius, or its
    /// square. No size is larger then than the radius, and its float is its integer. ∎
    fn sure_limit(&self, terms: usize) -> f64 {
        let radius = self.radius as f64;
        let limit = match self.norm {
            Norm::L1 => radius,
            Norm::L2 => radius * radius,
        };
        limit * (1.0 - (terms + 4) as f64 * f64::EPSILON)
    }
}

/// The numbers by which values become integers, and whether they clip.
type Scales = ([f64; 2], bool);

fn outcome(is_added: bool, clipped: bool) -> Outcome {
    match (is_added, clipped) {
        (false, _) => Outcome::Null,
        (true, true) => Outcome::Clipped,
        (true, false) => Outcome::Kept,
    }
}

/// Whether all values are within the radius, toward zero, and the sum of `term` of them within the
/// limit. Fewer than 2³² terms are summed by halves of 32 bits: nothing wraps, and there are
/// vectors for it.
#[inline(always)]
fn length_within(
    values: impl Iterator<Item = f64>,
    radius: i64,
    term: impl Fn(u64) -> u64,
    limit: u128,
) -> bool {
    let (most, mut outside, mut low, mut high) = (radius as f64, 0, 0_u64, 0_u64);
    for value in values {
        let size = value.trunc().abs();
        // What is not a number is outside too. As a mask, so that vectors of them need no packing.
        outside |= if size <= most { 0 } else { u64::MAX };
        let term = term(whole(size).cast_unsigned());
        low = low.wrapping_add(term & 0xffff_ffff);
        high = high.wrapping_add(term >> 32);
    }
    outside == 0 && (u128::from(high) << 32) + u128::from(low) <= limit
}

wide! {
    /// [`Lattice::holds`] for the values of sparse entries.
    fn fits<'a>(lattice: &'a Lattice, entries: &'a [(u32, f64)], scale: f64) -> bool {
        lattice.holds(entries.iter().map(|entry| entry.1), scale)
    }

    /// Adds integers to `total` if they are proved to fit, and nothing otherwise.
    fn add_if_it_fits<'a>(
        lattice: &'a Lattice,
        values: &'a [f64],
        scale: f64,
        total: &'a mut [i64],
    ) -> bool {
        let fits = lattice.holds(values.iter().copied(), scale);
        if fits {
            add_integers(total, values, scale);
        }
        fits
    }

    /// The same for records of some lines each, one after the other, by the first of their scales,
    /// where the proof needs no integers: which of them were added. Without closures, which would
    /// not be compiled for wider vectors.
    fn add_those_that_surely_fit<'a>(
        lattice: &'a Lattice,
        lines: &'a [[f64; LINE]],
        height: usize,
        scales: &'a [Option<Scales>],
        total: &'a mut [i64],
        added: &'a mut Vec<bool>,
    ) -> () {
        let limit = lattice.sure_limit(height * LINE);
        let mut fitting = Vec::with_capacity(scales.len());
        for (record, scales) in lines.chunks_exact(height).zip(scales) {
            let mut fits = false;
            if let Some(([scale, _], _)) = scales {
                let mut sums = [0.0; LINE];
                match lattice.norm {
                    Norm::L1 => {
                        for line in record {
                            for (sum, value) in sums.iter_mut().zip(line) {
                                *sum += (value * scale).trunc().abs();
                            }
                        }
                    }
                    Norm::L2 => {
                        for line in record {
                            for (sum, value) in sums.iter_mut().zip(line) {
                                let whole = (value * scale).trunc();
                                *sum += whole * whole;
                            }
                        }
                    }
                }
                fits = sums.iter().sum::<f64>() <= limit;
                if fits {
                    fitting.push((record, *scale));
                }
            }
            added.push(fits);
        }
        // Line after line, whose sums stay in the processor, and what each holds too much comes off
        // at once.
        let start = (fitting.len() as u64).wrapping_mul(ONES.to_bits()).wrapping_neg();
        let (whole, part) = total.as_chunks_mut::<LINE>();
        for place in 0..height {
            let mut sums = [start; LINE];
            for (record, scale) in &fitting {
                for (sum, value) in sums.iter_mut().zip(&record[place]) {
                    *sum = sum.wrapping_add(((value * scale).trunc() + ONES).to_bits());
                }
            }
            let total = match whole.get_mut(place) {
                Some(line) => &mut line[..],
                None => &mut *part,
            };
            for (total, sum) in total.iter_mut().zip(sums) {
                *total = total.wrapping_add(sum.cast_signed());
            }
        }
    }
}

/// Adds the integers of values to `total`, which are inside the radius by the proof. Plans keep
/// sums below 2⁶¹, so nothing wraps.
#[inline(always)]
fn add_integers(total: &mut [i64], values: &[f64], scale: f64) {
    for (total, value) in total.iter_mut().zip(values) {
        *total = total.wrapping_add(integer(value * scale));
    }
}

/// A number below 2⁵¹ in size as an integer, toward zero; anything for others. A cast would ask of
/// each whether it is one, and there is no vector for that.
#[inline(always)]
pub(crate) fn integer(value: f64) -> i64 {
    whole(value.trunc())
}

/// Here the last digits of a float count ones.
const ONES: f64 = 1.5 * (1_u64 << 52) as f64;

/// The same for a whole number.
#[inline(always)]
fn whole(value: f64) -> i64 {
    let bits = (value + ONES).to_bits();
    bits.wrapping_sub(ONES.to_bits()).cast_signed()
}

#[derive(Clone, Copy)]
enum Entries<'a> {
    Dense(&'a [f64]),
    Sparse(&'a [(u32, f64)]),
}

#[cfg(test)]
mod tests;
