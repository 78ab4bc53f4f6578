//! One standard normal from lazily read bits.
//!
//! **Method** (rejection from a staircase). Propose |Z| = (j + V)/128: the cell j with probability ∝ e^(−z²/2) at its left
//! edge z = j/128, the position V uniform on [0, 1). Accept with probability e^(−x), x = V(2j + V)/2¹⁵, which is the
//! ratio of the normal density at (j+V)/128 to the density at the edge; so accepted magnitudes are half-normal. A fair
//! sign follows. About 0.3 % are rejected, and the next attempt starts from fresh bits.
//!
//! **Bits.** An attempt reads two 64-bit words, `first` and `low`, and three 128-bit extensions e0, e1, e2 (first word high):
//!
//! | uniform number | its bits, most significant first | |
//! |---|---|---|
//! | column of the alias table | 11 bits: `first` 53…63 | |
//! | place in the column | 15 bits: `first` 38…52, then the upper 102 of e0 | 117 in all |
//! | V | 24 bits: `first` 14…37, then `low`, then the upper 40 of e1 | 128 in all |
//! | sign | `first` bit 13 | 1 is negative |
//! | U, to compare with e^(−x) | 13 bits: `first` 0…12, then the upper 115 of e2 | 128 in all |
//!
//! Attempt k = 0, 1, … takes its words from extension block 4k and e0, e1, e2 from blocks 4k+1, 4k+2, 4k+3; for k = 0 the
//! words come from the main block of the address instead (for the rounded law only `first` does, and `low` is the second word of
//! extension block 0). Further digits of V, when
//! all 192 are asked for, are the lower 64 bits of e1.
//!
//! **Slack**, in total variation: cells 2⁻¹¹⁷ (`cells.rs`), everything beyond 16 standard deviations 2⁻¹⁸⁷, e^(−x)
//! and x known to 2⁻¹²⁴ (below), digits of V after the 128th ignored by the decision 2⁻¹³¹, and 32 attempts at the
//! most (0.0032³² < 2⁻²⁶⁰): in all below 2⁻¹¹⁶ an attempt, so below 2⁻¹¹² a draw.

use super::cells::{COLUMN, Cells, FAST_BITS};
use crate::exponential::{exp_minus_q128, multiply_q128};
use dashu_int::UBig;

/// After so many rejections the last proposal stands; its probability is part of the slack.
const ATTEMPTS: u32 = 32;

/// A normal with 199 binary digits after the point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Normal {
    negative: bool,
    cell: u64,
    /// V's first 128 binary digits.
    position: u128,
    /// V's next 64.
    further: u64,
}

impl Normal {
    /// The first 95.
    fn digits(self) -> Digits {
        Digits {
            negative: self.negative,
            magnitude: self.cell << 24 | (self.position >> 104) as u64,
            low: (self.position >> 40) as u64,
        }
    }

    /// Whether Z < 0.
    pub(crate) fn is_negative(self) -> bool {
        self.negative
    }

    /// ⌊2¹⁹⁹·|Z|⌋.
    pub(crate) fn magnitude_199(self) -> UBig {
        (UBig::from(self.cell) << 192)
            + (UBig::from(self.position) << 64)
            + UBig::from(self.further)
    }
}

/// A normal with 95 binary digits after the point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Digits {
    pub(super) negative: bool,
    /// ⌊2³¹|Z|⌋.
    pub(super) magnitude: u64,
    /// The next 64 digits of |Z|.
    pub(super) low: u64,
}

/// What 64 bits say about a draw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fast {
    /// Whether they decide cell and acceptance; the rest means nothing otherwise.
    pub(super) decided: bool,
    /// ⌊2³¹|Z|⌋.
    pub(super) magnitude: u64,
    /// 1 for a negative Z, or 0.
    pub(super) negative: u64,
}

/// Whether `first` alone decides the cell and acceptance, whatever the bits not yet read turn out to be; `entry` is the table's for its column.
///
/// Accepted here means U < e^(−x) for certain: U < (u+1)/2¹³ for the 13 bits u, and e^(−x) ≥ 1 − x with
/// x ≤ (2j+1)(v+1)/2³⁹ for the 24 bits v. Both sides times 2³⁹:
#[inline(always)]
pub(super) fn decide_from(entry: u32, first: u64) -> Fast {
    let (cell, settled) = cell_of(entry, first);
    let v = position_of(first);
    // At most 2³⁹ + 2³⁶: nothing wraps, and nothing need be looked at on the way.
    let density = (2 * cell + 1).wrapping_mul(v + 1);
    let certain = ((uniform_of(first) + 1) << 26).wrapping_add(density) <= 1 << 39;
    Fast {
        decided: settled & certain,
        magnitude: cell << 24 | v,
        negative: (first >> 13) & 1,
    }
}

