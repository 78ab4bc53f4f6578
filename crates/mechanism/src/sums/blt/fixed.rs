//! The BLT encoder: rows of Cx in integer arithmetic, the same bits on every machine.
//!
//! For each coordinate, with X = x·2ᶠ, 1 − θ_j = a_j/2⁶², ω_j = w_j/2⁴⁰ and `>>` rounding down,
//!
//! Y = X + ((Σ_j w_j·buf_j) >> 40), *then* buf_j ← buf_j − ((a_j·buf_j) >> 62) + X.
//!
//! The row reads the buffers before its own item enters them: an impulse at step s gives c_0 = 1 in
//! row s from X alone and Σ_j ω_jθ_j^{k−1} = c_k in row s + k, up to the floors. Where 51 bits
//! suffice, doubles do the same much faster, with other roundings (`doubles.rs`).
//!
//! **Claim.** If the items of two streams differ so that ‖C·Δx‖ ≤ s (s = sens·Δ for one item), then
//! the rows, in lattice units, differ by at most s + [inflation](super::DyadicBlt::inflation) in
//! L2; add Gaussian noise of standard deviation 2³⁰ lattice units **to the rows as they are, with
//! the guard bits that they keep**, and the release has μ = (s + inflation)/2³⁰. Both proofs stand
//! where the numbers are: the inflation in [`DyadicBlt`], the absence of overflow in [`Layout`].
//! They need |x_i| ≤ R, n rows at most and a state that came from this encoder; all three are
//! checked here on every call, before anything changes. The L2 norm of an item is the caller's to
//! check, together with its clipping.
//!
//! A row without noise is private data, and so are the buffers: neither is printed by `Debug`.

use super::decode::{self, BltDecoder};
use super::doubles::{self, Doubles, LANES, padded};
use super::dyadic::{DECAY_BITS, DyadicBlt, WEIGHT_BITS};
use super::layout::{Layout, LayoutError, Width};
use super::parameters::MAX_BUFFERS;
use crate::wide::wide;
use pulp::Simd;
use std::fmt;

/// Why an item or a state was refused. Nothing has changed then.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum EncodeError {
    /// All releases have been made.
    #[error("all {releases} releases have been made; the sensitivity covers no more")]
    Exhausted {
        /// The number the encoder was opened for.
        releases: u64,
    },
    /// A vector of the wrong length.
    #[error("a vector has {given} entries; {wanted} are needed")]
    Length {
        /// Its length.
        given: usize,
        /// What is needed.
        wanted: usize,
    },
    /// A coordinate beyond the radius. Which one, and its value, are private.
    #[error("a coordinate exceeds the radius {radius}; clip before encoding")]
    Radius {
        /// The bound.
        radius: i64,
    },
    /// A state that no run of this encoder can have reached.
    #[error("this state cannot come from an encoder with these parameters")]
    State,
}

/// The encoder.
#[derive(Clone)]
pub struct FixedBlt {
    blt: DyadicBlt,
    layout: Layout,
    releases: u64,
    used: u64,
    dimension: usize,
    radius: i64,
    buffers: Buffers,
}

/// The noise of a release.
#[derive(Clone, Copy)]
pub(crate) enum RoundNoise<'a> {
    /// That of all coordinates.
    Drawn(&'a [i64]),
    /// Writes that of consecutive coordinates from a given one. It is used at once: long vectors of
    /// noise would go out to memory and come back.
    ToDraw(&'a dyn Fn(u32, &mut [i64])),
}

/// Coordinates whose noise is drawn together: few enough for the first-level cache.
const PART: usize = 64 * LANES;

/// All buffers of all coordinates.
#[derive(Clone)]
enum Buffers {
    /// Integers in doubles.
    Doubles(Doubles),
    /// Those of coordinate 0, then those of coordinate 1, …
    Wide(Vec<i128>),
}

impl fmt::Debug for FixedBlt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FixedBlt")
            .field("blt", &self.blt)
            .field("layout", &self.layout)
            .field("releases", &self.releases)
            .field("used", &self.used)
            .field("dimension", &self.dimension)
            .field("radius", &self.radius)
            .finish_non_exhaustive()
    }
}

impl FixedBlt {
    /// An encoder for at most `releases` items of `dimension` coordinates, none larger than
    /// `radius`.
    ///
    /// # Errors
    /// A [`LayoutError`] if any number could overflow.
    pub fn open(
        blt: &DyadicBlt,
        layout: Layout,
        releases: u64,
        dimension: usize,
        radius: i64,
    ) -> Result<Self, LayoutError> {
        layout.check(blt, releases, dimension, radius)?;
        Ok(Self {
            blt: blt.clone(),
            layout,
            releases,
            used: 0,
            dimension,
            radius,
            buffers: match layout.width() {
                Width::Double => {
                    Buffers::Doubles(Doubles::new(blt, layout.guard_bits(), dimension))
                }
                Width::Wide => Buffers::Wide(vec![0; dimension * blt.buffers()]),
            },
        })
    }

