//! Noise with guard bits.

use super::attempt::{Digits, decide_digits};
use super::batch::{BATCH, Finish, decide_many};
use super::cells::Cells;
use super::{SLACK, check_range, finish_one};
use crate::NoiseError;
use crate::source::{Block, Domain, Source};
use hushstream_account::ParameterError;
use hushstream_four::{FOUR, Four};

/// ⌊2^(30+f)·N(0,1)⌋: for mechanisms that keep f guard bits and drop them only after the noise is
/// added.
///
/// ```
/// use hushstream_noise::{FineGaussian, Instance, Key, NoiseError, Source};
///
/// let source = Source::open(&Key::insecure_from_seed(1), Instance::from_bytes([0; 16]), 1);
/// let (mut coarse, mut fine) = ([0; 8], [0; 8]);
/// FineGaussian::new(0)?.fill_i64(&source, 0, 0, &mut coarse)?;
/// FineGaussian::new(20)?.fill_i64(&source, 0, 0, &mut fine)?;
/// // Guard bits are further digits of the same number.
/// assert_eq!(fine.map(|digits| digits >> 20), coarse);
/// # Ok::<(), NoiseError>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FineGaussian {
    guard_bits: u32,
}

impl FineGaussian {
    /// Bound on a draw's total-variation distance from the law.
    pub const SLACK: f64 = SLACK;

    /// The most guard bits whose draws fit an `i64`: |Z| < 16 makes 2^(34+f) ≤ 2⁶².
    pub const MAX_GUARD_BITS_I64: u32 = 28;

    /// Noise with `guard_bits` bits below the lattice of
    /// [`RoundedGaussian::STANDARD`](super::RoundedGaussian::STANDARD).
    ///
    /// # Errors
    /// More than 64 guard bits.
    pub fn new(guard_bits: u32) -> Result<Self, NoiseError> {
        if guard_bits > 64 {
            return Err(ParameterError::new("guard bits", guard_bits, "0 to 64").into());
        }
        Ok(Self { guard_bits })
    }

    /// Writes the noise of coordinates `first`, `first`+1, … of `node`.
    ///
    /// # Panics
    /// If the coordinates run past 2³².
    pub fn fill(self, source: &Source, node: u64, first: u32, out: &mut [i128]) {
        check_range(first, out.len());
        let cells = Cells::get();
        let cut = 65 - self.guard_bits;
        let mut blocks = [Block::default(); BATCH];
        let mut coordinate = first;
        for batch in out.chunks_mut(BATCH) {
            source.fill(node, coordinate, Domain::Fine, &mut blocks, batch.len());
            for (value, block) in batch.iter_mut().zip(&blocks) {
                let digits = fine_digits(cells, source, node, coordinate, *block);
                let all = u128::from(digits.magnitude) << 64 | u128::from(digits.low);
                // ⌊−x⌋ is the bitwise complement of ⌊x⌋ for an x that is no integer.
                *value = (all >> cut) as i128 ^ -i128::from(digits.negative);
                coordinate = coordinate.wrapping_add(1);
            }
        }
    }

    /// As [`FineGaussian::fill`], in 64 bits.
    ///
    /// # Errors
    /// More than [`FineGaussian::MAX_GUARD_BITS_I64`] guard bits.
    ///
    /// # Panics
    /// If the coordinates run past 2³².
    pub fn fill_i64(
        self,
        source: &Source,
        node: u64,
        first: u32,
        out: &mut [i64],
    ) -> Result<(), NoiseError> {
        if self.guard_bits > Self::MAX_GUARD_BITS_I64 {
            return Err(ParameterError::new(
                "guard bits of a 64-bit draw",
                self.guard_bits,
                "0 to 28",
            )
            .into());
        }
        check_range(first, out.len());
        let cells = Cells::get();
        let mut blocks = [Block::default(); BATCH];
        let mut coordinate = first;
        for batch in out.chunks_mut(BATCH) {
            source.fill(node, coordinate, Domain::Fine, &mut blocks, batch.len());
            decide_many(cells, &blocks, batch, self, |place, _| {
                let coordinate = coordinate + place as u32;
                finish_one(
                    self,
                    fine_digits(cells, source, node, coordinate, blocks[place]),
                )
            });
            coordinate = coordinate.wrapping_add(BATCH as u32);
        }
        Ok(())
    }
}

impl Finish for FineGaussian {
    /// The draw of `fill` in 64 bits: ⌊2³¹|Z|⌋ < 2³⁵ leaves room for 28 more.
    #[inline(always)]
    fn finish<V: Four>(self, v: V, magnitude: V::Words, low: V::Words, sign: V::Words) -> V::Words {
        let bits = |bits: u32| v.words(&[bits.into(); FOUR]);
        let high = v.right_by::<1>(v.left(magnitude, bits(self.guard_bits)));
        // Two shifts, because the distance may exceed 63.
        let low = v.right(v.right_by::<32>(low), bits(33 - self.guard_bits));
        v.xor(v.or(high, low), sign)
    }
}

#[cold]
#[inline(never)]
fn fine_digits(
    cells: &Cells,
    source: &Source,
    node: u64,
    coordinate: u32,
    words: [u64; 2],
) -> Digits {
    decide_digits(cells, words, |block| {
        source.extension(node, coordinate, Domain::Fine, block)
    })
}
