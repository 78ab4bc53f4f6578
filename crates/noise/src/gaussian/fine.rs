//! Noise with guard bits.

use super::attempt::decide_digits;
use super::batch::BATCH;
use super::cells::Cells;
use super::{SLACK, check_range};
use crate::NoiseError;
use crate::source::{Block, Domain, Source};
use hushstream_account::ParameterError;

/// ⌊2^(30+f)·N(0,1)⌋: for mechanisms that keep f guard bits and drop them only after the noise is
/// added.
///
/// ```
/// use hushstream_noise::{FineGaussian, Instance, Key, NoiseError, Source};
///
/// let source = Source::open(&Key::insecure_from_seed(1), Instance::from_bytes([0; 16]), 1);
/// let (mut coarse, mut fine) = ([0; 8], [0; 8]);
/// FineGaussian::new(0)?.fill(&source, 0, 0, &mut coarse);
/// FineGaussian::new(20)?.fill(&source, 0, 0, &mut fine);
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
                let digits = decide_digits(cells, *block, |block| {
                    source.extension(node, coordinate, Domain::Fine, block)
                });
                let all = u128::from(digits.magnitude) << 64 | u128::from(digits.low);
                // ⌊−x⌋ is the bitwise complement of ⌊x⌋ for an x that is no integer.
                *value = (all >> cut) as i128 ^ -i128::from(digits.negative);
                coordinate = coordinate.wrapping_add(1);
            }
        }
    }
}
