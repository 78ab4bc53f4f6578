//! Rounded normal noise: round(2³⁰·N(0,1)) and ⌊2³⁰⁺ᶠ·N(0,1)⌋.
//!
//! **Law.** For each of the two samplers one real standard normal Z belongs to each address (the two do not share it). It is
//! revealed digit by digit, and only as far as asked: [`RoundedGaussian`] gives ⌊2³⁰Z + ½⌋, [`FineGaussian`] gives ⌊2³⁰⁺ᶠZ⌋.
//!
//! **Addresses.** Rounded: coordinate c reads word c mod 2 of the block at lane ⌊c/2⌋, domain 0. Fine: both words of the block at
//! lane c, domain 1. Extensions of both are at lane c.
//!
//! **Why it is private.** For an integer q, q + ⌊z+½⌋ = ⌊q+z+½⌋ and q + ⌊z⌋ = ⌊q+z⌋. Adding this noise to an integer
//! query is a function of the ideal Gaussian mechanism's output, so its exact Gaussian-DP parameter μ holds, in any
//! dimension and against adaptive streams.
//!
//! **Slack.** 2⁻¹¹² in total variation a draw: see the file `gaussian/attempt.rs`, where Z is made.
//!
//! **Speed.** 64 bits decide 99.7 % of the draws without a branch that depends on the value; the rest are decided
//! exactly with further bits from the domain-separated extension of the same address. **Time**, therefore, depends on the
//! value: every |Z| above 5.09 takes the longer way. Draw ahead of need where a clock could see it.

mod attempt;
mod cells;
mod gather;

use crate::NoiseError;
use crate::source::{Block, Domain, Source, split};
pub(crate) use attempt::Normal;
use attempt::{decide_fast, decide_fully};
use cells::Cells;

/// Upper bound on the total-variation distance between one draw and its stated law, given ideal bits: 2⁻¹¹².
pub(crate) const SLACK: f64 = 1.0 / (1_u128 << 112) as f64;

/// Blocks encrypted at a time: enough for the cipher's widest pipeline, small enough for the first-level cache.
const BATCH: usize = 64;

/// round(2^bits·N(0,1)) with round(z) = ⌊z+½⌋.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RoundedGaussian {
    bits: u32,
}

impl RoundedGaussian {
    /// The product's one noise: standard deviation 2³⁰. Privacy sets the scale of the data, never of the noise.
    pub const STANDARD: Self = Self { bits: 30 };

    /// Bound on a draw's total-variation distance from the law.
    pub const SLACK: f64 = SLACK;

    /// Standard deviation 2^bits, for tests at scales where the probability of every value can be computed.
    ///
    /// # Errors
    /// `bits` above 30: the first 64 bits of a draw do not reveal more digits.
    pub fn with_bits(bits: u32) -> Result<Self, NoiseError> {
        if bits > 30 {
            return Err(NoiseError::parameter("bits", bits, "0 to 30"));
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
        let mut blocks = [Block::default(); BATCH];
        let mut coordinate = first;
        let mut rest = out;
        // Two coordinates share a block; an odd start takes only the second half of its own.
        if coordinate % 2 == 1 && !rest.is_empty() {
            let word = source.words(node, coordinate / 2, Domain::Rounded)[1];
            rest[0] = self.round(digits_31(cells, source, node, coordinate, word));
            rest = &mut rest[1..];
            coordinate = coordinate.wrapping_add(1);
        }
        for batch in rest.chunks_mut(2 * BATCH) {
            let blocks = &mut blocks[..batch.len().div_ceil(2)];
            source.fill(node, coordinate / 2, Domain::Rounded, blocks);
            let (pairs, odd) = batch.as_chunks_mut::<2>();
            let draw = |at, word| self.round(digits_31(cells, source, node, at, word));
            for (pair, block) in pairs.iter_mut().zip(blocks.iter()) {
                let [first, second] = split(block);
                *pair = [draw(coordinate, first), draw(coordinate | 1, second)];
                coordinate = coordinate.wrapping_add(2);
            }
            if let ([last], Some(block)) = (odd, blocks.last()) {
                *last = draw(coordinate, split(block)[0]);
            }
        }
    }

    /// From ⌊2³¹Z⌋: ⌊2^bits·Z + ½⌋ = ⌊(⌊2^(bits+1)·Z⌋ + 1)/2⌋.
    #[inline]
    fn round(self, floor_31: i64) -> i64 {
        (floor_31 >> (30 - self.bits)).wrapping_add(1) >> 1
    }
}

#[inline]
fn digits_31(cells: &Cells, source: &Source, node: u64, coordinate: u32, word: u64) -> i64 {
    match decide_fast(cells, word) {
        Some(floor) => floor,
        None => exact_digits_31(cells, source, node, coordinate, word),
    }
}

#[cold]
#[inline(never)]
fn exact_digits_31(cells: &Cells, source: &Source, node: u64, coordinate: u32, word: u64) -> i64 {
    let low = source.extension(node, coordinate, Domain::Rounded, 0)[1];
    let normal = decide_fully(cells, [word, low], |block| {
        source.extension(node, coordinate, Domain::Rounded, block)
    });
    normal.floor(31) as i64
}

/// ⌊2^(30+f)·N(0,1)⌋: for mechanisms that keep f guard bits and drop them only after the noise is added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FineGaussian {
    guard_bits: u32,
}

