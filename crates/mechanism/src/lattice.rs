//! From a person's real numbers to integers whose sensitivity is proved by integers.
//!
//! A contribution is clipped to the public bound in floating point, scaled so that the bound becomes the integer radius, and truncated
//! toward zero. None of that is trusted: the *integers* that come out are checked, |u_i| ≤ radius and Σu² ≤ radius² (or
//! Σ|u| ≤ radius), in arithmetic that cannot wrap. If the check fails the vector is shrunk a little and checked again;
//! if it fails again, or anything was not a number, the contribution is null and the round still ticks. So whatever the floats did,
//! two contributions differ by at most 2·radius (replace-one) or radius (zero-out).
//!
//! Why the per-coordinate check comes first: a float too large for an integer saturates when cast, and squares of
//! saturated values can wrap a sum around to a small number.

use pulp::{Arch, Simd, WithSimd};

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

/// What became of a contribution. It depends on private data: counts of it are for the operator only.
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

    /// Whether these integers can be the sum of `batch` contributions: their length is at most batch·radius. In arithmetic that cannot wrap.
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
            Contribution::Null => return Outcome::Null,
            Contribution::Dense(values) => {
                if values.len() != self.dimension() {
                    return Outcome::Null;
                }
                Entries::Dense(values)
            }
            Contribution::Sparse(entries) => {
                let increasing = entries.windows(2).all(|pair| pair[0].0 < pair[1].0);
                if !increasing || entries.last().is_some_and(|last| last.0 >= self.dimension) {
                    return Outcome::Null;
                }
                Entries::Sparse(entries)
            }
        };
        let Some((scale, clipped)) = self.scale(&entries) else {
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

    /// Writes the integers of a sparse contribution that are not zero; none for any that would be null.
    pub(crate) fn sparse(&self, entries: &[(u32, f64)], out: &mut Vec<(u32, i64)>) {
        out.clear();
        let increasing = entries.windows(2).all(|pair| pair[0].0 < pair[1].0);
        if !increasing || entries.last().is_some_and(|last| last.0 >= self.dimension) {
            return;
        }
        if let Some((scale, _)) = self.scale(&Entries::Sparse(entries)) {
            let integers = entries
                .iter()
                .map(|&(i, value)| (i, (value * scale) as i64));
            out.extend(integers.filter(|&(_, value)| value != 0));
        }
    }

    /// The factor that makes integers which are proved to fit, and whether it clips; nothing if there is none.
    fn scale(&self, entries: &Entries<'_>) -> Option<(f64, bool)> {
        let length = self.length(entries)?;
        let clipped = length > self.bound;
        // Not radius/length, which may overflow for a subnormal length: only lengths above the bound are divided by.
        let scale = self.radius as f64 / if clipped { length } else { self.bound };
        [1.0, 1.0 - 1e-6]
            .map(|shrink| scale * shrink)
            .into_iter()
            .find(|&scale| match entries {
                Entries::Sparse(entries) if is_narrow(self.radius, entries.len()) => {
                    self.fits_narrow(entries.iter().map(|entry| entry.1), scale)
                }
                _ => self.fits(entries, scale),
            })
            .map(|scale| (scale, clipped))
    }

    /// The same for all coordinates and small integers, in loops that a compiler turns into vectors: this is the round's hot path.
    fn add_narrow(&self, values: &[f64], total: &mut [i64]) -> Outcome {
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
        for shrink in [1.0, 1.0 - 1e-6] {
            let scale = scale * shrink;
            if self.fits_narrow(values.iter().copied(), scale) {
                // Plans keep sums below 2⁶¹: nothing wraps, and a loop that need not look becomes vectors.
                for (total, value) in total.iter_mut().zip(values) {
                    *total = total.wrapping_add(truncated(value * scale));
                }
                return if clipped {
                    Outcome::Clipped
                } else {
                    Outcome::Kept
                };
            }
        }
        Outcome::Null
    }

    /// The length by squares as they are; nothing where they might be too large or too small for that. In four lanes, and what is left over: the same
    /// order of additions for dense and sparse vectors.
    #[inline(always)]
    fn plain_length(&self, entries: &Entries<'_>) -> Option<f64> {
        let square = |value: f64| match self.norm {
            Norm::L1 => value.abs(),
            Norm::L2 => value * value,
        };
        let (mut lanes, mut rest) = ([0.0; 4], 0.0);
        match entries {
            Entries::Dense(values) => {
                let (fours, left) = values.as_chunks::<4>();
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
                        lanes[index as usize & 3] += square(value);
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

    /// [`Lattice::fits`] in 64 bits. If no value reaches radius + 1, the truncated ones are the integers that `fits` looks at, and the sum of their squares stays
    /// below 2⁶³; if one does, the sum does not matter.
    #[inline(always)]
    fn fits_narrow(&self, values: impl Iterator<Item = f64>, scale: f64) -> bool {
        let (mut inside, mut sum) = (true, 0_u64);
        let squares = self.norm == Norm::L2;
        let beyond = (self.radius + 1) as f64;
        for value in values {
            let size = (value * scale).abs();
            // What is not a number is not inside either.
            inside &= size < beyond;
            let magnitude = u64::from(truncated(size) as u32);
            sum = sum.wrapping_add(if squares {
                magnitude * magnitude
            } else {
                magnitude
            });
        }
        let radius = self.radius.unsigned_abs();
        let limit = if squares { radius * radius } else { radius };
        inside && sum <= limit
    }

    /// The length, or nothing if a value is not finite.
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

/// The integer toward zero of a number below 2⁵¹ in size; anything for others. A cast would ask of each whether it is one, and there is no vector for that: at
/// 1.5·2⁵² the last digits of a float count ones.
#[inline(always)]
fn truncated(value: f64) -> i64 {
    const ONES: f64 = 1.5 * (1_u64 << 52) as f64;
    let nearest = (value + ONES) - ONES;
    let beyond = if nearest.abs() > value.abs() {
        1.0
    } else {
        0.0_f64
    };
    let toward_zero = nearest - beyond.copysign(value);
    (toward_zero + ONES).to_bits().wrapping_sub(ONES.to_bits()) as i64
}

/// Whether so many integers within the radius fit 32 bits and the sum of their squares 63.
fn is_narrow(radius: i64, count: usize) -> bool {
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