    /// Takes one item and writes its row, in units of [`Layout::unit`], **without noise**.
    ///
    /// # Errors
    /// [`EncodeError::Exhausted`], [`EncodeError::Length`] or [`EncodeError::Radius`]; the encoder
    /// is then unchanged.
    pub fn encode(&mut self, item: &[i64], row: &mut [i128]) -> Result<(), EncodeError> {
        self.check(item)?;
        self.check_length(row.len())?;
        match &mut self.buffers {
            Buffers::Doubles(doubles) => {
                encode(doubles, item, row);
            }
            Buffers::Wide(buffers) => {
                wide_row(&self.blt, self.layout.guard_bits(), item, row, buffers);
            }
        }
        self.used += 1;
        Ok(())
    }

    /// Takes one item, adds noise to its row and decodes it, in one pass. False, and nothing has
    /// happened, if the rows are wide.
    ///
    /// # Errors
    /// As [`FixedBlt::encode`].
    pub(crate) fn release(
        &mut self,
        item: &[i64],
        noise: RoundNoise<'_>,
        decoder: &mut BltDecoder,
        prefix: &mut [f64],
    ) -> Result<bool, EncodeError> {
        self.check(item)?;
        self.check_length(prefix.len())?;
        self.check_length(decoder.dimension())?;
        if let RoundNoise::Drawn(noise) = noise {
            self.check_length(noise.len())?;
        }
        let Buffers::Doubles(doubles) = &mut self.buffers else {
            return Ok(false);
        };
        match noise {
            RoundNoise::Drawn(noise) => round(doubles, decoder, item, noise, 0, prefix),
            RoundNoise::ToDraw(draw) => {
                let mut room = [0; PART];
                for first in (0..item.len()).step_by(PART) {
                    let noise = &mut room[..PART.min(item.len() - first)];
                    draw(first as u32, noise);
                    round(doubles, decoder, item, noise, first, prefix);
                }
            }
        }
        self.used += 1;
        Ok(true)
    }

    fn check(&self, item: &[i64]) -> Result<(), EncodeError> {
        if self.used >= self.releases {
            return Err(EncodeError::Exhausted {
                releases: self.releases,
            });
        }
        self.check_length(item.len())?;
        // R − x and R + x are both not negative just where |x| ≤ R. Where one of them wraps
        // around, the other is negative.
        let radius = self.radius;
        let excess = |x: i64| radius.wrapping_sub(x) | radius.wrapping_add(x);
        if item.iter().fold(0, |signs, x| signs | excess(*x)) >= 0 {
            Ok(())
        } else {
            Err(EncodeError::Radius { radius })
        }
    }

    fn check_length(&self, given: usize) -> Result<(), EncodeError> {
        if given == self.dimension {
            return Ok(());
        }
        Err(EncodeError::Length {
            given,
            wanted: self.dimension,
        })
    }

    /// The layout.
    #[must_use]
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// How many items have been encoded.
    #[must_use]
    pub fn used(&self) -> u64 {
        self.used
    }

    /// The buffers, coordinate by coordinate: with [`used`](Self::used) the whole state. Private
    /// data.
    #[must_use]
    pub fn state(&self) -> Vec<i128> {
        match &self.buffers {
            Buffers::Doubles(doubles) => doubles.state(),
            Buffers::Wide(buffers) => buffers.clone(),
        }
    }

    /// Continues from a state.
    ///
    /// # Errors
    /// [`EncodeError::Length`], or [`EncodeError::State`] if it exceeds what `used` ≤ n steps can
    /// reach.
    pub fn restore(&mut self, used: u64, state: &[i128]) -> Result<(), EncodeError> {
        let wanted = self.dimension * self.blt.buffers();
        if state.len() != wanted {
            return Err(EncodeError::Length {
                given: state.len(),
                wanted,
            });
        }
        // What `used` steps can reach, not what n steps can: otherwise the steps that remain could
        // overflow.
        let limits = self.layout.limits(&self.blt, used, self.radius);
        let within = |(value, limit): (&i128, &f64)| value.unsigned_abs() as f64 <= *limit;
        if used > self.releases || !state.iter().zip(limits.iter().cycle()).all(within) {
            return Err(EncodeError::State);
        }
        self.used = used;
        match &mut self.buffers {
            Buffers::Doubles(doubles) => doubles.restore(state),
            Buffers::Wide(buffers) => buffers.copy_from_slice(state),
        }
        Ok(())
    }
}

