//! Early decisions on a draw agree with the decision on all of its bits.

use super::super::cells::CELLS;
use super::*;
use crate::exponential::exp_minus_bounds;
use proptest::prelude::*;

impl Normal {
    /// ⌊2^bits·Z⌋ for bits from 7 to 120. The complement of ⌊x⌋ is ⌊−x⌋: Z is an integer multiple
    /// with probability 0.
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

    /// A draw that 64 bits reject is rejected for all values of the other bits, also for the most
    /// favourable ones: all further bits of V and U zero.
    #[test]
    fn fast_rejections_stand(
        word: u64,
        below in 0..64_u64,
        low: u64,
        e0: u128,
        e1: u128,
        e2: u128,
    ) {
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

    /// The short path and the full path give the same draws for all bits. U is large here, so that
    /// several attempts are made.
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

    /// A draw that the fast path accepts on 64 bits is the full path's draw for all values of the
    /// other bits.
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
        // If the head of the place equals that of the threshold, the cell is undecided, and nothing
        // may be rejected.
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
                    // The smallest V and U that are still possible, for every place.
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
    // The short path sees each rejection in the first word, except for the last attempt, which is
    // taken as it is.
    reads.set(0);
    let digits = decide_digits(cells, [u64::MAX; 2], |_| {
        reads.set(reads.get() + 1);
        [u64::MAX; 2]
    });
    assert_eq!(digits, normal.digits());
    assert_eq!(reads.get(), ATTEMPTS - 1 + 3);
}
