//! Four numbers at a time: the arithmetic of a round's inner loops, once, for whatever processor
//! runs them.
//!
//! A compiler turns loops over long vectors into the processor's own by itself. A loop whose body
//! is a loop over a few buffers it does not: there the registers must be named. Both ways of this
//! file compute the same bits.

#[cfg(target_arch = "x86_64")]
mod avx2;
mod plain;
mod sums;

pub use plain::{Plain, nearest};
pub use sums::{dot, square_and_dot};

/// How many.
pub const FOUR: usize = 4;

/// Integers are modulo 2⁶⁴: the caller knows that nothing wraps.
pub trait Four: Copy {
    /// Four integers.
    type Words: Copy;
    /// Four floats.
    type Floats: Copy;

    /// From memory.
    fn words(self, values: &[i64; FOUR]) -> Self::Words;
    /// To memory.
    fn integers(self, words: Self::Words) -> [i64; FOUR];
    /// From memory.
    fn floats(self, values: &[f64; FOUR]) -> Self::Floats;
    /// To memory.
    fn numbers(self, floats: Self::Floats) -> [f64; FOUR];

    /// a + b.
    fn add(self, a: Self::Words, b: Self::Words) -> Self::Words;
    /// a − b.
    fn subtract(self, a: Self::Words, b: Self::Words) -> Self::Words;
    /// Bits that are in one of the two.
    fn xor(self, a: Self::Words, b: Self::Words) -> Self::Words;
    /// Bits that are in both.
    fn and(self, a: Self::Words, b: Self::Words) -> Self::Words;
    /// Bits that are in either.
    fn or(self, a: Self::Words, b: Self::Words) -> Self::Words;
    /// All ones where a > b as signed numbers, and zeros elsewhere.
    fn greater(self, a: Self::Words, b: Self::Words) -> Self::Words;
    /// All ones where a = b, and zeros elsewhere.
    fn equal(self, a: Self::Words, b: Self::Words) -> Self::Words;
    /// a where the mask is all ones, b where it is all zeros.
    fn select(self, mask: Self::Words, a: Self::Words, b: Self::Words) -> Self::Words;
    /// Whether any of four masks is all ones; each is that or all zeros.
    fn any(self, masks: Self::Words) -> bool;
    /// The lower halves as signed numbers, multiplied.
    fn signed_product(self, a: Self::Words, b: Self::Words) -> Self::Words;
    /// The lower halves as numbers without a sign, multiplied.
    fn unsigned_product(self, a: Self::Words, b: Self::Words) -> Self::Words;
    /// Each by its own number of bits below 64, to the left.
    fn left(self, a: Self::Words, by: Self::Words) -> Self::Words;
    /// The same to the right, filled up with zeros.
    fn right(self, a: Self::Words, by: Self::Words) -> Self::Words;
    /// All by as many bits, to the left.
    fn left_by<const BITS: i32>(self, a: Self::Words) -> Self::Words;
    /// All by as many bits, to the right, filled up with zeros.
    fn right_by<const BITS: i32>(self, a: Self::Words) -> Self::Words;

    /// a + b.
    fn plus(self, a: Self::Floats, b: Self::Floats) -> Self::Floats;
    /// a − b.
    fn minus(self, a: Self::Floats, b: Self::Floats) -> Self::Floats;
    /// a·b.
    fn times(self, a: Self::Floats, b: Self::Floats) -> Self::Floats;
    /// a·b + c, rounded once.
    fn fused(self, a: Self::Floats, b: Self::Floats, c: Self::Floats) -> Self::Floats;
    /// c − a·b, rounded once.
    fn less_product(self, a: Self::Floats, b: Self::Floats, c: Self::Floats) -> Self::Floats;
    /// a where a > b, and b elsewhere: also where either is not a number.
    fn larger(self, a: Self::Floats, b: Self::Floats) -> Self::Floats;
    /// a where a < b, and b elsewhere: also where either is not a number.
    fn smaller(self, a: Self::Floats, b: Self::Floats) -> Self::Floats;
    /// The whole numbers toward zero.
    fn truncated(self, a: Self::Floats) -> Self::Floats;
    /// Without their signs.
    fn magnitudes(self, a: Self::Floats) -> Self::Floats;
    /// All ones where a ≤ b, and zeros elsewhere: also where either is not a number.
    fn at_most(self, a: Self::Floats, b: Self::Floats) -> Self::Words;
    /// The bits of floats.
    fn bits(self, a: Self::Floats) -> Self::Words;
    /// The reverse.
    fn as_floats(self, a: Self::Words) -> Self::Floats;
    /// The floats nearest to integers, as a cast gives them.
    fn nearest(self, words: Self::Words) -> Self::Floats;
}

/// What is done with them.
pub trait Work {
    /// What comes of it.
    type Output;

    /// To be inlined, always: only then is it compiled for the processor at hand.
    fn with<V: Four>(self, four: V) -> Self::Output;
}

