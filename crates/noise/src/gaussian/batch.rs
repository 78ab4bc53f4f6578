//! Many draws at a time: [`decide_from`](super::attempt::decide_from), vectorised for four draws.
//!
//! The table look-ups are scalar; everything else is branch-free arithmetic in which every product
//! has factors below 2³². The few draws that 64 bits do not decide are marked and drawn exactly.

use super::cells::{Cells, FAST_BITS};
use hushstream_four::{self as four, FOUR, Four, Work};

/// Blocks encrypted together: enough for the cipher's widest pipeline, few enough for the
/// first-level cache. A block holds one draw or two.
pub(super) const BATCH: usize = 64;

/// Marks a draw that 64 bits do not decide. No draw has this value: draws in 64 bits are below 2⁶²
/// in size.
const UNDECIDED: i64 = i64::MIN;

/// Words for a batch of draws that share blocks, from either word of the first block on, in whole
/// vectors.
pub(super) const WORDS: usize = 2 * BATCH + FOUR;

/// The last step of a draw: from the magnitude to the lattice.
pub(super) trait Finish: Copy {
    /// The draw from ⌊2³¹|Z|⌋, the last word of each draw, and the sign: all ones for a negative Z.
    fn finish<V: Four>(self, v: V, magnitude: V::Words, last: V::Words, sign: V::Words)
    -> V::Words;
}

/// Writes the draws of `law` from their words, one or two for each draw. `exactly` makes those that
/// the first word does not decide, from their place and that word. There must be words for whole
/// vectors; those after the last draw are ignored.
#[inline]
pub(super) fn decide_many<const WORDS: usize>(
    cells: &Cells,
    words: &[[u64; WORDS]],
    out: &mut [i64],
    law: impl Finish,
    exactly: impl Fn(usize, u64) -> i64,
) {
    // A draw without a word would be no noise, and no other check would notice.
    assert!(words.len() >= out.len().next_multiple_of(FOUR));
    four::run(Decide {
        cells,
        words: Apart(words.as_chunks().0.iter()),
        out,
        law,
        exactly,
    });
}

/// As [`decide_many`], in place: `out` holds one word for each draw.
#[inline]
pub(super) fn decide_here(
    cells: &Cells,
    out: &mut [i64],
    law: impl Finish,
    exactly: impl Fn(usize, u64) -> i64,
) {
    four::run(Decide {
        cells,
        words: Here,
        out,
        law,
        exactly,
    });
}

/// The words of the next four draws; `out` is their place in the output.
trait Words<const WORDS: usize> {
    fn next(&mut self, out: &[i64]) -> [[u64; WORDS]; FOUR];
}

struct Apart<'a, const WORDS: usize>(std::slice::Iter<'a, [[u64; WORDS]; FOUR]>);

impl<const WORDS: usize> Words<WORDS> for Apart<'_, WORDS> {
    #[inline(always)]
    fn next(&mut self, _: &[i64]) -> [[u64; WORDS]; FOUR] {
        match self.0.next() {
            Some(words) => *words,
            None => unreachable!("there are words for whole vectors"),
        }
    }
}

struct Here;

impl Words<1> for Here {
    #[inline(always)]
    fn next(&mut self, out: &[i64]) -> [[u64; 1]; FOUR] {
        let mut words = [[0]; FOUR];
        for (word, out) in words.iter_mut().zip(out) {
            *word = [out.cast_unsigned()];
        }
        words
    }
}

struct Decide<'a, const WORDS: usize, W, L, E> {
    cells: &'a Cells,
    words: W,
    out: &'a mut [i64],
    law: L,
    exactly: E,
}

impl<const WORDS: usize, W: Words<WORDS>, L: Finish, E: Fn(usize, u64) -> i64> Work
    for Decide<'_, WORDS, W, L, E>
{
    type Output = ();

    #[inline(always)]
    fn with<V: Four>(mut self, v: V) {
        let (whole, rest) = self.out.as_chunks_mut();
        let mut place = 0;
        for out in whole {
            let words = self.words.next(out);
            let (drawn, unsure) = draw(v, self.cells, &words, self.law);
            *out = v.integers(drawn);
            if v.any(unsure) {
                settle(out, place, words.map(|words| words[0]), &self.exactly);
            }
            place += FOUR;
        }
        if !rest.is_empty() {
            let words = self.words.next(rest);
            let (drawn, _) = draw(v, self.cells, &words, self.law);
            four::put(v.integers(drawn), rest);
            settle(rest, place, words.map(|words| words[0]), &self.exactly);
        }
    }
}

