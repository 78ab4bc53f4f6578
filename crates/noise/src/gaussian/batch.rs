//! Many draws at a time: [`decide_from`] in a loop that the compiler turns into vectors.
//!
//! The table look-ups come first and are scalar; everything else is branch-free arithmetic. The few
//! draws that 64 bits do not decide are drawn exactly.

use super::attempt::decide_from;
use super::cells::Cells;
use pulp::Arch;

/// Blocks encrypted together, and draws decided together: enough for the cipher's widest pipeline,
/// few enough for the first-level cache.
pub(super) const BATCH: usize = 64;

/// Marks a draw that 64 bits do not decide. No draw has this value: they are below 2⁶² in size.
const UNDECIDED: i64 = i64::MIN;

/// The draw of a rounded law from ⌊2³¹|Z|⌋ and the sign, without the last `dropped` digits.
///
/// With n = ⌊2^(bits+1)·|Z|⌋, ⌊2^bits·Z + ½⌋ is ⌊(n+1)/2⌋ for a positive Z; for a negative one,
/// ⌊2^(bits+1)·Z⌋ = −n−1 and so ⌊2^bits·Z + ½⌋ = ⌊−n/2⌋ = −⌊(n+1)/2⌋.
#[inline(always)]
pub(super) fn round(magnitude: u64, negative: u64, dropped: u32) -> i64 {
    let (rounded, sign) = (
        (magnitude.wrapping_shr(dropped) + 1) >> 1,
        negative.wrapping_neg(),
    );
    (rounded ^ sign).wrapping_sub(sign).cast_signed()
}

/// Writes the draws of words, as many as there is room for. `exactly` makes those that the word
/// does not decide, from their place and the word.
#[inline]
pub(super) fn decide(
    cells: &Cells,
    words: &[u64],
    out: &mut [i64],
    dropped: u32,
    exactly: impl Fn(usize, u64) -> i64,
) {
    // A draw without a word would be no noise, and no other check would notice.
    assert!(words.len() >= out.len());
    let batches = words.chunks(BATCH).zip(out.chunks_mut(BATCH));
    for (first, (words, out)) in (0..).step_by(BATCH).zip(batches) {
        let mut entries = [0; BATCH];
        for (entry, word) in entries.iter_mut().zip(words) {
            *entry = cells.entry(*word);
        }
        let decided = Arch::new().dispatch(|| {
            let mut undecided = 0;
            for (out, (word, entry)) in out.iter_mut().zip(words.iter().zip(&entries)) {
                let fast = decide_from(*entry, *word);
                let drawn = round(fast.magnitude, fast.negative, dropped);
                *out = if fast.decided { drawn } else { UNDECIDED };
                undecided |= u64::from(!fast.decided);
            }
            undecided == 0
        });
        if !decided {
            for ((place, out), word) in (first..).zip(out).zip(words) {
                if *out == UNDECIDED {
                    *out = exactly(place, *word);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Words near the edges of all comparisons: the place at its threshold, U and V at their ends.
    fn words() -> impl Strategy<Value = u64> {
        let hard = (any::<u64>(), 0_i64..3, 0_u32..4).prop_map(|(word, near, kind)| {
            let threshold = u64::from(Cells::get().entry(word) >> 16);
            let place = threshold.wrapping_add_signed(near - 1) & 0x7fff;
            let word = word & !(0x7fff << 38) | place << 38;
            match kind {
                0 => word,
                1 => word | 0x1fff,
                2 => word | 0x1fff ^ near as u64,
                _ => word & !0x1fff,
            }
        });
        prop_oneof![any::<u64>(), hard]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(5_000))]

        #[test]
        fn many_draws_equal_single_draws(
            words in proptest::collection::vec(words(), 0..=2 * BATCH + 9),
            dropped in 0_u32..=30,
        ) {
            let undecided = |place: usize, word: u64| (word ^ place as u64).cast_signed();
            let mut out = vec![0; words.len()];
            decide(Cells::get(), &words, &mut out, dropped, undecided);
            for (place, (out, word)) in out.iter().zip(&words).enumerate() {
                let fast = decide_from(Cells::get().entry(*word), *word);
                let expected = match (fast.decided, fast.negative) {
                    (false, _) => undecided(place, *word),
                    (true, 0) => ((fast.magnitude >> dropped) as i64 + 1) / 2,
                    (true, _) => -(((fast.magnitude >> dropped) as i64 + 1) / 2),
                };
                prop_assert_eq!(*out, expected);
            }
        }
    }
}
