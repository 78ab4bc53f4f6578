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

use std::fmt;

use super::decode::BltDecoder;
use super::doubles::Doubles;
use super::dyadic::{DECAY_BITS, DyadicBlt, WEIGHT_BITS};
use super::lanes::Lanes;
use super::layout::{Layout, LayoutError, Width};
use super::parameters::MAX_BUFFERS;
use super::round::{encode, round};
use super::word::Word;
use hushstream_four::{self as four, FOUR, Four, Work, padded};
use pulp::{Arch, Simd, WithSimd};

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

/// An encoder of the width that its layout demands.
#[derive(Debug, Clone)]
pub enum FixedBlt {
    /// Rows in `i64`.
    Narrow(FixedEncoder<i64>),
    /// Rows in `i128`.
    Wide(FixedEncoder<i128>),
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
        Ok(match layout.width() {
            Width::Double | Width::Narrow => {
                Self::Narrow(FixedEncoder::new(blt, layout, releases, dimension, radius))
            }
            Width::Wide => Self::Wide(FixedEncoder::new(blt, layout, releases, dimension, radius)),
        })
    }
}

/// The encoder itself.
#[derive(Clone)]
pub struct FixedEncoder<W> {
    blt: DyadicBlt,
    layout: Layout,
    releases: u64,
    used: u64,
    dimension: usize,
    radius: i64,
    buffers: Buffers<W>,
}

/// All buffers of all coordinates.
#[derive(Clone)]
enum Buffers<W> {
    /// Integers in doubles.
    Doubles(Doubles),
    /// Narrow ones with short factors.
    Lanes(Lanes),
    /// Those of coordinate 0, then those of coordinate 1, …: a step passes through memory once.
    Words(Vec<W>),
}

impl<W: Word> Buffers<W> {
    /// At 0.
    fn new(blt: &DyadicBlt, layout: Layout, dimension: usize) -> Self {
        let guard_bits = layout.guard_bits();
        let lanes = match layout.width() {
            Width::Double => return Self::Doubles(Doubles::new(blt, guard_bits, dimension)),
            Width::Narrow => Lanes::new(blt, guard_bits, dimension),
            Width::Wide => None,
        };
        lanes.map_or_else(
            || Self::Words(vec![W::default(); dimension * blt.buffers()]),
            Self::Lanes,
        )
    }
}

impl<W> fmt::Debug for FixedEncoder<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FixedEncoder")
            .field("blt", &self.blt)
            .field("layout", &self.layout)
            .field("releases", &self.releases)
            .field("used", &self.used)
            .field("dimension", &self.dimension)
            .field("radius", &self.radius)
            .finish_non_exhaustive()
    }
}

impl<W: Word> FixedEncoder<W> {
    fn new(blt: &DyadicBlt, layout: Layout, releases: u64, dimension: usize, radius: i64) -> Self {
        Self {
            blt: blt.clone(),
            layout,
            releases,
            used: 0,
            dimension,
            radius,
            buffers: Buffers::new(blt, layout, dimension),
        }
    }

    /// Takes one item and writes its row, in units of [`Layout::unit`], **without noise**.
    ///
    /// # Errors
    /// [`EncodeError::Exhausted`], [`EncodeError::Length`] or [`EncodeError::Radius`]; the encoder
    /// is then unchanged.
    pub fn encode(&mut self, item: &[i64], row: &mut [W]) -> Result<(), EncodeError> {
        self.check(item)?;
        self.check_length(row.len())?;
        match (&mut self.buffers, W::narrow(row)) {
            (Buffers::Doubles(doubles), Some(row)) => encode(doubles, item, row),
            (Buffers::Lanes(lanes), Some(row)) => encode(lanes, item, row),
            _ => self.pass_for_all(item, row),
        }
        self.used += 1;
        Ok(())
    }