/// Whether `first` alone decides the cell and *rejection*, whatever the bits not yet read turn out to be.
///
/// V ≥ v/2²⁴ for the 24 bits v, so x ≥ X/2⁶³ with X = v·(2j·2²⁴ + v) < 2⁶¹, and e^(−x) ≤ 1 − X/2⁶³ + (X/2⁶³)²/2, whose last term is X²/2⁶⁴ units
/// of 2⁻⁶³. Rounded up it is at most one unit more than rounded down; a second unit covers the 2⁻¹²⁴ by which [`acceptance`] may exceed the
/// truth. U ≥ u/2¹³ for the 13 bits u. So where u·2⁵⁰ reaches this bound, the full comparison finds U not below e^(−x) either.
fn rejects(entry: u32, first: u64) -> bool {
    let (cell, settled) = cell_of(entry, first);
    let v = position_of(first);
    let x = v * (cell << 25 | v);
    let square = ((u128::from(x) * u128::from(x)) >> 64) as u64;
    settled && uniform_of(first) << 50 >= (1 << 63) - x + square + 2
}

/// The proposed cell, and whether the 15 bits of the place settle it.
#[inline(always)]
fn cell_of(entry: u32, first: u64) -> (u64, bool) {
    let threshold = u64::from(entry >> 16);
    let place = (first >> 38) & ((1 << FAST_BITS) - 1);
    let cell = if place < threshold {
        first >> 53
    } else {
        u64::from(entry & 0xffff)
    };
    (cell, place != threshold)
}

/// The first 24 bits of V.
#[inline(always)]
fn position_of(first: u64) -> u64 {
    (first >> 14) & 0xff_ffff
}

/// The first 13 bits of U.
#[inline(always)]
fn uniform_of(first: u64) -> u64 {
    first & 0x1fff
}

/// The first digits of the draw that [`decide_fully`] makes from the same bits. An attempt's own two words nearly always suffice for them, because they
/// decide nearly every rejection and hold all these digits.
pub(super) fn decide_digits(
    cells: &Cells,
    words: [u64; 2],
    extension: impl Fn(u32) -> [u64; 2],
) -> Digits {
    let mut words = words;
    let mut attempt = 0;
    loop {
        let entry = cells.entry(words[0]);
        let fast = decide_from(entry, words[0]);
        if fast.decided {
            return Digits {
                negative: fast.negative == 1,
                magnitude: fast.magnitude,
                low: words[1],
            };
        }
        let is_last = attempt + 1 == ATTEMPTS;
        if is_last || !rejects(entry, words[0]) {
            let (normal, accepted) = propose(cells, words, extra_bits(attempt, &extension));
            if accepted || is_last {
                return normal.digits();
            }
        }
        attempt += 1;
        words = extension(4 * attempt);
    }
}

/// The draw at an address whose first two words are given, by as many full attempts as it takes.
pub(super) fn decide_fully(
    cells: &Cells,
    words: [u64; 2],
    extension: impl Fn(u32) -> [u64; 2],
) -> Normal {
    let mut words = words;
    let mut attempt = 0;
    loop {
        let (normal, accepted) = propose(cells, words, extra_bits(attempt, &extension));
        attempt += 1;
        if accepted || attempt == ATTEMPTS {
            return normal;
        }
        words = extension(4 * attempt);
    }
}

/// e0, e1 and e2 of an attempt.
fn extra_bits(attempt: u32, extension: impl Fn(u32) -> [u64; 2]) -> [u128; 3] {
    [1, 2, 3].map(|block| {
        let [high, low] = extension(4 * attempt + block);
        u128::from(high) << 64 | u128::from(low)
    })
}

