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

mod lanes;

use crate::losses::{Features, Multiple};
use lanes::is_narrow;

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
    /// Whether integers fit 32 bits and their squares' sum 63: then plain loops prove it.
    narrow: bool,
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
        if !(radius as f64 / bound).is_finite() {
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
            narrow: is_narrow(radius, dimension as usize),
        })
    }

    /// Number of coordinates.
    #[must_use]
    pub fn dimension(&self) -> usize {
        self.dimension as usize
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

    /// Whether these integers can be the sum of `batch` contributions: their length is at most
    /// batch·radius. In arithmetic that cannot wrap.
    pub(crate) fn holds_sum(&self, values: &[i64], batch: u64) -> bool {
        let most = u128::from(batch) * u128::from(self.radius.unsigned_abs());
        let sizes = || values.iter().map(|value| u128::from(value.unsigned_abs()));
        if values.len() != self.dimension() || sizes().any(|size| size > most) {
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

    /// Adds the integers of a contribution to `total`.
    pub(crate) fn add(&self, contribution: &Contribution, total: &mut [i64]) -> Outcome {
        if let Contribution::Dense(values) = contribution
            && self.narrow
            && values.len() == self.dimension()
        {
            return self.add_narrow(values, total);
        }
        let entries = match contribution {
            Contribution::Null => None,
            Contribution::Dense(values) => self.dense(values),
            Contribution::Sparse(entries) => self.sparse_entries(entries),
        };
        entries.map_or(Outcome::Null, |entries| {
            let length = self.length(&entries);
            let scale = length.and_then(|length| self.scale(&entries, length, 1.0));
            self.add_entries(&entries, scale, total)
        })
    }

    /// Adds the integers of a multiple of features to `total`.
    pub(crate) fn add_multiple(
        &self,
        features: &Features,
        multiple: Multiple,
        total: &mut [i64],
    ) -> Outcome {
        let entries = match features {
            Features::Dense(values)
                if self.narrow && self.norm == Norm::L2 && values.len() == self.dimension() =>
            {
                return self.add_multiple_narrow(values, multiple, total);
            }
            Features::Dense(values) => self.dense(values),
            Features::Sparse(entries) => self.sparse_entries(entries),
        };
        entries.map_or(Outcome::Null, |entries| {
            self.add_entries(&entries, self.scale_multiple(&entries, multiple), total)
        })
    }

    fn dense<'a>(&self, values: &'a [f64]) -> Option<Entries<'a>> {
        (values.len() == self.dimension()).then_some(Entries::Dense(values))
    }

    #[inline(always)]
    fn sparse_entries<'a>(&self, entries: &'a [(u32, f64)]) -> Option<Entries<'a>> {
        let increasing = entries.windows(2).all(|pair| pair[0].0 < pair[1].0);
        let inside = entries.last().is_none_or(|last| last.0 < self.dimension);
        (increasing && inside).then_some(Entries::Sparse(entries))
    }

    fn add_entries(
        &self,
        entries: &Entries<'_>,
        scale: Option<(f64, bool)>,
        total: &mut [i64],
    ) -> Outcome {
        let Some((scale, clipped)) = scale else {
            return Outcome::Null;
        };
        entries.each(|index, value| {
            // Inside the radius by the check; a cast truncates toward zero.
            total[index] += (value * scale) as i64;
        });
        if clipped {
            Outcome::Clipped
        } else {
            Outcome::Kept
        }
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
        if let Some((scale, _)) = self.sparse_scale(entries, multiple) {
            let integers = entries
                .iter()
                .map(|&(i, value)| (i, (value * scale) as i64));
            out.extend(integers.filter(|&(_, value)| value != 0));
        }
    }

    /// [`Lattice::scale`] for a multiple.
    #[inline(always)]
    fn scale_multiple(&self, entries: &Entries<'_>, multiple: Multiple) -> Option<(f64, bool)> {
        let length = match self.norm {
            Norm::L2 => multiple.length,
            Norm::L1 => self.length(entries)? * multiple.factor.abs(),
        };
        self.scale(entries, length, multiple.factor)
    }

    /// The number by which values become integers that are proved to fit, for `factor` times these
    /// values, of this length; and whether it clips. Nothing if there is none.
    #[inline(always)]
    fn scale(&self, entries: &Entries<'_>, length: f64, factor: f64) -> Option<(f64, bool)> {
        let (scale, clipped) = self.plain_scale(length);
        // A loop, because a closure would not be compiled for the processor at hand.
        for shrink in SHRINKS {
            let scale = scale * shrink * factor;
            let fits = match entries {
                Entries::Sparse(entries) if is_narrow(self.radius, entries.len()) => {
                    self.fits_narrow(entries.iter().map(|entry| entry.1), scale)
                }
                _ => self.fits(entries, scale),
            };
            if fits {
                return Some((scale, clipped));
            }
        }
        None
    }

    /// What makes the bound the radius, or a longer vector as long as it; and whether it is longer.
    #[inline(always)]
    fn plain_scale(&self, length: f64) -> (f64, bool) {
        let clipped = length > self.bound;
        // Not radius/length, which may overflow for a subnormal length: only lengths above the
        // bound are divided by.
        let scale = self.radius as f64 / if clipped { length } else { self.bound };
        (scale, clipped)
    }

    /// The length, or nothing if a value is not finite.
    #[inline(always)]
    fn length(&self, entries: &Entries<'_>) -> Option<f64> {
        self.plain_length(entries)
            .or_else(|| self.careful_length(entries))
    }

    /// The same for any values: dividing by the largest first keeps squares from overflowing.
    #[cold]
    fn careful_length(&self, entries: &Entries<'_>) -> Option<f64> {
        let mut largest = 0.0_f64;
        let mut finite = true;
        entries.each(|_, value| {
            finite &= value.is_finite();
            largest = largest.max(value.abs());
        });
        if !finite {
            return None;
        }
        if largest == 0.0 {
            return Some(0.0);
        }
        let mut sum = 0.0;
        entries.each(|_, value| {
            let share = value.abs() / largest;
            sum += match self.norm {
                Norm::L1 => share,
                Norm::L2 => share * share,
            };
        });
        Some(match self.norm {
            Norm::L1 => largest * sum,
            Norm::L2 => largest * sum.sqrt(),
        })
    }

    /// The proof: every integer within the radius, and their length too.
    fn fits(&self, entries: &Entries<'_>, scale: f64) -> bool {
        let radius = self.radius as f64; // at most 2⁴⁰: exact
        let limit = match self.norm {
            Norm::L1 => self.radius.unsigned_abs().into(),
            Norm::L2 => u128::from(self.radius.unsigned_abs()).pow(2),
        };
        let mut inside = true;
        let mut sum = Some(0_u128);
        entries.each(|_, value| {
            let scaled = value * scale;
            // |trunc(x)| ≤ radius if and only if |x| < radius + 1.
            if scaled.is_nan() || scaled.abs() >= radius + 1.0 {
                inside = false;
                return;
            }
            let magnitude = u128::from((scaled as i64).unsigned_abs());
            sum = sum.and_then(|sum| {
                sum.checked_add(match self.norm {
                    Norm::L1 => magnitude,
                    Norm::L2 => magnitude * magnitude,
                })
            });
        });
        inside && sum.is_some_and(|sum| sum <= limit)
    }
}

enum Entries<'a> {
    Dense(&'a [f64]),
    Sparse(&'a [(u32, f64)]),
}

impl Entries<'_> {
    fn each(&self, mut visit: impl FnMut(usize, f64)) {
        match self {
            Self::Dense(values) => values.iter().enumerate().for_each(|(i, &v)| visit(i, v)),
            Self::Sparse(entries) => entries.iter().for_each(|&(i, v)| visit(i as usize, v)),
        }
    }
}

#[cfg(test)]
mod tests;
