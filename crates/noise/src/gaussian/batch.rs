//! Many draws at a time: what [`decide_from`] does for one, in loops that a compiler turns into vectors.
//!
//! Three passes. The table is read for every word, which no vector does well; everything else is arithmetic without a branch, in which every product has
//! factors below 2³²; and the few draws that 64 bits do not decide are marked, for the caller to draw exactly.

use super::attempt::decide_from;
use super::cells::Cells;
use pulp::{Arch, Simd, WithSimd};

/// Draws decided together: enough blocks for the cipher's widest pipeline, few enough for the first-level cache.
pub(super) const BATCH: usize = 64;

/// What stands where 64 bits do not decide. No draw has this value: draws in 64 bits are below 2⁶² in size.
const UNDECIDED: i64 = i64::MIN;

/// Vectors of this many words leave no remainder to draw one by one, whatever the processor.
const LANES: usize = 8;

/// Words for a batch, from any of the first two on.
pub(super) const WORDS: usize = BATCH + LANES;

/// Writes up to [`BATCH`] draws from the words of each, one or two: as `finish` makes them from ⌊2³¹|Z|⌋, the last word and the sign (all ones for a negative Z);
/// those that the first word does not decide are drawn by `exactly` from their place. There must be words for whole vectors; those behind the last draw may be anything.
#[inline]
pub(super) fn decide_many<const WORDS: usize>(
    cells: &Cells,
    words: &[[u64; WORDS]],
    out: &mut [i64],
    finish: impl Fn(u64, u64, u64) -> i64,
    exactly: impl Fn(usize) -> i64,
) {
    let all_decided = Arch::new().dispatch(Decide {
        cells,
        words,
        out: &mut *out,
        finish,
    });
    if !all_decided {
        for (place, value) in out.iter_mut().enumerate() {
            if *value == UNDECIDED {
                *value = exactly(place);
            }
        }
    }
}

/// [`decide_many`] without the rare part, to be compiled for every width of vectors.
struct Decide<'a, const WORDS: usize, F> {
    cells: &'a Cells,
    words: &'a [[u64; WORDS]],
    out: &'a mut [i64],
    finish: F,
}

impl<const WORDS: usize, F: Fn(u64, u64, u64) -> i64> WithSimd for Decide<'_, WORDS, F> {
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> bool {
        let count = self.out.len();
        let words = &self.words[..count.next_multiple_of(LANES)];
        let (mut entries, mut values) = ([0; BATCH], [0; BATCH]);
        for (entry, words) in entries.iter_mut().zip(words) {
            *entry = self.cells.entry(words[0]);
        }
        let mut undecided = 0;
        for ((value, words), entry) in values.iter_mut().zip(words).zip(&entries) {
            let (first, last) = (words[0], words[WORDS - 1]);
            let fast = decide_from(*entry, first);
            let drawn = (self.finish)(fast.magnitude, last, fast.negative.wrapping_neg());
            *value = if fast.decided { drawn } else { UNDECIDED };
            undecided |= u64::from(!fast.decided);
        }
        self.out.copy_from_slice(&values[..count]);
        undecided == 0
    }
}
