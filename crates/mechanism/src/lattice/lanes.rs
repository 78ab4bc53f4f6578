//! Small integers in loops that a compiler turns into vectors: the round's hot path. They prove what the careful loops prove, in arithmetic whose bounds are stated.

use super::{Entries, Lattice, Norm, Outcome};
use pulp::{Arch, Simd, WithSimd};

/// Sums of squares run side by side, because one addition has to wait for the other.
const LANES: usize = 8;

impl Lattice {
    /// The same for all coordinates and small integers, in loops that a compiler turns into vectors: this is the round's hot path.
    pub(super) fn add_narrow(&self, values: &[f64], total: &mut [i64]) -> Outcome {
        Arch::new().dispatch(AddNarrow {
            lattice: self,
            values,
            total,
        })
    }

    #[inline(always)]
    fn add_in_lanes(&self, values: &[f64], total: &mut [i64]) -> Outcome {
        let entries = Entries::Dense(values);
        let plain = self.plain_length(&entries);
        let Some(length) = plain.or_else(|| self.careful_length(&entries)) else {
            return Outcome::Null;
        };
        let clipped = length > self.bound;
        let scale = self.radius as f64 / if clipped { length } else { self.bound };
        for shrink in self.shrinks {
            let scale = scale * shrink;
            if self.add_checked(values, scale, total) {
                return if clipped {
                    Outcome::Clipped
                } else {
                    Outcome::Kept
                };
            }
            // What was added is taken out again: it did not fit.
            for (total, value) in total.iter_mut().zip(values) {
                *total = total.wrapping_sub(truncated(value * scale));
            }
        }
        Outcome::Null
    }

    /// Adds the integers and proves on the way what [`Lattice::fits`] proves, as [`Lattice::fits_narrow`] does. Plans keep sums below 2⁶¹, so integers that fit wrap nothing. What does not fit can be taken out again exactly: a length
    /// was found, so values are finite, no larger than the bound or clipped to it, and every step of their truncation is a function.
    #[inline(always)]
    fn add_checked(&self, values: &[f64], scale: f64, total: &mut [i64]) -> bool {
        match self.norm {
            Norm::L1 => self.add_proving::<false>(values, scale, total),
            Norm::L2 => self.add_proving::<true>(values, scale, total),
        }
    }

    #[inline(always)]
    fn add_proving<const SQUARES: bool>(
        &self,
        values: &[f64],
        scale: f64,
        total: &mut [i64],
    ) -> bool {
        let mut proof = Proof::<SQUARES>::new(self);
        for (total, value) in total.iter_mut().zip(values) {
            let whole = (value * scale).trunc();
            proof.look(whole);
            *total = total.wrapping_add(integer(whole));
        }
        proof.holds()
    }

    /// [`Lattice::scale`] of a sparse vector.
    pub(super) fn sparse_scale(&self, entries: &[(u32, f64)]) -> Option<(f64, bool)> {
        Arch::new().dispatch(SparseScale {
            lattice: self,
            entries,
        })
    }

    /// The length by squares as they are; nothing where they might be too large or too small for that. In eight lanes, then four of them, and what is left over: the same
    /// order of additions for dense and sparse vectors.
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

/// That integers fit. If none is larger than the radius, which is below 2³⁰, they are the integers that [`Lattice::fits`] looks at, and the sum of their squares stays
/// below 2⁶³; if one is, the sum does not matter.
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

    #[inline(always)]
    fn holds(&self) -> bool {
        self.inside && self.sum <= self.limit
    }
}

/// The integer toward zero.
#[inline(always)]
pub(super) fn truncated(value: f64) -> i64 {
    integer(value.trunc())
}

/// A whole number below 2⁵¹ in size as an integer; anything for others. A cast would ask of each whether it is one, and there is no vector for that: at
/// 1.5·2⁵² the last digits of a float count ones.
#[inline(always)]
fn integer(whole: f64) -> i64 {
    const ONES: f64 = 1.5 * (1_u64 << 52) as f64;
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

impl WithSimd for AddNarrow<'_> {
    type Output = Outcome;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> Outcome {
        self.lattice.add_in_lanes(self.values, self.total)
    }
}

/// [`Lattice::sparse_scale`], likewise: elsewhere an integer toward zero is a call.
struct SparseScale<'a> {
    lattice: &'a Lattice,
    entries: &'a [(u32, f64)],
}

impl WithSimd for SparseScale<'_> {
    type Output = Option<(f64, bool)>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> Self::Output {
        self.lattice.scale(&Entries::Sparse(self.entries))
    }
}