/// One attempt on all its bits.
fn propose(cells: &Cells, [first, low]: [u64; 2], [e0, e1, e2]: [u128; 3]) -> (Normal, bool) {
    let column = (first >> 53) as usize;
    let head = u128::from(first >> 38) & ((1 << FAST_BITS) - 1);
    let place = head << 102 | e0 >> 26;
    debug_assert!(place < COLUMN);
    let cell = cells.choose(column, place) as u64;
    let position = u128::from((first >> 14) & 0xff_ffff) << 104 | u128::from(low) << 40 | e1 >> 88;
    let uniform = u128::from(first & 0x1fff) << 115 | e2 >> 13;
    let normal = Normal {
        negative: (first >> 13) & 1 == 1,
        cell,
        position,
        further: e1 as u64,
    };
    (normal, uniform < acceptance(cell, position))
}

/// e^(−x) in Q128 for x = V(2j+V)/2¹⁵, which is at most 1/8: within 2⁻¹²⁴, of which x contributes two units (rounded
/// down twice).
fn acceptance(cell: u64, position: u128) -> u128 {
    let twice = 2 * u128::from(cell);
    let linear = (position >> 15) * twice + (((position & 0x7fff) * twice) >> 15);
    let square = multiply_q128(position, position) >> 15;
    exp_minus_q128(linear + square)
}

#[cfg(test)]
mod tests {
    use super::super::cells::CELLS;
    use super::*;
    use crate::exponential::exp_minus_bounds;
    use proptest::prelude::*;

    impl Normal {
        /// ⌊2^bits·Z⌋ for bits from 7 to 120. The complement of ⌊x⌋ is ⌊−x⌋: Z is an integer multiple with probability 0.
        fn floor(self, bits: u32) -> i128 {
            debug_assert!((7..=120).contains(&bits));
            let digits = bits - 7;
            let position = if digits == 0 {
                0
            } else {
                self.position >> (128 - digits)
            };
            let magnitude = (u128::from(self.cell) << digits | position) as i128;
            if self.negative { !magnitude } else { magnitude }
        }
    }

    #[test]
    fn acceptance_is_the_density_ratio() {
        let mut position = 0x0123_4567_89ab_cdef_1357_9bdf_0246_8ace_u128;
        for cell in (0..CELLS as u64)
            .step_by(31)
            .chain([0, 1, CELLS as u64 - 1])
        {
            for position in [0, 1, position, u128::MAX] {
                let v = UBig::from(position);
                let x = &v * ((UBig::from(2 * cell) << 128) + &v); // over 2^(256+15)
                let (low, high) = exp_minus_bounds(&x, 271, 128);
                let ours = UBig::from(acceptance(cell, position));
                let error = UBig::from(16_u8); // 2⁻¹²⁴
                assert!(&ours + &error >= low && ours <= high + error, "cell {cell}");
            }
            position = position.wrapping_mul(0x5851_f42d_4c95_7f2d_1405_7b7e_f767_814f);
        }
    }

    fn decide_fast(cells: &Cells, first: u64) -> Option<i64> {
        let fast = decide_from(cells.entry(first), first);
        let floor = fast.magnitude as i64 ^ -(fast.negative as i64);
        fast.decided.then_some(floor)
    }

    fn rejects_fast(cells: &Cells, first: u64) -> bool {
        rejects(cells.entry(first), first)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        /// What 64 bits reject, all bits reject, whatever the others are: also the last that could be accepted, V all zeros and U all zeros behind them.
        #[test]
        fn fast_rejections_stand(word: u64, below in 0..64_u64, low: u64, e0: u128, e1: u128, e2: u128) {
            let cells = Cells::get();
            // U so large that a rejection is about as likely as not.
            let first = word | 0x1fff ^ below;
            if rejects_fast(cells, first) {
                prop_assert!(decide_fast(cells, first).is_none());
                for extra in [[e0, e1, e2], [0; 3], [u128::MAX; 3]] {
                    for low in [low, 0, u64::MAX] {
                        prop_assert!(!propose(cells, [first, low], extra).1);
                    }
                }
            }
        }

        /// The short way makes the long way's draws, whatever the bits: large U here, so that several attempts are made.
        #[test]
        fn digits_are_those_of_the_full_draw(words: [u64; 2], bits: [[u64; 2]; 12], far in 0..3_u32) {
            let cells = Cells::get();
            let hard = |[first, low]: [u64; 2]| [first | 0x1fff & (0x1fff << (3 * far)), low];
            let extension = |block: u32| match bits.get(block as usize) {
                Some(words) if block.is_multiple_of(4) => hard(*words),
                Some(words) => *words,
                None => [u64::from(block).wrapping_mul(0x9e37_79b9_7f4a_7c15), 5],
            };
            let full = decide_fully(cells, hard(words), extension);
            prop_assert_eq!(decide_digits(cells, hard(words), extension), full.digits());
        }

        /// What the fast path decides on 64 bits, the full path decides on all of them, whatever the others are.
        #[test]
        fn fast_decisions_stand(first: u64, low: u64, e0: u128, e1: u128, e2: u128) {
            let cells = Cells::get();
            if let Some(floor) = decide_fast(cells, first) {
                for extra in [[e0, e1, e2], [0; 3], [u128::MAX; 3]] {
                    for low in [low, 0, u64::MAX] {
                        let (normal, accepted) = propose(cells, [first, low], extra);
                        prop_assert!(accepted);
                        prop_assert_eq!(normal.floor(31), i128::from(floor));
                    }
                }
            }
        }
    }

