//! Rounded normal noise: round(2³⁰·N(0,1)) and ⌊2³⁰⁺ᶠ·N(0,1)⌋.
//!
//! **Law.** For each of the two samplers one real standard normal Z belongs to each address (the
//! two do not share it). Its digits are computed only as far as needed:
//! [`RoundedGaussian`] gives ⌊2³⁰Z + ½⌋, [`FineGaussian`] gives ⌊2³⁰⁺ᶠZ⌋.
//!
//! **Addresses.** Rounded: coordinate c reads word c mod 2 of the block at lane ⌊c/2⌋, domain 0.
//! Fine: both words of the block at lane c, domain 1. Extensions of both are at lane c.
//!
//! **Why it is private.** For an integer q, q + ⌊z+½⌋ = ⌊q+z+½⌋ and q + ⌊z⌋ = ⌊q+z⌋. Adding this
//! noise to an integer query is a function of the ideal Gaussian mechanism's output, so its exact
//! Gaussian-DP parameter μ holds, in any dimension and against adaptive streams.
//!
//! **Slack.** 2⁻¹¹² in total variation per draw; the proof is in `gaussian/attempt.rs`.
//!
//! **Speed.** 64 bits decide 99.7 % of the draws without a branch that depends on the value, many
//! at a time; the rest are decided exactly with further bits from the domain-separated extension of
//! the same address: nearly all are rejected by the same 64 bits, and two more words are the next
//! attempt. **Time**, therefore, depends on the value: every |Z| above 5.09 takes the longer path.
//! Where an observer could time a draw, draw ahead of need.

mod attempt;
mod batch;
mod cells;
mod fine;
mod gather;

pub use fine::FineGaussian;
pub use gather::{LISTED, Scattered};

use crate::NoiseError;
use crate::source::{Block, Domain, Source};
pub(crate) use attempt::Normal;
use attempt::{decide_digits, decide_fully};
use batch::{BATCH, decide, round};
use cells::Cells;
use hushstream_account::ParameterError;

/// Upper bound on the total-variation distance between one draw and its stated law, given ideal
/// bits: 2⁻¹¹².
pub(crate) const SLACK: f64 = 1.0 / (1_u128 << 112) as f64;

/// Blocks that [`RoundedGaussian::fill_nodes`] encrypts and decides together: few enough for the
/// first-level cache, and a multiple of 8, 30 and 64, the widths of parallel encryption.
const BLOCKS: usize = 960;
/// The most scratch blocks that a parallel encryption uses after them.
const BEHIND: usize = 64;

/// round(2^bits·N(0,1)) with round(z) = ⌊z+½⌋.
///
/// ```
/// use hushstream_noise::{Instance, Key, RoundedGaussian, Source};
///
/// let source = Source::open(&Key::insecure_from_seed(1), Instance::from_bytes([0; 16]), 1);
/// let mut noise = [0; 1000];
/// RoundedGaussian::STANDARD.fill(&source, 0, 0, &mut noise);
/// let mean_square = noise.iter().map(|&z| (z as f64).powi(2)).sum::<f64>() / 1000.0;
/// let deviation = mean_square.sqrt() / (1_u64 << 30) as f64;
/// assert!((deviation - 1.0).abs() < 0.1);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoundedGaussian {
    bits: u32,
}

impl RoundedGaussian {
    /// Standard deviation 2³⁰, the only scale in production: a privacy parameter scales the data,
    /// never the noise.
    pub const STANDARD: Self = Self { bits: 30 };

    /// Bound on a draw's total-variation distance from the law.
    pub const SLACK: f64 = SLACK;

    /// Standard deviation 2^bits, for tests at scales where the probability of every value can be
    /// computed.
    ///
    /// # Errors
    /// `bits` above 30: the first 64 bits of a draw do not reveal more digits.
    pub fn with_bits(bits: u32) -> Result<Self, NoiseError> {
        if bits > 30 {
            return Err(ParameterError::new("bits", bits, "0 to 30").into());
        }
        Ok(Self { bits })
    }

