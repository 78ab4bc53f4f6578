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

/// Writes up to [`BATCH`] draws, each as `finish` makes it from ⌊2³¹|Z|⌋, its second word and the sign (all ones for a negative Z); those that the first word
/// does not decide are drawn by `exactly` from their place. There must be words for whole vectors; those behind the last draw may be anything.
#[inline]
pub(super) fn decide_many(
    cells: &Cells,
    [first, second]: [&[u64]; 2],
    out: &mut [i64],
    finish: impl Fn(u64, u64, u64) -> i64,
    exactly: impl Fn(usize) -> i64,
) {
    let all_decided = Arch::new().dispatch(Decide {
        cells,
        first,
        second,
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
struct Decide<'a, F> {
    cells: &'a Cells,
    first: &'a [u64],
    second: &'a [u64],
    out: &'a mut [i64],
    finish: F,
}

impl<F: Fn(u64, u64, u64) -> i64> WithSimd for Decide<'_, F> {
    type Output = bool;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> bool {
        let count = self.out.len();
        let padded = count.next_multiple_of(LANES);
        let (first, second) = (&self.first[..padded], &self.second[..padded]);
        let (mut entries, mut values) = ([0; BATCH], [0; BATCH]);
        for (entry, first) in entries.iter_mut().zip(first) {
            *entry = self.cells.entry(*first);
        }
        let words = first.iter().zip(second).zip(&entries);
        let mut undecided = 0;
        for (value, ((first, second), entry)) in values.iter_mut().zip(words) {
            let fast = decide_from(*entry, *first);
            let drawn = (self.finish)(fast.magnitude, *second, fast.negative.wrapping_neg());
            *value = if fast.decided { drawn } else { UNDECIDED };
            undecided |= u64::from(!fast.decided);
        }
        self.out.copy_from_slice(&values[..count]);
        undecided == 0
    }
}