    #[test]
    fn fast_decisions_stand_at_the_edge_of_certainty() {
        let cells = Cells::get();
        let mut undecided = 0;
        for column in 0..CELLS as u64 {
            for v in [0, 1, 0x7f_ffff, 0xff_ffff] {
                // The largest u that is still certain for this cell, and its successor.
                for u in 0..1 << 13 {
                    let first = column << 53 | v << 14 | u;
                    if decide_fast(cells, first).is_none() {
                        undecided += 1;
                        if u > 0 && decide_fast(cells, first - 1).is_some() {
                            let (_, accepted) =
                                propose(cells, [first - 1, u64::MAX], [0, u128::MAX, u128::MAX]);
                            assert!(accepted, "column {column} v {v} u {u}");
                        }
                        break;
                    }
                }
            }
        }
        assert!(undecided > CELLS);
    }

    #[test]
    fn fast_rejections_stand_at_the_edge_of_certainty() {
        let cells = Cells::get();
        let mut rejected = 0;
        for column in 0..CELLS as u64 {
            // Where the head of the place is the threshold's, the cell is open, and nothing may be rejected.
            let head = u64::from(cells.fast[column as usize] >> 16);
            let largest = column << 53 | head << 38 | 0x3f_ffff_dfff;
            assert!(head == 1 << FAST_BITS || !rejects_fast(cells, largest));
            for place in [0, 0x7fff] {
                for u in [0x1fff, 0x1ffe, 0x1ff0, 0x1f80, 0x1e00] {
                    let word = |v: u64| column << 53 | place << 38 | v << 14 | u;
                    // The smallest v that is rejected for certain: x grows with it.
                    let (mut below, mut v) = (0, 0xff_ffff);
                    while below < v {
                        let middle = (below + v) / 2;
                        if rejects_fast(cells, word(middle)) {
                            v = middle;
                        } else {
                            below = middle + 1;
                        }
                    }
                    if rejects_fast(cells, word(v)) {
                        // V and U as small as they can still turn out, whatever the place.
                        for e0 in [0, u128::MAX] {
                            let (_, accepted) = propose(cells, [word(v), 0], [e0, 0, 0]);
                            assert!(!accepted, "column {column} place {place} v {v} u {u}");
                        }
                        rejected += 1;
                    }
                }
            }
        }
        assert!(rejected > 3 * CELLS, "{rejected}");
    }

    #[test]
    fn attempts_end() {
        // Bits that are always rejected: U all ones, V all ones in a far cell.
        let cells = Cells::get();
        let reads = std::cell::Cell::new(0);
        let normal = decide_fully(cells, [u64::MAX; 2], |_| {
            reads.set(reads.get() + 1);
            [u64::MAX; 2]
        });
        assert_eq!(reads.get(), 4 * ATTEMPTS - 1);
        assert!(normal.is_negative());
        // The short way sees each rejection in the first word, but not the last attempt's, which stands.
        reads.set(0);
        let digits = decide_digits(cells, [u64::MAX; 2], |_| {
            reads.set(reads.get() + 1);
            [u64::MAX; 2]
        });
        assert_eq!(digits, normal.digits());
        assert_eq!(reads.get(), ATTEMPTS - 1 + 3);
    }
}
