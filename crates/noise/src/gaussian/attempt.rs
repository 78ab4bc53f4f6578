//! One standard normal from lazily read bits.
//!
//! **Method** (rejection from a staircase). Propose |Z| = (j + V)/128: the cell j with
//! probability ∝ e^(−z²/2) at its left edge z = j/128, the position V uniform on [0, 1). Accept
//! with probability e^(−x), x = V(2j + V)/2¹⁵, which is the ratio of the normal density at
//! (j+V)/128 to the density at the edge; so accepted magnitudes are half-normal. A fair sign
//! follows. About 0.3 % are rejected, and the next attempt starts from fresh bits.
//!
//! **Bits.** An attempt reads two 64-bit words, `first` and `low`, and three 128-bit extensions e0,
//! e1, e2 (first word high):
//!
//! | uniform number | its bits, most significant first | |
//! |---|---|---|
//! | column of the alias table | 11 bits: `first` 53…63 | |
//! | place in the column | 15 bits: `first` 38…52, then the upper 102 of e0 | 117 in all |
//! | V | 24 bits: `first` 14…37, then `low`, then the upper 40 of e1 | 128 in all |
//! | sign | `first` bit 13 | 1 is negative |
//! | U, to compare with e^(−x) | 13 bits: `first` 0…12, then the upper 115 of e2 | 128 in all |
//!
//! Attempt k = 0, 1, … takes its words from extension block 4k and e0, e1, e2 from blocks 4k+1,
//! 4k+2, 4k+3; for k = 0 the words come from the main block of the address instead (for the rounded
//! law only `first` does, and `low` is the second word of extension block 0). The lower 64 bits
//! of e1 are the last digits of V, for draws that need all 192.
//!
//! **Slack**, in total variation: cells 2⁻¹¹⁷ (`cells.rs`), everything beyond 16 standard
//! deviations 2⁻¹⁸⁷, e^(−x) and x known to 2⁻¹²⁴ (below), digits of V after the 128th ignored by
//! the decision 2⁻¹³¹, and 32 attempts at the most (0.0032³² < 2⁻²⁶⁰): in all below 2⁻¹¹⁶ per
//! attempt, so below 2⁻¹¹² per draw.

use super::cells::{COLUMN, Cells, FAST_BITS};
use crate::exponential::{exp_minus_q128, multiply_q128};
use dashu_int::UBig;

/// The most attempts. The last proposal is taken as it is; its probability is part of the slack.
const ATTEMPTS: u32 = 32;

/// A normal with 199 binary digits after the point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Normal {
    negative: bool,
    cell: u64,
    /// V's first 128 binary digits.
    position: u128,
    /// V's next 64 binary digits.
    further: u64,
}

impl Normal {
    /// The first 95 digits.
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

/// The information in the first 64 bits of a draw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fast {
    /// Whether they decide cell and acceptance; otherwise the other fields have no meaning.
    pub(super) decided: bool,
    /// ⌊2³¹|Z|⌋.
    pub(super) magnitude: u64,
    /// 1 for a negative Z, or 0.
    pub(super) negative: u64,
}

/// Whether `first` alone decides the cell and acceptance, for all values of the unread bits;
/// `entry` is the table entry of its column.
///
/// Accepted here means U < e^(−x) for certain: U < (u+1)/2¹³ for the 13 bits u, and e^(−x) ≥ 1 − x
/// with x ≤ (2j+1)(v+1)/2³⁹ for the 24 bits v. Both sides times 2³⁹:
#[inline(always)]
pub(super) fn decide_from(entry: u32, first: u64) -> Fast {
    let (cell, settled) = cell_of(entry, first);
    let v = position_of(first);
    // At most 2³⁹ + 2³⁶: nothing wraps.
    let density = (2 * cell + 1).wrapping_mul(v + 1);
    let certain = ((uniform_of(first) + 1) << 26).wrapping_add(density) <= 1 << 39;
    Fast {
        decided: settled & certain,
        magnitude: cell << 24 | v,
        negative: (first >> 13) & 1,
    }
}

/// Whether `first` alone decides the cell and *rejection*, for all values of the unread bits.
///
/// V ≥ v/2²⁴ for the 24 bits v, so x ≥ X/2⁶³ with X = v·(2j·2²⁴ + v) < 2⁶¹, and
/// e^(−x) ≤ 1 − X/2⁶³ + (X/2⁶³)²/2, whose last term is X²/2⁶⁴ units of 2⁻⁶³. Rounded up it is at
/// most one unit more than rounded down; a second unit covers the 2⁻¹²⁴ by which [`acceptance`] may
/// exceed the truth. U ≥ u/2¹³ for the 13 bits u. So where u·2⁵⁰ reaches this bound, the full
/// comparison finds U not below e^(−x) either.
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

/// The first digits of the draw that [`decide_fully`] makes from the same bits. The two
/// words of an attempt nearly always suffice, because they decide nearly every rejection and hold
/// all these digits.
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

/// The draw at an address with these first two words, by full attempts.
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

/// e^(−x) in Q128 for x = V(2j+V)/2¹⁵, which is at most 1/8: within 2⁻¹²⁴, of which x contributes
/// two units (rounded down twice).
fn acceptance(cell: u64, position: u128) -> u128 {
    let twice = 2 * u128::from(cell);
    let linear = (position >> 15) * twice + (((position & 0x7fff) * twice) >> 15);
    let square = multiply_q128(position, position) >> 15;
    exp_minus_q128(linear + square)
}

#[cfg(test)]
mod tests;