/// Does it by the best means there are.
pub fn run<W: Work>(work: W) -> W::Output {
    #[cfg(target_arch = "x86_64")]
    if let Some(v3) = pulp::x86::V3::try_new() {
        return v3.vectorize(avx2::OnV3 { v3, work });
    }
    work.with(Plain)
}

/// The first four of a vector, and zeros behind its end. (Told one by one: a loop would become a
/// call.)
#[inline(always)]
pub fn padded<T: Copy + Default>(values: &[T]) -> [T; FOUR] {
    let zero = T::default();
    match *values {
        [] => [zero; FOUR],
        [a] => [a, zero, zero, zero],
        [a, b] => [a, b, zero, zero],
        [a, b, c] => [a, b, c, zero],
        [a, b, c, d, ..] => [a, b, c, d],
    }
}

/// Writes as many of the four as there is room for.
#[inline(always)]
pub fn put<T: Copy>(four: [T; FOUR], room: &mut [T]) {
    match room {
        [] => {}
        [a] => *a = four[0],
        [a, b] => (*a, *b) = (four[0], four[1]),
        [a, b, c] => (*a, *b, *c) = (four[0], four[1], four[2]),
        [a, b, c, d, ..] => (*a, *b, *c, *d) = (four[0], four[1], four[2], four[3]),
    }
}

/// Of `dimension` coordinates that have `count` numbers each, kept group by group of four: where
/// each number of coordinate 0 is, then of coordinate 1, …
pub fn places(dimension: usize, count: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..dimension * count).map(move |place| {
        let (coordinate, number) = (place / count, place % count);
        (coordinate / FOUR * count + number, coordinate % FOUR)
    })
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn compare<V: Four>(v: V, a: [i64; 4], b: [i64; 4], x: [f64; 4], y: [f64; 4]) -> Vec<u64> {
        let (p, q) = (v.words(&a), v.words(&b));
        let by = v.words(&b.map(|b| b & 63));
        let (f, g) = (v.floats(&x), v.floats(&y));
        let words = [
            v.add(p, q),
            v.subtract(p, q),
            v.xor(p, q),
            v.and(p, q),
            v.or(p, q),
            v.greater(p, q),
            v.greater(q, p),
            v.equal(p, q),
            v.equal(p, p),
            v.select(v.greater(p, q), p, q),
            v.left_by::<26>(p),
            v.left_by::<50>(p),
            v.at_most(f, g),
            v.at_most(f, f),
            v.bits(v.truncated(f)),
            v.bits(v.magnitudes(f)),
            v.signed_product(p, q),
            v.unsigned_product(p, q),
            v.left(p, by),
            v.right(p, by),
            v.right_by::<31>(p),
            v.right_by::<32>(p),
        ];
        let floats = [
            v.plus(f, g),
            v.minus(f, g),
            v.times(f, g),
            v.nearest(p),
            v.as_floats(v.bits(f)),
            v.larger(f, g),
            v.larger(g, f),
            v.smaller(f, g),
            v.smaller(g, f),
            v.fused(f, g, f),
            v.fused(f, f, g),
            v.fused(g, v.nearest(p), v.nearest(q)),
            v.less_product(f, g, f),
            v.less_product(g, v.nearest(p), v.nearest(q)),
        ];
        let any = [v.equal(p, q), v.greater(p, q), v.at_most(f, g)].map(|mask| v.any(mask));
        let any = v.words(&[any[0].into(), any[1].into(), any[2].into(), 0]);
        let words = words.into_iter().chain([any]).flat_map(|w| v.integers(w));
        // What is not a number has many forms.
        let canonical = |x: f64| if x.is_nan() { f64::NAN } else { x };
        let floats = floats.into_iter().flat_map(|f| v.numbers(f).map(canonical));
        words
            .map(i64::cast_unsigned)
            .chain(floats.map(f64::to_bits))
            .collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]

        #[test]
        fn both_ways_give_the_same_bits(
            a: [i64; 4],
            b: [i64; 4],
            by in 0_u32..64,
            x in proptest::array::uniform4(prop_oneof![-1e9_f64..1e9, -3.0_f64..3.0, Just(f64::NAN), Just(-f64::INFINITY), Just(0.0), Just(-0.0)]),
            y in proptest::array::uniform4(prop_oneof![-1e-3_f64..1e-3, Just(0.0), Just(-0.0)]),
        ) {
            let a = a.map(|a| a >> by);
            if let Some(v3) = pulp::x86::V3::try_new() {
                prop_assert_eq!(compare(v3, a, b, x, y), compare(Plain, a, b, x, y));
            }
        }
    }

    #[test]
    fn what_is_missing_is_zero() {
        assert_eq!(padded(&[1, 2]), [1, 2, 0, 0]);
        assert_eq!(padded(&[1, 2, 3, 4, 5]), [1, 2, 3, 4]);
        for room in 0..=6 {
            let (mut out, filled) = (vec![9; room], room.min(4));
            put([1, 2, 3, 4], &mut out);
            assert_eq!(out[..filled], [1, 2, 3, 4][..filled]);
            assert!(out[filled..].iter().all(|&left| left == 9));
            assert_eq!(padded(&out)[..filled], out[..filled]);
        }
    }
}
