//! Small integers many at a time: the round's hot path. They prove what the careful loops prove, in
//! arithmetic whose bounds are stated.

use super::{Entries, Lattice, Norm, Outcome, SHRINKS};
use crate::losses::Multiple;
use hushstream_four::{self as four, FOUR, Four, Work};
use pulp::{Arch, Simd, WithSimd};

/// Sums of squares run side by side, because one addition has to wait for the other.
const LANES: usize = 8;

impl Lattice {
    /// The same for all coordinates and small integers: this is the round's hot path.
    pub(super) fn add_narrow(&self, values: &[f64], total: &mut [i64]) -> Outcome {
        four::run(AddNarrow {
            lattice: self,
            values,
            total,
        })
    }

    #[inline(always)]
    fn add_in_lanes<V: Four>(&self, v: V, values: &[f64], total: &mut [i64]) -> Outcome {
        let entries = Entries::Dense(values);
        let plain = self.plain_length(&entries);
        let Some(length) = plain.or_else(|| self.careful_length(&entries)) else {
            return Outcome::Null;
        };
        self.add_scaled(v, values, (length, 1.0), total)
    }

    /// [`Lattice::add_multiple`] for all coordinates, Euclidean length and small integers.
    pub(super) fn add_multiple_narrow(
        &self,
        values: &[f64],
        multiple: Multiple,
        total: &mut [i64],
    ) -> Outcome {
        four::run(AddMultiple {
            lattice: self,
            values,
            multiple,
            total,
        })
    }

    #[inline(always)]
    fn add_scaled<V: Four>(
        &self,
        v: V,
        values: &[f64],
        (length, factor): (f64, f64),
        total: &mut [i64],
    ) -> Outcome {
        let (scale, clipped) = self.plain_scale(length);
        for shrink in SHRINKS {
            let scale = scale * shrink * factor;
            if !scale.is_finite() {
                return Outcome::Null;
            }
            if self.add_checked(v, values, scale, total) {
                return if clipped {
                    Outcome::Clipped
                } else {
                    Outcome::Kept
                };
            }
            // What was added is taken out again: it did not fit.
            let proof = Proof::<true>::new(self);
            for (total, value) in total.iter_mut().zip(values) {
                *total = total.wrapping_sub(proof.added((value * scale).trunc()));
            }
        }
        Outcome::Null
    }

    /// Adds the integers that are inside the radius, and proves on the way what [`Lattice::fits`]
    /// proves, as [`Lattice::fits_narrow`] does. Plans keep sums below 2⁶¹, so integers that fit
    /// wrap nothing. What does not fit is taken out again, exactly: the product of two floats is a
    /// function, and no integer is made of one that is no number.
    #[inline(always)]
    fn add_checked<V: Four>(&self, v: V, values: &[f64], scale: f64, total: &mut [i64]) -> bool {
        match self.norm {
            Norm::L1 => self.add_proving::<V, false>(v, values, scale, total),
            Norm::L2 => self.add_proving::<V, true>(v, values, scale, total),
        }
    }

    #[inline(always)]
    fn add_proving<V: Four, const SQUARES: bool>(
        &self,
        v: V,
        values: &[f64],
        scale: f64,
        total: &mut [i64],
    ) -> bool {
        debug_assert_eq!(values.len(), total.len(), "fours and tail must be the same");
        let mut proof = Proof::<SQUARES>::new(self);
        let (fours, rest) = values.as_chunks();
        let (totals, last) = total.as_chunks_mut();
        let ones = v.floats(&[ONES; FOUR]);
        let (scales, radius) = (v.floats(&[scale; FOUR]), v.floats(&[proof.radius; FOUR]));
        let (mut inside, mut sums) = (v.words(&[-1; FOUR]), v.words(&[0; FOUR]));
        for (total, four) in totals.iter_mut().zip(fours) {
            let whole = v.truncated(v.times(v.floats(four), scales));
            let size = v.magnitudes(whole);
            let fits = v.at_most(size, radius);
            inside = v.and(inside, fits);
            // The lower halves of these bits are the magnitudes, and no more is multiplied.
            let magnitude = v.bits(v.plus(size, ones));
            sums = v.add(
                sums,
                if SQUARES {
                    v.unsigned_product(magnitude, magnitude)
                } else {
                    v.subtract(magnitude, v.bits(ones))
                },
            );
            let integer = v.subtract(v.bits(v.plus(whole, ones)), v.bits(ones));
            *total = v.integers(v.add(v.words(total), v.and(integer, fits)));
        }
        for (total, value) in last.iter_mut().zip(rest) {
            let whole = (value * scale).trunc();
            proof.look(whole);
            *total = total.wrapping_add(proof.added(whole));
        }
        for (inside, sum) in v.integers(inside).into_iter().zip(v.integers(sums)) {
            proof.inside &= inside == -1;
            proof.sum = proof.sum.wrapping_add(sum.cast_unsigned());
        }
        proof.holds()
    }

    /// [`Lattice::scale_multiple`] of a sparse vector; nothing for one that is not sound.
    pub(super) fn sparse_scale(
        &self,
        entries: &[(u32, f64)],
        multiple: Multiple,
    ) -> Option<(f64, bool)> {
        Arch::new().dispatch(SparseScale {
            lattice: self,
            entries,
            multiple,
        })
    }