/// Draws the undecided places exactly.
#[cold]
#[inline(never)]
fn settle(out: &mut [i64], first: usize, words: [u64; FOUR], exactly: impl Fn(usize, u64) -> i64) {
    for ((place, value), word) in (first..).zip(out).zip(words) {
        if *value == UNDECIDED {
            *value = exactly(place, word);
        }
    }
}

/// Four draws, and which of them are not decided. The inequality is the one of `decide_from`, with
/// 2²⁶ moved to its right side.
#[inline(always)]
fn draw<V: Four, const WORDS: usize>(
    v: V,
    cells: &Cells,
    words: &[[u64; WORDS]; FOUR],
    law: impl Finish,
) -> (V::Words, V::Words) {
    let all = |value: i64| v.words(&[value; FOUR]);
    let first = v.words(&words.map(|words| words[0].cast_signed()));
    let last = v.words(&words.map(|words| words[WORDS - 1].cast_signed()));
    let entry = v.words(&words.map(|words| cells.entry(words[0]).into()));
    let threshold = v.right_by::<16>(entry);
    let place = v.and(v.right_by::<38>(first), all((1 << FAST_BITS) - 1));
    let own = v.greater(threshold, place);
    let cell = v.select(own, v.right_by::<53>(first), v.and(entry, all(0xffff)));
    let position = v.and(v.right_by::<14>(first), all(0xff_ffff));
    let density = v.unsigned_product(v.add(v.add(cell, cell), all(1)), v.add(position, all(1)));
    let uniform = v.and(v.left_by::<26>(first), all(0x1fff << 26));
    let unsure = v.or(
        v.equal(threshold, place),
        v.greater(v.add(uniform, density), all((1 << 39) - (1 << 26))),
    );
    let magnitude = v.or(v.left_by::<24>(cell), position);
    let sign = v.greater(all(0), v.left_by::<50>(first));
    let drawn = law.finish(v, magnitude, last, sign);
    (v.select(unsure, all(UNDECIDED), drawn), unsure)
}

#[cfg(test)]
mod tests {
    use super::super::attempt::decide_from;
    use super::*;
    use proptest::prelude::*;

    /// All inputs of a draw, combined in one number.
    #[derive(Clone, Copy)]
    struct Everything;

    impl Finish for Everything {
        fn finish<V: Four>(
            self,
            v: V,
            magnitude: V::Words,
            last: V::Words,
            sign: V::Words,
        ) -> V::Words {
            v.xor(
                v.xor(magnitude, v.left_by::<40>(last)),
                v.right_by::<1>(sign),
            )
        }
    }

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
        fn vectors_equal_single_draws(
            words in proptest::collection::vec([words(), words()], 12),
            count in 0_usize..=12,
        ) {
            let mut out = [0; 12];
            let undecided = |place: usize, word: u64| (word ^ place as u64).cast_signed();
            decide_many(Cells::get(), &words, &mut out[..count], Everything, undecided);
            for (place, (out, [first, last])) in out.iter().zip(&words).take(count).enumerate() {
                let fast = decide_from(Cells::get().entry(*first), *first);
                let all = fast.magnitude ^ (last << 40) ^ (fast.negative.wrapping_neg() >> 1);
                let expected = match fast.decided {
                    true => all.cast_signed(),
                    false => undecided(place, *first),
                };
                prop_assert_eq!(*out, expected);
            }
        }

        #[test]
        fn draws_in_place_are_the_same(
            words in proptest::collection::vec(words(), 12),
            count in 0_usize..=12,
        ) {
            let undecided = |place: usize, word: u64| (word ^ place as u64).cast_signed();
            let mut apart = [0; 12];
            let mut here: Vec<_> = words.iter().map(|word| word.cast_signed()).collect();
            let law = super::super::RoundedGaussian::STANDARD;
            let words = words.as_chunks::<1>().0;
            decide_many(Cells::get(), words, &mut apart[..count], law, undecided);
            decide_here(Cells::get(), &mut here[..count], law, undecided);
            prop_assert_eq!(&apart[..count], &here[..count]);
        }
    }
}