    /// Takes one item, adds noise to its row and decodes it, in one pass. False, and nothing has
    /// happened, for an encoder that has no such pass.
    ///
    /// # Errors
    /// As [`FixedEncoder::encode`].
    pub(crate) fn release(
        &mut self,
        item: &[i64],
        noise: &[i64],
        decoder: &mut BltDecoder,
        prefix: &mut [f64],
    ) -> Result<bool, EncodeError> {
        self.check(item)?;
        self.check_length(noise.len())?;
        self.check_length(prefix.len())?;
        self.check_length(decoder.dimension())?;
        match &mut self.buffers {
            Buffers::Doubles(doubles) => round(doubles, decoder, item, noise, prefix),
            Buffers::Lanes(lanes) => round(lanes, decoder, item, noise, prefix),
            Buffers::Words(_) => return Ok(false),
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
        let radius = self.radius;
        if four::run(Within { item, radius }) {
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

    /// One instance for each number of buffers, so that the inner loop is unrolled.
    fn pass_for_all(&mut self, item: &[i64], row: &mut [W]) {
        match self.blt.buffers() {
            1 => self.dispatch::<1>(item, row),
            2 => self.dispatch::<2>(item, row),
            3 => self.dispatch::<3>(item, row),
            4 => self.dispatch::<4>(item, row),
            5 => self.dispatch::<5>(item, row),
            6 => self.dispatch::<6>(item, row),
            7 => self.dispatch::<7>(item, row),
            _ => self.dispatch::<MAX_BUFFERS>(item, row),
        }
    }

    fn dispatch<const M: usize>(&mut self, item: &[i64], row: &mut [W]) {
        Arch::new().dispatch(Pass::<W, M> {
            encoder: self,
            item,
            row,
        });
    }

    #[inline(always)]
    fn pass<const M: usize>(&mut self, item: &[i64], row: &mut [W]) {
        let guard = self.layout.guard_bits();
        let mut factors = [(0, 0); M];
        let numerators = self.blt.decay_numerators().iter().copied();
        for (slot, factor) in factors
            .iter_mut()
            .zip(numerators.zip(self.blt.weight_numerators().iter().copied()))
        {
            *slot = factor;
        }
        let Buffers::Words(buffers) = &mut self.buffers else {
            unreachable!("the others have steps of their own");
        };
        let groups = buffers.as_chunks_mut::<M>().0;
        for ((x, y), buffers) in item.iter().zip(row).zip(groups) {
            let scaled = i128::from(*x) << guard;
            let mut sum = 0_i128;
            for (buffer, (a, w)) in buffers.iter_mut().zip(&factors) {
                // Widened here and not before the loop: for narrow buffers the product is then a
                // single instruction.
                let (value, a, w) = (buffer.widen(), i128::from(*a), i128::from(*w));
                // `Layout::check` excludes overflow here, so the arithmetic need not look for it,
                // which would take several times as long; the tests run with the assertion in
                // `Word::fit`.
                sum = sum.wrapping_add(w.wrapping_mul(value));
                let kept = value.wrapping_sub(a.wrapping_mul(value) >> DECAY_BITS);
                *buffer = W::fit(kept.wrapping_add(scaled));
            }
            *y = W::fit(scaled.wrapping_add(sum >> WEIGHT_BITS));
        }
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
    pub fn state(&self) -> Vec<W> {
        let words = |value: i64| W::fit(value.into());
        match &self.buffers {
            Buffers::Doubles(doubles) => doubles.state().map(words).collect(),
            Buffers::Lanes(lanes) => lanes.state().map(words).collect(),
            Buffers::Words(buffers) => buffers.clone(),
        }
    }

    /// Continues from a state.
    ///
    /// # Errors
    /// [`EncodeError::Length`], or [`EncodeError::State`] if it exceeds what `used` ≤ n steps can
    /// reach.
    pub fn restore(&mut self, used: u64, state: &[W]) -> Result<(), EncodeError> {
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
        let within = |(value, limit): (&W, &f64)| value.widen().unsigned_abs() as f64 <= *limit;
        if used > self.releases || !state.iter().zip(limits.iter().cycle()).all(within) {
            return Err(EncodeError::State);
        }
        self.used = used;
        // Only narrow words are in doubles and lanes.
        let narrow = state.iter().map(|value| value.widen() as i64);
        match &mut self.buffers {
            Buffers::Doubles(doubles) => doubles.restore(narrow),
            Buffers::Lanes(lanes) => lanes.restore(narrow),
            Buffers::Words(buffers) => buffers.copy_from_slice(state),
        }
        Ok(())
    }
}

/// One pass, to be compiled for every generation of processors: the newer have shorter ways to
/// multiply.
struct Pass<'a, W, const M: usize> {
    encoder: &'a mut FixedEncoder<W>,
    item: &'a [i64],
    row: &'a mut [W],
}

impl<W: Word, const M: usize> WithSimd for Pass<'_, W, M> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        self.encoder.pass::<M>(self.item, self.row);
    }
}

/// Whether no coordinate exceeds the radius.
struct Within<'a> {
    item: &'a [i64],
    radius: i64,
}

impl Work for Within<'_> {
    type Output = bool;

    #[inline(always)]
    fn with<V: Four>(self, v: V) -> bool {
        let radius = v.words(&[self.radius; FOUR]);
        let mut signs = v.words(&[0; FOUR]);
        let (items, rest) = self.item.as_chunks();
        for item in items {
            signs = v.or(signs, excess(v, radius, item));
        }
        signs = v.or(signs, excess(v, radius, &padded(rest)));
        v.integers(signs).iter().all(|signs| *signs >= 0)
    }
}

/// R − x and R + x are both not negative just where |x| ≤ R. Where one of them wraps around, the
/// other is negative.
#[inline(always)]
fn excess<V: Four>(v: V, radius: V::Words, item: &[i64; FOUR]) -> V::Words {
    let item = v.words(item);
    v.or(v.subtract(radius, item), v.add(radius, item))
}

#[cfg(test)]
mod tests;