    /// The length by squares as they are; nothing where they might be too large or too small for
    /// that. In eight lanes, then four of them, and what is left over: the same order of additions
    /// for dense and sparse vectors.
    #[inline(always)]
    pub(super) fn plain_length(&self, entries: &Entries<'_>) -> Option<f64> {
        let square = |value: f64| match self.norm {
            Norm::L1 => value.abs(),
            Norm::L2 => value * value,
        };
        let (mut lanes, mut rest) = ([0.0; LANES], 0.0);
        match entries {
            Entries::Dense(values) => {
                let (parts, left) = values.as_chunks::<LANES>();
                for part in parts {
                    for (lane, value) in lanes.iter_mut().zip(part) {
                        *lane += square(*value);
                    }
                }
                let (fours, left) = left.as_chunks::<4>();
                for four in fours {
                    for (lane, value) in lanes.iter_mut().zip(four) {
                        *lane += square(*value);
                    }
                }
                left.iter().for_each(|value| rest += square(*value));
            }
            Entries::Sparse(entries) => {
                let left = self.dimension & !3;
                for &(index, value) in *entries {
                    if index < left {
                        lanes[index as usize % LANES] += square(value);
                    } else {
                        rest += square(value);
                    }
                }
            }
        }
        let sum = lanes.iter().sum::<f64>() + rest;
        (1e-200..1e300).contains(&sum).then(|| match self.norm {
            Norm::L1 => sum,
            Norm::L2 => sum.sqrt(),
        })
    }

    /// [`Lattice::fits`] in 64 bits.
    #[inline(always)]
    pub(super) fn fits_narrow(&self, values: impl Iterator<Item = f64>, scale: f64) -> bool {
        match self.norm {
            Norm::L1 => self.prove::<false>(values, scale),
            Norm::L2 => self.prove::<true>(values, scale),
        }
    }

    #[inline(always)]
    fn prove<const SQUARES: bool>(&self, values: impl Iterator<Item = f64>, scale: f64) -> bool {
        let mut proof = Proof::<SQUARES>::new(self);
        for value in values {
            proof.look((value * scale).trunc());
        }
        proof.holds()
    }
}

/// That integers fit. If none is larger than the radius, which is below 2³⁰, they are the integers
/// that [`Lattice::fits`] looks at, and the sum of their squares stays below 2⁶³; if one is, the
/// sum does not matter.
struct Proof<const SQUARES: bool> {
    inside: bool,
    sum: u64,
    radius: f64,
    limit: u64,
}

impl<const SQUARES: bool> Proof<SQUARES> {
    #[inline(always)]
    fn new(lattice: &Lattice) -> Self {
        let radius = lattice.radius.unsigned_abs();
        Self {
            inside: true,
            sum: 0,
            radius: radius as f64,
            limit: if SQUARES { radius * radius } else { radius },
        }
    }

    #[inline(always)]
    fn look(&mut self, whole: f64) {
        let size = whole.abs();
        // What is not a number is not inside either.
        self.inside &= size <= self.radius;
        let magnitude = u64::from(integer(size) as u32);
        self.sum = self.sum.wrapping_add(if SQUARES {
            magnitude * magnitude
        } else {
            magnitude
        });
    }

    /// What is added of a whole number: nothing, if it is not inside. So whatever floats are, what
    /// was added can be taken out again.
    #[inline(always)]
    fn added(&self, whole: f64) -> i64 {
        if whole.abs() <= self.radius {
            integer(whole)
        } else {
            0
        }
    }

    #[inline(always)]
    fn holds(&self) -> bool {
        self.inside && self.sum <= self.limit
    }
}

/// Here the last digits of a float count ones.
const ONES: f64 = 1.5 * (1_u64 << 52) as f64;

/// A whole number below 2⁵¹ in size as an integer; anything for others. A cast would ask of each
/// whether it is one, and there is no vector for that.
#[inline(always)]
pub(super) fn integer(whole: f64) -> i64 {
    (whole + ONES).to_bits().wrapping_sub(ONES.to_bits()) as i64
}

/// Whether so many integers within the radius fit 32 bits and the sum of their squares 63.
pub(super) fn is_narrow(radius: i64, count: usize) -> bool {
    radius < 1 << 30 && i128::from(radius).pow(2) * count as i128 <= i128::from(i64::MAX)
}

/// [`Lattice::add_narrow`], to be compiled for every width of vectors.
struct AddNarrow<'a> {
    lattice: &'a Lattice,
    values: &'a [f64],
    total: &'a mut [i64],
}

impl Work for AddNarrow<'_> {
    type Output = Outcome;

    #[inline(always)]
    fn with<V: Four>(self, v: V) -> Outcome {
        self.lattice.add_in_lanes(v, self.values, self.total)
    }
}

/// [`Lattice::add_multiple_narrow`], likewise.
struct AddMultiple<'a> {
    lattice: &'a Lattice,
    values: &'a [f64],
    multiple: Multiple,
    total: &'a mut [i64],
}

impl Work for AddMultiple<'_> {
    type Output = Outcome;

    #[inline(always)]
    fn with<V: Four>(self, v: V) -> Outcome {
        let Multiple { factor, length } = self.multiple;
        self.lattice
            .add_scaled(v, self.values, (length, factor), self.total)
    }
}

/// [`Lattice::sparse_scale`], likewise: elsewhere an integer toward zero is a call.
struct SparseScale<'a> {
    lattice: &'a Lattice,
    entries: &'a [(u32, f64)],
    multiple: Multiple,
}

impl WithSimd for SparseScale<'_> {
    type Output = Option<(f64, bool)>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> Self::Output {
        let entries = self.lattice.sparse_entries(self.entries)?;
        self.lattice.scale_multiple(&entries, self.multiple)
    }
}