/// The formula, as it stands. [`Layout`] excludes overflow here, so the arithmetic need not look
/// for it, which would take several times as long.
fn wide_row(blt: &DyadicBlt, guard: u32, item: &[i64], row: &mut [i128], buffers: &mut [i128]) {
    let groups = buffers.chunks_exact_mut(blt.buffers());
    for ((x, y), buffers) in item.iter().zip(row).zip(groups) {
        let scaled = i128::from(*x) << guard;
        let factors = blt.decay_numerators().iter().zip(blt.weight_numerators());
        let mut sum = 0_i128;
        for (buffer, (a, w)) in buffers.iter_mut().zip(factors) {
            sum = sum.wrapping_add(buffer.wrapping_mul((*w).into()));
            let lost = buffer.wrapping_mul((*a).into()) >> DECAY_BITS;
            *buffer = buffer.wrapping_sub(lost).wrapping_add(scaled);
        }
        *y = scaled.wrapping_add(sum >> WEIGHT_BITS);
    }
}

wide! {
    /// The row of doubles, without noise.
    fn encode<'a>(doubles: &'a mut Doubles, item: &'a [i64], row: &'a mut [i128]) -> () {
        let constants = (&doubles.factors[..], doubles.scale);
        let groups = doubles.buffers.chunks_exact_mut(doubles.factors.len());
        for ((item, row), buffers) in item.chunks(LANES).zip(row.chunks_mut(LANES)).zip(groups) {
            let floats = doubles::take::<S>(constants, buffers, &padded(item), &[0; LANES]);
            // Integers, whatever holds them.
            row.iter_mut().zip(floats).for_each(|(row, float)| *row = float as i128);
        }
    }

    /// One round in one pass: encode, add noise, decode, a few coordinates at a time. The noise is
    /// that of coordinates from `first` on, which begins sixteen of them; only these are done.
    fn round<'a>(
        doubles: &'a mut Doubles,
        decoder: &'a mut BltDecoder,
        item: &'a [i64],
        noise: &'a [i64],
        first: usize,
        prefix: &'a mut [f64],
    ) -> () {
        match doubles.factors.len() {
            1 => pass::<S, 1>(doubles, decoder, item, noise, first, prefix),
            2 => pass::<S, 2>(doubles, decoder, item, noise, first, prefix),
            3 => pass::<S, 3>(doubles, decoder, item, noise, first, prefix),
            4 => pass::<S, 4>(doubles, decoder, item, noise, first, prefix),
            5 => pass::<S, 5>(doubles, decoder, item, noise, first, prefix),
            6 => pass::<S, 6>(doubles, decoder, item, noise, first, prefix),
            7 => pass::<S, 7>(doubles, decoder, item, noise, first, prefix),
            _ => pass::<S, MAX_BUFFERS>(doubles, decoder, item, noise, first, prefix),
        }
    }
}

/// One instance for each number of buffers, so that the loops over them are unrolled: twice as
/// fast.
#[inline(always)]
fn pass<S: Simd, const M: usize>(
    doubles: &mut Doubles,
    decoder: &mut BltDecoder,
    item: &[i64],
    noise: &[i64],
    first: usize,
    prefix: &mut [f64],
) {
    let (ends, terms, floats, sums) = decoder.parts();
    let (Some(&factors), Some(&terms)) = (doubles.factors.first_chunk::<M>(), terms.first_chunk())
    else {
        unreachable!("encoder and decoder have M buffers");
    };
    let group = first / LANES;
    let floats = floats.as_chunks_mut::<M>().0[group..].iter_mut();
    let buffers = doubles.buffers.as_chunks_mut::<M>().0[group..].iter_mut();
    let inputs = item[first..].chunks(LANES).zip(noise.chunks(LANES));
    let groups = inputs.zip(prefix[first..].chunks_mut(LANES));
    for (((item, noise), out), (buffers, (floats, sums))) in
        groups.zip(buffers.zip(floats.zip(&mut sums[group..])))
    {
        let constants = (&factors[..], doubles.scale);
        let row = doubles::take::<S>(constants, buffers, &padded(item), &padded(noise));
        let terms: &[_; M] = &terms;
        let decoded = decode::take::<S>((ends, terms), floats, sums, &row);
        match out.first_chunk_mut() {
            Some(all) => *all = decoded,
            None => out.copy_from_slice(&decoded[..out.len()]),
        }
    }
}

#[cfg(test)]
mod tests;