    /// Writes the noise of coordinates `first`, `first`+1, … of `node`.
    ///
    /// # Panics
    /// If the coordinates run past 2³².
    pub fn fill(self, source: &Source, node: u64, first: u32, out: &mut [i64]) {
        check_range(first, out.len());
        let cells = Cells::get();
        let mut blocks = [Block::default(); BATCH + 1];
        let mut coordinate = first;
        for batch in out.chunks_mut(2 * BATCH) {
            // Two coordinates share a block; an odd start takes only the second half of its own.
            let skipped = (coordinate % 2) as usize;
            let used = (skipped + batch.len()).div_ceil(2);
            source.fill(node, coordinate / 2, Domain::Rounded, &mut blocks, used);
            let words = &blocks.as_flattened()[skipped..];
            self.decide(cells, words, batch, source, |place| {
                (node, coordinate + place as u32)
            });
            coordinate = coordinate.wrapping_add(2 * BATCH as u32);
        }
    }

    /// Writes the noise of all coordinates of each node, one node after the other; `out` holds an
    /// equal number of coordinates for each node.
    ///
    /// The noise of a node is the same as from [`RoundedGaussian::fill`]. Several nodes together
    /// cost less than one by one: the cipher's pipeline stays full, and addresses, words and draws
    /// share one buffer.
    ///
    /// # Panics
    /// If `out` cannot be divided equally, or a node would have more than 2³² coordinates.
    pub fn fill_nodes(self, source: &Source, nodes: &[u64], out: &mut [i64]) {
        let dimension = out.len() / nodes.len().max(1);
        assert_eq!(
            out.len(),
            dimension * nodes.len(),
            "as many coordinates for each node"
        );
        if out.is_empty() {
            return;
        }
        assert!(dimension as u64 <= 1 << 32, "at most 2^32 coordinates");
        // Two coordinates share a block. With an odd number the last one uses half a block, and
        // `out` has no room for the other half.
        if !dimension.is_multiple_of(2) {
            for (node, out) in nodes.iter().zip(out.chunks_exact_mut(dimension)) {
                self.fill(source, *node, 0, out);
            }
            return;
        }
        let (cells, lanes) = (Cells::get(), dimension / 2);
        for first in (0..out.len() / 2).step_by(BLOCKS) {
            let rest = &mut out[2 * first..];
            let wanted = BLOCKS.min(rest.len() / 2);
            let room = (BLOCKS + BEHIND).min(rest.len() / 2);
            let words: &mut [u64] = bytemuck::cast_slice_mut(&mut rest[..2 * room]);
            let blocks: &mut [Block] = words.as_chunks_mut().0;
            source.fill_nodes((nodes, lanes), first, Domain::Rounded, blocks, wanted);
            for (batch, out) in rest[..2 * wanted].chunks_mut(BATCH).enumerate() {
                let mut words = [0; BATCH];
                words[..out.len()].copy_from_slice(bytemuck::cast_slice(out));
                self.decide(cells, &words, out, source, |place| {
                    let place = 2 * first + batch * BATCH + place;
                    (nodes[place / dimension], (place % dimension) as u32)
                });
            }
        }
    }

    /// Writes the draws of words; `address` names node and coordinate of each.
    #[inline]
    fn decide(
        self,
        cells: &Cells,
        words: &[u64],
        out: &mut [i64],
        source: &Source,
        address: impl Fn(usize) -> (u64, u32),
    ) {
        decide(cells, words, out, 30 - self.bits, |place, word| {
            let (node, coordinate) = address(place);
            self.draw_exactly(cells, source, node, coordinate, word)
        });
    }

    #[cold]
    #[inline(never)]
    fn draw_exactly(
        self,
        cells: &Cells,
        source: &Source,
        node: u64,
        coordinate: u32,
        word: u64,
    ) -> i64 {
        let low = source.extension(node, coordinate, Domain::Rounded, 0)[1];
        let digits = decide_digits(cells, [word, low], |block| {
            source.extension(node, coordinate, Domain::Rounded, block)
        });
        round(digits.magnitude, digits.negative.into(), 30 - self.bits)
    }
}

/// One normal with all its 199 binary digits, for samplers built on normals.
pub(crate) fn full_normal(source: &Source, node: u64, coordinate: u32, domain: Domain) -> Normal {
    let words = source.words(node, coordinate, domain);
    decide_fully(Cells::get(), words, |block| {
        source.extension(node, coordinate, domain, block)
    })
}