impl FineGaussian {
    /// Bound on a draw's total-variation distance from the law.
    pub const SLACK: f64 = SLACK;

    /// The most guard bits whose draws fit an `i64`: |Z| < 16 makes 2^(34+f) ≤ 2⁶².
    pub const MAX_GUARD_BITS_I64: u32 = 28;

    /// Noise with `guard_bits` bits below the lattice of [`RoundedGaussian::STANDARD`].
    ///
    /// # Errors
    /// More than 64 guard bits.
    pub fn new(guard_bits: u32) -> Result<Self, NoiseError> {
        if guard_bits > 64 {
            return Err(NoiseError::parameter("guard bits", guard_bits, "0 to 64"));
        }
        Ok(Self { guard_bits })
    }

    /// Writes the noise of coordinates `first`, `first`+1, … of `node`.
    ///
    /// # Panics
    /// If the coordinates run past 2³².
    pub fn fill(self, source: &Source, node: u64, first: u32, out: &mut [i128]) {
        let cut = 65 - self.guard_bits;
        let join = |floor, low| (i128::from(floor) << 64 | i128::from(low)) >> cut;
        self.fill_with(source, node, first, out, join, |value| value);
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
            return Err(NoiseError::parameter(
                "guard bits of a 64-bit draw",
                self.guard_bits,
                "0 to 28",
            ));
        }
        let guard_bits = self.guard_bits;
        // What `fill` computes, without 128 bits: |⌊2³¹Z⌋| ≤ 2³⁵ leaves room for 28 more. Two shifts, because one by 65 is none.
        let join = |floor: i64, low: u64| {
            (floor << guard_bits >> 1) + (low >> 32 >> (33 - guard_bits)) as i64
        };
        self.fill_with(source, node, first, out, join, |value| value as i64);
        Ok(())
    }

    /// Draws every coordinate: put together by `join` from ⌊2³¹Z⌋ and the 64 digits that follow, or, where those do not decide, made from all digits.
    #[inline]
    fn fill_with<T>(
        self,
        source: &Source,
        node: u64,
        first: u32,
        out: &mut [T],
        join: impl Fn(i64, u64) -> T,
        convert: impl Fn(i128) -> T,
    ) {
        check_range(first, out.len());
        let cells = Cells::get();
        let mut blocks = [Block::default(); BATCH];
        let mut coordinate = first;
        for batch in out.chunks_mut(BATCH) {
            let blocks = &mut blocks[..batch.len()];
            source.fill(node, coordinate, Domain::Fine, blocks);
            for (value, block) in batch.iter_mut().zip(blocks.iter()) {
                let words = split(block);
                *value = match decide_fast(cells, words[0]) {
                    // The second word is the next 64 digits of |Z|, inverted when Z is negative because ⌊−x⌋ is the bitwise complement
                    // of ⌊x⌋ for an x that is no integer.
                    Some(floor) => join(floor, words[1] ^ (floor >> 63) as u64),
                    None => convert(self.draw_exactly(cells, source, node, coordinate, words)),
                };
                coordinate = coordinate.wrapping_add(1);
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn draw_exactly(
        self,
        cells: &Cells,
        source: &Source,
        node: u64,
        coordinate: u32,
        words: [u64; 2],
    ) -> i128 {
        let normal = decide_fully(cells, words, |block| {
            source.extension(node, coordinate, Domain::Fine, block)
        });
        normal.floor(30 + self.guard_bits)
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

    /// All guard bits reveal the same real number: fewer are a prefix of more, also where the exact path decided.
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
            if guard_bits <= 28 {
                let mut narrow = vec![0; finest.len()];
                law.fill_i64(&source, 1, 0, &mut narrow).unwrap();
                assert!(
                    narrow
                        .iter()
                        .zip(&coarse)
                        .all(|(n, c)| i128::from(*n) == *c)
                );
            }
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
        let mut out = [0];
        assert!(
            FineGaussian::new(29)
                .unwrap()
                .fill_i64(&source(), 0, 0, &mut out)
                .is_err()
        );
    }
}