fn check_range(first: u32, len: usize) {
    assert!(
        len as u64 <= (1 << 32) - u64::from(first),
        "a node has at most 2^32 coordinates"
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Instance, Key};

    fn source() -> Source {
        Source::open(
            &Key::insecure_from_seed(11),
            Instance::from_bytes([1; 16]),
            2,
        )
    }

    #[test]
    fn any_range_equals_the_whole() {
        let source = source();
        let mut whole = [0; 700];
        RoundedGaussian::STANDARD.fill(&source, 3, 0, &mut whole);
        let fine = FineGaussian::new(16).unwrap();
        let mut fine_whole = [0; 700];
        fine.fill(&source, 3, 0, &mut fine_whole);
        for (first, len) in [
            (0, 1),
            (1, 1),
            (1, 2),
            (5, 57),
            (7, 25),
            (3, 200),
            (130, 131),
            (699, 1),
            (5, 0),
        ] {
            let mut part = vec![0; len];
            RoundedGaussian::STANDARD.fill(&source, 3, first as u32, &mut part);
            assert_eq!(part, whole[first..first + len]);
            let mut part = vec![0; len];
            fine.fill(&source, 3, first as u32, &mut part);
            assert_eq!(part, fine_whole[first..first + len]);
        }
    }

    #[test]
    fn the_last_coordinate_can_be_read() {
        let source = source();
        let mut pair = [0; 2];
        RoundedGaussian::STANDARD.fill(&source, 3, u32::MAX - 1, &mut pair);
        let mut last = [0; 1];
        RoundedGaussian::STANDARD.fill(&source, 3, u32::MAX, &mut last);
        assert_eq!(last[0], pair[1]);
    }

    /// Draws with different guard bits are prefixes of one real number, also on the exact path.
    #[test]
    fn coarser_draws_are_prefixes_of_finer_ones() {
        let source = source();
        let mut finest = vec![0; 20_000];
        FineGaussian::new(64)
            .unwrap()
            .fill(&source, 1, 0, &mut finest);
        for guard_bits in [0, 1, 16, 28, 63] {
            let mut coarse = vec![0; finest.len()];
            let law = FineGaussian::new(guard_bits).unwrap();
            law.fill(&source, 1, 0, &mut coarse);
            assert!(
                coarse
                    .iter()
                    .zip(&finest)
                    .all(|(c, f)| *c == f >> (64 - guard_bits))
            );
        }
        let mut rounded = vec![0; 20_000];
        let mut small = rounded.clone();
        RoundedGaussian::STANDARD.fill(&source, 1, 0, &mut rounded);
        RoundedGaussian::with_bits(4)
            .unwrap()
            .fill(&source, 1, 0, &mut small);
        // Rounding twice may differ from rounding once by one, never by more.
        let apart = |(s, r): (&i64, &i64)| (((r >> 25) + 1) >> 1) - s;
        assert!(
            small
                .iter()
                .zip(&rounded)
                .all(|pair| apart(pair).abs() <= 1)
        );
    }

    #[test]
    fn parameters_out_of_range_are_refused() {
        let message = RoundedGaussian::with_bits(31).unwrap_err().to_string();
        assert_eq!(message, "bits = 31 is not allowed; allowed: 0 to 30");
        assert!(FineGaussian::new(65).is_err());
    }

    /// Dimensions around the number of blocks that are encrypted together; enough draws for the
    /// rare exact path.
    #[test]
    fn several_nodes_equal_single_nodes() {
        let key = Key::insecure_from_seed(4);
        let source = Source::open(&key, Instance::from_bytes([8; 16]), 6);
        let law = RoundedGaussian::STANDARD;
        for dimension in [
            0, 1, 2, 3, 4, 6, 54, 55, 90, 256, 270, 958, 960, 962, 1918, 1920, 1922, 2000, 4000,
        ] {
            for count in [0, 1, 2, 5, 33] {
                let nodes: Vec<u64> = (0..count).map(|i| (i * 977 + 3) << (i % 40)).collect();
                let mut all = vec![0; dimension * nodes.len()];
                law.fill_nodes(&source, &nodes, &mut all);
                let mut one = vec![0; dimension];
                for (node, all) in nodes.iter().zip(all.chunks(dimension.max(1))) {
                    law.fill(&source, *node, 0, &mut one);
                    assert_eq!(one, all, "{dimension} {count}");
                }
            }
        }
    }
}
